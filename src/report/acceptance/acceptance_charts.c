/*
 * Comparison of identical devices: every device's value of one case, a row each with all samples,
 * and the limit; of many devices one row of all values, and a row for those that did not pass.
 * Drawn for failed, undecided and warned checks, the worst first; if all passed, for
 * the limits with the smallest margin.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "report/acceptance/acceptance.h"
#include "report/chart/chart.h"
#include "report/view/presented.h"

#define MOST_BAD 12
#define MOST_GOOD 4
#define LEAD 1      /* charts below the answer */
#define MOST_ROWS 8 /* of devices in a chart; more have a row together */

struct chart_subject {
	const struct verdict_check *check;
	size_t order;
	bool bad;
};

static int acceptance_charts_by_need(const void *a, const void *b)
{
	const struct chart_subject *p = a, *q = b;
	double m = isfinite(p->check->margin) ? p->check->margin : INFINITY,
	       n = isfinite(q->check->margin) ? q->check->margin : INFINITY;

	if (p->bad != q->bad)
		return p->bad ? -1 : 1;
	if (p->bad && verdict_check_is_worse(p->check, q->check) !=
			      verdict_check_is_worse(q->check, p->check))
		return verdict_check_is_worse(p->check, q->check) ? -1 : 1;
	if (m != n)
		return m < n ? -1 : 1;
	return (p->order > q->order) - (p->order < q->order);
}

/* A case of the chart's point with its metric and its check; NULL: not present. */
struct chart_member {
	const struct case_result *c;
	const struct metric_value *m;
	const struct verdict_check *check;
};

struct members {
	struct chart_member *items;
	size_t count, capacity;
};

static void acceptance_charts_strip_add_device(const struct view *view, struct chart_series *rows,
					       const struct chart_member *member)
{
	const struct metric_value *m = member->m;
	const struct series *series = view_series(member->c, m);
	char *devices = view_all_devices(view, member->c);
	struct chart_point *point = chart_point_new(rows, devices);

	point->y = point->p50 = m->value;
	point->n = m->n;
	if (m->launch_count) {
		point->samples = m->launches;
		point->sample_count = m->launch_count;
	} else if (series && series->count && series->statistics.median > 0) {
		point->samples = point->converted = view_samples(series, m);
		point->sample_count = series->count;
	} else {
		point->samples = &m->value;
		point->sample_count = 1;
	}
	free(devices);
}

/* The limit on the same value that only warns; NULL: none. */
static const struct verdict_check *acceptance_chart_warning_limit_of(const struct verdicts *v,
								     const struct verdict_check *c)
{
	for (size_t i = 0; i < v->count; i++) {
		const struct verdict_check *other = &v->checks[i];

		if (other != c && other->warns_only && isfinite(other->bound) && !c->warns_only &&
		    strcmp(other->case_id, c->case_id) == 0 &&
		    strcmp(other->metric, c->metric) == 0)
			return other;
	}
	return NULL;
}

/* Names both limits: the one that rejects is drawn. */
static char *acceptance_chart_note_of_limits(const struct verdicts *v,
					     const struct verdict_check *c)
{
	const struct verdict_check *warning = acceptance_chart_warning_limit_of(v, c);

	if (!warning || !isfinite(c->bound))
		return xstrdup("");
	return xasprintf("A value below %s is rejected; a value below %s gets a warning.",
			 format_quantity(c->bound, c->unit).text,
			 format_quantity(warning->bound, c->unit).text);
}

/* Those that did not pass in front, the worst first. */
static int acceptance_charts_members_by_badness(const void *a, const void *b)
{
	const struct chart_member *p = a, *q = b;

	if (!p->check || !q->check)
		return (p->check == NULL) - (q->check == NULL);
	return verdict_check_is_worse(p->check, q->check)   ? -1
	       : verdict_check_is_worse(q->check, p->check) ? 1
							    : strcmp(p->c->id, q->c->id);
}

static int acceptance_chart_by_case(const void *a, const void *b)
{
	const struct chart_member *p = a, *q = b;

	return strcmp(view_string(p->c->id), view_string(q->c->id));
}

/* Sets the worst check of the metric for each case. */
static void acceptance_charts_members_set_checks(const struct acceptance *a, const char *metric,
						 struct members *members)
{
	const struct verdicts *v = a->result->judgement;

	qsort(members->items, members->count, sizeof(*members->items), acceptance_chart_by_case);
	for (size_t i = 0; i < v->count; i++) {
		const struct verdict_check *c = &v->checks[i];
		const struct case_result its = { .id = c->case_id };
		const struct chart_member wanted = { .c = &its };
		struct chart_member *found;

		if (c->verdict == VERDICT_PASS || c->verdict == VERDICT_SKIP ||
		    strcmp(c->metric, metric) != 0)
			continue;
		found = bsearch(&wanted, members->items, members->count, sizeof(wanted),
				acceptance_chart_by_case);
		if (found && (!found->check || verdict_check_is_worse(c, found->check)))
			found->check = c;
	}
}

static void acceptance_chart_members_collect(const struct acceptance *a,
					     const struct verdict_check *c, struct members *members)
{
	for (size_t i = 0; i < a->result->case_count; i++) {
		const struct case_result *other = &a->result->cases[i];
		const struct metric_value *m = case_metric(other, c->metric);
		char *point = m && isfinite(m->value) ? case_point(other) : NULL;

		if (point && strcmp(point, c->point) == 0) {
			ARRAY_GROW(members->items, members->count, members->capacity);
			members->items[members->count++] =
				(struct chart_member){ .c = other, .m = m };
		}
		free(point);
	}
}

/* One row of all values, then the worst of those that did not pass. */
static void acceptance_charts_add_many(const struct acceptance *a, const struct view *view,
				       struct chart *chart, struct chart_series *rows,
				       struct members *members)
{
	double *values = xcalloc(members->count, sizeof(*values));
	struct chart_point *all =
		chart_point_new(rows, format_text("all %zu", members->count).text);
	size_t bad = 0;

	acceptance_charts_members_set_checks(a, members->items[0].m->name, members);
	for (size_t i = 0; i < members->count; i++) {
		values[i] = members->items[i].m->value;
		bad += members->items[i].check != NULL;
	}
	qsort(values, members->count, sizeof(*values), compare_doubles);
	all->samples = all->converted = values;
	all->sample_count = all->n = members->count;
	all->y = all->p50 = median_of_sorted(values, members->count);
	qsort(members->items, members->count, sizeof(*members->items),
	      acceptance_charts_members_by_badness);
	for (size_t i = 0; i < bad && i < MOST_ROWS; i++)
		acceptance_charts_strip_add_device(view, rows, &members->items[i]);
	if (bad > MOST_ROWS) {
		free(chart->note);
		chart->note = xasprintf("%zu more did not pass.", bad - MOST_ROWS);
	}
}

static void acceptance_draw_chart(const struct acceptance *a, const struct verdict_check *c,
				  struct tree *charts, size_t place)
{
	const struct view view = { .results = a->result, .count = 1 };
	struct formatted name = presented_metric_title(&view, c->metric);
	struct members members = { 0 };
	char *numbers = verdict_check_numbers(c);
	struct chart_series *rows;
	struct chart chart;

	chart_init(&chart, CHART_STRIP);
	chart.close = true;
	chart.centre = "value";
	chart.id = xasprintf("outliers-%zu", place);
	chart.title = xasprintf("%s, %s", name.text, c->point);
	format_capital(chart.title);
	acceptance_chart_members_collect(a, c, &members);
	chart.shows =
		xstrdup(members.count > MOST_ROWS
				? "One tick for each device; below, the samples or launches of the "
				  "devices that did not pass; triangle: the value judged, of all "
				  "devices their median; dashed line: the limit."
				: "One tick for each sample or launch of every device; triangle: "
				  "the value judged; dashed line: the limit.");
	chart.finding = xasprintf("%s: %s%s%s.", verdict_fields_name(c->verdict), c->devices,
				  *numbers ? ", " : "", numbers);
	chart.y_name = xstrdup(name.text);
	chart.y_unit = xstrdup(c->unit);
	chart.note = acceptance_chart_note_of_limits(a->result->judgement, c);
	rows = chart_series_named(&chart, "");
	if (members.count > MOST_ROWS)
		acceptance_charts_add_many(a, &view, &chart, rows, &members);
	for (size_t i = 0; i < members.count && members.count <= MOST_ROWS; i++)
		acceptance_charts_strip_add_device(&view, rows, &members.items[i]);
	if (c->comparison != NO_COMPARISON && isfinite(c->bound)) {
		chart.reference = c->bound;
		chart.reference_name =
			c->comparison == AT_MOST ? "limit (at most)" : "limit (at least)";
	}
	if (rows->count)
		chart_draw(&chart, charts);
	free(members.items);
	free(numbers);
	chart_release(&chart);
}

/* One chart serves all devices of a case. */
static bool acceptance_charts_is_drawn(const struct chart_subject *subjects, size_t count,
				       const struct verdict_check *c)
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
	struct chart_subject *subjects = xcalloc(v->count + 1, sizeof(*subjects));
	struct tree *lead = tree_list(page, "lead_charts"),
		    *charts = tree_list(page, "outlier_charts");
	size_t count = 0, bad = 0, good = 0;

	for (size_t i = 0; i < v->count; i++) {
		const struct verdict_check *c = &v->checks[i];

		if (*c->case_id && *c->metric && c->verdict != VERDICT_SKIP)
			subjects[count++] =
				(struct chart_subject){ c, i, c->verdict != VERDICT_PASS };
	}
	if (count)
		qsort(subjects, count, sizeof(*subjects), acceptance_charts_by_need);
	for (size_t i = 0; i < count; i++) {
		if ((subjects[i].bad ? bad >= MOST_BAD : good >= MOST_GOOD) ||
		    acceptance_charts_is_drawn(subjects, i, subjects[i].check))
			continue;
		bad += subjects[i].bad;
		good += !subjects[i].bad;
		acceptance_draw_chart(a, subjects[i].check, lead->count < LEAD ? lead : charts,
				      bad + good);
	}
	free(subjects);
}
