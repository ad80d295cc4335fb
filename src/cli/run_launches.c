#include "cli/run_launches.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "judge/pool.h"
#include "measure/journal.h"

char *launch_directory(const char *directory, size_t launch)
{
	return launch == 1 ? xstrdup(directory) : xasprintf("%s/launch-%zu", directory, launch);
}

static bool has_run(const char *directory)
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
	char *directory = launch_directory(options->directory, launch);
	struct conduct_options one = *options;
	enum status status;

	one.directory = directory;
	one.resume = options->resume && (launch == 1 || has_run(directory));
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
	for (size_t launch = launches->count + 1; launch <= count; launch++) {
		if (count > 1 && !options->quiet)
			fprintf(stderr, "gpuproof: launch %zu of %zu\n", launch, count);
		if (launches_add(launches, plan, probe, options, launch, err) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

/* A further launch that was not finished says nothing about the others; the run as a whole then is not finished. */
static size_t complete_ones(const struct launches *launches, struct result *result)
{
	for (size_t i = 0; i < launches->count; i++) {
		if (i == 0 || strcmp(launches->items[i].state, "complete") == 0)
			continue;
		free(result->state);
		result->state = xstrdup(launches->items[i].state);
		return i;
	}
	return launches->count;
}

enum status launches_pool(struct launches *launches, const char *directory, struct result *result,
			  struct error *err)
{
	enum status status = STATUS_OK;
	size_t count;
	char *path;

	memset(result, 0, sizeof(*result));
	if (!launches->count)
		return STATUS_OK;
	*result = launches->items[0];
	memset(&launches->items[0], 0, sizeof(launches->items[0]));
	if (launches->count > 1) {
		count = complete_ones(launches, result);
		pool_launches(result, 1, launches->items + 1, count - 1);
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
