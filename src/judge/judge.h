/*
 * Applies limits to the results of a run.
 *
 * The results of one call are launches of the same cases on the same machine (judge_same_machine())
 * and are pooled. PASS: the worse one-sided 95 % bound satisfies the limit. FAIL: the better bound
 * violates it. Otherwise INCONCLUSIVE.
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
	/* reference GPUs, for `population = 3 %`; NULL: the shipped ones */
	const struct population *population;
};

/* True if the run's config has [run] verdict = trend. No shipped limits apply then. */
bool judge_machine_by_trend(const struct result *result);

/*
 * Appends a check per limit, case and bound, the findings about the run itself, and the devices of
 * the machine with their promised and judged aspects. The caller may add several machines to the
 * same verdicts, then calls verdicts_finish().
 */
void judge_machine_results(const struct judge_input *input, struct verdicts *verdicts);
/* Moves the verdicts of one machine to those of all; `own` is empty afterwards. */
void judge_machine_add_verdicts(struct verdicts *all, struct verdicts *own);
/*
 * The devices from index `from` on are `count` devices of one machine, once per call of
 * judge_machine_results() with its launches. Merges them into one entry per device with the aspects
 * of all.
 */
void judge_aspects_merge_devices(struct verdicts *verdicts, size_t from, size_t count);
/*
 * Counts the checks and derives the verdict and its sentence. FAIL: a check failed, or there is
 * none. INCONCLUSIVE: a check is inconclusive, no bound was applied, or a promised aspect of a
 * device was not judged.
 */
void verdicts_finish(struct verdicts *verdicts);

/*
 * True if a finding after the run differs from the one before in a property that must not change.
 */
bool health_changed(const struct finding *before, const struct finding *after);

/*
 * True if both results have the same devices, by UUID, or by host if there is none: launches, as
 * opposed to results of other nodes.
 */
bool judge_same_machine(const struct result *a, const struct result *b);

/*
 * Why a metric of the case is impossible: "transfer.bandwidth = 555 GB/s exceeds the maximum of a
 * NVIDIA H200: pcie_bandwidth 63.02 GB/s". `device`: first device of the case; NULL: unknown.
 * Returns NULL if no metric is known to be impossible; else the caller frees the string.
 */
char *impossible_figure(const struct device_info *device, const struct case_result *c);

/*
 * True for checks that more launches may decide. These are INCONCLUSIVE checks, FAIL and outlier
 * WARN from fewer than LAUNCHES_THAT_DECIDE launches, of which one slow launch is enough, and the
 * identical devices that they are compared with. Exact metrics and wrong results are final.
 */
#define LAUNCHES_THAT_DECIDE 4
bool judge_check_wants_more(const struct verdict_check *check);
bool judge_wants_more(const struct verdicts *verdicts, const char *case_id, const char *point);

#endif
