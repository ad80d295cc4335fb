/* Cases of several runs side by side: each against the first column, the baseline. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "base/text.h"
#include "report/chart/chart.h"
#include "report/view/format.h"
#include "report/view/presented.h"
#include "report/view/view.h"

/* The same case on different devices: a row. */
struct match {
	char *key, *label;
	const struct case_result **cases; /* by source; NULL: not in that run */
};

struct matches {
	const struct view *view;
	struct match *items;
	size_t count, capacity, last;
};

/* The case's other devices: "→ cuda:1" of a copy from cuda:0. Where it starts is the column. */
static void add_partners(struct text *out, const struct case_result *c)
{
	for (size_t i = 1; i < c->device_count; i++)
		text_addf(out, "%s%s", i == 1 ? (out->length ? ", with " : "with ") : " ",
			  view_string(c->devices[i]));
}

static char *match_label(const struct view *view, const struct case_result *c)
{
	struct text out = TEXT_EMPTY;
	char *parameters = view_parameters(view, c, NULL);

	if (*view_section(c))
		text_addf(&out, "%s%s", view_section(c), *parameters ? ", " : "");
	text_add(&out, parameters);
	add_partners(&out, c);
	free(parameters);
	return text_detach(&out);
}

/*
 * Rows are found by their label; runs have the same order, so the row is mostly the one after the
 * last.
 */
static struct match *match_of(struct matches *matches, const struct case_result *c)
{
	char *label = match_label(matches->view, c);
	size_t i = matches->last + 1;

	if (i >= matches->count || strcmp(matches->items[i].label, label) != 0)
		for (i = 0; i < matches->count && strcmp(matches->items[i].label, label) != 0;)
			i++;
	matches->last = i;
	if (i < matches->count) {
		free(label);
		return &matches->items[i];
	}
	ARRAY_GROW(matches->items, matches->count, matches->capacity);
	matches->items[matches->count++] =
		(struct match){ .label = label,
				.cases = xcalloc(matches->view->source_count, sizeof(c)) };
	return &matches->items[i];
}

static void match_all(struct matches *matches, const struct view *view, const char *suite)
{
	*matches = (struct matches){ .view = view };
	for (size_t r = 0; r < view->count; r++) {
		for (size_t i = 0; i < view->results[r].case_count; i++) {
			const struct case_result *c = &view->results[r].cases[i];
			struct match *match;

			if (strcmp(view_string(c->suite), suite) != 0)
				continue;
			match = match_of(matches, c);
			match->cases[view_source_of(view, r, c)] = c;
		}
	}
}

static void matches_release(struct matches *matches)
{
	for (size_t i = 0; i < matches->count; i++) {
		free(matches->items[i].label);
		free(matches->items[i].cases);
	}
	free(matches->items);
}

/*
 * How many times as good as the baseline: above 1 is better, whatever the direction. NaN: nothing
 * to compare.
 */
static double ratio_of(const struct case_result *baseline, const struct case_result *c)
{
	const struct metric_value *m, *base;

	if (!baseline || !c || baseline->status != CASE_OK || c->status != CASE_OK)
		return NAN;
	m = view_headline(c);
	base = m ? case_metric(baseline, m->name) : NULL;
	if (!base || !(m->value > 0) || !(base->value > 0))
		return NAN;
	return m->better == BETTER_LOWER ? base->value / m->value : m->value / base->value;
}

static void show_cell(struct tree *cells, const struct case_result *baseline,
		      const struct case_result *c, bool first)
{
	const struct metric_value *m = c && c->status == CASE_OK ? view_headline(c) : NULL;
	struct tree *cell = tree_item(cells);
	char text[FORMAT_SIZE];
	double ratio = first ? NAN : ratio_of(baseline, c);

	tree_text(cell, "value",
		  m   ? format_quantity(m->value, view_string(m->unit), text, sizeof(text))
		  : c ? format_status_word(c->status)
		      : "not in this run");
	tree_text(cell, "symbol",
		  m   ? ""
		  : c ? format_status_symbol(c->status)
		      : format_status_symbol(CASE_SKIPPED));
	tree_text(cell, "interval", m ? format_interval(m, text, sizeof(text)) : "");
	tree_flag(cell, "noisy", c && m && view_noisy(c));
	tree_text(cell, "ratio", isfinite(ratio) ? format_ratio(ratio, text, sizeof(text)) : "");
}

void view_compared_cases(const struct view *view, const char *suite, struct tree *map)
{
	const struct metric_value *m = NULL;
	struct tree *rows = tree_list(map, "compared");
	struct matches matches;
	char name[FORMAT_SIZE];

	match_all(&matches, view, suite);
	for (size_t i = 0; i < matches.count; i++) {
		const struct match *match = &matches.items[i];
		struct tree *row = tree_item(rows), *cells;

		view_text(row, "label", *match->label ? match->label : suite);
		cells = tree_list(row, "cells");
		for (size_t s = 0; s < view->source_count; s++) {
			show_cell(cells, match->cases[0], match->cases[s], s == 0);
			if (!m && match->cases[s])
				m = view_headline(match->cases[s]);
		}
	}
	tree_textf(map, "case_count", "%zu", matches.count);
	tree_text(map, "metric",
		  m ? view_metric_title(view, view_string(m->name), name, sizeof(name)) : "value");
	tree_text(map, "better", m ? format_better(m->better) : "");
	matches_release(&matches);
}

/*
 * Median, lowest and highest ratio of one source over all rows of a suite that both have; a point
 * of that name.
 */
static void ratio_point(const struct matches *matches, size_t source, const char *name,
			struct chart_series *series)
{
	double *ratios = xmalloc((matches->count + 1) * sizeof(*ratios));
	struct chart_point *point;
	size_t count = 0;

	for (size_t i = 0; i < matches->count; i++) {
		double ratio =
			ratio_of(matches->items[i].cases[0], matches->items[i].cases[source]);

		if (isfinite(ratio))
			ratios[count++] = ratio;
	}
	qsort(ratios, count, sizeof(*ratios), compare_doubles);
	point = chart_point_new(series, name);
	point->n = count;
	if (count) {
		point->y = median_of_sorted(ratios, count);
		point->low = ratios[0];
		point->high = ratios[count - 1];
	}
	free(ratios);
}

static void show_ratio(struct tree *rows, const char *suite, const char *metric, const char *column,
		       const struct chart_point *point)
{
	struct tree *row = tree_item(rows);
	char text[FORMAT_SIZE];

	view_text(row, "suite", suite);
	tree_text(row, "metric", metric);
	tree_text(row, "column", column);
	tree_text(row, "ratio", format_ratio(point->y, text, sizeof(text)));
	tree_text(row, "lowest", format_ratio(point->low, text, sizeof(text)));
	tree_text(row, "highest", format_ratio(point->high, text, sizeof(text)));
	tree_textf(row, "pairs", "%zu", point->n);
}

static const char *suite_metric(const struct view *view, const char *suite)
{
	for (size_t r = 0; r < view->count; r++) {
		for (size_t i = 0; i < view->results[r].case_count; i++) {
			const struct case_result *c = &view->results[r].cases[i];
			const struct metric_value *m = view_headline(c);

			if (m && strcmp(view_string(c->suite), suite) == 0)
				return m->name;
		}
	}
	return "";
}

/* Suites are never averaged together: latency and bandwidth have no common mean. */
void view_ratios(const struct view *view, struct tree *page)
{
	struct tree *rows = tree_list(page, "ratios");
	bool alone = view->source_count == 2;
	struct chart chart;

	chart_init(&chart, CHART_BARS);
	/* One column against the baseline needs no headings with a bar each. */
	for (size_t i = 0; i < view->suite_count; i++) {
		const char *suite = view->suites[i];
		struct chart_series *series = chart_series_named(&chart, alone ? "" : suite);
		struct matches matches;
		char metric[FORMAT_SIZE];

		view_metric_title(view, suite_metric(view, suite), metric, sizeof(metric));
		match_all(&matches, view, suite);
		for (size_t s = 1; s < view->source_count; s++) {
			const char *column = view->sources[s].label;

			ratio_point(&matches, s, alone ? suite : column, series);
			show_ratio(rows, suite, metric, column, &series->points[series->count - 1]);
		}
		matches_release(&matches);
	}
	chart.id = xstrdup("chart-ratios");
	chart.title = xstrdup("Against the baseline");
	chart.shows =
		xasprintf("%s%sHow many times as good as %s, per suite: median over all cases that "
			  "both have; whisker: lowest and highest case; above 1 is better.",
			  alone ? view->sources[1].label : "", alone ? ". " : "",
			  view->source_count ? view->sources[0].label : "");
	chart.x_name = xstrdup("");
	chart.x_unit = xstrdup("");
	chart.y_name = xstrdup("times as good");
	chart.y_unit = xstrdup("×");
	chart.y_scale = SCALE_LOG2;
	chart.better = BETTER_HIGHER;
	chart.reference = 1;
	chart.note = xstrdup("");
	chart_draw(&chart, tree_list(page, "ratio_charts"));
	chart_release(&chart);
	tree_text(page, "baseline", view->source_count ? view->sources[0].label : "");
}
