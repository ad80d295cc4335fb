#include "judge/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "judge/judging.h"
#include "judge/observation.h"
#include "judge/rank.h"

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
					.metric = xstrdup(metric),
					.unit = xstrdup(unit),
					.change = CHANGE_NONE,
					.a = NAN,
					.b = NAN,
					.ratio = NAN,
					.low = NAN,
					.high = NAN,
					.normalised = NAN,
					.reason = xstrdup("") };
	return row;
}

static void give_reason(struct comparison_row *row, const char *side, const char *reason)
{
	free(row->reason);
	row->reason = xasprintf("%s: %s", side, reason);
}

/* Mean SM clock of a case over its launches; NaN: unknown. */
static double clock_of(const struct subject *s)
{
	double sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < s->count; i++) {
		double clock = s->cases[i]->after.sm_clock_hz;

		if (clock > 0) {
			sum += clock;
			n++;
		}
	}
	return n ? sum / (double)n : NAN;
}

static double *logs_of(const struct observation *o, bool lower_is_better)
{
	double *logs = xcalloc(o->count, sizeof(*logs));

	/* Turned so that more is worse. */
	for (size_t i = 0; i < o->count; i++)
		logs[i] = lower_is_better ? log(o->values[i]) : -log(o->values[i]);
	return logs;
}

static enum change word_for(double low, double high, double margin)
{
	if (low > 1 + margin)
		return CHANGE_REGRESSED;
	if (high < 1 - margin)
		return CHANGE_IMPROVED;
	return low >= 1 - margin && high <= 1 + margin ? CHANGE_SAME : CHANGE_INCONCLUSIVE;
}

static void compare_values(const struct comparison_input *input, const struct observation *a,
			   const struct observation *b, bool lower_is_better,
			   struct comparison_row *row)
{
	double *before = logs_of(a, lower_is_better), *after = logs_of(b, lower_is_better);
	double shift, low, high, half;

	if (!shift_between(before, a->count, after, b->count, &shift, &low, &high)) {
		row->possible = true;
		half = hypot(a->estimate.half_both, b->estimate.half_both);
		low = shift - half;
		high = shift + half;
	}
	row->ratio = exp(shift);
	row->low = exp(low);
	row->high = exp(high);
	row->change = word_for(row->low, row->high, input->margin);
	free(before);
	free(after);
}

/* No error, no fragmentation, on either side. */
static void compare_zeros(const struct observation *a, const struct observation *b,
			  struct comparison_row *row)
{
	double most = 0;

	for (size_t i = 0; i < a->count; i++)
		most = fmax(most, a->values[i]);
	for (size_t i = 0; i < b->count; i++)
		most = fmax(most, b->values[i]);
	row->possible = a->count < 4 || b->count < 4;
	if (most > 0) {
		give_reason(row, "A and B", "zero in most launches, and zero has no ratio");
		return;
	}
	row->change = CHANGE_SAME;
	row->ratio = row->low = row->high = 1;
}

static void compare_metric(const struct comparison_input *input, const struct subject *a,
			   const struct subject *b, const struct metric_value *m,
			   struct comparison *out)
{
	struct comparison_row *row = add_row(out, a->first, m->name, m->unit);
	struct observation before = observe(a, m->name, m->unit, input->launch_spread);
	struct observation after = observe(b, m->name, m->unit, input->launch_spread);

	row->a = before.estimate.value;
	row->b = after.estimate.value;
	row->launches_a = before.count;
	row->launches_b = after.count;
	row->wrong = after.verdict == VERDICT_FAIL;
	if (after.verdict != VERDICT_PASS)
		give_reason(row, "B", after.reason);
	else if (before.verdict != VERDICT_PASS)
		give_reason(row, "A", before.reason);
	else if (row->a == 0 && row->b == 0)
		compare_zeros(&before, &after, row);
	else if (!(row->a > 0 && row->b > 0))
		give_reason(row, row->a > 0 ? "B" : "A", "zero has no ratio");
	else
		compare_values(input, &before, &after, m->better == BETTER_LOWER, row);
	/* Work done per clock: a clock that is lower by x makes everything slower by at most x. */
	row->normalised = row->ratio * clock_of(b) / clock_of(a);
	observation_release(&before);
	observation_release(&after);
}

static bool is_wanted(const struct comparison_input *input, const struct metric_value *m)
{
	return m->better != BETTER_NONE && (m->headline || input->all_metrics);
}

/* The launch that says most of a case: a wrong result, an error, a skip, else the first. */
static const struct case_result *gravest(const struct subject *s)
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
		give_reason(row, "B", b->reason);
	else
		give_reason(row, "A", a->reason);
}

/*
 * A case without metrics leaves a row when it is broken on either side. One that went well and has no figure of that kind
 * (it finds out whether something works, or how much fits) has nothing to compare, which is not a comparison that is missing.
 */
static void compare_case(const struct comparison_input *input, const struct subject *a,
			 const struct subject *b, struct comparison *out)
{
	const struct case_result *with_metrics = a->first->metric_count ? a->first : b->first;
	const struct case_result *worst_a = gravest(a), *worst_b = gravest(b);
	size_t rows = 0;

	if (worst_a->status == CASE_SKIPPED && worst_b->status == CASE_SKIPPED)
		return;
	for (size_t i = 0; i < with_metrics->metric_count; i++) {
		if (!is_wanted(input, &with_metrics->metrics[i]))
			continue;
		compare_metric(input, a, b, &with_metrics->metrics[i], out);
		rows++;
	}
	if (!rows && (worst_a->status != CASE_OK || worst_b->status != CASE_OK))
		add_broken(out, worst_a, worst_b);
}

static void missing(struct comparison *out, const struct subject *there, const char *where)
{
	struct comparison_row *row = add_row(out, there->first, "", "");

	if (gravest(there)->status == CASE_FAILED && strcmp(where, "A") == 0)
		row->wrong = true;
	give_reason(row, where, "does not have this case");
}

static void compare_cases(const struct comparison_input *input, struct comparison *out)
{
	struct subjects a, b;

	subjects_collect(&a, input->a, input->a_count);
	subjects_collect(&b, input->b, input->b_count);
	for (size_t i = 0; i < a.count; i++) {
		const struct subject *other = subjects_find(&b, a.items[i].first->id);

		if (other)
			compare_case(input, &a.items[i], other, out);
		else
			missing(out, &a.items[i], "B");
	}
	for (size_t i = 0; i < b.count; i++)
		if (!subjects_find(&a, b.items[i].first->id))
			missing(out, &b.items[i], "A");
	subjects_release(&a);
	subjects_release(&b);
}

/* Wrong results, memory errors and lost devices of the new side, as `check` finds them without any limit. */
static void find_faults(const struct comparison_input *input, struct comparison *out)
{
	const struct judge_input judged = { .results = input->b, .count = input->b_count };
	struct verdicts verdicts = { 0 };

	judge_run(&judged, &verdicts);
	for (size_t i = 0; i < verdicts.count; i++) {
		const struct check *check = &verdicts.checks[i];

		if (!check->wrong)
			continue;
		ARRAY_GROW(out->faults, out->fault_count, out->fault_capacity);
		out->faults[out->fault_count++] =
			xasprintf("%s%s%s", check->case_id, *check->case_id ? ": " : "",
				  check->reason);
	}
	verdicts_release(&verdicts);
}

/* The worst change first; within a word, the largest ratio. */
static int by_weight(const void *a, const void *b)
{
	const struct comparison_row *p = a, *q = b;
	double x = isnan(p->ratio) ? 0 : p->ratio, y = isnan(q->ratio) ? 0 : q->ratio;

	if (p->wrong != q->wrong)
		return p->wrong ? -1 : 1;
	if (p->change != q->change)
		return p->change < q->change ? -1 : 1;
	if (x != y)
		return x > y ? -1 : 1;
	return strcmp(p->case_id, q->case_id);
}

static char *sentence(const struct comparison *c)
{
	static const char *const words[CHANGE_COUNT] = { "regressed", "inconclusive", "improved",
							 "the same", "not compared" };
	struct text out = TEXT_EMPTY;

	text_addf(&out, "%zu comparison%s", c->count, c->count == 1 ? "" : "s");
	for (int i = 0; i < CHANGE_COUNT; i++)
		if (c->counts[i])
			text_addf(&out, "%s %zu %s", i && strchr(out.data, ':') ? "," : ":",
				  c->counts[i], words[i]);
	if (c->possible)
		text_addf(&out, " (%zu of them only possible: fewer than four launches)",
			  c->possible);
	return text_detach(&out);
}

void compare_results(const struct comparison_input *input, struct comparison *out)
{
	*out = (struct comparison){ .margin = input->margin };
	compare_environments(input, out);
	compare_cases(input, out);
	find_faults(input, out);
	if (out->count)
		qsort(out->rows, out->count, sizeof(*out->rows), by_weight);
	for (size_t i = 0; i < out->count; i++) {
		const struct comparison_row *row = &out->rows[i];

		out->counts[row->change]++;
		out->possible += row->possible && (row->change == CHANGE_REGRESSED ||
						   row->change == CHANGE_IMPROVED);
	}
	out->sentence = sentence(out);
}

int comparison_gate(const struct comparison *c)
{
	bool regressed = false, open = c->count == 0;

	if (c->fault_count)
		return 5;
	for (size_t i = 0; i < c->count; i++) {
		const struct comparison_row *row = &c->rows[i];

		if (row->wrong)
			return 5;
		if (row->change == CHANGE_REGRESSED && !row->possible)
			regressed = true;
		else if (row->change == CHANGE_NONE || row->possible || row->high > 1 + c->margin)
			open = open || row->change != CHANGE_SAME;
	}
	return regressed ? 1 : open ? 4 : 0;
}

void comparison_release(struct comparison *c)
{
	for (size_t i = 0; i < c->count; i++) {
		free(c->rows[i].case_id);
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
	free(c->rows);
	free(c->differences);
	free(c->sentence);
	memset(c, 0, sizeof(*c));
}
