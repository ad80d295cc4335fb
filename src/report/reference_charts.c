/* Charts of cards side by side: measured bars solid, published and imported ones hollow, data sheets dashed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/chart.h"
#include "report/reference.h"

#define LEAST_BARS 3

static void bar(struct chart_series *series, const struct reference *r,
		const struct reference_row *row, size_t card, enum provenance kind)
{
	const struct reference_value *value = &row->cells[card][kind];
	struct chart_point *point;
	char *name;

	if (!isfinite(value->value))
		return;
	name = xasprintf("%s %s", r->cards[card].label, provenance_mark(kind));
	point = chart_point_new(series, name);
	free(name);
	point->y = value->value;
	point->low = value->low;
	point->high = value->high;
	point->n = 1;
	point->look = kind == MEASURED ? CHART_SOLID : CHART_HOLLOW;
	point->ideal = reference_peak(r, row, card);
}

static char *row_title(const struct reference_row *row)
{
	char *devices = row->devices > 1 ? xasprintf(", %d devices", row->devices) : xstrdup("");
	char *title = xasprintf("%s%s%s%s", row->quantity->title, *row->workload ? ": " : "",
				row->workload, devices);

	free(devices);
	return title;
}

static void start(struct chart *chart, const struct tree *charts, char *title, char *shows,
		  const char *y_name, const char *unit, enum better better)
{
	chart_init(chart, CHART_BARS);
	chart->id = xasprintf("reference-%zu", charts->count + 1);
	chart->title = title;
	chart->shows = shows;
	chart->x_name = xstrdup("");
	chart->x_unit = xstrdup("");
	chart->y_name = xstrdup(y_name);
	chart->y_unit = xstrdup(unit);
	chart->better = better;
	chart->note = xstrdup("");
}

static void draw_row(const struct reference *r, const struct reference_row *row,
		     struct tree *charts)
{
	bool peak = row->quantity->peak[0] != NULL;
	struct chart_series *series;
	struct chart chart;
	char *shows = xasprintf("● measured here, solid; ○ published and ◐ imported, hollow%s; %s.",
				peak ? "; dashed tick: what the data sheet allows" : "",
				row->quantity->better == BETTER_LOWER ? "lower is better"
								      : "higher is better");

	start(&chart, charts, row_title(row), shows, row->quantity->title, row->quantity->unit,
	      row->quantity->better);
	series = chart_series_named(&chart, "");
	for (size_t i = 0; i < r->card_count; i++)
		for (size_t k = 0; k < PROVENANCES; k++)
			bar(series, r, row, i, (enum provenance)k);
	if (series->count >= LEAST_BARS)
		chart_draw(&chart, charts);
	chart_release(&chart);
}

/* The fastest way of an architecture to compute with halves. */
static double fp16_figure(const struct gpu *gpu)
{
	static const char *const keys[] = { "fp16_tensor", "fp16", "fp32" };
	double best = NAN;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		best = fmax(best, gpu_figure(gpu, keys[i]));
	return best;
}

static double sheet_figure(const struct gpu *gpu, const char *key)
{
	return strcmp(key, "fp16 best") == 0 ? fp16_figure(gpu) : gpu_figure(gpu, key);
}

/* How data sheets grew from generation to generation. */
static void draw_growth(const struct reference *r, const char *key, const char *title,
			struct tree *charts)
{
	const struct gpu *base = r->cards[r->baseline].gpu;
	struct chart_series *series;
	struct chart chart;

	if (!base || !isfinite(sheet_figure(base, key)))
		return;
	start(&chart, charts, xasprintf("%s, generation over generation", title),
	      xasprintf("Data sheets alone, dashed: how many times that of %s.", base->label),
	      "times as much", "×", BETTER_HIGHER);
	chart.y_scale = SCALE_LOG2;
	chart.reference = 1;
	series = chart_series_named(&chart, "");
	for (size_t i = 0; i < r->card_count; i++) {
		double figure = r->cards[i].gpu ? sheet_figure(r->cards[i].gpu, key) : (double)NAN;
		struct chart_point *point;

		if (!isfinite(figure))
			continue;
		point = chart_point_new(series, r->cards[i].label);
		point->y = figure / sheet_figure(base, key);
		point->n = 1;
		point->look = CHART_DASHED;
	}
	if (series->count >= LEAST_BARS)
		chart_draw(&chart, charts);
	chart_release(&chart);
}

void reference_charts(const struct reference *r, struct tree *charts)
{
	draw_growth(r, "memory_bandwidth", "Memory bandwidth", charts);
	draw_growth(r, "fp32", "FP32", charts);
	draw_growth(r, "fp16 best", "FP16 by its fastest way", charts);
	for (size_t i = 0; i < r->row_count; i++)
		draw_row(r, &r->rows[i], charts);
}
