/*
 * How much of the data sheet a run got: a row for each quantity, and in it a dot for each device at
 * its share, with the interval as a line.
 */
#include "report/run/run_figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "reference/gpu.h"
#include "report/chart/chart.h"
#include "report/view/format.h"
#include "report/view/presented.h"

#define DOTS_MIDDLE 9.0  /* px: the row's middle from its top */
#define ABOVE_SHEET 1.05 /* of the longest row, where one is above the data sheet */

double run_figures_dots_at(double position)
{
	return DOTS_EDGE + DOTS_WIDTH * fmax(0, fmin(position, 1));
}

/* The share at the right end of each row. */
static double right_end(const struct headline_shares *shares)
{
	double most = 1;

	for (size_t i = 0; i < shares->count; i++)
		most = fmax(most, shares->items[i].share * ABOVE_SHEET);
	return most;
}

static void run_figures_set_grid(double end, struct tree *page)
{
	struct text grid = TEXT_EMPTY;

	for (int part = 0; part < 4; part++)
		text_addf(&grid, "M%.1f 0V18", run_figures_dots_at(part / 4.0 / end));
	tree_text_owned(page, "dots_grid", text_detach(&grid));
	tree_textf(page, "dots_sheet", "%.1f", run_figures_dots_at(1 / end));
}

static void run_figures_add_dot(const struct headline_share *share, double end, struct text *dots,
				struct text *lines)
{
	chart_marker(dots, 0, run_figures_dots_at(share->share / end), DOTS_MIDDLE);
	if (isfinite(share->low) && isfinite(share->high))
		text_addf(lines, "M%.1f %.0fH%.1f", run_figures_dots_at(share->low / end),
			  DOTS_MIDDLE, run_figures_dots_at(share->high / end));
}

/* The middle one of identical devices, the worse of two. */
static const struct headline_share *middle_share(const struct headline_shares *shares,
						 const struct view *view,
						 const struct headline_quantity *q)
{
	const struct headline_share *worst = &shares->items[q->worst - 1];
	size_t below = 0;

	for (size_t s = 0; s < view->source_count; s++) {
		const struct headline_share *one =
			q->items[s] ? &shares->items[q->items[s] - 1] : NULL;

		below = 0;
		for (size_t o = 0; one && one->share > 0 && o < view->source_count; o++)
			below += q->items[o] && shares->items[q->items[o] - 1].share > 0 &&
				 (shares->items[q->items[o] - 1].share < one->share ||
				  (shares->items[q->items[o] - 1].share == one->share && o < s));
		if (one && one->share > 0 && below == (q->devices - 1) / 2)
			return one;
	}
	return worst;
}

static void run_figures_add_note(struct text *note, const char *words)
{
	text_addf(note, "%s%s", note->length ? "; " : "", words);
}

/* Which devices have no share, because a case of theirs failed. */
static void run_figures_note_failed(const struct headline_shares *shares, const struct view *view,
				    const struct headline_quantity *q, struct text *note)
{
	size_t failed = 0, first = 0;
	char *words;

	for (size_t s = 0; s < view->source_count; s++)
		if (q->items[s] && !(shares->items[q->items[s] - 1].share > 0)) {
			first = failed++ ? first : s;
		}
	if (!failed)
		return;
	words = failed == 1 ? xasprintf("failed on %s", view->sources[first].label)
			    : xasprintf("failed on %zu devices", failed);
	run_figures_add_note(note, words);
	free(words);
}

/* Names the slow device, what held the figure back, and of how many ways it is the best. */
static char *run_figures_share_note(const struct headline_shares *shares, const struct view *view,
				    const struct headline_quantity *q,
				    const struct headline_share *shown)
{
	struct text note = TEXT_EMPTY;
	struct headline_outlier outlier;
	int64_t reasons = case_throttle_reasons(shown->c);
	char *words;

	if (headline_outlier(shares, view, q, &outlier)) {
		words = xasprintf("%s is %.0f %% slower", view->sources[outlier.source].label,
				  100 * outlier.below);
		run_figures_add_note(&note, words);
		free(words);
	}
	run_figures_note_failed(shares, view, q, &note);
	if (reasons > 0) {
		words = result_throttle_page_words(reasons);
		run_figures_add_note(&note, words);
		free(words);
	}
	if (shown->ways > 1) {
		words = xasprintf("best of %zu: %s to %s", shown->ways,
				  format_rounded(shown->least, shown->unit).text,
				  format_rounded(shown->value, shown->unit).text);
		run_figures_add_note(&note, words);
		free(words);
	}
	return text_detach(&note);
}

static int run_figures_by_quantity(const void *a, const void *b)
{
	const struct headline_quantity *const *p = a, *const *q = b;

	return ((*p)->quantity > (*q)->quantity) - ((*p)->quantity < (*q)->quantity);
}

void run_figures(const struct view *view, const struct headline_shares *shares, struct tree *page)
{
	struct tree *list = tree_list(page, "figures");
	const struct headline_quantity **order =
		xcalloc(shares->quantity_count + 1, sizeof(const struct headline_quantity *));
	double end = right_end(shares);
	size_t count = 0;

	for (size_t i = 0; i < shares->quantity_count; i++)
		if (shares->quantities[i].worst)
			order[count++] = &shares->quantities[i];
	qsort(order, count, sizeof(*order), run_figures_by_quantity);
	for (size_t i = 0; i < count; i++) {
		const struct headline_share *shown = middle_share(shares, view, order[i]);
		struct tree *row = tree_item(list);
		struct text dots = TEXT_EMPTY, lines = TEXT_EMPTY;

		for (size_t s = 0; s < view->source_count; s++)
			if (order[i]->items[s] && shares->items[order[i]->items[s] - 1].share > 0)
				run_figures_add_dot(&shares->items[order[i]->items[s] - 1], end,
						    &dots, &lines);
		view_text(row, "name", order[i]->title);
		tree_text(row, "value", format_rounded(shown->value, shown->unit).text);
		tree_textf(row, "share", "%.0f %%", 100 * shown->share);
		tree_text_owned(row, "dots", text_detach(&dots));
		tree_text_owned(row, "lines", text_detach(&lines));
		tree_text_owned(row, "note", run_figures_share_note(shares, view, order[i], shown));
	}
	free(order);
	run_figures_set_grid(end, page);
	tree_flag(page, "several_devices", view->source_count > 1);
	tree_textf(page, "device_count", "%zu", view->source_count);
}
