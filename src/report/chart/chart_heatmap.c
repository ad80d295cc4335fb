/* Matrix of numbers: rows are sources, columns are destinations, dark is high. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/chart/chart.h"

#define TOP 44.0
#define NAME_LONGEST 14
#define CELL_TALLEST 44.0
/* px: narrower cells have no number, and names that would touch are left out. */
#define CELL_WITH_NUMBER 26.0
#define NAME_APART 12.0

/*
 * The ramp spans at least a fifth of the highest value: cells that are all but equal must not look
 * far apart.
 */
static const struct chart_shade *heatmap_shade(const struct extent *extent, double value)
{
	double low = fmin(extent->min, 0.8 * extent->max);

	return chart_key_shade(extent->max > low ? (value - low) / (extent->max - low) : 0.5);
}

static int heatmap_name_order(const void *a, const void *b)
{
	return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

struct heatmap_grid {
	double left, cell_width, cell_height, factor;
	struct extent extent;
};

static void heatmap_draw_cell(const struct heatmap_grid *grid, struct tree *list,
			      const struct chart_point *point, size_t row, size_t column)
{
	bool there = point && isfinite(point->y), numbered = grid->cell_width >= CELL_WITH_NUMBER;
	const struct chart_shade *shown = there ? heatmap_shade(&grid->extent, point->y) : NULL;
	struct formatted value = { "" };
	struct tree *cell;

	if (!there && !numbered)
		return;
	cell = tree_item(list);
	if (there && numbered)
		value = format_scaled(point->y, grid->factor);
	chart_coordinate(cell, "x", grid->left + grid->cell_width * (double)column);
	chart_coordinate(cell, "y", TOP + grid->cell_height * (double)row);
	chart_coordinate(cell, "middle", grid->left + grid->cell_width * ((double)column + 0.5));
	chart_coordinate(cell, "text_y", TOP + grid->cell_height * ((double)row + 0.5) + 4);
	tree_text(cell, "fill", there ? shown->colour : "#ffffff");
	tree_text(cell, "ink", there ? shown->ink : "#1a1a1a");
	tree_text(cell, "value", there || !numbered ? value.text : "\u2013");
}

/* Returns the smallest n such that every n-th name fits. */
static size_t heatmap_name_stride(double room, double step)
{
	return step >= room ? 1 : (size_t)ceil(room / step);
}

/* Names all columns whose cells have numbers, though long names may touch. */
static size_t chart_heatmap_every_column(const struct heatmap_grid *grid,
					 const char *const *columns, size_t count)
{
	double room = 0;

	for (size_t c = 0; c < count; c++) {
		char *label = format_label(columns[c], NAME_LONGEST);

		room = fmax(room, CHART_CHARACTER * (double)(chart_characters(label) + 1));
		free(label);
	}
	return grid->cell_width >= CELL_WITH_NUMBER ? 1
						    : heatmap_name_stride(room, grid->cell_width);
}

static void heatmap_draw_rows(const struct chart *chart, const struct heatmap_grid *grid,
			      struct tree *map, const char *const *columns, size_t count)
{
	struct tree *cells = tree_list(map, "cells"), *names = tree_list(map, "row_names");

	for (size_t s = 0; s < chart->count; s++) {
		if (s % heatmap_name_stride(NAME_APART, grid->cell_height) == 0) {
			struct tree *name = tree_item(names);

			tree_text_owned(name, "name",
					format_label(chart->series[s].name, NAME_LONGEST));
			chart_coordinate(name, "y",
					 TOP + grid->cell_height * ((double)s + 0.5) + 4);
		}
		for (size_t c = 0; c < count; c++)
			heatmap_draw_cell(grid, cells,
					  chart_point_named(&chart->series[s], columns[c]), s, c);
	}
}

void chart_heatmap_draw(const struct chart *chart, struct tree *map)
{
	struct heatmap_grid grid = { .left = 100, .extent = EXTENT_EMPTY };
	struct formatted unit;
	size_t count;
	const char **columns = chart_texts(chart, &count);
	struct tree *names;

	qsort(columns, count, sizeof(*columns), heatmap_name_order);
	for (size_t s = 0; s < chart->count; s++)
		for (size_t p = 0; p < chart->series[s].count; p++)
			scale_extent_add(&grid.extent, chart->series[s].points[p].y);
	scale_extent_add(&grid.extent, chart->range.min);
	scale_extent_add(&grid.extent, chart->range.max);
	unit = format_unit(grid.extent.max, chart->y_unit, &grid.factor);
	grid.cell_width = fmin((CHART_WIDTH - grid.left - 4) / (double)count, 120);
	grid.cell_height = fmin(grid.cell_width, CELL_TALLEST);
	chart_coordinate(map, "width", CHART_WIDTH);
	chart_coordinate(map, "height", TOP + grid.cell_height * (double)chart->count + 8);
	chart_coordinate(map, "cell_width", grid.cell_width);
	chart_coordinate(map, "cell_height", grid.cell_height);
	chart_coordinate(map, "left", grid.left);
	chart_coordinate(map, "name_x", grid.left - 8);
	tree_text(map, "unit", unit.text);
	tree_text(map, "ends",
		  chart->together ? "between the row and the column"
				  : "from the row to the column");
	tree_text(map, "y_title", chart->y_name);
	names = tree_list(map, "column_names");
	for (size_t c = 0; c < count; c += chart_heatmap_every_column(&grid, columns, count)) {
		struct tree *name = tree_item(names);

		tree_text_owned(name, "name", format_label(columns[c], NAME_LONGEST));
		chart_coordinate(name, "x", grid.left + grid.cell_width * ((double)c + 0.5));
	}
	heatmap_draw_rows(chart, &grid, map, columns, count);
	free(columns);
}
