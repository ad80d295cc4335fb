/*
 * Shows the headline table (headline.h): a column per source with each figure in full; of many
 * devices of one run a summary with the figure in full and a narrow column per device, so that all
 * are seen at once; where these do not fit on a sheet, the lowest and the highest by name and a
 * tick for each device between them.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "reference/gpu.h"
#include "report/page/headline.h"
#include "report/view/format.h"
#include "report/view/presented.h"
#include "report/view/view.h"

#define MOST_ROWS 24     /* per metric: the rest is in the suite's section */
#define LEAST_APART 5e-5 /* of the middle: less reads 0.00 % */
#define MOST_FULL 3      /* columns in full; more do not fit on a page */
#define MOST_NARROW 64   /* characters of narrow columns' names next to each other */
#define LEAST_NARROW 6   /* of a narrow column: its figures */
#define MOST_NAMED 4     /* devices that failed */
#define STRIP_WIDTH 160.0
#define CROWD_COLUMNS 6
#define MOST_COMPARED 6 /* columns of several results */

/* In place of a figure whose level still changed: a number there would be read as the device's. */
#define UNSETTLED "not settled"

static bool many(const struct view *view)
{
	return view->count == 1 && view->source_count > MOST_FULL;
}

/* True if narrow columns of many devices would not fit on a sheet either. */
static bool crowded(const struct view *view)
{
	size_t width = 0;

	for (size_t s = 0; many(view) && s < view->source_count; s++) {
		size_t own = strlen(view->sources[s].label);

		width += own > LEAST_NARROW ? own : LEAST_NARROW;
	}
	return width > MOST_NARROW;
}

/* Summary of each figure of a row over all sources that have it. */
struct summary {
	const struct selected_case *median, *worst, *low, *high;
	size_t count;
};

/* "88 % of 63.02 GB/s (data sheet, derived)"; "" where the model or what bounds it is not known. */
static void show_peak(const struct headline *h, struct tree *figure,
		      const struct selected_case *selected)
{
	static const char *const doubts[] = { [SHEET_READ] = "",
					      [SHEET_DERIVED] = ", derived",
					      [SHEET_TO_VERIFY] = ", not verified" };
	struct headline_peak peak;
	char text[FORMAT_SIZE];

	if (headline_peak(h, selected, &peak))
		tree_textf(figure, "peak", "%.0f %% of %s (data sheet%s%s)", 100 * peak.share,
			   format_stated(peak.peak, peak.unit, text, sizeof(text)),
			   doubts[peak.entry->status],
			   peak.doubled ? ", read and write counted" : "");
	else
		tree_text(figure, "peak", "");
}

/* `whole`: no case of its group failed, and it may be held against the data sheet. */
static void show_figure(const struct headline *h, struct tree *list,
			const struct selected_case *selected, bool whole)
{
	const struct case_parameter *x = h->axis ? case_parameter(selected->c, h->axis) : NULL;
	struct tree *figure = tree_item(list);
	char text[FORMAT_SIZE];

	if (case_is_unsettled(selected->c, selected->m)) {
		tree_text(figure, "value", UNSETTLED);
		tree_text(figure, "interval", "");
		tree_text(figure, "peak", "");
	} else {
		tree_text(figure, "value",
			  view_value(h->selection.view, selected->m, text, sizeof(text)));
		tree_text(figure, "interval",
			  view_interval(h->selection.view, selected->m, text, sizeof(text)));
		if (whole)
			show_peak(h, figure, selected);
		else
			tree_text(figure, "peak", "");
	}
	tree_textf(figure, "n", "%zu", selected->m->n);
	tree_flag(figure, "noisy", view_noisy(selected->c));
	tree_text(figure, "at",
		  x ? view_parameter(h->selection.view, selected->c->suite, x, text, sizeof(text))
		    : "");
}

static void show_figures(const struct headline *h, struct tree *map,
			 const struct headline_group *group)
{
	struct tree *list = tree_list(map, "figures");

	for (size_t i = 0; group && i < HEADLINE_FIGURES; i++)
		if (group->figures[i])
			show_figure(h, list, group->figures[i], !group->failed);
}

static void show_cell(const struct headline *h, struct tree *cells, const struct headline_row *row,
		      size_t source)
{
	const struct headline_cell *cell = &row->cells[source];
	size_t leader = cell->group ? SIZE_MAX : headline_leader(h, row, source);
	struct tree *map = tree_item(cells);

	show_figures(h, map, cell->group);
	if (cell->group)
		tree_text(map, "absent", "");
	else if (leader != SIZE_MAX)
		tree_textf(map, "absent", "with %s", h->selection.view->sources[leader].label);
	else
		tree_text(map, "absent", "\u2013");
	if (cell->sets > 1)
		tree_textf(map, "sets", "worst of %zu", cell->sets);
	else
		tree_text(map, "sets", "");
	if (cell->failed)
		tree_textf(map, "failed", "%zu %s failed", cell->failed,
			   cell->failed == 1 ? "case" : "cases");
	else
		tree_text(map, "failed", "");
}

/* "failed on cuda:3, cuda:5": where a case of the row did; "" where none. */
static void show_failed(const struct headline *h, struct tree *map, const struct headline_row *row)
{
	const struct view *view = h->selection.view;
	struct text out = TEXT_EMPTY;
	size_t count = 0;

	for (size_t s = 0; s < view->source_count; s++)
		if (row->cells[s].failed && ++count <= MOST_NAMED)
			text_addf(&out, "%s%s", count == 1 ? "failed on " : ", ",
				  view->sources[s].label);
	if (count > MOST_NAMED)
		text_addf(&out, " and %zu more devices", count - MOST_NAMED);
	view_text(map, "failed", out.data ? out.data : "");
	text_release(&out);
}

static int by_value(const void *a, const void *b)
{
	double x = (*(const struct selected_case *const *)a)->m->value;
	double y = (*(const struct selected_case *const *)b)->m->value;

	return (x > y) - (x < y);
}

/* The sources' `index`-th figures in order; the median (the worse of two) represents them. */
static struct summary summarise(const struct headline *h, const struct headline_row *row,
				size_t index)
{
	size_t sources = h->selection.view->source_count;
	const struct selected_case **selection =
		xcalloc(sources, sizeof(const struct selected_case *));
	struct summary sum = { 0 };

	for (size_t s = 0; s < sources; s++) {
		const struct headline_group *group = row->cells[s].group;

		if (group && group->figures[index] && isfinite(group->figures[index]->m->value) &&
		    !case_is_unsettled(group->figures[index]->c, group->figures[index]->m))
			selection[sum.count++] = group->figures[index];
	}
	qsort(selection, sum.count, sizeof(*selection), by_value);
	if (sum.count) {
		sum.low = selection[0];
		sum.high = selection[sum.count - 1];
		sum.worst = h->better == BETTER_LOWER ? sum.high : sum.low;
		sum.median =
			selection[h->better == BETTER_LOWER ? sum.count / 2 : (sum.count - 1) / 2];
	}
	free(selection);
	return sum;
}

/* "worst cuda:3, by 1.2 %"; how far all are apart where no direction is better. */
static void show_apart(const struct headline *h, struct tree *figure, const struct summary *sum)
{
	double middle = sum->median->m->value, span = sum->high->m->value - sum->low->m->value;
	char text[FORMAT_SIZE];

	if (sum->count < 2 || !(middle > 0))
		tree_text(figure, "apart", "");
	else if (span < LEAST_APART * middle)
		tree_text(figure, "apart", "the same on all");
	else if (h->better == BETTER_NONE)
		tree_textf(figure, "apart", "apart by %s",
			   format_percent(span / middle, text, sizeof(text)));
	else
		tree_textf(figure, "apart", "worst %s, by %s",
			   h->selection.view->sources[sum->worst->source].label,
			   format_percent(fabs(sum->worst->m->value - middle) / middle, text,
					  sizeof(text)));
}

/*
 * The one cell that a row has when its one case holds several devices; NULL: it is not such a row.
 */
static const struct headline_cell *joint_cell(const struct headline *h,
					      const struct headline_row *row)
{
	const struct headline_cell *found = NULL;

	for (size_t s = 0; s < h->selection.view->source_count; s++) {
		if (row->cells[s].group && found)
			return NULL;
		if (row->cells[s].group)
			found = &row->cells[s];
	}
	return found && found->group->figures[0]->c->device_count > 1 ? found : NULL;
}

static void show_joint(const struct headline *h, struct tree *map, const struct headline_cell *cell)
{
	struct tree *joint = tree_map(map, "joint");

	show_figures(h, joint, cell->group);
	tree_text_owned(joint, "devices",
			view_devices(h->selection.view, cell->group->figures[0]->c));
	if (cell->sets > 1)
		tree_textf(joint, "sets", "worst of %zu", cell->sets);
	else
		tree_text(joint, "sets", "");
}

/* A device's figures in the units of the summary's, and no more. */
static void show_narrow(const struct view *view, struct tree *cells,
			const struct headline_cell *cell,
			const struct summary sums[HEADLINE_FIGURES])
{
	const struct headline_group *group = cell->group;
	struct tree *map = tree_item(cells), *list = tree_list(map, "figures");
	char text[FORMAT_SIZE];

	tree_flag(map, "failed", cell->failed != 0);
	for (size_t i = 0; group && i < HEADLINE_FIGURES; i++) {
		const struct selected_case *selected = group->figures[i];
		const struct metric_value *middle = sums[i].median ? sums[i].median->m : NULL;
		struct tree *figure;
		double factor;

		if (selected && case_is_unsettled(selected->c, selected->m)) {
			figure = tree_item(list);
			tree_text(figure, "value", UNSETTLED);
			tree_flag(figure, "noisy", true);
			continue;
		}
		if (!selected || !middle)
			continue;
		factor = format_unit(middle->value, view_unit(view, middle->name, middle->unit),
				     text, sizeof(text));
		figure = tree_item(list);
		tree_text(figure, "value",
			  format_scaled(selected->m->value, factor, text, sizeof(text)));
		tree_flag(figure, "noisy", view_noisy(selected->c));
	}
}

/* A device's figure in the unit of the middle one, and its name. */
static void show_end(const struct headline *h, struct tree *figure, const char *name,
		     const struct selected_case *selected, const struct selected_case *middle)
{
	const struct metric_value *m = middle->m;
	struct tree *end = tree_map(figure, name);
	char text[FORMAT_SIZE];
	double factor = format_unit(m->value, view_unit(h->selection.view, m->name, m->unit), text,
				    sizeof(text));

	tree_text(end, "value", format_scaled(selected->m->value, factor, text, sizeof(text)));
	view_text(end, "where", h->selection.view->sources[selected->source].label);
}

/* A tick for each device, from the lowest figure to the highest. */
static void show_strip(const struct headline *h, struct tree *figure, const struct summary *sum,
		       const struct headline_row *row, size_t index)
{
	double low = sum->low->m->value, span = sum->high->m->value - low;
	double middle = sum->median->m->value;
	bool taken[(size_t)STRIP_WIDTH + 1] = { false };
	struct text path = TEXT_EMPTY;
	char text[FORMAT_SIZE];

	for (size_t s = 0; s < h->selection.view->source_count; s++) {
		const struct headline_group *group = row->cells[s].group;
		const struct selected_case *selected = group ? group->figures[index] : NULL;

		if (selected && selected->m->value >= low && selected->m->value <= low + span &&
		    !case_is_unsettled(selected->c, selected->m))
			taken[span > 0 ? lround((selected->m->value - low) / span * STRIP_WIDTH)
				       : (long)(STRIP_WIDTH / 2)] = true;
	}
	for (size_t x = 0; x < ARRAY_SIZE(taken); x++)
		if (taken[x])
			text_addf(&path, "M%zu 5v10", x + 4);
	tree_text_owned(figure, "ticks", text_detach(&path));
	tree_textf(figure, "middle", "%.0f",
		   4 + (span > 0 ? (middle - low) / span : 0.5) * STRIP_WIDTH);
	tree_textf(figure, "devices", "%zu", sum->count);
	tree_text(figure, "span",
		  middle > 0 ? format_percent(span / middle, text, sizeof(text)) : "");
}

/* A row of the table for each figure: the middle device's in full, and where the others are. */
static void show_crowd(const struct headline *h, struct tree *map, const struct headline_row *row)
{
	struct tree *list = tree_list(map, "summary");

	for (size_t i = 0; i < HEADLINE_FIGURES; i++) {
		struct summary sum = summarise(h, row, i);
		struct tree *figure;

		if (!sum.count)
			continue;
		show_figure(h, list, sum.median, true);
		figure = list->children[list->count - 1];
		tree_flag(figure, "first", list->count == 1);
		show_end(h, figure, "lowest", sum.low, sum.median);
		show_end(h, figure, "highest", sum.high, sum.median);
		show_strip(h, figure, &sum, row, i);
	}
	tree_textf(map, "lines", "%zu", list->count);
}

/* The middle device's figures in full, and all devices' values. */
static void show_devices(const struct headline *h, struct tree *map, const struct headline_row *row)
{
	struct summary sums[HEADLINE_FIGURES];
	struct tree *list = tree_list(map, "summary"), *cells;

	for (size_t i = 0; i < HEADLINE_FIGURES; i++) {
		sums[i] = summarise(h, row, i);
		if (!sums[i].count)
			continue;
		show_figure(h, list, sums[i].median, true);
		show_apart(h, list->children[list->count - 1], &sums[i]);
	}
	cells = tree_list(map, "cells");
	for (size_t s = 0; s < h->selection.view->source_count; s++)
		show_narrow(h->selection.view, cells, &row->cells[s], sums);
}

static void show_row(const struct headline *h, struct tree *map, const struct headline_row *row)
{
	const struct view *view = h->selection.view;
	const struct headline_cell *joint = joint_cell(h, row);
	struct tree *cells;

	view_text(map, "label", row->label);
	tree_text(map, "arrow",
		  h->better == BETTER_HIGHER  ? "↑"
		  : h->better == BETTER_LOWER ? "↓"
					      : "");
	if (many(view) && joint) {
		show_joint(h, map, joint);
		show_failed(h, map, row);
	} else if (many(view)) {
		tree_flag(map, "joint", false);
		(crowded(view) ? show_crowd : show_devices)(h, map, row);
		show_failed(h, map, row);
	} else {
		cells = tree_list(map, "cells");
		for (size_t s = 0; s < view->source_count; s++)
			show_cell(h, cells, row, s);
	}
}

static void headline(const struct view *view, const char *suite, const char *metric,
		     struct headline_shares *shares, struct tree *page_list)
{
	struct headline h;
	struct tree *group, *rows;
	char name[FORMAT_SIZE];

	headline_collect(&h, view, suite, metric);
	headline_shares_add(shares, &h);
	if (h.count) {
		group = tree_item(page_list);
		view_text(group, "suite", suite);
		tree_text(group, "metric", view_metric_title(view, metric, name, sizeof(name)));
		tree_text(group, "better", format_better(h.better));
		view_text(group, "common", h.common);
		rows = tree_list(group, "headline_rows");
		for (size_t i = 0; i < h.count && i < MOST_ROWS; i++)
			show_row(&h, tree_item(rows), &h.rows[i]);
		if (h.count > MOST_ROWS)
			tree_textf(group, "more", "%zu more rows in the section %s",
				   h.count - MOST_ROWS, suite);
		else
			tree_text(group, "more", "");
	}
	headline_release(&h);
}

/* Headline metrics of a suite in order of appearance, once each. */
static void headlines_of(const struct view *view, const char *suite, struct headline_shares *shares,
			 struct tree *list)
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
			headline(view, suite, m->name, shares, list);
		}
	}
}

void headline_shares_of(const struct view *view, struct headline_shares *shares)
{
	struct tree *unused = tree_new(TREE_LIST);

	for (size_t i = 0; i < view->suite_count; i++)
		headlines_of(view, view->suites[i], shares, unused);
	headline_shares_sum_up(shares);
	tree_free(unused);
}

struct tree *view_headlines(const struct view *view, struct tree *page)
{
	struct tree *sources = tree_list(page, "columns"), *list, *lead;
	struct headline_shares shares = { 0 };
	size_t columns = crowded(view) ? CROWD_COLUMNS : view->source_count + 1 + many(view);

	for (size_t s = 0; s < view->source_count; s++) {
		struct tree *column = tree_item(sources);

		view_text(column, "label", view->sources[s].label);
		tree_flag(column, "baseline_column", view->count > 1 && s == 0);
	}
	tree_flag(page, "many", many(view));
	tree_flag(page, "crowded", crowded(view));
	tree_textf(page, "device_count", "%zu", view->source_count);
	tree_textf(page, "joint_columns", "%zu", columns - 1);
	tree_textf(page, "headline_columns", "%zu", columns);
	list = tree_list(page, "headlines");
	for (size_t i = 0; i < view->suite_count; i++)
		headlines_of(view, view->suites[i], &shares, list);
	headline_shares_sum_up(&shares);
	lead = headline_shares_draw(&shares, view, page);
	headline_shares_release(&shares);
	/* More columns do not fit on a page; what was compared is in its table. */
	tree_flag(page, "has_headlines",
		  list->count != 0 && (view->count == 1 || view->source_count <= MOST_COMPARED));
	return lead;
}
