/*
 * Samples as they fell: a row per case, a tick per sample (one per pixel: more cannot be seen), the
 * median, p95 and p99 marked.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/units.h"
#include "report/chart/chart.h"

#define ROW 30.0
#define HEADING 20.0
#define TOP 26.0
#define NAME_LONGEST 28
#define RIGHT 24.0
#define SAMPLE_HEIGHT 10.0
#define KEY 70.0          /* px of a mark of the key and its name */
#define LEAST_STRIP 200.0 /* px for the samples of a narrow chart */
/* From this many samples on, the ticks of a close chart are as high as values share a pixel. */
#define MANY 200

/* As wide as a telephone where names and headings leave room. */
static double strip_width(const struct chart *chart, double left)
{
	bool fits = CHART_NARROW - RIGHT - left >= LEAST_STRIP;

	for (size_t s = 0; s < chart->count; s++)
		fits = fits && CHART_CHARACTER * (double)chart_characters(chart->series[s].name) <=
				       CHART_NARROW;
	return fits ? CHART_NARROW : CHART_WIDTH;
}

static struct extent strip_extent_of(const struct chart *chart)
{
	struct extent extent = EXTENT_EMPTY;

	for (size_t s = 0; s < chart->count; s++) {
		for (size_t p = 0; p < chart->series[s].count; p++) {
			const struct chart_point *point = &chart->series[s].points[p];

			scale_extent_add(&extent, point->p50);
			scale_extent_add(&extent, point->p95);
			scale_extent_add(&extent, point->p99);
			for (size_t i = 0; i < point->sample_count; i++)
				scale_extent_add(&extent, point->samples[i]);
		}
	}
	scale_extent_add(&extent, chart->reference);
	return extent;
}

static void strip_draw_samples(const struct scale *scale, struct tree *row,
			       const struct chart_point *point, double y, bool crowded)
{
	size_t taken[(int)CHART_WIDTH + 1] = { 0 }, most = 0;
	struct text path = TEXT_EMPTY;

	for (size_t i = 0; i < point->sample_count; i++) {
		double x = scale_at(scale, point->samples[i]);

		if (isfinite(x) && x >= 0 && x <= CHART_WIDTH)
			taken[lround(x)]++;
	}
	for (int x = 0; x <= (int)CHART_WIDTH; x++)
		most = taken[x] > most ? taken[x] : most;
	for (int x = 0; x <= (int)CHART_WIDTH; x++) {
		double height = crowded ? fmax(2, SAMPLE_HEIGHT * (double)taken[x] / (double)most)
					: SAMPLE_HEIGHT;

		if (taken[x])
			text_addf(&path, "M%d %.0fv%.0f", x, y + 10 + SAMPLE_HEIGHT - height,
				  height);
	}
	tree_text_owned(row, "samples", text_detach(&path));
}

static void strip_draw_mark(const struct scale *scale, struct tree *marks, double value, double y,
			    size_t shape)
{
	struct text path = TEXT_EMPTY;

	if (!isfinite(value))
		return;
	chart_marker(&path, shape, scale_at(scale, value), y);
	tree_text_owned(tree_item(marks), "path", text_detach(&path));
}

/* Markers of the three quantiles: triangle, square, diamond (chart_marker's shapes). */
static const size_t shapes[] = { 2, 1, 3 };

static void strip_draw_row(const struct scale *scale, struct tree *row,
			   const struct chart_point *point, double y, bool crowded)
{
	struct tree *marks;

	tree_text_owned(row, "name", format_name(point->text, NAME_LONGEST));
	chart_coordinate(row, "text_y", y + 19);
	chart_coordinate(row, "line_y", y + 15);
	strip_draw_samples(scale, row, point, y, crowded);
	marks = tree_list(row, "quantiles");
	strip_draw_mark(scale, marks, point->p50, y + 4, shapes[0]);
	strip_draw_mark(scale, marks, point->p95, y + 4, shapes[1]);
	strip_draw_mark(scale, marks, point->p99, y + 4, shapes[2]);
}

/* Rows of one chart are drawn alike. */
static bool chart_strip_is_crowded(const struct chart *chart)
{
	for (size_t s = 0; chart->close && s < chart->count; s++)
		for (size_t p = 0; p < chart->series[s].count; p++)
			if (chart->series[s].points[p].sample_count >= MANY)
				return true;
	return false;
}

static void strip_draw_key(const struct chart *chart, double left, struct tree *map)
{
	const char *const names[] = { chart->centre ? chart->centre : "median", "p95", "p99" };
	struct tree *key = tree_list(map, "key");

	for (size_t i = 0; i < (chart->close ? 1 : ARRAY_SIZE(names)); i++) {
		struct tree *item = tree_item(key);
		struct text path = TEXT_EMPTY;
		double x = left + 6 + KEY * (double)i;

		chart_marker(&path, shapes[i], x, 10);
		tree_text_owned(item, "mark", text_detach(&path));
		tree_text(item, "name", names[i]);
		chart_coordinate(item, "x", x + 9);
	}
}

/* The line at the reference, from the first row to the last, and its name after the key's marks. */
static void strip_draw_reference(const struct chart *chart, const struct scale *scale, double left,
				 struct tree *map)
{
	bool there = isfinite(chart->reference);

	tree_flag(map, "reference", there);
	if (!there)
		return;
	chart_coordinate(map, "reference_at", scale_at(scale, chart->reference));
	chart_coordinate(map, "reference_key", left + KEY);
	chart_coordinate(map, "reference_name_x", left + KEY + 10);
	tree_text(map, "reference_name", chart->reference_name);
}

void chart_strip_draw(const struct chart *chart, struct tree *map)
{
	double left = 10 + chart_name_width(chart, true, NAME_LONGEST),
	       width = strip_width(chart, left), y = TOP;
	struct tree *groups = tree_list(map, "groups");
	struct scale scale;
	bool crowded = chart_strip_is_crowded(chart);

	scale_init(&scale, chart->y_scale, strip_extent_of(chart), chart->y_unit, left,
		   width - RIGHT);
	if (chart->close)
		scale_fit(&scale, strip_extent_of(chart));
	for (size_t s = 0; s < chart->count; s++) {
		const struct chart_series *series = &chart->series[s];
		struct tree *group = tree_item(groups), *rows;

		tree_text_owned(group, "heading", format_label(series->name, 60));
		y += *series->name ? HEADING : 0;
		chart_coordinate(group, "heading_y", y - 6);
		rows = tree_list(group, "strip_rows");
		for (size_t p = 0; p < series->count; p++, y += ROW)
			strip_draw_row(&scale, tree_item(rows), &series->points[p], y, crowded);
	}
	chart_coordinate(map, "name_x", left - 6);
	chart_frame(&scale, chart->y_name, chart->y_unit, width, TOP, y, map);
	strip_draw_key(chart, left, map);
	strip_draw_reference(chart, &scale, left, map);
}
