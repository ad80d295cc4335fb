/* Allocates and frees memory by allocator. */
#include "device/cuda/memory/memory.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"

/* Writes one byte per page: the cheapest way to allocate the pages. */
static void touch_pages(void *memory, size_t bytes)
{
	volatile char *p = memory;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (size_t at = 0; at < bytes; at += page)
		p[at] = 0;
}

static enum status host_no_memory(const char *function, size_t bytes, struct error *err)
{
	char size[32];

	return error_set(err, STATUS_NO_MEMORY, "%s(%s): out of host memory", function,
			 units_size(bytes, size, sizeof(size)));
}

static enum status alloc_pageable(size_t bytes, void **out, struct error *err)
{
	*out = malloc(bytes ? bytes : 1);
	if (!*out)
		return host_no_memory("malloc", bytes, err);
	touch_pages(*out, bytes);
	return STATUS_OK;
}

static enum status alloc_registered(size_t bytes, void **out, struct error *err)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t whole = (bytes + page - 1) / page * page;
	enum status status;

	*out = NULL;
	if (posix_memalign(out, page, whole ? whole : page) != 0) {
		*out = NULL;
		return host_no_memory("posix_memalign", bytes, err);
	}
	touch_pages(*out, bytes);
	status = cuda_check_size(cudaHostRegister(*out, whole ? whole : page,
						  cudaHostRegisterPortable),
				 "cudaHostRegister", bytes, err);
	if (status != STATUS_OK) {
		free(*out);
		*out = NULL;
	}
	return status;
}

static enum status free_registered(void *memory, struct error *err)
{
	enum status status = cuda_check(cudaHostUnregister(memory), "cudaHostUnregister", err);

	if (status == STATUS_OK)
		free(memory);
	return status;
}

static cudaStream_t cuda_memory_stream_or_default(struct stream *stream)
{
	return stream ? ((struct cuda_stream *)stream)->handle : NULL;
}

static enum status cuda_memory_pools_missing(const struct device *device, struct error *err)
{
	return error_set(err, STATUS_UNSUPPORTED,
			 "%s (%s) has no stream-ordered memory pools (cudaMallocAsync)",
			 device->info.id, device->info.name);
}

/*
 * Releases freed memory at each synchronisation. Created by the driving thread's first allocation.
 */
static enum status releasing_pool(struct device *device, cudaMemPool_t *pool, struct error *err)
{
	struct cuda_device *cuda = (struct cuda_device *)device;
	struct cudaMemPoolProps properties = {
		.allocType = cudaMemAllocationTypePinned,
		.location = { .type = cudaMemLocationTypeDevice, .id = device->info.index },
	};
	enum status status = STATUS_OK;

	if (!(device->info.capabilities & DEVICE_HAS_POOLS))
		return cuda_memory_pools_missing(device, err);
	if (!cuda->releasing)
		status = cuda_check(cudaMemPoolCreate(&cuda->releasing, &properties),
				    "cudaMemPoolCreate", err);
	*pool = cuda->releasing;
	return status;
}

static enum status alloc_releasing(struct device *device, size_t bytes, struct stream *stream,
				   void **out, struct error *err)
{
	cudaMemPool_t pool = NULL;
	enum status status = releasing_pool(device, &pool, err);

	if (status != STATUS_OK)
		return status;
	return cuda_check_size(cudaMallocFromPoolAsync(out, bytes, pool,
						       cuda_memory_stream_or_default(stream)),
			       "cudaMallocFromPoolAsync", bytes, err);
}

void cuda_pools_destroy(struct device *device)
{
	struct cuda_device *cuda = (struct cuda_device *)device;

	if (cuda->releasing && cudaMemPoolDestroy(cuda->releasing) != cudaSuccess)
		cudaGetLastError();
	cuda->releasing = NULL;
}

enum status cuda_memory_alloc(struct device *device, enum allocator allocator, size_t bytes,
			      struct stream *stream, void **out, struct error *err)
{
	enum status status = cuda_use(device, err);

	*out = NULL;
	if (status != STATUS_OK)
		return status;
	if (allocator != ALLOCATOR_MANAGED && allocator_on_device(allocator))
		cuda_managed_changed(device);
	switch (allocator) {
	case ALLOCATOR_DEVICE:
		return cuda_check_size(cudaMalloc(out, bytes), "cudaMalloc", bytes, err);
	case ALLOCATOR_POOL:
		if (!(device->info.capabilities & DEVICE_HAS_POOLS))
			return cuda_memory_pools_missing(device, err);
		return cuda_check_size(cudaMallocAsync(out, bytes,
						       cuda_memory_stream_or_default(stream)),
				       "cudaMallocAsync", bytes, err);
	case ALLOCATOR_POOL_RELEASE:
		return alloc_releasing(device, bytes, stream, out, err);
	case ALLOCATOR_VMM:
		return cuda_vmm_alloc(device, bytes, out, err);
	case ALLOCATOR_MANAGED:
		return cuda_managed_alloc(device, bytes, out, err);
	case ALLOCATOR_PINNED:
		return cuda_check_size(cudaHostAlloc(out, bytes, cudaHostAllocPortable),
				       "cudaHostAlloc", bytes, err);
	case ALLOCATOR_WRITE_COMBINED:
		return cuda_check_size(cudaHostAlloc(out, bytes,
						     cudaHostAllocPortable |
							     cudaHostAllocWriteCombined),
				       "cudaHostAlloc write-combined", bytes, err);
	case ALLOCATOR_REGISTERED:
		return alloc_registered(bytes, out, err);
	case ALLOCATOR_PAGEABLE:
		return alloc_pageable(bytes, out, err);
	case ALLOCATOR_COUNT:
		break;
	}
	return error_set(err, STATUS_INTERNAL, "no allocator %d", (int)allocator);
}

enum status cuda_memory_free(struct device *device, enum allocator allocator, void *memory,
			     size_t bytes, struct stream *stream, struct error *err)
{
	enum status status = cuda_use(device, err);

	if (status != STATUS_OK || !memory)
		return status;
	switch (allocator) {
	case ALLOCATOR_DEVICE:
		return cuda_check_size(cudaFree(memory), "cudaFree", bytes, err);
	case ALLOCATOR_POOL:
	case ALLOCATOR_POOL_RELEASE:
		return cuda_check_size(cudaFreeAsync(memory, cuda_memory_stream_or_default(stream)),
				       "cudaFreeAsync", bytes, err);
	case ALLOCATOR_VMM:
		return cuda_vmm_free(device, memory, bytes, err);
	case ALLOCATOR_MANAGED:
		return cuda_managed_free(device, memory, bytes, err);
	case ALLOCATOR_PINNED:
	case ALLOCATOR_WRITE_COMBINED:
		return cuda_check_size(cudaFreeHost(memory), "cudaFreeHost", bytes, err);
	case ALLOCATOR_REGISTERED:
		return free_registered(memory, err);
	case ALLOCATOR_PAGEABLE:
		free(memory);
		return STATUS_OK;
	case ALLOCATOR_COUNT:
		break;
	}
	return error_set(err, STATUS_INTERNAL, "no allocator %d", (int)allocator);
}

static enum status cuda_memory_default_pool(struct device *device, cudaMemPool_t *pool,
					    struct error *err)
{
	enum status status = cuda_use(device, err);

	if (status == STATUS_OK && !(device->info.capabilities & DEVICE_HAS_POOLS))
		status = cuda_memory_pools_missing(device, err);
	if (status == STATUS_OK)
		status = cuda_check(cudaDeviceGetDefaultMemPool(pool, device->info.index),
				    "cudaDeviceGetDefaultMemPool", err);
	return status;
}

/*
 * With CUDA's default threshold of 0 the pool releases everything at each synchronisation, so a
 * second allocation of the same size is as cold as the first. Keeps memory while the device is
 * open.
 */
enum status cuda_pool_keep(struct device *device, bool keep, struct error *err)
{
	uint64_t threshold = keep ? UINT64_MAX : 0;
	cudaMemPool_t pool;
	enum status status = cuda_memory_default_pool(device, &pool, err);

	if (status == STATUS_OK)
		status = cuda_check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold,
							    &threshold),
				    "cudaMemPoolSetAttribute(ReleaseThreshold)", err);
	if (status == STATUS_OK && !keep)
		status = cuda_check(cudaMemPoolTrimTo(pool, 0), "cudaMemPoolTrimTo", err);
	return status;
}

enum status cuda_memory_trim(struct device *device, struct error *err)
{
	cudaMemPool_t pool;
	enum status status;

	malloc_trim(0);
	if (!(device->info.capabilities & DEVICE_HAS_POOLS))
		return STATUS_OK;
	status = cuda_memory_default_pool(device, &pool, err);
	if (status == STATUS_OK)
		status = cuda_check(cudaMemPoolTrimTo(pool, 0), "cudaMemPoolTrimTo", err);
	return status;
}
