/*
 * Pairs of nodes, of suites whose cases of two nodes come in rounds: each figure as a share of the
 * median of the same figure over all pairs, so that points of different size are comparable.
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

#define MOST_SINGLE 128 /* nodes with a row each; above, rows are bins */
#define BINS 64
#define MOST_APART 8  /* nodes with a row of their own in addition to bins, the worst */
#define BAD_SHARE 0.9 /* counted in the sentence, and apart from its bin */

struct pair_edge {
	const struct case_result *c;
	size_t nodes[2]; /* indices into the result's nodes */
	size_t point;
	double share; /* of the median; 1 is usual, less is worse; 0: it did not end */
};

/* Edges of one suite. */
struct edges {
	const struct view *view;
	struct pair_edge *items;
	size_t count, capacity;
	char **points;        /* what pairs have in common: parameters but the round */
	const char **metrics; /* headline metric by point; NULL: none came to its end */
	enum better *better;
	size_t point_count, point_capacity;
};

/* The two nodes of a case; false: they are one, or more. */
static bool fleet_pairs_nodes_of_case(const struct fleet_nodes *nodes, const struct case_result *c,
				      size_t out[2])
{
	size_t count = 0;

	for (size_t i = 0; i < c->device_count; i++) {
		const char *device = c->devices[i];
		const struct fleet_node *n =
			fleet_node_find(nodes, device, device_node_length(device));
		size_t index = n ? (size_t)(n - nodes->items) : SIZE_MAX;

		if (!n || (count == 2 && out[1] != index))
			return false;
		if (count == 0 || (count == 1 && out[0] != index))
			out[count++] = index;
	}
	return count == 2;
}

static size_t fleet_pairs_point_of(struct edges *e, const struct case_result *c, const char *round)
{
	const char *const without[] = { round, NULL };
	char *point = view_parameters(e->view, c, without);

	for (size_t i = 0; i < e->point_count; i++)
		if (strcmp(e->points[i], point) == 0) {
			free(point);
			return i;
		}
	if (e->point_count == e->point_capacity) {
		e->point_capacity = 2 * e->point_capacity + 16;
		e->points = xrealloc(e->points, e->point_capacity, sizeof(char *));
		e->metrics = xrealloc(e->metrics, e->point_capacity, sizeof(const char *));
		e->better = xrealloc(e->better, e->point_capacity, sizeof(*e->better));
	}
	e->points[e->point_count] = point;
	e->metrics[e->point_count] = NULL;
	return e->point_count++;
}

static void fleet_pairs_edges_collect(struct edges *e, const struct fleet_nodes *nodes,
				      const struct result *r, const char *suite)
{
	const struct presentation p = view_presentation(e->view, suite);
	const struct role_row *row = presentation_role(&p, ROLE_ROUND, NULL);
	const char *round = row ? row->name : NULL;

	for (size_t i = 0; i < r->case_count; i++) {
		const struct case_result *c = &r->cases[i];
		const struct metric_value *m = c->status == CASE_OK ? view_headline(c) : NULL;
		struct pair_edge edge = { .c = c };

		if (strcmp(c->suite, suite) != 0 || !round || !case_parameter(c, round) ||
		    c->status == CASE_SKIPPED || !fleet_pairs_nodes_of_case(nodes, c, edge.nodes))
			continue;
		edge.point = fleet_pairs_point_of(e, c, round);
		if (m && !e->metrics[edge.point]) {
			e->metrics[edge.point] = m->name;
			e->better[edge.point] = m->better;
		}
		ARRAY_GROW(e->items, e->count, e->capacity);
		e->items[e->count++] = edge;
	}
}

static void fleet_pairs_set_shares(struct edges *e)
{
	double *values = xcalloc(e->count + 1, sizeof(*values));

	for (size_t p = 0; p < e->point_count; p++) {
		size_t count = 0;
		double median;

		for (size_t i = 0; i < e->count; i++)
			if (e->items[i].point == p && e->items[i].c->status == CASE_OK)
				values[count++] = view_headline(e->items[i].c)->value;
		median = count ? median_of(values, count) : (double)NAN;
		for (size_t i = 0; i < e->count; i++) {
			struct pair_edge *edge = &e->items[i];
			double value;

			if (edge->point != p)
				continue;
			value = edge->c->status == CASE_OK ? view_headline(edge->c)->value
							   : (double)NAN;
			edge->share = edge->c->status != CASE_OK      ? 0
				      : e->better[p] == BETTER_HIGHER ? value / median
								      : median / value;
		}
	}
	free(values);
}

static bool fleet_pairs_is_about(const struct edges *e, const struct pair_edge *edge,
				 const char *metric)
{
	return e->metrics[edge->point] && strcmp(e->metrics[edge->point], metric) == 0;
}

/* The best of each node's pairs, by node index; NaN: no pair. */
static double *fleet_pairs_best_shares(const struct edges *e, const char *metric, size_t nodes)
{
	double *best = xmalloc((nodes + 1) * sizeof(*best));

	for (size_t i = 0; i < nodes; i++)
		best[i] = NAN;
	for (size_t i = 0; i < e->count; i++)
		for (int end = 0; end < 2 && fleet_pairs_is_about(e, &e->items[i], metric); end++) {
			double *mine = &best[e->items[i].nodes[end]];

			*mine = fmax(*mine, e->items[i].share); /* of NaN and a number the number */
		}
	return best;
}

/* Row names by node: the node's own name, or the name of its bin. */
struct pairs_rows {
	char **names; /* by node; NULL: it is in no pair */
	size_t count; /* of nodes that are in some */
	bool binned;
};

static bool fleet_pairs_is_apart(const double *best, size_t nodes, size_t node)
{
	size_t worse = 0;

	for (size_t i = 0; i < nodes; i++)
		worse += best[i] < best[node] || (best[i] == best[node] && i < node);
	return best[node] < BAD_SHARE && worse < MOST_APART;
}

static void fleet_pairs_name_rows(struct pairs_rows *rows, const struct fleet_nodes *nodes,
				  const double *best)
{
	size_t *there = xcalloc(nodes->count + 1, sizeof(*there)), bins, width;

	*rows = (struct pairs_rows){ .names = xcalloc(nodes->count + 1, sizeof(char *)) };
	for (size_t i = 0; i < nodes->count; i++)
		if (!isnan(best[i]))
			there[rows->count++] = i;
	rows->binned = rows->count > MOST_SINGLE;
	width = rows->binned ? (rows->count + BINS - 1) / BINS : 1;
	bins = (rows->count + width - 1) / width;
	for (size_t bin = 0; bin < bins; bin++) {
		size_t first = bin * width,
		       last = first + width < rows->count ? first + width - 1 : rows->count - 1;

		for (size_t i = first; i <= last; i++) {
			const char *own = nodes->items[there[i]].node->name;

			rows->names[there[i]] =
				width == 1 || fleet_pairs_is_apart(best, nodes->count, there[i])
					? xstrdup(own)
					: xasprintf("%s\u2026",
						    nodes->items[there[first]].node->name);
		}
	}
	free(there);
}

/* The worst value in the cell, in whole percent. */
static void fleet_pairs_heatmap_put_worst(struct chart *chart, const char *row, const char *column,
					  double exact)
{
	double share = rint(100 * exact) / 100;
	struct chart_series *series = chart_series_named(chart, row);
	struct chart_point *point = (struct chart_point *)chart_point_named(series, column);

	if (!point)
		point = chart_point_new(series, column);
	if (isnan(point->y) || share < point->y)
		point->y = share;
}

static char *fleet_pairs_sentence(const struct edges *e, const char *metric,
				  const struct fleet_nodes *nodes)
{
	const struct pair_edge *worst = NULL;
	size_t measured = 0, bad = 0;

	for (size_t i = 0; i < e->count; i++) {
		const struct pair_edge *edge = &e->items[i];

		if (!fleet_pairs_is_about(e, edge, metric))
			continue;
		measured++;
		bad += edge->share < BAD_SHARE;
		if (!worst || edge->share < worst->share)
			worst = edge;
	}
	return xasprintf("%zu measurements of pairs; %zu are below %.0f %% of the median. The "
			 "worst is %s with %s: %.0f %%, %s.",
			 measured, bad, 100 * BAD_SHARE, nodes->items[worst->nodes[0]].node->name,
			 nodes->items[worst->nodes[1]].node->name, 100 * worst->share,
			 e->points[worst->point]);
}

/* In the order of the nodes; of bins those apart first. */
static void fleet_pairs_add_rows(struct chart *chart, const struct pairs_rows *rows,
				 const struct fleet_nodes *nodes)
{
	for (int apart = rows->binned; apart >= 0; apart--)
		for (size_t i = 0; i < nodes->count; i++)
			if (rows->names[i] &&
			    (!apart || strcmp(rows->names[i], nodes->items[i].node->name) == 0))
				chart_series_named(chart, rows->names[i]);
}

static void fleet_pairs_draw(const struct edges *e, const char *metric,
			     const struct fleet_nodes *nodes, const double *best,
			     struct tree *charts)
{
	struct formatted name;
	struct chart chart;
	struct pairs_rows rows;

	fleet_pairs_name_rows(&rows, nodes, best);
	name = presented_metric_title(e->view, metric);
	chart_init(&chart, CHART_HEATMAP);
	chart.id = xasprintf("pair-map-%zu", charts->count + 1);
	chart.title = xasprintf("%s by pair of nodes", name.text);
	format_capital(chart.title);
	chart.shows = xstrdup("Each cell shows the worst measurement of a pair of nodes / the "
			      "median of all pairs at the same point.");
	chart.y_name = xstrdup("share of the median");
	chart.y_unit = xstrdup("1");
	chart.better = BETTER_HIGHER;
	chart.together = true;
	/* Maps of one page have the same colours, from nothing to the median. */
	chart.range = (struct extent){ 0, 100 };
	chart.finding = fleet_pairs_sentence(e, metric, nodes);
	if (rows.binned) {
		free(chart.note);
		chart.note = xasprintf("%zu nodes: a row combines several neighbours under the "
				       "name of the first, and a cell shows their worst pair. A "
				       "node with only bad pairs has its own row.",
				       rows.count);
	}
	fleet_pairs_add_rows(&chart, &rows, nodes);
	for (size_t i = 0; i < e->count; i++) {
		const struct pair_edge *edge = &e->items[i];
		const char *a = rows.names[edge->nodes[0]], *b = rows.names[edge->nodes[1]];

		if (!fleet_pairs_is_about(e, edge, metric))
			continue;
		fleet_pairs_heatmap_put_worst(&chart, a, b, edge->share);
		fleet_pairs_heatmap_put_worst(&chart, b, a, edge->share);
	}
	chart_in_percent(&chart);
	if (rows.count > 2)
		chart_draw(&chart, charts);
	chart_release(&chart);
	for (size_t i = 0; i < nodes->count; i++)
		free(rows.names[i]);
	free(rows.names);
}

static void fleet_pairs_show_suite(const struct view *view, const struct fleet_nodes *nodes,
				   const struct result *r, const char *suite, struct tree *charts)
{
	struct edges e = { .view = view };

	fleet_pairs_edges_collect(&e, nodes, r, suite);
	fleet_pairs_set_shares(&e);
	for (size_t p = 0; p < e.point_count; p++) {
		bool drawn = !e.metrics[p];
		double *best;

		for (size_t q = 0; q < p && !drawn; q++)
			drawn = e.metrics[q] && strcmp(e.metrics[q], e.metrics[p]) == 0;
		if (drawn)
			continue;
		best = fleet_pairs_best_shares(&e, e.metrics[p], nodes->count);
		fleet_pairs_draw(&e, e.metrics[p], nodes, best, charts);
		free(best);
	}
	for (size_t i = 0; i < e.point_count; i++)
		free(e.points[i]);
	free(e.points);
	free(e.metrics);
	free(e.better);
	free(e.items);
}

void fleet_pairs(const struct fleet_nodes *nodes, const struct result *r, struct tree *page)
{
	const struct view view = { .results = r, .count = 1 };
	struct tree *charts = tree_list(page, "pair_charts");

	for (size_t i = 0; i < r->presentation_count; i++)
		if (presentation_role(&r->presentations[i], ROLE_ROUND, NULL))
			fleet_pairs_show_suite(&view, nodes, r, r->presentations[i].suite, charts);
}
