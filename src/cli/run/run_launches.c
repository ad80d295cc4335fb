#include "cli/run/run_launches.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "judge/estimate/pool.h"
#include "measure/processes/signals.h"
#include "run/journal.h"

char *launch_directory(const char *directory, size_t launch)
{
	return launch == 1 ? xstrdup(directory) : xasprintf("%s/launch-%zu", directory, launch);
}

bool launch_begun(const char *directory)
{
	char *path = xasprintf("%s/" JOURNAL_NAME, directory);
	bool found = access(path, F_OK) == 0;

	free(path);
	return found;
}

enum status launches_add(struct launches *launches, const struct plan *plan,
			 const struct probe *probe, const struct conduct_options *options,
			 size_t launch, struct error *err)
{
	char *directory;
	struct conduct_options one = *options;
	enum status status;

	/* Between two launches no other code checks. */
	if (signals_stops()) {
		launches->stopped = true;
		if (options->stopped_by)
			*options->stopped_by = signals_last_stop();
		return error_set(err, STATUS_INTERRUPTED, "interrupted");
	}
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

enum status launches_run(struct launches *launches, const struct plan *plan,
			 const struct probe *probe, const struct conduct_options *options,
			 size_t count, struct error *err)
{
	if (options->status)
		options->status->launches = count;
	for (size_t launch = launches->count + 1; launch <= count; launch++) {
		if (count > 1 && !options->quiet && !signals_stops())
			fprintf(stderr, "gpuproof: launch %zu of %zu\n", launch, count);
		if (launches_add(launches, plan, probe, options, launch, err) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
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

void launches_release(struct launches *launches)
{
	for (size_t i = 0; i < launches->count; i++)
		result_release(&launches->items[i]);
	free(launches->items);
	memset(launches, 0, sizeof(*launches));
}
