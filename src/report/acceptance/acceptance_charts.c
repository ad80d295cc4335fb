/*
 * Comparison of identical devices: every device's value of one case, a row each with all samples,
 * and the limit. Drawn for failed, undecided and warned checks, the worst first; if all passed, for
 * the limits with the smallest margin.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/acceptance/acceptance.h"
#include "report/chart/chart.h"
#include "report/view/format.h"
#include "report/view/presented.h"
#include "report/view/view.h"

#define MOST_BAD 12
#define MOST_GOOD 4

struct subject {
	const struct verdict_check *check;
	size_t order;
	bool bad;
};

static int by_need(const void *a, const void *b)
{
	const struct subject *p = a, *q = b;
	double m = isfinite(p->check->margin) ? p->check->margin : INFINITY,
	       n = isfinite(q->check->margin) ? q->check->margin : INFINITY;

	if (p->bad != q->bad)
		return p->bad ? -1 : 1;
	if (m != n)
		return m < n ? -1 : 1;
	return (p->order > q->order) - (p->order < q->order);
}

/*
 * Samples in the metric's own unit: a rate is an amount over a time, all else in proportion to the
 * time.
 */
static double *in_unit(const struct series *series, const struct metric_value *m)
{
	size_t length = strlen(view_string(m->unit));
	bool rate = length > 2 && strcmp(m->unit + length - 2, "/s") == 0;
	double median = series->statistics.median;
	double *out = xcalloc(series->count + 1, sizeof(*out));

	for (size_t i = 0; i < series->count; i++)
		out[i] = rate ? m->value * median / series->samples[i]
			      : m->value * series->samples[i] / median;
	return out;
}

/* Storage of a row's samples, freed when the chart has been drawn. */
struct owned {
	double **items;
	size_t count, capacity;
};

static double *keep(struct owned *owned, double *values)
{
	ARRAY_GROW(owned->items, owned->count, owned->capacity);
	owned->items[owned->count++] = values;
	return values;
}

static void add_device(const struct view *view, struct chart_series *rows, struct owned *owned,
		       const struct case_result *c, const struct metric_value *m)
{
	const struct series *series = view_series(c, m);
	char *devices = view_devices(view, c);
	struct chart_point *point = chart_point_new(rows, devices);

	point->y = point->p50 = m->value;
	point->n = m->n;
	if (m->launch_count) {
		point->samples = m->launches;
		point->sample_count = m->launch_count;
	} else if (series && series->count && series->statistics.median > 0) {
		point->samples = keep(owned, in_unit(series, m));
		point->sample_count = series->count;
	} else {
		point->samples = &m->value;
		point->sample_count = 1;
	}
	free(devices);
}

static void add_limit_row(struct chart_series *rows, const struct verdict_check *c)
{
	struct chart_point *point;

	if (c->comparison == NO_COMPARISON || !isfinite(c->bound))
		return;
	point = chart_point_new(rows,
				c->comparison == AT_MOST ? "limit (at most)" : "limit (at least)");
	point->samples = &c->bound;
	point->sample_count = 1;
	point->p50 = c->bound;
}

static char *finding_of(const struct verdict_check *c)
{
	char *numbers = check_numbers(c), *out;

	out = xasprintf("%s: %s%s%s.", verdict_name(c->verdict), c->devices, *numbers ? ", " : "",
			numbers);
	free(numbers);
	return out;
}

static bool has_point(const struct case_result *c, const char *point)
{
	char *own = case_point(c);
	bool same = strcmp(own, point) == 0;

	free(own);
	return same;
}

static void draw(const struct acceptance *a, const struct verdict_check *c, struct tree *charts)
{
	const struct view view = { .results = a->result, .count = 1 };
	struct owned owned = { 0 };
	struct chart_series *rows;
	struct chart chart;
	char name[FORMAT_SIZE];

	chart_init(&chart, CHART_STRIP);
	view_metric_title(&view, c->metric, name, sizeof(name));
	chart.close = true;
	chart.id = xasprintf("outliers-%zu", charts->count + 1);
	chart.title = xasprintf("%s, %s", name, c->point);
	format_capital(chart.title);
	chart.shows = xstrdup(
		"Every device and its samples, one tick each; triangle: the median, or the limit.");
	chart.finding = finding_of(c);
	chart.y_name = xstrdup(name);
	chart.y_unit = xstrdup(c->unit);
	chart.x_name = xstrdup("");
	chart.x_unit = xstrdup("");
	chart.note = xstrdup("");
	rows = chart_series_named(&chart, "");
	for (size_t i = 0; i < a->result->case_count; i++) {
		const struct case_result *other = &a->result->cases[i];
		const struct metric_value *m = case_metric(other, c->metric);

		if (m && isfinite(m->value) && has_point(other, c->point))
			add_device(&view, rows, &owned, other, m);
	}
	add_limit_row(rows, c);
	if (rows->count)
		chart_draw(&chart, charts);
	for (size_t i = 0; i < owned.count; i++)
		free(owned.items[i]);
	free(owned.items);
	chart_release(&chart);
}

/* One chart serves all devices of a case. */
static bool drawn(const struct subject *subjects, size_t count, const struct verdict_check *c)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(subjects[i].check->metric, c->metric) == 0 &&
		    strcmp(subjects[i].check->point, c->point) == 0)
			return true;
	return false;
}

void acceptance_charts(const struct acceptance *a, struct tree *page)
{
	const struct verdicts *v = a->result->judgement;
	struct subject *subjects = xcalloc(v->count + 1, sizeof(*subjects));
	struct tree *charts = tree_list(page, "outlier_charts");
	size_t count = 0, bad = 0, good = 0;

	for (size_t i = 0; i < v->count; i++) {
		const struct verdict_check *c = &v->checks[i];

		if (*c->case_id && *c->metric && c->verdict != VERDICT_SKIP)
			subjects[count++] = (struct subject){ c, i, c->verdict != VERDICT_PASS };
	}
	if (count)
		qsort(subjects, count, sizeof(*subjects), by_need);
	for (size_t i = 0; i < count; i++) {
		if (drawn(subjects, i, subjects[i].check) ||
		    (subjects[i].bad ? bad >= MOST_BAD : good >= MOST_GOOD))
			continue;
		bad += subjects[i].bad;
		good += !subjects[i].bad;
		draw(a, subjects[i].check, charts);
	}
	tree_flag(page, "has_outlier_charts", charts->count != 0);
	free(subjects);
}
