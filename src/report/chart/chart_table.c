/* The numbers of a chart as a table. */
#include "report/chart/chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/view/text_index.h"

static void chart_table_add_cell(struct tree *cells, const struct chart *chart,
				 const struct chart_point *point)
{
	struct tree *c = tree_item(cells);

	tree_text(c, "value", point ? chart_value(chart, point).text : "–");
	if (chart->over_time && point && isfinite(point->low)) {
		tree_textf(c, "spread", "%s to %s", format_quantity(point->low, chart->y_unit).text,
			   format_quantity(point->high, chart->y_unit).text);
		return;
	}
	tree_text(c, "spread", point ? format_spread(point->y, point->low, point->high).text : "");
}

static int chart_table_column_order(const void *a, const void *b)
{
	const struct chart_column *p = a, *q = b;

	return (p->x > q->x) - (p->x < q->x);
}

struct chart_column *chart_table_columns(const struct chart *chart, size_t *count)
{
	struct text_index seen = { 0 };
	struct chart_column *columns = NULL;
	size_t n = 0, capacity = 0;

	for (size_t s = 0; s < chart->count; s++) {
		for (size_t p = 0; p < chart->series[s].count; p++) {
			const struct chart_point *point = &chart->series[s].points[p];
			size_t *place = text_index_at(&seen, point->text, "");

			if (*place != SIZE_MAX)
				continue;
			*place = n;
			ARRAY_GROW(columns, n, capacity);
			columns[n++] = (struct chart_column){ point->text, point->x };
		}
	}
	text_index_release(&seen);
	if (n && chart->kind == CHART_LINES)
		qsort(columns, n, sizeof(*columns), chart_table_column_order);
	*count = n;
	return columns;
}

/* Indexes the first point of each text, by series. */
static struct text_index *chart_table_index_points(const struct chart *chart)
{
	struct text_index *points = xcalloc(chart->count + 1, sizeof(*points));

	for (size_t s = 0; s < chart->count; s++)
		for (size_t p = chart->series[s].count; p-- > 0;)
			*text_index_at(&points[s], chart->series[s].points[p].text, "") = p;
	return points;
}

/* True for every n-th row and for the last one. */
static bool chart_table_has_row(const struct chart *chart, size_t index, size_t count)
{
	return chart->table_step < 2 || index % chart->table_step == 0 || index + 1 == count;
}

/* Lines, heat maps, stacks: a row for each x (or column of the map), a column for each series. */
static void chart_table_crossed(const struct chart *chart, struct tree *head, struct tree *rows)
{
	const char *const first_head[] = { [CHART_LINES] = chart->x_name,
					   [CHART_HEATMAP] =
						   chart->together ? "between" : "to \\ from",
					   [CHART_STACKED] = "part" };
	size_t count;
	struct chart_column *columns = chart_table_columns(chart, &count);
	struct text_index *points = chart_table_index_points(chart);

	tree_item_text(head, first_head[chart->kind]);
	for (size_t s = 0; s < chart->count; s++)
		tree_item_text(head,
			       *chart->series[s].name ? chart->series[s].name : chart->y_name);
	for (size_t i = 0; i < count; i++) {
		struct tree *row, *cells;

		if (!chart_table_has_row(chart, i, count))
			continue;
		row = tree_item(rows);
		tree_text(row, "name", columns[i].text);
		cells = tree_list(row, "cells");
		for (size_t s = 0; s < chart->count; s++) {
			size_t p = text_index_find(&points[s], columns[i].text, "");

			chart_table_add_cell(cells, chart,
					     p == SIZE_MAX ? NULL : &chart->series[s].points[p]);
		}
	}
	for (size_t s = 0; s < chart->count; s++)
		text_index_release(&points[s]);
	free(points);
	free(columns);
}

static void chart_table_reference(const struct chart *chart, struct tree *rows)
{
	const struct chart_point point = { .y = chart->reference, .low = NAN, .high = NAN };
	struct tree *row = tree_item(rows);

	tree_text(row, "name", chart->reference_name);
	chart_table_add_cell(tree_list(row, "cells"), chart, &point);
}

static void chart_table_listed(const struct chart *chart, struct tree *head, struct tree *rows)
{
	bool quantiles = chart->kind == CHART_STRIP && !chart->close;

	tree_item_text(head, "case");
	tree_item_text(head, chart->y_name);
	if (quantiles) {
		tree_item_text(head, "p95");
		tree_item_text(head, "p99");
	}
	for (size_t s = 0; s < chart->count; s++) {
		for (size_t p = 0; p < chart->series[s].count; p++) {
			const struct chart_point *point = &chart->series[s].points[p];
			struct chart_point quantile = { .low = NAN, .high = NAN };
			struct tree *row, *cells;

			if (!chart_table_has_row(chart, p, chart->series[s].count))
				continue;
			row = tree_item(rows);
			tree_textf(row, "name", "%s%s%s", chart->series[s].name,
				   *chart->series[s].name && *point->text ? ", " : "", point->text);
			cells = tree_list(row, "cells");
			chart_table_add_cell(cells, chart, point);
			if (!quantiles)
				continue;
			quantile.y = point->p95;
			chart_table_add_cell(cells, chart, &quantile);
			quantile.y = point->p99;
			chart_table_add_cell(cells, chart, &quantile);
		}
	}
	if (chart->kind == CHART_STRIP && isfinite(chart->reference))
		chart_table_reference(chart, rows);
}

/* A row of a timeline's table: one operation of one row of the chart. */
static void chart_table_operation(const struct chart *chart, const struct chart_series *series,
				  size_t style, double length, struct tree *rows)
{
	double together = 0;
	size_t times = 0;
	struct tree *row, *cells;

	for (size_t p = 0; p < series->count; p++)
		if (series->points[p].style == style) {
			together += series->points[p].y - series->points[p].x;
			times++;
		}
	if (!times)
		return;
	row = tree_item(rows);
	tree_textf(row, "name", "%s: %s", series->name, chart->key[style]);
	cells = tree_list(row, "cells");
	tree_textf(tree_item(cells), "value", "%zu", times);
	tree_text(tree_item(cells), "value", format_quantity(together, chart->y_unit).text);
	tree_text(tree_item(cells), "value", format_percent(together / length).text);
}

static void chart_table_map(const struct chart *chart, struct tree *head, struct tree *rows)
{
	size_t count;
	const char **texts = chart_texts(chart, &count);

	tree_item_text(head, chart->x_name);
	for (size_t c = 0; c < count; c++)
		tree_item_text(head, texts[c]);
	for (size_t s = 0; s < chart->count; s++) {
		struct tree *row = tree_item(rows), *cells;

		tree_text(row, "name", chart->series[s].name);
		cells = tree_list(row, "cells");
		for (size_t c = 0; c < count; c++) {
			const struct chart_point *point =
				chart_point_named(&chart->series[s], texts[c]);

			tree_text(tree_item(cells), "value",
				  point && point->label ? point->label : "\u2013");
		}
	}
	free(texts);
}

/* A row for each case below the roofs. */
static void chart_table_roofs(const struct chart *chart, struct tree *head, struct tree *rows)
{
	tree_item_text(head, "case");
	tree_item_text(head, chart->x_name);
	tree_item_text(head, chart->y_name);
	tree_item_text(head, "of its roof");
	tree_item_text(head, "limited by");
	for (size_t s = 0; s < chart->count; s++)
		for (size_t p = 0; p < chart->series[s].count; p++) {
			const struct chart_point *point = &chart->series[s].points[p];
			struct tree *row, *cells;

			if (!point->label || !chart_table_has_row(chart, p, chart->series[s].count))
				continue;
			row = tree_item(rows);
			tree_text(row, "name", point->text);
			cells = tree_list(row, "cells");
			tree_text(tree_item(cells), "value",
				  format_rounded(point->x, "FLOP/B").text);
			chart_table_add_cell(cells, chart, point);
			tree_text(tree_item(cells), "value",
				  format_percent(point->y / point->ideal).text);
			tree_text(tree_item(cells), "value", point->label);
		}
}

void chart_table(const struct chart *chart, struct tree *map)
{
	struct tree *head = tree_list(map, "head"), *rows = tree_list(map, "rows");

	tree_flag(map, "sampled", chart->table_step > 1);
	if (chart->table_step > 1)
		tree_textf(map, "table_step", "%zu", chart->table_step);
	if (chart->kind == CHART_TIMELINE) {
		double length = chart_extent(chart).max;

		tree_item_text(head, "row and operation");
		tree_item_text(head, "times");
		tree_item_text(head, "together");
		tree_item_text(head, "part of the step");
		for (size_t s = 0; s < chart->count; s++)
			for (size_t style = 0; chart->key && chart->key[style]; style++)
				chart_table_operation(chart, &chart->series[s], style, length,
						      rows);
		return;
	}
	if (chart->kind == CHART_MAP) {
		chart_table_map(chart, head, rows);
		return;
	}
	if (chart->roofs) {
		chart_table_roofs(chart, head, rows);
		return;
	}
	if (chart->kind != CHART_BARS && chart->kind != CHART_STRIP)
		chart_table_crossed(chart, head, rows);
	else
		chart_table_listed(chart, head, rows);
}
