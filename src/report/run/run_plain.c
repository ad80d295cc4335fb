/*
 * The figures of a run that no data sheet bounds, in a table for each metric: of several devices
 * the middle one, and a dot for each.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "report/chart/chart.h"
#include "report/run/run_figures.h"
#include "report/view/format.h"
#include "report/view/presented.h"

#define MOST_ROWS 6   /* of a metric: the rest is in the suite's fold */
#define MIDDLE 9.0    /* px */
#define CLOSE 0.02    /* of the middle: dots span at least that, or noise would fill the row */
#define FAR_AWAY 0.05 /* of the middle: such a device is named */

/* In place of a figure whose level still changed: a number there would be read as the device's. */
#define UNSETTLED "not settled"

struct plain {
	struct tree *list;
	const struct view *view;
	size_t number; /* of the suite, from 1 */
};

/* A row's figure on each device that has one, sorted by value. */
struct plain_spread {
	const struct selected_case **items;
	size_t count;
};

static int run_plain_by_figure(const void *a, const void *b)
{
	double x = (*(const struct selected_case *const *)a)->m->value;
	double y = (*(const struct selected_case *const *)b)->m->value;

	return (x > y) - (x < y);
}

static struct plain_spread run_plain_spread_of(const struct headline *h,
					       const struct headline_row *row, size_t figure)
{
	size_t sources = h->selection.view->source_count;
	struct plain_spread out = { xcalloc(sources + 1, sizeof(*out.items)), 0 };

	for (size_t s = 0; s < sources; s++) {
		const struct headline_group *group = row->cells[s].group;
		const struct selected_case *one = group ? group->figures[figure] : NULL;

		if (one && isfinite(one->m->value) && !case_is_unsettled(one->c, one->m))
			out.items[out.count++] = one;
	}
	qsort(out.items, out.count, sizeof(*out.items), run_plain_by_figure);
	return out;
}

/* The worse of the two in the middle of an even number. */
static const struct selected_case *middle_case(const struct headline *h,
					       const struct plain_spread *spread)
{
	return spread
		->items[h->better == BETTER_LOWER ? spread->count / 2 : (spread->count - 1) / 2];
}

/* "cuda:5 is 12 % worse"; "" where none is far from the middle one. */
static char *run_plain_outlier_of(const struct headline *h, const struct plain_spread *spread)
{
	double middle = middle_case(h, spread)->m->value;
	const struct selected_case *worst =
		spread->items[h->better == BETTER_LOWER ? spread->count - 1 : 0];
	double away = fabs(worst->m->value - middle) / middle;

	if (spread->count < 3 || h->better == BETTER_NONE || !(middle > 0) || away < FAR_AWAY)
		return xstrdup("");
	return xasprintf("%s is %.0f %% worse", h->selection.view->sources[worst->source].label,
			 100 * away);
}

/* The text of the axis at a figure: "64 MiB"; "" without an axis. */
static void run_plain_set_place(const struct headline *h, const struct selected_case *selected,
				struct tree *figure)
{
	const struct case_parameter *x = h->axis ? case_parameter(selected->c, h->axis) : NULL;

	tree_text(figure, "at",
		  x ? view_parameter(h->selection.view, selected->c->suite, x).text : "");
}

static void run_plain_add_figure(const struct headline *h, const struct headline_row *row,
				 size_t index, struct tree *figures)
{
	struct plain_spread spread = run_plain_spread_of(h, row, index);
	const struct selected_case *middle = spread.count ? middle_case(h, &spread) : NULL;
	struct tree *figure;

	if (middle) {
		double low = fmin(spread.items[0]->m->value,
				  middle->m->value - CLOSE * fabs(middle->m->value));
		double high = fmax(spread.items[spread.count - 1]->m->value,
				   middle->m->value + CLOSE * fabs(middle->m->value));
		struct text dots = TEXT_EMPTY;

		figure = tree_item(figures);
		tree_text(figure, "value", view_value(h->selection.view, middle->m).text);
		tree_text(figure, "interval", view_interval(h->selection.view, middle->m).text);
		run_plain_set_place(h, middle, figure);
		for (size_t i = 0; spread.count > 1 && high > low && i < spread.count; i++)
			chart_marker(&dots, 0,
				     run_figures_dots_at((spread.items[i]->m->value - low) /
							 (high - low)),
				     MIDDLE);
		tree_text_owned(figure, "dots", text_detach(&dots));
		tree_text_owned(figure, "outlier", run_plain_outlier_of(h, &spread));
	}
	free(spread.items);
}

static size_t run_plain_failed_on(const struct view *view, const struct headline_row *row)
{
	size_t failed = 0;

	for (size_t s = 0; s < view->source_count; s++)
		failed += row->cells[s].failed;
	return failed;
}

/* True if a data sheet bounds the row's figure on any device. */
static bool run_plain_has_sheet(const struct headline *h, const struct headline_row *row)
{
	struct headline_peak peak;

	for (size_t s = 0; s < h->selection.view->source_count; s++)
		if (row->cells[s].group &&
		    headline_peak(h, row->cells[s].group->figures[0], &peak) && peak.quantity)
			return true;
	return false;
}

static void run_plain_add_metric(void *user, const char *suite, const struct headline *h)
{
	struct plain *p = user;
	size_t count = 0, shown = 0;
	struct tree *table, *rows;

	/* A part of one mostly describes the measurement, not the machine. */
	if (strcmp(view_string(h->selection.items[0].m->unit), "1") == 0)
		return;
	for (size_t i = 0; i < h->count; i++)
		count += !run_plain_has_sheet(h, &h->rows[i]);
	if (!count)
		return;
	table = tree_item(p->list);
	view_text(table, "suite", suite);
	tree_textf(table, "suite_id", "suite-%zu", p->number);
	tree_text(table, "metric", view_metric_title(p->view, h->selection.items[0].m->name).text);
	tree_text(table, "better", format_better(h->better));
	view_text(table, "common", h->common);
	rows = tree_list(table, "rows");
	for (size_t i = 0; i < h->count && shown < MOST_ROWS; i++)
		if (!run_plain_has_sheet(h, &h->rows[i])) {
			struct tree *map = tree_item(rows), *figures;
			size_t failed = run_plain_failed_on(h->selection.view, &h->rows[i]);

			view_text(map, "label", h->rows[i].label);
			figures = tree_list(map, "figures");
			for (size_t f = 0; f < HEADLINE_FIGURES; f++)
				run_plain_add_figure(h, &h->rows[i], f, figures);
			tree_text(map, "absent", figures->count ? "" : UNSETTLED);
			if (failed)
				tree_textf(map, "failed", "%zu %s failed", failed,
					   failed == 1 ? "case" : "cases");
			else
				tree_text(map, "failed", "");
			shown++;
		}
	if (count > shown)
		tree_textf(table, "more", "%zu more", count - shown);
	else
		tree_text(table, "more", "");
}

void run_plain_figures(const struct view *view, struct tree *page)
{
	struct plain p = { .list = tree_list(page, "plain"), .view = view };

	for (size_t i = 0; i < view->suite_count; i++) {
		p.number = i + 1;
		headline_each(view, view->suites[i], run_plain_add_metric, &p);
	}
}
