/* Horizontal bars in groups, with the interval as a whisker and the value in words at the end. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/units.h"
#include "report/chart/chart.h"
#include "report/view/format.h"

#define ROW 19.0
#define BAR 12.0
#define HEADING 20.0
#define TOP 8.0
#define AXIS 38.0
#define VALUE_WIDTH 92.0 /* px right of the longest bar, for its value, at least */
#define VALUE_GAP 5.0
#define NAME_LONGEST 38 /* characters */

static size_t longest_name(const struct chart *chart)
{
	size_t longest = 4;

	for (size_t s = 0; s < chart->count; s++) {
		for (size_t p = 0; p < chart->series[s].count; p++) {
			size_t length = chart_characters(chart->series[s].points[p].text);

			longest = length > longest ? length : longest;
		}
	}
	return longest > NAME_LONGEST ? NAME_LONGEST + 1 : longest;
}

/* Room for the widest value, which may be that of the longest bar: "12,353,568 samples". */
static double value_width(const struct chart *chart)
{
	double widest = VALUE_WIDTH;

	for (size_t s = 0; s < chart->count; s++) {
		for (size_t p = 0; p < chart->series[s].count; p++) {
			char value[FORMAT_SIZE];

			chart_value(chart, &chart->series[s].points[p], value, sizeof(value));
			widest = fmax(widest, VALUE_GAP + CHART_CHARACTER *
								  (double)chart_characters(value));
		}
	}
	return widest;
}

/*
 * All whiskers are one path, drawn twice: the wider one below, in the colour of paper, parts them
 * from their bars.
 */
static void add_whisker(const struct scale *scale, const struct chart_point *point, double middle,
			struct text *path)
{
	if (!isfinite(point->y) || !isfinite(point->low) || !isfinite(point->high))
		return;
	text_add_char(path, 'M');
	chart_number(path, scale_at(scale, point->low));
	text_addf(path, " %.1fv6m0 -3H", middle - 3);
	chart_number(path, scale_at(scale, point->high));
	text_add(path, "m0 -3v6");
}

static void draw_ideal(const struct scale *scale, struct tree *row, const struct chart_point *point,
		       double y)
{
	struct text path = TEXT_EMPTY;

	if (isfinite(point->ideal)) {
		text_add_char(&path, 'M');
		chart_number(&path, scale_at(scale, point->ideal));
		text_addf(&path, " %.1fv%.0f", y + 1, ROW - 2);
	}
	tree_text_owned(row, "ideal", text_detach(&path));
}

static void draw_bar(const struct chart *chart, const struct scale *scale, struct tree *row,
		     const struct chart_point *point, double y, double base)
{
	double end = scale_at(scale, point->y), high = scale_at(scale, point->high);
	double ideal = scale_at(scale, point->ideal); /* fmax() passes over NaN */
	bool there = isfinite(point->y);
	char value[FORMAT_SIZE];

	tree_text_owned(row, "name", format_name(point->text, NAME_LONGEST));
	tree_text(row, "colour", chart_style(point->style)->colour);
	tree_flag(row, "there", there);
	tree_flag(row, "hollow", point->look != CHART_SOLID);
	tree_text(row, "outline", point->look == CHART_DASHED ? "4 2" : "none");
	chart_coordinate(row, "bar_x", there ? fmin(base, end) : base);
	/* A bar of no length is still a measurement: one pixel shows it. */
	chart_coordinate(row, "bar_width", there ? fmax(fabs(end - base), 1) : 0);
	chart_coordinate(row, "bar_y", y + (ROW - BAR) / 2);
	chart_coordinate(row, "text_y", y + ROW / 2 + 4);
	chart_coordinate(row, "value_x",
			 there ? fmax(fmax(end, fmax(high, ideal)), base) + VALUE_GAP
			       : base + VALUE_GAP);
	tree_text(row, "value", chart_value(chart, point, value, sizeof(value)));
	draw_ideal(scale, row, point, y);
}

static double draw_groups(const struct chart *chart, const struct scale *scale, struct tree *map,
			  double base)
{
	struct tree *groups = tree_list(map, "groups");
	struct text whiskers = TEXT_EMPTY;
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
			draw_bar(chart, scale, tree_item(rows), &series->points[p], y, base);
			add_whisker(scale, &series->points[p], y + ROW / 2, &whiskers);
		}
		chart_coordinate(group, "base_bottom", y);
	}
	tree_text_owned(map, "whiskers", text_detach(&whiskers));
	return y;
}

void chart_bars_draw(const struct chart *chart, struct tree *map)
{
	struct extent extent = chart_extent(chart);
	double left = 8 + CHART_CHARACTER * (double)longest_name(chart);
	double right = CHART_WIDTH - value_width(chart);
	struct scale scale;
	char unit[FORMAT_SIZE];
	double factor, base, bottom;

	extent_add(&extent, chart->reference);
	scale_init(&scale, chart->y_scale, extent, left, right);
	factor = format_unit(scale.high, chart->y_unit, unit, sizeof(unit));
	base = isfinite(chart->reference)       ? scale_at(&scale, chart->reference)
	       : chart->y_scale == SCALE_LINEAR ? scale_at(&scale, 0)
						: left;
	bottom = draw_groups(chart, &scale, map, base);
	chart_coordinate(map, "width", CHART_WIDTH);
	chart_coordinate(map, "height", bottom + AXIS);
	chart_coordinate(map, "left", left);
	chart_coordinate(map, "name_x", left - 5);
	chart_coordinate(map, "base", base);
	chart_coordinate(map, "top", TOP);
	chart_coordinate(map, "bottom", bottom + 2);
	chart_coordinate(map, "tick_y", bottom + 16);
	chart_coordinate(map, "title_y", bottom + 32);
	chart_coordinate(map, "right", right);
	tree_text(map, "axis_name", chart->y_name);
	tree_text(map, "axis_unit", chart->y_scale == SCALE_LINEAR ? unit : "");
	tree_flag(map, "axis_log", chart->y_scale != SCALE_LINEAR);
	chart_ticks(map, "ticks", &scale, chart->y_unit, factor);
}
