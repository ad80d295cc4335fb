/*
 * Data of a collective: the input of each rank, and the check of its output.
 *
 * Operations that move data use random bits, compared exactly. Sums use random numbers in [-1, 1),
 * compared with sums in double from the generator.
 */
#ifndef GPUPROOF_SUITES_SHARED_RANKS_COLLECTIVE_DATA_H
#define GPUPROOF_SUITES_SHARED_RANKS_COLLECTIVE_DATA_H

#include "suites/shared/ranks/collective_operation.h"

/* Device memory of collective_open() and the checks. */
uint64_t collective_footprint(const struct operation *operation, bool in_place, uint64_t bytes,
			      int ranks);

/*
 * Bytes of the tensor for `size`, in parts that are multiples of 16 bytes; *part: bytes of one
 * part.
 */
size_t collective_bytes(const struct operation *operation, size_t size, int ranks, size_t *part);

/*
 * Allocates; c->bytes and all members above it must be set. Close a collective even after a
 * failure.
 */
enum status collective_open(struct collective *c, struct error *err);
/* Waits for enqueued work, which uses the memory. */
void collective_close(struct collective *c);

/* Fills `from`, poisons `to`, waits. In place, only the rank's own data. */
enum status collective_prepare(const struct collective *c, struct error *err);
/*
 * Waits for enqueued work, then compares `to` with the expected data of this rank, and `from`,
 * unless it is overwritten, with its original data. Sets c->error.
 */
enum status collective_check(struct collective *c, struct error *err);

/* Error bound of a sum over the ranks, in rounding units times the sum of the magnitudes. */
double collective_tolerance(const struct collective *c);

#endif
