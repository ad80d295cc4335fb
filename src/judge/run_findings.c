/*
 * Checks that need no limit: wrong results, memory errors, missing cases.
 *
 * To add a finding about a run, add a function called by judge_run_findings(), with its aspect.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "device/xid.h"
#include "judge/judging.h"
#include "result/outcome.h"

/*
 * Fault counters, and the verdict if one of them moved during a case. Those of links are judged
 * over the whole run (link_errors.c).
 */
static const struct {
	size_t offset;
	const char *name; /* of the curve of a watch */
	enum verdict verdict;
	enum cause cause;
	const char *what, *rule;
} counters[] = {
	{ offsetof(struct telemetry, ecc_uncorrected), "ecc_uncorrected", VERDICT_FAIL,
	  CAUSE_GPU_UNCORRECTED_ERROR, "uncorrected memory error%s (ECC)", "; 0 are allowed" },
	{ offsetof(struct telemetry, ecc_corrected), "ecc_corrected", VERDICT_WARN,
	  CAUSE_GPU_MEMORY_ERROR, "corrected memory error%s (ECC)", "" },
};

/* `n`: index of the counter; `device` NULL: the first of the case. */
static void run_findings_tell_counter(const struct result *result, const struct case_result *c,
				      const char *device, size_t n, double count, const char *when,
				      struct verdicts *verdicts)
{
	char *what = xasprintf(counters[n].what, count > 1 ? "s" : "");

	run_findings_add(verdicts, result, c, device, ASPECT_CONDITION, counters[n].verdict,
			 counters[n].cause, "%.0f %s %s%s", count, what, when, counters[n].rule);
	free(what);
}

/* By what NVIDIA's catalogue says to do; of results of earlier versions the number is unknown. */
static enum verdict run_findings_verdict_of_xid(int64_t number)
{
	if (number <= 0)
		return VERDICT_FAIL;
	switch (xid_kind(number)) {
	case XID_NOTICE:
		return VERDICT_WARN;
	case XID_APPLICATION:
		return VERDICT_INCONCLUSIVE;
	default:
		return VERDICT_FAIL;
	}
}

/* `device` NULL: the case's first. `number` of the worst; <= 0: unknown. */
static void run_findings_tell_xid(const struct result *result, const struct case_result *c,
				  const char *device, double count, int64_t number,
				  const char *when, struct verdicts *verdicts)
{
	struct text reason = TEXT_EMPTY;
	struct verdict_check *check;

	if (number <= 0)
		text_addf(&reason, "critical errors of the GPU (Xid; see the kernel log) %s: %.0f",
			  when, count);
	else
		text_addf(&reason, "Xid %" PRId64 "%s %s%s%s", number,
			  count > 1 ? " and other Xid errors" : "", when,
			  *xid_meaning(number) ? ": " : "", xid_meaning(number));
	check = run_findings_add(verdicts, result, c, device, ASPECT_CONDITION,
				 run_findings_verdict_of_xid(number),
				 number > 0 && xid_kind(number) == XID_MEMORY
					 ? CAUSE_GPU_UNCORRECTED_ERROR
					 : CAUSE_GPU_CRITICAL_ERROR,
				 "%s", reason.data);
	check->final = true;
	check->xid = number > 0 ? (size_t)number : 0;
	text_release(&reason);
}

/*
 * Reports counters of a case's first device that moved between two readings; `when` is "during the
 * case".
 */
static void run_findings_readings(const struct result *result, const struct case_result *c,
				  const struct telemetry *first, const struct telemetry *last,
				  const char *when, struct verdicts *verdicts)
{
	for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
		size_t offset = counters[i].offset;
		int64_t before = *(const int64_t *)(const void *)((const char *)first + offset);
		int64_t after = *(const int64_t *)(const void *)((const char *)last + offset);

		if (before >= 0 && after > before)
			run_findings_tell_counter(result, c, NULL, i, (double)(after - before),
						  when, verdicts);
	}
	if (first->xid_errors >= 0 && last->xid_errors > first->xid_errors)
		run_findings_tell_xid(result, c, NULL,
				      (double)(last->xid_errors - first->xid_errors), last->xid,
				      when, verdicts);
}

/* The worst Xid of a watch; 0: unknown. */
static int64_t run_findings_watched_xid(const struct watch *w)
{
	int64_t number = 0;

	for (size_t q = 0; q < w->quantity_count; q++)
		for (size_t i = 0; i < w->quantities[q].highest_count; i++)
			if (strcmp(w->quantities[q].name, "xid") == 0 &&
			    isfinite(w->quantities[q].highest[i]))
				number = xid_worse(number, (int64_t)w->quantities[q].highest[i]);
	return number;
}

/*
 * Fault counters of a soak, on all devices except the first, which run_findings_readings()
 * compares.
 */
static void run_findings_watches(const struct result *result, const struct case_result *c,
				 struct verdicts *verdicts)
{
	for (size_t i = 1; i < c->watch_count; i++) {
		const struct watch *w = &c->watches[i];
		double by;

		for (size_t n = ARRAY_SIZE(counters); n-- > 0;) {
			by = watch_counter_growth(w, counters[n].name);
			if (by > 0)
				run_findings_tell_counter(result, c, w->device, n, by,
							  "during the case", verdicts);
		}
		by = watch_counter_growth(w, "xid_errors");
		if (by > 0)
			run_findings_tell_xid(result, c, w->device, by, run_findings_watched_xid(w),
					      "during the case", verdicts);
	}
}

/* A case and the previous one with the same first device. */
struct gap {
	const struct case_result *c, *before; /* before is NULL if there is none */
};

static int run_findings_by_start(const void *a, const void *b)
{
	const struct case_result *p = ((const struct gap *)a)->c, *q = ((const struct gap *)b)->c;

	if (p->started_seconds != q->started_seconds)
		return p->started_seconds < q->started_seconds ? -1 : 1;
	return (p > q) - (p < q);
}

static int run_findings_by_device(const void *a, const void *b)
{
	int order = strcmp(((const struct gap *)a)->c->device, ((const struct gap *)b)->c->device);

	return order ? order : run_findings_by_start(a, b);
}

/*
 * Faults counted between two cases of a device: creating a context, filling memory and verifying
 * are work too. In pooled launches, the last reading of a case belongs to the last launch and the
 * first reading of the next case to the first one. Such readings decrease, and the two readings of
 * each case cover every launch.
 */
static void run_findings_gaps(const struct result *result, struct verdicts *verdicts)
{
	struct gap *gaps = xcalloc(result->case_count + 1, sizeof(*gaps));
	size_t count = 0;

	for (size_t i = 0; i < result->case_count; i++)
		if (result->cases[i].device)
			gaps[count++].c = &result->cases[i];
	qsort(gaps, count, sizeof(*gaps), run_findings_by_device);
	for (size_t i = 1; i < count; i++)
		if (strcmp(gaps[i - 1].c->device, gaps[i].c->device) == 0)
			gaps[i].before = gaps[i - 1].c;
	qsort(gaps, count, sizeof(*gaps), run_findings_by_start);
	for (size_t i = 0; i < count; i++)
		if (gaps[i].before)
			run_findings_readings(result, gaps[i].c, &gaps[i].before->after,
					      &gaps[i].c->before,
					      "between the previous case and this one", verdicts);
	free(gaps);
}

void run_findings_set(char **text, const char *value)
{
	run_findings_take(text, xstrdup(value ? value : ""));
}

void run_findings_take(char **text, char *value)
{
	free(*text);
	*text = value;
}

void run_findings_format(char **text, const char *format, va_list ap)
{
	va_list again;
	size_t size;
	char *value;

	va_copy(again, ap);
	size = (size_t)vsnprintf(NULL, 0, format, again) + 1;
	va_end(again);
	value = xmalloc(size);
	vsnprintf(value, size, format, ap);
	run_findings_take(text, value);
}

struct verdict_check *run_findings_add(struct verdicts *verdicts, const struct result *result,
				       const struct case_result *c, const char *device,
				       enum aspect aspect, enum verdict verdict, enum cause cause,
				       const char *format, ...)
{
	struct verdict_check *check = verdicts_add(verdicts);
	const char *id = device || !c ? device : c->device;
	const struct device_info *info = result_device(result, id);
	va_list ap;

	run_findings_set(&check->limit, "run");
	if (c)
		verdict_check_set_case(check, c);
	run_findings_set(&check->devices, id);
	run_findings_set(&check->model, info ? info->name : "");
	run_findings_set(&check->uuid, info ? info->uuid : "");
	check->aspect = aspect;
	check->verdict = verdict;
	check->cause = cause;
	check->accepted = verdict == VERDICT_PASS || verdict == VERDICT_WARN;
	va_start(ap, format);
	run_findings_format(&check->reason, format, ap);
	va_end(ap);
	return check;
}

static void run_findings_throttling(const struct result *result, const struct case_result *c,
				    struct verdicts *verdicts)
{
	char *words, *share;

	if (!result_throttle_is_fault(case_throttle_reasons(c)))
		return;
	words = result_throttle_words(case_throttle_reasons(c));
	share = c->during.readings ? xasprintf(" in %.2g %% of %zu readings",
					       100.0 * (double)c->during.throttled /
						       (double)c->during.readings,
					       c->during.readings)
				   : xstrdup("");
	run_findings_add(verdicts, result, c, NULL, ASPECT_CONDITION, VERDICT_WARN,
			 CAUSE_GPU_THROTTLED, "the device was throttled%s: %s", share, words);
	free(share);
	free(words);
}

/* Device on which the case failed; NULL: unknown. */
static const char *run_findings_known_device(const struct case_result *c)
{
	return c->failed_device && *c->failed_device ? c->failed_device : NULL;
}

/*
 * A soak reports which of its devices were wrong. For other cases the first device represents all.
 */
static void run_findings_wrong(const struct result *result, const struct case_result *c,
			       struct verdicts *verdicts)
{
	const bool injected = case_wrong_is_injected(c);
	bool told = false;

	if (!result_outcome_case_is_wrong(c))
		return;
	for (size_t i = 0; i < c->watch_count; i++) {
		const struct watch *t = &c->watches[i];

		if (!t->wrong)
			continue;
		told = true;
		run_findings_add(verdicts, result, c, t->device, ASPECT_CORRECTNESS, VERDICT_FAIL,
				 injected ? CAUSE_FAULTS_INJECTED : CAUSE_NONE,
				 "%" PRIu64 " wrong word%s%s; first: %s", t->wrong,
				 t->wrong == 1 ? "" : "s",
				 injected ? " that gpuproof injected" : "", t->wrong_words)
			->wrong = true;
	}
	if (!told && c->status == CASE_FAILED)
		run_findings_add(verdicts, result, c, run_findings_known_device(c),
				 ASPECT_CORRECTNESS, VERDICT_FAIL, CAUSE_NONE, "%s", c->reason)
			->wrong = true;
	else if (!told)
		run_findings_add(verdicts, result, c, run_findings_known_device(c),
				 ASPECT_CORRECTNESS, VERDICT_FAIL, CAUSE_NONE,
				 "error %.3g exceeds the tolerance %.3g", c->verification.error,
				 c->verification.tolerance)
			->wrong = true;
}

/*
 * A worker that died between cases without loss of a measurement. It is not known whether a device
 * caused it.
 */
static void run_findings_lost(const struct result *result, const struct case_result *c,
			      struct verdicts *verdicts)
{
	for (size_t i = 0; i < c->lost_count; i++) {
		const struct lost_worker *lost = &c->lost[i];
		struct text devices = TEXT_EMPTY;
		struct verdict_check *check =
			run_findings_add(verdicts, result, NULL,
					 lost->device_count ? lost->devices[0] : NULL, ASPECT_NONE,
					 VERDICT_ERROR, CAUSE_WORKER_LOST,
					 "a worker process died, but no case was lost: %s",
					 lost->reason);

		for (size_t d = 0; d < lost->device_count; d++)
			text_addf(&devices, "%s%s", d ? "," : "", lost->devices[d]);
		run_findings_take(&check->devices, text_detach(&devices));
	}
}

/* A run that did not finish is never accepted, even if no limit covers the missing cases. */
static void run_findings_end(const struct result *result, struct verdicts *verdicts)
{
	enum run_stage ended = result_outcome_ended_after(result);
	size_t missing = result_outcome_not_run(result);

	if (ended)
		run_findings_add(verdicts, result, NULL, NULL, ASPECT_NONE, VERDICT_ERROR,
				 CAUSE_STAGE_REJECTED,
				 "stage %s rejected the node, so %zu of %zu cases were not run",
				 run_stage_names[ended], missing, result->planned);
	else if (missing)
		run_findings_add(verdicts, result, NULL, NULL, ASPECT_NONE, VERDICT_ERROR,
				 CAUSE_NONE, "the run is %s: %zu of %zu cases were not run",
				 result->state, missing, result->planned);
	else if (result->state && strcmp(result->state, "complete") != 0)
		run_findings_add(verdicts, result, NULL, NULL, ASPECT_NONE, VERDICT_ERROR,
				 CAUSE_NONE, "the run is %s and did not finish", result->state);
}

/* A node without a complete result is never accepted, whatever the others measured. */
static void run_findings_lost_nodes(const struct result *result, struct verdicts *verdicts)
{
	bool *told = xcalloc(result->node_count + 1, sizeof(*told));

	for (size_t i = 0; i < result->node_count; i++) {
		const struct result_node *node = &result->nodes[i];
		size_t count = 0;
		char *names;

		if (node->status == NODE_OK || told[i])
			continue;
		names = result_nodes_ended_alike(result, i, told, &count);
		run_findings_add(verdicts, result, NULL, NULL, ASPECT_NONE, VERDICT_ERROR,
				 CAUSE_NONE, "node%s %s %s %s%s%s: %s", text_plural(count), names,
				 count == 1 ? "is" : "are", node_status_name(node->status),
				 *node->lost_at ? " at " : "", node->lost_at, node->reason);
		free(names);
	}
	free(told);
}

void judge_run_findings(const struct judge_input *input, struct verdicts *verdicts)
{
	bool measured = false;

	judge_health(input, verdicts);
	for (size_t r = 0; r < input->count; r++)
		for (size_t i = 0; i < input->results[r].case_count; i++)
			measured = measured || input->results[r].cases[i].status != CASE_SKIPPED;
	/* It fails, even if a limit on the node is met. */
	if (input->count && !measured)
		run_findings_add(verdicts, &input->results[0], NULL, NULL, ASPECT_NONE,
				 VERDICT_FAIL, CAUSE_NONE, "no case was measured");
	for (size_t r = 0; r < input->count; r++) {
		const struct result *result = &input->results[r];

		for (size_t i = 0; i < result->case_count; i++) {
			run_findings_wrong(result, &result->cases[i], verdicts);
			run_findings_throttling(result, &result->cases[i], verdicts);
			run_findings_lost(result, &result->cases[i], verdicts);
		}
		/* Counted faults, such as memory errors, during and between the cases. */
		for (size_t i = 0; i < result->case_count; i++) {
			const struct case_result *c = &result->cases[i];

			run_findings_readings(result, c, &c->before, &c->after, "during the case",
					      verdicts);
			run_findings_watches(result, c, verdicts);
		}
		run_findings_gaps(result, verdicts);
		judge_link_errors(result, verdicts);
		run_findings_end(result, verdicts);
		run_findings_lost_nodes(result, verdicts);
	}
}

static bool run_findings_has_error(const struct verdicts *verdicts, const char *case_id)
{
	for (size_t i = 0; i < verdicts->count; i++)
		if (verdicts->checks[i].verdict == VERDICT_ERROR &&
		    strcmp(verdicts->checks[i].case_id, case_id) == 0)
			return true;
	return false;
}

/* Reports cases without an error that were never verified and that no limit reported. */
static void run_findings_unverified(const struct result *result, struct verdicts *verdicts)
{
	const struct case_result *first = NULL;
	size_t count = 0;

	for (size_t i = 0; i < result->case_count; i++) {
		const struct case_result *c = &result->cases[i];

		if (c->status != CASE_OK || result_outcome_case_is_verified(c) ||
		    run_findings_has_error(verdicts, c->id))
			continue;
		first = first ? first : c;
		count++;
	}
	if (count)
		run_findings_add(verdicts, result, first, NULL, ASPECT_CORRECTNESS, VERDICT_ERROR,
				 CAUSE_NONE, "the result of this case%s was never verified",
				 count > 1 ? " and of other cases" : "");
}

/* One failing case may be at fault itself; several different ones point to the device. */
#define UNUSABLE_CASES 2

/* Reports a device on which every case failed. Cases with several devices do not count. */
static void run_findings_unusable(const struct result *result, struct verdicts *verdicts)
{
	for (size_t d = 0; d < result->device_count; d++) {
		const char *id = result->devices[d].id, *reason = NULL;
		size_t lost = 0, others = 0;

		for (size_t i = 0; i < result->case_count; i++) {
			const struct case_result *c = &result->cases[i];

			if (c->device_count != 1 || strcmp(c->device, id) != 0 ||
			    c->status == CASE_SKIPPED)
				continue;
			if (c->status == CASE_ERROR && case_end_is_fault(c->end)) {
				lost++;
				reason = reason ? reason : c->reason;
			} else {
				others++;
			}
		}
		if (others || lost < UNUSABLE_CASES)
			continue;
		run_findings_add(verdicts, result, NULL, id, ASPECT_NONE, VERDICT_FAIL,
				 CAUSE_GPU_UNUSABLE,
				 "all %zu cases on this device failed; first error: %s", lost,
				 reason);
	}
}

/* A crash is a finding about the machine even without a limit. */
void run_findings_errors(const struct judge_input *input, struct verdicts *verdicts)
{
	for (size_t r = 0; r < input->count; r++) {
		const struct result *result = &input->results[r];

		run_findings_unverified(result, verdicts);
		run_findings_unusable(result, verdicts);
		for (size_t i = 0; i < result->case_count; i++) {
			const struct case_result *c = &result->cases[i];

			if (c->status == CASE_ERROR && !run_findings_has_error(verdicts, c->id))
				run_findings_add(verdicts, result, c, run_findings_known_device(c),
						 ASPECT_NONE, VERDICT_ERROR, CAUSE_NONE,
						 "the case ended in an error: %s", c->reason);
		}
	}
}
