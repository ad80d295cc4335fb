#include "suites/training/trainmem/heap.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/units.h"
#include "suites/shared/checked_blocks.h"

/* One block of device memory, for one tensor. */
struct heap_segment {
	void *memory;
	uint64_t bytes;
	struct heap_segment *next;
};

/* For a struct caching_source, as heap_device_give(). */
static enum status heap_device_take(void *state, size_t bytes, void **out, struct error *err)
{
	struct heap *heap = state;
	enum allocator from = heap->policy == POLICY_ASYNC ? ALLOCATOR_POOL : ALLOCATOR_DEVICE;
	enum status status = STATUS_OK;

	heap->refused = bytes;
	if (heap->limit && heap->reserved + bytes > heap->limit) {
		char wanted[32], limit[32], taken[32];

		return error_set(err, STATUS_NO_MEMORY,
				 "no memory left: a request of %s exceeds the limit of %s; %s are "
				 "in use",
				 units_format((double)(heap->reserved + bytes - heap->limit), "B",
					      wanted, sizeof(wanted)),
				 units_format((double)heap->limit, "B", limit, sizeof(limit)),
				 units_format((double)heap->reserved, "B", taken, sizeof(taken)));
	}
	if (heap->device) {
		status = backend_memory_alloc(heap->device, from, bytes, heap->stream, out, err);
		heap->device_calls++;
	} else {
		*out = (void *)(uintptr_t)heap->next_address;
		heap->next_address += reservation_region_round(bytes);
	}
	if (status != STATUS_OK)
		return status;
	heap->refused = 0;
	heap->reserved += bytes;
	if (heap->reserved > heap->reserved_peak)
		heap->reserved_peak = heap->reserved;
	return STATUS_OK;
}

/*
 * The device's own allocator knows no stream: work of the stream on the memory must have finished.
 * cudaFree waits in any case.
 */
static enum status heap_device_give(void *state, void *memory, size_t bytes, struct error *err)
{
	struct heap *heap = state;
	enum allocator from = heap->policy == POLICY_ASYNC ? ALLOCATOR_POOL : ALLOCATOR_DEVICE;
	struct error ignored = ERROR_NONE;

	if (heap->device) {
		if (from == ALLOCATOR_DEVICE)
			backend_stream_synchronize(heap->stream, &ignored);
		backend_memory_free(heap->device, from, memory, bytes, heap->stream, &ignored);
		heap->device_calls++;
	}
	(void)err;
	heap->reserved -= bytes;
	return STATUS_OK;
}

/* Listed, so that no block is lost if a step fails half-way. */
static enum status heap_single_take(struct heap *heap, uint64_t bytes, void **out,
				    struct error *err)
{
	struct heap_segment *s;
	enum status status = heap_device_take(heap, bytes, out, err);

	if (status != STATUS_OK)
		return status;
	s = xcalloc(1, sizeof(*s));
	*s = (struct heap_segment){ *out, bytes, heap->segments };
	heap->segments = s;
	return STATUS_OK;
}

static void heap_single_give(struct heap *heap, struct heap_segment **link)
{
	struct heap_segment *s = *link;

	*link = s->next;
	heap_device_give(heap, s->memory, s->bytes, NULL);
	free(s);
}

void heap_free_bytes(const struct heap *heap, uint64_t *all, uint64_t *largest)
{
	*all = *largest = 0;
	if (heap->caching)
		caching_free_bytes(heap->caching, all, largest);
	if (heap->reservation)
		reservation_free_bytes(heap->reservation, all, largest);
}

#define X(symbol, name, help) #name,
const char *const policy_names[] = { POLICIES(X) NULL };
#undef X

const char *const phase_names[PHASE_COUNT] = { "setup", "forward", "backward", "optimizer" };

enum status heap_open(struct heap *heap, struct device *device, struct stream *stream,
		      enum policy policy, uint64_t limit, uint64_t reserve, struct error *err)
{
	struct caching_source source = { heap, heap_device_take, heap_device_give };

	*heap = (struct heap){ .device = device,
			       .stream = stream,
			       .policy = policy,
			       .limit = limit,
			       .next_address = UINT64_C(1) << 40 };
	/*
	 * The heap itself enforces the limit; policies whose regions grow up to it receive it as
	 * well.
	 */
	switch (policy) {
	case POLICY_ARENA:
		heap->reservation = reservation_open(source, reserve);
		return reservation_make(heap->reservation, err);
	case POLICY_CACHING:
		heap->caching = caching_open(source, CACHING_PYTORCH, 0);
		return STATUS_OK;
	case POLICY_BFC:
		heap->caching = caching_open(source, CACHING_BFC, limit ? limit : reserve);
		return STATUS_OK;
	case POLICY_BFC_GROWTH:
		heap->caching = caching_open(source, CACHING_BFC_GROWTH, limit);
		return STATUS_OK;
	default:
		return STATUS_OK;
	}
}

void heap_trim(struct heap *heap)
{
	struct error ignored = ERROR_NONE;

	if (heap->policy == POLICY_ASYNC && heap->device) {
		backend_stream_synchronize(heap->stream, &ignored);
		backend_memory_trim(heap->device, &ignored);
	}
	if (heap->caching)
		caching_trim(heap->caching, &ignored);
}

void heap_close(struct heap *heap)
{
	while (heap->segments)
		heap_single_give(heap, &heap->segments);
	caching_close(heap->caching);
	reservation_close(heap->reservation);
	heap->caching = NULL;
	if (heap->policy == POLICY_ASYNC)
		heap_trim(heap);
	*heap = (struct heap){ 0 };
}

static void heap_note_peak(struct heap *heap, struct heap_peak *peak)
{
	if (heap->live_total <= peak->total)
		return;
	peak->total = heap->live_total;
	memcpy(peak->bytes, heap->live, sizeof(peak->bytes));
}

enum status heap_take(struct heap *heap, enum memory_class tag, uint64_t bytes, void *out,
		      struct error *err)
{
	double start = heap->timed ? clock_seconds() : 0;
	enum status status;
	char size[32];
	void *memory;

	heap->takes++;
	/*
	 * In an arena, outputs grow from the bottom and their gradients from the top: memory that
	 * backward has finished with is next to free memory, so that one grows into the other's
	 * place.
	 */
	if (heap->reservation)
		status = reservation_take(heap->reservation, tag == MEMORY_TRANSIENT, bytes,
					  &memory, err);
	else if (heap->caching)
		status = caching_alloc(heap->caching, bytes, &memory, err);
	else
		status = heap_single_take(heap, bytes, &memory, err);
	if (heap->timed)
		heap->seconds += clock_seconds() - start;
	if (status != STATUS_OK)
		return error_prefix(err, "%s of %s (%s)", units_size(bytes, size, sizeof(size)),
				    memory_class_names[tag], phase_names[heap->phase]);
	heap->live[tag] += bytes;
	heap->live_total += bytes;
	if (heap->live[tag] > heap->class_peak[tag])
		heap->class_peak[tag] = heap->live[tag];
	heap_note_peak(heap, &heap->peak);
	heap_note_peak(heap, &heap->phase_peak[heap->phase]);
	memcpy(out, &memory, sizeof(memory));
	return STATUS_OK;
}

void heap_give(struct heap *heap, enum memory_class tag, void *memory, uint64_t bytes)
{
	struct heap_segment **link = &heap->segments;
	struct error ignored = ERROR_NONE;
	double start = heap->timed ? clock_seconds() : 0;

	if (!memory)
		return;
	if (heap->reservation) {
		reservation_give(heap->reservation, memory, &ignored);
	} else if (heap->caching) {
		caching_free(heap->caching, memory, &ignored);
	} else {
		while ((*link)->memory != memory)
			link = &(*link)->next;
		heap_single_give(heap, link);
	}
	if (heap->timed)
		heap->seconds += clock_seconds() - start;
	heap->live[tag] -= bytes;
	heap->live_total -= bytes;
}

void heap_begin(struct heap *heap, enum phase phase)
{
	heap->phase = phase;
	heap_note_peak(heap, &heap->phase_peak[phase]);
}

void heap_forget_peaks(struct heap *heap)
{
	heap->peak = (struct heap_peak){ 0 };
	memset(heap->phase_peak, 0, sizeof(heap->phase_peak));
	memcpy(heap->class_peak, heap->live, sizeof(heap->class_peak));
	heap_note_peak(heap, &heap->peak);
	heap->takes = heap->device_calls = 0;
}

static enum status trainmem_heap_take_for_arena(void *state, enum memory_class tag, uint64_t bytes,
						void **out, struct error *err)
{
	return heap_take(state, tag, bytes, out, err);
}

static void trainmem_heap_give_for_arena(void *state, enum memory_class tag, void *memory,
					 uint64_t bytes)
{
	heap_give(state, tag, memory, bytes);
}

struct arena_source heap_source(struct heap *heap)
{
	return (struct arena_source){ heap, trainmem_heap_take_for_arena,
				      trainmem_heap_give_for_arena };
}

#define LIMIT_PIECES (CHECKERBOARD_BLOCKS + CHECKERBOARD_BLOCKS / 8)

uint64_t trainmem_heap_fragment_bytes(uint64_t piece_bytes)
{
	return LIMIT_PIECES * piece_bytes;
}

static enum status fragment_heap_take(void *heap, size_t bytes, void **out, struct error *err)
{
	return heap_take(heap, MEMORY_TRANSIENT, bytes, out, err);
}

static enum status fragment_heap_give(void *heap, void *memory, size_t bytes, struct error *err)
{
	heap_give(heap, MEMORY_TRANSIENT, memory, bytes);
	return err->status;
}

enum status trainmem_heap_fragment_checkerboard(struct device *device, enum policy policy,
						uint64_t bytes, struct fragments *out,
						struct error *err)
{
	struct checked_block pieces[CHECKERBOARD_BLOCKS] = { 0 };
	struct heap heap = { 0 };
	struct checked_blocks blocks = { .state = &heap,
					 .take = fragment_heap_take,
					 .give = fragment_heap_give,
					 .on_device = true,
					 .seed = bytes };

	*out = (struct fragments){ 0 };
	if ((!device || backend_stream_create(device, false, &blocks.stream, err) == STATUS_OK) &&
	    heap_open(&heap, device, blocks.stream, policy, trainmem_heap_fragment_bytes(bytes),
		      trainmem_heap_fragment_bytes(bytes), err) == STATUS_OK &&
	    checked_blocks_checkerboard_make(&blocks, CHECKERBOARD_BLOCKS * bytes, pieces, err) ==
		    STATUS_OK) {
		out->free_bytes = trainmem_heap_fragment_bytes(bytes) - blocks.used;
		checked_blocks_largest(&blocks, bytes, out->free_bytes, &out->largest_free, err);
		for (int i = 0; i < CHECKERBOARD_BLOCKS && err->status == STATUS_OK; i++)
			checked_blocks_give(&blocks, &pieces[i], err);
	}
	heap_close(&heap);
	backend_stream_destroy(blocks.stream);
	return err->status;
}
