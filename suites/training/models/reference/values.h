/*
 * Conversion of stored numbers to doubles on the host, independent of the conversions of the
 * backends.
 */
#ifndef GPUPROOF_SUITES_TRAINING_MODELS_REFERENCE_VALUES_H
#define GPUPROOF_SUITES_TRAINING_MODELS_REFERENCE_VALUES_H

#include <stdint.h>

#include "device/backend.h"

/*
 * `value` rounded to the nearest number that `precision` can store, ties to even; overflow gives
 * infinity.
 */
double value_round(double value, enum precision precision);

/* to[i] = the i-th number of `from`, which is stored in `precision`. */
void values_decode(double *to, const void *from, enum precision precision, uint64_t count);

/* Parallel loops over large host arrays, if the build supports them. */

#ifdef _OPENMP
#define IN_PARALLEL _Pragma("omp parallel for schedule(static) num_threads(values_threads())")
#else
#define IN_PARALLEL
#endif

/*
 * Limits this process's later loops to its part of the cores: `ranks` processes work at the same
 * time. Initially 1.
 */
void values_share_threads(int ranks);
/* Threads of a loop: the cores that this process may use, or its part of them; at least 1. */
int values_threads(void);

/* Sums over vectors of doubles. */

/* Four partial sums, because the compiler may not reorder a single sum. */
static inline double values_dot(const double *a, const double *b, uint64_t n)
{
	double sum[4] = { 0 };
	uint64_t i = 0;

	for (; i + 4 <= n; i += 4)
		for (int k = 0; k < 4; k++)
			sum[k] += a[i + (uint64_t)k] * b[i + (uint64_t)k];
	for (; i < n; i++)
		sum[0] += a[i] * b[i];
	return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static inline void values_add_scaled(double *to, double factor, const double *from, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		to[i] += factor * from[i];
}

#endif
