/*
 * Repeatability of launches of one figure: assumed until the present launches show a larger spread.
 *
 * One figure's few launches say little about their own spread. Identical devices have it in common,
 * so that of a case on several of them it is learnt from all, robustly: the median of their
 * variances, so that a single device that scatters widely makes the others' figures no less
 * certain.
 */
#ifndef GPUPROOF_JUDGE_ESTIMATE_LAUNCH_SPREAD_H
#define GPUPROOF_JUDGE_ESTIMATE_LAUNCH_SPREAD_H

#include <stdbool.h>
#include <stddef.h>

#define SPREAD_WEIGHT 8
#define LAUNCH_SPREAD 0.005 /* what launches repeat to where nothing else is known */

struct launch_spread {
	double ratio;  /* standard deviation between launches */
	double weight; /* as if seen in this many launches; 0: nothing is taken for granted */
	double doubt;  /* the normal quantile at which one figure's own launches refute it */
	bool learnt;
	bool shared; /* by several devices: one wild launch of one of them refutes nothing */
};

/* Taken for granted (0: nothing is), and refuted by a figure's own launches at 95 %. */
struct launch_spread launch_spread_assumed(double ratio);

/*
 * Learnt from `n` figures of identical devices, if they refute `assumed` at 95 %: `deviations` of
 * their logs, each of `launches[i]` launches. Of fewer than three figures with two launches:
 * launch_spread_assumed().
 */
struct launch_spread launch_spread_learn(const double *deviations, const size_t *launches, size_t n,
					 double assumed);

/*
 * True if launches (each > 0) scatter by more than `spread`; false for one launch. A shared spread
 * is refuted by what is left without the launch farthest from the median, which a Hodges-Lehmann
 * estimate outvotes.
 */
bool launch_spread_refuted(const struct launch_spread *spread, const double *values, size_t n);

/* Sample standard deviation of the logs; 0 for n < 2. */
double log_deviation(const double *values, size_t n);

#endif
