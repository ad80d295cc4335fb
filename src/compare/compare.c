#include "compare/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "compare/comparing.h"
#include "judge/judging.h"
#include "plan/metrics.h"

const char *const change_names[CHANGE_COUNT + 1] = { "REGRESSED", "INCONCLUSIVE", "IMPROVED",
						     "UNCHANGED", "NOT COMPARED", NULL };

const char *compare_change_name(enum change change)
{
	return change_names[change];
}

static struct comparison_row *comparison_append_row(struct comparison *out,
						    const struct case_result *c, const char *metric,
						    const char *unit)
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
					.margin = NAN,
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

/* Mean SM clock during a case, over its launches; NaN: unknown. */
static double compare_subject_mean_clock(const struct subject *s)
{
	double sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct telemetry_during *during = &s->cases[i]->during;
		/* A single reading after the case does not represent the clock during it. */
		double clock = during->readings ? during->sm_clock_hz.median
						: s->cases[i]->after.sm_clock_hz;

		if (clock > 0) {
			sum += clock;
			n++;
		}
	}
	return n ? sum / (double)n : NAN;
}

static double compare_most_of(const struct observation *o)
{
	double most = 0;

	for (size_t i = 0; i < o->count; i++)
		most = fmax(most, o->values[i]);
	return most;
}

/* False if there is nothing to compare; the row then holds the reason. */
static bool compare_have_ratio(const struct comparison *out, const struct observation *a,
			       const struct observation *b, enum better better,
			       struct comparison_row *row)
{
	bool zero_a = compare_most_of(a) <= 0, zero_b = compare_most_of(b) <= 0;

	if (b->verdict != VERDICT_PASS)
		comparison_give_reason(row, out->name_b, b->reason);
	else if (a->verdict != VERDICT_PASS)
		comparison_give_reason(row, out->name_a, a->reason);
	else if (zero_a && zero_b) {
		/* No errors, no fragmentation. */
		row->change = CHANGE_UNCHANGED;
		row->ratio = row->low = row->high = 1;
	} else if (zero_a && a->exact && b->exact && better == BETTER_LOWER) {
		/* A count that rises from zero is a change although it has no ratio. */
		row->change = CHANGE_REGRESSED;
		comparison_give_reason(row, out->name_a, "has a value of zero");
	} else if (figure_kind_worst_value(a->values, a->count, BETTER_HIGHER) > 0 &&
		   figure_kind_worst_value(b->values, b->count, BETTER_HIGHER) > 0)
		return true;
	else
		comparison_give_reason(row,
				       !zero_a && !zero_b ? ""
				       : zero_a           ? out->name_a
							  : out->name_b,
				       "has a value of zero, so there is no ratio");
	return false;
}

static void compare_metric(struct comparing *k, const struct subject *a, const struct subject *b,
			   const struct metric_value *m)
{
	const struct comparison_input *input = k->input;
	struct comparison_row *row =
		comparison_append_row(k->out, a->first, m->name, case_metric_unit(a->first, m));
	struct observation before = observation_make(a, m->name, m->unit, input->launch_spread);
	struct observation after = observation_make(b, m->name, m->unit, input->launch_spread);

	row->kind = figure_kind_of(m, a->first, a->device);
	row->a = before.estimate.value;
	row->b = after.estimate.value;
	row->launches_a = before.count;
	row->launches_b = after.count;
	row->wrong = after.verdict == VERDICT_FAIL;
	/* Corrects for the clock: a clock lower by x slows work down by at most x. */
	row->at_same_clock = compare_subject_mean_clock(b) / compare_subject_mean_clock(a);
	if (compare_have_ratio(k->out, &before, &after, m->better, row)) {
		/* Intervals and verdicts follow when all pairs are known. */
		ARRAY_GROW(k->pairs, k->pair_count, k->pair_capacity);
		k->pairs[k->pair_count++] =
			(struct compared_pair){ .row = (size_t)(row - k->out->rows),
						.before = before,
						.after = after,
						.lower_is_better = m->better == BETTER_LOWER,
						.device = a->device };
		return;
	}
	observation_release(&before);
	observation_release(&after);
}

/*
 * True for a headline metric, and for one that would be a headline had it settled: the row then
 * says so.
 */
static bool compare_is_main(const struct case_result *c, const char *name)
{
	const struct metric_value *m = case_metric(c, name);
	const struct metric *row = schema_metric_find(name);

	return m && (m->headline || (row && row->headline && case_is_unsettled(c, m)));
}

/* The most informative launch of a case: a wrong result, an error, a skip, else the first. */
static const struct case_result *compare_worst_case_of(const struct subject *s)
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

/*
 * Adds a row for a case without metrics only if it is broken on either side. A case that succeeded
 * without a metric of that kind (it tests whether something works, or how much fits) has nothing to
 * compare and is not a missing comparison.
 */
static void compare_case(struct comparing *k, const struct subject *a, const struct subject *b)
{
	const struct case_result *with_metrics = a->first->metric_count ? a->first : b->first;
	const struct case_result *worst_a = compare_worst_case_of(a),
				 *worst_b = compare_worst_case_of(b);
	size_t rows = 0, first = k->out->count;

	if (worst_a->status == CASE_SKIPPED && worst_b->status == CASE_SKIPPED)
		return;
	for (size_t i = 0; i < with_metrics->metric_count; i++) {
		const struct metric_value *m = &with_metrics->metrics[i];

		if (m->better == BETTER_NONE ||
		    (!k->input->all_metrics && !compare_is_main(a->first, m->name) &&
		     !compare_is_main(b->first, m->name)))
			continue;
		compare_metric(k, a, b, m);
		rows++;
	}
	if (!rows && (worst_a->status != CASE_OK || worst_b->status != CASE_OK)) {
		struct comparison_row *row = comparison_append_row(k->out, worst_a, "", "");
		bool of_b = worst_b->status != CASE_OK;

		row->wrong = worst_b->status == CASE_FAILED;
		comparison_give_reason(row, of_b ? k->out->name_b : k->out->name_a,
				       of_b ? worst_b->reason : worst_a->reason);
	}
	for (size_t i = first; i < k->out->count; i++) {
		free(k->out->rows[i].devices_b);
		k->out->rows[i].devices_b = case_devices(b->first);
	}
}

static void compare_add_missing(struct comparison *out, const struct subject *there, char where)
{
	struct comparison_row *row = comparison_append_row(out, there->first, "", "");

	if (compare_worst_case_of(there)->status == CASE_FAILED && where == 'A')
		row->wrong = true;
	row->only_in = where == 'A' ? 'B' : 'A';
	comparison_give_reason(row, where == 'A' ? out->name_a : out->name_b,
			       "does not have this case");
}

static enum status compare_cases(struct comparing *k, struct error *err)
{
	const struct comparison_input *input = k->input;
	struct subjects a, b;
	enum status status;
	bool *taken;

	observation_subjects_collect(&a, input->a, input->a_count);
	observation_subjects_collect(&b, input->b, input->b_count);
	taken = xcalloc(b.count + 1, sizeof(*taken));
	for (size_t i = 0; i < a.count; i++) {
		const struct subject *other = compared_subject(input, &a.items[i], &b, i);

		if (!other) {
			compare_add_missing(k->out, &a.items[i], 'B');
			continue;
		}
		taken[other - b.items] = true;
		compare_case(k, &a.items[i], other);
	}
	for (size_t i = 0; i < b.count; i++)
		if (!taken[i])
			compare_add_missing(k->out, &b.items[i], 'A');
	free(taken);
	compare_pair_resemblance(k);
	status = compare_pairs(k, err);
	compare_hosts(k);
	for (size_t i = 0; i < k->pair_count; i++) {
		observation_release(&k->pairs[i].before);
		observation_release(&k->pairs[i].after);
	}
	free(k->pairs);
	observation_subjects_release(&a);
	observation_subjects_release(&b);
	return status;
}

/*
 * Wrong results, uncorrected memory errors and Xid errors of the new side, as `check` finds them
 * without any limit.
 */
static void compare_find_faults(const struct comparison_input *input, struct comparison *out)
{
	const struct judge_input judged = { .results = input->b, .count = input->b_count };
	struct verdicts verdicts = { 0 };

	judge_run_findings(&judged, &verdicts);
	for (size_t i = 0; i < verdicts.count; i++) {
		const struct verdict_check *check = &verdicts.checks[i];

		if (!verdict_check_is_data_fault(check) && check->cause != CAUSE_GPU_CRITICAL_ERROR)
			continue;
		out->data_fault = out->data_fault || verdict_check_is_data_fault(check);
		ARRAY_GROW(out->faults, out->fault_count, out->fault_capacity);
		out->faults[out->fault_count++] =
			xasprintf("%s%s%s", check->case_id, *check->case_id ? ": " : "",
				  check->reason);
	}
	verdicts_release(&verdicts);
}

bool compare_taken_in_turns(const struct result *a, const struct result *b)
{
	/* A run compared with itself was not interleaved. */
	if (!a->run_id || !b->run_id || strcmp(a->run_id, b->run_id) == 0)
		return false;
	return a->started && b->started && a->finished && b->finished &&
	       strcmp(a->started, b->finished) < 0 && strcmp(b->started, a->finished) < 0 &&
	       judge_same_machine(a, b);
}

/* True for the same run, whatever the files are called. A copy with other values is another run. */
static bool compare_is_same_run(const struct result *a, const struct result *b)
{
	if (!a->run_id || !*a->run_id || !b->run_id || strcmp(a->run_id, b->run_id) != 0 ||
	    a->case_count != b->case_count)
		return false;
	for (size_t i = 0; i < a->case_count; i++) {
		const struct case_result *p = &a->cases[i], *q = &b->cases[i];

		if (strcmp(p->id, q->id) != 0 || p->status != q->status ||
		    p->metric_count != q->metric_count)
			return false;
		for (size_t k = 0; k < p->metric_count; k++)
			if (p->metrics[k].value != q->metrics[k].value)
				return false;
	}
	return true;
}

enum status compare_results(const struct comparison_input *input, struct comparison *out,
			    struct error *err)
{
	struct comparing k = { .input = input, .out = out };

	*out = (struct comparison){ .margin = input->margin > 0 ? input->margin : COMPARE_MARGIN,
				    .automatic = !(input->margin > 0),
				    .name_a = xstrdup(input->name_a ? input->name_a : "A"),
				    .name_b = xstrdup(input->name_b ? input->name_b : "B"),
				    .session_shift = NAN,
				    .turns = input->turns,
				    .host_ratio = NAN,
				    .host_finding = xstrdup(""),
				    .resemblance = NAN };
	for (size_t i = 0; i < input->a_count; i++)
		for (size_t j = 0; j < input->b_count; j++)
			out->same_run |= compare_is_same_run(&input->a[i], &input->b[j]);
	compare_environments(input, out);
	if (!out->same_run && compare_cases(&k, err) != STATUS_OK) {
		compare_json_comparison_release(out);
		return err->status;
	}
	compare_find_faults(input, out);
	compare_whole(out);
	return STATUS_OK;
}

static const struct device_info *compare_by_uuid(const struct result *result, const char *uuid)
{
	for (size_t i = 0; *uuid && i < result->device_count; i++)
		if (strcmp(result->devices[i].uuid, uuid) == 0)
			return &result->devices[i];
	return NULL;
}

const char *compared_device(const struct result *a, const struct result *b, const char *id)
{
	const struct device_info *device = result_device(a, id);
	const struct device_info *same = device ? compare_by_uuid(b, device->uuid) : NULL;
	const struct device_info *namesake = result_device(b, id);

	if (same)
		return same->id;
	return namesake && compare_by_uuid(a, namesake->uuid) ? NULL : id;
}

static bool compare_same_devices(const struct comparison_input *input, const struct case_result *a,
				 const struct case_result *b)
{
	if (a->device_count != b->device_count)
		return false;
	for (size_t i = 0; i < a->device_count; i++) {
		const char *id = compared_device(input->a, input->b, a->devices[i]);

		if (!id || strcmp(id, b->devices[i]) != 0)
			return false;
	}
	return true;
}

const struct subject *compared_subject(const struct comparison_input *input,
				       const struct subject *a, const struct subjects *b,
				       size_t expected)
{
	const struct case_result *c = a->first;

	/* Usually both sides have the same order of cases. */
	if (expected < b->count && strcmp(b->items[expected].first->id, c->id) == 0 &&
	    compare_same_devices(input, c, b->items[expected].first))
		return &b->items[expected];
	for (size_t i = 0; i < b->count; i++)
		if ((strcmp(b->items[i].first->id, c->id) == 0 ||
		     cases_share_point(c, b->items[i].first)) &&
		    compare_same_devices(input, c, b->items[i].first))
			return &b->items[i];
	return NULL;
}
