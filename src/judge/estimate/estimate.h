/*
 * One value with its uncertainty, from one or several launches of the same case. The launch is the
 * unit of
 * replication: samples of one process say nothing about the spread between processes, so that is
 * taken for granted (launch_spread.h) and corrected by what the present launches show. If they
 * refute it, it is not true of this figure, and only what they show counts.
 */
#ifndef GPUPROOF_JUDGE_ESTIMATE_ESTIMATE_H
#define GPUPROOF_JUDGE_ESTIMATE_ESTIMATE_H

#include <stddef.h>

#include "judge/estimate/launch_spread.h"

struct estimate {
	double value; /* one launch: its value; several: Hodges-Lehmann on their logs */
	/*
	 * one-sided 95 %: the true value is above value * exp(-half), and below value * exp(half)
	 */
	double half;
	double half_both; /* two-sided 95 %, as a log ratio too */
	size_t launches;
	/*
	 * the deviation learnt from launches, where they refute what was taken for granted; else 0
	 */
	double learnt;
};

/*
 * `values`: one per launch, each > 0. `sample_half`: half width of the samples' two-sided 95 %
 * interval on the log scale (where its sides differ, of the longer), mean over the launches; 0 or
 * NaN: unknown.
 */
struct estimate estimate_launches(const double *values, size_t n, double sample_half,
				  const struct launch_spread *spread);

/*
 * The same for values of which some are zero and so have no logarithm: the interval is Student's
 * around the value, on the values themselves, of its longer side; a zero among them gives no
 * certainty. All zero: zero, without an interval.
 */
struct estimate estimate_with_zeros(const double *values, size_t n);

/*
 * Quantile of Student's t: probability 0.95 or 0.975, dof >= 1. Abramowitz & Stegun 26.7.5: four
 * terms; relative error below 2e-3 from 3 degrees of freedom on, exact below.
 */
double student_quantile(double probability, double dof);

/*
 * Median of the pairwise means (each value with itself too): robust, and 96 % as efficient as the
 * mean.
 */
double hodges_lehmann(const double *values, size_t n);

#endif
