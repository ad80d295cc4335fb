/* Breakdown of step time: computation, pipeline bubbles, exposed communication. */
#include "suites/training/pages/strategies.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

#define ROWS_MOST 24

/* True if the parts were measured: a step of one device has none. */
static bool strategy_time_in_parts(const struct strategy *strategy)
{
	return isfinite(strategies_value(strategy, "parallel.compute_time")) &&
	       isfinite(strategies_scheduled(strategy));
}

/* Older results have no schedule with measured times, only a formula's idle share. */
double strategies_scheduled(const struct strategy *strategy)
{
	double scheduled = strategies_value(strategy, "parallel.schedule_time");

	return isfinite(scheduled)
		       ? scheduled
		       : strategies_value(strategy, "parallel.compute_time") /
				 (1 - strategies_value(strategy, "parallel.bubble_model"));
}

static const char *strategy_model(const struct strategy *strategy)
{
	return strategy->model;
}

static const char *strategy_brief(const struct strategy *strategy)
{
	return strategy->brief;
}

/* `words` without those that all bars share, which distinguish nothing. */
static char *distinguishing_words(const struct strategies *strategies, const char *words,
				  const char *(*of)(const struct strategy *strategy))
{
	struct text out = TEXT_EMPTY;

	for (const char *word = words; *word;) {
		size_t length = strategies_word_length(word);
		bool all = true;

		for (size_t i = 0; i < strategies->count && all; i++)
			all = !strategy_time_in_parts(&strategies->items[i]) ||
			      strategies_has_word(of(&strategies->items[i]), word, length);
		if (!all)
			text_addf(&out, "%s%.*s", out.length ? ", " : "", (int)length, word);
		word += length + (word[length] ? 2 : 0);
	}
	return text_detach(&out);
}

static void step_time_add_part(struct chart_series *row, const char *name, double seconds)
{
	chart_point_new(row, name)->y = fmax(seconds, 0);
}

/* Computation of the slowest device, then idle time of the schedule, then communication. */
static void step_time_add_row(const struct strategies *strategies, struct chart *chart,
			      const struct strategy *strategy)
{
	double compute = strategies_value(strategy, "parallel.compute_time"),
	       scheduled = strategies_scheduled(strategy);
	char *model = distinguishing_words(strategies, strategy->model, strategy_model),
	     *own = distinguishing_words(strategies, strategy->brief, strategy_brief);
	/* The only bar, or all bars equal: unchanged. */
	char *name = *own || *model ? xasprintf("%s%s%s", model, *own && *model ? ": " : "", own)
				    : xasprintf("%s: %s", strategy->model, strategy->name);
	struct chart_series *row = chart_series_named(chart, name);

	free(name);
	free(own);
	free(model);
	step_time_add_part(row, "computing", fmin(compute, strategy->seconds));
	step_time_add_part(row, "pipeline bubble", fmin(scheduled, strategy->seconds) - compute);
	step_time_add_part(row, "exposed communication", strategy->seconds - scheduled);
}

void strategies_time(const struct strategies *strategies, struct tree *charts)
{
	struct chart chart;
	size_t all = 0;

	strategies_chart(strategies, &chart, CHART_STACKED, charts, xstrdup("Step time breakdown"));
	chart.shows = xstrdup(
		"Compute on the slowest device, pipeline bubble and exposed communication, per "
		"strategy. Lower is better.");
	for (size_t i = 0; i < strategies->count; i++) {
		const struct strategy *strategy = &strategies->items[i];

		if (!strategy_time_in_parts(strategy))
			continue;
		if (++all <= ROWS_MOST)
			step_time_add_row(strategies, &chart, strategy);
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
