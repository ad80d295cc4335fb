/*
 * When a series ends, and which of its samples are warm-up. Knows no clock and no device:
 * simulations ask it too (tests/bench/bench_coverage.c, tests/unit/measure/test_stop_rule.c).
 *
 * A series ends after at least min_samples and least_seconds when
 * - the median's 95 % interval is narrower than the target (STOP_CONVERGED); a series whose samples
 *   may depend on each other (correlation_bound() > 0.1) has at least 80 samples before that,
 *   because fewer do not determine by how much. Samples that are all within a quarter of the target
 *   of their median need no such proof;
 * - twice as many samples have not narrowed the interval by 5 % (STOP_STABLE);
 * - there are max_samples, or max_seconds have passed (STOP_MAX_SAMPLES, STOP_MAX_TIME). A series
 *   whose level still drifts then, or when the number of its samples has doubled
 *   (measure/sampling/settling.h), has not
 * settled: its first half was warm-up and is dropped, and sampling continues until max_seconds +
 * settle_seconds have passed. What drifts when it ends after that is not settled.
 */
#ifndef GPUPROOF_MEASURE_SAMPLING_STOP_RULE_H
#define GPUPROOF_MEASURE_SAMPLING_STOP_RULE_H

#include <stdbool.h>
#include <stddef.h>

#include "plan/sampling_rules.h"
#include "result/result.h"

struct stop_rule {
	const struct sampling *rules;
	size_t min_samples; /* of this series; more than the rules' where the workload wants more */
	double half_width;  /* relative; NaN until there is an interval */
	double earlier_half_width; /* at half as many samples */
	size_t next_look, next_doubling;
	double began; /* seconds at which the samples that are kept began */
};

/* The next step after a sample. */
struct stop_decision {
	bool end;
	enum stop_reason reason;
	bool unsettled; /* at the end: the level drifts */
	size_t drop;    /* the first samples, which were warm-up; then `end` is false */
};

void stop_rule_begin(struct stop_rule *rule, const struct sampling *rules, size_t min_samples);

/*
 * After each sample: `samples` are those kept so far, in the order they were taken; `seconds` have
 * passed since the first sample of the series, kept or not.
 */
struct stop_decision stop_rule_decide(struct stop_rule *rule, const double *samples, size_t n,
				      double seconds);

#endif
