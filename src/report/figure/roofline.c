/*
 * Roofline of one device: the rate of each case over its arithmetic intensity, below the roofs that
 * the run measured: memory bandwidth times intensity, and the highest rate of the precision.
 * Williams, Waterman, Patterson: Roofline, CACM 52(4), 2009. Which metrics these are, suites' roles
 * say (result/presentation.h).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/figure/figure.h"
#include "report/view/presented.h"

#define PRECISIONS 12

struct roof {
	const struct case_parameter *precision;
	const char *suite;
	double rate; /* FLOP/s; the highest of any case */
	bool peak;   /* measured as such, not only reached by a case */
};

struct roofline {
	const struct view *view;
	size_t source;
	double bandwidth; /* B/s; the highest among the largest arrays; NaN: none */
	const struct case_result *bandwidth_case;
	struct roof roofs[PRECISIONS];
	size_t count;
	size_t points; /* cases with an intensity */
};

/* FLOP over bytes that a case moves at least; NaN: neither is known. */
static double roofline_intensity_of(const struct view *view, const struct case_result *c)
{
	double told = presented_role_value(view, c, ROLE_INTENSITY);

	if (isfinite(told))
		return told;
	return presented_role_value(view, c, ROLE_RATE) *
	       presented_role_value(view, c, ROLE_WORK_TIME) /
	       presented_role_value(view, c, ROLE_WORK_BYTES);
}

/* Bytes of the case's largest parameter: arrays that fit a cache are not read from memory. */
static double roofline_size_of(const struct case_result *c)
{
	double size = 0;

	for (size_t i = 0; i < c->parameter_count; i++)
		if (strcmp(view_string(c->parameters[i].unit), "B") == 0)
			size = fmax(size, c->parameters[i].number);
	return size;
}

static void roofline_add_bandwidth(struct roofline *r, const struct case_result *c)
{
	double value = presented_role_value(r->view, c, ROLE_BANDWIDTH);
	const struct case_result *best = r->bandwidth_case;

	if (!isfinite(value) || (best && roofline_size_of(c) < roofline_size_of(best)) ||
	    (best && roofline_size_of(c) == roofline_size_of(best) && value <= r->bandwidth))
		return;
	r->bandwidth = value;
	r->bandwidth_case = c;
}

static struct roof *roof_of(struct roofline *r, const struct case_result *c)
{
	const struct case_parameter *p = presented_role_parameter(r->view, c, ROLE_PRECISION);

	for (size_t i = 0; p && i < r->count; i++)
		if (strcmp(view_string(r->roofs[i].precision->text), view_string(p->text)) == 0)
			return &r->roofs[i];
	if (!p || r->count == PRECISIONS)
		return NULL;
	r->roofs[r->count] = (struct roof){ .precision = p, .suite = c->suite };
	return &r->roofs[r->count++];
}

/* A rate without an intensity is the peak of arithmetic. */
static void roofline_add_rate(struct roofline *r, const struct case_result *c)
{
	double rate = presented_role_value(r->view, c, ROLE_RATE);
	bool peak = !isfinite(roofline_intensity_of(r->view, c));
	struct roof *roof = rate > 0 ? roof_of(r, c) : NULL;

	if (!roof)
		return;
	r->points += !peak;
	if (rate > roof->rate)
		*roof = (struct roof){ roof->precision, roof->suite, rate, peak };
}

static bool roofline_counts_case(const struct roofline *r, const struct case_result *c)
{
	return c->status == CASE_OK && c->device_count < 2 && !view_unsettled(c) &&
	       view_source_of(r->view, 0, c) == r->source;
}

static struct chart_point *roofline_add_point(struct chart_series *series, const char *text,
					      double x, double y)
{
	struct chart_point *point = chart_point_new(series, text);

	point->x = x;
	point->y = y;
	return point;
}

static struct chart_series *roofline_add_series(const struct roofline *r, struct chart *chart,
						const struct roof *roof, const char *name,
						enum chart_trace trace)
{
	struct chart_series *series = chart_series_named(chart, name);
	size_t style = view_style(r->view, roof->precision->name, roof->precision->text);

	/* One colour for all: markers distinguish precisions, and each roof is labelled. */
	series->style = trace == CHART_MARKS_ONLY ? 0 : VIEW_STYLE_NONE;
	series->mark = style == SIZE_MAX ? 0 : style;
	series->trace = trace;
	return series;
}

static char *roof_name(const struct roofline *r, const struct roof *roof, bool with_rate)
{
	struct formatted word = presented_parameter(r->view, roof->suite, roof->precision);

	return with_rate ? xasprintf("%s, %s", word.text, format_rounded(roof->rate, "FLOP/s").text)
			 : xstrdup(word.text);
}

/* The memory's slope up to the ridge, then the precision's rate. */
static void add_roof(const struct roofline *r, struct chart *chart, const struct roof *roof,
		     const struct extent *x)
{
	char *name = roof_name(r, roof, true);
	struct chart_series *series =
		roofline_add_series(r, chart, roof, name,
				    roof->peak ? CHART_PLAIN_LINE : CHART_DASHED_LINE);
	double ridge = roof->rate / r->bandwidth;

	roofline_add_point(series, "memory bandwidth", x->min, x->min * r->bandwidth);
	roofline_add_point(series, "ridge", ridge, roof->rate);
	roofline_add_point(series, roof->peak ? "peak rate" : "highest rate", x->max, roof->rate);
	free(name);
}

/* The cases of a precision under its roof. */
static void roofline_add_cases(const struct roofline *r, struct chart *chart,
			       const struct roof *roof)
{
	/* Its line has the name: a label for each cloud of points would repeat it. */
	char *own = roof_name(r, roof, false), *name = xasprintf("%s, cases", own);
	struct chart_series *series = NULL;

	for (size_t i = 0; i < r->view->results[0].case_count; i++) {
		const struct case_result *c = &r->view->results[0].cases[i];
		const struct case_parameter *p =
			presented_role_parameter(r->view, c, ROLE_PRECISION);
		const struct metric_value *m = presented_role_metric(r->view, c, ROLE_RATE);
		double x = roofline_intensity_of(r->view, c);
		struct chart_point *point;
		char *words;
		double slope;

		if (!roofline_counts_case(r, c) || !m || !p || !(x > 0) ||
		    strcmp(view_string(p->text), view_string(roof->precision->text)) != 0)
			continue;
		if (!series)
			series = roofline_add_series(r, chart, roof, name, CHART_MARKS_ONLY);
		words = view_named_parameters(r->view, c, NULL);
		point = roofline_add_point(series, words, x, m->value);
		point->low = m->low;
		point->high = m->high;
		point->n = m->n;
		/* A rate that cases reached is no roof of theirs. */
		slope = point->x * r->bandwidth;
		if (slope < roof->rate)
			point->ideal = slope;
		else if (roof->peak)
			point->ideal = roof->rate;
		point->label = xstrdup(slope < roof->rate ? "memory bandwidth"
				       : roof->peak       ? "arithmetic"
						    : "arithmetic, whose peak was not measured");
		free(words);
	}
	free(name);
	free(own);
}

/* Half a decade around ridges and cases. */
static struct extent roofline_extent(const struct roofline *r)
{
	struct extent x = EXTENT_EMPTY;

	for (size_t i = 0; i < r->count; i++)
		scale_extent_add(&x, r->roofs[i].rate / r->bandwidth);
	for (size_t i = 0; i < r->view->results[0].case_count; i++) {
		const struct case_result *c = &r->view->results[0].cases[i];

		if (roofline_counts_case(r, c) && presented_role_value(r->view, c, ROLE_RATE) > 0)
			scale_extent_add(&x, roofline_intensity_of(r->view, c));
	}
	x.min /= 3;
	x.max *= 3;
	return x;
}

/* Above the roof of memory are cases whose data stay in a cache. */
static char *roofline_finding(const struct chart *chart)
{
	const struct chart_point *best = NULL, *worst = NULL;
	size_t above = 0, open = 0;

	for (size_t s = 0; s < chart->count; s++)
		for (size_t p = 0; p < chart->series[s].count; p++) {
			const struct chart_point *point = &chart->series[s].points[p];
			double share = point->y / point->ideal;

			open += point->label && !isfinite(share);
			if (!point->label || !isfinite(share))
				continue;
			above += share > 1.005;
			if (!best || share > best->y / best->ideal)
				best = point;
			if (!worst || share < worst->y / worst->ideal)
				worst = point;
		}
	if (!best || best == worst)
		return best ? xasprintf("%s reaches %s of its roof, which is set by %s.",
					best->text, format_percent(best->y / best->ideal).text,
					best->label)
			    : xstrdup(open ? "No case has a measured roof." : "");
	return xasprintf("Nearest to %s roof: %s with %s, limited by %s; farthest: %s with %s.%s",
			 open ? "a measured" : "its", best->text,
			 format_percent(best->y / best->ideal).text, best->label, worst->text,
			 format_percent(worst->y / worst->ideal).text,
			 above ? " Cases above 100 % read their data from a cache." : "");
}

static void roofline_draw(const struct roofline *r, struct tree *charts)
{
	const struct extent x = roofline_extent(r);
	char *what = view_parameters(r->view, r->bandwidth_case, NULL);
	struct chart chart;

	chart_init(&chart, CHART_LINES);
	chart.roofs = true;
	chart.table_step = r->view->table_step;
	chart.id = xstrdup("roofline");
	chart.title = xasprintf("Roofline of %s", r->view->sources[r->source].label);
	chart.shows = xasprintf("Rate over operations per byte; the bytes count each operand once. "
				"Roofs: %s of memory (measured: %s), and the peak of each "
				"precision; dashed: its highest rate, if no peak was measured.",
				format_rounded(r->bandwidth, "B/s").text, what);
	chart.x_name = xstrdup("operations per byte");
	chart.x_unit = xstrdup("");
	chart.y_name = xstrdup("rate");
	chart.y_unit = xstrdup("FLOP/s");
	chart.x_scale = chart.y_scale = SCALE_LOG10;
	chart.better = BETTER_HIGHER;
	for (size_t i = 0; i < r->count; i++)
		add_roof(r, &chart, &r->roofs[i], &x);
	for (size_t i = 0; i < r->count; i++)
		roofline_add_cases(r, &chart, &r->roofs[i]);
	chart.finding = roofline_finding(&chart);
	chart_draw(&chart, charts);
	chart_release(&chart);
	free(what);
}

static void roofline_draw_first(const struct view *view, const bool *with_rates,
				struct tree *charts)
{
	struct roofline r;

	for (size_t s = 0; s < view->source_count; s++) {
		if (!with_rates[s])
			continue;
		r = (struct roofline){ .view = view, .source = s, .bandwidth = NAN };
		for (size_t i = 0; i < view->results[0].case_count; i++) {
			const struct case_result *c = &view->results[0].cases[i];

			if (roofline_counts_case(&r, c)) {
				roofline_add_bandwidth(&r, c);
				roofline_add_rate(&r, c);
			}
		}
		if (r.bandwidth > 0 && r.points) {
			roofline_draw(&r, charts);
			return;
		}
	}
}

void view_roofline(const struct view *view, struct tree *charts)
{
	/* The sources that have a case with a rate, in one pass because there may be thousands. */
	bool *with_rates;

	if (view->count != 1)
		return;
	with_rates = xcalloc(view->source_count + 1, sizeof(*with_rates));
	for (size_t i = 0; i < view->results->case_count; i++) {
		const struct case_result *c = &view->results->cases[i];

		if (presented_role_value(view, c, ROLE_RATE) > 0)
			with_rates[view_source_of(view, 0, c)] = true;
	}
	roofline_draw_first(view, with_rates, charts);
	free(with_rates);
}
