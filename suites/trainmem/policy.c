#include "suites/trainmem/policy.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/units.h"

/* One block taken from the device. */
struct heap_segment {
	char *base;
	struct region region;
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

static enum status add_segment(struct heap *heap, uint64_t bytes, struct heap_segment **out,
			       struct error *err)
{
	struct heap_segment *s;
	void *base;
	enum status status = device_take(heap, bytes, &base, err);

	if (status != STATUS_OK)
		return status;
	s = xcalloc(1, sizeof(*s));
	s->base = base;
	region_init(&s->region, bytes);
	s->next = heap->segments;
	heap->segments = *out = s;
	return STATUS_OK;
}

static void drop_segment(struct heap *heap, struct heap_segment **link)
{
	struct heap_segment *s = *link;

	*link = s->next;
	device_give(heap, s->base, s->region.bytes);
	region_release(&s->region);
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
	struct heap_segment *s;

	if (heap->policy == POLICY_ARENA)
		return add_segment(heap, reserve, &s, err);
	/* The heap itself holds the limit; rules whose regions grow up to it know it as well. */
	if (heap->policy == POLICY_CACHING)
		heap->caching = caching_open(source, CACHING_PYTORCH, 0);
	if (heap->policy == POLICY_BFC)
		heap->caching =
			caching_open(source, CACHING_BFC, heap->limit ? heap->limit : reserve);
	if (heap->policy == POLICY_BFC_GROWTH)
		heap->caching = caching_open(source, CACHING_BFC_GROWTH, heap->limit);
	return STATUS_OK;
}

static void take_piece(struct heap_segment *s, struct region_piece *piece, uint64_t bytes,
		       void **out)
{
	region_take(&s->region, piece, bytes);
	*out = s->base + piece->offset;
}

/*
 * Outputs grow from the bottom, and their gradients come from the top: so what backward has done
 * with is next to what is free, and one grows into the place of the other.
 */
static enum status arena_take(struct heap *heap, bool from_top, uint64_t bytes, void **out,
			      struct error *err)
{
	struct heap_segment *s = heap->segments;
	struct region_piece *piece =
		region_find(&s->region, bytes, from_top ? REGION_LAST : REGION_FIRST);
	char largest[32];

	if (!piece)
		return error_set(err, STATUS_NO_MEMORY, "the arena's largest free piece has %s",
				 units_format((double)region_largest_free(&s->region), "B", largest,
					      sizeof(largest)));
	if (from_top)
		*out = s->base + region_take_end(&s->region, piece, bytes)->offset;
	else
		take_piece(s, piece, bytes, out);
	return STATUS_OK;
}

/* A block for each tensor; listed, so that none is lost when a step fails half-way. */
static enum status single_take(struct heap *heap, uint64_t bytes, void **out, struct error *err)
{
	struct heap_segment *s;
	enum status status = add_segment(heap, bytes, &s, err);

	if (status == STATUS_OK)
		take_piece(s, s->region.pieces, bytes, out);
	return status;
}

enum status policy_take(struct heap *heap, enum memory_class tag, uint64_t bytes, void **out,
			struct error *err)
{
	switch (heap->policy) {
	case POLICY_ARENA:
		return arena_take(heap, tag == MEMORY_TRANSIENT, region_round(bytes), out, err);
	case POLICY_CACHING:
	case POLICY_BFC:
	case POLICY_BFC_GROWTH:
		return caching_alloc(heap->caching, bytes, out, err);
	default:
		return single_take(heap, bytes, out, err);
	}
}

/* Link of the list to the block that contains `memory`. */
static struct heap_segment **segment_of(struct heap *heap, const void *memory)
{
	struct heap_segment **link = &heap->segments;

	while ((uintptr_t)memory < (uintptr_t)(*link)->base ||
	       (uintptr_t)memory - (uintptr_t)(*link)->base >= (*link)->region.bytes)
		link = &(*link)->next;
	return link;
}

static void arena_give(struct heap_segment *s, const void *memory)
{
	uint64_t offset = (uint64_t)((uintptr_t)memory - (uintptr_t)s->base);

	region_give(&s->region, region_at(&s->region, offset));
}

void policy_give(struct heap *heap, void *memory)
{
	struct error ignored = ERROR_NONE;

	switch (heap->policy) {
	case POLICY_ARENA:
		arena_give(heap->segments, memory);
		break;
	case POLICY_CACHING:
	case POLICY_BFC:
	case POLICY_BFC_GROWTH:
		caching_free(heap->caching, memory, &ignored);
		break;
	default:
		drop_segment(heap, segment_of(heap, memory));
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
		drop_segment(heap, &heap->segments);
	caching_close(heap->caching);
	heap->caching = NULL;
	if (heap->policy == POLICY_ASYNC)
		policy_trim(heap);
}

void heap_free_bytes(const struct heap *heap, uint64_t *all, uint64_t *largest)
{
	*all = *largest = 0;
	if (heap->caching) {
		caching_free_bytes(heap->caching, all, largest);
	} else if (heap->policy == POLICY_ARENA && heap->segments) {
		*all = heap->segments->region.bytes - heap->segments->region.used;
		*largest = region_largest_free(&heap->segments->region);
	}
}
