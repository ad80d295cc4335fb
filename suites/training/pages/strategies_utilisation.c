/* Utilisation: the step's rate relative to the peak rates in the devices' data sheets. */
#include "suites/training/pages/strategies.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "plan/limits/spec_keys.h"
#include "reference/spec.h"
#include "report/view/format.h"

#define BARS_MOST 32

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
	for (size_t i = 0; i < strategies->count && chart.count < BARS_MOST; i++) {
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
