#include "cli/run/run_left.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/run/run_launches.h"
#include "run/journal.h"

static void count(struct run_left *left, const struct plan *plan, const bool *done)
{
	left->planned += plan->case_count;
	for (size_t i = 0; i < plan->case_count; i++) {
		if (done && done[i])
			continue;
		left->cases++;
		left->seconds += plan->cases[i].skip_reason ? 0 : plan->cases[i].estimate_seconds;
	}
}

static struct run_left none(const struct plan *plan)
{
	return (struct run_left){ .launches = launches_least(plan) };
}

enum status run_left_new(struct run_left *left, const struct plan *plan, const char *directory,
			 struct error *err)
{
	*left = none(plan);
	for (size_t launch = 1; launch <= left->launches; launch++)
		count(left, plan, NULL);
	return journal_vacant(directory, err);
}

enum status run_left_of(struct run_left *left, const struct plan *plan, const char *directory,
			struct error *err)
{
	enum status status = STATUS_OK;

	*left = none(plan);
	for (size_t launch = 1; launch <= left->launches && status == STATUS_OK; launch++) {
		char *path = launch_directory(directory, launch);
		bool *done = xcalloc(plan->case_count, sizeof(*done));

		/* The first one is the run; a further one may not have begun. */
		if (launch == 1 || launch_begun(path))
			status = journal_look(path, plan, done, err);
		count(left, plan, done);
		free(done);
		free(path);
	}
	return status;
}

bool run_left_nothing(const struct run_left *left, const char *directory, struct result *result)
{
	struct error err = ERROR_NONE;
	char *path = xasprintf("%s/result.json", directory);
	bool whole = left->cases == 0 && result_read(result, path, &err) == STATUS_OK;

	if (whole &&
	    (strcmp(result->state, "complete") != 0 || result->case_count < result->planned ||
	     result_launches(result) < left->launches)) {
		result_release(result);
		whole = false;
	}
	free(path);
	return whole;
}

static bool modified(const char *directory, const char *name, struct timespec *when)
{
	char *path = xasprintf("%s/%s", directory, name);
	struct stat about;
	bool there = stat(path, &about) == 0;

	if (there)
		*when = about.st_mtim;
	free(path);
	return there;
}

bool run_left_reported(const char *directory)
{
	struct timespec result, report;

	return modified(directory, "result.json", &result) &&
	       modified(directory, "report.html", &report) &&
	       (report.tv_sec > result.tv_sec ||
		(report.tv_sec == result.tv_sec && report.tv_nsec >= result.tv_nsec));
}

void run_left_announce(const struct run_left *left, const struct plan *plan, const char *directory)
{
	size_t launches = left->launches;
	char time[32], several[48] = "";

	if (launches > 1)
		snprintf(several, sizeof(several), " %s %zu launches",
			 left->cases < left->planned ? "of" : "in", launches);
	if (left->cases == 0) {
		fprintf(stderr, "gpuproof: nothing is left to do: %s holds all %zu case%s%s\n",
			directory, left->planned, plural(left->planned), several);
		return;
	}
	units_about(left->seconds, time, sizeof(time));
	if (left->cases < left->planned)
		fprintf(stderr, "gpuproof: %zu of the %zu case%s%s are left", left->cases,
			left->planned, plural(left->planned), several);
	else
		fprintf(stderr, "gpuproof: %zu case%s%s", plan->case_count,
			plural(plan->case_count), several);
	fprintf(stderr, " on %zu device%s, about %s, into %s\n", plan->device_count,
		plural(plan->device_count), time, directory);
}
