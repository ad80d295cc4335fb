/*
 * The headline table: per suite a row for everything that is not a point along an axis, a column per device. Along an
 * axis, the best value stands for a metric where higher is better; where lower is better both ends of the axis do, since the
 * best is just the smallest case. Where several sets of devices start at the same device, the worst of them is shown.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/format.h"
#include "report/picks.h"
#include "report/view.h"

#define MOST_ROWS 24 /* per metric: the rest is in the suite's section */

struct row {
	char *label;
	const struct pick **cells; /* by source; NULL: not measured */
	size_t *sets;              /* sets of devices behind each cell */
};

struct headline {
	const struct picks *picks;
	const char *axis;
	const char *without[2]; /* the axis, NULL */
	enum better better;
	struct row *rows;
	size_t count, capacity;
};

static bool better(enum better direction, double a, double b)
{
	return direction == BETTER_LOWER ? a < b : a > b;
}

static struct row *row_named(struct headline *h, char *label)
{
	for (size_t i = 0; i < h->count; i++) {
		if (strcmp(h->rows[i].label, label) == 0) {
			free(label);
			return &h->rows[i];
		}
	}
	ARRAY_GROW(h->rows, h->count, h->capacity);
	h->rows[h->count] = (struct row){ label, xcalloc(h->picks->view->source_count, sizeof(struct pick *)),
					  xcalloc(h->picks->view->source_count, sizeof(size_t)) };
	return &h->rows[h->count++];
}

static double axis_end(const struct headline *h, bool largest)
{
	double end = NAN;

	for (size_t i = 0; h->axis && i < h->picks->count; i++) {
		const struct case_parameter *x = case_parameter(h->picks->items[i].c, h->axis);

		if (x && isfinite(x->number) && (isnan(end) || (largest ? x->number > end : x->number < end)))
			end = x->number;
	}
	return end;
}

/* Puts a set of devices' value into the cell; the worst of several stays. */
static void fill_cell(struct headline *h, struct row *row, const struct pick *pick)
{
	const struct pick **cell = &row->cells[pick->source];

	row->sets[pick->source]++;
	if (!*cell || better(h->better, (*cell)->m->value, pick->m->value))
		*cell = pick;
}

/* The label of a row: the case's parameters, with the value on the axis when both ends are shown. */
static char *row_label(const struct headline *h, const struct pick *pick)
{
	char *label = view_parameters(pick->c, h->better == BETTER_LOWER ? NULL : h->without);

	if (!*label) {
		free(label);
		label = xstrdup("all");
	}
	return label;
}

/* Picks that differ only along the axis. */
struct group {
	char *key;
	const struct pick *best;
};

struct groups {
	struct group *items;
	size_t count, capacity, last;
};

static char *group_key(const struct headline *h, const struct pick *pick)
{
	char *parameters = view_parameters(pick->c, h->without);
	char *devices = pick->c->device_count > 1 ? view_devices(pick->c) : xstrdup("");
	char *key = xasprintf("%zu\n%s\n%s", pick->source, parameters, devices);

	free(parameters);
	free(devices);
	return key;
}

/* Cases come in the plan's order, so the group is mostly the last one. */
static struct group *group_of(struct groups *groups, const struct headline *h, const struct pick *pick)
{
	char *key = group_key(h, pick);
	size_t i = groups->last;

	if (i >= groups->count || strcmp(groups->items[i].key, key) != 0)
		for (i = 0; i < groups->count && strcmp(groups->items[i].key, key) != 0;)
			i++;
	groups->last = i;
	if (i < groups->count) {
		free(key);
		return &groups->items[i];
	}
	ARRAY_GROW(groups->items, groups->count, groups->capacity);
	groups->items[groups->count++] = (struct group){ key, NULL };
	return &groups->items[i];
}

static void fill_best(struct headline *h)
{
	struct groups groups = { 0 };

	for (size_t i = 0; i < h->picks->count; i++) {
		const struct pick *pick = &h->picks->items[i];
		struct group *group = group_of(&groups, h, pick);

		if (!group->best || !isfinite(group->best->m->value) ||
		    better(h->better, pick->m->value, group->best->m->value))
			group->best = pick;
	}
	for (size_t i = 0; i < groups.count; i++) {
		fill_cell(h, row_named(h, row_label(h, groups.items[i].best)), groups.items[i].best);
		free(groups.items[i].key);
	}
	free(groups.items);
}

static void fill_ends(struct headline *h)
{
	double first = axis_end(h, false), last = axis_end(h, true);

	for (size_t i = 0; i < h->picks->count; i++) {
		const struct pick *pick = &h->picks->items[i];
		const struct case_parameter *x = h->axis ? case_parameter(pick->c, h->axis) : NULL;

		if (!x || !isfinite(x->number) || x->number == first || x->number == last)
			fill_cell(h, row_named(h, row_label(h, pick)), pick);
	}
}

static void fill(struct headline *h)
{
	if (h->axis && h->better != BETTER_LOWER)
		fill_best(h);
	else
		fill_ends(h);
}

static void show_cell(const struct headline *h, struct tree *cells, const struct pick *pick, size_t sets)
{
	struct tree *cell = tree_item(cells);
	char text[FORMAT_SIZE];
	const struct case_parameter *x = pick && h->axis ? case_parameter(pick->c, h->axis) : NULL;

	tree_flag(cell, "there", pick != NULL);
	if (!pick)
		return;
	tree_text(cell, "value", format_quantity(pick->m->value, view_string(pick->m->unit), text, sizeof(text)));
	tree_text(cell, "interval", format_interval(pick->m, text, sizeof(text)));
	tree_textf(cell, "n", "%zu", pick->m->n);
	tree_flag(cell, "noisy", view_noisy(pick->c));
	tree_text(cell, "at", x && h->better != BETTER_LOWER ?
				      format_spaced(view_string(x->text), text, sizeof(text)) : "");
	if (sets > 1)
		tree_textf(cell, "sets", "worst of %zu", sets);
	else
		tree_text(cell, "sets", "");
}

static void show(const struct headline *h, struct tree *list, const char *suite, const char *metric)
{
	size_t sources = h->picks->view->source_count;
	char name[FORMAT_SIZE];

	for (size_t i = 0; i < h->count && i < MOST_ROWS; i++) {
		struct tree *row = tree_item(list), *cells;

		tree_textf(row, "label", "%s", h->rows[i].label);
		view_text(row, "suite", suite);
		tree_textf(row, "metric", "%s", format_metric(metric, name, sizeof(name)));
		tree_text(row, "better", format_better(h->better));
		tree_text(row, "arrow", h->better == BETTER_HIGHER ? "↑" : h->better == BETTER_LOWER ? "↓" : "");
		tree_flag(row, "first", i == 0);
		cells = tree_list(row, "cells");
		for (size_t s = 0; s < sources; s++)
			show_cell(h, cells, h->rows[i].cells[s], h->rows[i].sets[s]);
	}
}

static void headline(const struct view *view, const char *suite, const char *metric, struct tree *page_list)
{
	struct picks picks;
	struct headline h = { .picks = &picks };
	struct tree *group, *rows;
	char name[FORMAT_SIZE];

	picks_collect(&picks, view, suite, metric);
	if (picks.count) {
		h.axis = h.without[0] = picks_axis(&picks);
		h.better = picks.items[0].m->better;
		fill(&h);
		group = tree_item(page_list);
		view_text(group, "suite", suite);
		tree_text(group, "metric", format_metric(metric, name, sizeof(name)));
		tree_text(group, "better", format_better(h.better));
		rows = tree_list(group, "headline_rows");
		show(&h, rows, suite, metric);
		if (h.count > MOST_ROWS)
			tree_textf(group, "more", "%zu more rows in the section %s", h.count - MOST_ROWS, suite);
		else
			tree_text(group, "more", "");
	}
	for (size_t i = 0; i < h.count; i++) {
		free(h.rows[i].label);
		free(h.rows[i].cells);
		free(h.rows[i].sets);
	}
	free(h.rows);
	picks_release(&picks);
}

/* Headline metrics of a suite in order of appearance, once each. */
static void headlines_of(const struct view *view, const char *suite, struct tree *list)
{
	const char *done[8];
	size_t count = 0;

	for (size_t r = 0; r < view->count; r++) {
		for (size_t i = 0; i < view->results[r].case_count; i++) {
			const struct case_result *c = &view->results[r].cases[i];
			const struct metric_value *m = view_headline(c);
			size_t k = 0;

			if (!m || c->status != CASE_OK || strcmp(view_string(c->suite), suite) != 0)
				continue;
			while (k < count && strcmp(done[k], m->name) != 0)
				k++;
			if (k < count || count == ARRAY_SIZE(done))
				continue;
			done[count++] = m->name;
			headline(view, suite, m->name, list);
		}
	}
}

void view_headlines(const struct view *view, struct tree *page)
{
	struct tree *sources = tree_list(page, "columns"), *list;

	for (size_t s = 0; s < view->source_count; s++)
		view_text(tree_item(sources), "label", view->sources[s].label);
	list = tree_list(page, "headlines");
	for (size_t i = 0; i < view->suite_count; i++)
		headlines_of(view, view->suites[i], list);
	tree_flag(page, "has_headlines", list->count != 0);
}
