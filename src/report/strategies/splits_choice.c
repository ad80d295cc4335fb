/* Which split to take: the fastest for a given memory. */
#include "report/strategies/splits.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "report/view/format.h"

#define BARS_MOST 48

/* Another split of the same model is as fast with as little memory, and better in one of them. */
static bool beaten(const struct splits *splits, const struct split *split)
{
	for (size_t i = 0; i < splits->count; i++) {
		const struct split *other = &splits->items[i];
		bool better = other->seconds < split->seconds || other->memory < split->memory;

		if (other != split && strcmp(other->model, split->model) == 0 && better &&
		    other->seconds <= split->seconds && other->memory <= split->memory)
			return true;
	}
	return false;
}

static bool compared(const struct splits *splits, const struct split *split)
{
	for (size_t i = 0; i < splits->count; i++)
		if (&splits->items[i] != split &&
		    strcmp(splits->items[i].model, split->model) == 0)
			return isfinite(split->memory) != 0;
	return false;
}

static int by_memory(const void *a, const void *b)
{
	const struct split *p = *(const struct split *const *)a,
			   *q = *(const struct split *const *)b;

	return (p->memory > q->memory) - (p->memory < q->memory);
}

static const struct split **best_ones(const struct splits *splits, size_t *count)
{
	const struct split **best = xcalloc(splits->count + 1, sizeof(*best));

	*count = 0;
	for (size_t i = 0; i < splits->count; i++)
		if (compared(splits, &splits->items[i]) && !beaten(splits, &splits->items[i]))
			best[(*count)++] = &splits->items[i];
	qsort(best, *count, sizeof(*best), by_memory);
	return best;
}

static void add_bar(struct chart *chart, const struct split *split)
{
	const struct metric_value *step = case_metric(split->c, "parallel.step_time");
	char memory[FORMAT_SIZE];
	char *text = xasprintf("from %s: %s",
			       format_quantity(split->memory, "B", memory, sizeof(memory)),
			       split->brief);
	struct chart_point *point =
		chart_point_new(chart_series_named(chart, split->model), text);

	free(text);
	point->y = step->value;
	point->low = step->low;
	point->high = step->high;
	point->n = step->n;
}

void splits_by_memory(const struct splits *splits, struct tree *charts)
{
	size_t count;
	const struct split **best = best_ones(splits, &count);
	struct chart chart;

	splits_chart(splits, &chart, CHART_BARS, charts,
		     xstrdup("Best split for the memory of a device"));
	chart.shows = xstrdup("Step time of each split that no other beats in both time and memory; the "
			      "fastest that a device can hold is the last whose memory it has. Lower is "
			      "better.");
	/* In the order of the models, of each by memory. */
	for (size_t m = 0; m < splits->count; m++) {
		size_t first = 0;

		while (strcmp(splits->items[first].model, splits->items[m].model) != 0)
			first++;
		for (size_t i = 0; i < count && first == m; i++)
			if (strcmp(best[i]->model, splits->items[m].model) == 0 && i < BARS_MOST)
				add_bar(&chart, best[i]);
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
