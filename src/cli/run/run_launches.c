#include "cli/run/run_launches.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "judge/estimate/pool.h"
#include "measure/processes/signals.h"
#include "plan/schema.h"
#include "result/host/host_findings.h"
#include "run/journal.h"

char *run_launches_directory(const char *directory, size_t launch)
{
	return launch == 1 ? xstrdup(directory) : xasprintf("%s/launch-%zu", directory, launch);
}

static int64_t run_launches_integer(const struct plan *plan, const char *key)
{
	return section_integer(config_section(plan->config, "run", ""), key);
}

bool run_launches_auto(const struct plan *plan)
{
	return run_launches_integer(plan, "launches") == 0;
}

size_t run_launches_least(const struct plan *plan)
{
	return run_launches_auto(plan) ? LAUNCHES_AUTO_LEAST
				       : (size_t)run_launches_integer(plan, "launches");
}

/* Each launch has its number in the environment, its own status and directory. */
static struct conduct_options run_launches_options_of(const struct conduct_options *options,
						      size_t launch)
{
	struct conduct_options one = *options;
	char number[24];

	snprintf(number, sizeof(number), "%zu", launch);
	setenv(LAUNCH_VARIABLE, number, 1);
	one.directory = run_launches_directory(options->directory, launch);
	one.resume = options->resume && (launch == 1 || journal_begun(one.directory));
	if (options->status)
		options->status->launch = launch;
	return one;
}

enum status launches_run(struct launches *launches, const struct plan *plan, size_t first,
			 size_t last, struct error *err)
{
	const struct conduct_options *options = launches->options;
	enum status status = STATUS_OK;

	launches->decided_by = run_launches_auto(plan) ? LAUNCHES_AUTO_LEAST : 0;
	if (options->status && options->status->launches < last)
		options->status->launches = last;
	for (size_t launch = first; launch <= last && status == STATUS_OK; launch++) {
		struct conduct_options one;
		struct result *result;

		/* No other code checks for a stop between launches. */
		if (signals_stops()) {
			launches->stopped = true;
			if (options->stopped_by)
				*options->stopped_by = signals_last_stop();
			return error_set(err, STATUS_INTERRUPTED, "interrupted");
		}
		if (last > first && !options->quiet)
			fprintf(stderr, "gpuproof: launch %zu of %zu%s\n", launch, last,
				run_launches_auto(plan) ? " or more" : "");
		one = run_launches_options_of(options, launch);
		ARRAY_GROW(launches->items, launches->count, launches->capacity);
		result = &launches->items[launches->count];
		status = conduct(plan, &launches->setup->probe, &one, result, err);
		/* The run never started: there is nothing to keep. */
		launches->count += result->gpuproof_version != NULL;
		free((char *)one.directory);
	}
	return status;
}

/* Launches per case with launches = auto, computed from the first ones. */
static size_t *run_launches_needed(const struct launches *launches, size_t *most)
{
	const struct plan *plan = &launches->setup->plan;
	const struct section *run = config_section(plan->config, "run", "");
	size_t limit = (size_t)section_integer(run, "launches_most"), cut = 0;
	size_t *needed = xcalloc(plan->case_count + 1, sizeof(*needed));

	*most = 0;
	for (size_t i = 0; i < plan->case_count; i++) {
		if (!plan->cases[i].skip_reason)
			needed[i] =
				estimate_pool_launches_needed(launches->items, LAUNCHES_AUTO_LEAST,
							      plan->cases[i].id,
							      section_real(run, "launch_target"));
		cut += needed[i] > limit;
		needed[i] = needed[i] > limit ? limit : needed[i];
		*most = needed[i] > *most ? needed[i] : *most;
	}
	if (cut && !launches->options->quiet)
		fprintf(stderr,
			"gpuproof: %zu case%s more launches than launches_most = %zu to reach "
			"launch_target = %s\n",
			cut, cut == 1 ? " needs" : "s need", limit,
			section_text(run, "launch_target"));
	return needed;
}

/* The cases that need this launch; shares all data with `plan` except the array. */
static struct plan run_launches_cases_of(const struct plan *plan, const size_t *needed,
					 size_t launch)
{
	struct plan part = *plan;

	part.cases = xcalloc(plan->case_count + 1, sizeof(*part.cases));
	part.case_count = 0;
	for (size_t i = 0; i < plan->case_count; i++) {
		if (needed[i] < launch)
			continue;
		part.cases[part.case_count] = plan->cases[i];
		part.cases[part.case_count].index = part.case_count;
		part.case_count++;
	}
	return part;
}

enum status launches_run_needed(struct launches *launches, struct error *err)
{
	const struct plan *plan = &launches->setup->plan;
	const struct conduct_options *options = launches->options;
	enum status status = STATUS_OK;
	size_t most, *needed;

	if (!run_launches_auto(plan))
		return STATUS_OK;
	needed = run_launches_needed(launches, &most);
	if (options->status)
		options->status->launches = most;
	while (launches->count < most && status == STATUS_OK) {
		size_t launch = launches->count + 1;
		struct plan part = run_launches_cases_of(plan, needed, launch);

		if (!options->quiet && !signals_stops())
			fprintf(stderr, "gpuproof: launch %zu of %zu, with %zu of %zu cases\n",
				launch, most, part.case_count, plan->case_count);
		status = launches_run(launches, &part, launch, launch, err);
		free(part.cases);
	}
	free(needed);
	return status;
}

static void run_launches_set_state(struct result *result, const char *state)
{
	free(result->state);
	result->state = xstrdup(state);
}

enum status run_launches_pool(struct launches *launches, const char *directory,
			      struct result *result, struct error *err)
{
	enum status status = STATUS_OK;
	size_t count = launches->count, complete = 1;
	char *path;

	memset(result, 0, sizeof(*result));
	if (!launches->count)
		return STATUS_OK;
	*result = launches->items[0];
	memset(&launches->items[0], 0, sizeof(launches->items[0]));
	if (!launches->pooled && (count > 1 || launches->stopped)) {
		/* An unfinished launch is not pooled, and the run as a whole is then unfinished. */
		while (complete < count && strcmp(launches->items[complete].state, "complete") == 0)
			complete++;
		if (complete < count)
			run_launches_set_state(result, launches->items[complete].state);
		else if (launches->stopped && strcmp(result->state, "complete") == 0)
			run_launches_set_state(result, "interrupted");
		estimate_pool_launches(result, 1, launches->items + 1, complete - 1);
	} else if (!launches->pooled)
		estimate_pool_settle(result);
	if (launches->decided_by)
		estimate_pool_widen_by_first(result, launches->decided_by);
	path = xasprintf("%s/result.json", directory);
	/* If writing a single launch's result failed, the combined one is not written either. */
	if (count > 1 || launches->stopped || access(path, F_OK) == 0)
		status = result_write(result, path, err);
	free(path);
	run_launches_release(launches);
	return status;
}

/* First launch number without a directory. */
static size_t run_launches_free(const char *directory)
{
	for (size_t launch = 2;; launch++) {
		char *path = run_launches_directory(directory, launch);
		bool found = access(path, F_OK) == 0;

		free(path);
		if (!found)
			return launch;
	}
}

enum status run_launches_extend(struct launches *launches, const struct plan *part,
				struct result *result, struct error *err)
{
	const struct conduct_options *options = launches->options;
	struct conduct_options more = *options;
	size_t before = run_launches_free(options->directory) - 1, count = launches->count;
	enum status status = STATUS_OK;

	more.resume = false;
	if (!options->quiet)
		fprintf(stderr,
			"gpuproof: %zu case%s undecided after one launch and will be repeated in "
			"%d more\n",
			part->case_count, part->case_count == 1 ? " is" : "s are",
			LAUNCHES_EXTENSION);
	launches->options = &more;
	for (int i = 0; i < LAUNCHES_EXTENSION && status == STATUS_OK; i++) {
		size_t launch = run_launches_free(options->directory);

		status = launches_run(launches, part, launch, launch, err);
	}
	launches->options = options;
	if (status == STATUS_OK && result)
		estimate_pool_launches(result, before, launches->items + count,
				       launches->count - count);
	return status;
}

void run_launches_release(struct launches *launches)
{
	for (size_t i = 0; i < launches->count; i++)
		result_release(&launches->items[i]);
	free(launches->items);
	memset(launches, 0, sizeof(*launches));
}

static void run_launches_preflight_add_finding(void *context, const struct finding *finding)
{
	struct health *list = context;

	/* A missing backend is not a finding on a machine that never had it. */
	if (strcmp(finding->topic, FINDING_BACKEND) == 0)
		return;
	ARRAY_GROW(list->items, list->count, list->capacity);
	list->items[list->count++] = *finding;
}

struct health run_launches_health_collect(const struct probe *probe)
{
	struct health list = { 0 };

	for (size_t i = 0; i < probe->device_count; i++)
		host_findings_of_device(&probe->devices[i], run_launches_preflight_add_finding,
					&list);
	for (size_t i = 0; i < probe->finding_count; i++)
		run_launches_preflight_add_finding(&list, &probe->findings[i]);
	xid_findings("", probe->devices, probe->device_count, run_launches_preflight_add_finding,
		     &list);
	host_findings("", ".", run_launches_preflight_add_finding, &list);
	return list;
}

static void run_launches_health_add_error(struct health *list, const char *topic, const char *id,
					  const char *text)
{
	struct finding f = { .severity = SEVERITY_ERROR };

	if (*id)
		finding_set_device(&f, topic, id);
	else
		finding_set_subject(&f, topic, "");
	snprintf(f.text, sizeof(f.text), "%.300s", text);
	run_launches_preflight_add_finding(list, &f);
}

/* A device that disappeared during the run, and a failed probe, are findings as well. */
static void run_launches_probe_again(const struct config *config, struct result *result)
{
	struct health list = { 0 };
	struct error err = ERROR_NONE;
	struct probe probe;

	if (probe_devices(&probe, config, &err) != STATUS_OK) {
		run_launches_health_add_error(&list, FINDING_LOST, "", err.message);
	} else {
		list = run_launches_health_collect(&probe);
		for (size_t i = 0; i < result->device_count; i++) {
			const struct device_info *d = &result->devices[i];
			size_t k = 0;

			while (k < probe.device_count &&
			       (strcmp(probe.devices[k].id, d->id) != 0 ||
				strcmp(probe.devices[k].uuid, d->uuid) != 0))
				k++;
			if (k == probe.device_count)
				run_launches_health_add_error(&list, FINDING_DEVICE, d->id,
							      "lost during the run");
		}
		probe_release(&probe);
	}
	result->postflight = list.items;
	result->postflight_count = list.count;
}

enum status run_launches_finish(struct launches *launches, struct health *before,
				struct result *result, struct error *err)
{
	const char *directory = launches->options->directory;
	const struct run_setup *setup = launches->setup;
	enum status status = run_launches_pool(launches, directory, result, err);

	run_launches_release(launches);
	if (before && status == STATUS_OK && result->gpuproof_version) {
		/* After the lost devices, which every run reports. */
		result->preflight =
			xrealloc(result->preflight, result->preflight_count + before->count,
				 sizeof(*before->items));
		if (before->count)
			memcpy(result->preflight + result->preflight_count, before->items,
			       before->count * sizeof(*before->items));
		result->preflight_count += before->count;
		run_launches_probe_again(&setup->config, result);
		status = result_write_to(result, directory, err);
	}
	if (before)
		free(before->items);
	return status;
}

enum status run_launches_left_find(struct run_left *left, const struct plan *plan,
				   const char *directory, bool resume, struct error *err)
{
	enum status status = STATUS_OK;

	*left = (struct run_left){ .launches = run_launches_least(plan) };
	for (size_t launch = 1; launch <= left->launches && status == STATUS_OK; launch++) {
		char *path = run_launches_directory(directory, launch);
		bool *done = xcalloc(plan->case_count, sizeof(*done));

		/* The first launch is the run; a later one may not have started. */
		if (resume && (launch == 1 || journal_begun(path)))
			status = journal_read(path, plan, NULL, done, err);
		left->planned += plan->case_count;
		for (size_t i = 0; i < plan->case_count; i++) {
			if (done[i])
				continue;
			left->cases++;
			left->seconds +=
				plan->cases[i].skip_reason ? 0 : plan->cases[i].estimate_seconds;
		}
		free(done);
		free(path);
	}
	return resume ? status : journal_vacant(directory, err);
}

bool run_launches_left_nothing(const struct run_left *left, const char *directory,
			       struct result *result)
{
	struct error err = ERROR_NONE;
	bool whole = left->cases == 0 && result_read_from(result, directory, &err) == STATUS_OK;

	if (whole &&
	    (strcmp(result->state, "complete") != 0 || result->case_count < result->planned ||
	     result_launches(result) < left->launches)) {
		result_release(result);
		whole = false;
	}
	return whole;
}

static bool run_launches_modified(const char *directory, const char *name, struct timespec *when)
{
	char *path = xasprintf("%s/%s", directory, name);
	struct stat about;
	bool there = stat(path, &about) == 0;

	if (there)
		*when = about.st_mtim;
	free(path);
	return there;
}

bool run_launches_left_reported(const char *directory)
{
	struct timespec result, report;

	return run_launches_modified(directory, "result.json", &result) &&
	       run_launches_modified(directory, "report.html", &report) &&
	       (report.tv_sec > result.tv_sec ||
		(report.tv_sec == result.tv_sec && report.tv_nsec >= result.tv_nsec));
}

void run_launches_left_announce(const struct run_left *left, const struct plan *plan,
				const char *directory)
{
	size_t launches = left->launches;
	char time[32], several[48] = "";

	if (launches > 1)
		snprintf(several, sizeof(several), " %s %zu launches",
			 left->cases < left->planned ? "of" : "in", launches);
	if (left->cases == 0) {
		fprintf(stderr, "gpuproof: nothing to do: %s contains all %zu case%s%s\n",
			directory, left->planned, text_plural(left->planned), several);
		return;
	}
	units_about(left->seconds, time, sizeof(time));
	if (left->cases < left->planned)
		fprintf(stderr, "gpuproof: %zu of %zu case%s%s left", left->cases, left->planned,
			text_plural(left->planned), several);
	else
		fprintf(stderr, "gpuproof: %zu case%s%s", plan->case_count,
			text_plural(plan->case_count), several);
	fprintf(stderr, " on %zu device%s, about %s, into %s\n", plan->device_count,
		text_plural(plan->device_count), time, directory);
}
