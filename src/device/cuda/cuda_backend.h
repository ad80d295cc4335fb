/*
 * Structs and declarations shared by the files of the CUDA backend. One process drives its devices
 * from one thread, so this state needs no locks.
 */
#ifndef GPUPROOF_DEVICE_CUDA_CUDA_BACKEND_H
#define GPUPROOF_DEVICE_CUDA_CUDA_BACKEND_H

#include "device/backend.h"
#include "kernels/launch/compat.h"
#include "device/cuda/cuda_kernel.h"

struct cublas_context;    /* gemm.c: handle and workspace of one stream */
struct lt_context;        /* lt.c: handle, workspace, and the choices of the last search */
struct gate;              /* stream.c */
struct cuda_communicator; /* nccl.c */
struct managed;           /* memory.c: allocated amount, and free amount */

struct cuda_device {
	struct device base;
	int priority_low, priority_high; /* of streams; a lower number is a higher priority */
	/* open communicators, to check their asynchronous errors */
	struct cuda_communicator *communicators;
	/* pool with a release threshold of 0; created on first use */
	cudaMemPool_t releasing;
	size_t granularity; /* of virtual memory; 0: not queried yet */
	struct managed *managed;
};

struct cuda_stream {
	struct stream base;
	cudaStream_t handle;
	struct gate *gate;             /* made by the first gate_close() */
	struct cublas_context *cublas; /* made by the first gemm() */
	struct lt_context *lt;         /* made by the first gemm_search() */
	void *cudnn;                   /* handle, made by the first convolution_open() */
};

struct cuda_event {
	struct event base;
	cudaEvent_t handle;
};

/*
 * device.c. STATUS_OK, or the failure of `call` ("cudaMalloc(1GiB)") as "call: cudaErrorName:
 * text". Clears the runtime's last error, so that the next launch does not report it.
 */
enum status cuda_device_check(cudaError_t code, const char *call, struct error *err);
enum status cuda_device_check_size(cudaError_t code, const char *function, size_t bytes,
				   struct error *err);

/* Call a function of the runtime and check its answer under its own name. */
#define CUDA_CALL(err, function, ...) cuda_device_check(function(__VA_ARGS__), #function, err)
#define CUDA_CALL_SIZE(err, bytes, function, ...) \
	cuda_device_check_size(function(__VA_ARGS__), #function, bytes, err)

/* device.c: makes `device` current; free if it already is. */
enum status cuda_device_use(const struct device *device, struct error *err);

/* Operations, implemented in the files of this folder. */
#define FUNCTION(result, name, parameters) result cuda_##name parameters;
#include "device/backend.def"

/* device.c. emulate: see struct backend_options. */
enum status cuda_devices_find(int emulate, struct error *err);
int cuda_device_emulated_capability(void);

/* memory.c */
struct managed *cuda_memory_managed_open(void);
enum status cuda_memory_pool_keep(struct device *device, bool keep, struct error *err);
void cuda_memory_pools_destroy(struct device *device);

/*
 * gate.cu: spins until *opened >= ticket, or for `timeout_ns` of the device's clock; then writes
 * *expired = ticket.
 */
#ifdef __cplusplus
extern "C"
#endif
	enum status
	cuda_gate_launch(struct stream *stream, const volatile unsigned *opened,
			 volatile unsigned *expired, unsigned ticket, unsigned long long timeout_ns,
			 struct error *err);

#endif
