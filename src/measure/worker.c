#include "measure/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/units.h"
#include "device/limits.h"
#include "measure/child.h"
#include "measure/condition.h"
#include "measure/describe.h"
#include "measure/message.h"
#include "measure/run.h"
#include "measure/run_settings.h"
#include "measure/telemetry_window.h"
#include "suites/suite.h"

struct worker {
	const struct assignment *a;
	struct world world;
	struct run_settings settings;
	struct backend_list backends;
	struct device **devices; /* by index in the plan; opened when first needed, then kept */
	struct link_watch *links; /* by index in the plan */
	struct link_pace pace;
};

static void send_text(const struct worker *w, struct text *text)
{
	bool sent = w->world.rank != 0 || write_all(w->a->pipe, text->data, text->length);

	text_release(text);
	if (!sent)
		child_exit(1); /* nobody listens any more */
}

static void send_index(const struct worker *w, enum message_kind kind, size_t index)
{
	struct text text = TEXT_EMPTY;

	message_add_index(&text, kind, index);
	send_text(w, &text);
}

static void progress(void *context, size_t samples, double median, double half_width)
{
	const struct worker *w = context;
	struct text text = TEXT_EMPTY;

	message_add_progress(&text, samples, median, half_width);
	send_text(w, &text);
}

/* "cuda,host": what this plan's devices need. Another backend could only do harm. */
static char *backend_names(const struct plan *plan)
{
	struct text names = TEXT_EMPTY;

	for (size_t i = 0; i < plan->device_count; i++) {
		const char *name = plan->devices[i].backend;

		if (!names.length || !strstr(names.data, name))
			text_addf(&names, "%s%s", names.length ? "," : "", name);
	}
	return text_detach(&names);
}

static const struct backend *find_backend(const struct worker *w, const struct device_info *info)
{
	for (size_t i = 0; i < w->backends.count; i++)
		if (strcmp(w->backends.backends[i]->name, info->backend) == 0 &&
		    strcmp(w->backends.backends[i]->module, info->module) == 0)
			return w->backends.backends[i];
	return NULL;
}

static enum status open_device(struct worker *w, size_t index, struct error *err)
{
	const struct device_info *info = &w->a->plan->devices[index];
	const struct backend *backend;

	if (w->devices[index])
		return STATUS_OK;
	backend = find_backend(w, info);
	if (!backend)
		return error_set(err, STATUS_DEVICE,
				 "%s: backend %s (%s) could not be opened again%s%s", info->id,
				 info->backend, info->module, w->backends.missing_count ? ": " : "",
				 w->backends.missing_count ? w->backends.missing[0] : "");
	if (backend->device_open(info->index, &w->devices[index], err) != STATUS_OK) {
		w->devices[index] = NULL;
		return error_prefix(err, "%s", info->id);
	}
	return STATUS_OK;
}

/* The devices that this rank drives in case `c`: its own, or in a suite of one process all. */
static enum status open_devices(struct worker *w, const struct plan_case *c, struct run *run,
				struct error *err)
{
	bool own_only = c->suite->processes == SUITE_PROCESS_PER_DEVICE;
	size_t first = own_only ? (size_t)w->world.rank : 0;
	size_t end = own_only ? first + 1 : c->device_count;

	for (size_t i = first; i < end && i < c->device_count; i++) {
		if (open_device(w, c->devices[i], err) != STATUS_OK)
			return err->status;
		run->devices[run->device_count++] = w->devices[c->devices[i]];
	}
	return STATUS_OK;
}

static enum status check_memory(const struct run *run, struct error *err)
{
	const struct plan_case *c = run->c;
	uint64_t available = limits_memory_available();
	char need[32], have[32], total[32];

	for (size_t i = 0; i < run->device_count; i++) {
		struct error ignored = ERROR_NONE;
		uint64_t free_bytes, total_bytes;

		if (backend_device_memory(run->devices[i], &free_bytes, &total_bytes, &ignored) !=
			    STATUS_OK ||
		    c->device_bytes <= free_bytes)
			continue;
		return error_set(err, STATUS_UNSUPPORTED, "needs %s on %s, which has %s free of %s",
				 units_format((double)c->device_bytes, "B", need, sizeof(need)),
				 run->devices[i]->info.id,
				 units_format((double)free_bytes, "B", have, sizeof(have)),
				 units_format((double)total_bytes, "B", total, sizeof(total)));
	}
	if (c->host_bytes > available)
		return error_set(err, STATUS_UNSUPPORTED,
				 "needs %s of host memory, of which %s are available",
				 units_format((double)c->host_bytes, "B", need, sizeof(need)),
				 units_format((double)available, "B", have, sizeof(have)));
	return STATUS_OK;
}

uint64_t worker_case_seed(int64_t run_seed, const char *id)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ (uint64_t)run_seed;

	for (; *id; id++)
		hash = (hash ^ (unsigned char)*id) * UINT64_C(0x100000001b3);
	return hash;
}

static enum case_status case_status_of(enum status status)
{
	switch (status) {
	case STATUS_OK:
		return CASE_OK;
	case STATUS_UNSUPPORTED:
	case STATUS_INTERRUPTED: /* nothing is wrong with it; its samples are kept */
		return CASE_SKIPPED;
	case STATUS_MISMATCH:
		return CASE_FAILED;
	default:
		return CASE_ERROR;
	}
}

/* Errors after which the same process cannot be trusted with the next case. */
static bool taints(enum status status)
{
	return status == STATUS_DEVICE || status == STATUS_TIMEOUT || status == STATUS_INTERNAL;
}

/* The suite's work, watched by the rank whose result is kept. */
static enum status run_watched(struct worker *w, struct run *run, struct error *err)
{
	double interval = w->world.rank == 0 ? w->settings.telemetry_seconds : 0;
	enum status status;

	run->telemetry = telemetry_window_open(run->sampler.device, interval);
	status = run->c->suite->run(run, err);
	telemetry_window_summary(run->telemetry, &run->result->during);
	telemetry_window_close(run->telemetry);
	return status;
}

static enum status attempt(struct worker *w, struct run *run, struct error *err)
{
	enum status status = world_agree(&w->world, open_devices(w, run->c, run, err), err);

	if (status != STATUS_OK)
		return status;
	run->sampler.device = run->device_count ? run->devices[0] : NULL;
	send_index(w, MESSAGE_READY, run->c->index);
	status = world_agree(&w->world, check_memory(run, err), err);
	if (status != STATUS_OK)
		return status;
	condition_before(run->sampler.device, run->result);
	status = world_agree(&w->world, run_watched(w, run, err), err);
	if (!taints(status))
		condition_after(run->sampler.device, &w->links[run->c->devices[w->world.rank]],
				&w->pace, run->result);
	return status;
}

static enum status carry_out(struct worker *w, const struct plan_case *c)
{
	const struct plan *plan = w->a->plan;
	struct sampling rules = c->section ? sampling_from(c->section) : (struct sampling){ 0 };
	struct device *devices[PLAN_MAX_CASE_DEVICES] = { NULL };
	struct error err = ERROR_NONE;
	struct case_result result;
	struct text message = TEXT_EMPTY;
	struct run run = { .c = c, .devices = devices, .world = &w->world, .result = &result };
	double start = clock_seconds();
	enum status status;

	describe_case(plan, c, &result);
	run.seed = worker_case_seed(w->settings.seed, c->id);
	run.sampler = (struct sampler){ .rules = &rules,
					.world = &w->world,
					.stop = &w->a->control->stop,
					.progress = w->world.rank == 0 ? progress : NULL,
					.progress_context = w };
	if (w->world.rank == 0)
		w->a->control->log_mark = lseek(STDERR_FILENO, 0, SEEK_END);
	send_index(w, MESSAGE_START, c->index);
	status = attempt(w, &run, &err);
	describe_outcome(&result, case_status_of(status), err.message);
	result.started_seconds = start - w->a->control->began;
	result.seconds = clock_seconds() - start;
	if (w->world.rank == 0) {
		message_add_case(&message, status == STATUS_INTERRUPTED, &result);
		send_text(w, &message);
	}
	case_result_release(&result);
	return status;
}

/* What a suite keeps from case to case is in the next suite's way: memory, and access between devices. */
static void change_suite(const struct plan_case *from, const struct plan_case *to)
{
	if (from && from->suite != to->suite && from->suite->release)
		from->suite->release();
}

/* Rank 0 decides: all ranks must leave the loop at the same case. */
static bool go_on(struct worker *w, enum status last)
{
	int decision = !taints(last) && last != STATUS_INTERRUPTED && !w->a->control->stop;

	world_broadcast(&w->world, 0, &decision, sizeof(decision));
	return decision;
}

void worker_run(const struct assignment *assignment)
{
	const struct plan *plan = assignment->plan;
	struct worker w = { .a = assignment,
			    .world = assignment->world,
			    .settings = run_settings_from(plan->config) };
	const struct plan_case *earlier = NULL;
	enum status last = STATUS_OK;
	char *names = backend_names(plan);

	w.devices = xcalloc(plan->device_count, sizeof(struct device *));
	w.links = xcalloc(plan->device_count, sizeof(*w.links));
	backends_open(&w.backends, names, &w.settings.backend_options);
	free(names);
	for (size_t i = 0; i < assignment->case_count && go_on(&w, last); i++) {
		const struct plan_case *c = &plan->cases[assignment->cases[i]];

		change_suite(earlier, c);
		last = carry_out(&w, c);
		earlier = c;
	}
	/* A device that an error has broken may hang or crash on closing; the process ends anyway. */
	if (!taints(last)) {
		if (earlier && earlier->suite->release)
			earlier->suite->release();
		for (size_t i = 0; i < plan->device_count; i++)
			if (w.devices[i])
				w.devices[i]->backend->device_close(w.devices[i]);
		backends_close(&w.backends);
	}
	free(w.devices);
	free(w.links);
	atomic_store(&assignment->control->finished[w.world.rank], 1);
}
