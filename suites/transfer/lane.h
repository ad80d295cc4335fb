/*
 * A lane: copies from one buffer to another in one stream, with verifiable data. Both buffers have
 * `slots` blocks of `bytes`; copy n moves block n modulo `slots`, so that a loop over small blocks
 * does not hit a cache.
 */
#ifndef GPUPROOF_SUITES_TRANSFER_LANE_H
#define GPUPROOF_SUITES_TRANSFER_LANE_H

#include "kernels/memory/copy.h"
#include "suites/shared/buffers.h"

struct lane_end {
	struct device *device; /* for host memory: the device that it is near */
	enum allocator allocator;
};

struct pool;

struct lane_plan {
	struct pool *pool; /* of the buffers' memory */
	struct lane_end from, to;
	struct device *issuer; /* owner of the stream, and of the copy engine or cores */
	bool by_kernel;
	size_t bytes, slots;
	uint64_t seed;
};

struct transfer_lane {
	struct lane_plan plan;
	struct stream *stream;          /* the issuer's */
	struct stream *at_from, *at_to; /* streams of the ends' devices, for filling and checking */
	struct buffer from, to;
	struct buffer record; /* for checks by the device; unset if the CPU checks */
	int node;             /* NUMA node of the host memory; -1: no choice, or no host memory */
	size_t stride;
	/* lane whose copies this lane's kernel executes as well; NULL: none */
	struct transfer_lane *reverse;
	/* this is a reverse lane: lane_copy() leaves its copies to the leading lane */
	bool led;
	uint64_t copies; /* since the target was last poisoned */
};

/* Memory that lane_open() allocates at one end. */
uint64_t lane_footprint(size_t bytes, size_t slots);

/*
 * Allocates, fills the source and poisons the target; the pool provides the memory (pool.h). Close
 * a lane even after a failure.
 */
enum status lane_open(struct transfer_lane *lane, const struct lane_plan *plan, struct error *err);
void lane_close(struct transfer_lane *lane);

/*
 * Makes one kernel copy both lanes' bytes in step; `lane` leads. Both must be copied by kernel,
 * with equal sizes and the same issuer.
 */
void lane_join(struct transfer_lane *lane, struct transfer_lane *reverse);

/* Enqueues `count` copies. */
enum status lane_copy(struct transfer_lane *lane, uint64_t count, struct error *err);
/* Waits for the copies and compares every byte copied since the target was poisoned. */
enum status lane_check(struct transfer_lane *lane, struct error *err);
/* Copies every block once, checks it, and poisons the target for later use. */
enum status lane_verify(struct transfer_lane *lane, struct error *err);

#endif
