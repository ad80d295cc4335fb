/*
 * CUDA virtual memory: reserves addresses, creates memory, maps it, and grants the device access.
 * The handle of created memory is released at once, because the mapping keeps the memory.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/memory.h"
#include "device/cuda/cuda_backend.h"
#include "device/cuda/driver.h"

struct cuda_range {
	struct memory_range base;
	size_t *pieces; /* size of each mapping, which can only be undone as a whole */
	size_t count, capacity;
};

static CUmemAllocationProp cuda_vmm_memory_of(const struct device *device)
{
	return (CUmemAllocationProp){
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device->info.index },
	};
}

/* Queried once: it is constant. The first allocation comes from the driving thread. */
static enum status vmm_read_granularity(struct cuda_device *device, struct error *err)
{
	CUmemAllocationProp memory = cuda_vmm_memory_of(&device->base);
	int supported = 0;
	enum status status;

	if (device->granularity)
		return STATUS_OK;
	if (library_open(&driver_library, err) != STATUS_OK)
		return err ? err->status : STATUS_UNSUPPORTED;
	status = driver_check(
		driver.cuDeviceGetAttribute(&supported,
					    CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
					    device->base.info.index),
		"cuDeviceGetAttribute", 0, err);
	if (status == STATUS_OK && !supported)
		return error_set(err, STATUS_UNSUPPORTED,
				 "%s (%s) has no virtual memory (cuMemMap)", device->base.info.id,
				 device->base.info.name);
	if (status == STATUS_OK)
		status = driver_check(
			driver.cuMemGetAllocationGranularity(&device->granularity, &memory,
							     CU_MEM_ALLOC_GRANULARITY_MINIMUM),
			"cuMemGetAllocationGranularity", 0, err);
	return status;
}

static size_t vmm_round_up(const struct device *device, size_t bytes)
{
	size_t unit = ((const struct cuda_device *)device)->granularity;

	return bytes > SIZE_MAX - unit ? SIZE_MAX / unit * unit : (bytes + unit - 1) / unit * unit;
}

static enum status vmm_map(const struct device *device, CUdeviceptr at, size_t bytes,
			   struct error *err)
{
	CUmemAllocationProp memory = cuda_vmm_memory_of(device);
	CUmemAccessDesc access = { .location = memory.location,
				   .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUmemGenericAllocationHandle handle;
	enum status status = driver_check(driver.cuMemCreate(&handle, bytes, &memory, 0),
					  "cuMemCreate", bytes, err);

	if (status != STATUS_OK)
		return status;
	status = driver_check(driver.cuMemMap(at, bytes, 0, handle, 0), "cuMemMap", bytes, err);
	driver.cuMemRelease(handle);
	if (status != STATUS_OK)
		return status;
	status = driver_check(driver.cuMemSetAccess(at, bytes, &access, 1), "cuMemSetAccess", bytes,
			      err);
	if (status != STATUS_OK)
		driver.cuMemUnmap(at, bytes);
	return status;
}

enum status cuda_vmm_alloc(struct device *device, size_t bytes, void **out, struct error *err)
{
	enum status status = vmm_read_granularity((struct cuda_device *)device, err);
	CUdeviceptr at = 0;

	if (status != STATUS_OK)
		return status;
	bytes = vmm_round_up(device, bytes);
	status = driver_check(driver.cuMemAddressReserve(&at, bytes, 0, 0, 0),
			      "cuMemAddressReserve", bytes, err);
	if (status != STATUS_OK)
		return status;
	status = vmm_map(device, at, bytes, err);
	if (status != STATUS_OK) {
		driver.cuMemAddressFree(at, bytes);
		return status;
	}
	*out = (void *)(uintptr_t)
		at; /* NOLINT(performance-no-int-to-ptr): an address is a number */
	return STATUS_OK;
}

/* Work that still uses the memory must be finished; cudaFree() waits for it by itself. */
static enum status vmm_wait_idle(const struct device *device, struct error *err)
{
	enum status status = cuda_device_use(device, err);

	return status == STATUS_OK
		       ? cuda_device_check(cudaDeviceSynchronize(), "cudaDeviceSynchronize", err)
		       : status;
}

enum status cuda_vmm_free(struct device *device, void *memory, size_t bytes, struct error *err)
{
	CUdeviceptr at = (CUdeviceptr)(uintptr_t)memory;
	enum status status = vmm_wait_idle(device, err);

	bytes = vmm_round_up(device, bytes);
	if (status == STATUS_OK)
		status = driver_check(driver.cuMemUnmap(at, bytes), "cuMemUnmap", bytes, err);
	if (status == STATUS_OK)
		status = driver_check(driver.cuMemAddressFree(at, bytes), "cuMemAddressFree", bytes,
				      err);
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
		status = vmm_read_granularity((struct cuda_device *)device, err);
	if (status == STATUS_OK)
		status = driver_check(driver.cuMemAddressReserve(&at, bytes, 0, 0, 0),
				      "cuMemAddressReserve", bytes, err);
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
		status = vmm_map(base->device, (CUdeviceptr)(uintptr_t)(base->start + base->mapped),
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
	enum status status = vmm_wait_idle(base->device, err);

	for (size_t i = 0; i < range->count && status == STATUS_OK; i++) {
		status = driver_check(driver.cuMemUnmap(at, range->pieces[i]), "cuMemUnmap",
				      range->pieces[i], err);
		at += range->pieces[i];
	}
	if (status == STATUS_OK)
		status = driver_check(driver.cuMemAddressFree((CUdeviceptr)(uintptr_t)base->start,
							      base->bytes),
				      "cuMemAddressFree", base->bytes, err);
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
		status = vmm_read_granularity((struct cuda_device *)device, err);
	*bytes = ((struct cuda_device *)device)->granularity;
	return status;
}
