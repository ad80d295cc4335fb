/*
 * Where a series of nights changed for good: E-divisive (Matteson & James 2014, exponent 1) proposes, and each point must be
 * confirmed by Mann & Whitney's test and by its size. Constants below are those of the design; what they find and how
 * often they err on quiet series is simulated in tests/test_change_points.c and tests/bench_history.c.
 */
#ifndef GPUPROOF_JUDGE_CHANGE_POINTS_H
#define GPUPROOF_JUDGE_CHANGE_POINTS_H

#include <stddef.h>

#define CHANGE_MIN_SEGMENT 5     /* nights */
#define CHANGE_PROBABILITY 0.001 /* at most, two-sided */
#define CHANGE_MAGNITUDE 0.01    /* at least, between the medians */

/*
 * The first nights of new segments, ascending, into `points` (room for n / CHANGE_MIN_SEGMENT + 1); returns how many.
 * `values` are logarithms, so that sizes are ratios.
 */
size_t change_points(const double *values, size_t n, size_t *points);

double series_median(const double *values, size_t n); /* NaN for n == 0 */
/* Two-sided probability that both are from one distribution; ties count against a difference. */
double difference_probability(const double *a, size_t m, const double *b, size_t n);

#endif
