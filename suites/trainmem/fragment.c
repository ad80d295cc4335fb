#include "suites/trainmem/fragment.h"

#include <inttypes.h>

#include "device/backend_calls.h"
#include "kernels/generator.h"

#define PIECES 64
#define LIMIT_PIECES 72

uint64_t fragment_bytes(uint64_t piece_bytes)
{
	return LIMIT_PIECES * piece_bytes;
}

static enum status fill(struct heap *heap, uint64_t bytes, void **pieces, struct error *err)
{
	void *whole;

	/* An allocator that keeps blocks is to have one that holds them all. */
	if (heap->policy == POLICY_CACHING) {
		if (heap_take(heap, MEMORY_TRANSIENT, PIECES * bytes, &whole, err) != STATUS_OK)
			return err->status;
		heap_give(heap, MEMORY_TRANSIENT, whole, PIECES * bytes);
	}
	for (int i = 0; i < PIECES; i++)
		if (heap_take(heap, MEMORY_TRANSIENT, bytes, &pieces[i], err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

static void give_every_other(struct heap *heap, uint64_t bytes, void *const *pieces)
{
	for (int i = 0; i < PIECES; i += 2)
		heap_give(heap, MEMORY_TRANSIENT, pieces[i], bytes);
}

/* The largest number of pieces, as one, that is granted now. */
static enum status largest_granted(struct heap *heap, uint64_t bytes, uint64_t *out,
				   struct error *err)
{
	*out = 0;
	for (uint64_t n = LIMIT_PIECES - PIECES / 2; n > 0 && *out == 0; n--) {
		struct error refused = ERROR_NONE;
		void *memory;

		if (heap_take(heap, MEMORY_TRANSIENT, n * bytes, &memory, &refused) == STATUS_OK) {
			heap_give(heap, MEMORY_TRANSIENT, memory, n * bytes);
			*out = n * bytes;
		} else if (refused.status != STATUS_NO_MEMORY) {
			return error_set(err, refused.status, "%s", refused.message);
		}
	}
	return STATUS_OK;
}

/* Words at both ends of each piece, as they were written and as they are read. */
struct marks {
	uint64_t sent[PIECES][2], received[PIECES][2];
};

static void *end_of(void *piece, uint64_t bytes, int end)
{
	uint64_t last = (bytes - sizeof(uint64_t)) & ~(uint64_t)(sizeof(uint64_t) - 1);

	return (char *)piece + (end ? last : 0);
}

/* A heap without a device has addresses and no memory. */
static enum status write_marks(const struct heap *heap, uint64_t bytes, void *const *pieces,
			       struct marks *marks, struct error *err)
{
	for (int i = 0; heap->device && i < PIECES; i++)
		for (int end = 0; end < 2; end++) {
			marks->sent[i][end] = generator_bits(bytes, (uint64_t)(2 * i + end));
			if (backend_copy(heap->stream, end_of(pieces[i], bytes, end),
					 &marks->sent[i][end], sizeof(uint64_t), err) != STATUS_OK)
				return err->status;
		}
	return heap->device ? backend_stream_synchronize(heap->stream, err) : STATUS_OK;
}

/* Checks the marks of the pieces that were kept. */
static enum status check_marks(const struct heap *heap, uint64_t bytes, void *const *pieces,
			       struct marks *marks, struct error *err)
{
	for (int i = 1; heap->device && i < PIECES; i += 2)
		for (int end = 0; end < 2; end++)
			if (backend_copy(heap->stream, &marks->received[i][end],
					 end_of(pieces[i], bytes, end), sizeof(uint64_t),
					 err) != STATUS_OK)
				return err->status;
	if (heap->device && backend_stream_synchronize(heap->stream, err) != STATUS_OK)
		return err->status;
	for (int i = 1; heap->device && i < PIECES; i += 2)
		for (int end = 0; end < 2; end++)
			if (marks->received[i][end] != marks->sent[i][end])
				return error_set(err, STATUS_MISMATCH,
						 "piece %d: 0x%016" PRIx64 " at its %s, wrote 0x%016" PRIx64,
						 i, marks->received[i][end], end ? "end" : "start",
						 marks->sent[i][end]);
	return STATUS_OK;
}

enum status fragment_checkerboard(struct device *device, enum policy policy, uint64_t bytes,
				  struct fragments *out, struct error *err)
{
	struct stream *stream = NULL;
	struct marks marks = { 0 };
	void *pieces[PIECES];
	struct heap heap = { 0 };

	*out = (struct fragments){ .free_bytes = (LIMIT_PIECES - PIECES / 2) * bytes };
	if ((!device || backend_stream_create(device, false, &stream, err) == STATUS_OK) &&
	    heap_open(&heap, device, stream, policy, fragment_bytes(bytes), fragment_bytes(bytes),
		      err) == STATUS_OK &&
	    fill(&heap, bytes, pieces, err) == STATUS_OK &&
	    write_marks(&heap, bytes, pieces, &marks, err) == STATUS_OK) {
		give_every_other(&heap, bytes, pieces);
		if (largest_granted(&heap, bytes, &out->largest_free, err) == STATUS_OK)
			check_marks(&heap, bytes, pieces, &marks, err);
	}
	heap_close(&heap);
	if (stream)
		backend_stream_destroy(stream);
	return err->status;
}
