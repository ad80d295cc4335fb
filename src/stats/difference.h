/*
 * Tests if two parts of a series differ: medians, Mann & Whitney's test, and Student's t with
 * outliers drawn in (Tukey 1962, Yuen & Dixon 1973: the mean and variance of values no farther than
 * OUTLIER_SIGMAS robust standard deviations from their part's median). Ranks alone are too coarse
 * to separate parts of five or six nights at the level that a search over all nights needs; means
 * alone believe a single wild night.
 */
#ifndef GPUPROOF_STATS_DIFFERENCE_H
#define GPUPROOF_STATS_DIFFERENCE_H

#include <stddef.h>

#define OUTLIER_SIGMAS 3.5

/*
 * Two-sided probability that both are from one distribution, by ranks; ties count against a
 * difference.
 */
double difference_probability(const double *a, size_t m, const double *b, size_t n);

/* The same for the first m and the following n values of x by Student's t; m + n > 2. */
double shift_probability(const double *x, size_t m, size_t n);

/*
 * How far from its part's median a value of x may be: robust, from both parts, each around its own
 * median.
 */
double outlier_distance(const double *x, size_t m, size_t n);
/*
 * Sum of squares of x around its mean, after drawing in what is farther than `distance` from the
 * median; the mean.
 */
double winsorized_sum_of_squares(const double *x, size_t n, double distance, double *mean);

#endif
