/* One figure of both sides: its interval, its word, and how clear a change it is. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "history/history_spread.h"
#include "judge/compare/comparing.h"
#include "judge/compare/shift.h"

#define FEWEST_NIGHTS \
	8 /* that say more of the spread between visits than the kind of figure does */

double *compared_logs(const struct observation *o, bool lower_is_better)
{
	double *logs = xcalloc(o->count, sizeof(*logs));

	for (size_t i = 0; i < o->count; i++)
		logs[i] = lower_is_better ? log(o->values[i]) : -log(o->values[i]);
	return logs;
}

static const char *machine_of(const struct comparing *k, const struct compared_pair *p)
{
	if (p->device && *p->device->uuid)
		return p->device->uuid;
	return result_fact(&k->input->b[0], "hostname");
}

/* Between visits: assumed by the kind of figure, or what nights differ by beyond their launches. */
static enum status find_visit_spread(const struct comparing *k, const struct compared_pair *p,
				     double launches, struct comparison_row *row, struct error *err)
{
	const char *machine = machine_of(k, p);
	struct night_spread nights;
	double n = (double)p->after.count;

	row->visit_spread = figure_visit_spread(row->kind);
	if (!k->input->history || !machine)
		return STATUS_OK;
	if (history_spread(k->input->history, row->metric, row->case_id, machine, &nights, err) !=
	    STATUS_OK)
		return err->status;
	if (nights.nights < FEWEST_NIGHTS || isnan(nights.ratio))
		return STATUS_OK;
	row->visit_nights = nights.nights;
	row->visit_spread = sqrt(fmax(0, nights.ratio * nights.ratio - launches * launches / n));
	return STATUS_OK;
}

enum change change_of_shift(const struct shift *s, double margin)
{
	double worse = log1p(margin), better = log1p(-margin);

	if (s->low > worse)
		return CHANGE_REGRESSED;
	if (s->high < better)
		return CHANGE_IMPROVED;
	return s->low_each >= better && s->high_each <= worse ? CHANGE_SAME : CHANGE_INCONCLUSIVE;
}

double change_probability(const struct shift *s, double margin, enum change change)
{
	const struct shift turned = {
		.value = -s->value, .shown = s->shown, .error = s->error, .freedom = s->freedom
	};

	if (change == CHANGE_REGRESSED)
		return shift_probability_above(s, log1p(margin));
	return change == CHANGE_IMPROVED ? shift_probability_above(&turned, -log1p(-margin)) : NAN;
}

static void take_shift(const struct comparing *k, const struct shift *s, struct comparison_row *row)
{
	double margin = k->input->margin;

	row->ratio = exp(s->value);
	row->low = exp(s->low);
	row->high = exp(s->high);
	row->change = change_of_shift(s, margin);
	row->probability = change_probability(s, margin, row->change);
	if (row->change == CHANGE_INCONCLUSIVE && s->shown)
		row->launches_needed =
			shift_launches_needed(s->spread,
					      resemblance_factor(k->out, row->launches_b),
					      k->input->turns ? 0 : row->visit_spread, margin);
	if (s->shown)
		return;
	row->possible = true;
	if (row->change == CHANGE_REGRESSED || row->change == CHANGE_IMPROVED)
		comparison_give_reason(row, "", "fewer than four launches");
}

/* To the last digit, in all launches of both sides. */
static bool all_equal(const struct compared_pair *p)
{
	double first = p->before.values[0];

	for (size_t i = 0; i < p->before.count; i++)
		if (p->before.values[i] != first)
			return false;
	for (size_t i = 0; i < p->after.count; i++)
		if (p->after.values[i] != first)
			return false;
	return p->before.count >= FEWEST_LAUNCHES && p->after.count >= FEWEST_LAUNCHES;
}

static void take_equal(struct comparison_row *row)
{
	row->change = CHANGE_SAME;
	row->ratio = row->low = row->high = 1;
}

static enum status compare_timed(const struct comparing *k, const struct compared_pair *p,
				 struct comparison_row *row, struct error *err)
{
	double *before = compared_logs(&p->before, p->lower_is_better);
	double *after = compared_logs(&p->after, p->lower_is_better);
	struct shift_input in = { .a = before,
				  .b = after,
				  .a_count = p->before.count,
				  .b_count = p->after.count,
				  .turns = k->input->turns,
				  .launch_spread = k->input->launch_spread,
				  .few_half = root_sum_square(p->before.estimate.half_both,
							      p->after.estimate.half_both),
				  .resemblance = resemblance_factor(k->out, p->after.count),
				  .visit_freedom = INFINITY };
	struct shift s = shift_measure(&in);
	enum status status;

	row->launch_spread = s.spread;
	status = find_visit_spread(k, p, isnan(s.spread) ? 0 : s.spread, row, err);
	in.visit_spread = row->visit_spread;
	if (row->visit_nights)
		in.visit_freedom = (double)row->visit_nights - 1;
	s = shift_measure(&in);
	take_shift(k, &s, row);
	free(before);
	free(after);
	return status;
}

/*
 * From the best of one side against the worst of the other to the reverse: without any spread that
 * is one number.
 */
static void compare_exact(const struct comparing *k, const struct compared_pair *p,
			  struct comparison_row *row)
{
	enum better worst = p->lower_is_better ? BETTER_LOWER : BETTER_HIGHER;
	enum better best = p->lower_is_better ? BETTER_HIGHER : BETTER_LOWER;
	double sign = p->lower_is_better ? 1 : -1;
	const struct observation *a = &p->before, *b = &p->after;
	double a_worst = worst_value(a->values, a->count, worst);
	double b_worst = worst_value(b->values, b->count, worst);
	struct shift s = { .value = sign * log(b_worst / a_worst), .shown = true };

	s.low = sign * log(worst_value(b->values, b->count, best) / a_worst);
	s.high = sign * log(b_worst / worst_value(a->values, a->count, best));
	s.low_each = s.low;
	s.high_each = s.high;
	row->visit_spread = 0;
	row->ratio = exp(s.value);
	row->low = exp(s.low);
	row->high = exp(s.high);
	row->change = change_of_shift(&s, k->input->margin);
}

enum status compare_pairs(struct comparing *k, struct error *err)
{
	for (size_t i = 0; i < k->pair_count && err->status == STATUS_OK; i++) {
		const struct compared_pair *p = &k->pairs[i];
		struct comparison_row *row = &k->out->rows[p->row];

		if (row->kind == FIGURE_EXACT)
			compare_exact(k, p, row);
		else if (all_equal(p))
			take_equal(row);
		else
			compare_timed(k, p, row, err);
		row->at_same_clock *= row->ratio;
	}
	return err->status;
}
