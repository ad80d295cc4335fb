/*
 * Is B slower than A? Answered as launches are compared: both are measured five times, in turn, and
 * the ratio of two medians counts as different from 1 when its interval by ranks leaves 1 out.
 */
#ifndef GPUPROOF_SUITES_SELFTEST_TRIAL_H
#define GPUPROOF_SUITES_SELFTEST_TRIAL_H

#include "base/error.h"

/* One measurement in seconds, > 0. */
struct contender {
	enum status (*measure)(void *context, double *seconds, struct error *err);
	void *context;
};

/* B over A: Hodges-Lehmann, and the interval that holds the true ratio in 96.8 % of trials. */
struct ratio {
	double value, low, high;
};

/*
 * Probability that equal contenders come out different: 2 * 4 / 252, by the exact distribution of
 * Mann and Whitney's U.
 */
#define TRIAL_FALSE_ALARMS (8.0 / 252.0)

enum status trial_run(const struct contender *a, const struct contender *b, struct ratio *out,
		      struct error *err);

#endif
