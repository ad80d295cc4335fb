#include "suites/pairs/suspects.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "base/text.h"
#include "base/units.h"
#include "plan/config.h"
#include "plan/suite.h"
#include "result/result.h"

/* A case of a pair of nodes. */
struct measured_pair {
	const struct case_result *c;
	const struct metric_value *metric; /* NULL: it did not finish */
	size_t point;                      /* index of its point without the round */
	size_t nodes[2];                   /* the first one sends, in one direction */
};

/* Sides of a node: it sends, it receives, or both at the same time. */
enum { SENDS, RECEIVES, EITHER, SIDES };

/*
 * Number of pairs from which on a node's pairs are averaged, if at least two are with proven nodes;
 * with fewer the best one counts.
 */
#define AVERAGED_PAIRS 4
/* Deficit of the best pair from which on a node is a candidate, as a share of the margin. */
#define CANDIDATE_SHARE 0.5

/* One point on one side: the pairs of each node. */
struct pair_table {
	const struct measured_pair **best; /* by node; NULL: no pair */
	size_t *pairs;
	double median; /* of the best pairs; NaN with fewer than three */
	double proven; /* median of the pairs of two proven nodes; NaN: none */
};

struct pair_suspects {
	const struct section *section;
	char **points;
	size_t point_count, point_capacity;
	struct pair_table (*tables)[SIDES]; /* by point */
	char (*names)[64];
	size_t name_count, name_capacity;
	struct measured_pair *edges;
	size_t edge_count, edge_capacity;
	size_t *of_nodes; /* indices of edges, sorted by node */
	size_t *begins;   /* by node, plus one: its first in of_nodes */
	struct suspect *found;
	size_t count, capacity;
	bool *candidate;    /* by node */
	size_t *suspect_at; /* by node: 1 + index in `found`; 0: none */
	/* by node, bit mask: 0 slow in sending, 1 in receiving, 2 in a single rail */
	unsigned *ways;
	char (*rails)[32]; /* by node: the rail, or "" if it is slow in several */
};

static size_t pairs_suspects_name_index(struct pair_suspects *b, const char *device)
{
	char name[64];

	snprintf(name, sizeof(name), "%.*s", (int)device_node_length(device), device);
	for (size_t i = 0; i < b->name_count; i++)
		if (strcmp(b->names[i], name) == 0)
			return i;
	ARRAY_GROW(b->names, b->name_count, b->name_capacity);
	snprintf(b->names[b->name_count], sizeof(b->names[0]), "%s", name);
	return b->name_count++;
}

static size_t pairs_suspects_point_index(struct pair_suspects *b, const struct case_result *c)
{
	struct text text = TEXT_EMPTY;
	char *point;

	/* Names one flow, whichever of the two nodes sends. */
	for (size_t i = 0; i < c->parameter_count; i++) {
		const struct case_parameter *p = &c->parameters[i];

		if (strcmp(p->name, "round") == 0)
			continue;
		text_add(&text, text.length ? ", " : "");
		if (strcmp(p->name, "direction") == 0 && strcmp(p->text, "both") != 0)
			text_add(&text, "one direction");
		else
			text_addf(&text, strcmp(p->name, "rail") == 0 ? "rail %s" : "%s", p->text);
	}
	point = text_detach(&text);
	for (size_t i = 0; i < b->point_count; i++)
		if (strcmp(b->points[i], point) == 0) {
			free(point);
			return i;
		}
	ARRAY_GROW(b->points, b->point_count, b->point_capacity);
	b->points[b->point_count] = point;
	return b->point_count++;
}

static const struct metric_value *pairs_suspects_headline(const struct case_result *c)
{
	for (size_t i = 0; i < c->metric_count; i++)
		if (c->metrics[i].headline)
			return &c->metrics[i];
	return NULL;
}

/* Collects measured and failed pairs; an unsettled one is ignored. */
static void pairs_suspects_collect_measured(struct pair_suspects *b, const struct result *result)
{
	for (size_t i = 0; i < result->case_count; i++) {
		const struct case_result *c = &result->cases[i];
		const struct case_parameter *direction = case_parameter(c, "direction");
		size_t first, last;
		bool back;

		if (strcmp(c->suite, b->section->suite->name) != 0 ||
		    strcmp(c->label, b->section->label) != 0 || c->status == CASE_SKIPPED ||
		    c->device_count < 2 || (c->status == CASE_OK && !pairs_suspects_headline(c)))
			continue;
		first = pairs_suspects_name_index(b, c->devices[0]);
		last = pairs_suspects_name_index(b, c->devices[c->device_count - 1]);
		back = direction && strcmp(direction->text, "back") == 0;
		ARRAY_GROW(b->edges, b->edge_count, b->edge_capacity);
		b->edges[b->edge_count++] = (struct measured_pair){
			.c = c,
			.metric = c->status == CASE_OK ? pairs_suspects_headline(c) : NULL,
			.point = pairs_suspects_point_index(b, c),
			.nodes = { back ? last : first, back ? first : last }
		};
	}
}

static bool pairs_suspects_one_way(const struct measured_pair *e)
{
	const struct case_parameter *direction = case_parameter(e->c, "direction");

	return direction && strcmp(direction->text, "both") != 0;
}

static bool pairs_suspects_is_better(const struct measured_pair *a,
				     const struct measured_pair *than)
{
	if (!a->metric || !than || !than->metric)
		return a->metric || !than;
	return a->metric->better == BETTER_HIGHER ? a->metric->value > than->metric->value
						  : a->metric->value < than->metric->value;
}

/* The more favourable end of its interval; the value if there is no interval. */
static double pairs_suspects_best_end(const struct metric_value *m)
{
	double end = m->better == BETTER_HIGHER ? m->high : m->low;

	return isnan(end) ? m->value : end;
}

/* Deficit of `value` relative to the median; negative: better. */
static double pairs_suspects_deficit(const struct metric_value *m, double value, double median)
{
	return m->better == BETTER_HIGHER ? 1 - value / median : value / median - 1;
}

static double pairs_suspects_shortfall(const struct measured_pair *e, double median)
{
	return e->metric
		       ? fmax(0, pairs_suspects_deficit(e->metric,
							pairs_suspects_best_end(e->metric), median))
		       : (double)INFINITY;
}

static double pairs_suspects_margin(const struct pair_suspects *b, const struct measured_pair *e)
{
	bool latency = e->metric && e->metric->better == BETTER_LOWER;

	return section_real(b->section, latency ? "latency_margin" : "margin");
}

/* True if the node at this end is not a candidate on its side of the point. */
static bool pairs_suspects_is_proven(const struct pair_suspects *b, const struct measured_pair *e,
				     int end)
{
	/* The side of the node at one end of a pair. */
	const struct pair_table *t =
		&b->tables[e->point][(pairs_suspects_one_way(e) ? end : EITHER)];
	const struct measured_pair *best = t->best[e->nodes[end]];

	return best && pairs_suspects_shortfall(best, t->median) <=
			       CANDIDATE_SHARE * pairs_suspects_margin(b, best);
}

/*
 * Mean deficit of the node's pairs with known-good nodes, relative to that of two such nodes. Drops
 * the worst quarter, at least one, as possible bad links. Of two the better one counts. NaN: too
 * few pairs.
 */
static double pairs_suspects_average(const struct pair_suspects *b, size_t point, int side,
				     size_t node)
{
	const struct pair_table *t = &b->tables[point][side];
	size_t pairs = b->begins[node + 1] - b->begins[node], count = 0, dropped;
	double *values = xcalloc(pairs + 1, sizeof(*values)), sum = 0;

	for (size_t i = b->begins[node]; i < b->begins[node + 1]; i++) {
		const struct measured_pair *e = &b->edges[b->of_nodes[i]];
		int end = e->nodes[1] == node;

		if (e->point == point && e->metric && (side == EITHER || side == end) &&
		    pairs_suspects_is_proven(b, e, !end))
			values[count++] = pairs_suspects_deficit(e->metric,
								 pairs_suspects_best_end(e->metric),
								 t->proven);
	}
	qsort(values, count, sizeof(*values), compare_doubles);
	dropped = count > 7 ? count / 4 : 1;
	for (size_t i = 0; i + dropped < count; i++)
		sum += values[i] / (double)(count - dropped);
	free(values);
	return t->pairs[node] < AVERAGED_PAIRS || count < 2 ? (double)NAN : sum;
}

/* `averaged`: from several pairs. 0 if the best pair is as good as expected. */
static double pairs_suspects_node_deficit(const struct pair_suspects *b, size_t point, int side,
					  size_t node, bool *averaged)
{
	const struct pair_table *t = &b->tables[point][side];
	const struct measured_pair *best = t->best[node];
	double alone = best ? pairs_suspects_shortfall(best, t->median) : 0, average;

	*averaged = false;
	if (!best || alone <= CANDIDATE_SHARE * pairs_suspects_margin(b, best))
		return 0;
	average = best->metric ? pairs_suspects_average(b, point, side, node) : (double)NAN;
	*averaged = !isnan(average);
	return *averaged ? average : alone;
}

static void pairs_suspect_node(struct pair_suspects *b, size_t node, size_t other, const char *text)
{
	struct suspect *a;

	if (other == SIZE_MAX && b->suspect_at[node]) {
		a = &b->found[b->suspect_at[node] - 1];
		if (!strstr(a->text, "; also "))
			snprintf(a->text + strlen(a->text), sizeof(a->text) - strlen(a->text),
				 "; also in other pairs");
		return;
	}
	ARRAY_GROW(b->found, b->count, b->capacity);
	a = &b->found[b->count++];
	*a = (struct suspect){ .node = "" };
	snprintf(a->node, sizeof(a->node), "%s", b->names[node]);
	if (other != SIZE_MAX)
		snprintf(a->other, sizeof(a->other), "%s", b->names[other]);
	else
		b->suspect_at[node] = b->count;
	snprintf(a->text, sizeof(a->text), "%s", text);
}

/*
 * Evidence text: the best of a node's pairs, or a single pair; `averaged`: `worse` comes from
 * several.
 */
static char *pairs_suspects_evidence(const struct pair_suspects *b, const struct measured_pair *e,
				     const struct pair_table *t, size_t pairs, double worse,
				     bool averaged, const char *role)
{
	double middle_value = averaged ? t->proven : t->median;
	const char *what = b->points[e->point];
	char value[32], middle[32];

	if (!e->metric)
		return xasprintf("%s: %s pair%s came to an end%s: %s", what,
				 pairs == 1 ? "its" : "none of its", pairs == 1 ? " never" : "s",
				 role, e->c->reason);
	return xasprintf("%s: %s%s at best in %zu pair%s, %s%.0f %% worse than the median of %s, "
			 "%s",
			 what, units_si(e->metric->value, e->metric->unit, value, sizeof(value)),
			 role, pairs, pairs == 1 ? "" : "s",
			 averaged ? "those with good nodes on average " : "", 100 * worse,
			 averaged ? "pairs of good nodes" : "all nodes",
			 units_si(middle_value, e->metric->unit, middle, sizeof(middle)));
}

static void pairs_suspects_fill_table(const struct pair_suspects *b, size_t point, int side)
{
	struct pair_table *t = &b->tables[point][side];
	double *values = xcalloc(b->name_count + 1, sizeof(*values));
	size_t count = 0;

	t->best = xcalloc(b->name_count + 1, sizeof(const struct measured_pair *));
	t->pairs = xcalloc(b->name_count + 1, sizeof(*t->pairs));
	for (size_t i = 0; i < b->edge_count; i++) {
		const struct measured_pair *e = &b->edges[i];

		for (int end = 0; end < 2 && e->point == point; end++) {
			if (side != EITHER && side != end)
				continue;
			t->pairs[e->nodes[end]]++;
			if (pairs_suspects_is_better(e, t->best[e->nodes[end]]))
				t->best[e->nodes[end]] = e;
		}
	}
	for (size_t node = 0; node < b->name_count; node++)
		if (t->best[node] && t->best[node]->metric)
			values[count++] = t->best[node]->metric->value;
	t->median = count < 3 ? (double)NAN : median_of(values, count);
	free(values);
}

/* Call after the best pairs of all nodes are known. */
static void pairs_suspects_fill_proven(struct pair_suspects *b)
{
	double *values = xcalloc(b->edge_count + 1, sizeof(*values));

	for (size_t point = 0; point < b->point_count; point++) {
		size_t count = 0;
		double median;

		for (size_t i = 0; i < b->edge_count; i++) {
			const struct measured_pair *e = &b->edges[i];

			if (e->point == point && e->metric && pairs_suspects_is_proven(b, e, 0) &&
			    pairs_suspects_is_proven(b, e, 1))
				values[count++] = e->metric->value;
		}
		median = count ? median_of(values, count) : (double)NAN;
		for (int side = 0; side < SIDES; side++)
			b->tables[point][side].proven = median;
	}
	free(values);
}

/* Lists the edges of each node. */
static void pairs_suspects_index_edges(struct pair_suspects *b)
{
	size_t *ends = xcalloc(b->name_count + 1, sizeof(*ends));

	b->begins = xcalloc(b->name_count + 2, sizeof(*b->begins));
	b->of_nodes = xcalloc(2 * b->edge_count + 1, sizeof(*b->of_nodes));
	for (size_t i = 0; i < b->edge_count; i++)
		for (int end = 0; end < 2; end++)
			b->begins[b->edges[i].nodes[end] + 1]++;
	for (size_t node = 0; node < b->name_count; node++) {
		b->begins[node + 1] += b->begins[node];
		ends[node] = b->begins[node];
	}
	for (size_t i = 0; i < b->edge_count; i++)
		for (int end = 0; end < 2; end++)
			b->of_nodes[ends[b->edges[i].nodes[end]]++] = i;
	free(ends);
}

static void pairs_suspects_tables_release(struct pair_suspects *b)
{
	for (size_t point = 0; point < b->point_count; point++) {
		for (int side = 0; side < SIDES; side++) {
			free(b->tables[point][side].best);
			free(b->tables[point][side].pairs);
		}
		free(b->points[point]);
	}
	free(b->tables);
	free(b->points);
	free(b->edges);
	free(b->of_nodes);
	free(b->begins);
	free(b->names);
	free(b->candidate);
	free(b->suspect_at);
	free(b->ways);
	free(b->rails);
}

static void pairs_suspects_remember_way(struct pair_suspects *b, size_t node, int side,
					const char *what)
{
	const char *rail = strstr(what, "rail ");

	b->ways[node] |= side < 2 ? 1u << side : 0;
	if (!rail || rail == what)
		return;
	if (b->ways[node] & 4 && strcmp(b->rails[node], rail) != 0)
		b->rails[node][0] = '\0';
	else
		snprintf(b->rails[node], sizeof(b->rails[0]), "%s", rail);
	b->ways[node] |= 4;
}

static void pairs_suspects_add_text(struct suspect *a, const char *text)
{
	snprintf(a->text + strlen(a->text), sizeof(a->text) - strlen(a->text), "%s", text);
}

/* Determines the direction and the rail if only one is slow. */
static void pairs_suspects_narrow_down(struct pair_suspects *b)
{
	for (size_t node = 0; node < b->name_count; node++) {
		struct suspect *a = b->suspect_at[node] ? &b->found[b->suspect_at[node] - 1] : NULL;

		if (!a)
			continue;
		if ((b->ways[node] & 3) == 1)
			pairs_suspects_add_text(a, "; the node is slow only when it sends");
		if ((b->ways[node] & 3) == 2)
			pairs_suspects_add_text(a, "; the node is slow only when it receives");
		if (b->ways[node] & 4 && b->rails[node][0]) {
			pairs_suspects_add_text(a, "; only on rail ");
			pairs_suspects_add_text(a, b->rails[node]);
		}
	}
}

static void pairs_suspects_find_nodes(struct pair_suspects *b, size_t point, int side)
{
	static const char *const roles[] = { " sending", " receiving", "" };
	const struct pair_table *t = &b->tables[point][side];

	for (size_t node = 0; node < b->name_count && !isnan(t->median); node++) {
		const struct measured_pair *best = t->best[node];
		bool averaged;
		double worse = pairs_suspects_node_deficit(b, point, side, node, &averaged);
		char *text;

		b->candidate[node] = b->candidate[node] || worse != 0;
		if (!best || !(worse > pairs_suspects_margin(b, best)))
			continue;
		text = pairs_suspects_evidence(b, best, t, t->pairs[node], worse, averaged,
					       roles[side]);
		pairs_suspect_node(b, node, SIZE_MAX, text);
		pairs_suspects_remember_way(b, node, side, b->points[point]);
		free(text);
	}
}

static void pairs_suspects_find_link(struct pair_suspects *b, const struct measured_pair *e)
{
	const struct pair_table *t =
		&b->tables[e->point][pairs_suspects_one_way(e) ? SENDS : EITHER];
	char *text;

	if (isnan(t->median) || b->suspect_at[e->nodes[0]] || b->suspect_at[e->nodes[1]] ||
	    pairs_suspects_shortfall(e, t->median) <= pairs_suspects_margin(b, e))
		return;
	for (size_t i = 0; i < b->count; i++)
		if (*b->found[i].other &&
		    ((strcmp(b->found[i].node, b->names[e->nodes[0]]) == 0 &&
		      strcmp(b->found[i].other, b->names[e->nodes[1]]) == 0) ||
		     (strcmp(b->found[i].node, b->names[e->nodes[1]]) == 0 &&
		      strcmp(b->found[i].other, b->names[e->nodes[0]]) == 0)))
			return;
	text = pairs_suspects_evidence(b, e, t, 1, pairs_suspects_shortfall(e, t->median), false,
				       pairs_suspects_one_way(e)
					       ? " from the first node to the second"
					       : "");
	pairs_suspect_node(b, e->nodes[0], e->nodes[1], text);
	free(text);
}

size_t pairs_find_suspects(const struct result *result, const struct section *section,
			   struct suspect **out)
{
	struct pair_suspects b = { .section = section };

	pairs_suspects_collect_measured(&b, result);
	b.candidate = xcalloc(b.name_count + 1, sizeof(*b.candidate));
	b.suspect_at = xcalloc(b.name_count + 1, sizeof(*b.suspect_at));
	b.ways = xcalloc(b.name_count + 1, sizeof(*b.ways));
	b.rails = xcalloc(b.name_count + 1, sizeof(*b.rails));
	pairs_suspects_index_edges(&b);
	b.tables = xcalloc(b.point_count + 1, sizeof(*b.tables));
	for (size_t point = 0; point < b.point_count; point++)
		for (int side = 0; side < SIDES; side++)
			pairs_suspects_fill_table(&b, point, side);
	pairs_suspects_fill_proven(&b);
	for (size_t i = 0, point = 0; i < b.edge_count; i++) {
		/* Points are numbered in the order of their first edges. */
		if (b.edges[i].point != point)
			continue;
		for (int side = pairs_suspects_one_way(&b.edges[i]) ? SENDS : EITHER;
		     side <= (pairs_suspects_one_way(&b.edges[i]) ? RECEIVES : EITHER); side++)
			pairs_suspects_find_nodes(&b, point, side);
		point++;
	}
	pairs_suspects_narrow_down(&b);
	for (size_t i = 0; i < b.edge_count; i++)
		pairs_suspects_find_link(&b, &b.edges[i]);
	/* Nodes that are nearly suspects. */
	for (size_t node = 0; node < b.name_count; node++)
		if (b.candidate[node] && !b.suspect_at[node]) {
			ARRAY_GROW(b.found, b.count, b.capacity);
			b.found[b.count] = (struct suspect){ .candidate = true };
			snprintf(b.found[b.count].node, sizeof(b.found[b.count].node), "%s",
				 b.names[node]);
			b.count++;
		}
	pairs_suspects_tables_release(&b);
	*out = b.found;
	return b.count;
}
