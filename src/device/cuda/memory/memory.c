/* Allocates and frees memory by allocator. */

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/units.h"
#include "device/cuda/cuda_backend.h"
#include "device/cuda/nvml.h"

/* Memory in use as NVML reports it; what it does not report stays 0. */
static void cuda_memory_ask_nvml(const struct device *device, struct memory_view *out)
{
	nvmlDevice_t handle = nvml_device(device->info.pci);
	struct nvml_memory memory = { 0 };
	struct nvml_process processes[64];
	unsigned count = ARRAY_SIZE(processes), self = (unsigned)getpid();

	if (!handle)
		return;
	if (NVML_OK(nvmlDeviceGetMemoryInfo, handle, &memory))
		out->device_used = memory.used;
	if (!NVML_OK(nvmlDeviceGetComputeRunningProcesses_v3, handle, &count, processes))
		return;
	/*
	 * NVML uses process ids outside of any container. If these differ from ours, this process
	 * is not found and the value is unknown: assuming that the only listed process is this one
	 * would be a guess.
	 */
	for (unsigned i = 0; i < count; i++)
		if (processes[i].pid == self && processes[i].used_bytes != UINT64_MAX)
			out->process_used = processes[i].used_bytes;
}

static enum status cuda_memory_view_ask_pool(struct device *device, struct memory_view *out,
					     struct error *err)
{
	const struct {
		enum cudaMemPoolAttr attribute;
		uint64_t *value;
	} attributes[] = {
		{ cudaMemPoolAttrReservedMemCurrent, &out->pool_reserved },
		{ cudaMemPoolAttrUsedMemCurrent, &out->pool_used },
		{ cudaMemPoolAttrReservedMemHigh, &out->pool_reserved_high },
		{ cudaMemPoolAttrUsedMemHigh, &out->pool_used_high },
	};
	enum status status;
	cudaMemPool_t pool;

	status = cuda_device_check(cudaDeviceGetDefaultMemPool(&pool, device->info.index),
				   "cudaDeviceGetDefaultMemPool", err);
	for (size_t i = 0; i < ARRAY_SIZE(attributes) && status == STATUS_OK; i++)
		status = cuda_device_check(cudaMemPoolGetAttribute(pool, attributes[i].attribute,
								   attributes[i].value),
					   "cudaMemPoolGetAttribute", err);
	return status;
}

enum status cuda_memory_view(struct device *device, struct memory_view *out, struct error *err)
{
	uint64_t unused, total;
	enum status status = cuda_device_memory(device, &unused, &total, err);

	*out = (struct memory_view){ 0 };
	if (status != STATUS_OK)
		return status;
	out->runtime_used = total - unused;
	cuda_memory_ask_nvml(device, out);
	return device->info.capabilities & DEVICE_HAS_POOLS
		       ? cuda_memory_view_ask_pool(device, out, err)
		       : STATUS_OK;
}

/*
 * Managed memory, limited to the free memory of the device. The driver grants any amount and
 * migrates the excess to the host, which would measure the bus and disturb other processes.
 */
/* Share of free memory; the rest is for the context, which grows. */
#define SHARE_OF_FREE 0.95
#define ASK_AGAIN_BYTES ((uint64_t)256 << 20)

struct managed {
	_Atomic uint64_t bytes; /* allocated now */
	_Atomic uint64_t most;  /* certainly free; 0: unknown */
};

struct managed *cuda_memory_managed_open(void)
{
	return xcalloc(1, sizeof(struct managed));
}

/*
 * Querying the driver on each call would dominate its time. It is queried when the last answer is
 * used up, which is soon, and after any other allocation of device memory (cuda_memory_alloc()).
 * The driver does not count untouched managed memory as used, so everything allocated by this
 * process is subtracted.
 */
static enum status cuda_memory_ask_what_fits(struct cuda_device *cuda, uint64_t used,
					     struct error *err)
{
	const struct device_info *info = &cuda->base.info;
	uint64_t unused, total, most;
	int supported = 0;
	enum status status =
		cuda_device_check(cudaDeviceGetAttribute(&supported, cudaDevAttrManagedMemory,
							 info->index),
				  "cudaDeviceGetAttribute", err);

	if (status == STATUS_OK && !supported)
		return error_set(err, STATUS_UNSUPPORTED, "%s (%s) has no managed memory", info->id,
				 info->name);
	if (status == STATUS_OK)
		status = cuda_device_memory(&cuda->base, &unused, &total, err);
	if (status != STATUS_OK)
		return status;
	most = (uint64_t)(SHARE_OF_FREE * (double)unused);
	atomic_store(&cuda->managed->most,
		     most < used + ASK_AGAIN_BYTES ? most : used + ASK_AGAIN_BYTES);
	return STATUS_OK;
}

static bool cuda_memory_managed_fits(const struct cuda_device *cuda, uint64_t used, uint64_t bytes)
{
	uint64_t most = atomic_load(&cuda->managed->most);

	return bytes <= most && used <= most - bytes;
}

static enum status cuda_memory_managed_alloc(struct device *device, size_t bytes, void **out,
					     struct error *err)
{
	struct cuda_device *cuda = (struct cuda_device *)device;
	uint64_t used = atomic_fetch_add(&cuda->managed->bytes, bytes);
	enum status status = STATUS_OK;

	if (!cuda_memory_managed_fits(cuda, used, bytes))
		status = cuda_memory_ask_what_fits(cuda, used + bytes, err);
	if (status == STATUS_OK && !cuda_memory_managed_fits(cuda, used, bytes))
		status = cuda_device_check_size(cudaErrorMemoryAllocation,
						"allocation of more managed memory than is free",
						bytes, err);
	if (status == STATUS_OK)
		status = cuda_device_check_size(cudaMallocManaged(out, bytes, cudaMemAttachGlobal),
						"cudaMallocManaged", bytes, err);
	if (status != STATUS_OK)
		atomic_fetch_sub(&cuda->managed->bytes, bytes);
	return status;
}

/* Writes one byte per page: the cheapest way to allocate the pages. */
static void cuda_memory_touch_pages(void *memory, size_t bytes)
{
	volatile char *p = memory;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (size_t at = 0; at < bytes; at += page)
		p[at] = 0;
}

static enum status cuda_memory_host_no_memory(const char *function, size_t bytes, struct error *err)
{
	char size[32];

	return error_set(err, STATUS_NO_MEMORY, "%s(%s): out of host memory", function,
			 units_size(bytes, size, sizeof(size)));
}

static enum status cuda_memory_alloc_pageable(size_t bytes, void **out, struct error *err)
{
	*out = malloc(bytes ? bytes : 1);
	if (!*out)
		return cuda_memory_host_no_memory("malloc", bytes, err);
	cuda_memory_touch_pages(*out, bytes);
	return STATUS_OK;
}

static enum status cuda_memory_alloc_registered(size_t bytes, void **out, struct error *err)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t whole = (bytes + page - 1) / page * page;
	enum status status;

	*out = NULL;
	if (posix_memalign(out, page, whole ? whole : page) != 0) {
		*out = NULL;
		return cuda_memory_host_no_memory("posix_memalign", bytes, err);
	}
	cuda_memory_touch_pages(*out, bytes);
	status = cuda_device_check_size(cudaHostRegister(*out, whole ? whole : page,
							 cudaHostRegisterPortable),
					"cudaHostRegister", bytes, err);
	if (status != STATUS_OK) {
		free(*out);
		*out = NULL;
	}
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
 * From a pool that returns freed memory to the device at each synchronisation. The first call
 * creates it, without a lock: the driving thread allocates before any other thread
 * (device/backend.h).
 */
static enum status cuda_memory_alloc_releasing(struct device *device, size_t bytes,
					       struct stream *stream, void **out, struct error *err)
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
		status = cuda_device_check(cudaMemPoolCreate(&cuda->releasing, &properties),
					   "cudaMemPoolCreate", err);
	if (status != STATUS_OK)
		return status;
	return cuda_device_check_size(cudaMallocFromPoolAsync(out, bytes, cuda->releasing,
							      cuda_memory_stream_or_default(
								      stream)),
				      "cudaMallocFromPoolAsync", bytes, err);
}

void cuda_memory_pools_destroy(struct device *device)
{
	struct cuda_device *cuda = (struct cuda_device *)device;

	if (cuda->releasing && cudaMemPoolDestroy(cuda->releasing) != cudaSuccess)
		cudaGetLastError();
	cuda->releasing = NULL;
}

enum status cuda_memory_alloc(struct device *device, enum allocator allocator, size_t bytes,
			      struct stream *stream, void **out, struct error *err)
{
	enum status status = cuda_device_use(device, err);

	*out = NULL;
	if (status != STATUS_OK)
		return status;
	/* Other allocations of device memory change the free amount. */
	if (allocator != ALLOCATOR_MANAGED && allocator_on_device(allocator))
		atomic_store(&((struct cuda_device *)device)->managed->most, 0);
	switch (allocator) {
	case ALLOCATOR_DEVICE:
		return cuda_device_check_size(cudaMalloc(out, bytes), "cudaMalloc", bytes, err);
	case ALLOCATOR_POOL:
		if (!(device->info.capabilities & DEVICE_HAS_POOLS))
			return cuda_memory_pools_missing(device, err);
		return cuda_device_check_size(
			cudaMallocAsync(out, bytes, cuda_memory_stream_or_default(stream)),
			"cudaMallocAsync", bytes, err);
	case ALLOCATOR_POOL_RELEASE:
		return cuda_memory_alloc_releasing(device, bytes, stream, out, err);
	case ALLOCATOR_VMM:
		return cuda_vmm_alloc(device, bytes, out, err);
	case ALLOCATOR_MANAGED:
		return cuda_memory_managed_alloc(device, bytes, out, err);
	case ALLOCATOR_PINNED:
		return cuda_device_check_size(cudaHostAlloc(out, bytes, cudaHostAllocPortable),
					      "cudaHostAlloc", bytes, err);
	case ALLOCATOR_WRITE_COMBINED:
		return cuda_device_check_size(cudaHostAlloc(out, bytes,
							    cudaHostAllocPortable |
								    cudaHostAllocWriteCombined),
					      "cudaHostAlloc write-combined", bytes, err);
	case ALLOCATOR_REGISTERED:
		return cuda_memory_alloc_registered(bytes, out, err);
	case ALLOCATOR_PAGEABLE:
		return cuda_memory_alloc_pageable(bytes, out, err);
	case ALLOCATOR_COUNT:
		break;
	}
	return error_set(err, STATUS_INTERNAL, "no allocator %d", (int)allocator);
}

enum status cuda_memory_free(struct device *device, enum allocator allocator, void *memory,
			     size_t bytes, struct stream *stream, struct error *err)
{
	enum status status = cuda_device_use(device, err);

	if (status != STATUS_OK || !memory)
		return status;
	switch (allocator) {
	case ALLOCATOR_DEVICE:
		return cuda_device_check_size(cudaFree(memory), "cudaFree", bytes, err);
	case ALLOCATOR_POOL:
	case ALLOCATOR_POOL_RELEASE:
		return cuda_device_check_size(cudaFreeAsync(memory,
							    cuda_memory_stream_or_default(stream)),
					      "cudaFreeAsync", bytes, err);
	case ALLOCATOR_VMM:
		return cuda_vmm_free(device, memory, bytes, err);
	case ALLOCATOR_MANAGED:
		atomic_fetch_sub(&((struct cuda_device *)device)->managed->bytes, bytes);
		return cuda_device_check_size(cudaFree(memory), "cudaFree of managed memory", bytes,
					      err);
	case ALLOCATOR_PINNED:
	case ALLOCATOR_WRITE_COMBINED:
		return cuda_device_check_size(cudaFreeHost(memory), "cudaFreeHost", bytes, err);
	case ALLOCATOR_REGISTERED:
		status = cuda_device_check(cudaHostUnregister(memory), "cudaHostUnregister", err);
		if (status == STATUS_OK)
			free(memory);
		return status;
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
	enum status status = cuda_device_use(device, err);

	if (status == STATUS_OK && !(device->info.capabilities & DEVICE_HAS_POOLS))
		status = cuda_memory_pools_missing(device, err);
	if (status == STATUS_OK)
		status = cuda_device_check(cudaDeviceGetDefaultMemPool(pool, device->info.index),
					   "cudaDeviceGetDefaultMemPool", err);
	return status;
}

/*
 * With CUDA's default threshold of 0 the pool releases everything at each synchronisation, so a
 * second allocation of the same size is as cold as the first. Keeps memory while the device is
 * open.
 */
enum status cuda_memory_pool_keep(struct device *device, bool keep, struct error *err)
{
	uint64_t threshold = keep ? UINT64_MAX : 0;
	cudaMemPool_t pool;
	enum status status = cuda_memory_default_pool(device, &pool, err);

	if (status == STATUS_OK)
		status = cuda_device_check(cudaMemPoolSetAttribute(pool,
								   cudaMemPoolAttrReleaseThreshold,
								   &threshold),
					   "cudaMemPoolSetAttribute(ReleaseThreshold)", err);
	if (status == STATUS_OK && !keep)
		status = cuda_device_check(cudaMemPoolTrimTo(pool, 0), "cudaMemPoolTrimTo", err);
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
		status = cuda_device_check(cudaMemPoolTrimTo(pool, 0), "cudaMemPoolTrimTo", err);
	return status;
}
