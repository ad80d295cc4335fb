#include "cli/run/run_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/command.h"
#include "cli/input/population_file.h"
#include "plan/resolve.h"
#include "run/workers/describe.h"

static enum status run_check_find_limits(struct run_check *check, const struct config *config,
					 const char *model, struct text *errors)
{
	const struct setting *verdict =
		setting_or_null(config_section(config, "run", ""), "verdict");

	if (check->limits_source)
		return limits_load(&check->limits, check->limits_source, errors);
	limits_of_config(&check->limits, config);
	if (check->limits.count || (verdict && strcmp(verdict->values[0].text, "trend") == 0))
		return STATUS_OK;
	limits_release(&check->limits);
	return limits_of_model(&check->limits, model, errors);
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
		if (!limits_make_sense(&check->limits, &planned, &errors))
			status = STATUS_USAGE;
		result_release(&planned);
	}
	command_print_errors(&errors);
	return status == STATUS_OK ? population_open(&check->population, NULL) : status;
}

void run_check_judge_so_far(const struct run_check *check, struct result *result)
{
	const struct judge_input input = { .results = result,
					   .count = 1,
					   .baseline = check->baseline.items,
					   .baseline_count = check->baseline.count,
					   .limits = &check->limits,
					   .population = &check->population };

	struct verdicts verdicts = { .strict = check->strict };

	judge_results(&input, &verdicts);
	verdicts_finish(&verdicts);
	result_judge(result, &verdicts);
}

/* Context of plan_subset(). */
struct undecided {
	const struct verdicts *verdicts;
	enum run_stage extended;
};

/* True if more launches may decide the case. */
static bool is_undecided(const void *context, const struct plan_case *c)
{
	const struct undecided *u = context;

	return (!u->extended || c->stage > u->extended) &&
	       judge_wants_more(u->verdicts, c->id, c->point);
}

struct plan run_check_undecided(const struct run_check *check, const struct plan *plan,
				const struct result *result)
{
	const struct undecided undecided = { result->judgement, check->extended };

	return plan_subset(plan, is_undecided, &undecided);
}

/* Writes the result with its judgement, even if the run was stopped. */
static enum status run_write_judged_result(const struct result *result, const char *directory,
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
		status = launches_extend(&launches, &part, result, err);
		if (status == STATUS_OK)
			run_check_judge_so_far(check, result);
	}
	launches_release(&launches);
	free(part.cases);
	return run_write_judged_result(result, options->directory, status, err);
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
		    !limits_make_sense(&check->limits, result, &errors))
			status = STATUS_USAGE;
		if (status == STATUS_OK)
			status = population_open(&check->population, NULL);
	}
	if (status != STATUS_OK)
		error_set(err, status, "cannot apply the limits: %s",
			  errors.data ? errors.data : "");
	text_release(&errors);
	if (status != STATUS_OK)
		return status;
	run_check_judge_so_far(check, result);
	return run_write_judged_result(result, directory, STATUS_OK, err);
}

void run_check_release(struct run_check *check)
{
	limits_release(&check->limits);
	result_list_release(&check->baseline);
	population_release(&check->population);
}
