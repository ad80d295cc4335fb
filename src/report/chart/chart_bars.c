/* Horizontal bars in groups, with the interval as a whisker and the value as text at the end. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/units.h"
#include "report/chart/chart.h"

#define ROW 19.0
#define BAR 12.0
#define MARK 7.0 /* px: width of a value's mark where bars have no start */
#define DOT 3.0  /* px: of a device */
#define HEADING 20.0
#define TOP 8.0
#define VALUE_WIDTH 92.0 /* px right of the longest bar, for its value, at least */
#define VALUE_GAP 5.0
#define LEFT_BELOW 4.0 /* px left of bars whose names are above them */

/* The number of a tick, in three digits: "¦ 989 TFLOP/s". */
static struct formatted bars_tick_text(const struct chart *chart, const struct chart_point *point)
{
	double rounded = strtod(format_text("%.3g", point->ideal).text, NULL);

	return format_text("¦ %s", format_stated(rounded, chart->y_unit).text);
}

static double bars_text_width(const char *text)
{
	return CHART_CHARACTER * (double)chart_characters(text);
}

/*
 * Leaves space for the widest value ("12,353,568 samples"), which may belong to the longest bar,
 * and for the number at its tick.
 */
static double bars_value_width(const struct chart *chart)
{
	double widest = VALUE_WIDTH;

	for (size_t s = 0; s < chart->count; s++) {
		for (size_t p = 0; p < chart->series[s].count; p++) {
			const struct chart_point *point = &chart->series[s].points[p];
			struct formatted tick = { "" };

			if (isfinite(point->ideal))
				tick = bars_tick_text(chart, point);
			/* The value of the longest bar is inside it where a tick follows. */
			widest = fmax(widest,
				      VALUE_GAP +
					      fmax(bars_text_width(chart_value(chart, point).text),
						   bars_text_width(tick.text)));
		}
	}
	return widest;
}

/*
 * All whiskers are one path, drawn twice: the wider one below, in the colour of paper, parts them
 * from their bars.
 */
static void chart_bars_add_whisker(const struct scale *scale, const struct chart_point *point,
				   double middle, struct text *path)
{
	if (!isfinite(point->y) || !isfinite(point->low) || !isfinite(point->high))
		return;
	text_add_char(path, 'M');
	chart_number(path, scale_at(scale, point->low));
	text_addf(path, " %.1fv6m0 -3H", middle - 3);
	chart_number(path, scale_at(scale, point->high));
	text_add(path, "m0 -3v6");
}

/* One dot per device, alternately up and down where dots would overlap. */
static void bars_add_dots(const struct scale *scale, const struct chart_point *point, double middle,
			  struct text *path)
{
	double last = -HUGE_VAL;
	bool up = false;

	for (size_t i = 0; i < point->sample_count; i++) {
		double x = scale_at(scale, point->samples[i]);

		up = x - last < DOT && !up;
		text_add_char(path, 'M');
		chart_number(path, x - DOT / 2);
		text_add_char(path, ' ');
		chart_number(path, middle - DOT / 2 + (up ? -DOT / 2 : DOT / 2));
		text_addf(path, "h%.0fv%.0fh-%.0fz", DOT, DOT, DOT);
		last = x;
	}
}

/* The tick with its number in grey, after the value: it is not read as the value. */
static void chart_bars_draw_ideal(const struct chart *chart, const struct scale *scale,
				  struct tree *row, const struct chart_point *point, double y,
				  double value_end)
{
	struct text path = TEXT_EMPTY;
	bool there = isfinite(point->ideal);
	double at = scale_at(scale, point->ideal);

	if (there) {
		text_add_char(&path, 'M');
		chart_number(&path, at);
		text_addf(&path, " %.1fv%.0f", y + 1, ROW - 2);
	}
	tree_text_owned(row, "ideal", text_detach(&path));
	tree_text(row, "ideal_value", there ? bars_tick_text(chart, point).text : "");
	chart_coordinate(row, "ideal_x", there ? fmax(at, value_end) + VALUE_GAP : 0);
}

/*
 * The value is inside the bar where a tick comes after it and the bar is long enough, else at its
 * end.
 */
static double bars_place_value(const struct scale *scale, struct tree *row,
			       const struct chart_point *point, const char *value, double base)
{
	double end = scale_at(scale, point->y);
	double high = scale_at(scale, point->sample_count ? point->samples[point->sample_count - 1]
							  : point->high);
	double low = scale_at(scale, point->low), ideal = scale_at(scale, point->ideal);
	double inside = fmin(end, isfinite(low) ? low : end) - VALUE_GAP;
	bool fits =
		isfinite(point->ideal) && ideal > end && inside - base > bars_text_width(value) + 2;
	double x = isfinite(point->y) ? fmax(fmax(end, high), base) + VALUE_GAP : base + VALUE_GAP;

	/* The value is after a tick that the bar has passed; it covers one that crosses it. */
	if (isfinite(point->ideal) && ideal <= end)
		x = fmax(x, ideal + VALUE_GAP);
	tree_flag(row, "inside", fits);
	tree_text(row, "value_ink",
		  point->look == CHART_SOLID ? chart_key_style(point->style)->ink : "#1a1a1a");
	chart_coordinate(row, "value_x", fits ? inside : x);
	return fits ? end : x + bars_text_width(value);
}

static void bars_draw_bar(const struct chart *chart, const struct scale *scale, struct tree *row,
			  const struct chart_point *point, double y, double base)
{
	double end = scale_at(scale, point->y);
	bool there = isfinite(point->y), mark = there && chart->y_scale != SCALE_LINEAR;
	const struct formatted value = chart_value(chart, point);

	tree_text(row, "colour", chart_key_style(point->style)->colour);
	tree_flag(row, "there", there);
	tree_flag(row, "hollow", point->look != CHART_SOLID);
	tree_text(row, "outline", point->look == CHART_DASHED ? "4 2" : "none");
	/* No axis of decades has a zero that a bar could start at: a mark shows the value. */
	chart_coordinate(row, "bar_x", mark ? end - MARK / 2 : there ? fmin(base, end) : base);
	/* A bar of no length is still a measurement: one pixel shows it. */
	chart_coordinate(row, "bar_width", mark ? MARK : there ? fmax(fabs(end - base), 1) : 0);
	chart_coordinate(row, "bar_y", y + (ROW - BAR) / 2);
	chart_coordinate(row, "value_y", y + ROW / 2 + 4);
	tree_text(row, "value", value.text);
	chart_bars_draw_ideal(chart, scale, row, point, y,
			      bars_place_value(scale, row, point, value.text, mark ? end : base));
}

/* `above`: names are above their bars. Returns the bottom of the last bar. */
static double bars_draw_groups(const struct chart *chart, const struct scale *scale,
			       struct tree *map, double base, bool above)
{
	struct tree *groups = tree_list(map, "groups");
	struct text whiskers = TEXT_EMPTY, dots = TEXT_EMPTY;
	size_t count;
	const char **names = chart_texts(chart, &count);
	double y = TOP;

	for (size_t s = 0; s < chart->count; s++) {
		const struct chart_series *series = &chart->series[s];
		struct tree *group = tree_item(groups), *rows;

		tree_text_owned(group, "heading", format_label(series->name, 60));
		y += *series->name ? HEADING : 0;
		chart_coordinate(group, "heading_y", y - 6);
		chart_coordinate(group, "base_top", y);
		rows = tree_list(group, "bars_rows");
		for (size_t p = 0; p < series->count; p++, y += ROW) {
			struct tree *row = tree_item(rows);

			tree_text_owned(row, "name",
					chart_short_name(series->points[p].text, names, count,
							 above ? CHART_NAME_ABOVE
							       : CHART_NAME_LONGEST));
			chart_coordinate(row, "name_y", y + (above ? 11 : ROW / 2 + 4));
			y += above ? CHART_NAME_ROW : 0;
			bars_draw_bar(chart, scale, row, &series->points[p], y, base);
			chart_bars_add_whisker(scale, &series->points[p], y + ROW / 2, &whiskers);
			bars_add_dots(scale, &series->points[p], y + ROW / 2, &dots);
		}
		chart_coordinate(group, "base_bottom", y);
	}
	tree_text_owned(map, "whiskers", text_detach(&whiskers));
	tree_text_owned(map, "dots", text_detach(&dots));
	free(names);
	return y;
}

/* Room for bars, headings and the axis' title in a chart that a telephone shows whole. */
static bool bars_fits_narrow(const struct chart *chart, double left)
{
	double right = CHART_NARROW - bars_value_width(chart);
	double title = bars_text_width(chart->y_name) + bars_text_width(", logarithmic");
	bool fits = right - left >= CHART_LEAST_BARS && title <= right;

	for (size_t s = 0; s < chart->count; s++)
		fits = fits && bars_text_width(chart->series[s].name) <= CHART_NARROW;
	return fits;
}

void chart_bars_draw(const struct chart *chart, struct tree *map)
{
	struct extent extent = chart_extent(chart);
	double left = 8 + chart_name_width(chart, true, CHART_NAME_LONGEST);
	bool above = !bars_fits_narrow(chart, left) && bars_fits_narrow(chart, LEFT_BELOW);
	double width = above || bars_fits_narrow(chart, left) ? CHART_NARROW : CHART_WIDTH;
	double right = width - bars_value_width(chart);
	struct scale scale;
	double base, bottom;

	left = above ? LEFT_BELOW : left;
	scale_extent_add(&extent, chart->reference);
	scale_init(&scale, chart->y_scale, extent, chart->y_unit, left, right);
	base = isfinite(chart->reference)       ? scale_at(&scale, chart->reference)
	       : chart->y_scale == SCALE_LINEAR ? scale_at(&scale, 0)
						: left;
	bottom = bars_draw_groups(chart, &scale, map, base, above);
	chart_coordinate(map, "name_x", above ? left + 4 : left - 5);
	tree_flag(map, "above", above);
	chart_coordinate(map, "base", base);
	chart_frame(&scale, chart->y_name, chart->y_unit, width, TOP, bottom, map);
}
