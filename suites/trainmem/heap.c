#include "suites/trainmem/heap.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/units.h"
#include "suites/trainmem/policy.h"

#define X(symbol, name, help) #name,
const char *const policy_names[] = { POLICIES(X) NULL };
#undef X

const char *const phase_names[PHASE_COUNT] = { "setup", "forward", "backward", "optimizer" };

enum status heap_open(struct heap *heap, struct device *device, struct stream *stream,
		      enum policy policy, uint64_t limit, uint64_t reserve, struct error *err)
{
	*heap = (struct heap){ .device = device,
			       .stream = stream,
			       .policy = policy,
			       .limit = limit,
			       .next_address = UINT64_C(1) << 40 };
	return policy_open(heap, reserve, err);
}

void heap_close(struct heap *heap)
{
	policy_close(heap);
	*heap = (struct heap){ 0 };
}

static void note_peak(struct heap *heap, struct heap_peak *peak)
{
	if (heap->live_total <= peak->total)
		return;
	peak->total = heap->live_total;
	memcpy(peak->bytes, heap->live, sizeof(peak->bytes));
}

static void count(struct heap *heap, enum memory_class tag, uint64_t bytes)
{
	heap->live[tag] += bytes;
	heap->live_total += bytes;
	if (heap->live[tag] > heap->class_peak[tag])
		heap->class_peak[tag] = heap->live[tag];
	note_peak(heap, &heap->peak);
	note_peak(heap, &heap->phase_peak[heap->phase]);
}

enum status heap_take(struct heap *heap, enum memory_class tag, uint64_t bytes, void *out,
		      struct error *err)
{
	double start = heap->timed ? clock_seconds() : 0;
	enum status status;
	char size[32];
	void *memory;

	heap->takes++;
	status = policy_take(heap, tag, bytes, &memory, err);
	if (heap->timed)
		heap->seconds += clock_seconds() - start;
	if (status != STATUS_OK)
		return error_prefix(err, "%s of %s (%s)", units_size(bytes, size, sizeof(size)),
				    memory_class_names[tag], phase_names[heap->phase]);
	count(heap, tag, bytes);
	memcpy(out, &memory, sizeof(memory));
	return STATUS_OK;
}

void heap_give(struct heap *heap, enum memory_class tag, void *memory, uint64_t bytes)
{
	double start = heap->timed ? clock_seconds() : 0;

	if (!memory)
		return;
	policy_give(heap, memory);
	if (heap->timed)
		heap->seconds += clock_seconds() - start;
	heap->live[tag] -= bytes;
	heap->live_total -= bytes;
}

void heap_begin(struct heap *heap, enum phase phase)
{
	heap->phase = phase;
	note_peak(heap, &heap->phase_peak[phase]);
}

void heap_forget_peaks(struct heap *heap)
{
	heap->peak = (struct heap_peak){ 0 };
	memset(heap->phase_peak, 0, sizeof(heap->phase_peak));
	memcpy(heap->class_peak, heap->live, sizeof(heap->class_peak));
	note_peak(heap, &heap->peak);
	heap->takes = heap->device_calls = 0;
}

void heap_trim(struct heap *heap)
{
	policy_trim(heap);
}

static enum status take_for_arena(void *state, enum memory_class tag, uint64_t bytes, void **out,
				  struct error *err)
{
	return heap_take(state, tag, bytes, out, err);
}

static void give_for_arena(void *state, enum memory_class tag, void *memory, uint64_t bytes)
{
	heap_give(state, tag, memory, bytes);
}

struct arena_source heap_source(struct heap *heap)
{
	return (struct arena_source){ heap, take_for_arena, give_for_arena };
}
