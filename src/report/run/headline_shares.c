/* The best figures of each device as shares of the data sheet, and the device that stands out. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "reference/gpu.h"
#include "report/run/headline.h"
#include "report/view/presented.h"

#define STANDS_OUT 0.05 /* of the others' middle */
#define APART 3.0       /* times the distance of the others from their middle */

static struct headline_quantity *headline_shares_quantity_of(struct headline_shares *shares,
							     const struct headline_peak *peak,
							     size_t sources)
{
	for (size_t i = 0; i < shares->quantity_count; i++)
		if (strcmp(shares->quantities[i].title, peak->title) == 0)
			return &shares->quantities[i];
	ARRAY_GROW(shares->quantities, shares->quantity_count, shares->quantity_capacity);
	shares->quantities[shares->quantity_count] =
		(struct headline_quantity){ .title = peak->title,
					    .quantity = peak->quantity,
					    .items = xcalloc(sources, sizeof(size_t)) };
	return &shares->quantities[shares->quantity_count++];
}

static struct headline_share *headline_share_of(struct headline_shares *shares,
						const struct headline *h,
						const struct headline_peak *peak, size_t source)
{
	struct headline_quantity *quantity =
		headline_shares_quantity_of(shares, peak, h->selection.view->source_count);

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

/* Sets the devices, worst and best of each quantity after all shares were added. */
static void headline_shares_sum_up(struct headline_shares *shares)
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
static void headline_shares_add_failed(struct headline_shares *shares, const struct headline *h,
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
			headline_share_of(shares, h, &peak, s);
}

/* True if the cases differ only in words, such as the method, and not in numbers, such as sizes. */
static bool headline_shares_same_numbers(const struct case_result *a, const struct case_result *b)
{
	for (size_t i = 0; i < a->parameter_count; i++) {
		const struct case_parameter *p = &a->parameters[i];
		const struct case_parameter *other = case_parameter(b, view_string(p->name));

		if (isfinite(p->number) && (!other || other->number != p->number))
			return false;
	}
	return true;
}

/*
 * Counts a group as another method for the quantity in which its device already has a share, and
 * keeps the lowest value of these methods.
 */
static void headline_shares_count_way(struct headline_shares *shares, const struct headline *h,
				      const struct headline_group *group)
{
	const struct selected_case *selected = group->figures[0];
	struct headline_share *share;
	struct headline_peak peak;

	if (!selected || group->failed || view_unsettled(selected->c) ||
	    !headline_peak(h, selected, &peak) || !peak.quantity)
		return;
	share = headline_share_of(shares, h, &peak, selected->source);
	if (!share->c || strcmp(view_string(share->c->suite), view_string(selected->c->suite)) ||
	    !headline_shares_same_numbers(share->c, selected->c))
		return;
	if (!share->ways++ || peak.share * peak.peak < share->least)
		share->least = peak.share * peak.peak;
}

static void headline_shares_add(void *user, const char *suite, const struct headline *h)
{
	struct headline_shares *shares = user;

	(void)suite;
	for (size_t i = 0; i < h->count; i++)
		headline_shares_add_failed(shares, h, &h->rows[i]);
	for (size_t g = 0; g < h->group_count; g++) {
		const struct selected_case *selected = h->groups[g].figures[0];
		struct headline_share *share;
		struct headline_peak peak;

		if (!selected || !headline_peak(h, selected, &peak) || !peak.quantity ||
		    view_unsettled(selected->c))
			continue;
		share = headline_share_of(shares, h, &peak, selected->source);
		if (h->groups[g].failed)
			continue;
		if (peak.share <= share->share)
			continue;
		share->share = peak.share;
		share->low = selected->m->low / selected->m->value * peak.share;
		share->high = selected->m->high / selected->m->value * peak.share;
		share->value = peak.share * peak.peak;
		share->c = selected->c;
	}
	for (size_t g = 0; g < h->group_count; g++)
		headline_shares_count_way(shares, h, &h->groups[g]);
}

void headline_shares_of(const struct view *view, struct headline_shares *shares)
{
	for (size_t i = 0; i < view->suite_count; i++)
		headline_each(view, view->suites[i], headline_shares_add, shares);
	headline_shares_sum_up(shares);
}

static int headline_shares_by_share(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The shares above 0 in order, without the worst device's; the caller frees. */
static double *headline_shares_others_of(const struct headline_shares *shares,
					 const struct view *view, const struct headline_quantity *q,
					 size_t *count)
{
	double *others = xcalloc(view->source_count + 1, sizeof(*others));

	*count = 0;
	for (size_t s = 0; s < view->source_count; s++)
		if (q->items[s] && q->items[s] != q->worst &&
		    shares->items[q->items[s] - 1].share > 0)
			others[(*count)++] = shares->items[q->items[s] - 1].share;
	qsort(others, *count, sizeof(*others), headline_shares_by_share);
	return others;
}

bool headline_shares_outlier(const struct headline_shares *shares, const struct view *view,
			     const struct headline_quantity *quantity,
			     struct headline_outlier *outlier)
{
	const struct headline_share *worst;
	double *others, middle, reach;
	size_t count;

	*outlier = (struct headline_outlier){ .quantity = quantity };
	if (!quantity->worst || quantity->devices < 2)
		return false;
	worst = &shares->items[quantity->worst - 1];
	others = headline_shares_others_of(shares, view, quantity, &count);
	middle = others[count / 2];
	reach = middle - others[0];
	free(others);
	outlier->source = worst->source;
	outlier->others = count;
	outlier->below = 1 - worst->share / middle;
	return outlier->below >= STANDS_OUT && middle - worst->share > APART * reach;
}
