/* Memory of benchmarks in the host backend. */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/units.h"
#include "device/host/host_device.h"
#include "device/limits.h"

/* Ranges of addresses backed with memory piece by piece: inaccessible pages until then. */
enum status host_range_reserve(struct device *device, size_t bytes, struct memory_range **out,
			       struct error *err)
{
	struct memory_range *range;
	void *start;

	*out = NULL;
	if (host_memory_reserve("vmm", bytes, &start, err) != STATUS_OK)
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
		return error_set(err, STATUS_INTERNAL,
				 "cannot map %zu bytes at offset %zu of a range of %zu bytes",
				 bytes, range->mapped, range->bytes);
	status = host_memory_check_fits("vmm", bytes, atomic_load(&host->allocated_bytes),
					host->partition->memory_bytes, err);
	if (status == STATUS_OK)
		status = host_memory_commit(host, "vmm", range->start + range->mapped, bytes, err);
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
		return error_set(err, STATUS_UNSUPPORTED, "allocator %s reports no granularity",
				 allocator_name(allocator));
	*bytes = (size_t)sysconf(_SC_PAGESIZE);
	return STATUS_OK;
}

/*
 * Larger requests are compared with the free memory, not only with the total; smaller ones stay
 * fast.
 */
#define LARGE_SHARE 8

/*
 * Linux overcommits memory and kills a process later, so "does not fit" is detected here. `used`
 * and `total` are those of the pool.
 */
enum status host_memory_check_fits(const char *kind, uint64_t bytes, uint64_t used, uint64_t total,
				   struct error *err)
{
	char wanted[32], there[32];
	uint64_t rest = total > used ? total - used : 0;

	if (bytes <= rest && bytes > total / LARGE_SHARE) {
		uint64_t available = device_limits_memory_available();

		rest = available < rest ? available : rest;
	}
	if (bytes <= rest)
		return STATUS_OK;
	return error_set(err, STATUS_NO_MEMORY, "%s memory: requested %s, but only %s are free",
			 kind, units_si((double)bytes, "B", wanted, sizeof(wanted)),
			 units_si((double)rest, "B", there, sizeof(there)));
}

/* Below this size, the partial huge pages at the ends matter. */
#define HUGE_BYTES (4u << 20)

static enum status host_memory_map_pages(struct host_device *device, const char *kind, size_t bytes,
					 void **out, struct error *err)
{
	void *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return error_set(err, STATUS_NO_MEMORY, "%s memory: mmap of %zu bytes: %s", kind,
				 bytes, strerror(errno));
	cpu_partition_place_memory(device->partition, memory, bytes);
	*out = memory;
	return STATUS_OK;
}

enum status host_memory_commit(struct host_device *device, const char *kind, void *at, size_t bytes,
			       struct error *err)
{
	if (mprotect(at, bytes, PROT_READ | PROT_WRITE) != 0)
		return error_set(err, STATUS_NO_MEMORY, "%s memory: mprotect of %zu bytes: %s",
				 kind, bytes, strerror(errno));
	cpu_partition_place_memory(device->partition, at, bytes);
	return STATUS_OK;
}

enum status host_memory_reserve(const char *kind, size_t bytes, void **out, struct error *err)
{
	*out = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (*out != MAP_FAILED)
		return STATUS_OK;
	*out = NULL;
	return error_set(err, STATUS_NO_MEMORY, "%s memory: mmap of %zu bytes: %s", kind, bytes,
			 strerror(errno));
}

/* Reserves addresses; memory is mapped to them later, as with cuMemMap() on a device. */
static enum status host_memory_map_reserved(struct host_device *device, const char *kind,
					    size_t bytes, void **out, struct error *err)
{
	if (host_memory_reserve(kind, bytes, out, err) != STATUS_OK)
		return STATUS_NO_MEMORY;
	if (host_memory_commit(device, kind, *out, bytes, err) == STATUS_OK)
		return STATUS_OK;
	munmap(*out, bytes);
	*out = NULL;
	return STATUS_NO_MEMORY;
}

static enum status host_memory_map_locked(struct host_device *device, const char *kind,
					  size_t bytes, void **out, struct error *err)
{
	if (host_memory_map_pages(device, kind, bytes, out, err) != STATUS_OK)
		return STATUS_NO_MEMORY;
	if (mlock(*out, bytes) != 0) {
		int failure = errno;
		struct rlimit limit = { 0, 0 };
		char size[32];

		munmap(*out, bytes);
		*out = NULL;
		getrlimit(RLIMIT_MEMLOCK, &limit);
		/* Free memory was checked before. */
		if (failure == EPERM || limit.rlim_cur != RLIM_INFINITY)
			return error_set(err, STATUS_UNSUPPORTED,
					 "%s memory: mlock of %zu bytes: %s: RLIMIT_MEMLOCK "
					 "(ulimit -l) is %s",
					 kind, bytes, strerror(failure),
					 units_size(limit.rlim_cur, size, sizeof(size)));
		return error_set(err, STATUS_NO_MEMORY, "%s memory: mlock of %zu bytes: %s", kind,
				 bytes, strerror(failure));
	}
	return STATUS_OK;
}

static enum status host_memory_allocate_touched(size_t bytes, void **out, struct error *err)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	volatile char *memory = malloc(bytes);

	if (!memory)
		return error_set(err, STATUS_NO_MEMORY, "pageable memory: malloc of %zu bytes: %s",
				 bytes, strerror(errno));
	for (size_t i = 0; i < bytes; i += page)
		memory[i] = 0;
	*out = (void *)memory;
	return STATUS_OK;
}

static enum status host_memory_allocate(struct host_device *device, enum allocator allocator,
					size_t bytes, void **out, struct error *err)
{
	const char *kind = allocator_name(allocator);

	switch (allocator) {
	case ALLOCATOR_DEVICE:
		if (host_memory_map_pages(device, kind, bytes, out, err) != STATUS_OK)
			return STATUS_NO_MEMORY;
		/*
		 * Device memory is written before it is timed: page faults of 4 KiB would dominate
		 * a case.
		 */
		if (bytes >= HUGE_BYTES)
			madvise(*out, bytes, MADV_HUGEPAGE); /* if refused, small pages are used */
		return STATUS_OK;
	case ALLOCATOR_VMM:
		return host_memory_map_reserved(device, kind, bytes, out, err);
	case ALLOCATOR_PINNED:
	case ALLOCATOR_REGISTERED:
		return host_memory_map_locked(device, kind, bytes, out, err);
	case ALLOCATOR_PAGEABLE:
		return host_memory_allocate_touched(bytes, out, err);
	case ALLOCATOR_POOL:
	case ALLOCATOR_POOL_RELEASE:
		return error_set(err, STATUS_UNSUPPORTED,
				 "a CPU has no stream-ordered memory pool");
	case ALLOCATOR_MANAGED:
		return error_set(err, STATUS_UNSUPPORTED,
				 "the CPU has no managed memory, because it has no other memory "
				 "than its own");
	case ALLOCATOR_WRITE_COMBINED:
		return error_set(err, STATUS_UNSUPPORTED,
				 "write-combined memory is only for transfers to a device on a "
				 "bus");
	default:
		return error_set(err, STATUS_INTERNAL, "no allocator %d", (int)allocator);
	}
}

enum status host_memory_alloc(struct device *device, enum allocator allocator, size_t bytes,
			      struct stream *stream, void **out, struct error *err)
{
	struct host_device *host = host_device(device);
	bool own = allocator_on_device(allocator);
	_Atomic uint64_t *used = own ? &host->allocated_bytes : &host->host_bytes;
	uint64_t total = own ? host->partition->memory_bytes : host->machine_bytes;
	bool missing = allocator == ALLOCATOR_POOL || allocator == ALLOCATOR_POOL_RELEASE ||
		       allocator == ALLOCATOR_MANAGED || allocator == ALLOCATOR_WRITE_COMBINED;
	enum status status = STATUS_OK;

	(void)stream;
	*out = NULL;
	if (bytes == 0)
		return STATUS_OK;
	if (!missing)
		status = host_memory_check_fits(allocator_name(allocator), bytes, atomic_load(used),
						total, err);
	if (status == STATUS_OK)
		status = host_memory_allocate(host, allocator, bytes, out, err);
	if (status == STATUS_OK)
		atomic_fetch_add(used, bytes);
	return status;
}

enum status host_memory_free(struct device *device, enum allocator allocator, void *memory,
			     size_t bytes, struct stream *stream, struct error *err)
{
	struct host_device *host = host_device(device);

	(void)stream;
	if (!memory)
		return STATUS_OK;
	if (allocator == ALLOCATOR_PAGEABLE)
		free(memory);
	else if (munmap(memory, bytes) != 0)
		return error_set(err, STATUS_DEVICE, "%s memory: munmap of %zu bytes: %s",
				 allocator_name(allocator), bytes, strerror(errno));
	if (allocator_on_device(allocator))
		atomic_fetch_sub(&host->allocated_bytes, bytes);
	else
		atomic_fetch_sub(&host->host_bytes, bytes);
	return STATUS_OK;
}

/* malloc() keeps freed memory. */
enum status host_memory_trim(struct device *device, struct error *err)
{
	(void)device;
	(void)err;
	malloc_trim(0);
	return STATUS_OK;
}

enum status host_device_memory(struct device *device, uint64_t *free_bytes, uint64_t *total_bytes,
			       struct error *err)
{
	struct host_device *host = host_device(device);
	uint64_t used = atomic_load(&host->allocated_bytes) + atomic_load(&host->workspace_bytes);
	uint64_t available = device_limits_memory_available();

	(void)err;
	*total_bytes = host->partition->memory_bytes;
	*free_bytes = *total_bytes > used ? *total_bytes - used : 0;
	if (available < *free_bytes)
		*free_bytes = available;
	return STATUS_OK;
}

/*
 * The machine's total is not an accounting source, because other processes use memory all the time.
 */
enum status host_memory_view(struct device *device, struct memory_view *out, struct error *err)
{
	struct host_device *host = host_device(device);
	unsigned long long size, pages = 0;
	char line[128];

	(void)err;
	/* Without a complete answer the resident bytes stay 0: unknown. */
	if (device_limits_read_line(line, sizeof(line), "/proc/self/statm"))
		sscanf(line, "%llu %llu", &size, &pages);
	*out = (struct memory_view){
		.runtime_used =
			atomic_load(&host->allocated_bytes) + atomic_load(&host->workspace_bytes),
		.process_used = pages * (uint64_t)sysconf(_SC_PAGESIZE),
	};
	return STATUS_OK;
}
