/*
 * Blocks of one size from one allocator: the current one, and those held so that they cannot serve
 * later requests.
 */
#ifndef GPUPROOF_SUITES_ALLOC_BLOCKS_H
#define GPUPROOF_SUITES_ALLOC_BLOCKS_H

#include "device/backend.h"
#include "measure/run.h"
#include "suites/alloc/alloc.h"
#include "suites/shared/checked_blocks.h"

struct blocks {
	struct device *device;
	struct stream *stream;
	struct origin origin;
	size_t bytes;
	void *current; /* NULL: none */
	void **held;
	size_t held_count, held_most;
	uint64_t seed, token;     /* of the written patterns; number of the latest */
	struct exchange exchange; /* used by copies in flight, even after a failure */
};

/*
 * Maximum number of blocks of that size held at once: 1 to 256, 256 MiB in total if that allows it.
 */
size_t alloc_blocks_held_most(uint64_t bytes);

/* `limit` as in alloc_blocks_origin_open(). Close blocks even after a failure. */
enum status alloc_blocks_open(struct blocks *b, const struct run *run, int kind, size_t bytes,
			      uint64_t limit, struct error *err);
void alloc_blocks_close(struct blocks *b);

/* One allocator call each: allocates `current`, frees it. */
enum status alloc_blocks_get(struct blocks *b, struct error *err);
enum status alloc_blocks_give(struct blocks *b, struct error *err);
/* Waits for enqueued work. */
enum status alloc_blocks_settle(struct blocks *b, struct error *err);

/*
 * Writes a new pattern to both ends of `current` and reads it back: STATUS_MISMATCH if it changed.
 */
enum status alloc_blocks_use(struct blocks *b, struct error *err);

/*
 * Moves `current` to the held blocks. The caller ensures that there is room: held_count <
 * held_most.
 */
void alloc_blocks_hold(struct blocks *b);
/* Frees all held blocks and makes the allocator return its cache to the device. */
enum status alloc_blocks_release(struct blocks *b, struct error *err);

/*
 * Memory filler: device memory that is allocated so that a case finds the device as full as
 * requested.
 */
struct memory_filler {
	struct device *device;
	void **chunks;
	size_t *sizes;
	size_t count, capacity, size_capacity;
};

/*
 * Allocates device memory until at most `bytes` are free. `filler` owns it, even after a failure.
 */
enum status alloc_blocks_memory_filler_leave(struct memory_filler *filler, struct device *device,
					     uint64_t bytes, struct error *err);
/* Frees it. Does nothing for a zeroed filler. */
void alloc_blocks_memory_filler_free(struct memory_filler *filler);

#endif
