/*
 * Reference GEMM, computed on the CPU in double precision from the generator, not from device
 * memory: C = op(A) op(B), column-major, op(A) m x k, op(B) k x n, A and B filled with scale *
 * generator_uniform() as stored in `precision`.
 *
 * A full reference costs as much as the GEMM, so C is checked through sums (Freivalds 1977): the
 * columns are divided into `blocks`, each is multiplied by a vector r of random signs, and every
 * row must satisfy (C r)_i = (A (B r))_i within rounding. With random signs, the expected square of
 * the difference is the sum of squares of the elements' errors, so the same sums estimate the
 * relative Frobenius norm of the error of C (Hutchinson's estimator). Small GEMMs have one column
 * per block: then nothing is estimated.
 *
 * With a scale other than 1, results may exceed the range of their format. Each element is then
 * checked separately: one beyond the range must be infinite with the right sign, and all others
 * right.
 */
#ifndef GPUPROOF_SUITES_SHARED_GEMM_REFERENCE_H
#define GPUPROOF_SUITES_SHARED_GEMM_REFERENCE_H

#include "device/backend.h"

/* Operands whose elements are checked one by one: what a CPU multiplies in about a second. */
#define MATMUL_FULL_OPERATIONS (INT64_C(1) << 30)

struct matmul_problem {
	enum precision precision;
	int64_t m, n, k;
	bool transpose_a, transpose_b;
	double scale;
	struct gemm_fp8 fp8;
	uint64_t seed_a, seed_b;
};

/*
 * An operand as stored: `fill` * generator_uniform() in `format`, in units that
 * gemm_reference_units() gives. With a scale other than 1, or one for parts of an operand, elements
 * of FP8 fill the range of their format, and the library multiplies by the unit.
 */
struct matmul_storage {
	enum precision format;
	double fill;
};

/* `seed`: seed_a or seed_b, here and below. */
struct matmul_storage gemm_reference_storage_of(const struct matmul_problem *problem,
						uint64_t seed);
/* True if elements are stored in units other than 1: FP8 with scales. */
bool gemm_reference_has_units(const struct matmul_problem *problem);
/* Number of units of an operand, and all of them in the order of enum fp8_scaling. */
size_t gemm_reference_unit_count(const struct matmul_problem *problem, uint64_t seed);
void gemm_reference_units(const struct matmul_problem *problem, uint64_t seed, float *out);

struct matmul_reference {
	struct matmul_problem problem;
	int64_t blocks, width; /* columns of a block; the last may have fewer */
	double *sums;          /* m x blocks: from the operands as stored */
	double *unrounded;     /* as `sums`, before rounding from FP32; NULL: nothing was rounded */
	double rms;            /* of an element of C */
	/* bound of the rounding error, as a relative Frobenius norm; a row's sums get a margin */
	double tolerance;
};

/* A scale other than 1 allows at most MATMUL_FULL_OPERATIONS multiplications. */
void gemm_reference_init(struct matmul_reference *reference, const struct matmul_problem *problem);
void gemm_reference_release(struct matmul_reference *reference);

/* Minimum rows per thread, for rows of `columns` columns with `operations` operations each. */
size_t gemm_reference_rows_per_thread(int64_t columns, int64_t operations);

/* Random sign, 1 or -1, of column `column` of C in its block's sum. */
double gemm_reference_sign(const struct matmul_reference *reference, int64_t column);
/* Element `index` of an operand in memory order. */
double gemm_reference_operand(const struct matmul_problem *problem, uint64_t seed, int64_t index);

/*
 * Share of the operands' elements that are stored as subnormal numbers or zero, and so with fewer
 * digits (of the first million of each).
 */
double gemm_reference_subnormal_share(const struct matmul_problem *problem);

#endif
