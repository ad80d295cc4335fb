/*
 * Correlation of consecutive values of short series by von Neumann's ratio (Ann. Math. Stat. 12,
 * 1941): half the sum of squared successive differences over the sum of squares around the mean.
 */
#ifndef GPUPROOF_STATS_NEUMANN_H
#define GPUPROOF_STATS_NEUMANN_H

#include <stddef.h>

/* NaN for fewer than 3 values, and for values that are all equal. */
double neumann_ratio(const double *x, size_t n);

/*
 * Expectation of the ratio of n >= 3 normal values of an AR(1) process with correlation rho, above
 * -1 and below 1. A ratio of two quadratic forms: for rho = 0 it is the ratio of their
 * expectations, else it is not (Sawa, Econometrica 46, 1978). 1 for rho = 0, less above.
 */
double neumann_expectation(double rho, size_t n);

/* The rho, within +-0.95, whose expectation for n values is `ratio`. */
double neumann_correlation(double ratio, size_t n);

#endif
