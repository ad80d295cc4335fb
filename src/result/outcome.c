#include "result/outcome.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "result/verdict.h"

size_t result_outcome_count(const struct result *result, enum case_status status)
{
	size_t n = 0;

	for (size_t i = 0; i < result->case_count; i++)
		n += result->cases[i].status == status;
	return n;
}

size_t result_outcome_lost_workers(const struct result *result)
{
	size_t n = 0;

	for (size_t i = 0; i < result->case_count; i++)
		n += result->cases[i].lost_count;
	return n;
}

size_t result_outcome_not_run(const struct result *result)
{
	return result->planned > result->case_count ? result->planned - result->case_count : 0;
}

/* True if a case is missing or ended in an error, or a device, node or worker was lost. */
static bool result_outcome_is_incomplete(const struct result *result)
{
	return result_outcome_count(result, CASE_ERROR) || result_outcome_not_run(result) ||
	       result_lost_devices(result) || result_lost_nodes(result) ||
	       result_outcome_lost_workers(result);
}

bool result_outcome_measured_nothing(const struct result *result)
{
	return result->case_count &&
	       result_outcome_count(result, CASE_SKIPPED) == result->case_count;
}

uint64_t result_outcome_memory_errors(const struct result *result)
{
	uint64_t errors = 0;

	for (size_t d = 0; d < result->device_count; d++) {
		int64_t first = -1, last = -1;

		for (size_t i = 0; i < result->case_count; i++) {
			const struct case_result *c = &result->cases[i];
			const int64_t seen[] = { c->before.ecc_uncorrected,
						 c->after.ecc_uncorrected };

			for (size_t k = 0;
			     k < 2 && c->device && strcmp(c->device, result->devices[d].id) == 0;
			     k++) {
				first = first < 0 ? seen[k] : first;
				last = seen[k] > last ? seen[k] : last;
			}
		}
		errors += first >= 0 && last > first ? (uint64_t)(last - first) : 0;
	}
	/* The readings before and after a case cover only the first of its watched devices. */
	for (size_t i = 0; i < result->case_count; i++)
		for (size_t w = 1; w < result->cases[i].watch_count; w++)
			errors += (uint64_t)watch_counter_growth(&result->cases[i].watches[w],
								 "ecc_uncorrected");
	return errors;
}

int result_outcome_exit_code(const struct result *result)
{
	int verdict = result->judgement ? verdicts_exit_code(result->judgement) : 0;

	if (verdict == 5 || result_outcome_count(result, CASE_FAILED) ||
	    result_outcome_memory_errors(result))
		return 5;
	if (verdict)
		return verdict;
	return result_outcome_is_incomplete(result) || result_outcome_measured_nothing(result) ? 4
											       : 0;
}

bool result_outcome_case_is_wrong(const struct case_result *c)
{
	const struct verification *v = &c->verification;

	return c->status == CASE_FAILED ||
	       (c->status == CASE_OK && v->done && v->error > v->tolerance);
}

bool result_outcome_case_is_verified(const struct case_result *c)
{
	return c->verification.done;
}

char *result_outcome_case_common_reason(const struct case_result *c)
{
	const char *reason = c->reason ? c->reason : "", *device = c->device ? c->device : "";
	const char *found;
	size_t length = strlen(device);
	struct text out = TEXT_EMPTY;

	while (length > 0 && (found = strstr(reason, device))) {
		bool whole = !isdigit((unsigned char)found[length]);

		text_add_bytes(&out, reason, (size_t)(found - reason));
		text_add(&out, whole ? "the device" : device);
		reason = found + length;
	}
	text_add(&out, reason);
	return text_detach(&out);
}

bool result_outcome_plans_stage(const struct result *result, enum run_stage stage)
{
	bool any = false;

	for (size_t i = 0; i < result->setting_count; i++) {
		const struct result_setting *s = &result->settings[i];

		if (strcmp(s->key, "stage") != 0 || strncmp(s->section, "suite ", 6) != 0 ||
		    strcmp(s->value, run_stage_names[RUN_STAGE_NONE]) == 0)
			continue;
		/* Findings of doctor come before any of them. */
		any = any || stage == RUN_STAGE_SANITY ||
		      strcmp(s->value, run_stage_names[stage]) == 0;
	}
	return any;
}

enum run_stage result_outcome_ended_after(const struct result *result)
{
	enum run_stage last = RUN_STAGE_SANITY;

	if (!result->state || strcmp(result->state, "incomplete") != 0 ||
	    result->planned <= result->case_count ||
	    !result_outcome_plans_stage(result, RUN_STAGE_SANITY))
		return RUN_STAGE_NONE;
	for (size_t i = 0; i < result->case_count; i++)
		if (result->cases[i].stage > last)
			last = result->cases[i].stage;
	for (int later = last + 1; later < RUN_STAGE_COUNT; later++)
		if (result_outcome_plans_stage(result, (enum run_stage)later))
			return last;
	return RUN_STAGE_NONE;
}
