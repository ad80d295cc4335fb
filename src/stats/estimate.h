/*
 * Estimate of one metric with its uncertainty, from one or several launches of the same case. The
 * launch is the unit of replication: samples of one process do not show how processes vary. That
 * variation comes from the kind of metric (judge/estimate/kind.h) and from the launches
 * (stats/repeat.h).
 */
#ifndef GPUPROOF_STATS_ESTIMATE_H
#define GPUPROOF_STATS_ESTIMATE_H

#include <stddef.h>

#include "stats/repeat.h"

struct estimate {
	double value; /* one launch: its value; several: Hodges-Lehmann estimate of their logs */
	/* two-sided 95 % interval for the level of repeated runs; NaN: none */
	double low, high;
	/*
	 * one-sided 95 %: the level is above value * exp(-half), and below value * exp(half); the
	 * longer side of an asymmetric interval
	 */
	double half;
	double half_both; /* half-width of the two-sided 95 % interval, as a log ratio */
	size_t launches;
};

/*
 * `values`: one per launch, each > 0. `sample_half`: half-width of the two-sided 95 % interval of
 * the samples on the log scale (its longer side), mean over the launches; 0 or NaN: unknown.
 */
struct estimate stats_estimate_launches(const double *values, size_t n, double sample_half,
					const struct repeat *repeat);

/*
 * As stats_estimate_launches(), for values that include zeros and so have no logarithm. Uses
 * Student's t on the values themselves and the longer side of the interval. A zero among the values
 * makes the interval unbounded; if all are zero, the value is zero without an interval.
 */
struct estimate stats_estimate_with_zeros(const double *values, size_t n);

/* Sample standard deviation of the logs; 0 for n < 2. */
double stats_estimate_log_deviation(const double *values, size_t n);

#endif
