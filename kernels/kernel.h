/*
 * Declarations shared by all kernels. A kernel `op` consists of `struct op_arguments` in
 * kernels/<file>.h, `kernel_host_<op>` in kernels/<file>_host.c and `kernel_cuda_<op>` in
 * kernels/<file>.cu, both of type kernel_fn (device/backend.h). Launch one with
 * backend_launch(stream, "op", &arguments, err).
 *
 * A .cu file is small and flat: kernels, then `extern "C"` launchers that check the launch. It gets
 * the stream with cuda_stream_handle() and reports errors with cuda_device_check_launch()
 * (src/device/cuda/cuda_kernel.h).
 *
 * A _host.c file uses host_stream_threads(stream) threads (src/device/host/host_kernel.h).
 *
 * All shapes are row-major, all counts are elements, all pointers are memory of the stream's
 * device.
 */
#ifndef GPUPROOF_KERNELS_KERNEL_H
#define GPUPROOF_KERNELS_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "device/backend.h"

#endif
