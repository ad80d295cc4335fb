/*
 * Two measurements of the same cases against each other, each of one or several launches.
 *
 * The ratio is oriented so that above 1 is worse, estimated by Hodges & Lehmann on the logs of the launches' medians with
 * its exact 95 % interval. With a margin d: REGRESSED when all of it is above 1 + d, IMPROVED when all of it is below
 * 1 - d, SAME when it is within both, else INCONCLUSIVE. Fewer than four launches on a side can never be significant:
 * the interval is then one that takes the usual spread between launches for granted, and the word is "possible" at most.
 */
#ifndef GPUPROOF_JUDGE_COMPARE_H
#define GPUPROOF_JUDGE_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "result/result.h"

#define COMPARE_MARGIN 0.01

enum change {
	CHANGE_REGRESSED,
	CHANGE_INCONCLUSIVE,
	CHANGE_IMPROVED,
	CHANGE_SAME,
	CHANGE_NONE, /* there is nothing to compare: `reason` says why */
	CHANGE_COUNT
};
const char *change_name(enum change change); /* "REGRESSED", ..., "NOT COMPARED" */

/* `char *` are owned. */
struct comparison_row {
	char *case_id, *metric, *unit;
	enum change change;
	bool possible; /* too few launches for more than "possible" */
	double a, b;   /* values of both sides */
	double ratio, low, high;
	double normalised; /* the ratio, had both run at the same clock; NaN: clocks unknown */
	size_t launches_a, launches_b;
	bool wrong; /* a wrong result on the new side */
	char *reason;
};

struct difference {
	char *name, *a, *b; /* "driver", "580.65", "580.95" */
};

struct comparison {
	struct comparison_row *rows; /* the worst first */
	size_t count, capacity;
	struct difference *differences; /* between the environments */
	size_t difference_count, difference_capacity;
	char **faults; /* wrong results and memory errors of the new side, in words */
	size_t fault_count, fault_capacity;
	size_t counts[CHANGE_COUNT];
	size_t possible; /* rows that are REGRESSED or IMPROVED, but with too few launches */
	double margin;
	char *sentence;
};

struct comparison_input {
	const struct result *a, *b; /* launches; a: before, b: after */
	size_t a_count, b_count;
	double margin;        /* 0.01 */
	double launch_spread; /* taken for granted where there are too few launches: 0.005 */
	bool all_metrics;     /* not only each suite's main figure */
};

void compare_results(const struct comparison_input *input, struct comparison *out);
void comparison_release(struct comparison *comparison);

/*
 * For --fail-on regression: 5 a wrong result on the new side, 1 a regression, 4 when one cannot be ruled out or a case is
 * missing, else 0.
 */
int comparison_gate(const struct comparison *comparison);

/* Environments: model, driver, facts, settings, clocks (compare_environment.c). */
void compare_environments(const struct comparison_input *input, struct comparison *out);

char *comparison_to_json(const struct comparison *comparison); /* the caller frees it */

#endif
