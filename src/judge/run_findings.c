/*
 * Checks without a limit: wrong results, memory errors, cases that are missing.
 *
 * Adding a finding about a run: a function called by judge_run(), with its aspect.
 */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "judge/judging.h"

void judging_set(char **text, const char *value)
{
	free(*text);
	*text = xstrdup(value ? value : "");
}

static void set_device(struct verdict_check *check, const struct result *result, const char *id)
{
	const struct device_info *device = result_device(result, id);

	judging_set(&check->devices, id);
	if (device) {
		judging_set(&check->model, device->name);
		judging_set(&check->uuid, device->uuid);
	}
}

struct verdict_check *judging_finding(struct verdicts *verdicts, const struct result *result,
				      const struct case_result *c, const char *device,
				      enum aspect aspect, enum verdict verdict, bool wrong,
				      char *reason)
{
	struct verdict_check *check = verdicts_add(verdicts);

	judging_set(&check->limit, "run");
	if (c)
		check_set_case(check, c);
	if (c || device)
		set_device(check, result, device ? device : c->device);
	check->aspect = aspect;
	check->verdict = verdict;
	check->wrong = wrong;
	free(check->reason);
	check->reason = reason;
	return check;
}

static void judge_throttling(const struct result *result, const struct case_result *c,
			     struct verdicts *verdicts)
{
	struct verdict_check *check;
	char *words;

	if (!throttle_is_fault(case_throttle_reasons(c)))
		return;
	words = throttle_words(case_throttle_reasons(c));
	check = judging_finding(verdicts, result, c, NULL, ASPECT_CONDITION, VERDICT_WARN, false,
				xasprintf("the device was throttled: %s", words));
	check->cause = CAUSE_GPU_THROTTLED;
	check->accepted = true;
	free(words);
}

/* A soak knows which of its devices were wrong; for other cases the first device represents all. */
static void judge_wrong(const struct result *result, const struct case_result *c,
			struct verdicts *verdicts)
{
	bool told = false;

	if (!case_is_wrong(c))
		return;
	for (size_t i = 0; i < c->watch_count; i++) {
		const struct watch *t = &c->watches[i];
		struct verdict_check *check;

		if (!t->wrong)
			continue;
		told = true;
		check = judging_finding(verdicts, result, c, t->device, ASPECT_CORRECTNESS,
					VERDICT_FAIL, true,
					xasprintf("%" PRIu64 " wrong word%s%s, the first: %s",
						  t->wrong, t->wrong == 1 ? "" : "s",
						  case_wrong_is_planted(c) ? " that the run planted"
									   : "",
						  t->wrong_words));
		if (case_wrong_is_planted(c))
			check->cause = CAUSE_FAULTS_PLANTED;
	}
	if (!told)
		judging_finding(verdicts, result, c, NULL, ASPECT_CORRECTNESS, VERDICT_FAIL, true,
				c->status == CASE_FAILED ? xstrdup(c->reason)
							 : xasprintf("its error of %.3g is beyond "
								     "the tolerance of %.3g",
								     c->verification.error,
								     c->verification.tolerance));
}

/*
 * A process that died between cases, though everything was measured in the end: whether a device
 * did it is not known.
 */
static void judge_lost(const struct result *result, const struct case_result *c,
		       struct verdicts *verdicts)
{
	for (size_t i = 0; i < c->lost_count; i++) {
		const struct lost_worker *lost = &c->lost[i];
		struct text devices = TEXT_EMPTY;
		struct verdict_check *check = judging_finding(
			verdicts, result, NULL, lost->device_count ? lost->devices[0] : NULL,
			ASPECT_NONE, VERDICT_ERROR, false,
			xasprintf("a worker process was lost, which cost no case: %s",
				  lost->reason));

		check->cause = CAUSE_WORKER_LOST;
		for (size_t d = 0; d < lost->device_count; d++)
			text_addf(&devices, "%s%s", d ? "," : "", lost->devices[d]);
		judging_set(&check->devices, devices.data);
		text_release(&devices);
	}
}

static void judge_case(const struct result *result, const struct case_result *c,
		       struct verdicts *verdicts)
{
	judge_wrong(result, c, verdicts);
	judge_throttling(result, c, verdicts);
	judge_lost(result, c, verdicts);
}

/* A run that did not reach its end is never accepted, also when what is missing has no limit. */
static void judge_end(const struct result *result, struct verdicts *verdicts)
{
	bool short_of = result->planned > result->case_count;

	if (short_of)
		judging_finding(verdicts, result, NULL, NULL, ASPECT_NONE, VERDICT_ERROR, false,
				xasprintf("the run is %s: %zu of %zu cases were not run",
					  result->state, result->planned - result->case_count,
					  result->planned));
	else if (result->state && strcmp(result->state, "complete") != 0)
		judging_finding(verdicts, result, NULL, NULL, ASPECT_NONE, VERDICT_ERROR, false,
				xasprintf("the run is %s: it did not reach its end",
					  result->state));
}

/* Judging nothing fails, also by a limit on the node that holds. */
static void judge_nothing(const struct judge_input *input, struct verdicts *verdicts)
{
	for (size_t r = 0; r < input->count; r++)
		for (size_t i = 0; i < input->results[r].case_count; i++)
			if (input->results[r].cases[i].status != CASE_SKIPPED)
				return;
	if (input->count)
		judging_finding(verdicts, &input->results[0], NULL, NULL, ASPECT_NONE, VERDICT_FAIL,
				false, xstrdup("nothing was measured"));
}

/* A node that gave no whole result is never accepted, whatever the others measured. */
static void judge_nodes(const struct result *result, struct verdicts *verdicts)
{
	bool *told = xcalloc(result->node_count + 1, sizeof(*told));

	for (size_t i = 0; i < result->node_count; i++) {
		const struct result_node *node = &result->nodes[i];
		size_t count = 0;
		char *names;

		if (node->status == NODE_OK || told[i])
			continue;
		names = result_nodes_ended_alike(result, i, told, &count);
		judging_finding(verdicts, result, NULL, NULL, ASPECT_NONE, VERDICT_ERROR, false,
				xasprintf("node%s %s %s %s%s%s: %s", count == 1 ? "" : "s", names,
					  count == 1 ? "is" : "are", node_status_name(node->status),
					  *node->lost_at ? " at " : "", node->lost_at,
					  node->reason));
		free(names);
	}
	free(told);
}

void judge_run(const struct judge_input *input, struct verdicts *verdicts)
{
	judge_health(input, verdicts);
	judge_nothing(input, verdicts);
	for (size_t r = 0; r < input->count; r++) {
		const struct result *result = &input->results[r];

		for (size_t i = 0; i < result->case_count; i++)
			judge_case(result, &result->cases[i], verdicts);
		judge_fault_counters(result, verdicts);
		judge_end(result, verdicts);
		judge_nodes(result, verdicts);
	}
}

static bool is_told(const struct verdicts *verdicts, const char *case_id)
{
	for (size_t i = 0; i < verdicts->count; i++)
		if (verdicts->checks[i].verdict == VERDICT_ERROR &&
		    strcmp(verdicts->checks[i].case_id, case_id) == 0)
			return true;
	return false;
}

/* Cases without an error whose results were never verified, and that no limit reported. */
static void judge_unverified(const struct result *result, struct verdicts *verdicts)
{
	const struct case_result *first = NULL;
	size_t count = 0;

	for (size_t i = 0; i < result->case_count; i++) {
		const struct case_result *c = &result->cases[i];

		if (c->status != CASE_OK || case_is_verified(c) || is_told(verdicts, c->id))
			continue;
		first = first ? first : c;
		count++;
	}
	if (count)
		judging_finding(verdicts, result, first, NULL, ASPECT_CORRECTNESS, VERDICT_ERROR,
				false,
				xasprintf("the result of this case%s was never verified",
					  count > 1 ? " and of others" : ""));
}

/* A device error, a hang or a crash: nothing that the config or a missing ability explains. */
static bool is_lost_with_device(const struct case_result *c)
{
	return c->status == CASE_ERROR &&
	       (c->end == CASE_END_DEVICE || c->end == CASE_END_HUNG || c->end == CASE_END_CRASHED);
}

/* One case may be at fault itself, several different ones are not. */
#define UNUSABLE_CASES 2

/* A device on which nothing worked, though it was tried. Cases of several devices do not count. */
static void judge_unusable(const struct result *result, struct verdicts *verdicts)
{
	for (size_t d = 0; d < result->device_count; d++) {
		const char *id = result->devices[d].id, *reason = NULL;
		size_t lost = 0, others = 0;
		struct verdict_check *check;

		for (size_t i = 0; i < result->case_count; i++) {
			const struct case_result *c = &result->cases[i];

			if (c->device_count != 1 || strcmp(c->device, id) != 0 ||
			    c->status == CASE_SKIPPED)
				continue;
			if (is_lost_with_device(c)) {
				lost++;
				reason = reason ? reason : c->reason;
			} else {
				others++;
			}
		}
		if (others || lost < UNUSABLE_CASES)
			continue;
		check = judging_finding(verdicts, result, NULL, id, ASPECT_NONE, VERDICT_FAIL,
					false,
					xasprintf("all %zu cases on this device failed; the first: "
						  "%s",
						  lost, reason));
		check->cause = CAUSE_GPU_UNUSABLE;
	}
}

/* A crash is a finding about the machine even without a limit. */
void judge_errors(const struct judge_input *input, struct verdicts *verdicts)
{
	for (size_t r = 0; r < input->count; r++) {
		const struct result *result = &input->results[r];

		judge_unverified(result, verdicts);
		judge_unusable(result, verdicts);
		for (size_t i = 0; i < result->case_count; i++) {
			const struct case_result *c = &result->cases[i];

			if (c->status == CASE_ERROR && !is_told(verdicts, c->id))
				judging_finding(verdicts, result, c, NULL, ASPECT_NONE,
						VERDICT_ERROR, false,
						xasprintf("the case ended in an error: %s",
							  c->reason));
		}
	}
}
