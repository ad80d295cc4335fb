/* A recorded step: one row for each stream of each rank. */
#include "suites/training/pages/strategies.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/view/format.h"

#define TIMELINES_MOST 12
/* Maximum spans of one chart: more would be narrower than a pixel. */
#define SPANS_MOST 2000

/*
 * No more colours than can be distinguished: operations that never occur in the same step share
 * one.
 */
static const char *const key[] = { "F forward, L loss",
				   "B backward",
				   "W weights, U update",
				   "R all-reduce, reduce",
				   "G all-gather, broadcast",
				   "S reduce-scatter, X exchange",
				   "\u2192 send",
				   "\u2190 receive",
				   NULL };
#define COMPUTING 3 /* colours below it are computation */

static const struct {
	const char *name, *letters;
	size_t style;
} operations[] = {
	{ "forward", "F", 0 },          { "loss", "L", 0 },       { "backward", "B", 1 },
	{ "weight_gradients", "W", 2 }, { "optimizer", "U", 2 },  { "all_reduce", "R", 3 },
	{ "reduce", "R", 3 },           { "all_gather", "G", 4 }, { "broadcast", "G", 4 },
	{ "reduce_scatter", "S", 5 },   { "exchange", "X", 5 },   { "send", "\u2192", 6 },
	{ "receive", "\u2190", 7 },
};

static void strategy_timeline_add_spans(struct chart *chart, const struct timeline_row *row,
					size_t *left)
{
	size_t operation = 0;
	char *name = xasprintf("%d %s", row->rank, view_string(row->stream));
	struct chart_series *series = chart_series_named(chart, name);

	free(name);
	while (operation < ARRAY_SIZE(operations) &&
	       strcmp(operations[operation].name, view_string(row->operation)) != 0)
		operation++;
	for (size_t i = 0; i + 2 < row->span_count && operation < ARRAY_SIZE(operations); i += 3) {
		const double *span = row->spans + i;
		struct chart_point *point;

		if (!(span[2] >= span[1] && span[1] >= 0) || *left == 0)
			continue;
		*left -= 1;
		point = chart_point_new(series, operations[operation].name);
		point->x = span[1];
		point->y = span[2];
		point->style = operations[operation].style;
		point->label = xasprintf("%s%.0f", operations[operation].letters, span[0]);
	}
}

/*
 * By rank, computation first. Communication comes last in its row, and so is drawn over the
 * computation that contains it.
 */
static void strategies_timeline_add_rows(struct chart *chart, const struct case_result *c,
					 size_t *left)
{
	int last = 0;

	for (size_t i = 0; i < c->timeline_count; i++)
		last = c->timeline[i].rank > last ? c->timeline[i].rank : last;
	for (int rank = 0; rank <= last; rank++)
		for (int others = 0; others <= 1; others++)
			for (size_t i = 0; i < c->timeline_count; i++) {
				const struct timeline_row *row = &c->timeline[i];

				if (row->rank == rank &&
				    (strcmp(view_string(row->stream), "compute") != 0) == others)
					strategy_timeline_add_spans(chart, row, left);
			}
}

/* Seconds in which a row computes, without the spans inside it: sums over several devices. */
static double strategies_timeline_busy_of(const struct chart_series *row)
{
	double busy = 0;

	for (size_t p = 0; p < row->count; p++) {
		const struct chart_point *inner = &row->points[p];
		bool inside = false;

		for (size_t q = 0; q < row->count && inner->style >= COMPUTING; q++) {
			const struct chart_point *outer = &row->points[q];

			inside |= outer->style < COMPUTING && inner->x >= outer->x &&
				  inner->y <= outer->y;
		}
		busy += (inner->y - inner->x) * (inner->style < COMPUTING ? 1 : inside ? -1 : 0);
	}
	return busy;
}

/* "A step of 34.2 ms; devices compute in 81 % of it, the idlest in 70 %." */
static char *strategies_timeline_finding(const struct chart *chart)
{
	double end = chart_extent(chart).max, sum = 0, least = INFINITY;
	struct formatted mean, length;
	size_t rows = 0;

	for (size_t s = 0; s < chart->count; s++) {
		double busy = strategies_timeline_busy_of(&chart->series[s]);

		if (!strstr(chart->series[s].name, " compute"))
			continue;
		sum += busy / end;
		least = fmin(least, busy / end);
		rows++;
	}
	if (!rows)
		return NULL;
	length = format_quantity(end, "s");
	mean = format_percent(sum / (double)rows);
	if (rows == 1)
		return xasprintf("The step takes %s; the device computes for %s of this time.",
				 length.text, mean.text);
	return xasprintf("The step takes %s; the devices compute for %s of this time on average, "
			 "the device with the most idle time for %s.",
			 length.text, mean.text, format_percent(least).text);
}

static void strategies_timeline_draw_step(const struct strategies *strategies,
					  const struct strategy *strategy, struct tree *charts)
{
	size_t left = SPANS_MOST;
	struct chart chart;

	strategies_chart(strategies, &chart, CHART_TIMELINE, charts,
			 xasprintf("Timeline of %s%s%s", strategy->name,
				   *strategy->model ? ": " : "", strategy->model));
	chart.shows = xstrdup(
		"Operations of one step by rank and stream. Numbers are micro-batches, buckets or "
		"layers. This step was not timed; it was recorded after the timed steps.");
	chart.key = key;
	strategies_timeline_add_rows(&chart, strategy->c, &left);
	if (!left) {
		free(chart.note);
		chart.note = xasprintf("Shows the first %d operations.", SPANS_MOST);
	}
	chart.finding = strategies_timeline_finding(&chart);
	if (chart.count)
		chart_draw(&chart, charts);
	chart_release(&chart);
}

/* True if the step was recorded and no faster strategy of the same model and mode was. */
static bool strategies_timeline_is_fastest(const struct strategies *strategies,
					   const struct strategy *s)
{
	size_t length = strategies_word_length(s->name);

	for (size_t i = 0; i < strategies->count; i++) {
		const struct strategy *other = &strategies->items[i];

		if (other->c->timeline_count && other->seconds < s->seconds &&
		    strcmp(other->model, s->model) == 0 &&
		    strategies_word_length(other->name) == length &&
		    strncmp(other->name, s->name, length) == 0)
			return false;
	}
	return s->c->timeline_count != 0;
}

void strategies_timelines(const struct strategies *strategies, struct tree *charts)
{
	size_t drawn = 0;

	for (size_t i = 0; i < strategies->count && drawn < TIMELINES_MOST; i++)
		if (strategies_timeline_is_fastest(strategies, &strategies->items[i])) {
			strategies_timeline_draw_step(strategies, &strategies->items[i], charts);
			drawn++;
		}
}
