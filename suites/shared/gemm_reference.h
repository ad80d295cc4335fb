/*
 * Reference matrix product, computed on the CPU in double precision from the generator and
 * not from device memory: C = op(A) op(B), column-major, op(A) m x k, op(B) k x n, A and B filled
 * with scale * generator_uniform() as they are stored in `precision`.
 *
 * A full reference of a large product costs as much as the product, so C is checked through sums
 * (Freivalds 1977): the columns are cut into `blocks`, each is multiplied by a vector r of random
 * signs, and every row must satisfy (C r)_i = (A (B r))_i within rounding. With signs the expected
 * square of that difference is the sum of squares of the elements' errors, so the same sums
 * estimate the relative Frobenius norm of the error over the whole of C (Hutchinson's estimator).
 * Small products have one column to a block: then nothing is estimated.
 *
 * With a scale other than 1 results may be beyond the range of their format. Each element is then
 * looked at by itself: what is beyond the range must be infinite, with its sign, and all else
 * right.
 */
#ifndef GPUPROOF_SUITES_SHARED_GEMM_REFERENCE_H
#define GPUPROOF_SUITES_SHARED_GEMM_REFERENCE_H

#include "device/backend.h"

/* Operands whose elements are looked at one by one: what a CPU multiplies in a second or so. */
#define MATMUL_FULL_OPERATIONS (INT64_C(1) << 30)

struct matmul_problem {
	enum precision precision;
	int64_t m, n, k;
	bool transpose_a, transpose_b;
	double scale;
	uint64_t seed_a, seed_b;
};

struct matmul_reference {
	struct matmul_problem problem;
	int64_t blocks, width; /* columns of a block; the last may have fewer */
	double *sums;          /* m x blocks: from the operands as stored */
	double *unrounded;     /* the same before rounding from FP32; NULL: nothing was rounded */
	double rms;            /* of an element of C */
	double tolerance;      /* matmul_tolerance(); of the whole, a row's sums get a margin */
};

/* A scale other than 1 takes at most MATMUL_FULL_OPERATIONS multiplications. */
void matmul_reference_init(struct matmul_reference *reference,
			   const struct matmul_problem *problem);
void matmul_reference_release(struct matmul_reference *reference);

/*
 * Least rows per thread, for rows of `columns` columns with `operations` operations for each of
 * them.
 */
size_t matmul_rows_per_thread(int64_t columns, int64_t operations);

/* The random sign, 1 or -1, by which column `column` of C goes into its block's sum. */
double matmul_reference_sign(const struct matmul_reference *reference, int64_t column);
/* Element `index` of an operand in memory order: `seed` is seed_a or seed_b. */
double matmul_operand(const struct matmul_problem *problem, uint64_t seed, int64_t index);

/* Bound of the rounding error of a product of `k` terms, as a relative Frobenius norm. */
double matmul_tolerance(enum precision precision, int64_t k);

/*
 * The share of the operands' elements that their format stores as a subnormal number or as zero,
 * with fewer digits than it has else (of the first million of each).
 */
double matmul_subnormal_share(const struct matmul_problem *problem);

#endif
