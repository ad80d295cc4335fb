/* Order statistics of arrays. For intervals and noise of a series see result/statistics.h. */
#ifndef GPUPROOF_BASE_STATS_H
#define GPUPROOF_BASE_STATS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* For qsort(): ascending doubles. */
int compare_doubles(const void *a, const void *b);

/* Type-7 quantile (R's default, Hyndman & Fan 1996) of `sorted`, n >= 1, 0 <= p <= 1. */
double quantile(const double *sorted, size_t n, double p);

/* Median of `sorted`: mean of the two middle values if n is even. NaN if n == 0. */
double median_of_sorted(const double *sorted, size_t n);

/* Median of `values` (unsorted, not modified). NaN if n == 0. */
double median_of(const double *values, size_t n);

/* Sum of squares about the mean, which becomes *mean. */
double squares_about_mean(const double *values, size_t n, double *mean);

/*
 * Robust standard deviation: 1.4826 times the median distance from `center`, which estimates the
 * standard deviation of normal data. NaN if n == 0.
 */
double robust_deviation(const double *values, size_t n, double center);

/*
 * sqrt(a^2 + b^2), the half-width of a sum, for numbers far from overflow. hypot() would tie the
 * program to glibc 2.35, where it got a new version.
 */
double root_sum_square(double a, double b);

#ifdef __cplusplus
}
#endif

#endif
