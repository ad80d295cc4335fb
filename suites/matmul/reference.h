/*
 * What a matrix product must be, worked out on the CPU in double precision from the generator and
 * not from device memory: C = A B, column-major, A m x k and B k x n filled with
 * generator_uniform() and stored in `precision`.
 *
 * A full reference of a large product costs as much as the product, so C is checked through sums
 * (Freivalds 1977): the columns are cut into `blocks`, each is multiplied by a vector r of random
 * signs, and every row must satisfy (C r)_i = (A (B r))_i within rounding. With signs the expected
 * square of that difference is the sum of squares of the elements' errors, so the same sums
 * estimate the relative Frobenius norm of the error over the whole of C (Hutchinson's estimator).
 * Small products have one column to a block: then nothing is estimated.
 */
#ifndef GPUPROOF_SUITES_MATMUL_REFERENCE_H
#define GPUPROOF_SUITES_MATMUL_REFERENCE_H

#include "device/backend.h"

struct matmul_reference {
	enum precision precision;
	int64_t m, n, k;
	uint64_t seed_a, seed_b;
	int64_t blocks, width; /* columns of a block; the last may have fewer */
	double *sums;          /* m x blocks: from the operands as stored */
	double *unrounded;     /* the same before rounding from FP32; NULL: nothing was rounded */
	double rms;            /* of an element of C */
	double tolerance;      /* matmul_tolerance(); of the whole, a row's sums get a margin */
};

/* Relative Frobenius norms of the error of C. */
struct matmul_error {
	double stored; /* against the product of the operands as stored */
	double total;  /* against the product of the operands before they were rounded */
};

void matmul_reference_init(struct matmul_reference *reference, enum precision precision,
			   const int64_t shape[3], uint64_t seed_a, uint64_t seed_b);
void matmul_reference_release(struct matmul_reference *reference);

/*
 * Compares `c` (host memory, as stored). STATUS_MISMATCH names the first wrong element, what was
 * expected and what is there; NaN is wrong. `error` is set in any case.
 */
enum status matmul_reference_check(const struct matmul_reference *reference, const void *c,
				   struct matmul_error *error, struct error *err);

/* What rounding may do to a product of `k` terms, as a relative Frobenius norm. */
double matmul_tolerance(enum precision precision, int64_t k);

#endif
