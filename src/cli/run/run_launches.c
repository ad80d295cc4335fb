#include "cli/run/run_launches.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "judge/estimate/pool.h"
#include "measure/processes/signals.h"
#include "plan/schema.h"
#include "run/journal.h"

char *launch_directory(const char *directory, size_t launch)
{
	return launch == 1 ? xstrdup(directory) : xasprintf("%s/launch-%zu", directory, launch);
}

bool launch_begun(const char *directory)
{
	struct error why = ERROR_NONE;

	return journal_vacant(directory, &why) != STATUS_OK;
}

enum status launches_add(struct launches *launches, const struct plan *plan,
			 const struct probe *probe, const struct conduct_options *options,
			 size_t launch, struct error *err)
{
	char *directory, number[24];
	struct conduct_options one = *options;
	enum status status;

	/* Between two launches no other code checks. */
	if (signals_stops()) {
		launches->stopped = true;
		if (options->stopped_by)
			*options->stopped_by = signals_last_stop();
		return error_set(err, STATUS_INTERRUPTED, "interrupted");
	}
	snprintf(number, sizeof(number), "%zu", launch);
	setenv(LAUNCH_VARIABLE, number, 1);
	directory = launch_directory(options->directory, launch);
	one.directory = directory;
	if (options->status) {
		options->status->launch = launch;
		if (options->status->launches < launch)
			options->status->launches = launch;
	}
	one.resume = options->resume && (launch == 1 || launch_begun(directory));
	ARRAY_GROW(launches->items, launches->count, launches->capacity);
	status = conduct(plan, probe, &one, &launches->items[launches->count], err);
	/* Nothing was begun: there is nothing to keep. */
	if (launches->items[launches->count].gpuproof_version)
		launches->count++;
	free(directory);
	return status;
}

static int64_t run_integer(const struct plan *plan, const char *key)
{
	return section_integer(config_section(plan->config, "run", ""), key);
}

bool launches_auto(const struct plan *plan)
{
	return run_integer(plan, "launches") == 0;
}

size_t launches_least(const struct plan *plan)
{
	return launches_auto(plan) ? LAUNCHES_AUTO_LEAST : (size_t)run_integer(plan, "launches");
}

/* How often launches = auto carries each of the plan's cases out; the first ones tell. */
static size_t *launches_needed(const struct launches *launches, const struct plan *plan,
			       size_t *most, bool quiet)
{
	const struct section *run = config_section(plan->config, "run", "");
	size_t limit = (size_t)section_integer(run, "launches_most"), cut = 0;
	size_t *needed = xcalloc(plan->case_count + 1, sizeof(*needed));

	*most = 0;
	for (size_t i = 0; i < plan->case_count; i++) {
		if (!plan->cases[i].skip_reason)
			needed[i] = pool_launches_needed(launches->items, LAUNCHES_AUTO_LEAST,
							 plan->cases[i].id,
							 section_real(run, "launch_target"));
		cut += needed[i] > limit;
		needed[i] = needed[i] > limit ? limit : needed[i];
		*most = needed[i] > *most ? needed[i] : *most;
	}
	if (cut && !quiet)
		fprintf(stderr,
			"gpuproof: %zu case%s more than launches_most = %zu to be known to %s\n",
			cut, cut == 1 ? " needs" : "s need", limit,
			section_text(run, "launch_target"));
	return needed;
}

/* One more launch of the cases that need it; borrows everything from `plan` but the array. */
static enum status add_part(struct launches *launches, const struct plan *plan,
			    const size_t *needed, size_t most, const struct probe *probe,
			    const struct conduct_options *options, struct error *err)
{
	struct plan part = *plan;
	size_t launch = launches->count + 1;
	enum status status;

	part.cases = xcalloc(plan->case_count + 1, sizeof(*part.cases));
	part.case_count = 0;
	for (size_t i = 0; i < plan->case_count; i++) {
		if (needed[i] < launch)
			continue;
		part.cases[part.case_count] = plan->cases[i];
		part.cases[part.case_count].index = part.case_count;
		part.case_count++;
	}
	if (!options->quiet && !signals_stops())
		fprintf(stderr, "gpuproof: launch %zu of %zu, of %zu of %zu cases\n", launch, most,
			part.case_count, plan->case_count);
	status = launches_add(launches, &part, probe, options, launch, err);
	free(part.cases);
	return status;
}

static enum status add_needed(struct launches *launches, const struct plan *plan,
			      const struct probe *probe, const struct conduct_options *options,
			      struct error *err)
{
	size_t most;
	size_t *needed = launches_needed(launches, plan, &most, options->quiet);
	enum status status = STATUS_OK;

	if (options->status)
		options->status->launches = most;
	while (launches->count < most && status == STATUS_OK)
		status = add_part(launches, plan, needed, most, probe, options, err);
	free(needed);
	return status;
}

enum status launches_run(struct launches *launches, const struct plan *plan,
			 const struct probe *probe, const struct conduct_options *options,
			 struct error *err)
{
	size_t count = launches_least(plan);

	if (options->status)
		options->status->launches = count;
	for (size_t launch = launches->count + 1; launch <= count; launch++) {
		if (count > 1 && !options->quiet && !signals_stops())
			fprintf(stderr, "gpuproof: launch %zu of %zu%s\n", launch, count,
				launches_auto(plan) ? " or more" : "");
		if (launches_add(launches, plan, probe, options, launch, err) != STATUS_OK)
			return err->status;
	}
	return launches_auto(plan) ? add_needed(launches, plan, probe, options, err) : STATUS_OK;
}

static void set_state(struct result *result, const char *state)
{
	free(result->state);
	result->state = xstrdup(state);
}

/*
 * A further launch that was not finished says nothing about the others; the run as a whole then is
 * not finished.
 */
static size_t complete_ones(const struct launches *launches, struct result *result)
{
	for (size_t i = 1; i < launches->count; i++) {
		if (strcmp(launches->items[i].state, "complete") == 0)
			continue;
		set_state(result, launches->items[i].state);
		return i;
	}
	if (launches->stopped && strcmp(result->state, "complete") == 0)
		set_state(result, "interrupted");
	return launches->count;
}

enum status launches_pool(struct launches *launches, const char *directory, struct result *result,
			  struct error *err)
{
	enum status status = STATUS_OK;
	size_t count = launches->count;
	char *path;

	memset(result, 0, sizeof(*result));
	if (!launches->count)
		return STATUS_OK;
	*result = launches->items[0];
	memset(&launches->items[0], 0, sizeof(launches->items[0]));
	if (count > 1 || launches->stopped) {
		pool_launches(result, 1, launches->items + 1, complete_ones(launches, result) - 1);
		path = xasprintf("%s/result.json", directory);
		status = result_write(result, path, err);
		free(path);
	}
	launches_release(launches);
	return status;
}

/* The first launch number whose directory does not exist yet. */
static size_t free_launch(const char *directory)
{
	for (size_t launch = 2;; launch++) {
		char *path = launch_directory(directory, launch);
		bool found = access(path, F_OK) == 0;

		free(path);
		if (!found)
			return launch;
	}
}

enum status launches_extend(const struct plan *part, const struct probe *probe,
			    const struct conduct_options *options, struct result *result,
			    struct error *err)
{
	struct launches launches = { 0 };
	struct conduct_options more = *options;
	size_t before = free_launch(options->directory) - 1;
	enum status status = STATUS_OK;

	more.resume = false;
	if (!options->quiet)
		fprintf(stderr,
			"gpuproof: %zu case%s not decided by one launch: %d more launches\n",
			part->case_count, part->case_count == 1 ? " is" : "s are",
			LAUNCHES_EXTENSION);
	for (int i = 0; i < LAUNCHES_EXTENSION && status == STATUS_OK; i++)
		status = launches_add(&launches, part, probe, &more,
				      free_launch(options->directory), err);
	if (status == STATUS_OK)
		pool_launches(result, before, launches.items, launches.count);
	launches_release(&launches);
	return status;
}

void launches_release(struct launches *launches)
{
	for (size_t i = 0; i < launches->count; i++)
		result_release(&launches->items[i]);
	free(launches->items);
	memset(launches, 0, sizeof(*launches));
}
