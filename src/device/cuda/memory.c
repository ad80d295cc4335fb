/* Allocates and frees memory by allocator, and ranges of virtual memory. */
#include "device/cuda/cuda_backend.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/units.h"
#include "device/cuda/driver.h"
#include "device/cuda/nvml.h"

/* Sets the memory in use from NVML. Values that NVML does not report stay 0. */
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

	status = CUDA_CALL(err, cudaDeviceGetDefaultMemPool, &pool, device->info.index);
	for (size_t i = 0; i < ARRAY_SIZE(attributes) && status == STATUS_OK; i++)
		status = CUDA_CALL(err, cudaMemPoolGetAttribute, pool, attributes[i].attribute,
				   attributes[i].value);
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
	enum status status = CUDA_CALL(err, cudaDeviceGetAttribute, &supported,
				       cudaDevAttrManagedMemory, info->index);

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
		status = CUDA_CALL_SIZE(err, bytes, cudaMallocManaged, out, bytes,
					cudaMemAttachGlobal);
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
	status = CUDA_CALL_SIZE(err, bytes, cudaHostRegister, *out, whole ? whole : page,
				cudaHostRegisterPortable);
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
		status = CUDA_CALL(err, cudaMemPoolCreate, &cuda->releasing, &properties);
	if (status != STATUS_OK)
		return status;
	return CUDA_CALL_SIZE(err, bytes, cudaMallocFromPoolAsync, out, bytes, cuda->releasing,
			      cuda_memory_stream_or_default(stream));
}

void cuda_memory_pools_destroy(struct device *device)
{
	struct cuda_device *cuda = (struct cuda_device *)device;

	if (cuda->releasing && cudaMemPoolDestroy(cuda->releasing) != cudaSuccess)
		cudaGetLastError();
	cuda->releasing = NULL;
}

/*
 * CUDA virtual memory: reserves addresses, creates memory, maps it, and grants the device access.
 * The handle of created memory is released at once, because the mapping keeps the memory.
 */
struct cuda_range {
	struct memory_range base;
	size_t *pieces; /* size of each mapping, which can only be undone as a whole */
	size_t count, capacity;
};

static CUmemAllocationProp cuda_memory_properties(const struct device *device)
{
	return (CUmemAllocationProp){
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device->info.index },
	};
}

/* Queried once: it is constant. The first allocation comes from the driving thread. */
static enum status cuda_memory_read_granularity(struct cuda_device *device, struct error *err)
{
	CUmemAllocationProp memory = cuda_memory_properties(&device->base);
	int supported = 0;
	enum status status;

	if (device->granularity)
		return STATUS_OK;
	if (library_open(&driver_library, err) != STATUS_OK)
		return err ? err->status : STATUS_UNSUPPORTED;
	status = DRIVER_CALL(err, 0, cuDeviceGetAttribute, &supported,
			     CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
			     device->base.info.index);
	if (status == STATUS_OK && !supported)
		return error_set(err, STATUS_UNSUPPORTED,
				 "%s (%s) has no virtual memory (cuMemMap)", device->base.info.id,
				 device->base.info.name);
	if (status == STATUS_OK)
		status = DRIVER_CALL(err, 0, cuMemGetAllocationGranularity, &device->granularity,
				     &memory, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
	return status;
}

static size_t cuda_memory_round_up(const struct device *device, size_t bytes)
{
	size_t unit = ((const struct cuda_device *)device)->granularity;

	return bytes > SIZE_MAX - unit ? SIZE_MAX / unit * unit : (bytes + unit - 1) / unit * unit;
}

static enum status cuda_memory_map(const struct device *device, CUdeviceptr at, size_t bytes,
				   struct error *err)
{
	CUmemAllocationProp memory = cuda_memory_properties(device);
	CUmemAccessDesc access = { .location = memory.location,
				   .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUmemGenericAllocationHandle handle;
	enum status status = DRIVER_CALL(err, bytes, cuMemCreate, &handle, bytes, &memory, 0);

	if (status != STATUS_OK)
		return status;
	status = DRIVER_CALL(err, bytes, cuMemMap, at, bytes, 0, handle, 0);
	driver.cuMemRelease(handle);
	if (status != STATUS_OK)
		return status;
	status = DRIVER_CALL(err, bytes, cuMemSetAccess, at, bytes, &access, 1);
	if (status != STATUS_OK)
		driver.cuMemUnmap(at, bytes);
	return status;
}

static enum status cuda_memory_vmm_alloc(struct device *device, size_t bytes, void **out,
					 struct error *err)
{
	enum status status = cuda_memory_read_granularity((struct cuda_device *)device, err);
	CUdeviceptr at = 0;

	if (status != STATUS_OK)
		return status;
	bytes = cuda_memory_round_up(device, bytes);
	status = DRIVER_CALL(err, bytes, cuMemAddressReserve, &at, bytes, 0, 0, 0);
	if (status != STATUS_OK)
		return status;
	status = cuda_memory_map(device, at, bytes, err);
	if (status != STATUS_OK) {
		driver.cuMemAddressFree(at, bytes);
		return status;
	}
	*out = (void *)(uintptr_t)
		at; /* NOLINT(performance-no-int-to-ptr): an address is a number */
	return STATUS_OK;
}

/* Work that still uses the memory must be finished; cudaFree() waits for it by itself. */
static enum status cuda_memory_wait_idle(const struct device *device, struct error *err)
{
	enum status status = cuda_device_use(device, err);

	return status == STATUS_OK
		       ? cuda_device_check(cudaDeviceSynchronize(), "cudaDeviceSynchronize", err)
		       : status;
}

static enum status cuda_memory_vmm_free(struct device *device, void *memory, size_t bytes,
					struct error *err)
{
	CUdeviceptr at = (CUdeviceptr)(uintptr_t)memory;
	enum status status = cuda_memory_wait_idle(device, err);

	bytes = cuda_memory_round_up(device, bytes);
	if (status == STATUS_OK)
		status = DRIVER_CALL(err, bytes, cuMemUnmap, at, bytes);
	if (status == STATUS_OK)
		status = DRIVER_CALL(err, bytes, cuMemAddressFree, at, bytes);
	return status;
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
		return CUDA_CALL_SIZE(err, bytes, cudaMalloc, out, bytes);
	case ALLOCATOR_POOL:
		if (!(device->info.capabilities & DEVICE_HAS_POOLS))
			return cuda_memory_pools_missing(device, err);
		return CUDA_CALL_SIZE(err, bytes, cudaMallocAsync, out, bytes,
				      cuda_memory_stream_or_default(stream));
	case ALLOCATOR_POOL_RELEASE:
		return cuda_memory_alloc_releasing(device, bytes, stream, out, err);
	case ALLOCATOR_VMM:
		return cuda_memory_vmm_alloc(device, bytes, out, err);
	case ALLOCATOR_MANAGED:
		return cuda_memory_managed_alloc(device, bytes, out, err);
	case ALLOCATOR_PINNED:
		return CUDA_CALL_SIZE(err, bytes, cudaHostAlloc, out, bytes, cudaHostAllocPortable);
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
		return CUDA_CALL_SIZE(err, bytes, cudaFree, memory);
	case ALLOCATOR_POOL:
	case ALLOCATOR_POOL_RELEASE:
		return CUDA_CALL_SIZE(err, bytes, cudaFreeAsync, memory,
				      cuda_memory_stream_or_default(stream));
	case ALLOCATOR_VMM:
		return cuda_memory_vmm_free(device, memory, bytes, err);
	case ALLOCATOR_MANAGED:
		atomic_fetch_sub(&((struct cuda_device *)device)->managed->bytes, bytes);
		return cuda_device_check_size(cudaFree(memory), "cudaFree of managed memory", bytes,
					      err);
	case ALLOCATOR_PINNED:
	case ALLOCATOR_WRITE_COMBINED:
		return CUDA_CALL_SIZE(err, bytes, cudaFreeHost, memory);
	case ALLOCATOR_REGISTERED:
		status = CUDA_CALL(err, cudaHostUnregister, memory);
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
		status = CUDA_CALL(err, cudaDeviceGetDefaultMemPool, pool, device->info.index);
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
		status = CUDA_CALL(err, cudaMemPoolTrimTo, pool, 0);
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
		status = CUDA_CALL(err, cudaMemPoolTrimTo, pool, 0);
	return status;
}

enum status cuda_range_reserve(struct device *device, size_t bytes, struct memory_range **out,
			       struct error *err)
{
	enum status status = cuda_device_use(device, err);
	struct cuda_range *range;
	CUdeviceptr at = 0;

	*out = NULL;
	if (status == STATUS_OK)
		status = cuda_memory_read_granularity((struct cuda_device *)device, err);
	if (status == STATUS_OK)
		status = DRIVER_CALL(err, bytes, cuMemAddressReserve, &at, bytes, 0, 0, 0);
	if (status != STATUS_OK)
		return status;
	range = xcalloc(1, sizeof(*range));
	range->base = (struct memory_range){ .device = device,
					     .start = (char *)(uintptr_t)at, /* NOLINT */
					     .bytes = bytes };
	*out = &range->base;
	return STATUS_OK;
}

enum status cuda_range_map(struct memory_range *base, size_t bytes, struct error *err)
{
	struct cuda_range *range = (struct cuda_range *)base;
	enum status status = cuda_device_use(base->device, err);

	if (bytes > base->bytes - base->mapped)
		return error_set(err, STATUS_INTERNAL,
				 "cannot map %zu bytes at offset %zu of a range of %zu bytes",
				 bytes, base->mapped, base->bytes);
	if (status == STATUS_OK)
		status = cuda_memory_map(base->device,
					 (CUdeviceptr)(uintptr_t)(base->start + base->mapped),
					 bytes, err);
	if (status != STATUS_OK)
		return status;
	ARRAY_GROW(range->pieces, range->count, range->capacity);
	range->pieces[range->count++] = bytes;
	base->mapped += bytes;
	return STATUS_OK;
}

enum status cuda_range_release(struct memory_range *base, struct error *err)
{
	struct cuda_range *range = (struct cuda_range *)base;
	CUdeviceptr at = (CUdeviceptr)(uintptr_t)base->start;
	enum status status = cuda_memory_wait_idle(base->device, err);

	for (size_t i = 0; i < range->count && status == STATUS_OK; i++) {
		status = DRIVER_CALL(err, range->pieces[i], cuMemUnmap, at, range->pieces[i]);
		at += range->pieces[i];
	}
	if (status == STATUS_OK)
		status = DRIVER_CALL(err, base->bytes, cuMemAddressFree,
				     (CUdeviceptr)(uintptr_t)base->start, base->bytes);
	free(range->pieces);
	free(range);
	return status;
}

enum status cuda_memory_granularity(struct device *device, enum allocator allocator, size_t *bytes,
				    struct error *err)
{
	enum status status = cuda_device_use(device, err);

	if (allocator != ALLOCATOR_VMM)
		return error_set(err, STATUS_UNSUPPORTED,
				 "CUDA does not report the granularity of %s",
				 allocator_name(allocator));
	if (status == STATUS_OK)
		status = cuda_memory_read_granularity((struct cuda_device *)device, err);
	*bytes = ((struct cuda_device *)device)->granularity;
	return status;
}
