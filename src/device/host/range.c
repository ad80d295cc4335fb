/* Ranges of addresses backed with memory piece by piece: inaccessible pages until then. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "device/host/host_device.h"

enum status host_range_reserve(struct device *device, size_t bytes, struct memory_range **out,
			       struct error *err)
{
	struct memory_range *range;
	void *start;

	*out = NULL;
	if (host_reserve("vmm", bytes, &start, err) != STATUS_OK)
		return STATUS_NO_MEMORY;
	range = xcalloc(1, sizeof(*range));
	*range = (struct memory_range){ .device = device, .start = start, .bytes = bytes };
	*out = range;
	return STATUS_OK;
}

enum status host_range_map(struct memory_range *range, size_t bytes, struct error *err)
{
	struct host_device *host = host_device(range->device);
	enum status status;

	if (bytes > range->bytes - range->mapped)
		return error_set(err, STATUS_INTERNAL, "%zu bytes at offset %zu of a range of %zu",
				 bytes, range->mapped, range->bytes);
	status = host_check_fits("vmm", bytes, atomic_load(&host->allocated_bytes),
				 host->partition->memory_bytes, err);
	if (status == STATUS_OK)
		status = host_commit(host, "vmm", range->start + range->mapped, bytes, err);
	if (status != STATUS_OK)
		return status;
	range->mapped += bytes;
	atomic_fetch_add(&host->allocated_bytes, bytes);
	return STATUS_OK;
}

enum status host_range_release(struct memory_range *range, struct error *err)
{
	struct host_device *host = host_device(range->device);
	enum status status = STATUS_OK;

	if (munmap(range->start, range->bytes) != 0)
		status = error_set(err, STATUS_DEVICE, "vmm memory: munmap of %zu bytes: %s",
				   range->bytes, strerror(errno));
	atomic_fetch_sub(&host->allocated_bytes, range->mapped);
	free(range);
	return status;
}

enum status host_memory_granularity(struct device *device, enum allocator allocator, size_t *bytes,
				    struct error *err)
{
	(void)device;
	if (!allocator_on_device(allocator))
		return error_set(err, STATUS_UNSUPPORTED, "%s memory has no granularity of its own",
				 allocator_name(allocator));
	*bytes = (size_t)sysconf(_SC_PAGESIZE);
	return STATUS_OK;
}
