/*
 * What differs between CUDA toolkits 11.8 to 13, and nothing else: the other files have no
 * version test. Where a toolkit lost a field of cudaDeviceProp (13: the clocks), the files ask
 * cudaDeviceGetAttribute, which all have.
 */
#ifndef GPUPROOF_DEVICE_CUDA_COMPAT_H
#define GPUPROOF_DEVICE_CUDA_COMPAT_H

#include <cuda_runtime_api.h>

/* The lowest compute capability (major * 10 + minor) a toolkit compiles for. */
#if CUDART_VERSION >= 13000
#define CUDA_MIN_CAPABILITY 75
#elif CUDART_VERSION >= 12000
#define CUDA_MIN_CAPABILITY 50
#elif CUDART_VERSION >= 11080
#define CUDA_MIN_CAPABILITY 35
#else
#error "the CUDA backend needs toolkit 11.8 or newer"
#endif

#endif
