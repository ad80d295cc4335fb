/*
 * Tests if B is slower than A with the method of launch comparisons: both are measured five times,
 * alternating, and the ratio of the medians differs from 1 if its rank interval excludes 1.
 */
#ifndef GPUPROOF_SUITES_SELFTEST_TRIAL_H
#define GPUPROOF_SUITES_SELFTEST_TRIAL_H

#include "base/error.h"

/* One measurement in seconds, > 0. */
struct contender {
	enum status (*measure)(void *context, double *seconds, struct error *err);
	void *context;
};

/* B / A: Hodges-Lehmann, and the interval that contains the true ratio in 96.8 % of trials. */
struct ratio {
	double value, low, high;
};

/*
 * Probability of a difference between equal contenders: 2 * 4 / 252, by the exact distribution of
 * Mann-Whitney's U.
 */
#define TRIAL_FALSE_ALARMS (8.0 / 252.0)

enum status trial_run(const struct contender *a, const struct contender *b, struct ratio *out,
		      struct error *err);

#endif
