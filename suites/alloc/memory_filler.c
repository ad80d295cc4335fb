#include "suites/alloc/memory_filler.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "suites/alloc/alloc.h"

#define CHUNK_BYTES ((uint64_t)1 << 30)
/* Smallest amount that can be allocated separately. */
#define UNIT_BYTES ((uint64_t)2 << 20)

enum status alloc_free_bytes(struct device *device, uint64_t *out, struct error *err)
{
	uint64_t total;

	if (device->info.capabilities & DEVICE_SHARES_HOST_MEMORY)
		return error_set(err, STATUS_UNSUPPORTED,
				 "cannot fill the memory of %s: the operating system shares it "
				 "with other processes",
				 device->info.id);
	if (backend_device_synchronize(device, err) != STATUS_OK)
		return err->status;
	return backend_device_memory(device, out, &total, err);
}

static enum status memory_filler_take_chunk(struct memory_filler *filler, uint64_t bytes,
					    struct error *err)
{
	void *memory;

	if (backend_memory_alloc(filler->device, ALLOCATOR_DEVICE, bytes, NULL, &memory, err) !=
	    STATUS_OK)
		return err->status;
	ARRAY_GROW(filler->chunks, filler->count, filler->capacity);
	ARRAY_GROW(filler->sizes, filler->count, filler->size_capacity);
	filler->sizes[filler->count] = bytes;
	filler->chunks[filler->count++] = memory;
	return STATUS_OK;
}

enum status memory_filler_leave(struct memory_filler *filler, struct device *device, uint64_t bytes,
				struct error *err)
{
	uint64_t unused;

	filler->device = device;
	if (alloc_free_bytes(device, &unused, err) != STATUS_OK)
		return err->status;
	while (unused >= bytes + UNIT_BYTES) {
		uint64_t rest = (unused - bytes) / UNIT_BYTES * UNIT_BYTES;
		uint64_t before = unused;

		if (memory_filler_take_chunk(filler, rest < CHUNK_BYTES ? rest : CHUNK_BYTES,
					     err) != STATUS_OK ||
		    alloc_free_bytes(device, &unused, err) != STATUS_OK)
			return err->status;
		if (unused >= before)
			break; /* other processes free as much as is allocated */
	}
	return STATUS_OK;
}

void memory_filler_free(struct memory_filler *filler)
{
	for (size_t i = filler->count; i > 0; i--)
		backend_memory_free(filler->device, ALLOCATOR_DEVICE, filler->chunks[i - 1],
				    filler->sizes[i - 1], NULL, NULL);
	free(filler->chunks);
	free(filler->sizes);
	memset(filler, 0, sizeof(*filler));
}
