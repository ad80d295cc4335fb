/* Horizontal bars made of parts, the same colour for the same part in every bar. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/chart/chart.h"

#define AXIS 38.0

/* Rows of spans over time, one colour for each operation: who did what when (a Gantt chart). */

#define SPAN_ROW 17.0
#define SPAN_BAR 14.0
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

static void chart_stacked_timeline_draw_span(struct tree *list, const struct scale *scale,
					     const struct chart_point *point, double y)
{
	double from = scale_at(scale, point->x), to = scale_at(scale, point->y);
	double width = fmax(to - from, NARROWEST);
	struct tree *span = tree_item(list);
	bool fits = point->label &&
		    width > 3 + LABEL_CHARACTER * (double)chart_characters(point->label);

	tree_text(span, "colour", chart_key_style(point->style)->colour);
	tree_text(span, "ink", chart_key_style(point->style)->ink);
	chart_coordinate(span, "x", from);
	chart_coordinate(span, "y", y + (SPAN_ROW - SPAN_BAR) / 2);
	chart_coordinate(span, "span_width", width);
	tree_flag(span, "outlined", width >= SEPARATED);
	tree_text(span, "label", fits ? point->label : "");
	chart_coordinate(span, "middle", from + width / 2);
	chart_coordinate(span, "text_y", y + SPAN_ROW / 2 + 3);
}

void chart_stacked_timeline_draw(const struct chart *chart, struct tree *map)
{
	double left = 8 + chart_name_width(chart, false, NAME_LONGEST),
	       top = chart_key(chart, map) + 4;
	double bottom = top + SPAN_ROW * (double)chart->count, factor;
	struct extent extent = EXTENT_EMPTY;
	struct tree *rows = tree_list(map, "span_rows");
	struct scale scale;
	struct formatted unit;

	for (size_t s = 0; s < chart->count; s++)
		for (size_t p = 0; p < chart->series[s].count; p++)
			scale_extent_add(&extent, chart->series[s].points[p].y);
	scale_extent_add(&extent, 0);
	scale_init(&scale, SCALE_LINEAR, extent, chart->y_unit, left, CHART_WIDTH - RIGHT);
	unit = format_unit(scale.high, chart->y_unit, &factor);
	for (size_t s = 0; s < chart->count; s++) {
		struct tree *row = tree_item(rows), *spans;
		double y = top + SPAN_ROW * (double)s;

		tree_text_owned(row, "name", format_label(chart->series[s].name, NAME_LONGEST));
		chart_coordinate(row, "text_y", y + SPAN_ROW / 2 + 4);
		spans = tree_list(row, "spans");
		for (size_t p = 0; p < chart->series[s].count; p++)
			chart_stacked_timeline_draw_span(spans, &scale, &chart->series[s].points[p],
							 y);
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

#define ROW 24.0
#define BAR 16.0
#define VALUE_WIDTH 92.0
#define LEFT_BELOW 4.0 /* px left of bars whose names are above them */

/*
 * If totals differ by more than this factor, the parts of the small ones would be invisible: bars
 * show shares.
 */
#define TOTALS_APART 12

struct stack {
	const struct chart *chart;
	bool shares;                 /* bars are as long as each other */
	bool above;                  /* names are above their bars */
	const char **parts, **names; /* names: of the bars */
	size_t part_count, key_columns;
	double left, top, width, row; /* px; row: the height of one */
	struct scale scale;
};

static double stacked_total_of(const struct chart_series *series)
{
	double total = 0;

	for (size_t p = 0; p < series->count; p++)
		total += isfinite(series->points[p].y) ? fmax(series->points[p].y, 0) : 0;
	return total;
}

/* The style of its points if one is set; otherwise parts are styled in order. */
static const char *chart_stacked_colour_of(const struct stack *s, size_t part)
{
	size_t style = part;

	for (size_t i = 0; i < s->chart->count; i++)
		for (size_t p = 0; p < s->chart->series[i].count; p++) {
			const struct chart_point *point = &s->chart->series[i].points[p];

			if (point->style && strcmp(point->text, s->parts[part]) == 0)
				return chart_key_style(point->style)->colour;
			style = point->style ? 0 : style;
		}
	return chart_key_style(style)->colour;
}

static void stack_draw_bar(const struct stack *s, struct tree *row,
			   const struct chart_series *series, double y)
{
	struct tree *parts;
	double sum = 0, whole = s->shares ? stacked_total_of(series) : 1;

	tree_text_owned(row, "name",
			chart_short_name(series->name, s->names, s->chart->count,
					 s->above ? CHART_NAME_ABOVE : CHART_NAME_LONGEST));
	chart_coordinate(row, "name_y", y + (s->above ? 11 : ROW / 2 + 4));
	y += s->above ? CHART_NAME_ROW : 0;
	chart_coordinate(row, "value_y", y + ROW / 2 + 4);
	tree_text(row, "value", format_quantity(stacked_total_of(series), s->chart->y_unit).text);
	chart_coordinate(row, "value_x", scale_at(&s->scale, stacked_total_of(series) / whole) + 5);
	parts = tree_list(row, "parts");
	for (size_t i = 0; i < s->part_count; i++) {
		const struct chart_point *point = chart_point_named(series, s->parts[i]);
		double from = scale_at(&s->scale, sum / whole);
		struct tree *part;

		if (!point || !(point->y > 0))
			continue;
		sum += point->y;
		part = tree_item(parts);
		tree_text(part, "colour", chart_stacked_colour_of(s, i));
		chart_coordinate(part, "x", from);
		chart_coordinate(part, "y", y + (ROW - BAR) / 2);
		chart_coordinate(part, "part_width", scale_at(&s->scale, sum / whole) - from);
	}
}

static void stack_measure(struct stack *s)
{
	struct extent extent = EXTENT_EMPTY;

	for (size_t i = 0; i < s->chart->count; i++)
		scale_extent_add(&extent, stacked_total_of(&s->chart->series[i]));
	s->shares = extent.min > 0 && extent.max > TOTALS_APART * extent.min;
	if (s->shares)
		extent = (struct extent){ 1, 1 };
	s->left = 8 + chart_name_width(s->chart, false, CHART_NAME_LONGEST);
	s->width = CHART_NARROW;
	s->above = CHART_NARROW - VALUE_WIDTH - s->left < CHART_LEAST_BARS;
	s->left = s->above ? LEFT_BELOW : s->left;
	s->row = ROW + (s->above ? CHART_NAME_ROW : 0);
	s->key_columns = chart_key_columns(s->parts, s->part_count, s->width);
	s->top = 6 + chart_key_height(s->part_count, s->key_columns);
	scale_init(&s->scale, SCALE_LINEAR, extent, s->shares ? "1" : s->chart->y_unit, s->left,
		   s->width - VALUE_WIDTH);
}

void chart_stacked_draw(const struct chart *chart, struct tree *map)
{
	struct stack s = { .chart = chart };
	struct tree *rows, *key;
	double bottom;
	char *name;

	s.parts = chart_texts(chart, &s.part_count);
	s.names = xcalloc(chart->count + 1, sizeof(*s.names));
	for (size_t i = 0; i < chart->count; i++)
		s.names[i] = chart->series[i].name;
	stack_measure(&s);
	bottom = s.top + s.row * (double)chart->count;
	key = tree_list(map, "key");
	for (size_t i = 0; i < s.part_count; i++)
		chart_key_item(key, s.width, s.key_columns, chart_stacked_colour_of(&s, i),
			       s.parts[i]);
	rows = tree_list(map, "stack_rows");
	for (size_t i = 0; i < chart->count; i++)
		stack_draw_bar(&s, tree_item(rows), &chart->series[i], s.top + s.row * (double)i);
	chart_coordinate(map, "name_x", s.above ? s.left + 4 : s.left - 5);
	tree_flag(map, "above", s.above);
	name = xasprintf("%s%s", s.shares ? "share of the " : "", chart->y_name);
	chart_frame(&s.scale, name, s.shares ? "1" : chart->y_unit, s.width, s.top, bottom, map);
	free(name);
	free(s.parts);
	free(s.names);
}
