/*
 * Figures over the number of nodes that work together: one chart for each headline metric and
 * facet of the suite's rows, one line for each point that was measured over several numbers.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "report/chart/chart.h"
#include "report/fleet/fleet_page.h"
#include "report/view/presented.h"

#define MOST_CHARTS 12
#define MOST_LINES 8 /* colours and markers */

/* A line's figures over one number of nodes: one for each group. */
struct scaling_place {
	char *facet, *line;
	size_t nodes;
	double *values;
	size_t count, capacity;
	double low, high; /* of the only one */
};

struct scaling {
	const struct view *view;
	const struct metric *metric;
	const struct figure_row *row;
	bool always;             /* a metric that need not be its case's main one */
	const char *without[10]; /* the number of nodes, which is the axis, first */
	struct scaling_place *places;
	size_t count, capacity;
};

static char *fleet_scaling_facet_of(const struct scaling *s, const struct case_result *c)
{
	struct text text = TEXT_EMPTY;

	text_add(&text, view_section(c));
	for (size_t i = 0; i < ARRAY_SIZE(s->row->facets) && s->row->facets[i]; i++) {
		const struct case_parameter *p = case_parameter(c, s->row->facets[i]);

		if (p)
			format_list(&text, "%s", presented_parameter(s->view, c->suite, p).text);
	}
	return text.data ? text_detach(&text) : xstrdup("");
}

static struct scaling_place *scaling_place(struct scaling *s, const struct case_result *c,
					   size_t nodes)
{
	char *facet = fleet_scaling_facet_of(s, c),
	     *line = view_named_parameters(s->view, c, s->without);

	for (size_t i = 0; i < s->count; i++) {
		struct scaling_place *p = &s->places[i];

		if (p->nodes == nodes && strcmp(p->facet, facet) == 0 &&
		    strcmp(p->line, line) == 0) {
			free(facet);
			free(line);
			return p;
		}
	}
	ARRAY_GROW(s->places, s->count, s->capacity);
	s->places[s->count] =
		(struct scaling_place){ .facet = facet, .line = line, .nodes = nodes };
	return &s->places[s->count++];
}

/* Takes of a node by itself those on all of its devices, as groups have them. */
static bool scaling_is_whole(const struct fleet_nodes *nodes, const struct case_result *c,
			     size_t count)
{
	const struct fleet_node *n = count == 1 ? fleet_node_find(nodes, c->devices[0],
								  device_node_length(c->devices[0]))
						: NULL;

	return count > 1 || (n && n->devices == c->device_count);
}

static void scaling_collect(struct scaling *s, const struct fleet_nodes *nodes,
			    const struct result *r, const char *suite)
{
	for (size_t i = 0; i < r->case_count; i++) {
		const struct case_result *c = &r->cases[i];
		const struct metric_value *m = c->status == CASE_OK && strcmp(c->suite, suite) == 0
						       ? case_metric(c, s->metric->name)
						       : NULL;
		size_t count = m ? case_node_count(c) : 0;
		struct scaling_place *p;

		if (!count || !(m->headline || s->always) || !isfinite(m->value) ||
		    !scaling_is_whole(nodes, c, count))
			continue;
		p = scaling_place(s, c, count);
		ARRAY_GROW(p->values, p->count, p->capacity);
		p->values[p->count++] = m->value;
		p->low = m->low;
		p->high = m->high;
	}
}

/* True if the line has another number of nodes, and one of several. */
static bool scaling_is_curve(const struct scaling *s, const struct scaling_place *p)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct scaling_place *q = &s->places[i];

		if (q->nodes != p->nodes && strcmp(q->facet, p->facet) == 0 &&
		    strcmp(q->line, p->line) == 0)
			return true;
	}
	return false;
}

static void scaling_add_point(struct chart *chart, const struct scaling_place *p, size_t *left_out)
{
	struct chart_series *series = NULL;
	struct chart_point *point;
	char text[32];

	for (size_t i = 0; i < chart->count; i++)
		if (strcmp(chart->series[i].name, p->line) == 0)
			series = &chart->series[i];
	if (!series && chart->count == MOST_LINES) {
		++*left_out;
		return;
	}
	if (!series)
		series = chart_series_named(chart, p->line);
	snprintf(text, sizeof(text), "%zu", p->nodes);
	point = chart_point_new(series, text);
	point->x = (double)p->nodes;
	point->y = median_of(p->values, p->count);
	point->low = p->count == 1 ? p->low : (double)NAN;
	point->high = p->count == 1 ? p->high : (double)NAN;
	point->n = p->count;
}

static int scaling_by_nodes(const void *a, const void *b)
{
	const struct scaling_place *p = *(struct scaling_place *const *)a,
				   *q = *(struct scaling_place *const *)b;

	return p->nodes != q->nodes ? (p->nodes > q->nodes) - (p->nodes < q->nodes)
				    : (p > q) - (p < q);
}

static void scaling_draw(const struct scaling *s, const char *facet, struct tree *charts)
{
	struct scaling_place **order = xcalloc(s->count + 1, sizeof(struct scaling_place *));
	size_t count = 0, left_out = 0;
	struct formatted name;
	struct chart chart;

	for (size_t i = 0; i < s->count; i++)
		if (strcmp(s->places[i].facet, facet) == 0 && scaling_is_curve(s, &s->places[i]))
			order[count++] = &s->places[i];
	qsort(order, count, sizeof(struct scaling_place *), scaling_by_nodes);
	name = presented_metric_title(s->view, s->metric->name);
	chart_init(&chart, CHART_LINES);
	chart.id = xasprintf("scaling-%zu", charts->count + 1);
	chart.title = xasprintf("%s over nodes%s%s", name.text, *facet ? ", " : "", facet);
	format_capital(chart.title);
	chart.shows = xstrdup("One line per point. If several groups have the same number of "
			      "nodes, the line shows their median.");
	chart.x_name = xstrdup(s->without[0]);
	chart.x_unit = xstrdup("1");
	chart.x_scale = SCALE_LOG2;
	chart.y_name = xstrdup(name.text);
	chart.y_unit = xstrdup(s->metric->unit);
	chart.y_scale = SCALE_LINEAR;
	chart.better = s->metric->better;
	for (size_t i = 0; i < count; i++)
		scaling_add_point(&chart, order[i], &left_out);
	chart.note = left_out ? xasprintf("%zu more figures are in the table of cases.", left_out)
			      : xstrdup("");
	if (count)
		chart_draw(&chart, charts);
	chart_release(&chart);
	free(order);
}

static void scaling_release(struct scaling *s)
{
	for (size_t i = 0; i < s->count; i++) {
		free(s->places[i].facet);
		free(s->places[i].line);
		free(s->places[i].values);
	}
	free(s->places);
}

/* The number of nodes and of ranks are the axis; facets are in the title. */
static void scaling_leave_out(struct scaling *s, const struct presentation *p)
{
	const struct role_row *nodes = presentation_role(p, ROLE_NODES, NULL);
	size_t count = 0;

	if (nodes)
		s->without[count++] = nodes->name;
	for (const struct figure_row *row = p->figures; row->metric; row++)
		if (row->ideal && count < 2)
			s->without[count++] = row->ideal;
	for (size_t i = 0; i < ARRAY_SIZE(s->row->facets) && s->row->facets[i]; i++)
		s->without[count++] = s->row->facets[i];
}

static void scaling_show_suite(const struct view *view, const struct fleet_nodes *nodes,
			       const struct result *r, const struct presentation *p,
			       struct tree *charts)
{
	for (const struct figure_row *row = p->figures; row && row->metric; row++) {
		const struct metric *metric = presentation_metric(p, row->metric);
		/* A metric with an ideal is a speed-up. */
		struct scaling s = {
			.view = view, .metric = metric, .row = row, .always = row->ideal != NULL
		};

		if (!metric)
			continue;
		scaling_leave_out(&s, p);
		scaling_collect(&s, nodes, r, p->suite);
		for (size_t i = 0; i < s.count && charts->count < MOST_CHARTS; i++) {
			bool first = true;

			for (size_t k = 0; k < i && first; k++)
				first = strcmp(s.places[k].facet, s.places[i].facet) != 0;
			if (first)
				scaling_draw(&s, s.places[i].facet, charts);
		}
		scaling_release(&s);
	}
}

void fleet_scaling(const struct fleet_nodes *nodes, const struct result *r, struct tree *page)
{
	const struct view view = { .results = r, .count = 1 };
	struct tree *charts = tree_list(page, "scaling_charts");

	for (size_t i = 0; i < r->presentation_count; i++)
		if (presentation_role(&r->presentations[i], ROLE_NODES, NULL))
			scaling_show_suite(&view, nodes, r, &r->presentations[i], charts);
}
