/*
 * How devices fared over the minutes of a soak, or over the seconds in which the energy of a case
 * was counted: a curve per device and quantity, its lowest and highest reading around.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/chart/chart.h"
#include "report/page/view_sections.h"

/*
 * Points of a curve; more could not be distinguished. Intervals are put together, with their
 * extremes.
 */
#define POINTS_MOST 120
#define LINES_MOST 8

static const struct {
	const char *name, *words;
} quantities[] = {
	{ "power_watts", "power" },
	{ "temperature_celsius", "temperature" },
	{ "sm_clock_hz", "SM clock" },
	{ "memory_clock_hz", "memory clock" },
	{ "throttled", "share of readings with throttling" },
	{ "ecc_corrected", "corrected memory errors (ECC)" },
	{ "ecc_uncorrected", "uncorrected memory errors (ECC)" },
	{ "xid_errors", "Xid errors" },
	{ "pcie_generation", "PCIe generation" },
	{ "pcie_width", "PCIe lanes" },
	{ "pcie_replays", "PCIe replays" },
};

static const struct time_quantity *view_watches_quantity(const struct watch *t, const char *name)
{
	for (size_t i = 0; i < t->quantity_count; i++)
		if (strcmp(t->quantities[i].name, name) == 0)
			return &t->quantities[i];
	return NULL;
}

static size_t view_watches_length_of(const struct time_quantity *q)
{
	return q->highest_count > q->mean_count ? q->highest_count : q->mean_count;
}

static double view_watches_value_at(const double *values, size_t count, size_t i)
{
	return i < count ? values[i] : (double)NAN;
}

/* Walks all curves of one quantity. */
struct watch_walk {
	const struct view *view;
	const char *suite;
	size_t at, device;
	const struct case_result *c;
	const struct watch *watch;
};

static bool view_watches_next(struct watch_walk *w)
{
	const struct result *result = w->view->results;

	for (; w->at < result->case_count; w->at++, w->device = 0) {
		w->c = &result->cases[w->at];
		if (strcmp(view_string(w->c->suite), w->suite) != 0 ||
		    w->device >= w->c->watch_count)
			continue;
		w->watch = &w->c->watches[w->device++];
		return true;
	}
	return false;
}

static size_t view_watches_source_of(const struct watch_walk *w)
{
	return view_source_named(w->view, 0, view_string(w->watch->device));
}

static const char *view_watches_label_of(const struct watch_walk *w)
{
	size_t source = view_watches_source_of(w);

	return source < w->view->source_count ? w->view->sources[source].label
					      : view_string(w->watch->device);
}

/* A quantity over all cases and devices. */
struct watch_range {
	double min, max, first;
	bool known, moves;
	size_t intervals; /* of the device with the most */
};

static void view_watches_add_value(struct watch_range *r, double value)
{
	if (!isfinite(value))
		return;
	r->min = r->known ? fmin(r->min, value) : value;
	r->max = r->known ? fmax(r->max, value) : value;
	r->known = true;
	r->moves = r->moves || r->min != r->max;
}

static struct watch_range view_watches_range_of(const struct view *view, const char *suite,
						const char *name)
{
	struct watch_walk w = { .view = view, .suite = suite };
	struct watch_range r = { 0 };
	size_t total = 0;
	const char *first = NULL;

	while (view_watches_next(&w)) {
		const struct time_quantity *q = view_watches_quantity(w.watch, name);

		if (!q)
			continue;
		first = first ? first : w.watch->device;
		total += strcmp(first, w.watch->device) == 0 ? view_watches_length_of(q) : 0;
		for (size_t i = 0; i < view_watches_length_of(q); i++) {
			view_watches_add_value(&r, view_watches_value_at(q->lowest, q->lowest_count,
									 i));
			view_watches_add_value(&r,
					       view_watches_value_at(q->mean, q->mean_count, i));
			view_watches_add_value(&r, view_watches_value_at(q->highest,
									 q->highest_count, i));
		}
	}
	r.intervals = total;
	return r;
}

/* Intervals [from, from + count) as one point. */
static void view_watches_add_point(struct chart_series *line, const struct watch_walk *w,
				   const struct time_quantity *q, size_t from, size_t count)
{
	double start = isfinite(w->c->started_seconds) ? w->c->started_seconds : 0, sum = 0,
	       low = (double)NAN, high = (double)NAN;
	struct chart_point *point;
	char text[FORMAT_SIZE];
	size_t n = 0;

	for (size_t i = from; i < from + count; i++) {
		double mean = q->mean_count
				      ? view_watches_value_at(q->mean, q->mean_count, i)
				      : view_watches_value_at(q->highest, q->highest_count, i);

		if (isfinite(mean)) {
			sum += mean;
			n++;
		}
		low = fmin(low, view_watches_value_at(q->lowest, q->lowest_count, i));
		high = fmax(high, q->lowest_count
					  ? view_watches_value_at(q->highest, q->highest_count, i)
					  : (double)NAN);
	}
	if (isfinite(w->watch->offset))
		start += w->watch->offset;
	start += ((double)from + 0.5 * (double)count) * w->watch->interval;
	/* Tenths, since the last interval of a case and the first of the next share a second. */
	snprintf(text, sizeof(text), "%.0f:%02.0f:%04.1f", floor(start / 3600),
		 floor(fmod(start, 3600) / 60), floor(10 * fmod(start, 60)) / 10);
	point = chart_point_new(line, text);
	point->x = start;
	point->y = n ? sum / (double)n : (double)NAN;
	point->low = low;
	point->high = high;
}

/* Gaps between cases have no samples. */
static void view_watches_add_gap(struct chart_series *line)
{
	struct chart_point *point;
	double x;

	if (!line->count)
		return;
	x = line->points[line->count - 1].x;
	point = chart_point_new(line, line->points[line->count - 1].text);
	point->x = x + 1e-6;
}

static void view_watches_add_curves(const struct view *view, const char *suite, const char *name,
				    size_t together, struct chart *chart)
{
	struct watch_walk w = { .view = view, .suite = suite };

	while (view_watches_next(&w)) {
		const struct time_quantity *q = view_watches_quantity(w.watch, name);
		struct chart_series *line;

		if (!q)
			continue;
		line = chart_series_named(chart, view_watches_label_of(&w));
		line->style = view_style_at(view_watches_source_of(&w));
		line->mark = line->style;
		view_watches_add_gap(line);
		for (size_t i = 0; i < view_watches_length_of(q); i += together)
			view_watches_add_point(line, &w, q, i,
					       view_watches_length_of(q) - i < together
						       ? view_watches_length_of(q) - i
						       : together);
	}
}

static double view_watches_highest_of(const struct chart_series *line, const char **when)
{
	double highest = (double)NAN;

	for (size_t i = 0; i < line->count; i++) {
		double value =
			isfinite(line->points[i].high) ? line->points[i].high : line->points[i].y;

		if (isfinite(value) && !(highest >= value)) {
			highest = value;
			*when = line->points[i].text;
		}
	}
	return highest;
}

static char *view_watches_finding(const struct chart *chart)
{
	const struct chart_series *first = NULL;
	const char *when = "", *own = "";
	double highest = (double)NAN, lowest = (double)NAN;

	for (size_t s = 0; s < chart->count; s++) {
		double value = view_watches_highest_of(&chart->series[s], &own);

		for (size_t i = 0; i < chart->series[s].count; i++)
			lowest = fmin(lowest, fmin(chart->series[s].points[i].y,
						   chart->series[s].points[i].low));
		if (isfinite(value) && !(highest >= value)) {
			highest = value;
			first = &chart->series[s];
			when = own;
		}
	}
	if (!first)
		return xstrdup("No sensor was read.");
	return xasprintf("Between %s and %s; highest on %s, %s after the start of the run.",
			 format_quantity(lowest, chart->y_unit).text,
			 format_quantity(highest, chart->y_unit).text, first->name, when);
}

/* "Always the same: memory clock 3.201 GHz, PCIe generation 5, ..." */
static char *view_watches_constants(const struct view *view, const char *suite)
{
	struct text out = TEXT_EMPTY;

	for (size_t i = 0; i < ARRAY_SIZE(quantities); i++) {
		struct watch_range r = view_watches_range_of(view, suite, quantities[i].name);
		bool clock = strcmp(quantities[i].name, "memory_clock_hz") == 0 ||
			     strcmp(quantities[i].name, "sm_clock_hz") == 0;

		if (!r.known || r.moves)
			continue;
		text_addf(&out, "%s%s %s", out.length ? ", " : "All devices throughout the run: ",
			  quantities[i].words,
			  clock ? format_quantity(r.min, "Hz").text : format_short(r.min, 1).text);
	}
	if (out.length)
		text_add_char(&out, '.');
	return text_detach(&out);
}

static void view_watches_draw_quantity(const struct view *view, const char *suite, size_t which,
				       const struct watch_range *range, char *note,
				       struct tree *charts)
{
	struct watch_walk w = { .view = view, .suite = suite };
	size_t together = (range->intervals + POINTS_MOST - 1) / POINTS_MOST;
	double interval = (double)NAN;
	struct chart chart;

	together = together ? together : 1;
	chart_init(&chart, CHART_LINES);
	while (view_watches_next(&w)) {
		const struct time_quantity *q =
			view_watches_quantity(w.watch, quantities[which].name);

		interval = w.watch->interval * (double)together;
		if (q && !chart.y_unit)
			chart.y_unit = xstrdup(view_string(q->unit));
	}
	chart.over_time = true;
	chart.better = BETTER_NONE;
	chart.id = xasprintf("time-%zu", view_suite_number(view, suite));
	chart.title = xasprintf("%s over time", quantities[which].words);
	format_capital(chart.title);
	chart.shows = xasprintf("Line: mean over each %s; area: lowest to highest reading.",
				format_seconds(interval).text);
	chart.y_name = xstrdup(quantities[which].words);
	chart.x_name = xstrdup("seconds since the run began");
	chart.x_unit = xstrdup("1");
	chart.note = note;
	view_watches_add_curves(view, suite, quantities[which].name, together, &chart);
	for (size_t from = 0; from < chart.count; from += LINES_MOST) {
		struct chart part = chart;

		/* As many lines as a reader can distinguish; further devices get another chart. */
		part.series = chart.series + from;
		part.count = chart.count - from < LINES_MOST ? chart.count - from : LINES_MOST;
		part.id = xasprintf("%s-%zu", chart.id, charts->count + 1);
		part.finding = view_watches_finding(&part);
		chart_draw(&part, charts);
		free(part.id);
		free(part.finding);
	}
	chart_release(&chart);
}

void view_watches(const struct view *view, const char *suite, struct tree *charts)
{
	bool first = true;

	for (size_t i = 0; i < ARRAY_SIZE(quantities); i++) {
		struct watch_range r = view_watches_range_of(view, suite, quantities[i].name);

		if (!r.known || !r.moves)
			continue;
		view_watches_draw_quantity(view, suite, i, &r,
					   first ? view_watches_constants(view, suite)
						 : xstrdup(""),
					   charts);
		first = false;
	}
}
