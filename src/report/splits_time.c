/* Where the time of a step goes: computing, what the schedule leaves idle, communication that nothing hides. */
#include "report/splits.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

#define ROWS_MOST 24

static double metric(const struct split *split, const char *name)
{
	const struct metric_value *m = case_metric(split->c, name);

	return m ? m->value : NAN;
}

static void add_part(struct chart_series *row, const char *name, double seconds)
{
	chart_point_new(row, name)->y = fmax(seconds, 0);
}

/* The slowest device computes for so long; the schedule adds its idle share, communication the rest. */
static void add_row(struct chart *chart, const struct split *split)
{
	double compute = metric(split, "parallel.compute_time"),
	       bubble = metric(split, "parallel.bubble_model");
	double scheduled = compute / (1 - bubble);
	char *name = xasprintf("%s: %s", split->name, split->model);
	struct chart_series *row = chart_series_named(chart, name);

	free(name);
	add_part(row, "computing", fmin(compute, split->seconds));
	add_part(row, "idle by schedule", fmin(scheduled, split->seconds) - compute);
	add_part(row, "exposed communication", split->seconds - scheduled);
}

void splits_time(const struct splits *splits, struct tree *charts)
{
	struct chart chart;
	size_t all = 0;

	splits_chart(splits, &chart, CHART_STACKED, charts,
		     xstrdup("Where the time of a step goes"));
	chart.shows = xstrdup("Step time of each split: the slowest device's computing, what the schedule "
			      "leaves idle by formula, and communication that nothing hides. Lower is "
			      "better.");
	for (size_t i = 0; i < splits->count; i++) {
		const struct split *split = &splits->items[i];

		if (!isfinite(metric(split, "parallel.compute_time")) ||
		    !isfinite(metric(split, "parallel.bubble_model")))
			continue;
		if (++all <= ROWS_MOST)
			add_row(&chart, split);
	}
	if (all > ROWS_MOST) {
		free(chart.note);
		chart.note = xasprintf("Shows %d of %zu; all are in the table of cases.", ROWS_MOST,
				       all);
	}
	if (chart.count)
		chart_draw(&chart, charts);
	chart_release(&chart);
}
