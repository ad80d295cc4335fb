/*
 * Pairs of devices that copy at the same time, because links between different devices carry their data at the same
 * time: on a switch they do, through a host or a bridge they may not. So each company is its own check:
 *
 * 1. the first pair alone;
 * 2. all pairs together, each on its own device's clock;
 * 3. a pair that is slower in company than the first one alone is sampled alone as well: what it has then counts when
 *    it is faster, and the company disturbs; else the pair is slow by itself.
 *
 * Once a company was found to disturb, cases of its kind run one by one for the rest of the process.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "suites/transfer/transfer.h"

/* The kind of case whose companies disturb; by its direction and engine, which decide about the way. */
static bool disturbs[DIRECTION_COUNT][2];

static bool same_parameters(const struct plan_case *a, const struct plan_case *b)
{
	if (a->parameter_count != b->parameter_count)
		return false;
	for (size_t i = 0; i < a->parameter_count; i++)
		if (a->parameters[i].key != b->parameters[i].key ||
		    strcmp(a->parameters[i].value->text, b->parameters[i].value->text) != 0)
			return false;
	return true;
}

static bool direct(const struct plan_case *c)
{
	for (size_t i = 0; i < c->parameter_count; i++)
		if (strcmp(c->parameters[i].key->name, "access") == 0)
			return strcmp(c->parameters[i].value->text, "on") == 0;
	return true;
}

/* Between pairs, directly; copies through the host share it. */
bool transfer_joins(const struct plan_case *c, const struct plan_case *other)
{
	enum direction direction = (enum direction)case_integer(c, "directions");
	enum placing placing = direction_info(direction)->placing;

	return (placing == EACH_PAIR || placing == EACH_TWO) && direct(c) && !other->skip_reason &&
	       !disturbs[direction][transfer_by_kernel(c)] && same_parameters(c, other);
}

struct company {
	struct transfer **all;
	struct error **errs;
	size_t count;
	size_t alone[TIMINGS_MAX]; /* series of the first pair alone */
};

static const struct series *series_at(const struct transfer *t, size_t index)
{
	return &t->run->result->series[index];
}

static double upper(const struct series *s)
{
	return isfinite(s->statistics.high) ? s->statistics.high : s->statistics.median;
}

static double lower(const struct series *s)
{
	return isfinite(s->statistics.low) ? s->statistics.low : s->statistics.median;
}

/* By more than this it is slower whatever the intervals say: noise must not hide it. */
#define SLOWER_ANYHOW 0.03

/* Beyond both intervals, and by more than the precision that was asked for. */
static bool slower(const struct transfer *t, const struct series *a, const struct series *b)
{
	return lower(a) > upper(b) * (1 + t->run->sampler.rules->target) ||
	       a->statistics.median > b->statistics.median * (1 + SLOWER_ANYHOW);
}

static void rename_series(const struct transfer *t, size_t index, const char *name,
			  const char *ending)
{
	struct series *series = &t->run->result->series[index];

	free(series->name);
	series->name = xasprintf("%s%s", name, ending);
}

/* Samples it as NAME_alone; *index: the series. */
static enum status sample_alone(struct transfer *t, size_t i, size_t *index, struct error *err)
{
	struct timing *timing = &t->timings[i];
	size_t kept = timing->series;
	char *name = xasprintf("%s_alone", timing->name);
	enum status status = transfer_sample(t, i, name, err);

	free(name);
	*index = timing->series;
	timing->series = kept;
	return status;
}

/* The faster of the two counts: step 3. */
static enum status compare(const struct company *c, size_t member, size_t i)
{
	struct transfer *t = c->all[member];
	struct timing *timing = &t->timings[i];
	size_t alone = c->alone[i];

	if (!slower(t, series_at(t, timing->series), series_at(c->all[0], c->alone[i])))
		return STATUS_OK;
	if (member > 0 && sample_alone(t, i, &alone, c->errs[member]) != STATUS_OK)
		return c->errs[member]->status;
	if (!slower(t, series_at(t, timing->series), series_at(t, alone)))
		return STATUS_OK;
	timing->apart = true;
	timing->company = timing->series;
	timing->series = alone;
	rename_series(t, timing->company, timing->name, "_in_company");
	rename_series(t, alone, timing->name, "");
	disturbs[t->direction][transfer_by_kernel(t->run->c)] = true;
	return STATUS_OK;
}

static enum status sample_all(const struct company *c, size_t i)
{
	struct run **runs = xcalloc(c->count, sizeof(struct run *));
	struct workload *workloads = xcalloc(c->count, sizeof(*workloads));
	const struct series **series = xcalloc(c->count, sizeof(struct series *));
	struct error *errs = xcalloc(c->count, sizeof(*errs));
	enum status status;

	for (size_t k = 0; k < c->count; k++) {
		runs[k] = c->all[k]->run;
		workloads[k] = c->all[k]->timings[i].workload;
	}
	status = run_sample_together(runs, workloads, c->all[0]->timings[i].name, c->count, series,
				     errs);
	for (size_t k = 0; k < c->count; k++) {
		c->all[k]->timings[i].series = (size_t)(series[k] - runs[k]->result->series);
		if (errs[k].status != STATUS_OK)
			error_set(c->errs[k], errs[k].status, "%s", errs[k].message);
	}
	free(runs);
	free(workloads);
	free(series);
	free(errs);
	return status;
}

static double per_cent(const struct series *whole, const struct series *part)
{
	return 100 * whole->statistics.median / part->statistics.median;
}

/* Once for all its timings: the worst of them. */
static void add_note(const struct company *c, const struct transfer *t)
{
	struct device *const *pair = c->all[0]->run->devices;
	double kept = INFINITY, apart = INFINITY;
	bool slow = false;

	for (size_t i = 0; i < t->timing_count; i++) {
		const struct series *first = series_at(c->all[0], c->alone[i]);
		const struct series *counts = transfer_series(t, i);

		if (t->timings[i].apart)
			apart = fmin(apart,
				     per_cent(counts, series_at(t, t->timings[i].company)));
		kept = fmin(kept, per_cent(first, counts));
		slow = slow || slower(t, counts, first);
	}
	if (isfinite(apart))
		run_note(t->run,
			 "Sampled alone: together with %zu other pairs it has %.1f %% of that.",
			 c->count - 1, apart);
	else
		run_note(t->run,
			 "Sampled together with %zu other pairs; it has %.1f %% of what %s and %s "
			 "have alone%s.",
			 c->count - 1, kept, pair[0]->info.id, pair[1]->info.id,
			 slow ? ", and no more by itself" : "");
}

static enum status measure_timing(struct company *c, size_t i)
{
	enum status status = sample_alone(c->all[0], i, &c->alone[i], c->errs[0]);

	if (status == STATUS_OK)
		status = sample_all(c, i);
	for (size_t k = 0; k < c->count && status == STATUS_OK; k++)
		status = compare(c, k, i);
	return status;
}

/* What stopped one stops all. */
static void fail_all(const struct company *c, enum status status)
{
	const char *message = "in company";

	for (size_t i = 0; i < c->count; i++)
		if (c->errs[i]->status == status)
			message = c->errs[i]->message;
	for (size_t i = 0; i < c->count; i++)
		error_set(c->errs[i], status, "%s", message);
}

static void measure(struct company *c)
{
	enum status status = STATUS_OK;

	for (size_t i = 0; i < c->all[0]->timing_count && status == STATUS_OK; i++)
		status = c->count > 1 ? measure_timing(c, i)
				      : transfer_sample(c->all[0], i, c->all[0]->timings[i].name,
							c->errs[0]);
	if (status != STATUS_OK)
		fail_all(c, status);
	for (size_t i = 0; i < c->count && c->count > 1 && status == STATUS_OK; i++)
		add_note(c, c->all[i]);
}

void transfer_run_company(struct run *const *runs, size_t count, struct error *errs)
{
	struct transfer *all = xcalloc(count, sizeof(*all));
	struct company c = { .all = xcalloc(count, sizeof(struct transfer *)),
			     .errs = xcalloc(count, sizeof(struct error *)) };

	/* One whose data are wrong is out; the rest goes on. */
	for (size_t i = 0; i < count; i++) {
		if (transfer_open(&all[i], runs[i], &errs[i]) != STATUS_OK)
			continue;
		c.all[c.count] = &all[i];
		c.errs[c.count++] = &errs[i];
	}
	if (c.count > 0)
		measure(&c);
	for (size_t i = 0; i < c.count; i++)
		if (c.errs[i]->status == STATUS_OK)
			transfer_finish(c.all[i], c.errs[i]);
	for (size_t i = 0; i < count; i++)
		transfer_close(&all[i]);
	free(all);
	free(c.all);
	free(c.errs);
}
