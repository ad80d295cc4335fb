/*
 * Each figure over all devices of a run: a heat map of nodes by figures, and for figures with
 * failed devices a strip with a row of all values and a row for each device that failed.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "report/acceptance/acceptance.h"
#include "report/chart/chart.h"
#include "report/fleet/fleet_page.h"
#include "report/view/presented.h"

#define MOST_CHARTS 16
#define MOST_COLUMNS 8 /* of the heat map */
#define MOST_FAILED 8  /* rows of one chart */

/* The cases of one point on all devices, and its headline metric. */
struct fleet_figure {
	char *point; /* the first case's id, up to its devices */
	const struct case_result *first;
	const struct metric_value *metric; /* from the first case that has it */
	double *values;                    /* sorted at last */
	size_t count, capacity;
	const struct verdict_check **failed; /* the worst of each device that failed */
	size_t failed_count, failed_capacity;
};

struct figures {
	struct fleet_figure *items;
	size_t count, capacity;
	struct text_index index; /* by point */
};

/* The figure of a case's id, "transfer/h2d/pinned@n7/cuda:3" without its devices. */
static struct fleet_figure *fleet_figures_find(struct figures *f, const char *id, bool add)
{
	char *point = xstrndup(id, strcspn(id, "@"));
	size_t at = text_index_find(&f->index, point, "");

	if (at == SIZE_MAX && add) {
		ARRAY_GROW(f->items, f->count, f->capacity);
		f->items[f->count] = (struct fleet_figure){ .point = point };
		at = f->count++;
		*text_index_at(&f->index, point, "") = at;
	} else {
		free(point);
	}
	return at == SIZE_MAX ? NULL : &f->items[at];
}

static void fleet_figures_add_case(struct figures *f, const struct case_result *c)
{
	const struct metric_value *m = c->status == CASE_OK ? view_headline(c) : NULL;
	struct fleet_figure *figure;

	/* Cases of several nodes together are no device's. */
	if (!m || !*view_string(c->node) || !isfinite(m->value))
		return;
	figure = fleet_figures_find(f, c->id, true);
	if (!figure->metric) {
		figure->first = c;
		figure->metric = m;
	}
	if (strcmp(figure->metric->name, m->name) != 0)
		return;
	ARRAY_GROW(figure->values, figure->count, figure->capacity);
	figure->values[figure->count++] = m->value;
}

static void fleet_figures_add_failed(struct figures *f, const struct verdict_check *c)
{
	struct fleet_figure *figure = *c->case_id && acceptance_is_bad(c) && isfinite(c->value) &&
						      c->verdict != VERDICT_SKIP
					      ? fleet_figures_find(f, c->case_id, false)
					      : NULL;

	if (!figure || strcmp(figure->metric->name, c->metric) != 0)
		return;
	/* Several limits may reject one device: its worst check counts. */
	for (size_t i = 0; i < figure->failed_count; i++)
		if (strcmp(figure->failed[i]->devices, c->devices) == 0) {
			if (verdict_check_is_worse(c, figure->failed[i]))
				figure->failed[i] = c;
			return;
		}
	ARRAY_GROW(figure->failed, figure->failed_count, figure->failed_capacity);
	figure->failed[figure->failed_count++] = c;
}

static int fleet_figures_checks_by_badness(const void *a, const void *b)
{
	const struct verdict_check *p = *(const struct verdict_check *const *)a,
				   *q = *(const struct verdict_check *const *)b;

	return verdict_check_is_worse(p, q)   ? -1
	       : verdict_check_is_worse(q, p) ? 1
					      : strcmp(p->devices, q->devices);
}

static void fleet_figures_add_row(struct chart_series *rows, const char *name, const double *values,
				  size_t count)
{
	struct chart_point *point = chart_point_new(rows, name);

	point->samples = values;
	point->sample_count = count;
	point->p50 = point->y = median_of_sorted(values, count);
	point->n = count;
}

static void fleet_figures_draw(const struct result *r, struct fleet_figure *f, size_t number,
			       struct tree *charts)
{
	const struct view view = { .results = r, .count = 1 };
	struct chart_series *rows;
	struct chart chart;
	struct formatted name, median, low, high;
	size_t shown = f->failed_count < MOST_FAILED ? f->failed_count : MOST_FAILED;
	const char *unit = f->metric->unit;
	char *all = xasprintf("all %zu devices", f->count);

	qsort(f->values, f->count, sizeof(*f->values), compare_doubles);
	chart_init(&chart, CHART_STRIP);
	name = presented_metric_title(&view, f->metric->name);
	chart.close = true;
	chart.id = xasprintf("figure-%zu", number);
	chart.title = xasprintf("%s, %s", name.text, f->point);
	format_capital(chart.title);
	chart.shows = xstrdup("");
	median = format_quantity(median_of_sorted(f->values, f->count), unit);
	low = format_quantity(f->values[0], unit);
	high = format_quantity(f->values[f->count - 1], unit);
	chart.finding = xasprintf("%zu devices: median %s, from %s to %s.", f->count, median.text,
				  low.text, high.text);
	chart.y_name = xstrdup(name.text);
	chart.y_unit = xstrdup(unit);
	chart.note = f->failed_count > shown
			     ? xasprintf("%zu more devices did not pass.", f->failed_count - shown)
			     : xstrdup("");
	rows = chart_series_named(&chart, "");
	fleet_figures_add_row(rows, all, f->values, f->count);
	if (f->failed_count)
		qsort(f->failed, f->failed_count, sizeof(*f->failed),
		      fleet_figures_checks_by_badness);
	for (size_t i = 0; i < shown; i++)
		fleet_figures_add_row(rows, f->failed[i]->devices, &f->failed[i]->value, 1);
	chart_draw(&chart, charts);
	chart_release(&chart);
	free(all);
}

/* Those with failed devices first, the most of them in front; then in the order of the result. */
static int fleet_figures_by_failed(const void *a, const void *b)
{
	const struct fleet_figure *p = *(struct fleet_figure *const *)a,
				  *q = *(struct fleet_figure *const *)b;

	if (p->failed_count != q->failed_count)
		return p->failed_count > q->failed_count ? -1 : 1;
	return (p > q) - (p < q);
}

/* True if a figure before is of the same suite, and has failed devices where `failed`. */
static bool fleet_figures_is_after_its_suite(struct fleet_figure *const *order, size_t at,
					     bool failed)
{
	for (size_t i = 0; i < at; i++)
		if ((!failed || order[i]->failed_count) &&
		    strcmp(order[i]->first->suite, order[at]->first->suite) == 0)
			return true;
	return false;
}

/* True if nothing is wrong with this figure, and one of its suite comes earlier. */
static bool fleet_figures_is_more_of_the_same(struct fleet_figure *const *order, size_t at)
{
	return !order[at]->failed_count && fleet_figures_is_after_its_suite(order, at, false);
}

static void fleet_figures_release(struct figures *f)
{
	for (size_t i = 0; i < f->count; i++) {
		free(f->items[i].point);
		free(f->items[i].values);
		free(f->items[i].failed);
	}
	free(f->items);
	text_index_release(&f->index);
}

/* How much worse than the figure's median: 0.5 is half as fast; below 0 is better. */
static double fleet_figures_deficit(const struct fleet_figure *f, double value)
{
	double median = median_of_sorted(f->values, f->count);

	if (f->metric->better == BETTER_NONE || !(median > 0) || !(value > 0))
		return NAN;
	return f->metric->better == BETTER_HIGHER ? 1 - value / median : 1 - median / value;
}

/* A node's worst device in each column of the heat map. */
static void fleet_figures_take_deficits(struct fleet_figure *const *columns, size_t count,
					const struct fleet_nodes *nodes, const struct result *r)
{
	struct text_index index = { 0 };

	for (size_t i = 0; i < count; i++)
		*text_index_at(&index, columns[i]->point, "") = i;
	for (size_t i = 0; i < nodes->count; i++) {
		nodes->items[i].deficits = xcalloc(count + 1, sizeof(*nodes->items[i].deficits));
		nodes->items[i].deficit = -INFINITY;
		for (size_t k = 0; k < count; k++)
			nodes->items[i].deficits[k] = NAN;
	}
	for (size_t i = 0; i < r->case_count; i++) {
		const struct case_result *c = &r->cases[i];
		const struct metric_value *m = c->status == CASE_OK ? view_headline(c) : NULL;
		const char *name = view_string(c->node);
		struct fleet_node *n = m ? fleet_node_find(nodes, name, strlen(name)) : NULL;
		char *point = n ? xstrndup(c->id, strcspn(c->id, "@")) : NULL;
		size_t at = n ? text_index_find(&index, point, "") : SIZE_MAX;

		free(point);
		if (at == SIZE_MAX || strcmp(m->name, columns[at]->metric->name))
			continue;
		n->deficits[at] =
			fmax(n->deficits[at], fleet_figures_deficit(columns[at], m->value));
		n->deficit = fmax(n->deficit, n->deficits[at]);
	}
	text_index_release(&index);
}

/* Marks the failed cells of the heat map. */
static void fleet_figures_mark_failed(struct fleet_figure *const *columns, size_t count,
				      const struct fleet_nodes *nodes)
{
	for (size_t i = 0; i < nodes->count; i++)
		nodes->items[i].failed = xcalloc(count + 1, sizeof(*nodes->items[i].failed));
	for (size_t i = 0; i < count; i++) {
		if (columns[i]->failed_count)
			qsort(columns[i]->failed, columns[i]->failed_count,
			      sizeof(*columns[i]->failed), fleet_figures_checks_by_badness);
		for (size_t k = 0; k < columns[i]->failed_count; k++) {
			const struct verdict_check *c = columns[i]->failed[k];
			struct fleet_node *n =
				fleet_node_find(nodes, c->devices, strcspn(c->devices, "/,"));

			/* The worst comes first. */
			if (n && c->verdict == VERDICT_FAIL && !n->failed[i])
				n->failed[i] = n->devices > 1 && !strchr(c->devices, ',')
						       ? c->devices + strcspn(c->devices, "/") + 1
						       : "";
		}
	}
}

void fleet_figures_node_cells(const struct fleet_node *n, size_t count, struct tree *cells)
{
	for (size_t i = 0; i < count; i++)
		view_heat_cell(n->deficits[i], n->failed[i] != NULL, view_string(n->failed[i]),
			       tree_item(cells));
}

/* The columns of the heat map: figures with failed devices, then one of each suite. */
static void fleet_figures_add_columns(struct fleet_figure **order, size_t count,
				      struct fleet_nodes *nodes, const struct result *r,
				      struct tree *page)
{
	struct fleet_figure **columns = xcalloc(MOST_COLUMNS + 1, sizeof(*columns));
	struct tree *list = tree_list(page, "columns");

	for (size_t i = 0; i < count && nodes->figures < MOST_COLUMNS; i++) {
		struct fleet_figure *f = order[i];
		struct tree *column;

		if (f->count < 2 || f->metric->better == BETTER_NONE ||
		    fleet_figures_is_more_of_the_same(order, i))
			continue;
		columns[nodes->figures++] = f;
		qsort(f->values, f->count, sizeof(*f->values), compare_doubles);
		column = tree_item(list);
		view_text(column, "point", f->point);
		tree_text(column, "median",
			  format_quantity(median_of_sorted(f->values, f->count), f->metric->unit)
				  .text);
	}
	fleet_figures_take_deficits(columns, nodes->figures, nodes, r);
	fleet_figures_mark_failed(columns, nodes->figures, nodes);
	free(columns);
}

void fleet_figures(struct fleet_nodes *nodes, const struct result *r, struct tree *page)
{
	struct figures f = { 0 };
	struct fleet_figure **order;
	struct tree *charts = tree_list(page, "charts"), *others = tree_list(page, "other_charts");

	for (size_t i = 0; i < r->case_count; i++)
		fleet_figures_add_case(&f, &r->cases[i]);
	for (size_t i = 0; r->judgement && i < r->judgement->count; i++)
		if (f.count)
			fleet_figures_add_failed(&f, &r->judgement->checks[i]);
	order = xcalloc(f.count + 1, sizeof(*order));
	for (size_t i = 0; i < f.count; i++)
		order[i] = &f.items[i];
	qsort(order, f.count, sizeof(struct fleet_figure *), fleet_figures_by_failed);
	fleet_figures_add_columns(order, f.count, nodes, r, page);
	for (size_t i = 0; i < f.count && charts->count + others->count < MOST_CHARTS; i++)
		if (order[i]->count > 1 && !fleet_figures_is_more_of_the_same(order, i))
			fleet_figures_draw(r, order[i], charts->count + others->count + 1,
					   order[i]->failed_count &&
							   !fleet_figures_is_after_its_suite(order,
											     i,
											     true)
						   ? charts
						   : others);
	free(order);
	fleet_figures_release(&f);
}
