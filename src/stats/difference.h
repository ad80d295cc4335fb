/*
 * Two-sample tests for a change in a series: medians, Mann-Whitney, and Student's t on winsorized
 * values (Tukey 1962, Yuen & Dixon 1973: values farther than OUTLIER_SIGMAS robust standard
 * deviations from the median of their part are clipped). Ranks alone cannot separate five or six
 * nights at the level that a search over all nights requires; one outlier misleads a mean.
 */
#ifndef GPUPROOF_STATS_DIFFERENCE_H
#define GPUPROOF_STATS_DIFFERENCE_H

#include <stddef.h>

#define OUTLIER_SIGMAS 3.5

/*
 * Two-sided p-value of the rank test that both samples have the same distribution; ties count
 * against a difference.
 */
double difference_probability(const double *a, size_t m, const double *b, size_t n);

/* P-value of Student's t for the first m and the following n values of x; m + n > 2. */
double stats_difference_shift_probability(const double *x, size_t m, size_t n);

/*
 * Maximum distance of a value of x from the median of its part: robust, from both parts, each
 * around its own median.
 */
double stats_difference_outlier_distance(const double *x, size_t m, size_t n);
/*
 * Sum of squares about the winsorized mean: values farther than `distance` from the median are
 * clipped. Stores that mean in *mean.
 */
double stats_difference_winsorized_squares(const double *x, size_t n, double distance,
					   double *mean);

#endif
