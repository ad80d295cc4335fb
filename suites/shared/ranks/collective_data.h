/*
 * The data of a collective: what each rank begins with, and the check of what it ends with.
 *
 * Operations that move data have random bits, compared exactly. Sums have random numbers in
 * [-1, 1), compared with sums in double made anew from the generator.
 */
#ifndef GPUPROOF_SUITES_SHARED_RANKS_COLLECTIVE_DATA_H
#define GPUPROOF_SUITES_SHARED_RANKS_COLLECTIVE_DATA_H

#include "suites/shared/ranks/collective_operation.h"

/* Device memory that collective_open() and the checks take. */
uint64_t collective_footprint(const struct operation *operation, bool in_place, uint64_t bytes,
			      int ranks);

/* Bytes of the tensor for `size`, in parts that are multiples of 16 bytes; *part: bytes of one. */
size_t collective_bytes(const struct operation *operation, size_t size, int ranks, size_t *part);

/* Allocates; c->bytes and all above it are set. A failed collective must be closed as well. */
enum status collective_open(struct collective *c, struct error *err);
/* Waits for what is enqueued, which uses the memory. */
void collective_close(struct collective *c);

/* Fills `from`, poisons `to`, waits. In place the rank's own data is all there is. */
enum status collective_prepare(const struct collective *c, struct error *err);
/*
 * Waits for what is enqueued, then compares `to` with what it must be on this rank, and `from`,
 * where it is not overwritten, with what it was. Sets c->error.
 */
enum status collective_check(struct collective *c, struct error *err);

/* Units of rounding, times the sum of the magnitudes, by which a sum over the ranks may be off. */
double collective_tolerance(const struct collective *c);

#endif
