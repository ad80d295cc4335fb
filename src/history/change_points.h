/*
 * Points at which a series of nights may have changed permanently: E-divisive (Matteson & James
 * 2014, exponent 1) proposes, and each point must be confirmed by its size, by Mann & Whitney's
 * test and by Student's t (difference.h).
 *
 * Why two tests: the proposed split is the best of all splits, looked at anew every night, so that
 * the level of one test of one split (0.001) is exceeded in 4 to 8 % of quiet series within 25
 * nights when the noise is as large as the change that counts. The level that holds there, shared
 * out over the nights of the shorter part, is below what ranks of five nights can reach; Student's
 * t reaches it. The rank test remains as the guard against wild nights. The power and the error
 * rate of the constants are simulated in tests/unit/history/test_change_points.c and
 * tests/bench/bench_history.c.
 *
 * Nights are taken as independent here; change_odds.h accounts for correlation.
 */
#ifndef GPUPROOF_HISTORY_CHANGE_POINTS_H
#define GPUPROOF_HISTORY_CHANGE_POINTS_H

#include <stddef.h>

#define CHANGE_MIN_SEGMENT 5 /* nights */
#define CHANGE_PROBABILITY \
	0.001 /* of Student's t times the nights of the shorter part, at most; two-sided */
#define CHANGE_RANK_PROBABILITY 0.005 /* of Mann & Whitney's test, at most; two-sided */
#define CHANGE_MAGNITUDE 0.01         /* at least, between the medians */

/*
 * The first nights of new segments, ascending, into `points` (room for n / CHANGE_MIN_SEGMENT + 1);
 * returns how many. `values` are logarithms, so that sizes are ratios.
 */
size_t change_points(const double *values, size_t n, size_t *points);

/*
 * Drops from `points` what is not confirmed between its neighbours there; returns how many are
 * left.
 */
size_t change_points_confirmed(const double *values, size_t n, size_t *points, size_t count);

#endif
