/*
 * A lane: copies from one buffer to another in one stream, with data that can be checked. Both
 * buffers hold `slots` blocks of `bytes`; copy n moves block n modulo `slots`, so that a loop over
 * small blocks does not find them in a cache.
 */
#ifndef GPUPROOF_SUITES_TRANSFER_LANE_H
#define GPUPROOF_SUITES_TRANSFER_LANE_H

#include "kernels/memory/copy.h"
#include "suites/shared/buffers.h"

struct lane_end {
	struct device *device; /* of host memory: the one it is near */
	enum allocator allocator;
};

struct pool;

struct lane_plan {
	struct pool *pool; /* of the buffers' memory */
	struct lane_end from, to;
	struct device *issuer; /* whose stream, and whose copy engine or cores */
	bool by_kernel;
	size_t bytes, slots;
	uint64_t seed;
};

struct transfer_lane {
	struct lane_plan plan;
	struct stream *stream;          /* the issuer's */
	struct stream *at_from, *at_to; /* of the ends' devices, for filling and checking */
	struct buffer from, to;
	struct buffer record; /* for checks by the device; none where the CPU checks */
	int node;             /* NUMA node of the host memory; -1: no choice, or no host memory */
	size_t stride;
	/* whose copies this lane's kernel carries out as well; NULL: none */
	struct transfer_lane *reverse;
	bool led;        /* it is a reverse lane: lane_copy() leaves its copies to the other */
	uint64_t copies; /* since the target was last poisoned */
};

/* Memory that lane_open() takes at one end. */
uint64_t lane_footprint(size_t bytes, size_t slots);

/*
 * Allocates, fills the source and poisons the target; memory comes from the pool (pool.h). A
 * failed lane must be closed as well.
 */
enum status lane_open(struct transfer_lane *lane, const struct lane_plan *plan, struct error *err);
void lane_close(struct transfer_lane *lane);

/*
 * Has one kernel move both lanes' bytes, back and forth in step; `lane` leads. Both copy by kernel,
 * as many bytes, issued by the same device.
 */
void lane_join(struct transfer_lane *lane, struct transfer_lane *reverse);

/* Enqueues `count` copies. */
enum status lane_copy(struct transfer_lane *lane, uint64_t count, struct error *err);
/* Waits for the copies and compares every byte that was copied since the target was poisoned. */
enum status lane_check(struct transfer_lane *lane, struct error *err);
/* Copies every block once, checks it, and poisons the target for what comes next. */
enum status lane_verify(struct transfer_lane *lane, struct error *err);

#endif
