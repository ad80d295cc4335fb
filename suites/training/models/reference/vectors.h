/* Sums over vectors of doubles. */
#ifndef GPUPROOF_SUITES_TRAINING_MODELS_REFERENCE_VECTORS_H
#define GPUPROOF_SUITES_TRAINING_MODELS_REFERENCE_VECTORS_H

#include <stdint.h>

/* Four partial sums, because the compiler may not reorder a single sum. */
static inline double vectors_dot(const double *a, const double *b, uint64_t n)
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

static inline void vectors_add_scaled(double *to, double factor, const double *from, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		to[i] += factor * from[i];
}

#endif
