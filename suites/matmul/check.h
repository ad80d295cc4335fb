/* Compares a GEMM with its reference. */
#ifndef GPUPROOF_SUITES_MATMUL_CHECK_H
#define GPUPROOF_SUITES_MATMUL_CHECK_H

#include "suites/shared/gemm_reference.h"

/* Relative Frobenius norms of the error of C, over its finite elements (NaN: there are none). */
struct matmul_error {
	double stored;    /* against the product of the operands as stored */
	double total;     /* against the product of the operands before they were rounded */
	double nonfinite; /* share of the elements that are infinite or NaN */
};

/*
 * Compares `c` (host memory, as stored). STATUS_MISMATCH names the first wrong element, what was
 * expected and what is there; NaN is wrong. `error` is set in any case.
 */
enum status matmul_reference_check(const struct matmul_reference *reference, const void *c,
				   struct matmul_error *error, struct error *err);

#endif
