/* Where the time of a step goes: computing, what the schedule leaves idle, communication that nothing hides. */
#include "report/strategies/splits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

#define ROWS_MOST 24

static double metric(const struct split *split, const char *name)
{
	const struct metric_value *m = case_metric(split->c, name);

	return m ? m->value : NAN;
}

/* Measured with its parts: that of one device has none. */
static bool in_parts(const struct split *split)
{
	return isfinite(metric(split, "parallel.compute_time")) &&
	       isfinite(splits_scheduled(split));
}

/* Older results have no schedule with their own times, only a formula's idle share. */
double splits_scheduled(const struct split *split)
{
	double scheduled = metric(split, "parallel.schedule_time");

	return isfinite(scheduled) ? scheduled
				   : metric(split, "parallel.compute_time") /
					     (1 - metric(split, "parallel.bubble_model"));
}

static const char *model_of(const struct split *split)
{
	return split->model;
}

static const char *name_of(const struct split *split)
{
	return split->brief;
}

/* `words` without those that all bars have: there is no room for what tells nothing apart. */
static char *apart(const struct splits *splits, const char *words,
		   const char *(*of)(const struct split *split))
{
	struct text out = TEXT_EMPTY;

	for (const char *word = words; *word;) {
		size_t length = splits_word_length(word);
		bool all = true;

		for (size_t i = 0; i < splits->count && all; i++)
			all = !in_parts(&splits->items[i]) ||
			      splits_has_word(of(&splits->items[i]), word, length);
		if (!all)
			text_addf(&out, "%s%.*s", out.length ? ", " : "", (int)length, word);
		word += length + (word[length] ? 2 : 0);
	}
	return text_detach(&out);
}

static void add_part(struct chart_series *row, const char *name, double seconds)
{
	chart_point_new(row, name)->y = fmax(seconds, 0);
}

/* The slowest device computes for so long; the schedule adds what it leaves idle, communication the rest. */
static void add_row(const struct splits *splits, struct chart *chart, const struct split *split)
{
	double compute = metric(split, "parallel.compute_time"), scheduled = splits_scheduled(split);
	char *model = apart(splits, split->model, model_of), *own = apart(splits, split->brief, name_of);
	/* The only bar, or all the same: as it is. */
	char *name = *own || *model ? xasprintf("%s%s%s", model, *own && *model ? ": " : "", own)
				    : xasprintf("%s: %s", split->model, split->name);
	struct chart_series *row = chart_series_named(chart, name);

	free(name);
	free(own);
	free(model);
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
			      "leaves idle with these stages, and communication that nothing hides. Lower is "
			      "better.");
	for (size_t i = 0; i < splits->count; i++) {
		const struct split *split = &splits->items[i];

		if (!in_parts(split))
			continue;
		if (++all <= ROWS_MOST)
			add_row(splits, &chart, split);
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
