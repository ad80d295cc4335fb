/*
 * A lane: copies from one buffer to another in one stream, with verifiable data. Both buffers have
 * `slots` blocks of `bytes`; copy n moves block n modulo `slots`, so that a loop over small blocks
 * does not hit a cache.
 */
#ifndef GPUPROOF_SUITES_TRANSFER_LANE_H
#define GPUPROOF_SUITES_TRANSFER_LANE_H

#include <stdbool.h>

#include "device/backend.h"
#include "kernels/memory/copy.h"
#include "suites/shared/buffers.h"

struct lane_end {
	struct device *device; /* for host memory: the device that it is near */
	enum allocator allocator;
};

/*
 * Pool of memory that outlives a case. Page-locking 1 GiB takes half a second, and memory of a
 * device with peer access is mapped for each peer; often that takes longer than the measurement.
 * Memory that a case returns is therefore kept for the next one of this process: same allocator,
 * same device or NUMA node, at least the size. It has one user at a time and contains whatever the
 * last one left. A zeroed pool is empty.
 */
struct pool_block {
	struct buffer buffer; /* at its full size */
	int node;
	bool lent;
};

struct pool {
	struct pool_block *blocks;
	size_t count, capacity;
};

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
	/*
	 * Lane whose copies this lane's kernel executes in step with its own; NULL: none. Both have
	 * equal sizes and the same issuer.
	 */
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

/* Enqueues `count` copies. */
enum status lane_copy(struct transfer_lane *lane, uint64_t count, struct error *err);
/* Waits for the copies and compares every byte copied since the target was poisoned. */
enum status lane_check(struct transfer_lane *lane, struct error *err);
/* Copies every block once, checks it, and poisons the target for later use. */
enum status lane_verify(struct transfer_lane *lane, struct error *err);

/* Frees the pool; nothing may be in use. */
void transfer_lane_pool_close(struct pool *pool);

/*
 * Memory of `bytes` on or near `device`; return `buffer` with transfer_lane_pool_give(), never with
 * buffer_free(). *node: its NUMA node, -1 if there is no choice.
 */
enum status transfer_lane_pool_take(struct pool *pool, struct buffer *buffer, struct device *device,
				    enum allocator allocator, size_t bytes, int *node,
				    struct error *err);
/*
 * Does nothing for a zeroed buffer, or after transfer_lane_pool_take() failed; `pool` is not used
 * then.
 */
void transfer_lane_pool_give(struct pool *pool, struct buffer *buffer);
/* Frees everything that is not in use. */
void transfer_lane_pool_empty(struct pool *pool);

/*
 * Peer access between devices outlives a case: the next one sets what it needs, and a change takes
 * longer than many cases. Changes are recorded here, so that a pair is changed once and the next
 * suite finds the initial state. Without a switch between them GPUs have few peers at a time (8): a
 * pair that needs one more replaces one of an earlier case.
 */
struct access_pair {
	struct device *a, *b;
	unsigned turn; /* of the latest case that requested it */
};

struct access {
	struct access_pair *pairs; /* pairs that were enabled */
	size_t count, capacity;
	unsigned turn; /* number of the case: access that earlier ones requested may be disabled */
};

/*
 * Disables what transfer_lane_access_set() has enabled. Errors mean that there is nothing to
 * disable.
 */
void transfer_lane_access_close(struct access *access);

/* Enables or disables access between `a` and `b`, in both directions. */
enum status transfer_lane_access_set(struct access *access, struct device *a, struct device *b,
				     bool on, struct error *err);

#endif
