#include "run/workers/attempt.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "device/limits.h"
#include "measure/code_paths.h"
#include "measure/telemetry/telemetry_window.h"
#include "plan/suite.h"
#include "run/workers/describe.h"
#include "run/workers/worker.h"

/* Depends on the run's seed and the case's id only, not on what else runs. */
static uint64_t case_seed(int64_t run_seed, const char *id)
{
	return text_hash(TEXT_HASH_START ^ (uint64_t)run_seed, id, strlen(id));
}

void attempt_begin(struct attempt *a, const struct plan *plan, const struct plan_case *c,
		   int64_t run_seed, struct world *world)
{
	memset(a, 0, sizeof(*a));
	a->began = clock_seconds();
	phases_begin(&a->phases, "opening the device");
	if (c->section)
		a->rules = sampling_from(c->section);
	a->devices = xcalloc(c->device_count + 1, sizeof(struct device *));
	describe_case(plan, c, &a->result);
	a->run = (struct run){ .c = c,
			       .devices = a->devices,
			       .world = world,
			       .phases = &a->phases,
			       .seed = case_seed(run_seed, c->id),
			       .run_seed = (uint64_t)run_seed,
			       .sampler = { .rules = &a->rules, .world = world },
			       .result = &a->result };
}

void attempt_release(struct attempt *a)
{
	case_result_release(&a->result);
	free(a->devices);
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
				 units_si((double)c->device_bytes, "B", need, sizeof(need)),
				 run->devices[i]->info.id,
				 units_si((double)free_bytes, "B", have, sizeof(have)),
				 units_si((double)total_bytes, "B", total, sizeof(total)));
	}
	if (c->host_bytes > available)
		return error_set(err, STATUS_UNSUPPORTED,
				 "needs %s of host memory, of which %s are available",
				 units_si((double)c->host_bytes, "B", need, sizeof(need)),
				 units_si((double)available, "B", have, sizeof(have)));
	return STATUS_OK;
}

enum status attempt_prepare(struct attempt *a)
{
	phases_enter(&a->phases, "set-up");
	a->status = world_agree(a->run.world, check_memory(&a->run, &a->err), &a->err);
	if (a->status == STATUS_OK)
		condition_before(a->run.sampler.device, &a->result);
	return a->status;
}

static void carry_out_group(struct attempt *const *attempts, size_t count)
{
	struct run **runs = xcalloc(count, sizeof(struct run *));
	struct error *errs = xcalloc(count, sizeof(*errs));

	for (size_t i = 0; i < count; i++)
		runs[i] = &attempts[i]->run;
	runs[0]->c->suite->run_group(runs, count, errs);
	for (size_t i = 0; i < count; i++) {
		attempts[i]->err = errs[i];
		attempts[i]->status = errs[i].status;
	}
	free(runs);
	free(errs);
}

static void carry_out_one(struct attempt *a)
{
	enum status status = a->run.c->suite->run(&a->run, &a->err);

	a->status = world_agree(a->run.world, status, &a->err);
}

void attempt_carry_out(struct attempt *const *attempts, size_t count, double telemetry_seconds)
{
	for (size_t i = 0; i < count; i++) {
		struct run *run = &attempts[i]->run;

		run->telemetry = telemetry_window_open(run->sampler.device, telemetry_seconds);
		code_paths_forget(run);
	}
	if (count == 1)
		carry_out_one(attempts[0]);
	else if (count > 1)
		carry_out_group(attempts, count);
	for (size_t i = 0; i < count; i++) {
		struct run *run = &attempts[i]->run;

		/* Launches are counted for a concurrent group as a whole. */
		if (i == 0)
			code_paths_record(run);
		else
			code_paths_copy(&attempts[0]->result, &attempts[i]->result);
		telemetry_window_summary(run->telemetry, &attempts[i]->result.during);
		telemetry_window_close(run->telemetry);
	}
}

void attempt_finish(struct attempt *a, struct link_watch *watch, struct link_poll *poll)
{
	phases_enter(&a->phases, "clean-up");
	if (!status_loses_device(a->status))
		condition_after(a->run.sampler.device, watch, poll, &a->result);
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

static enum case_end case_end_of(enum status status)
{
	switch (status) {
	case STATUS_OK:
	case STATUS_MISMATCH:
		return CASE_END_DONE;
	case STATUS_UNSUPPORTED:
		return CASE_END_UNSUPPORTED;
	case STATUS_INTERRUPTED:
		return CASE_END_INTERRUPTED;
	case STATUS_TIMEOUT:
		return CASE_END_HUNG;
	case STATUS_DEVICE:
		return CASE_END_DEVICE;
	default:
		return CASE_END_FAILED;
	}
}

/* Metrics of samples that still drifted are no headline. */
static void set_unsettled_aside(struct case_result *result)
{
	for (size_t i = 0; i < result->metric_count; i++)
		if (case_is_unsettled(result, &result->metrics[i]))
			result->metrics[i].headline = false;
}

void attempt_settle(struct attempt *a, double run_began, size_t parts)
{
	describe_outcome(&a->result, case_status_of(a->status), case_end_of(a->status),
			 a->err.message);
	set_unsettled_aside(&a->result);
	phases_record(&a->phases, &a->result);
	a->result.started_seconds = a->began - run_began;
	a->result.seconds = (clock_seconds() - a->began) / (double)parts;
}

bool status_loses_device(enum status status)
{
	return status == STATUS_DEVICE || status == STATUS_TIMEOUT || status == STATUS_INTERNAL;
}
