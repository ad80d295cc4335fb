/* Recommended split: the fastest for a given memory. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "plan/limits/spec_keys.h"
#include "reference/spec.h"
#include "report/view/format.h"
#include "suites/training/pages/strategies.h"

#define BARS_MOST 48
#define UTILISATIONS_MOST 32

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
		"Strategies that no other beats in both step time and memory. For a given memory, "
		"the fastest strategy is the last point that fits. Lower is better.");
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

/* Breakdown of step time: computation, pipeline bubbles, exposed communication. */

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
	chart.shows = xstrdup("Compute on the slowest device, pipeline bubble and exposed "
			      "communication, per strategy. Lower is better.");
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

/* Utilisation: the step's rate relative to the peak rates in the devices' data sheets. */

/* The data-sheet key of the GEMM rate in this precision; NULL: there is none. */
static const char *utilisation_sheet_key(const struct strategy *strategy)
{
	static const char *const keys[][2] = {
		{ "tf32", "tf32_tensor" },
		{ "fp16_mixed", "fp16_tensor" },
		{ "fp16_storage", "fp16_tensor" },
		{ "bf16_mixed", "bf16_tensor" },
		{ "fp32", "fp32" },
		{ "fp64", "fp64_tensor" },
	};
	const struct case_parameter *p = case_parameter(strategy->c, "precision");

	for (size_t i = 0; p && i < ARRAY_SIZE(keys); i++)
		if (strcmp(view_string(p->text), keys[i][0]) == 0)
			return keys[i][1];
	return NULL;
}

/* Total FLOP/s of its devices by their data sheet; NaN: unknown. */
static double utilisation_sheet_peak(const struct strategies *strategies,
				     const struct strategy *strategy)
{
	const struct device_info *device =
		result_device(&strategies->view->results[strategy->run], strategy->c->device);
	const char *key = utilisation_sheet_key(strategy), *status;
	double value;

	if (!device || !key || !spec_lookup(device, key, &value, &status))
		return NAN;
	return value * (double)(strategy->c->device_count ? strategy->c->device_count : 1);
}

static void utilisation_add_bar(struct chart *chart, const struct strategy *strategy,
				const char *what, double value)
{
	char *text = xasprintf("%s: %s", what, strategy->brief);
	struct chart_point *point =
		chart_point_new(chart_series_named(chart, strategy->model), text);

	free(text);
	point->y = value;
	point->style = strategies_style(strategy);
}

/* "494.7 TFLOP/s" for the first strategy's devices: a page rarely has several GPU models. */
static char *utilisation_peak_words(const struct strategies *strategies)
{
	struct text out = TEXT_EMPTY;

	for (size_t i = 0; i < strategies->count; i++) {
		const struct strategy *s = &strategies->items[i];
		double peak = utilisation_sheet_peak(strategies, s) /
			      (double)(s->c->device_count ? s->c->device_count : 1);
		char *words;

		if (!isfinite(peak))
			continue;
		words = xasprintf("%s (%s)", format_stated(peak, "FLOP/s").text,
				  spec_key_find(utilisation_sheet_key(s))->help);
		if (!out.data || !strstr(out.data, words))
			text_addf(&out, "%s%s", out.length ? ", " : "", words);
		free(words);
	}
	return text_detach(&out);
}

void strategies_utilisation(const struct strategies *strategies, struct tree *charts)
{
	char *peaks = utilisation_peak_words(strategies);
	struct chart chart;

	strategies_chart(strategies, &chart, CHART_BARS, charts,
			 xstrdup("FLOP utilisation of the devices"));
	free(chart.y_name);
	free(chart.y_unit);
	chart.y_name = xstrdup("utilisation");
	chart.y_unit = xstrdup("1");
	chart.better = BETTER_HIGHER;
	chart.shows = xasprintf("MFU: operations that the model needs / step time / data-sheet "
				"peak of all devices (%s each). HFU: the same, including "
				"recomputation. Higher is better.",
				peaks);
	for (size_t i = 0; i < strategies->count && chart.count < UTILISATIONS_MOST; i++) {
		const struct strategy *s = &strategies->items[i];
		double mfu = strategies_value(s, "parallel.flops") /
			     utilisation_sheet_peak(strategies, s);
		double more =
			strategies_value(s, "parallel.hfu") / strategies_value(s, "parallel.mfu");

		if (!isfinite(mfu))
			continue;
		utilisation_add_bar(&chart, s, "MFU", mfu);
		if (isfinite(more) && more > 1.0001)
			utilisation_add_bar(&chart, s, "HFU", mfu * more);
	}
	chart_in_percent(&chart);
	if (chart.count)
		chart_draw(&chart, charts);
	chart_release(&chart);
	free(peaks);
}
