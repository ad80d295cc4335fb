/* A host device: a partition of the machine's cores and memory. */
#ifndef GPUPROOF_HOST_DEVICE_H
#define GPUPROOF_HOST_DEVICE_H

#include <stdatomic.h>

#include "device/backend.h"
#include "device/host/cpu_partition.h"

struct host_stream;

struct host_device {
	struct device base;
	const struct cpu_partition *partition;
	struct host_stream *streams;      /* list of its streams, for device_synchronize */
	uint64_t machine_bytes;           /* memory that this process may use, over all devices */
	_Atomic uint64_t allocated_bytes; /* ALLOCATOR_DEVICE */
	_Atomic uint64_t host_bytes;      /* allocated by the other allocators */
	_Atomic uint64_t workspace_bytes; /* of GEMMs that convert, over all streams */
};

static inline struct host_device *host_device(struct device *device)
{
	return (struct host_device *)device;
}

extern const struct backend backend_host;

/* Operations, implemented in the files of this folder. */
#define FUNCTION(result, name, parameters) result host_##name parameters;
#define CUDA_FUNCTION(result, name, parameters)
#define CUDA_OPERATION(device, name, parameters, arguments)
#include "device/backend.def"

/*
 * memory.c: STATUS_NO_MEMORY if `bytes` exceed what is left of the pool (`used` of `total`), or the
 * machine's free memory.
 */
enum status host_memory_check_fits(const char *kind, uint64_t bytes, uint64_t used, uint64_t total,
				   struct error *err);
/*
 * Reserves addresses without memory; then maps memory to whole pages of them. Undone with munmap().
 */
enum status host_memory_reserve(const char *kind, size_t bytes, void **out, struct error *err);
enum status host_memory_commit(struct host_device *device, const char *kind, void *at, size_t bytes,
			       struct error *err);

#endif
