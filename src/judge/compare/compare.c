#include "judge/compare/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "judge/compare/comparing.h"
#include "judge/judging.h"
#include "plan/metrics.h"

const char *change_name(enum change change)
{
	static const char *const names[CHANGE_COUNT] = { "REGRESSED", "INCONCLUSIVE", "IMPROVED",
							 "SAME", "NOT COMPARED" };

	return names[change];
}

static struct comparison_row *add_row(struct comparison *out, const struct case_result *c,
				      const char *metric, const char *unit)
{
	struct comparison_row *row;

	ARRAY_GROW(out->rows, out->count, out->capacity);
	row = &out->rows[out->count++];
	*row = (struct comparison_row){ .case_id = xstrdup(c->id),
					.point = case_point(c),
					.devices = case_devices(c),
					.devices_b = case_devices(c),
					.metric = xstrdup(metric),
					.unit = xstrdup(unit),
					.change = CHANGE_NONE,
					.a = NAN,
					.b = NAN,
					.ratio = NAN,
					.low = NAN,
					.high = NAN,
					.at_same_clock = NAN,
					.at_same_host = NAN,
					.launch_spread = NAN,
					.visit_spread = NAN,
					.probability = NAN,
					.reason = xstrdup("") };
	return row;
}

void comparison_give_reason(struct comparison_row *row, const char *side, const char *reason)
{
	free(row->reason);
	row->reason = xasprintf("%s%s%s", side, *side ? ": " : "", reason);
}

/* Mean SM clock while a case ran, over its launches; NaN: unknown. */
static double clock_of(const struct subject *s)
{
	double sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct telemetry_during *during = &s->cases[i]->during;
		/* One reading after the case says little of what it ran at. */
		double clock = during->readings ? during->sm_clock_hz.median
						: s->cases[i]->after.sm_clock_hz;

		if (clock > 0) {
			sum += clock;
			n++;
		}
	}
	return n ? sum / (double)n : NAN;
}

/* A pair that has a ratio; the rest follows when all pairs are known. */
static void add_pair(struct comparing *k, const struct comparison_row *row,
		     struct observation before, struct observation after, bool lower_is_better,
		     const struct device_info *device)
{
	ARRAY_GROW(k->pairs, k->pair_count, k->pair_capacity);
	k->pairs[k->pair_count++] = (struct compared_pair){ .row = (size_t)(row - k->out->rows),
							    .before = before,
							    .after = after,
							    .lower_is_better = lower_is_better,
							    .device = device };
}

static double most_of(const struct observation *o)
{
	double most = 0;

	for (size_t i = 0; i < o->count; i++)
		most = fmax(most, o->values[i]);
	return most;
}

/* No error, no fragmentation, on either side; false: there is something. */
static bool both_zero(const struct observation *a, const struct observation *b,
		      struct comparison_row *row)
{
	if (most_of(a) > 0 || most_of(b) > 0)
		return false;
	row->change = CHANGE_SAME;
	row->ratio = row->low = row->high = 1;
	return true;
}

/*
 * A count that rises from zero is a change although it has no ratio; false if this is no such case.
 */
static bool out_of_nothing(const struct observation *a, const struct observation *b,
			   enum better better, struct comparison_row *row)
{
	if (!a->exact || !b->exact || better != BETTER_LOWER || most_of(a) > 0)
		return false;
	row->change = CHANGE_REGRESSED;
	comparison_give_reason(row, "A", "none at all");
	return true;
}

/* False: there is nothing to compare, and the row says why. */
static bool have_ratio(const struct observation *a, const struct observation *b, enum better better,
		       struct comparison_row *row)
{
	if (b->verdict != VERDICT_PASS)
		comparison_give_reason(row, "B", b->reason);
	else if (a->verdict != VERDICT_PASS)
		comparison_give_reason(row, "A", a->reason);
	else if (both_zero(a, b, row) || out_of_nothing(a, b, better, row))
		return false;
	else if (worst_value(a->values, a->count, BETTER_HIGHER) > 0 &&
		 worst_value(b->values, b->count, BETTER_HIGHER) > 0)
		return true;
	else
		comparison_give_reason(row,
				       most_of(a) > 0 && most_of(b) > 0 ? "A or B"
				       : most_of(a) > 0                 ? "B"
									: "A",
				       "zero has no ratio");
	return false;
}

static void compare_metric(struct comparing *k, const struct subject *a, const struct subject *b,
			   const struct metric_value *m)
{
	const struct comparison_input *input = k->input;
	struct comparison_row *row = add_row(k->out, a->first, m->name, m->unit);
	struct observation before = observe(a, m->name, m->unit, input->launch_spread);
	struct observation after = observe(b, m->name, m->unit, input->launch_spread);

	row->kind = figure_kind_of(m, a->first, a->device);
	row->a = before.estimate.value;
	row->b = after.estimate.value;
	row->launches_a = before.count;
	row->launches_b = after.count;
	row->wrong = after.verdict == VERDICT_FAIL;
	/* Work done per clock: a clock that is lower by x makes everything slower by at most x. */
	row->at_same_clock = clock_of(b) / clock_of(a);
	if (have_ratio(&before, &after, m->better, row)) {
		add_pair(k, row, before, after, m->better == BETTER_LOWER, a->device);
		return;
	}
	observation_release(&before);
	observation_release(&after);
}

/* A main figure, or what would be one had it settled: that it did not is said, not left out. */
static bool is_main(const struct case_result *c, const char *name)
{
	const struct metric_value *m = case_metric(c, name);
	const struct metric *row = metric_find(name);

	return m && (m->headline || (row && row->headline && case_is_unsettled(c, m)));
}

static bool is_wanted(const struct comparison_input *input, const struct subject *a,
		      const struct subject *b, const struct metric_value *m)
{
	return m->better != BETTER_NONE &&
	       (input->all_metrics || is_main(a->first, m->name) || is_main(b->first, m->name));
}

/* The launch that says most of a case: a wrong result, an error, a skip, else the first. */
static const struct case_result *worst_case_of(const struct subject *s)
{
	static const int rank[] = {
		[CASE_OK] = 0, [CASE_SKIPPED] = 1, [CASE_ERROR] = 2, [CASE_FAILED] = 3
	};
	const struct case_result *worst = s->first;

	for (size_t i = 0; i < s->count; i++)
		if (rank[s->cases[i]->status] > rank[worst->status])
			worst = s->cases[i];
	return worst;
}

static void add_broken(struct comparison *out, const struct case_result *a,
		       const struct case_result *b)
{
	struct comparison_row *row = add_row(out, a, "", "");

	row->wrong = b->status == CASE_FAILED;
	if (b->status != CASE_OK)
		comparison_give_reason(row, "B", b->reason);
	else
		comparison_give_reason(row, "A", a->reason);
}

/*
 * A case without metrics leaves a row when it is broken on either side. One that went well and has
 * no figure of that kind (it finds out whether something works, or how much fits) has nothing to
 * compare, which is not a comparison that is missing.
 */
static void compare_case(struct comparing *k, const struct subject *a, const struct subject *b)
{
	const struct case_result *with_metrics = a->first->metric_count ? a->first : b->first;
	const struct case_result *worst_a = worst_case_of(a), *worst_b = worst_case_of(b);
	size_t rows = 0, first = k->out->count;

	if (worst_a->status == CASE_SKIPPED && worst_b->status == CASE_SKIPPED)
		return;
	for (size_t i = 0; i < with_metrics->metric_count; i++) {
		if (!is_wanted(k->input, a, b, &with_metrics->metrics[i]))
			continue;
		compare_metric(k, a, b, &with_metrics->metrics[i]);
		rows++;
	}
	if (!rows && (worst_a->status != CASE_OK || worst_b->status != CASE_OK))
		add_broken(k->out, worst_a, worst_b);
	for (size_t i = first; i < k->out->count; i++) {
		free(k->out->rows[i].devices_b);
		k->out->rows[i].devices_b = case_devices(b->first);
	}
}

static void missing(struct comparison *out, const struct subject *there, const char *where)
{
	struct comparison_row *row = add_row(out, there->first, "", "");

	if (worst_case_of(there)->status == CASE_FAILED && strcmp(where, "A") == 0)
		row->wrong = true;
	row->only_in = *where == 'A' ? 'B' : 'A';
	comparison_give_reason(row, where, "does not have this case");
}

static enum status compare_cases(struct comparing *k, struct error *err)
{
	const struct comparison_input *input = k->input;
	struct subjects a, b;
	enum status status;
	bool *taken;

	subjects_collect(&a, input->a, input->a_count);
	subjects_collect(&b, input->b, input->b_count);
	taken = xcalloc(b.count + 1, sizeof(*taken));
	for (size_t i = 0; i < a.count; i++) {
		const struct subject *other = compared_subject(input, &a.items[i], &b, i);

		if (!other) {
			missing(k->out, &a.items[i], "B");
			continue;
		}
		taken[other - b.items] = true;
		compare_case(k, &a.items[i], other);
	}
	for (size_t i = 0; i < b.count; i++)
		if (!taken[i])
			missing(k->out, &b.items[i], "A");
	free(taken);
	compare_resemblance(k);
	status = compare_pairs(k, err);
	compare_hosts(k);
	for (size_t i = 0; i < k->pair_count; i++) {
		observation_release(&k->pairs[i].before);
		observation_release(&k->pairs[i].after);
	}
	free(k->pairs);
	subjects_release(&a);
	subjects_release(&b);
	return status;
}

/*
 * Wrong results, memory errors and lost devices of the new side, as `check` finds them without any
 * limit.
 */
static void find_faults(const struct comparison_input *input, struct comparison *out)
{
	const struct judge_input judged = { .results = input->b, .count = input->b_count };
	struct verdicts verdicts = { 0 };

	judge_run(&judged, &verdicts);
	for (size_t i = 0; i < verdicts.count; i++) {
		const struct verdict_check *check = &verdicts.checks[i];

		if (!check->wrong)
			continue;
		ARRAY_GROW(out->faults, out->fault_count, out->fault_capacity);
		out->faults[out->fault_count++] =
			xasprintf("%s%s%s", check->case_id, *check->case_id ? ": " : "",
				  check->reason);
	}
	verdicts_release(&verdicts);
}

bool compare_taken_in_turns(const struct result *a, const struct result *b)
{
	/* A run compared with itself took no turns. */
	if (!a->run_id || !b->run_id || strcmp(a->run_id, b->run_id) == 0)
		return false;
	return a->started && b->started && a->finished && b->finished &&
	       strcmp(a->started, b->finished) < 0 && strcmp(b->started, a->finished) < 0 &&
	       judge_same_machine(a, b);
}

enum status compare_results(const struct comparison_input *input, struct comparison *out,
			    struct error *err)
{
	struct comparing k = { .input = input, .out = out };

	*out = (struct comparison){ .margin = input->margin,
				    .turns = input->turns,
				    .host_ratio = NAN,
				    .host_finding = xstrdup(""),
				    .resemblance = NAN };
	compare_environments(input, out);
	if (compare_cases(&k, err) != STATUS_OK) {
		comparison_release(out);
		return err->status;
	}
	find_faults(input, out);
	compare_whole(out);
	return STATUS_OK;
}

void comparison_release(struct comparison *c)
{
	for (size_t i = 0; i < c->count; i++) {
		free(c->rows[i].case_id);
		free(c->rows[i].point);
		free(c->rows[i].devices);
		free(c->rows[i].devices_b);
		free(c->rows[i].metric);
		free(c->rows[i].unit);
		free(c->rows[i].reason);
	}
	for (size_t i = 0; i < c->difference_count; i++) {
		free(c->differences[i].name);
		free(c->differences[i].a);
		free(c->differences[i].b);
	}
	for (size_t i = 0; i < c->fault_count; i++)
		free(c->faults[i]);
	free(c->faults);
	for (size_t i = 0; i < c->yardstick_count; i++) {
		free(c->yardstick[i].name);
		free(c->yardstick[i].unit);
	}
	free(c->yardstick);
	free(c->host_finding);
	free(c->rows);
	free(c->differences);
	free(c->sentence);
	free(c->advice);
	memset(c, 0, sizeof(*c));
}
