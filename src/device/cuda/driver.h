/* The driver's own calls, opened on first use: virtual memory, which the runtime does not offer. */
#ifndef GPUPROOF_DEVICE_CUDA_DRIVER_H
#define GPUPROOF_DEVICE_CUDA_DRIVER_H

#include <cuda.h>

#include "device/cuda/library.h"

struct driver_functions {
#define DRIVER(name) __typeof__(name) *name;
#include "device/cuda/driver.def"
#undef DRIVER
};

extern struct library driver_library;
extern struct driver_functions driver;

enum status driver_open(struct error *err);

/* STATUS_OK, or the failure of `call` on `bytes` as "call(1GiB): CUDA_ERROR_...". */
enum status driver_check(CUresult code, const char *call, size_t bytes, struct error *err);

#endif
