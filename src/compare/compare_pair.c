/* Compares one metric of both sides: interval, verdict and p-value. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "history/trend.h"
#include "compare/comparing.h"
#include "stats/shift.h"
#include "stats/neumann.h"

/* from this many nights on, they replace the variation assumed by kind */
#define FEWEST_NIGHTS 8
#define Z_975 1.959963984540054

double *compare_pair_logs(const struct observation *o, bool lower_is_better)
{
	double *logs = xcalloc(o->count, sizeof(*logs));

	for (size_t i = 0; i < o->count; i++)
		logs[i] = lower_is_better ? log(o->values[i]) : -log(o->values[i]);
	return logs;
}

/*
 * Variation between sessions: assumed by the metric's kind, or that between nights beyond their
 * launches.
 */
static enum status compare_pair_find_visit_spread(const struct comparing *k,
						  const struct compared_pair *p, double launches,
						  struct comparison_row *row, struct error *err)
{
	const char *machine = p->device && *p->device->uuid
				      ? p->device->uuid
				      : result_fact(&k->input->b[0], "hostname");
	struct night_spread nights;
	double n = (double)p->after.count;

	row->visit_spread = figure_kind_visit_spread(row->kind);
	if (!k->input->history || !machine)
		return STATUS_OK;
	if (trend_spread(k->input->history, row->metric, row->case_id, machine, &nights, err) !=
	    STATUS_OK)
		return err->status;
	if (nights.nights < FEWEST_NIGHTS || isnan(nights.ratio))
		return STATUS_OK;
	row->visit_nights = nights.nights;
	row->visit_spread = sqrt(fmax(0, nights.ratio * nights.ratio - launches * launches / n));
	return STATUS_OK;
}

struct band compare_pair_band_of_margin(double margin)
{
	return (struct band){ .worse = log1p(margin),
			      .better = log1p(-margin),
			      .same = log1p(margin) };
}

static double compare_pair_clamp(double value, double low, double high)
{
	return fmin(fmax(value, low), high);
}

struct band compare_pair_band_of_shift(const struct shift *s, double visits, double common)
{
	struct band band = compare_pair_band_of_margin(COMPARE_MARGIN);
	double own = compare_pair_clamp(shift_margin(s), band.same, log1p(COMPARE_MARGIN_MOST));

	band.same = own;
	if (Z_975 * M_SQRT2 * visits > COMPARE_MARGIN) {
		band.worse = own;
		band.better = -own;
	}
	band.worse += compare_pair_clamp(common, 0, SESSION_SHIFT);
	band.better += compare_pair_clamp(common, -SESSION_SHIFT, 0);
	return band;
}

enum change compare_pair_change_of_shift(const struct shift *s, const struct band *band)
{
	if (s->low > band->worse)
		return CHANGE_REGRESSED;
	if (s->high < band->better)
		return CHANGE_IMPROVED;
	return s->low_each >= -band->same && s->high_each <= band->same ? CHANGE_UNCHANGED
									: CHANGE_INCONCLUSIVE;
}

double compare_pair_change_probability(const struct shift *s, const struct band *band,
				       enum change change)
{
	const struct shift turned = {
		.value = -s->value, .shown = s->shown, .error = s->error, .freedom = s->freedom
	};

	if (change == CHANGE_REGRESSED)
		return shift_probability_above(s, band->worse);
	return change == CHANGE_IMPROVED ? shift_probability_above(&turned, -band->better)
					 : (double)NAN;
}

static void compare_pair_take_shift(const struct comparing *k, const struct compared_pair *p,
				    double common, struct comparison_row *row)
{
	const struct shift *s = &p->shift;
	double visits = k->input->turns ? 0 : row->visit_spread;
	struct band band = k->input->margin > 0 ? compare_pair_band_of_margin(k->input->margin)
						: compare_pair_band_of_shift(s, visits, common);

	/*
	 * Ratio of the displayed values. The interval comes from the shift and usually contains it.
	 */
	row->ratio = p->lower_is_better ? row->b / row->a : row->a / row->b;
	row->low = fmin(exp(s->low), row->ratio);
	row->high = fmax(exp(s->high), row->ratio);
	row->change = compare_pair_change_of_shift(s, &band);
	row->margin = expm1(band.same);
	row->probability = compare_pair_change_probability(s, &band, row->change);
	row->possible =
		!s->shown && (row->change == CHANGE_REGRESSED || row->change == CHANGE_IMPROVED);
	if (row->possible)
		comparison_give_reason(row, "", "fewer than four launches");
	if (row->change == CHANGE_INCONCLUSIVE && s->shown)
		row->launches_needed =
			shift_launches_needed(s->spread,
					      compare_pair_resemblance_factor(k->out,
									      row->launches_b),
					      visits, band.same);
	row->grouped = !k->input->turns && row->change != CHANGE_UNCHANGED &&
		       shift_margin(s) > log1p(COMPARE_MARGIN_MOST);
}

/* True if all launches of both sides have exactly the same value. */
static bool compare_pair_all_equal(const struct compared_pair *p)
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

/* Interleaved launches share the state of the host, which causes most of a call's variation. */
#define PAIRED_SPREAD 0.005

static enum status compare_pair_measure_timed(const struct comparing *k, struct compared_pair *p,
					      struct comparison_row *row, struct error *err)
{
	double *before = compare_pair_logs(&p->before, p->lower_is_better);
	double *after = compare_pair_logs(&p->after, p->lower_is_better);
	struct shift_input in = {
		.a = before,
		.b = after,
		.a_count = p->before.count,
		.b_count = p->after.count,
		.turns = k->input->turns,
		.launch_spread = k->input->turns ? fmin(p->before.repeat.spread, PAIRED_SPREAD)
						 : p->before.repeat.spread,
		.few_half =
			root_sum_square(p->before.estimate.half_both, p->after.estimate.half_both),
		.resemblance = compare_pair_resemblance_factor(k->out, p->after.count),
		.visit_freedom = ASSUMED_FREEDOM
	};
	enum status status;

	p->shift = shift_measure(&in);
	row->launch_spread = p->shift.spread;
	status = compare_pair_find_visit_spread(k, p, isnan(p->shift.spread) ? 0 : p->shift.spread,
						row, err);
	in.visit_spread = row->visit_spread;
	if (row->visit_nights)
		in.visit_freedom = (double)row->visit_nights - 1;
	p->shift = shift_measure(&in);
	free(before);
	free(after);
	return status;
}

/*
 * From the best of one side against the worst of the other to the reverse. Without variation both
 * ends coincide.
 */
static void compare_pair_exact(const struct comparing *k, const struct compared_pair *p,
			       struct comparison_row *row)
{
	enum better worst = p->lower_is_better ? BETTER_LOWER : BETTER_HIGHER;
	enum better best = p->lower_is_better ? BETTER_HIGHER : BETTER_LOWER;
	double sign = p->lower_is_better ? 1 : -1;
	const struct observation *a = &p->before, *b = &p->after;
	double a_worst = figure_kind_worst_value(a->values, a->count, worst);
	double b_worst = figure_kind_worst_value(b->values, b->count, worst);
	struct shift s = { .value = sign * log(b_worst / a_worst), .shown = true };
	struct band band;

	s.low = sign * log(figure_kind_worst_value(b->values, b->count, best) / a_worst);
	s.high = sign * log(b_worst / figure_kind_worst_value(a->values, a->count, best));
	s.low_each = s.low;
	s.high_each = s.high;
	row->visit_spread = 0;
	row->ratio = exp(s.value);
	row->low = exp(s.low);
	row->high = exp(s.high);
	band = compare_pair_band_of_margin(k->out->margin);
	row->change = compare_pair_change_of_shift(&s, &band);
}

/* Metrics with a larger standard error cannot show a shift of one percent. */
#define QUIET_ERROR 0.02
#define FEWEST_FIGURES 5

enum status compare_pairs(struct comparing *k, struct error *err)
{
	double *shifts = xmalloc((k->pair_count + 1) * sizeof(*shifts)), common = NAN;
	size_t n = 0;

	for (size_t i = 0; i < k->pair_count && err->status == STATUS_OK; i++) {
		struct compared_pair *p = &k->pairs[i];
		struct comparison_row *row = &k->out->rows[p->row];

		p->shift.error = NAN;
		if (row->kind == FIGURE_EXACT)
			compare_pair_exact(k, p, row);
		else if (compare_pair_all_equal(p)) {
			row->change = CHANGE_UNCHANGED;
			row->ratio = row->low = row->high = 1;
		} else
			compare_pair_measure_timed(k, p, row, err);
	}
	/* Common shift of the GPU-bound metrics between the sides. */
	for (size_t i = 0; i < k->pair_count && !k->input->turns; i++)
		if (k->pairs[i].shift.error < QUIET_ERROR)
			shifts[n++] = k->pairs[i].shift.value;
	if (n >= FEWEST_FIGURES)
		common = median_of(shifts, n);
	free(shifts);
	k->out->session_shift = exp(common);
	for (size_t i = 0; i < k->pair_count; i++) {
		struct comparison_row *row = &k->out->rows[k->pairs[i].row];

		if (!isnan(k->pairs[i].shift.error))
			compare_pair_take_shift(k, &k->pairs[i], isnan(common) ? 0 : common, row);
		row->at_same_clock *= row->ratio;
	}
	return err->status;
}

/*
 * Tests consecutive launches for autocorrelation. A single series of four or five launches has
 * almost no power; all metrics of a comparison together do. The mean of their von Neumann ratios is
 * compared with its expectation for this length, so that short series are not biased.
 */
#define FEWEST_SERIES 10 /* fewer series: no statement */
#define Z_95 1.6448536269514722

/*
 * Half of what correlation adds to the variance of a mean of n: sum of (1 - i/n) rho^i for i =
 * 1..n-1.
 */
static double compare_pair_correlated(double rho, size_t n)
{
	double sum = 0, power = 1;

	for (size_t i = 1; i < n; i++) {
		power *= rho;
		sum += (1 - (double)i / (double)n) * power;
	}
	return sum;
}

struct neumann {
	double ratios, lengths;
	size_t series;
};

static void compare_pair_neumann_add_series(struct neumann *sum, const double *logs, size_t count)
{
	double ratio = neumann_ratio(logs, count);

	if (count < FEWEST_LAUNCHES || isnan(ratio))
		return;
	sum->ratios += ratio;
	sum->lengths += (double)count;
	sum->series++;
}

/*
 * Adds the launches of either side, or, interleaved, the differences of their pairs, because these
 * are averaged.
 */
static void compare_pair_neumann_add(struct neumann *sum, const struct compared_pair *p, bool turns)
{
	double *before = compare_pair_logs(&p->before, p->lower_is_better);
	double *after = compare_pair_logs(&p->after, p->lower_is_better);

	if (turns && p->before.count == p->after.count) {
		for (size_t i = 0; i < p->after.count; i++)
			after[i] -= before[i];
		compare_pair_neumann_add_series(sum, after, p->after.count);
	} else {
		compare_pair_neumann_add_series(sum, before, p->before.count);
		compare_pair_neumann_add_series(sum, after, p->after.count);
	}
	free(before);
	free(after);
}

void compare_pair_resemblance(struct comparing *k)
{
	struct neumann sum = { 0 };

	for (size_t i = 0; i < k->pair_count; i++) {
		const struct compared_pair *p = &k->pairs[i];

		if (k->out->rows[p->row].kind == FIGURE_EXACT)
			continue;
		compare_pair_neumann_add(&sum, p, k->input->turns);
	}
	k->out->resemblance_series = sum.series;
	if (sum.series < FEWEST_SERIES)
		return;
	k->out->resemblance = neumann_correlation(sum.ratios / (double)sum.series,
						  (size_t)(sum.lengths / (double)sum.series + 0.5));
}

double compare_pair_resemblance_factor(const struct comparison *out, size_t n)
{
	double rho = out->resemblance;
	/* Metrics of one launch share its host, so two of them count as one. */
	double error = 1 / sqrt((double)out->resemblance_series / 2 * fmax(1, (double)n - 1));
	/*
	 * Interleaving leaves little correlation. The estimate is used as it is, since it would
	 * never be significant.
	 */
	double doubt = out->turns ? 0 : Z_95 * error;

	if (isnan(rho) || rho <= doubt || n < FEWEST_LAUNCHES)
		return 1;
	/* Expected squared deviation of n values of variance 1 from their own mean, over n - 1. */
	return sqrt((1 + 2 * compare_pair_correlated(rho, n)) /
		    (1 - 2 * compare_pair_correlated(rho, n) / ((double)n - 1)));
}
