/*
 * Autocorrelation of short series by von Neumann's ratio (Ann. Math. Stat. 12, 1941): half the sum
 * of squared successive differences / sum of squares about the mean.
 */
#ifndef GPUPROOF_STATS_NEUMANN_H
#define GPUPROOF_STATS_NEUMANN_H

#include <stddef.h>

/* NaN for fewer than 3 values, and if all values are equal. */
double neumann_ratio(const double *x, size_t n);

/*
 * Expected ratio of n >= 3 normal values of an AR(1) process with correlation rho, between -1 and
 * 1. It is a ratio of two quadratic forms: for rho = 0 it equals the ratio of their expectations,
 * otherwise not (Sawa, Econometrica 46, 1978). 1 for rho = 0, lower above.
 */
double neumann_expectation(double rho, size_t n);

/* The rho, within +-0.95, whose expected ratio for n values is `ratio`. */
double neumann_correlation(double ratio, size_t n);

#endif
