/* Verifies a reduction over ranks without a copy of its inputs. */
#ifndef GPUPROOF_KERNELS_REDUCTION_H
#define GPUPROOF_KERNELS_REDUCTION_H

#include "kernels/kernel.h"

/* Result of "check_reduction"; in device memory. */
struct reduction_mismatch {
	uint64_t count;       /* wrong elements */
	uint64_t index;       /* of the first one; valid if count > 0 */
	double expected, got; /* of that element */
	double error; /* largest of all elements, relative as `tolerance` is; infinity for NaN */
};

/*
 * "check_reduction": element i must be the sum, in double, of element first + i of each rank's
 * data: FILL of `precision` with seed, seed + 1, ... seed + ranks - 1 (kernels/memory/fill.h),
 * rounded to the storage type. It may differ by `tolerance` times the sum of the magnitudes
 * (Higham, Accuracy and Stability of Numerical Algorithms, 4.2: (n - 1) units of rounding in any
 * order of summation). Set `out` to { 0, UINT64_MAX, 0, 0, 0 } before.
 */
struct check_reduction_arguments {
	const void *memory;
	enum precision precision;
	uint64_t count, first;
	uint64_t seed;
	int ranks;
	double scale, tolerance;
	struct reduction_mismatch *out;
};

#endif
