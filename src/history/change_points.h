/*
 * Change-point detection for a series of nights. E-divisive (Matteson & James 2014, exponent 1)
 * proposes points. Each must be confirmed by its size, the Mann-Whitney test and Student's t-test
 * (difference.h).
 *
 * Two tests are needed because the proposed split is the best of all splits and is tested again
 * every night. A level of 0.001 for a single test is then exceeded in 4 to 8 % of stable series
 * within 25 nights, if the noise is as large as the smallest relevant change. The level that holds
 * instead, divided over the nights of the shorter part, is out of reach for ranks of five nights;
 * Student's t reaches it. The rank test protects against outliers.
 * tests/unit/history/test_change_points.c and tests/bench/bench_history.c simulate power and error
 * rate of the constants.
 *
 * Nights are treated as independent here; change_odds.h accounts for correlation.
 */
#ifndef GPUPROOF_HISTORY_CHANGE_POINTS_H
#define GPUPROOF_HISTORY_CHANGE_POINTS_H

#include <stddef.h>

#define CHANGE_MIN_SEGMENT 5 /* nights */
#define CHANGE_PROBABILITY \
	0.001 /* maximum p-value of Student's t times the nights of the shorter part; two-sided */
#define CHANGE_RANK_PROBABILITY 0.005 /* maximum p-value of the Mann-Whitney test; two-sided */
#define CHANGE_MAGNITUDE 0.01         /* minimum ratio between the medians */

/*
 * Stores the first nights of new segments in `points`, ascending (room for n / CHANGE_MIN_SEGMENT +
 * 1); returns their number. `values` are logarithms, so that sizes are ratios.
 */
size_t change_points(const double *values, size_t n, size_t *points);

/* Drops from `points` those that their neighbours do not confirm; returns the number left. */
size_t change_points_confirmed(const double *values, size_t n, size_t *points, size_t count);

#endif
