/* NCCL, opened on first use. */
#ifndef GPUPROOF_DEVICE_CUDA_RANKS_NCCL_H
#define GPUPROOF_DEVICE_CUDA_RANKS_NCCL_H

#include <cuda_runtime_api.h>

#include <stddef.h>

#include "device/cuda/library.h"

/*
 * The part of NCCL's C interface used here, so that the build does not need nccl.h. Values as in
 * NCCL 2.
 */
typedef struct ncclComm *ncclComm_t;
typedef struct {
	char internal[128];
} ncclUniqueId;

/*
 * ncclConfig_t of 2.17: a newer library reads the first `size` bytes and uses defaults for the
 * rest.
 */
typedef struct {
	size_t size;
	unsigned magic, version;
	int blocking, cga_cluster_size, min_ctas, max_ctas;
	const char *net_name;
} ncclConfig_t;
#define NCCL_CONFIG_MAGIC 0xcafebeefu
#define NCCL_CONFIG_VERSION 21700
#define NCCL_CONFIG_UNSET ((int)0x80000000)

/* ncclResult_t */
#define NCCL_RESULTS(X)           \
	X(ncclSuccess)            \
	X(ncclUnhandledCudaError) \
	X(ncclSystemError)        \
	X(ncclInternalError)      \
	X(ncclInvalidArgument) X(ncclInvalidUsage) X(ncclRemoteError) X(ncclInProgress)
enum {
#define X(name) name,
	NCCL_RESULTS(X)
#undef X
};

/* ncclRedOp_t; average since 2.10 */
enum { ncclSum = 0, ncclMax = 2, ncclAvg = 4 };

/* ncclDataType_t */
enum { ncclUint8 = 1, ncclFloat16 = 6, ncclFloat32 = 7, ncclFloat64 = 8, ncclBfloat16 = 9 };

struct nccl_functions {
#define NCCL(required, name, parameters) int(*name) parameters;
#include "device/cuda/ranks/nccl.def"
#undef NCCL
	const char *(*ncclGetErrorString)(int result);
	const char *(*ncclGetLastError)(ncclComm_t communicator); /* since 2.13, else NULL */
};

extern struct library nccl_library;
extern struct nccl_functions nccl;

/*
 * Opens NCCL for a device of a compute capability (37 for 3.7): NCCL 2.28.3 and newer have no code
 * below 5.0. STATUS_UNSUPPORTED with the reason.
 */
enum status nccl_serves(int capability, struct error *err);

/* Opens NCCL and writes "2.28.9" to `out`; false if it is missing. */
bool nccl_version(char *out, size_t size);

struct cuda_device;
/* Reports asynchronous errors of the device's open communicators after a synchronisation. */
enum status nccl_communicators_check(struct cuda_device *device, struct error *err);

#endif
