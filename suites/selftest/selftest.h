/* Parts of the suite `selftest`: its check `energy`, and trials of two contenders. */
#ifndef GPUPROOF_SUITES_SELFTEST_SELFTEST_H
#define GPUPROOF_SUITES_SELFTEST_SELFTEST_H

#include "measure/run.h"

struct selftest {
	struct run *run;
	struct device *device;
	struct stream *stream;
};

/* STATUS_UNSUPPORTED also if work adds less power than the uncertainty of the readings. */
enum status selftest_energy(struct selftest *t, struct error *err);
/* Device memory and time of selftest_energy(). */
uint64_t selftest_energy_bytes(void);
double selftest_energy_seconds(const struct section *section);

/*
 * trial.c: tests if B is slower than A with the method of launch comparisons. Both are measured
 * five times, alternating. The ratio of the medians differs from 1 if its rank interval excludes 1.
 */

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

enum status selftest_trial_run(const struct contender *a, const struct contender *b,
			       struct ratio *out, struct error *err);

#endif
