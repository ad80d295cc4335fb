/*
 * The headline table: per suite a row for everything that is not a point along an axis, a column
 * per device. Along an axis, the best value stands for a metric where higher is better; where lower
 * is better both ends of the axis do, since the best is just the smallest case. Where several sets
 * of devices start at the same device, the worst of them is shown.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "reference/gpu.h"
#include "report/format.h"
#include "report/picks.h"
#include "report/view.h"

#define MOST_ROWS 24 /* per metric: the rest is in the suite's section */

/* Picks that differ only along the axis, and the one or two that stand for them. */
struct group {
	char *key;
	const struct pick *figures
		[2]; /* higher is better: the best; else the first and the last on the axis */
};

struct cell {
	const struct group *group; /* of the worst set of devices; NULL: not measured */
	size_t sets;
};

struct row {
	char *label;
	struct cell *cells; /* by source */
};

struct headline {
	const struct picks *picks;
	const char *axis;
	const char *without[2]; /* the axis, NULL */
	enum better better;
	struct group *groups;
	size_t group_count, group_capacity, last;
	struct row *rows;
	size_t count, capacity;
};

static bool better(enum better direction, double a, double b)
{
	return direction == BETTER_LOWER ? a < b : a > b;
}

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
static struct group *group_of(struct headline *h, const struct pick *pick)
{
	char *key = group_key(h, pick);
	size_t i = h->last;

	if (i >= h->group_count || strcmp(h->groups[i].key, key) != 0)
		for (i = 0; i < h->group_count && strcmp(h->groups[i].key, key) != 0;)
			i++;
	h->last = i;
	if (i < h->group_count) {
		free(key);
		return &h->groups[i];
	}
	ARRAY_GROW(h->groups, h->group_count, h->group_capacity);
	h->groups[h->group_count++] = (struct group){ .key = key };
	return &h->groups[i];
}

static double place(const struct headline *h, const struct pick *pick)
{
	const struct case_parameter *x = h->axis ? case_parameter(pick->c, h->axis) : NULL;

	return x ? x->number : NAN;
}

static void choose(const struct headline *h, struct group *group, const struct pick *pick)
{
	const struct pick **first = &group->figures[0], **last = &group->figures[1];

	if (!*first) {
		*first = pick;
	} else if (h->better != BETTER_LOWER) {
		if (!isfinite((*first)->m->value) ||
		    better(h->better, pick->m->value, (*first)->m->value))
			*first = pick;
	} else if (place(h, pick) < place(h, *first)) {
		*last = *last ? *last : *first;
		*first = pick;
	} else if (!*last || place(h, pick) > place(h, *last)) {
		*last = pick;
	}
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
	h->rows[h->count] =
		(struct row){ label, xcalloc(h->picks->view->source_count, sizeof(struct cell)) };
	return &h->rows[h->count++];
}

/* Puts a set of devices into its row; of several that start at the same device the worst stays. */
static void fill_row(struct headline *h, const struct group *group)
{
	char *label = view_parameters(group->figures[0]->c, h->without);
	struct cell *cell;

	if (!*label) {
		free(label);
		label = xstrdup("all");
	}
	cell = &row_named(h, label)->cells[group->figures[0]->source];
	cell->sets++;
	if (!cell->group ||
	    better(h->better, cell->group->figures[0]->m->value, group->figures[0]->m->value))
		cell->group = group;
}

static void fill(struct headline *h)
{
	for (size_t i = 0; i < h->picks->count; i++)
		choose(h, group_of(h, &h->picks->items[i]), &h->picks->items[i]);
	for (size_t i = 0; i < h->group_count; i++)
		fill_row(h, &h->groups[i]);
}

/* "88 % of 63.02 GB/s (data sheet, derived)"; "" where the model or what bounds it is not known. */
static void show_peak(const struct headline *h, struct tree *figure, const struct pick *pick)
{
	static const char *const doubts[] = { [SHEET_READ] = "",
					      [SHEET_DERIVED] = ", derived",
					      [SHEET_TO_VERIFY] = ", not verified" };
	const struct device_info *info = h->picks->view->sources[pick->source].info;
	const struct gpu *gpu = info ? gpus_by_device(info->name) : NULL;
	const struct quantity *q =
		gpu ? quantity_of_case(pick->c, view_string(pick->m->name), info) : NULL;
	const struct sheet_entry *entry = NULL;
	double peak = q ? gpu_peak(gpu, q, &entry) : (double)NAN;
	double value = q && q->factor != 0 ? pick->m->value * q->factor : pick->m->value;
	char text[FORMAT_SIZE];

	if (isfinite(peak))
		tree_textf(figure, "peak", "%.0f %% of %s (data sheet%s%s)", 100 * value / peak,
			   format_quantity(peak, q->unit, text, sizeof(text)),
			   doubts[entry->status],
			   q->factor != 0 ? ", read and write counted" : "");
	else
		tree_text(figure, "peak", "");
}

static void show_figure(const struct headline *h, struct tree *list, const struct pick *pick)
{
	const struct case_parameter *x = h->axis ? case_parameter(pick->c, h->axis) : NULL;
	struct tree *figure = tree_item(list);
	char text[FORMAT_SIZE];

	tree_text(figure, "value",
		  format_quantity(pick->m->value, view_string(pick->m->unit), text, sizeof(text)));
	tree_text(figure, "interval", format_interval(pick->m, text, sizeof(text)));
	tree_textf(figure, "n", "%zu", pick->m->n);
	tree_flag(figure, "noisy", view_noisy(pick->c));
	show_peak(h, figure, pick);
	tree_text(figure, "at", x ? format_spaced(view_string(x->text), text, sizeof(text)) : "");
}

/*
 * "with cuda:0" where the source is one of the devices of another column's case; else "not
 * measured".
 */
static const char *absence(const struct headline *h, const struct row *row, size_t source,
			   char *out, size_t size)
{
	const struct view *view = h->picks->view;

	for (size_t s = 0; s < view->source_count; s++) {
		const struct case_result *c =
			row->cells[s].group ? row->cells[s].group->figures[0]->c : NULL;

		for (size_t d = 1;
		     c && view->sources[s].run == view->sources[source].run && d < c->device_count;
		     d++) {
			if (strcmp(view_string(c->devices[d]), view->sources[source].device) == 0) {
				snprintf(out, size, "with %s", view->sources[s].label);
				return out;
			}
		}
	}
	return "not measured";
}

static void show_cell(const struct headline *h, struct tree *cells, const struct row *row,
		      size_t source)
{
	const struct cell *cell = &row->cells[source];
	struct tree *map = tree_item(cells), *list;
	char text[FORMAT_SIZE];

	list = tree_list(map, "figures");
	for (size_t i = 0; cell->group && i < ARRAY_SIZE(cell->group->figures); i++)
		if (cell->group->figures[i])
			show_figure(h, list, cell->group->figures[i]);
	tree_text(map, "absent", cell->group ? "" : absence(h, row, source, text, sizeof(text)));
	if (cell->sets > 1)
		tree_textf(map, "sets", "worst of %zu", cell->sets);
	else
		tree_text(map, "sets", "");
}

static void show(const struct headline *h, struct tree *list)
{
	for (size_t i = 0; i < h->count && i < MOST_ROWS; i++) {
		struct tree *row = tree_item(list), *cells;

		view_text(row, "label", h->rows[i].label);
		tree_text(row, "arrow",
			  h->better == BETTER_HIGHER  ? "↑"
			  : h->better == BETTER_LOWER ? "↓"
						      : "");
		cells = tree_list(row, "cells");
		for (size_t s = 0; s < h->picks->view->source_count; s++)
			show_cell(h, cells, &h->rows[i], s);
	}
}

static void headline_release(struct headline *h)
{
	for (size_t i = 0; i < h->count; i++) {
		free(h->rows[i].label);
		free(h->rows[i].cells);
	}
	for (size_t i = 0; i < h->group_count; i++)
		free(h->groups[i].key);
	free(h->rows);
	free(h->groups);
}

static void headline(const struct view *view, const char *suite, const char *metric,
		     struct tree *page_list)
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
		show(&h, rows);
		if (h.count > MOST_ROWS)
			tree_textf(group, "more", "%zu more rows in the section %s",
				   h.count - MOST_ROWS, suite);
		else
			tree_text(group, "more", "");
	}
	headline_release(&h);
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

	for (size_t s = 0; s < view->source_count; s++) {
		struct tree *column = tree_item(sources);

		view_text(column, "label", view->sources[s].label);
		tree_flag(column, "baseline_column", view->count > 1 && s == 0);
	}
	tree_textf(page, "headline_columns", "%zu", view->source_count + 1);
	list = tree_list(page, "headlines");
	for (size_t i = 0; i < view->suite_count; i++)
		headlines_of(view, view->suites[i], list);
	tree_flag(page, "has_headlines", list->count != 0);
}
