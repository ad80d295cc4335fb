#include "cli/run/run_stages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "judge/estimate/pool.h"

/* A run in stages: what its steps share. */
struct staged {
	struct run_check *check;
	const struct plan *plan;
	struct launches *launches;
	bool begun; /* the journal is there */
};

static bool stage_is_planned(const struct plan *plan, enum run_stage stage)
{
	for (size_t i = 0; i < plan->case_count; i++)
		if (plan->cases[i].stage == stage)
			return true;
	return false;
}

bool stages_apply(const struct plan *plan)
{
	bool any = false;

	for (int stage = RUN_STAGE_RATES; stage < RUN_STAGE_COUNT; stage++)
		any = any || stage_is_planned(plan, (enum run_stage)stage);
	return any && !launches_auto(plan) && launches_least(plan) == 1;
}

/* Measures the cases up to `stage` that are left; launches->items[0] is then the run so far. */
static enum status stage_conduct(struct staged *s, enum run_stage stage, struct error *err)
{
	struct launches *all = s->launches;
	struct conduct_options options = *all->options;
	struct launches one = { .setup = all->setup, .options = &options };
	enum status status;

	options.last_stage = stage;
	options.goes_on = s->begun;
	options.resume = s->begun || options.resume;
	status = launches_run(&one, s->plan, 1, 1, err);
	all->stopped = all->stopped || one.stopped;
	if (one.count) {
		s->begun = true;
		if (!all->count) {
			ARRAY_GROW(all->items, all->count, all->capacity);
			all->count = 1;
		} else {
			result_release(&all->items[0]);
		}
		all->items[0] = one.items[0];
	}
	free(one.items);
	return status;
}

/* Pools and judges the run so far; repeats what one launch does not decide, once. */
static enum status stage_judge(struct staged *s, enum run_stage stage, bool *rejects,
			       struct error *err)
{
	struct launches *all = s->launches;
	const struct verdicts *v;
	struct plan part;
	enum status status = STATUS_OK;
	size_t before = all->count;

	if (before > 1)
		pool_launches(&all->items[0], 1, all->items + 1, before - 1);
	else
		pool_settle(&all->items[0]);
	run_check_judge_so_far(s->check, &all->items[0]);
	part = run_check_undecided(s->check, s->plan, &all->items[0]);
	if (part.case_count) {
		status = launches_extend(all, &part, NULL, err);
		if (status == STATUS_OK) {
			pool_launches(&all->items[0], before, all->items + before,
				      all->count - before);
			run_check_judge_so_far(s->check, &all->items[0]);
		}
	}
	free(part.cases);
	s->check->extended = stage;
	/* Missing cases of later stages do not reject the node. */
	v = all->items[0].judgement;
	for (size_t i = 0; i < v->count; i++)
		*rejects = *rejects || (v->checks[i].verdict == VERDICT_FAIL &&
					(*v->checks[i].case_id || *v->checks[i].devices));
	return status;
}

/* "together and soak" */
static char *stages_after(const struct plan *plan, enum run_stage stage)
{
	struct text out = TEXT_EMPTY;

	for (int later = stage + 1; later < RUN_STAGE_COUNT; later++)
		if (stage_is_planned(plan, (enum run_stage)later))
			text_addf(&out, "%s%s", out.length ? " and " : "", run_stage_names[later]);
	return text_detach(&out);
}

static void stages_end(struct staged *s, enum run_stage stage, const char *why)
{
	struct result *result = &s->launches->items[0];
	char *later = stages_after(s->plan, stage);

	free(result->state);
	result->state = xstrdup("incomplete");
	s->launches->pooled = true;
	fprintf(stderr, "gpuproof: stage %s rejects the node: %s. Not run: %s\n",
		run_stage_names[stage], why, later);
	free(later);
}

/* The finding that makes measuring useless; NULL: none. Warnings are printed. */
static const struct finding *sanity_rejection(const struct staged *s, const struct health *health)
{
	const struct finding *error = NULL, *list = health->items;

	for (size_t i = 0; i < health->count; i++) {
		bool of_run = false;

		for (size_t d = 0; d < s->plan->device_count; d++)
			of_run = of_run || strcmp(list[i].device, s->plan->devices[d].id) == 0;
		if (list[i].severity < SEVERITY_WARNING || !of_run)
			continue;
		if (!s->launches->options->quiet)
			fprintf(stderr, "gpuproof: before the run, %s: %s\n", list[i].subject,
				list[i].text);
		if (list[i].severity == SEVERITY_ERROR && !error)
			error = &list[i];
	}
	return error;
}

enum status stages_run(struct run_check *check, struct launches *launches,
		       const struct health *health, struct error *err)
{
	const struct plan *plan = &launches->setup->plan;
	struct staged s = { check, plan, launches, false };
	const struct finding *error = sanity_rejection(&s, health);
	enum status status = STATUS_OK;
	bool rejects = false;

	if (error) {
		status = stage_conduct(&s, RUN_STAGE_SANITY, err);
		if (status == STATUS_OK)
			stages_end(&s, RUN_STAGE_SANITY, error->text);
		return status;
	}
	for (int i = RUN_STAGE_RATES; i < RUN_STAGE_COUNT && status == STATUS_OK && !rejects; i++) {
		enum run_stage stage = (enum run_stage)i;
		char *later = stages_after(plan, stage);

		if (stage_is_planned(plan, stage)) {
			if (!launches->options->quiet)
				fprintf(stderr, "gpuproof: stage %s\n", run_stage_names[stage]);
			status = stage_conduct(&s, stage, err);
			if (status == STATUS_OK && *later)
				status = stage_judge(&s, stage, &rejects, err);
			if (status == STATUS_OK && rejects) {
				const struct verdicts *v = launches->items[0].judgement;

				stages_end(&s, stage,
					   v->reason_count ? v->reasons[0].headline : "");
			}
		}
		free(later);
	}
	return status;
}
