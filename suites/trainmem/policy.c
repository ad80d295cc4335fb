#include "suites/trainmem/policy.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/units.h"

/* One block taken from the device, for one tensor. */
struct heap_segment {
	void *memory;
	uint64_t bytes;
	struct heap_segment *next;
};

static enum status beyond_limit(const struct heap *heap, uint64_t bytes, struct error *err)
{
	char wanted[32], limit[32], taken[32];

	return error_set(err, STATUS_NO_MEMORY, "%s more than the limit of %s allows, %s are taken",
			 units_format((double)bytes, "B", wanted, sizeof(wanted)),
			 units_format((double)heap->limit, "B", limit, sizeof(limit)),
			 units_format((double)heap->reserved, "B", taken, sizeof(taken)));
}

static void reserved_grows(struct heap *heap, uint64_t bytes)
{
	heap->reserved += bytes;
	heap->pieces++;
	if (heap->reserved > heap->reserved_peak)
		heap->reserved_peak = heap->reserved;
}

static enum status device_take(struct heap *heap, uint64_t bytes, void **out, struct error *err)
{
	enum allocator from = heap->policy == POLICY_ASYNC ? ALLOCATOR_POOL : ALLOCATOR_DEVICE;
	enum status status = STATUS_OK;

	heap->refused = bytes;
	if (heap->limit && heap->reserved + bytes > heap->limit)
		return beyond_limit(heap, heap->reserved + bytes - heap->limit, err);
	if (heap->device) {
		status = backend_memory_alloc(heap->device, from, bytes, heap->stream, out, err);
		heap->device_calls++;
	} else {
		*out = (void *)(uintptr_t)heap->next_address;
		heap->next_address += region_round(bytes);
	}
	if (status != STATUS_OK)
		return status;
	heap->refused = 0;
	reserved_grows(heap, bytes);
	return STATUS_OK;
}

/*
 * The device's own allocator knows no stream: what the stream still does with the memory must be
 * over. cudaFree waits in any case.
 */
static void device_give(struct heap *heap, void *memory, uint64_t bytes)
{
	enum allocator from = heap->policy == POLICY_ASYNC ? ALLOCATOR_POOL : ALLOCATOR_DEVICE;
	struct error ignored = ERROR_NONE;

	if (heap->device) {
		if (from == ALLOCATOR_DEVICE)
			backend_stream_synchronize(heap->stream, &ignored);
		backend_memory_free(heap->device, from, memory, bytes, heap->stream, &ignored);
		heap->device_calls++;
	}
	heap->reserved -= bytes;
	heap->pieces--;
}

/* Listed, so that no block is lost when a step fails half-way. */
static enum status single_take(struct heap *heap, uint64_t bytes, void **out, struct error *err)
{
	struct heap_segment *s;
	enum status status = device_take(heap, bytes, out, err);

	if (status != STATUS_OK)
		return status;
	s = xcalloc(1, sizeof(*s));
	*s = (struct heap_segment){ *out, bytes, heap->segments };
	heap->segments = s;
	return STATUS_OK;
}

static void single_give(struct heap *heap, struct heap_segment **link)
{
	struct heap_segment *s = *link;

	*link = s->next;
	device_give(heap, s->memory, s->bytes);
	free(s);
}

static enum status take_for_caching(void *state, size_t bytes, void **out, struct error *err)
{
	return device_take(state, bytes, out, err);
}

static enum status give_for_caching(void *state, void *memory, size_t bytes, struct error *err)
{
	(void)err;
	device_give(state, memory, bytes);
	return STATUS_OK;
}

enum status policy_open(struct heap *heap, uint64_t reserve, struct error *err)
{
	struct caching_source source = { heap, take_for_caching, give_for_caching };

	switch (heap->policy) {
	case POLICY_ARENA:
		heap->reservation = reservation_open(source, reserve);
		return reservation_make(heap->reservation, err);
	/* The heap itself holds the limit; rules whose regions grow up to it know it as well. */
	case POLICY_CACHING:
		heap->caching = caching_open(source, CACHING_PYTORCH, 0);
		return STATUS_OK;
	case POLICY_BFC:
		heap->caching =
			caching_open(source, CACHING_BFC, heap->limit ? heap->limit : reserve);
		return STATUS_OK;
	case POLICY_BFC_GROWTH:
		heap->caching = caching_open(source, CACHING_BFC_GROWTH, heap->limit);
		return STATUS_OK;
	default:
		return STATUS_OK;
	}
}

/*
 * In an arena outputs grow from the bottom, and their gradients come from the top: so what backward
 * has done with is next to what is free, and one grows into the place of the other.
 */
enum status policy_take(struct heap *heap, enum memory_class tag, uint64_t bytes, void **out,
			struct error *err)
{
	if (heap->reservation)
		return reservation_take(heap->reservation, tag == MEMORY_TRANSIENT, bytes, out,
					err);
	if (heap->caching)
		return caching_alloc(heap->caching, bytes, out, err);
	return single_take(heap, bytes, out, err);
}

void policy_give(struct heap *heap, void *memory)
{
	struct heap_segment **link = &heap->segments;
	struct error ignored = ERROR_NONE;

	if (heap->reservation) {
		reservation_give(heap->reservation, memory, &ignored);
	} else if (heap->caching) {
		caching_free(heap->caching, memory, &ignored);
	} else {
		while ((*link)->memory != memory)
			link = &(*link)->next;
		single_give(heap, link);
	}
}

void policy_trim(struct heap *heap)
{
	struct error ignored = ERROR_NONE;

	if (heap->policy == POLICY_ASYNC && heap->device) {
		backend_stream_synchronize(heap->stream, &ignored);
		backend_memory_trim(heap->device, &ignored);
	}
	if (heap->caching)
		caching_trim(heap->caching, &ignored);
}

void policy_close(struct heap *heap)
{
	while (heap->segments)
		single_give(heap, &heap->segments);
	caching_close(heap->caching);
	reservation_close(heap->reservation);
	heap->caching = NULL;
	heap->reservation = NULL;
	if (heap->policy == POLICY_ASYNC)
		policy_trim(heap);
}

void heap_free_bytes(const struct heap *heap, uint64_t *all, uint64_t *largest)
{
	*all = *largest = 0;
	if (heap->caching)
		caching_free_bytes(heap->caching, all, largest);
	if (heap->reservation)
		reservation_free_bytes(heap->reservation, all, largest);
}
