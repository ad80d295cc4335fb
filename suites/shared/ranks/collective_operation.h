/*
 * Collective operations. Each rank has a `from` and a `to`; operations differ in which of them is
 * the whole tensor and which a rank's part, and in the result.
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

/* In the order of operation_kind, NULL-terminated. */
extern const char *const operation_names[];

enum placements { EITHER_PLACE, IN_PLACE_ONLY, OUT_OF_PLACE_ONLY };

struct collective;

struct operation {
	bool parts;                      /* the tensor is divided into one part per rank */
	bool reduces;                    /* sums over ranks; else it moves data unchanged */
	bool one_part_from, one_part_to; /* that side has only one rank's part */
	enum placements placements;
	/*
	 * Bytes that pass each device's link / bytes of the tensor: the factors of nccl-tests
	 * (github.com/NVIDIA/nccl-tests, doc/PERFORMANCE.md), for comparable values.
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
	size_t bytes, part; /* of the tensor, and of one rank's part (`bytes` without parts) */
	uint64_t seed;
	struct device *device;
	struct stream *stream;
	struct communicator *communicator;
	struct buffer tensor; /* contains `to`, and in place `from` */
	struct buffer source; /* contains `from` otherwise */
	char *from, *to;
	/* of one operation, if the transport uses copies; set by collective_run() */
	unsigned copy_commands;
	double error; /* maximum found by collective_check(), relative to its tolerance's base */
};

/* The root rank of broadcasts and reductions. */
#define COLLECTIVE_ROOT 0

#endif
