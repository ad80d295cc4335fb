/* A grid of words: rows and columns are numbers, a colour for each word. */
#include <math.h>
#include <stdlib.h>

#include "report/chart/chart.h"
#include "report/view/format.h"

#define LEFT 78.0
#define HEAD 38.0
#define CELL 34.0
#define CELL_WIDEST 110.0
#define NAME_LONGEST 11

static void draw_cell(struct tree *list, const struct chart_point *point, double x, double y,
		      double width)
{
	struct tree *cell = tree_item(list);
	size_t longest = (size_t)fmax(width / CHART_CHARACTER, 3);

	chart_coordinate(cell, "x", x);
	chart_coordinate(cell, "y", y);
	chart_coordinate(cell, "middle", x + width / 2);
	chart_coordinate(cell, "text_y", y + CELL / 2 + 4);
	tree_text(cell, "colour", point ? chart_style(point->style)->colour : "#ffffff");
	tree_text_owned(cell, "words",
			format_label(point && point->label ? point->label : "\u2013", longest));
}

void chart_map_draw(const struct chart *chart, struct tree *map)
{
	double top = chart_key(chart, map) + HEAD, width;
	struct tree *cells, *rows, *columns;
	size_t count;
	const char **texts = chart_texts(chart, &count);

	width = fmin((CHART_WIDTH - LEFT - 4) / (double)count, CELL_WIDEST);
	cells = tree_list(map, "cells");
	rows = tree_list(map, "row_names");
	columns = tree_list(map, "column_names");
	for (size_t s = 0; s < chart->count; s++) {
		struct tree *name = tree_item(rows);
		double y = top + CELL * (double)s;

		tree_text_owned(name, "name", format_label(chart->series[s].name, NAME_LONGEST));
		chart_coordinate(name, "y", y + CELL / 2 + 4);
		for (size_t c = 0; c < count; c++)
			draw_cell(cells, chart_point_named(&chart->series[s], texts[c]),
				  LEFT + width * (double)c, y, width);
	}
	for (size_t c = 0; c < count; c++) {
		struct tree *name = tree_item(columns);

		tree_text_owned(name, "name", format_label(texts[c], NAME_LONGEST));
		chart_coordinate(name, "x", LEFT + width * ((double)c + 0.5));
	}
	chart_coordinate(map, "width", CHART_WIDTH);
	chart_coordinate(map, "height", top + CELL * (double)chart->count + 6);
	chart_coordinate(map, "cell_width", width);
	chart_coordinate(map, "cell_height", CELL);
	chart_coordinate(map, "name_x", LEFT - 6);
	chart_coordinate(map, "head_y", top - 6);
	chart_coordinate(map, "title_y", top - 22);
	tree_text(map, "axes", chart->x_name);
	free(texts);
}
