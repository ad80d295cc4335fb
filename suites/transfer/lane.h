/*
 * A lane: copies from one buffer to another in one stream, with data that can be checked. Both
 * buffers hold `slots` blocks of `bytes`; copy n moves block n modulo `slots`, so that a loop over
 * small blocks does not find them in a cache.
 */
#ifndef GPUPROOF_SUITES_TRANSFER_LANE_H
#define GPUPROOF_SUITES_TRANSFER_LANE_H

#include "suites/buffers.h"

struct lane_end {
	struct device *device;
	enum allocator allocator;
};

struct lane {
	struct stream *stream;    /* of the source's device, or of the only device */
	struct stream *to_stream; /* of the target's device, for poisoning and checking it */
	struct buffer from, to;
	size_t bytes, stride, slots;
	uint64_t seed;
	uint64_t copies; /* since the target was last poisoned */
};

/* Memory that lane_open() takes at one end. */
uint64_t lane_footprint(size_t bytes, size_t slots);

/* Allocates, fills the source and poisons the target. A failed lane must be closed as well. */
enum status lane_open(struct lane *lane, struct lane_end from, struct lane_end to, size_t bytes,
		      size_t slots, uint64_t seed, struct error *err);
void lane_close(struct lane *lane);

/* Enqueues `count` copies. */
enum status lane_copy(struct lane *lane, uint64_t count, struct error *err);
/* Waits for the copies and compares every byte that was copied since the target was poisoned. */
enum status lane_check(struct lane *lane, struct error *err);
/* Copies every block once, checks it, and poisons the target for what comes next. */
enum status lane_verify(struct lane *lane, struct error *err);

#endif
