/*
 * One value with its uncertainty, from one or several launches of the same case. The launch is the
 * unit of replication: samples of one process say nothing of the spread between processes, which is
 * taken from the kind of figure (kind.h) and from the launches themselves (stats/repeat.h).
 */
#ifndef GPUPROOF_JUDGE_ESTIMATE_ESTIMATE_H
#define GPUPROOF_JUDGE_ESTIMATE_ESTIMATE_H

#include <stddef.h>

#include "stats/repeat.h"

struct estimate {
	double value; /* one launch: its value; several: Hodges-Lehmann on their logs */
	/* two-sided 95 % interval of the level of repeated runs; NaN: none */
	double low, high;
	/*
	 * one-sided 95 %: the level is above value * exp(-half), and below value * exp(half); where
	 * the sides differ the longer one
	 */
	double half;
	double half_both; /* two-sided 95 %, as a log ratio too */
	size_t launches;
};

/*
 * `values`: one per launch, each > 0. `sample_half`: half width of the samples' two-sided 95 %
 * interval on the log scale (where its sides differ, of the longer), mean over the launches; 0 or
 * NaN: unknown.
 */
struct estimate estimate_launches(const double *values, size_t n, double sample_half,
				  const struct repeat *repeat);

/*
 * The same for values of which some are zero and so have no logarithm: the interval is Student's
 * around the value, on the values themselves, of its longer side; a zero among them gives no
 * certainty. All zero: zero, without an interval.
 */
struct estimate estimate_with_zeros(const double *values, size_t n);

/* Sample standard deviation of the logs; 0 for n < 2. */
double estimate_log_deviation(const double *values, size_t n);

#endif
