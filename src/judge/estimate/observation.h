/*
 * One metric of one case, estimated from its launches. Launches are results of the same machine and
 * config; a result that holds n launches itself (run --launches) counts as n.
 */
#ifndef GPUPROOF_JUDGE_ESTIMATE_OBSERVATION_H
#define GPUPROOF_JUDGE_ESTIMATE_OBSERVATION_H

#include <stdbool.h>

#include "judge/estimate/estimate.h"
#include "result/outcome.h"
#include "result/result.h"
#include "result/verdict.h"

/* One case in all results of a group that have it. */
struct subject {
	const struct case_result *first;  /* of the first result that has it */
	const struct case_result **cases; /* one per result */
	size_t count;
	const struct device_info *device; /* the case's first; NULL: not in the result */
};

struct subjects {
	struct subject *items;
	size_t count, capacity;
};

/* The cases of `results`, by id, in the order of the first that has them. */
void subjects_collect(struct subjects *subjects, const struct result *results, size_t count);
void subjects_release(struct subjects *subjects);

/* The subject of case `id`, NULL: there is none. */
const struct subject *subjects_find(const struct subjects *subjects, const char *id);

struct observation {
	/*
	 * VERDICT_PASS: there is a value; else SKIP, ERROR, FAIL (wrong result), INCONCLUSIVE (not
	 * settled)
	 */
	enum verdict verdict;
	char *reason;    /* why not; owned, "" */
	bool impossible; /* a figure of its case cannot be (judge/impossible.h) */
	struct estimate estimate;
	double *values; /* one per launch; owned */
	size_t count;
	size_t samples;
	bool no_interval; /* too few samples for one, in a single launch */
	/* metric_is_exact(): the estimate is the worst launch, without an interval */
	bool exact;
	struct repeat repeat; /* typical spread of the figure's kind, or as the caller has it */
	enum better better;
};

/*
 * `unit`: what the metric must be in. `launch_spread`: standard deviation between launches; 0: that
 * of the figure's kind. The caller releases it.
 */
struct observation observation_make(const struct subject *subject, const char *metric,
				    const char *unit, double launch_spread);
void observation_release(struct observation *observation);
/* Half width of the interval of one launch's samples, on the log scale; NaN: there is none. */
double metric_sample_half(const struct metric_value *metric);
/*
 * Takes the value's verdict away, unless it has a graver one: a wrong result, an error, a skip in
 * this order.
 */
void observation_refuse(struct observation *observation, enum verdict verdict, const char *reason);

#endif
