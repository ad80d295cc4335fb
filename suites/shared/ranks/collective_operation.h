/*
 * The collective operations. Each rank has a `from` and a `to`; which of them is the whole tensor
 * and which is one rank's part of it, and what the ranks then hold, is all that differs.
 *
 * Adding one: docs/walks.md.
 */
#ifndef GPUPROOF_SUITES_SHARED_RANKS_COLLECTIVE_OPERATION_H
#define GPUPROOF_SUITES_SHARED_RANKS_COLLECTIVE_OPERATION_H

#include "suites/shared/buffers.h"

enum operation_kind {
	ALL_REDUCE,
	ALL_GATHER,
	REDUCE_SCATTER,
	BROADCAST,
	REDUCE,
	SEND_RECV,
	ALL_TO_ALL,
	OPERATION_COUNT
};

/* In the order of operation_kind, ending with NULL. */
extern const char *const operation_names[];

enum placements { EITHER_PLACE, IN_PLACE_ONLY, OUT_OF_PLACE_ONLY };

struct collective;

struct operation {
	bool parts;                      /* the tensor is cut into one part for each rank */
	bool reduces;                    /* sums over ranks; else it moves data unchanged */
	bool one_part_from, one_part_to; /* that side holds one rank's part only */
	enum placements placements;
	/*
	 * Bytes that pass each device's link, over the tensor's: nccl-tests' factors
	 * (github.com/NVIDIA/nccl-tests, doc/PERFORMANCE.md), so that figures compare.
	 */
	double (*bus_factor)(double ranks);
	enum status (*enqueue)(const struct collective *c, struct error *err);
};
extern const struct operation operations[OPERATION_COUNT];

/* One rank's side of one case. */
struct collective {
	enum operation_kind kind;
	const struct operation *operation;
	enum precision precision;
	bool in_place;
	int rank, ranks;
	size_t bytes, part; /* of the tensor, of one rank's part (`bytes` where there are none) */
	uint64_t seed;
	struct device *device;
	struct stream *stream;
	struct communicator *communicator;
	struct buffer tensor; /* where `to` is, and in place `from` */
	struct buffer source; /* where `from` is otherwise */
	char *from, *to;
	/* of one operation, where the transport is made of copies; set by collective_run() */
	unsigned copy_commands;
	double error; /* largest found by collective_check(), relative to its tolerance's base */
};

/* The rank that broadcasts and that receives sums. */
#define COLLECTIVE_ROOT 0

#endif
