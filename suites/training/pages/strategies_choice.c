/* Recommended split: the fastest for a given memory. */
#include "suites/training/pages/strategies.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "report/view/format.h"

#define BARS_MOST 48

/*
 * True if another split of the same model is at least as fast with at most the same memory, and
 * better in one of them.
 */
static bool choice_is_beaten(const struct strategies *strategies, const struct strategy *strategy)
{
	for (size_t i = 0; i < strategies->count; i++) {
		const struct strategy *other = &strategies->items[i];
		bool better =
			other->seconds < strategy->seconds || other->memory < strategy->memory;

		if (other != strategy && strcmp(other->model, strategy->model) == 0 && better &&
		    other->seconds <= strategy->seconds && other->memory <= strategy->memory)
			return true;
	}
	return false;
}

static bool choice_is_compared(const struct strategies *strategies, const struct strategy *strategy)
{
	for (size_t i = 0; i < strategies->count; i++)
		if (&strategies->items[i] != strategy &&
		    strcmp(strategies->items[i].model, strategy->model) == 0)
			return isfinite(strategy->memory) != 0;
	return false;
}

static int strategies_memory_order(const void *a, const void *b)
{
	const struct strategy *p = *(const struct strategy *const *)a,
			      *q = *(const struct strategy *const *)b;

	return (p->memory > q->memory) - (p->memory < q->memory);
}

static const struct strategy **strategy_choice_best_ones(const struct strategies *strategies,
							 size_t *count)
{
	const struct strategy **best = xcalloc(strategies->count + 1, sizeof(*best));

	*count = 0;
	for (size_t i = 0; i < strategies->count; i++)
		if (choice_is_compared(strategies, &strategies->items[i]) &&
		    !choice_is_beaten(strategies, &strategies->items[i]))
			best[(*count)++] = &strategies->items[i];
	qsort(best, *count, sizeof(*best), strategies_memory_order);
	return best;
}

static void choice_add_bar(struct chart *chart, const struct strategy *strategy)
{
	const struct metric_value *step = strategies_metric(strategy, "parallel.step_time");
	char *text = xasprintf("from %s: %s", format_quantity(strategy->memory, "B").text,
			       strategy->brief);
	struct chart_point *point =
		chart_point_new(chart_series_named(chart, strategy->model), text);

	free(text);
	point->y = step->value;
	point->low = step->low;
	point->high = step->high;
	point->n = step->n;
	point->style = strategies_style(strategy);
}

void strategies_by_memory(const struct strategies *strategies, struct tree *charts)
{
	size_t count;
	const struct strategy **best = strategy_choice_best_ones(strategies, &count);
	struct chart chart;

	strategies_chart(strategies, &chart, CHART_BARS, charts,
			 xstrdup("Fastest strategy by memory per device"));
	chart.shows = xstrdup(
		"Strategies that no other beats in both step time and memory. For a given "
		"memory, the fastest strategy is the last point that fits. Lower is better.");
	/* In the order of the models; within each, by memory. */
	for (size_t m = 0; m < strategies->count; m++) {
		size_t first = 0;

		while (strcmp(strategies->items[first].model, strategies->items[m].model) != 0)
			first++;
		for (size_t i = 0; i < count && first == m; i++)
			if (strcmp(best[i]->model, strategies->items[m].model) == 0 &&
			    i < BARS_MOST)
				choice_add_bar(&chart, best[i]);
	}
	if (count > BARS_MOST) {
		free(chart.note);
		chart.note = xasprintf("Shows %d of %zu.", BARS_MOST, count);
	}
	if (chart.count)
		chart_draw(&chart, charts);
	chart_release(&chart);
	free(best);
}
