#include "suites/trainmem/policy.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/units.h"

/* One block taken from the device. */
struct heap_segment {
	char *base;
	struct region region;
	bool small; /* of caching: for requests up to SMALL_MOST */
	struct heap_segment *next;
};

/* PyTorch's rules: small requests share blocks of 2 MiB, middle ones of 20, large ones have their own. */
#define MIB (UINT64_C(1) << 20)
#define SMALL_MOST MIB
#define SMALL_BLOCK (2 * MIB)
#define MIDDLE_MOST (10 * MIB)
#define MIDDLE_BLOCK (20 * MIB)
#define LARGE_ROUNDING (2 * MIB)
/* A large block keeps a rest that is no larger. */
#define LARGE_REST (MIB + 1)

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

	if (heap->limit && heap->reserved + bytes > heap->limit)
		return beyond_limit(heap, heap->reserved + bytes - heap->limit, err);
	if (heap->device) {
		status = backend_memory_alloc(heap->device, from, bytes, heap->stream, out, err);
		heap->device_calls++;
	} else {
		*out = (void *)(uintptr_t)heap->next_address;
		heap->next_address += region_round(bytes);
	}
	if (status == STATUS_OK)
		reserved_grows(heap, bytes);
	return status;
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

static enum status add_segment(struct heap *heap, uint64_t bytes, bool small,
			       struct heap_segment **out, struct error *err)
{
	struct heap_segment *s;
	void *base;

	if (device_take(heap, bytes, &base, err) != STATUS_OK)
		return err->status;
	s = xcalloc(1, sizeof(*s));
	s->base = base;
	s->small = small;
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

enum status policy_reserve(struct heap *heap, uint64_t bytes, struct error *err)
{
	struct heap_segment *s;

	return add_segment(heap, bytes, false, &s, err);
}

static void take_piece(struct heap_segment *s, struct region_piece *piece, uint64_t bytes,
		       uint64_t least_rest, void **out)
{
	region_take(&s->region, piece, bytes, least_rest);
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
		take_piece(s, piece, bytes, REGION_ROUNDING, out);
	return STATUS_OK;
}

static uint64_t block_for(uint64_t bytes)
{
	if (bytes <= SMALL_MOST)
		return SMALL_BLOCK;
	if (bytes < MIDDLE_MOST)
		return MIDDLE_BLOCK;
	return (bytes + LARGE_ROUNDING - 1) / LARGE_ROUNDING * LARGE_ROUNDING;
}

/* The smallest free piece of all blocks of the right kind. */
static struct region_piece *cached(const struct heap *heap, uint64_t bytes,
				   struct heap_segment **from)
{
	struct region_piece *best = NULL;

	for (struct heap_segment *s = heap->segments; s; s = s->next) {
		struct region_piece *p = s->small == (bytes <= SMALL_MOST)
						 ? region_find(&s->region, bytes, REGION_BEST)
						 : NULL;

		if (p && (!best || p->bytes < best->bytes)) {
			best = p;
			*from = s;
		}
	}
	return best;
}

static enum status caching_take(struct heap *heap, uint64_t bytes, void **out, struct error *err)
{
	bool small = bytes <= SMALL_MOST;
	uint64_t least_rest = small ? REGION_ROUNDING : LARGE_REST;
	struct heap_segment *s = NULL;
	struct region_piece *piece = cached(heap, bytes, &s);
	struct error first = ERROR_NONE;

	/* What is cached and of no use goes back to the device, and it is asked once more. */
	if (!piece && add_segment(heap, block_for(bytes), small, &s, &first) != STATUS_OK) {
		if (first.status != STATUS_NO_MEMORY)
			return error_set(err, first.status, "%s", first.message);
		policy_trim(heap);
		if (add_segment(heap, block_for(bytes), small, &s, err) != STATUS_OK)
			return err->status;
	}
	if (!piece)
		piece = s->region.pieces;
	take_piece(s, piece, bytes, least_rest, out);
	return STATUS_OK;
}

/* A block for each tensor; listed, so that none is lost when a step fails half-way. */
static enum status single_take(struct heap *heap, uint64_t bytes, void **out, struct error *err)
{
	struct heap_segment *s;

	if (add_segment(heap, bytes, false, &s, err) != STATUS_OK)
		return err->status;
	take_piece(s, s->region.pieces, bytes, 1, out);
	return STATUS_OK;
}

enum status policy_take(struct heap *heap, enum memory_class tag, uint64_t bytes, void **out,
			struct error *err)
{
	switch (heap->policy) {
	case POLICY_ARENA:
		return arena_take(heap, tag == MEMORY_TRANSIENT, region_round(bytes), out, err);
	case POLICY_CACHING:
		return caching_take(heap, region_round(bytes), out, err);
	default:
		return single_take(heap, bytes, out, err);
	}
}

/* Where the list names the block that has `memory`. */
static struct heap_segment **segment_of(struct heap *heap, const void *memory)
{
	struct heap_segment **link = &heap->segments;

	while ((uintptr_t)memory < (uintptr_t)(*link)->base ||
	       (uintptr_t)memory - (uintptr_t)(*link)->base >= (*link)->region.bytes)
		link = &(*link)->next;
	return link;
}

void policy_give(struct heap *heap, void *memory)
{
	struct heap_segment **link = segment_of(heap, memory);
	struct region *region = &(*link)->region;
	uint64_t offset = (uint64_t)((uintptr_t)memory - (uintptr_t)(*link)->base);

	if (heap->policy == POLICY_MALLOC || heap->policy == POLICY_ASYNC)
		drop_segment(heap, link);
	else
		region_give(region, region_at(region, offset));
}

void policy_trim(struct heap *heap)
{
	struct heap_segment **link = &heap->segments;
	struct error ignored = ERROR_NONE;

	if (heap->policy == POLICY_ASYNC && heap->device) {
		backend_stream_synchronize(heap->stream, &ignored);
		backend_memory_trim(heap->device, &ignored);
	}
	while (heap->policy == POLICY_CACHING && *link) {
		if ((*link)->region.used == 0)
			drop_segment(heap, link);
		else
			link = &(*link)->next;
	}
}

void policy_close(struct heap *heap)
{
	while (heap->segments)
		drop_segment(heap, &heap->segments);
	if (heap->policy == POLICY_ASYNC)
		policy_trim(heap);
}

void heap_free_bytes(const struct heap *heap, uint64_t *all, uint64_t *largest)
{
	*all = *largest = 0;
	if (heap->policy == POLICY_MALLOC || heap->policy == POLICY_ASYNC)
		return;
	for (const struct heap_segment *s = heap->segments; s; s = s->next) {
		uint64_t piece = region_largest_free(&s->region);

		*all += s->region.bytes - s->region.used;
		*largest = piece > *largest ? piece : *largest;
	}
}
