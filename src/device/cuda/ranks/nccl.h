/* NCCL, opened on first use. */
#ifndef GPUPROOF_DEVICE_CUDA_RANKS_NCCL_H
#define GPUPROOF_DEVICE_CUDA_RANKS_NCCL_H

#include "device/cuda/library.h"
#include "device/cuda/ranks/nccl_abi.h"

struct nccl_functions {
#define NCCL(required, name, parameters) int(*name) parameters;
#include "device/cuda/ranks/nccl.def"
#undef NCCL
	const char *(*ncclGetErrorString)(int result);
	const char *(*ncclGetLastError)(ncclComm_t communicator); /* since 2.13, else NULL */
};

extern struct library nccl_library;
extern struct nccl_functions nccl;

enum status nccl_open(struct error *err);

/*
 * As nccl_open(), for a device of a compute capability (37 for 3.7): NCCL 2.28.3 and newer have no
 * code below 5.0. STATUS_UNSUPPORTED with the reason.
 */
enum status nccl_serves(int capability, struct error *err);

/* Writes "2.28.9" to `out`. NCCL must be open. */
void nccl_version(char *out, size_t size);

struct cuda_device;
/* Reports asynchronous errors of the device's open communicators after a synchronisation. */
enum status cuda_communicators_check(struct cuda_device *device, struct error *err);

#endif
