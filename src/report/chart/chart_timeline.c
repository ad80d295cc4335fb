/* Rows of spans over time, one colour for each operation: who did what when (a Gantt chart). */
#include <math.h>

#include "report/chart/chart.h"

#define ROW 17.0
#define BAR 14.0
#define AXIS 38.0
#define RIGHT 20.0
#define NAME_LONGEST 30
#define NARROWEST 0.8 /* px: seen, however short a span is */
/*
 * px: from here on an outline separates a span from its neighbours, which would cover a narrower
 * one.
 */
#define SEPARATED 2.0
/* px of a label inside a span: 9 px digits are narrower than other labels. */
#define LABEL_CHARACTER 5.6

static void chart_timeline_draw_span(struct tree *list, const struct scale *scale,
				     const struct chart_point *point, double y)
{
	double from = scale_at(scale, point->x), to = scale_at(scale, point->y);
	double width = fmax(to - from, NARROWEST);
	struct tree *span = tree_item(list);
	bool fits = point->label &&
		    width > 3 + LABEL_CHARACTER * (double)chart_characters(point->label);

	tree_text(span, "colour", chart_style(point->style)->colour);
	tree_text(span, "ink", chart_style(point->style)->ink);
	chart_coordinate(span, "x", from);
	chart_coordinate(span, "y", y + (ROW - BAR) / 2);
	chart_coordinate(span, "span_width", width);
	tree_flag(span, "outlined", width >= SEPARATED);
	tree_text(span, "label", fits ? point->label : "");
	chart_coordinate(span, "middle", from + width / 2);
	chart_coordinate(span, "text_y", y + ROW / 2 + 3);
}

void chart_timeline_draw(const struct chart *chart, struct tree *map)
{
	double left = 8 + chart_name_width(chart, false, NAME_LONGEST),
	       top = chart_key(chart, map) + 4;
	double bottom = top + ROW * (double)chart->count, factor;
	struct extent extent = EXTENT_EMPTY;
	struct tree *rows = tree_list(map, "span_rows");
	struct scale scale;
	struct formatted unit;

	for (size_t s = 0; s < chart->count; s++)
		for (size_t p = 0; p < chart->series[s].count; p++)
			extent_add(&extent, chart->series[s].points[p].y);
	extent_add(&extent, 0);
	scale_init(&scale, SCALE_LINEAR, extent, chart->y_unit, left, CHART_WIDTH - RIGHT);
	unit = format_unit(scale.high, chart->y_unit, &factor);
	for (size_t s = 0; s < chart->count; s++) {
		struct tree *row = tree_item(rows), *spans;
		double y = top + ROW * (double)s;

		tree_text_owned(row, "name", format_label(chart->series[s].name, NAME_LONGEST));
		chart_coordinate(row, "text_y", y + ROW / 2 + 4);
		spans = tree_list(row, "spans");
		for (size_t p = 0; p < chart->series[s].count; p++)
			chart_timeline_draw_span(spans, &scale, &chart->series[s].points[p], y);
	}
	chart_coordinate(map, "width", CHART_WIDTH);
	chart_coordinate(map, "height", bottom + AXIS);
	chart_coordinate(map, "left", left);
	chart_coordinate(map, "name_x", left - 5);
	chart_coordinate(map, "right", CHART_WIDTH - 4);
	chart_coordinate(map, "top", top);
	chart_coordinate(map, "bottom", bottom + 2);
	chart_coordinate(map, "tick_y", bottom + 16);
	chart_coordinate(map, "title_y", bottom + 32);
	tree_text(map, "axis_name", chart->x_name);
	tree_text(map, "axis_unit", unit.text);
	chart_ticks(map, "ticks", &scale, chart->y_unit, factor, CHART_WIDTH);
}
