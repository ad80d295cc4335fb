/*
 * What the launches of one case say about one metric. Launches are results of the same machine and config; a result
 * that holds several launches itself (run --launches) counts as so many.
 */
#ifndef GPUPROOF_JUDGE_OBSERVATION_H
#define GPUPROOF_JUDGE_OBSERVATION_H

#include <stdbool.h>

#include "judge/estimate.h"
#include "judge/verdict.h"
#include "result/result.h"

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

/* A quantity that no launch changes: bytes, counted rather than timed. */
bool metric_is_exact(const struct metric_value *metric);

struct observation {
	enum verdict
		verdict; /* VERDICT_PASS: there is a value; else SKIP, ERROR, or FAIL (wrong result) */
	char *reason;    /* why not; owned, "" */
	struct estimate estimate;
	double *values; /* one per launch; owned */
	size_t count;
	size_t samples;
	bool no_interval; /* too few samples for one, in a single launch */
};

/* `unit`: what the metric must be in. The caller releases it. */
struct observation observe(const struct subject *subject, const char *metric, const char *unit,
			   double launch_spread);
void observation_release(struct observation *observation);

#endif
