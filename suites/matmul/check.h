/* Compares a GEMM with its reference. */
#ifndef GPUPROOF_SUITES_MATMUL_CHECK_H
#define GPUPROOF_SUITES_MATMUL_CHECK_H

#include "suites/shared/gemm_reference.h"

/* Relative Frobenius norms of the error of C, over its finite elements (NaN: none). */
struct matmul_error {
	double stored;    /* relative to the GEMM of the operands as stored */
	double total;     /* relative to the GEMM of the operands before rounding */
	double nonfinite; /* share of the elements that are infinite or NaN */
};

/*
 * Compares `c` (host memory, as stored). STATUS_MISMATCH names the first wrong element with its
 * expected and actual value; NaN is wrong. Always sets `error`.
 */
enum status matmul_reference_check(const struct matmul_reference *reference, const void *c,
				   struct matmul_error *error, struct error *err);

#endif
