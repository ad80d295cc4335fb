/*
 * Blocks of one size from one allocator: the one in use, and those held so that no later one can be
 * served from them.
 */
#ifndef GPUPROOF_SUITES_ALLOC_BLOCKS_H
#define GPUPROOF_SUITES_ALLOC_BLOCKS_H

#include "device/backend.h"

struct blocks {
	struct device *device;
	struct stream *stream;
	enum allocator allocator;
	size_t bytes;
	void *current; /* NULL: none */
	void **held;
	size_t held_count, held_most;
	uint64_t seed, token;    /* of the patterns written; number of the latest */
	uint64_t sent, received; /* copies in flight use them, also after a failure */
};

/* How many blocks of that size are held at most: 1 to 256, 256 MiB together if that allows it. */
size_t blocks_held_most(uint64_t bytes);

/* Failed blocks must be closed as well. */
enum status blocks_open(struct blocks *b, struct device *device, enum allocator allocator,
			size_t bytes, uint64_t seed, struct error *err);
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
