/*
 * Concurrent copies between pairs of devices. Links between different pairs are independent on a
 * switch, but may not be through a host or a bridge, so each concurrent group is checked:
 *
 * 1. the first pair of all of a kind is sampled alone: the reference;
 * 2. all pairs of a group are sampled together, each on its own device's clock;
 * 3. a pair that is slower than the reference, or is of another speed altogether, is sampled alone
 *    as well. When it is faster then, that counts, and the group disturbs; else the pair is so by
 *    itself.
 *
 * After a group was found to disturb, cases of its kind run one by one.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "suites/transfer/transfer.h"

/* Direct copies between pairs only; copies through the host share it. */
bool transfer_groups_with(const void *state, const struct plan_case *const *group, size_t count,
			  const struct plan_case *other)
{
	const struct transfer_state *known = state;
	enum direction direction = (enum direction)case_integer(other, "directions");
	enum placing placing = direction_info(direction)->placing;

	return (placing == EACH_PAIR || placing == EACH_TWO) &&
	       strcmp(case_text_or(other, "access", "on"), "on") == 0 &&
	       !known->kinds[direction][transfer_plan_by_kernel(other)].disturbs &&
	       plan_may_join(group, count, other);
}

#define NOT_ALONE SIZE_MAX

struct pair_group {
	struct transfer **all;
	struct error **errs;
	size_t count;
	struct pair_kind *kind;
	/* series of the first pair alone; NOT_ALONE: the reference is from an earlier group */
	size_t alone[TIMINGS_MAX];
};

static struct bounds transfer_group_pairs_bounds_of(const struct series *s)
{
	const struct statistics *x = &s->statistics;

	return (struct bounds){ isfinite(x->low) ? x->low : x->median, x->median,
				isfinite(x->high) ? x->high : x->median };
}

/*
 * A larger difference counts as slower, or faster, whatever the intervals are: noise must not hide
 * it.
 */
#define DIFFERENT_ANYHOW 0.03

/* Beyond both intervals, and by more than the requested precision. */
static bool transfer_group_pair_is_slower(const struct transfer *t, struct bounds a,
					  struct bounds b)
{
	return a.low > b.high * (1 + t->run->sampler.rules->target) ||
	       a.median > b.median * (1 + DIFFERENT_ANYHOW);
}

static void transfer_group_rename_series(const struct transfer *t, size_t index, const char *name,
					 const char *ending)
{
	struct series *series = &t->run->result->series[index];

	free(series->name);
	series->name = xasprintf("%s%s", name, ending);
}

/* Samples the pair as NAME_alone; *index: the series. */
static enum status transfer_group_pair_sample_alone(struct transfer *t, size_t i, size_t *index,
						    struct error *err)
{
	const struct timing *timing = &t->timings[i];
	char *name = xasprintf("%s_alone", timing->name);
	const struct series *series;
	enum status status;

	*index = t->run->result->series_count;
	status = run_sample(t->run, &timing->workload, name, &series, err);
	free(name);
	return status;
}

/* Step 3: the faster of the two counts. */
static enum status transfer_group_pair_compare_with_alone(const struct pair_group *c, size_t member,
							  size_t i)
{
	struct transfer *t = c->all[member];
	struct timing *timing = &t->timings[i];
	struct bounds together = transfer_group_pairs_bounds_of(transfer_case_series(t, i));
	size_t alone = member == 0 ? c->alone[i] : NOT_ALONE;

	if (!transfer_group_pair_is_slower(t, together, c->kind->alone[i]) &&
	    fabs(together.median - c->kind->alone[i].median) <=
		    DIFFERENT_ANYHOW * c->kind->alone[i].median)
		return STATUS_OK;
	if (alone == NOT_ALONE &&
	    transfer_group_pair_sample_alone(t, i, &alone, c->errs[member]) != STATUS_OK)
		return c->errs[member]->status;
	if (!transfer_group_pair_is_slower(
		    t, together, transfer_group_pairs_bounds_of(&t->run->result->series[alone])))
		return STATUS_OK;
	timing->apart = true;
	timing->grouped = timing->series;
	timing->series = alone;
	transfer_group_rename_series(t, timing->grouped, timing->name, "_in_company");
	transfer_group_rename_series(t, alone, timing->name, "");
	c->kind->disturbs = true;
	return STATUS_OK;
}

static enum status transfer_group_pairs_sample_all(const struct pair_group *c, size_t i)
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
	status = run_sample_together(runs, workloads, PACE_COMMON, c->all[0]->timings[i].name,
				     c->count, series, errs);
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

/* One note for all its timings: the worst of them. */
static void transfer_group_pairs_add_note(const struct pair_group *c, const struct transfer *t)
{
	double kept = INFINITY, apart = INFINITY;
	bool slow = false;

	for (size_t i = 0; i < t->timing_count; i++) {
		struct bounds counts = transfer_group_pairs_bounds_of(transfer_case_series(t, i));
		struct bounds first = c->kind->alone[i];

		if (t->timings[i].apart)
			apart = fmin(apart,
				     counts.median / t->run->result->series[t->timings[i].grouped]
							     .statistics.median);
		kept = fmin(kept, first.median / counts.median);
		slow = slow || transfer_group_pair_is_slower(t, counts, first);
	}
	if (isfinite(apart))
		run_note(t->run,
			 "This pair was sampled alone; together with %zu other pairs it reaches "
			 "%.1f %% of this bandwidth.",
			 c->count - 1, 100 * apart);
	else
		run_note(t->run,
			 "This pair was sampled together with %zu other pairs; it reaches %.1f %% "
			 "of the bandwidth of %s and %s alone%s.",
			 c->count - 1, 100 * kept, c->kind->pair[0], c->kind->pair[1],
			 slow ? ", and is not faster when sampled alone" : "");
}

/* Step 1 samples the reference, for one timing. */
static enum status transfer_group_measure_timing(struct pair_group *c, size_t i)
{
	struct transfer *first = c->all[0];
	enum status status = STATUS_OK;

	c->alone[i] = NOT_ALONE;
	if (!c->kind->known) {
		status = transfer_group_pair_sample_alone(first, i, &c->alone[i], c->errs[0]);
		if (status != STATUS_OK)
			return status;
		c->kind->alone[i] =
			transfer_group_pairs_bounds_of(&first->run->result->series[c->alone[i]]);
		for (size_t end = 0; end < 2; end++)
			snprintf(c->kind->pair[end], sizeof(c->kind->pair[end]), "%.31s",
				 first->run->devices[end]->info.id);
	}
	status = transfer_group_pairs_sample_all(c, i);
	for (size_t k = 0; k < c->count && status == STATUS_OK; k++)
		status = transfer_group_pair_compare_with_alone(c, k, i);
	return status;
}

static void transfer_group_pairs_measure(struct pair_group *c)
{
	struct transfer *first = c->all[0];
	enum status status = STATUS_OK;
	const struct series *series;
	struct transfer_state *state = first->run->suite_state;

	c->kind = &state->kinds[first->direction][transfer_plan_by_kernel(first->run->c)];
	c->kind->known = c->kind->known && c->kind->bytes == first->bytes;
	for (size_t i = 0; i < first->timing_count && status == STATUS_OK; i++)
		status = c->count > 1 ? transfer_group_measure_timing(c, i)
				      : run_sample(first->run, &first->timings[i].workload,
						   first->timings[i].name, &series, c->errs[0]);
	if (status != STATUS_OK) {
		const char *message = "in a concurrent group";

		/* An error of one case fails all. */
		for (size_t i = 0; i < c->count; i++)
			if (c->errs[i]->status == status)
				message = c->errs[i]->message;
		for (size_t i = 0; i < c->count; i++)
			error_set(c->errs[i], status, "%s", message);
		return;
	}
	for (size_t i = 0; i < c->count && c->count > 1; i++)
		transfer_group_pairs_add_note(c, c->all[i]);
	if (c->count > 1) {
		c->kind->known = true;
		c->kind->bytes = first->bytes;
	}
}

void transfer_run_group(struct run *const *runs, size_t count, struct error *errs)
{
	struct transfer *all = xcalloc(count, sizeof(*all));
	struct pair_group c = { .all = xcalloc(count, sizeof(struct transfer *)),
				.errs = xcalloc(count, sizeof(struct error *)) };

	/* A case with wrong data is left out; the others continue. */
	for (size_t i = 0; i < count; i++) {
		if (transfer_case_open(&all[i], runs[i], &errs[i]) != STATUS_OK)
			continue;
		c.all[c.count] = &all[i];
		c.errs[c.count++] = &errs[i];
	}
	if (c.count > 0)
		transfer_group_pairs_measure(&c);
	for (size_t i = 0; i < c.count; i++)
		if (c.errs[i]->status == STATUS_OK)
			transfer_case_finish(c.all[i], c.errs[i]);
	for (size_t i = 0; i < count; i++)
		transfer_case_close(&all[i]);
	free(all);
	free(c.all);
	free(c.errs);
}
