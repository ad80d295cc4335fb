/*
 * Stop rule: decides when a series ends, and which of its samples are warm-up. Independent of
 * clocks and devices, so that simulations can use it (tests/bench/bench_coverage.c,
 * tests/unit/measure/test_stop_rule.c).
 *
 * After min_samples and least_seconds, a series ends if
 * - the 95 % interval of the median is narrower than the target (STOP_CONVERGED). Possibly
 *   correlated samples (stats_median_correlation_bound() > 0.1) must number at least 80 first,
 *   because fewer do
 *   not determine the correlation, unless all are within a quarter of the target of their median;
 * - twice as many samples have not narrowed the interval by 5 % (STOP_STABLE);
 * - there are max_samples, or max_seconds have passed (STOP_MAX_SAMPLES, STOP_MAX_TIME).
 *
 * A series whose level still drifts then, or when its number of samples has doubled
 * (stop_rule_drifts()), has not settled: its first half is dropped as warm-up, and
 * sampling continues until max_seconds + settle_seconds. A series that drifts even at that time is
 * not settled.
 */
#ifndef GPUPROOF_MEASURE_SAMPLING_STOP_RULE_H
#define GPUPROOF_MEASURE_SAMPLING_STOP_RULE_H

#include <stdbool.h>
#include <stddef.h>

#include "plan/sampling_rules.h"
#include "result/result.h"

#define SETTLING_CHANGE 0.01
#define SETTLING_BLOCKS 64

struct stop_rule {
	const struct sampling *rules;
	/* of this series; larger than in the rules if the workload requires more */
	size_t min_samples;
	double half_width;         /* relative; NaN until there is an interval */
	double earlier_half_width; /* half-width at half as many samples */
	size_t next_look, next_doubling;
	double began; /* start of the samples that are kept, in seconds */
};

/* Decision after a sample. */
struct stop_decision {
	bool end;
	enum stop_reason reason;
	bool unsettled; /* at the end: the level still drifts */
	size_t drop;    /* number of first samples to drop as warm-up; `end` is then false */
};

void stop_rule_begin(struct stop_rule *rule, const struct sampling *rules, size_t min_samples);

/*
 * Call after each sample. `samples`: those kept so far, in time order; `seconds`: since the first
 * sample of the series, kept or not.
 */
struct stop_decision stop_rule_decide(struct stop_rule *rule, const double *samples, size_t n,
				      double seconds);

/*
 * Tests if the level of a series has settled: Mann's trend test (Mann, Econometrica 13, 1945;
 * Kendall, Rank Correlation Methods) with a variance for autocorrelated noise, and the size of the
 * change.
 *
 * A series drifts if both are true:
 * - between the medians of its first and last thirds, its level changed by more than
 *   SETTLING_CHANGE and by more than `target`, the intended half-width of the interval;
 * - samples in random order would show such a trend in fewer than 1 of 100 series. The variance of
 *   Mann's S is multiplied by (1 + r) / (1 - r), where r is the lag-1 autocorrelation of the
 *   residuals of an isotonic regression: a smooth rise leaves no residuals, correlated noise stays
 *   correlated. Series longer than SETTLING_BLOCKS are tested by the medians of that many blocks.
 *
 * `samples` in time order. Returns false for fewer than six.
 */
bool stop_rule_drifts(const double *samples, size_t n, double target);

#endif
