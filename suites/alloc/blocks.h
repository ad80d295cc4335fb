/*
 * Blocks of one size from one allocator: the one in use, and those held so that no later one can be
 * served from them.
 */
#ifndef GPUPROOF_SUITES_ALLOC_BLOCKS_H
#define GPUPROOF_SUITES_ALLOC_BLOCKS_H

#include "measure/run.h"
#include "suites/alloc/origin.h"
#include "suites/shared/checked_blocks.h"

struct blocks {
	struct device *device;
	struct stream *stream;
	struct origin origin;
	size_t bytes;
	void *current; /* NULL: none */
	void **held;
	size_t held_count, held_most;
	uint64_t seed, token;     /* of the patterns written; number of the latest */
	struct exchange exchange; /* copies in flight use it, also after a failure */
};

/*
 * Maximum number of blocks of that size held at once: 1 to 256, 256 MiB in total if that allows it.
 */
size_t blocks_held_most(uint64_t bytes);

/* `limit` as of origin_open(). Failed blocks must be closed as well. */
enum status blocks_open(struct blocks *b, const struct run *run, int kind, size_t bytes,
			uint64_t limit, struct error *err);
void blocks_close(struct blocks *b);

/* One call of the allocator each: makes `current`, frees it. */
enum status blocks_get(struct blocks *b, struct error *err);
enum status blocks_give(struct blocks *b, struct error *err);
/* Until what was enqueued is done. */
enum status blocks_settle(struct blocks *b, struct error *err);

/*
 * Writes a new pattern to both ends of `current` and reads it back: STATUS_MISMATCH when it is not
 * kept.
 */
enum status blocks_use(struct blocks *b, struct error *err);

/* Puts `current` with the held ones. Room is the caller's concern: held_count < held_most. */
void blocks_hold(struct blocks *b);
/* Frees all that are held and has the allocator give what it caches back to the device. */
enum status blocks_release(struct blocks *b, struct error *err);

#endif
