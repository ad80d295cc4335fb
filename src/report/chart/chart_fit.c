/* Fits lines of time over size: latency and bandwidth, a row for each line. */
#include "report/chart/chart.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "report/chart/fit.h"
#include "report/view/format.h"

static bool fit_series(const struct chart_series *series, struct fit *fit)
{
	double *sizes = xcalloc(series->count + 1, sizeof(*sizes));
	double *seconds = xcalloc(series->count + 1, sizeof(*seconds));
	bool fitted;

	for (size_t p = 0; p < series->count; p++) {
		sizes[p] = series->points[p].x;
		seconds[p] = series->points[p].y;
	}
	fitted = fit_transfer(sizes, seconds, series->count, fit);
	free(sizes);
	free(seconds);
	return fitted;
}

/* "6.01 µs ± 3.2 %" */
static char *with_error(double value, const char *unit, double error)
{
	char quantity[FORMAT_SIZE], relative[FORMAT_SIZE];

	format_quantity(value, unit, quantity, sizeof(quantity));
	if (!isfinite(error) || !(value > 0))
		return xstrdup(quantity);
	return xasprintf("%s ± %s", quantity,
			 format_percent(error / value, relative, sizeof(relative)));
}

static const char *text_of(const struct chart_series *series, double x)
{
	for (size_t p = 0; p < series->count; p++)
		if (series->points[p].x == x)
			return series->points[p].text;
	return "";
}

static void add_row(struct tree *rows, const struct chart_series *series, const struct fit *fit)
{
	struct tree *row = tree_item(rows);
	char typical[FORMAT_SIZE], worst[FORMAT_SIZE];

	tree_text(row, "name", *series->name ? series->name : "all");
	tree_text_owned(row, "latency", with_error(fit->alpha, "s", fit->alpha_error));
	tree_text_owned(row, "rate", with_error(fit->beta, "B/s", fit->beta_error));
	format_percent(fit->deviation, typical, sizeof(typical));
	format_percent(fit->worst, worst, sizeof(worst));
	tree_textf(row, "deviation", "%s, at most %s at %s", typical, worst,
		   text_of(series, fit->worst_size));
}

void chart_fit(const struct chart *chart, struct tree *map)
{
	struct tree *table = tree_list(map, "fit"), *rows = NULL;

	if (!chart->fitted)
		return;
	for (size_t s = 0; s < chart->count; s++) {
		struct fit fit;

		if (!fit_series(&chart->series[s], &fit))
			continue;
		if (!rows) {
			struct tree *shown = tree_item(table);

			tree_text(shown, "of", chart->title);
			rows = tree_list(shown, "fits");
		}
		add_row(rows, &chart->series[s], &fit);
	}
}
