/*
 * Data of a collective: the input of each rank, and the check of its output.
 *
 * Operations that move data use random bits, compared exactly. Sums use random numbers in [-1, 1),
 * compared with sums in double from the generator.
 */
#ifndef GPUPROOF_SUITES_SHARED_RANKS_COLLECTIVE_DATA_H
#define GPUPROOF_SUITES_SHARED_RANKS_COLLECTIVE_DATA_H

#include "suites/shared/buffers.h"

/*
 * Collective operations. Each rank has a `from` and a `to`; operations differ in which of them is
 * the whole tensor and which a rank's part, and in the result.
 *
 * Adding one: docs/walks.md.
 */
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

struct operation {
	bool parts;                      /* the tensor is divided into one part per rank */
	bool reduces;                    /* sums over ranks; else it moves data unchanged */
	bool one_part_from, one_part_to; /* that side has only one rank's part */
	enum placements placements;
	/*
	 * Times that each element passes a device's link, except those of the rank's own part. An
	 * all-reduce sends it twice: to be summed, and as the sum. 0: the whole tensor once.
	 */
	int trips;
};
extern const struct operation operations[OPERATION_COUNT];

/*
 * Bytes that pass each device's link / bytes of the tensor: the factors of nccl-tests
 * (github.com/NVIDIA/nccl-tests, doc/PERFORMANCE.md), for comparable values.
 */
double collective_data_bus_factor(const struct operation *operation, double ranks);

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
	struct graph *graph; /* of a batch of operations; set by collective_run() */
	double error; /* maximum in collective_data_check(), relative to its tolerance's base */
};

/* The root rank of broadcasts and reductions. */
#define COLLECTIVE_ROOT 0

/* Device memory of collective_data_open() and the checks. */
uint64_t collective_data_footprint(const struct operation *operation, bool in_place, uint64_t bytes,
				   int ranks);

/*
 * Bytes of the tensor for `size`, in parts that are multiples of 16 bytes; *part: bytes of one
 * part.
 */
size_t collective_data_bytes(const struct operation *operation, size_t size, int ranks,
			     size_t *part);

/*
 * Allocates; c->bytes and all members above it must be set. Close a collective even after a
 * failure.
 */
enum status collective_data_open(struct collective *c, struct error *err);
/* Waits for enqueued work, which uses the memory. */
void collective_data_close(struct collective *c);

/* Enqueues the operation on the collective's stream. */
enum status collective_data_enqueue(const struct collective *c, struct error *err);

/* Fills `from`, poisons `to`, waits. In place, only the rank's own data. */
enum status collective_data_prepare(const struct collective *c, struct error *err);
/*
 * Waits for enqueued work, then compares `to` with the expected data of this rank, and `from`,
 * unless it is overwritten, with its original data. Sets c->error.
 */
enum status collective_data_check(struct collective *c, struct error *err);

/* Error bound of a sum over the ranks, in rounding units times the sum of the magnitudes. */
double collective_data_tolerance(const struct collective *c);

#endif
