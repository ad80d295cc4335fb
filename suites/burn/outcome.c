#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "plan/plan.h"
#include "plan/suite.h"
#include "result/statistics.h"
#include "suites/burn/burn.h"

enum burn_load burn_outcome_load_of(const struct plan_case *c)
{
	return (enum burn_load)case_integer(c, "loads");
}

static double burn_outcome_tally_speed(const struct burn_tally *t)
{
	return t->seconds > 0 ? t->work / t->seconds : 0;
}

/* Gives every rank the slowest rank's samples. */
static struct series *burn_outcome_share_series(struct run *run, struct world *world,
						struct series *mine, int owner)
{
	struct case_result *result = run->result;
	struct series *series;
	size_t count = mine->count;

	ARRAY_GROW(result->series, result->series_count, result->series_capacity);
	series = &result->series[result->series_count++];
	*series = (struct series){ .name = xstrdup("burn.time"),
				   .unit = "s",
				   .first = mine->first,
				   .batch = mine->batch,
				   .stop = STOP_MAX_TIME };
	world_broadcast(world, owner, &count, sizeof(count));
	world_broadcast(world, owner, &series->first, sizeof(series->first));
	world_broadcast(world, owner, &series->batch, sizeof(series->batch));
	series->samples = xcalloc(count + 1, sizeof(double));
	series->count = series->capacity = count;
	if (world->rank == owner && count)
		memcpy(series->samples, mine->samples, count * sizeof(double));
	world_broadcast(world, owner, series->samples, count * sizeof(double));
	series->batch = series->batch ? series->batch : 1;
	statistics_compute(series->samples, count, series->batch, 0.5e-6 / series->batch, NULL,
			   &series->statistics);
	return series;
}

static void burn_outcome_record_speed(struct run *run, const struct burn_tally *all, int ranks,
				      int slowest, const struct series *time)
{
	enum burn_load load = burn_outcome_load_of(run->c);
	const char *name = load < BURN_UNITS     ? "burn.throughput"
			   : load == BURN_UNITS  ? "burn.signatures"
			   : load == BURN_MEMORY ? "burn.bandwidth"
						 : "burn.traffic";
	const struct burn_tally *t = &all[slowest];
	double fastest = 0;

	if (!time->count)
		return;
	for (int r = 0; r < ranks; r++)
		fastest = fmax(fastest, burn_outcome_tally_speed(&all[r]));
	/* Work per unit: timed work / timed units. */
	run_rate(run, name, t->work / ((double)time->count * (double)time->batch), time);
	run_duration(run, "burn.time", time);
	if (ranks > 1)
		run_value(run, "burn.slowest", burn_outcome_tally_speed(t) / fastest);
}

static void burn_outcome_record_counts(struct run *run, const struct burn_tally *all, int ranks)
{
	double rounds = 0, bytes = 0, wrong = 0, injected = 0, found = 0, share = 1,
	       seen = INFINITY;

	for (int r = 0; r < ranks; r++) {
		rounds += (double)all[r].rounds;
		bytes += all[r].verified_bytes;
		wrong += (double)all[r].wrong;
		injected += (double)all[r].injected;
		found += (double)all[r].injected_found;
		seen = fmin(seen, (double)all[r].multiprocessors_seen);
		if (all[r].free_bytes > 0)
			share = fmin(share, all[r].tested_bytes / all[r].free_bytes);
	}
	run_value(run, "burn.rounds", rounds);
	run_value(run, "burn.verified", bytes);
	if (burn_outcome_load_of(run->c) == BURN_MEMORY)
		run_value(run, "burn.memory_share", share);
	if (burn_outcome_load_of(run->c) == BURN_UNITS)
		run_value(run, "burn.multiprocessors_seen", seen);
	run_value(run, "burn.wrong", wrong);
	if (injected > 0) {
		run_value(run, "burn.injected", injected);
		run_value(run, "burn.found", found / injected);
	}
}

static void burn_outcome_record_verified(struct run *run)
{
	static const char *const methods[BURN_LOADS] = {
		[BURN_FP32] = "every element of every result, bit by bit, against exact values "
			      "computed by the CPU; the check itself with injected wrong results",
		[BURN_UNITS] =
			"signatures of all quarters of all multiprocessors against each other, and "
			"against the CPU's signature if a standard defines the result",
		[BURN_MEMORY] = "every 8-byte word of the tested memory, after every write",
		[BURN_LINKS] = "every byte sent, every sum against double precision, and every "
			       "element of every GEMM",
	};
	enum burn_load load = burn_outcome_load_of(run->c);

	run_verified(run, methods[load < BURN_UNITS ? BURN_FP32 : load], (double)NAN, (double)NAN);
}

/* Reports multiply-adds and the cost of checking, each on the device with the least. */
static void burn_outcome_record_search(struct run *run, const struct burn_tally *all, int ranks)
{
	double multiply_adds = INFINITY, hot = INFINITY, starts = INFINITY, bursts = INFINITY,
	       share = INFINITY;

	for (int r = 0; r < ranks; r++) {
		multiply_adds = fmin(multiply_adds, all[r].multiply_adds);
		starts = fmin(starts, (double)all[r].starts);
		bursts = fmin(bursts, (double)all[r].bursts);
		hot = isnan(hot) || isnan(all[r].hot_multiply_adds)
			      ? (double)NAN
			      : fmin(hot, all[r].hot_multiply_adds);
		share = all[r].checked_seconds > 0
				? fmin(share, all[r].alone_seconds / all[r].checked_seconds)
				: 0;
	}
	run_value(run, "burn.multiply_adds", multiply_adds);
	run_value(run, "burn.starts", starts);
	if (section_real(run->c->section, "bursts") > 0)
		run_value(run, "burn.bursts", bursts);
	if (!isnan(hot))
		run_value(run, "burn.hot_multiply_adds", hot);
	if (share > 0)
		run_value(run, "burn.checked_share", share);
}

struct rank_name {
	char id[32], uuid[64], model[96];
};

/* Names of all ranks; the caller frees. */
static struct rank_name *burn_outcome_names(struct run *run)
{
	const struct device_info *info = &run->devices[0]->info;
	struct rank_name own, *names = xcalloc((size_t)run->world->size, sizeof(*names));

	memset(&own, 0, sizeof(own));
	snprintf(own.id, sizeof(own.id), "%.31s", info->id);
	snprintf(own.uuid, sizeof(own.uuid), "%.63s", info->uuid);
	snprintf(own.model, sizeof(own.model), "%.95s", info->name);
	world_gather(run->world, &own, names, sizeof(own));
	return names;
}

/* If the check fails repeatedly on this device only, the device is at fault. */
static bool burn_outcome_add_broken(struct text *text, const struct burn_tally *all,
				    const struct rank_name *names, int ranks, int rank)
{
	const struct rank_name *right = NULL; /* a device of the same model that passes it */

	for (int r = 0; r < ranks && !right; r++)
		if (!all[r].check_errors && strcmp(names[r].model, names[rank].model) == 0)
			right = &names[r];
	if (all[rank].check_errors < BURN_CHECK_ERRORS || !right)
		return false;
	text_addf(text, "%s%s%s%s: the check of results fails on this device, but not on %s (%s)",
		  text->length ? "; " : "", names[rank].id, names[rank].uuid[0] ? " " : "",
		  names[rank].uuid, right->id, all[rank].check_text);
	return true;
}

/* Reports wrong words by device, or as one common error. */
static enum status burn_outcome_tell_wrong(struct run *run, const struct burn_tally *all,
					   struct error *err)
{
	struct rank_name *names = burn_outcome_names(run);
	int ranks = run->world->size, alike = 0;
	const char *broken = NULL;
	struct text text = TEXT_EMPTY;

	for (int r = 0; r < ranks; r++) {
		alike += all[r].alike;
		if (all[r].wrong) {
			text_addf(&text, "%s%s%s%s: %" PRIu64 " wrong word%s",
				  text.length ? "; " : "", names[r].id, names[r].uuid[0] ? " " : "",
				  names[r].uuid, all[r].wrong, all[r].wrong == 1 ? "" : "s");
			if (all[r].injected)
				text_addf(&text,
					  " (%" PRIu64 " of %" PRIu64 " injected words found)",
					  all[r].injected_found, all[r].injected);
			text_addf(&text, "; first: %s", all[r].first);
		}
		if (all[r].check_errors && !burn_outcome_add_broken(&text, all, names, ranks, r))
			broken = all[r].check_text;
	}
	if (text.length || broken)
		error_clear(err); /* wrong words matter more than an interruption */
	if (alike == ranks)
		error_set(err, STATUS_INTERNAL,
			  "on every device, all multiprocessors agree with each other but not with "
			  "the CPU. The library, the driver, gpuproof or the CPU is wrong: %.600s",
			  text.data);
	else if (text.length)
		error_set(err, STATUS_MISMATCH, "%.1000s", text.data);
	else if (broken)
		error_set(err, STATUS_INTERNAL, "%s", broken);
	text_release(&text);
	free(names);
	return err->status;
}

/* Reports the energy of all devices, and the utilisation of the least busy one. */
static void burn_outcome_record_energy(struct burn *b)
{
	enum burn_load load = burn_outcome_load_of(b->run->c);
	struct world *world = b->world;
	struct work_energy e = { .operations = world_sum(world, b->energy.count) };
	double work = world_sum(world, b->energy.work);
	double busy = -world_max(world, -b->energy.seconds);

	if (!b->energy.meter)
		b->energy.meter = energy_meter_begin(&b->device, 1);
	energy_meter_end(b->energy.meter, world, &e.window);
	b->energy.meter = NULL;
	e.busy_seconds = busy;
	/* Signatures are not comparable with other work. */
	if (load != BURN_UNITS)
		run_energy_of(b->run, &e, load < BURN_UNITS ? "flops_per_joule" : "bytes_per_joule",
			      work / e.operations);
}

enum status burn_outcome_conclude(struct burn *b, struct watch *watch, struct error *err)
{
	struct world *world = b->world;
	struct burn_tally *all = xcalloc((size_t)world->size, sizeof(*all));
	const struct series *time;
	int slowest = 0;

	world_gather(world, &b->tally, all, sizeof(b->tally));
	for (int r = 1; r < world->size; r++)
		if (burn_outcome_tally_speed(&all[r]) < burn_outcome_tally_speed(&all[slowest]))
			slowest = r;
	time = burn_outcome_share_series(b->run, world, b->series, slowest);
	burn_outcome_record_speed(b->run, all, world->size, slowest, time);
	burn_outcome_record_counts(b->run, all, world->size);
	burn_outcome_record_energy(b);
	burn_outcome_record_verified(b->run);
	if (burn_outcome_load_of(b->run->c) < BURN_UNITS)
		burn_outcome_record_search(b->run, all, world->size);
	watch->wrong = b->tally.wrong;
	watch->rate = b->tally.work > 0 ? burn_outcome_tally_speed(&b->tally) : (double)NAN;
	watch->verified_bytes = b->tally.verified_bytes;
	free(watch->wrong_words);
	watch->wrong_words = xstrdup(b->tally.first);
	watch->events = xcalloc(b->event_count + 1, sizeof(*watch->events));
	watch->event_count = b->event_count;
	watch->event_capacity = b->event_count + 1;
	memcpy(watch->events, b->events, b->event_count * sizeof(*watch->events));
	b->event_count = 0;
	burn_outcome_tell_wrong(b->run, all, err);
	telemetry_watch_gather(world, watch, b->run->result);
	free(all);
	return err->status;
}
