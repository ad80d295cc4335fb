/*
 * Applying limits to the results of a run.
 *
 * The results of one call are launches of the same cases on the same machine (judge_same_machine())
 * and are pooled. PASS: the worse one-sided 95 % bound satisfies the limit; FAIL: the better one
 * violates it; in between INCONCLUSIVE.
 */
#ifndef GPUPROOF_JUDGE_JUDGE_H
#define GPUPROOF_JUDGE_JUDGE_H

#include "judge/limits.h"
#include "reference/population.h"
#include "result/result.h"
#include "result/verdict.h"

struct judge_input {
	const struct result *results; /* launches */
	size_t count;
	const struct result *baseline; /* for `* baseline`; may be NULL */
	size_t baseline_count;
	const struct limits *limits;
	/* good cards, for `population = 3 %`; NULL: the shipped ones */
	const struct population *population;
};

/* True if the run's config has [run] verdict = trend: no shipped limits then. */
bool judge_by_trend(const struct result *result);

/*
 * Appends a check per limit, case and bound, the findings about the run itself, and the machine's
 * devices with the aspects that are promised and judged. Several machines may go into the same
 * verdicts; verdicts_finish() comes after all.
 */
void judge_results(const struct judge_input *input, struct verdicts *verdicts);
/* Moves verdicts to those of all machines; `own` is empty afterwards. */
void judge_add_verdicts(struct verdicts *all, struct verdicts *own);
/*
 * The devices from `from` on are the `count` of one machine, once for each call of judge_results()
 * with launches of it: makes one of each, with the aspects of all.
 */
void judge_merge_devices(struct verdicts *verdicts, size_t from, size_t count);
/*
 * Counts, and comes to the one verdict and its sentence. FAIL: a check failed, or there is none;
 * INCONCLUSIVE: one is open, no number was held against a bound, or a promised aspect was not
 * judged on a device.
 */
void verdicts_finish(struct verdicts *verdicts);

/*
 * True if a post-flight finding differs from the pre-flight one in a property that a run must not
 * change.
 */
bool health_changed(const struct finding *before, const struct finding *after);

/*
 * Same devices, by UUID or where there is none by host: results of launches, as opposed to those of
 * other nodes.
 */
bool judge_same_machine(const struct result *a, const struct result *b);

/*
 * True for the cases that more launches may decide: the INCONCLUSIVE ones and those that FAIL, or
 * WARN of an outlier, by fewer than LAUNCHES_THAT_DECIDE launches, of which one slow one is enough,
 * and the identical devices they are compared with. What no launch changes and wrong results are
 * final.
 */
#define LAUNCHES_THAT_DECIDE 4
bool check_wants_more(const struct verdict_check *check);
bool judge_wants_more(const struct verdicts *verdicts, const char *case_id, const char *point);

#endif
