/*
 * Driver API, opened on first use, for features that the runtime lacks: virtual memory, and flags
 * in memory that streams wait for.
 */
#ifndef GPUPROOF_DEVICE_CUDA_DRIVER_H
#define GPUPROOF_DEVICE_CUDA_DRIVER_H

#include <cuda.h>

#include "device/cuda/library.h"

/* Toolkit 11.8 defines macros of these names. */
#undef cuStreamWaitValue32_v2
#undef cuStreamWriteValue32_v2

struct driver_functions {
#define DRIVER(name) __typeof__(name) *name;
#include "device/cuda/driver.def"
#undef DRIVER
	/*
	 * Second version, which needs no option of the driver's kernel module; since CUDA 11.7,
	 * else NULL. Loaded by symbol, because toolkits disagree on which version the plain names
	 * mean.
	 */
	CUresult (*cuStreamWaitValue32_v2)(CUstream, CUdeviceptr, cuuint32_t, unsigned);
	CUresult (*cuStreamWriteValue32_v2)(CUstream, CUdeviceptr, cuuint32_t, unsigned);
	/* cuTensorMapEncodeTiled, whose types toolkit 11.8 lacks; since CUDA 12.0, else NULL. */
	void *tensor_map_encode;
};

extern struct library driver_library;
extern struct driver_functions driver;

/* STATUS_OK, or the failure of `call` on `bytes` as "call(1GiB): CUDA_ERROR_...". */
enum status driver_check(CUresult code, const char *call, size_t bytes, struct error *err);
#define DRIVER_CALL(err, bytes, function, ...) \
	driver_check(driver.function(__VA_ARGS__), #function, bytes, err)

#endif
