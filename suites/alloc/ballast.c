#include "suites/alloc/ballast.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "suites/alloc/alloc.h"

#define CHUNK_BYTES ((uint64_t)1 << 30)
/* What is less than that cannot be taken by itself. */
#define UNIT_BYTES ((uint64_t)2 << 20)

enum status alloc_free_bytes(struct device *device, uint64_t *out, struct error *err)
{
	uint64_t total;

	if (device->info.capabilities & DEVICE_SHARES_HOST_MEMORY)
		return error_set(
			err, STATUS_UNSUPPORTED,
			"the memory of %s is the operating system's: others use it as well",
			device->info.id);
	if (backend_device_synchronize(device, err) != STATUS_OK)
		return err->status;
	return backend_device_memory(device, out, &total, err);
}

static enum status take_chunk(struct ballast *b, uint64_t bytes, struct error *err)
{
	void *memory;

	if (backend_memory_alloc(b->device, ALLOCATOR_DEVICE, bytes, NULL, &memory, err) !=
	    STATUS_OK)
		return err->status;
	ARRAY_GROW(b->chunks, b->count, b->capacity);
	ARRAY_GROW(b->sizes, b->count, b->size_capacity);
	b->sizes[b->count] = bytes;
	b->chunks[b->count++] = memory;
	return STATUS_OK;
}

enum status ballast_leave(struct ballast *b, struct device *device, uint64_t bytes,
			  struct error *err)
{
	uint64_t unused;

	b->device = device;
	if (alloc_free_bytes(device, &unused, err) != STATUS_OK)
		return err->status;
	while (unused >= bytes + UNIT_BYTES) {
		uint64_t rest = (unused - bytes) / UNIT_BYTES * UNIT_BYTES;
		uint64_t before = unused;

		if (take_chunk(b, rest < CHUNK_BYTES ? rest : CHUNK_BYTES, err) != STATUS_OK ||
		    alloc_free_bytes(device, &unused, err) != STATUS_OK)
			return err->status;
		if (unused >= before)
			break; /* others give back as much as is taken: it is theirs */
	}
	return STATUS_OK;
}

void ballast_drop(struct ballast *b)
{
	for (size_t i = b->count; i > 0; i--)
		backend_memory_free(b->device, ALLOCATOR_DEVICE, b->chunks[i - 1], b->sizes[i - 1],
				    NULL, NULL);
	free(b->chunks);
	free(b->sizes);
	memset(b, 0, sizeof(*b));
}
