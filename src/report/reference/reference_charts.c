/*
 * Charts of cards side by side: measured bars solid, published and imported ones hollow, data
 * sheets dashed.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/chart/chart.h"
#include "report/reference/reference.h"

#define LEAST_BARS 3

static void bar(struct chart_series *series, const struct report_reference *r,
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

/* The data sheet's rate over its power limit; nothing of other quantities. */
static void sheet_bar(struct chart_series *series, const struct report_reference *r,
		      const struct reference_row *row, size_t card)
{
	double value = r->cards[card].gpu ? gpu_efficiency(r->cards[card].gpu, row->quantity)
					  : (double)NAN;
	struct chart_point *point;
	char *name;

	if (!isfinite(value))
		return;
	name = xasprintf("%s data sheet", r->cards[card].label);
	point = chart_point_new(series, name);
	free(name);
	point->y = value;
	point->n = 1;
	point->look = CHART_HOLLOW;
}

static char *row_title(const struct reference_row *row)
{
	char *devices = row->devices > 1 ? xasprintf(", %d devices", row->devices) : xstrdup("");
	char *title = xasprintf("%s%s%s%s", row->quantity->title, *row->workload ? ": " : "",
				row->workload, devices);

	free(devices);
	return title;
}

static void start(struct chart *chart, const char *id, const struct tree *charts, char *title,
		  char *shows, const char *y_name, const char *unit, enum better better)
{
	chart_init(chart, CHART_BARS);
	chart->id = xasprintf("%s-%zu", id, charts->count + 1);
	chart->title = title;
	chart->shows = shows;
	chart->x_name = xstrdup("");
	chart->x_unit = xstrdup("");
	chart->y_name = xstrdup(y_name);
	chart->y_unit = xstrdup(unit);
	chart->better = better;
	chart->note = xstrdup("");
}

static void draw_row(const struct report_reference *r, const struct reference_row *row,
		     const char *id, struct tree *charts)
{
	bool peak = row->quantity->peak[0] != NULL;
	struct chart_series *series;
	struct chart chart;
	char *shows =
		xasprintf("● measured here, solid; ○ published and ◐ imported, hollow%s; %s.",
			  row->quantity->rate ? "; hollow as well: the data sheet's rate over its "
						"power limit (TDP), which work may stay below"
			  : peak              ? "; ¦ data sheet"
					      : "",
			  row->quantity->better == BETTER_LOWER ? "lower is better"
								: "higher is better");

	start(&chart, id, charts, row_title(row), shows, row->quantity->title, row->quantity->unit,
	      row->quantity->better);
	series = chart_series_named(&chart, "");
	for (size_t i = 0; i < r->card_count; i++) {
		for (size_t k = 0; k < PROVENANCES; k++)
			bar(series, r, row, i, (enum provenance)k);
		sheet_bar(series, r, row, i);
	}
	if (series->count >= LEAST_BARS)
		chart_draw(&chart, charts);
	chart_release(&chart);
}

/* The fastest FP16 arithmetic of an architecture. */
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
static void draw_growth(const struct report_reference *r, const char *key, const char *title,
			struct tree *charts)
{
	const struct gpu *base = r->cards[r->baseline].gpu;
	struct chart_series *series;
	struct chart chart;

	if (!base || !isfinite(sheet_figure(base, key)))
		return;
	start(&chart, "reference", charts, xasprintf("%s, generation over generation", title),
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

#define ROOF_LINES 7
#define ROOF_FROM 0.25 /* FLOP/B */
#define ROOF_TO 1024.0

static void roof_point(struct chart_series *series, double x, double bandwidth, double peak)
{
	char text[32];
	struct chart_point *point;

	snprintf(text, sizeof(text), "%.4g FLOP/B", x);
	point = chart_point_new(series, text);
	point->x = x;
	point->y = fmin(x * bandwidth, peak);
	point->n = 1;
}

static void roof(struct chart *chart, const char *label, const char *kind, double bandwidth,
		 double peak, size_t style)
{
	struct chart_series *series;
	char *name;

	if (!(bandwidth > 0) || !(peak > 0))
		return;
	name = xasprintf("%s, %s", label, kind);
	series = chart_series_named(chart, name);
	free(name);
	series->style = style;
	roof_point(series, ROOF_FROM, bandwidth, peak);
	roof_point(series, peak / bandwidth, bandwidth, peak);
	roof_point(series, ROOF_TO, bandwidth, peak);
}

/* The value gpuproof measured on a card; 0: none. */
static double measured_value(const struct report_reference *r, const char *quantity, size_t card)
{
	const struct reference_row *row = reference_row(r, quantity, "");

	return row && isfinite(row->cells[card][MEASURED].value) ? row->cells[card][MEASURED].value
								 : 0;
}

/*
 * The first of its architecture, the baseline and those measured: the others are close to one of
 * them.
 */
static bool on_roofline(const struct report_reference *r, size_t card)
{
	const struct gpu *gpu = r->cards[card].gpu;

	if (!gpu)
		return false;
	if (card == r->baseline || r->cards[card].measured)
		return true;
	for (size_t i = 0; i < card; i++)
		if (r->cards[i].gpu && strcmp(gpu_words(r->cards[i].gpu, "architecture"),
					      gpu_words(gpu, "architecture")) == 0)
			return false;
	return true;
}

static void draw_roofline(const struct report_reference *r, struct tree *charts)
{
	struct chart chart;
	bool solid = false;

	start(&chart, "reference", charts, xstrdup("Roofline, FP32"),
	      xstrdup("What arithmetic can be reached, by how much of it each byte from device "
		      "memory gets. Solid: measured here (STREAM triad, FP32 GEMM); dashed: data "
		      "sheets."),
	      "FP32 arithmetic", "FLOP/s", BETTER_HIGHER);
	chart.kind = CHART_LINES;
	free(chart.x_name);
	free(chart.x_unit);
	chart.x_name = xstrdup("FLOP for each byte");
	chart.x_unit = xstrdup("1");
	chart.x_scale = SCALE_LOG2;
	chart.y_scale = SCALE_LOG10;
	for (size_t i = 0; i < r->card_count && chart.count < ROOF_LINES; i++) {
		double bandwidth = measured_value(r, "memory_triad", i);
		double fp32 = measured_value(r, "gemm_fp32", i);

		if (on_roofline(r, i))
			roof(&chart, r->cards[i].label, "data sheet",
			     gpu_figure(r->cards[i].gpu, "memory_bandwidth"),
			     gpu_figure(r->cards[i].gpu, "fp32"), 1 + chart.count % ROOF_LINES);
		/* The one solid style: a second measured card has its values in the tables. */
		if (!solid && bandwidth > 0 && fp32 > 0) {
			roof(&chart, r->cards[i].label, "measured", bandwidth, fp32, 0);
			solid = true;
		}
	}
	if (chart.count >= 2)
		chart_draw(&chart, charts);
	chart_release(&chart);
}

void reference_charts(const struct report_reference *r, struct tree *charts)
{
	draw_growth(r, "memory_bandwidth", "Memory bandwidth", charts);
	draw_growth(r, "fp32", "FP32", charts);
	draw_growth(r, "fp16 best", "FP16 by its fastest code path", charts);
	draw_roofline(r, charts);
}

void reference_row_charts(const struct report_reference *r, const struct reference_row *rows,
			  size_t count, struct tree *charts)
{
	char *id = xasprintf("figure-%zu", (size_t)(rows - r->rows) + 1);

	for (size_t i = 0; i < count; i++)
		draw_row(r, &rows[i], id, charts);
	free(id);
}
