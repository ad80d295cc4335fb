#include "suites/training/trainmem/fragment.h"

#include "suites/shared/checked_blocks.h"

#define LIMIT_PIECES (CHECKERBOARD_BLOCKS + CHECKERBOARD_BLOCKS / 8)

uint64_t fragment_bytes(uint64_t piece_bytes)
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

enum status fragment_checkerboard(struct device *device, enum policy policy, uint64_t bytes,
				  struct fragments *out, struct error *err)
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
	    heap_open(&heap, device, blocks.stream, policy, fragment_bytes(bytes),
		      fragment_bytes(bytes), err) == STATUS_OK &&
	    checkerboard_make(&blocks, CHECKERBOARD_BLOCKS * bytes, pieces, err) == STATUS_OK) {
		out->free_bytes = fragment_bytes(bytes) - blocks.used;
		checked_largest(&blocks, bytes, out->free_bytes, &out->largest_free, err);
		for (int i = 0; i < CHECKERBOARD_BLOCKS && err->status == STATUS_OK; i++)
			checked_give(&blocks, &pieces[i], err);
	}
	heap_close(&heap);
	backend_stream_destroy(blocks.stream);
	return err->status;
}
