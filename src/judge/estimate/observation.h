/*
 * Observation: one metric of one case, estimated from its launches. Launches are results of the
 * same machine and config. A result that holds n launches itself (run --launches) counts as n.
 */
#ifndef GPUPROOF_JUDGE_ESTIMATE_OBSERVATION_H
#define GPUPROOF_JUDGE_ESTIMATE_OBSERVATION_H

#include <stdbool.h>

#include "stats/estimate.h"
#include "result/outcome.h"
#include "result/result.h"
#include "result/verdict.h"

/* One case in all results of a group that contain it. */
struct subject {
	const struct case_result *first;  /* case in the first result that contains it */
	const struct case_result **cases; /* one per result */
	size_t count;
	const struct device_info *device; /* first device of the case; NULL: not in the result */
};

struct subjects {
	struct subject *items;
	size_t count, capacity;
};

/* Collects the cases of `results` by id, in the order of the first result that contains each. */
void observation_subjects_collect(struct subjects *subjects, const struct result *results,
				  size_t count);
void observation_subjects_release(struct subjects *subjects);

/* Finds the subject of case `id`; NULL: none. */
const struct subject *observation_subjects_find(const struct subjects *subjects, const char *id);

struct observation {
	/*
	 * VERDICT_PASS: the value is usable; else SKIP, ERROR, FAIL (wrong result), INCONCLUSIVE
	 * (not settled)
	 */
	enum verdict verdict;
	char *reason;      /* why there is no usable value; owned, or "" */
	bool of_host_copy; /* copies between the host and one device */
	bool impossible;   /* a metric of its case is impossible (judge/judge.h) */
	struct estimate estimate;
	double *values; /* one per launch; owned */
	size_t count;
	size_t samples;
	bool no_interval; /* a single launch with too few samples for an interval */
	/* figure_kind_metric_is_exact(): the value is the worst launch, without an interval */
	bool exact;
	struct repeat repeat; /* typical variation of the metric's kind, or the caller's */
	enum better better;
};

/*
 * `unit`: required unit of the metric. `launch_spread`: standard deviation between launches; 0:
 * that of the metric's kind. The caller releases the result.
 */
struct observation observation_make(const struct subject *subject, const char *metric,
				    const char *unit, double launch_spread);
/*
 * The fastest of at least LAUNCHES_THAT_DECIDE launches of copies between the host and one device;
 * NaN: another case, or fewer launches. It decides a comparison that is INCONCLUSIVE: other users
 * of the host's memory only slow copies down (launches of one healthy H200 ranged from 47.6 to 55.0
 * GB/s, while the fastest of five launches of two GPUs differed by 0.1 to 0.6 %), and a slow link
 * is slow in each launch. Fixed limits judge the estimate.
 */
double observation_fastest_launch(const struct observation *observation);
#define FASTEST_LAUNCH_WORDS "launches vary with the load of the host; the fastest is "
void observation_release(struct observation *observation);
/* Half-width of the interval of one launch's samples, on the log scale; NaN: none. */
double observation_metric_sample_half(const struct metric_value *metric);
/* Replaces the verdict, unless it is worse already: wrong result, error, skip, in this order. */
void observation_refuse(struct observation *observation, enum verdict verdict, const char *reason);

#endif
