/* How much of what the devices' data sheets promise a step uses. */
#include "report/strategies/strategies.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "plan/limits/spec_keys.h"
#include "reference/spec.h"
#include "report/view/format.h"

#define BARS_MOST 32

/* The data-sheet key of the GEMM rate in this precision; NULL: it has no name for it. */
static const char *sheet_key(const struct strategy *strategy)
{
	const struct case_result *c = strategy->c;
	const struct presentation shown = view_presentation(strategy->view, view_string(c->suite));

	for (const struct role_row *row = NULL;
	     (row = presentation_role(&shown, ROLE_SHEET_RATE, row));) {
		const struct case_parameter *p = case_parameter(c, row->name);

		if (p && row->value && row->sheet_key && spec_key_find(row->sheet_key) &&
		    strcmp(view_string(p->text), row->value) == 0)
			return row->sheet_key;
	}
	return NULL;
}

/* FLOP/s of all its devices together by their data sheet; NaN: unknown. */
static double sheet_peak(const struct strategies *strategies, const struct strategy *strategy)
{
	const struct device_info *device =
		result_device(&strategies->view->results[strategy->run], strategy->c->device);
	const char *key = sheet_key(strategy), *status;
	double value;

	if (!device || !key || !spec_lookup(device, key, &value, &status))
		return NAN;
	return value * (double)(strategy->c->device_count ? strategy->c->device_count : 1);
}

static void add_bar(struct chart *chart, const struct strategy *strategy, const char *what,
		    double value)
{
	char *text = xasprintf("%s: %s", what, strategy->brief);
	struct chart_point *point =
		chart_point_new(chart_series_named(chart, strategy->model), text);

	free(text);
	point->y = value;
	point->style = strategies_style(strategy);
}

/* "494.7 TFLOP/s" of the first strategy's devices: one page is seldom of several models. */
static char *peak_words(const struct strategies *strategies)
{
	struct text out = TEXT_EMPTY;

	for (size_t i = 0; i < strategies->count; i++) {
		const struct strategy *s = &strategies->items[i];
		double peak = sheet_peak(strategies, s) /
			      (double)(s->c->device_count ? s->c->device_count : 1);
		char rate[FORMAT_SIZE], *words;

		if (!isfinite(peak))
			continue;
		words = xasprintf("%s (%s)", format_stated(peak, "FLOP/s", rate, sizeof(rate)),
				  spec_key_find(sheet_key(s))->help);
		if (!out.data || !strstr(out.data, words))
			text_addf(&out, "%s%s", out.length ? ", " : "", words);
		free(words);
	}
	return text_detach(&out);
}

void strategies_utilisation(const struct strategies *strategies, struct tree *charts)
{
	char *peaks = peak_words(strategies);
	struct chart chart;

	strategies_chart(strategies, &chart, CHART_BARS, charts,
			 xstrdup("Utilisation of the devices' arithmetic"));
	free(chart.y_name);
	free(chart.y_unit);
	chart.y_name = xstrdup("utilisation");
	chart.y_unit = xstrdup("1");
	chart.better = BETTER_HIGHER;
	chart.shows = xasprintf("MFU: operations that the model needs / step time / the data "
				"sheet's peak of all devices, %s each. HFU: the same with what is "
				"computed again. Higher is better.",
				peaks);
	for (size_t i = 0; i < strategies->count && chart.count < BARS_MOST; i++) {
		const struct strategy *s = &strategies->items[i];
		double mfu = strategies_value(s, ROLE_FLOPS) / sheet_peak(strategies, s);
		double more = strategies_value(s, ROLE_HARDWARE_UTILISATION) /
			      strategies_value(s, ROLE_MODEL_UTILISATION);

		if (!isfinite(mfu))
			continue;
		add_bar(&chart, s, "MFU", mfu);
		if (isfinite(more) && more > 1.0001)
			add_bar(&chart, s, "HFU", mfu * more);
	}
	chart_in_percent(&chart);
	if (chart.count)
		chart_draw(&chart, charts);
	chart_release(&chart);
	free(peaks);
}
