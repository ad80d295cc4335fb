/* The first picture of a run's page: the best figures as shares of the data sheet. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "reference/gpu.h"
#include "report/chart/chart.h"
#include "report/page/headline.h"
#include "report/view/format.h"

#define MOST_NOT_SHOWN 6
#define APART 2 /* devices that have a bar each; of more the worst has one */

static struct headline_quantity *quantity_of(struct headline_shares *shares, const char *title,
					     size_t sources)
{
	for (size_t i = 0; i < shares->quantity_count; i++)
		if (strcmp(shares->quantities[i].title, title) == 0)
			return &shares->quantities[i];
	ARRAY_GROW(shares->quantities, shares->quantity_count, shares->quantity_capacity);
	shares->quantities[shares->quantity_count] =
		(struct headline_quantity){ .title = title,
					    .items = xcalloc(sources, sizeof(size_t)) };
	return &shares->quantities[shares->quantity_count++];
}

static struct headline_share *share_of(struct headline_shares *shares, const struct headline *h,
				       const struct headline_peak *peak, size_t source)
{
	struct headline_quantity *quantity =
		quantity_of(shares, peak->title, h->selection.view->source_count);

	if (!quantity->items[source]) {
		ARRAY_GROW(shares->items, shares->count, shares->capacity);
		shares->items[shares->count] =
			(struct headline_share){ .title = peak->title,
						 .unit = peak->unit,
						 .source = source,
						 .quantity =
							 (size_t)(quantity - shares->quantities) };
		quantity->items[source] = ++shares->count;
	}
	return &shares->items[quantity->items[source] - 1];
}

void headline_shares_sum_up(struct headline_shares *shares)
{
	for (size_t i = 0; i < shares->count; i++) {
		const struct headline_share *share = &shares->items[i];
		struct headline_quantity *q = &shares->quantities[share->quantity];

		if (!(share->share > 0))
			continue;
		q->devices++;
		if (!q->worst || share->share < shares->items[q->worst - 1].share)
			q->worst = i + 1;
		if (!q->best || share->share > shares->items[q->best - 1].share)
			q->best = i + 1;
	}
}

void headline_shares_release(struct headline_shares *shares)
{
	for (size_t i = 0; i < shares->quantity_count; i++)
		free(shares->quantities[i].items);
	free(shares->quantities);
	free(shares->items);
	*shares = (struct headline_shares){ 0 };
}

/* Devices on which each case of a row failed have a share as well, of 0. */
static void add_failed(struct headline_shares *shares, const struct headline *h,
		       const struct headline_row *row)
{
	size_t sources = h->selection.view->source_count, known = 0;
	struct headline_peak peak;

	while (known < sources && !row->cells[known].group)
		known++;
	if (known == sources || !headline_peak(h, row->cells[known].group->figures[0], &peak) ||
	    !peak.quantity)
		return;
	for (size_t s = 0; s < sources; s++)
		if (row->cells[s].failed && !row->cells[s].group)
			share_of(shares, h, &peak, s);
}

void headline_shares_add(struct headline_shares *shares, const struct headline *h)
{
	for (size_t i = 0; i < h->count; i++)
		add_failed(shares, h, &h->rows[i]);
	for (size_t g = 0; g < h->group_count; g++) {
		const struct selected_case *selected = h->groups[g].figures[0];
		struct headline_share *share;
		struct headline_peak peak;

		if (!selected || !headline_peak(h, selected, &peak) || !peak.quantity ||
		    view_unsettled(selected->c))
			continue;
		share = share_of(shares, h, &peak, selected->source);
		if (peak.share <= share->share || h->groups[g].failed)
			continue;
		share->share = peak.share;
		share->low = selected->m->low / selected->m->value * peak.share;
		share->high = selected->m->high / selected->m->value * peak.share;
		share->value = peak.share * peak.peak;
		share->n = selected->m->n;
	}
}

static size_t devices_of(const struct headline_shares *shares, size_t index)
{
	return shares->quantities[shares->items[index].quantity].devices;
}

static bool is_worst(const struct headline_shares *shares, size_t index)
{
	return shares->quantities[shares->items[index].quantity].worst == index + 1;
}

/* "STREAM triad, 4.393 TB/s, cuda:0"; without its title where that heads the bar. */
static char *share_name(const struct view *view, const struct headline_share *share, bool headed,
			size_t devices)
{
	char value[FORMAT_SIZE], other[48] = "";

	format_rounded(share->value, share->unit, value, sizeof(value));
	if (devices > APART)
		snprintf(other, sizeof(other), ", worst of %zu", devices);
	else if (view->source_count > 1)
		snprintf(other, sizeof(other), ", %.12s", view->sources[share->source].label);
	return xasprintf("%s%s%s%s", headed ? "" : share->title, headed ? "" : ", ", value, other);
}

/* True if a name with its title would be cut: then titles are headings. */
static bool need_headings(const struct headline_shares *shares, const struct view *view)
{
	bool needed = false;

	for (size_t i = 0; i < shares->count; i++) {
		const struct headline_share *share = &shares->items[i];
		char *name = share_name(view, share, false, devices_of(shares, i));

		needed |= chart_characters(name) > CHART_NAME_LONGEST;
		free(name);
	}
	return needed;
}

/* "Not shown, because a case of it failed: Host to device on cuda:1." */
static char *not_shown(const struct headline_shares *shares, const struct view *view)
{
	struct text out = TEXT_EMPTY;
	size_t count = 0;

	for (size_t i = 0; i < shares->count; i++) {
		const struct headline_share *share = &shares->items[i];

		if (!(share->share > 0) && ++count <= MOST_NOT_SHOWN)
			text_addf(&out, "%s%s on %s",
				  out.length ? "; " : "Not shown, because a case of it failed: ",
				  share->title, view->sources[share->source].label);
	}
	if (count > MOST_NOT_SHOWN)
		text_addf(&out, "; and %zu more", count - MOST_NOT_SHOWN);
	if (out.length)
		text_add_char(&out, '.');
	return text_detach(&out);
}

struct tree *headline_shares_draw(const struct headline_shares *shares, const struct view *view,
				  struct tree *page)
{
	struct tree *charts = tree_list(page, "share_charts");
	bool headed = need_headings(shares, view);
	struct chart chart;

	chart_init(&chart, CHART_BARS);
	chart.id = xstrdup("shares");
	chart.title = xstrdup("Best figures as shares of the data sheet");
	chart.shows = xstrdup("The best of all sizes and variants; whisker: 95 % interval.");
	chart.x_name = xstrdup("");
	chart.x_unit = xstrdup("");
	chart.y_name = xstrdup("of the data sheet");
	chart.y_unit = xstrdup("1");
	chart.better = BETTER_HIGHER;
	chart.note = not_shown(shares, view);
	chart.finding = xstrdup("");
	for (size_t i = 0; view->count == 1 && i < shares->count; i++) {
		const struct headline_share *share = &shares->items[i];
		size_t devices = devices_of(shares, i);
		struct chart_point *point;
		char *name;

		if (!(share->share > 0) || (devices > APART && !is_worst(shares, i)))
			continue;
		name = share_name(view, share, headed, devices);
		point = chart_point_new(chart_series_named(&chart, headed ? share->title : ""),
					name);
		free(name);
		point->style = devices > APART ? 0 : view_style_at(share->source);
		point->y = share->share;
		point->low = share->low;
		point->high = share->high;
		point->n = share->n;
	}
	chart_in_percent(&chart);
	if (chart.count)
		chart_draw(&chart, charts);
	chart_release(&chart);
	view_roofline(view, charts);
	return charts;
}
