#include "cli/run/run_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/input/population_file.h"
#include "judge/estimate/pool.h"
#include "plan/resolve.h"
#include "run/workers/describe.h"

static enum status run_check_find_limits(struct run_check *check, const struct config *config,
					 const char *model, struct text *errors)
{
	const struct setting *verdict =
		resolve_setting_or_null(config_section(config, "run", ""), "verdict");

	if (check->limits_source)
		return judge_limits_load(&check->limits, check->limits_source, errors);
	judge_limits_of_config(&check->limits, config);
	if (check->limits.count || (verdict && strcmp(verdict->values[0].text, "trend") == 0))
		return STATUS_OK;
	judge_limits_release(&check->limits);
	return judge_limits_of_model(&check->limits, model, errors);
}

enum status run_check_prepare(struct run_check *check, const struct plan *plan)
{
	struct text errors = TEXT_EMPTY;
	struct result planned;
	enum status status =
		run_check_find_limits(check, plan->config, plan->devices[0].name, &errors);

	if (status == STATUS_OK) {
		/* A result with the plan's cases but no values yet. */
		memset(&planned, 0, sizeof(planned));
		planned.devices = xcalloc(plan->device_count + 1, sizeof(*planned.devices));
		planned.device_count = plan->device_count;
		if (plan->device_count)
			memcpy(planned.devices, plan->devices,
			       plan->device_count * sizeof(*plan->devices));
		for (size_t i = 0; i < plan->case_count; i++)
			describe_case(plan, &plan->cases[i], result_add_case(&planned));
		if (!judge_limits_make_sense(&check->limits, &planned, &errors))
			status = STATUS_USAGE;
		result_release(&planned);
	}
	cli_command_print_errors(&errors);
	return status == STATUS_OK ? population_file_open(&check->population, NULL) : status;
}

/* Judges what has been measured, without further launches. */
static void run_check_judge_so_far(const struct run_check *check, struct result *result)
{
	const struct judge_input input = { .results = result,
					   .count = 1,
					   .baseline = check->baseline.items,
					   .baseline_count = check->baseline.count,
					   .limits = &check->limits,
					   .population = &check->population };

	struct verdicts verdicts = { .strict = check->strict };

	judge_machine_results(&input, &verdicts);
	verdicts_finish(&verdicts);
	result_judge(result, &verdicts);
}

/* Context of plan_subset(). */
struct undecided {
	const struct verdicts *verdicts;
	enum run_stage extended;
};

/* True if more launches may decide the case. */
static bool run_check_is_undecided(const void *context, const struct plan_case *c)
{
	const struct undecided *u = context;

	return (!u->extended || c->stage > u->extended) &&
	       judge_wants_more(u->verdicts, c->id, c->point);
}

/* The cases that further launches may decide, as plan_subset(); of stages after check->extended. */
static struct plan run_check_undecided(const struct run_check *check, const struct plan *plan,
				       const struct result *result)
{
	const struct undecided undecided = { result->judgement, check->extended };

	return plan_subset(plan, run_check_is_undecided, &undecided);
}

/* Writes the result with its judgement, even if the run was stopped. */
static enum status run_check_write_judged_result(const struct result *result, const char *directory,
						 enum status status, struct error *err)
{
	struct error unwritten = ERROR_NONE;
	enum status written =
		result_write_to(result, directory, status == STATUS_OK ? err : &unwritten);

	error_clear(&unwritten);
	return status == STATUS_OK ? written : status;
}

enum status run_check_judge(const struct run_check *check, const struct run_setup *setup,
			    const struct conduct_options *options, struct result *result,
			    struct error *err)
{
	struct launches launches = { .setup = setup, .options = options };
	enum status status = STATUS_OK;
	struct plan part;

	run_check_judge_so_far(check, result);
	/* Each case alone: a shared resource must not reject a value. */
	part = run_check_undecided(check, &setup->plan, result);
	if (part.case_count) {
		status = run_launches_extend(&launches, &part, result, err);
		if (status == STATUS_OK)
			run_check_judge_so_far(check, result);
	}
	run_launches_release(&launches);
	free(part.cases);
	return run_check_write_judged_result(result, options->directory, status, err);
}

enum status run_check_nodes(struct run_check *check, const struct config *config,
			    const char *directory, struct result *result, struct error *err)
{
	struct text errors = TEXT_EMPTY;
	enum status status = STATUS_OK;

	if (!check->limits.count) {
		status = run_check_find_limits(check, config,
					       result->device_count ? result->devices[0].name : "",
					       &errors);
		if (status == STATUS_OK && result->device_count &&
		    !judge_limits_make_sense(&check->limits, result, &errors))
			status = STATUS_USAGE;
		if (status == STATUS_OK)
			status = population_file_open(&check->population, NULL);
	}
	if (status != STATUS_OK)
		error_set(err, status, "cannot judge the run by its limits: %s",
			  errors.data ? errors.data : "");
	text_release(&errors);
	if (status != STATUS_OK)
		return status;
	run_check_judge_so_far(check, result);
	return run_check_write_judged_result(result, directory, STATUS_OK, err);
}

/* A run in stages: what its steps share. */
struct staged {
	struct run_check *check;
	const struct plan *plan;
	struct launches *launches;
	bool begun; /* the journal is there */
};

static bool run_check_stage_is_planned(const struct plan *plan, enum run_stage stage)
{
	for (size_t i = 0; i < plan->case_count; i++)
		if (plan->cases[i].stage == stage)
			return true;
	return false;
}

bool run_check_has_stages(const struct plan *plan)
{
	bool any = false;

	for (int stage = RUN_STAGE_RATES; stage < RUN_STAGE_COUNT; stage++)
		any = any || run_check_stage_is_planned(plan, (enum run_stage)stage);
	return any && !run_launches_auto(plan) && run_launches_least(plan) == 1;
}

/* Measures the cases up to `stage` that are left; launches->items[0] is then the run so far. */
static enum status run_check_stage_conduct(struct staged *s, enum run_stage stage,
					   struct error *err)
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
static enum status run_check_stage_judge(struct staged *s, enum run_stage stage, bool *rejects,
					 struct error *err)
{
	struct launches *all = s->launches;
	const struct verdicts *v;
	struct plan part;
	enum status status = STATUS_OK;
	size_t before = all->count;

	if (before > 1)
		estimate_pool_launches(&all->items[0], 1, all->items + 1, before - 1);
	else
		estimate_pool_settle(&all->items[0]);
	run_check_judge_so_far(s->check, &all->items[0]);
	part = run_check_undecided(s->check, s->plan, &all->items[0]);
	if (part.case_count) {
		status = run_launches_extend(all, &part, NULL, err);
		if (status == STATUS_OK) {
			estimate_pool_launches(&all->items[0], before, all->items + before,
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
static char *run_check_stages_after(const struct plan *plan, enum run_stage stage)
{
	struct text out = TEXT_EMPTY;

	for (int later = stage + 1; later < RUN_STAGE_COUNT; later++)
		if (run_check_stage_is_planned(plan, (enum run_stage)later))
			text_addf(&out, "%s%s", out.length ? " and " : "", run_stage_names[later]);
	return text_detach(&out);
}

static void run_check_stages_end(struct staged *s, enum run_stage stage, const char *why)
{
	struct result *result = &s->launches->items[0];
	char *later = run_check_stages_after(s->plan, stage);

	free(result->state);
	result->state = xstrdup("incomplete");
	s->launches->pooled = true;
	fprintf(stderr,
		"gpuproof: the run ends, because stage %s rejects the node: %s. Stages that were "
		"not run: %s\n",
		run_stage_names[stage], why, later);
	free(later);
}

/* The finding that makes measuring useless; NULL: none. Warnings are printed. */
static const struct finding *run_check_sanity_rejection(const struct staged *s,
							const struct health *health)
{
	const struct finding *error = NULL, *list = health->items;

	for (size_t i = 0; i < health->count; i++) {
		bool of_run = false;

		for (size_t d = 0; d < s->plan->device_count; d++)
			of_run = of_run || strcmp(list[i].device, s->plan->devices[d].id) == 0;
		if (list[i].severity < SEVERITY_WARNING || !of_run)
			continue;
		if (!s->launches->options->quiet)
			fprintf(stderr, "gpuproof: found before the run: %s: %s\n", list[i].subject,
				list[i].text);
		if (list[i].severity == SEVERITY_ERROR && !error)
			error = &list[i];
	}
	return error;
}

enum status run_check_stages(struct run_check *check, struct launches *launches,
			     const struct health *health, struct error *err)
{
	const struct plan *plan = &launches->setup->plan;
	struct staged s = { check, plan, launches, false };
	const struct finding *error = run_check_sanity_rejection(&s, health);
	enum status status = STATUS_OK;
	bool rejects = false;

	if (error) {
		status = run_check_stage_conduct(&s, RUN_STAGE_SANITY, err);
		if (status == STATUS_OK)
			run_check_stages_end(&s, RUN_STAGE_SANITY, error->text);
		return status;
	}
	for (int i = RUN_STAGE_RATES; i < RUN_STAGE_COUNT && status == STATUS_OK && !rejects; i++) {
		enum run_stage stage = (enum run_stage)i;
		char *later = run_check_stages_after(plan, stage);

		if (run_check_stage_is_planned(plan, stage)) {
			if (!launches->options->quiet)
				fprintf(stderr, "gpuproof: stage %s\n", run_stage_names[stage]);
			status = run_check_stage_conduct(&s, stage, err);
			if (status == STATUS_OK && *later)
				status = run_check_stage_judge(&s, stage, &rejects, err);
			if (status == STATUS_OK && rejects) {
				const struct verdicts *v = launches->items[0].judgement;

				run_check_stages_end(&s, stage,
						     v->reason_count ? v->reasons[0].headline : "");
			}
		}
		free(later);
	}
	return status;
}

void run_check_release(struct run_check *check)
{
	judge_limits_release(&check->limits);
	result_list_release(&check->baseline);
	population_release(&check->population);
}
