/*
 * Blocks of memory from any allocator with a pattern at both ends while they are allocated, and
 * tests of what still fits between them: fragmented free memory cannot serve a request larger than
 * its largest piece.
 */
#ifndef GPUPROOF_SUITES_SHARED_CHECKED_BLOCKS_H
#define GPUPROOF_SUITES_SHARED_CHECKED_BLOCKS_H

#include "device/backend.h"

/* A word written and read back. */
struct exchange {
	uint64_t sent, received;
};

/*
 * Writes x->sent to `at`, or reads x->received from there and waits: by copies on the stream,
 * during which `x` must stay valid, or directly by the CPU if the memory is not `on_device`.
 * checked_blocks_check_exchange(): STATUS_MISMATCH if both differ.
 */
enum status checked_blocks_exchange_write(struct stream *stream, bool on_device, void *at,
					  struct exchange *x, struct error *err);
enum status checked_blocks_check_exchange(struct stream *stream, bool on_device, const void *at,
					  struct exchange *x, struct error *err);
/* Offset of the last whole word of a block. */
static inline size_t checked_blocks_exchange_last(size_t bytes)
{
	return (bytes - sizeof(uint64_t)) & ~(sizeof(uint64_t) - 1);
}

struct checked_block {
	void *memory; /* NULL: none */
	size_t bytes;
	struct exchange ends[2];
};

/* Source of blocks. take() returns STATUS_NO_MEMORY if it refuses a request. */
struct checked_blocks {
	void *state;
	enum status (*take)(void *state, size_t bytes, void **out, struct error *err);
	enum status (*give)(void *state, void *memory, size_t bytes, struct error *err);
	/* stream that uses the memory; NULL: fake addresses without memory */
	struct stream *stream;
	bool on_device;
	uint64_t seed, token; /* of the patterns; number of the latest */
	uint64_t used;        /* total requested bytes of all blocks */
};

/* checked_blocks_give() frees a block whose pattern is intact; without memory it checks nothing. */
enum status checked_blocks_take(struct checked_blocks *b, struct checked_block *block, size_t bytes,
				struct error *err);
enum status checked_blocks_give(struct checked_blocks *b, struct checked_block *block,
				struct error *err);

/* Sets *out if a block of that size can be allocated now; uses and frees it. */
enum status checked_blocks_fits(struct checked_blocks *b, size_t bytes, bool *out,
				struct error *err);
/*
 * Bisection: the largest multiple of `step`, at most `most`, that fits; 0 if not even `step` does.
 */
enum status checked_blocks_largest(struct checked_blocks *b, uint64_t step, uint64_t most,
				   uint64_t *out, struct error *err);

#define CHECKERBOARD_BLOCKS 64
/*
 * Allocates `span` bytes as one block and frees it, so that a segment allocator has a segment to
 * split; then allocates them as equal blocks, and frees every other one. `blocks` are zeroed; the
 * caller frees them, even after a failure.
 */
enum status checked_blocks_checkerboard_make(struct checked_blocks *b, uint64_t span,
					     struct checked_block blocks[CHECKERBOARD_BLOCKS],
					     struct error *err);

#endif
