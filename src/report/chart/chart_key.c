/* The key of a chart's colours. */
#include "report/chart/chart.h"
#include "report/view/format.h"

#define ROW 17.0
#define SQUARE 15.0   /* px of a column before its text */
#define CHARACTER 6.5 /* px */
#define COLUMNS 3     /* at most */

static double chart_key_column_width(double width, size_t columns)
{
	return (width - 6) / (double)columns;
}

/* Characters that fit into one of the columns. */
static size_t room_of(double width, size_t columns)
{
	return (size_t)((chart_key_column_width(width, columns) - SQUARE) / CHARACTER);
}

size_t chart_key_columns(const char *const *names, size_t count, double width)
{
	size_t columns = COLUMNS;

	for (size_t i = 0; i < count; i++)
		while (columns > 1 && chart_characters(names[i]) > room_of(width, columns))
			columns--;
	return columns;
}

void chart_key_item(struct tree *key, double width, size_t columns, const char *colour,
		    const char *name)
{
	size_t at = key->count;
	double x = 4 + chart_key_column_width(width, columns) * (double)(at % columns),
	       y = 4 + ROW * (double)(at / columns);
	struct tree *item = tree_item(key);

	tree_text(item, "colour", colour);
	tree_text_owned(item, "name", format_label(name, room_of(width, columns)));
	chart_coordinate(item, "x", x);
	chart_coordinate(item, "y", y);
	chart_coordinate(item, "text_x", x + SQUARE);
	chart_coordinate(item, "text_y", y + 9);
}

double chart_key_height(size_t count, size_t columns)
{
	return 4 + ROW * (double)((count + columns - 1) / columns);
}

static bool key_style_is_used(const struct chart *chart, size_t style)
{
	for (size_t s = 0; s < chart->count; s++)
		for (size_t p = 0; p < chart->series[s].count; p++)
			if (chart->series[s].points[p].style == style)
				return true;
	return false;
}

double chart_key(const struct chart *chart, struct tree *map)
{
	struct tree *key = tree_list(map, "key");
	size_t columns = COLUMNS;

	for (size_t i = 0; chart->key && chart->key[i]; i++) {
		size_t fit = key_style_is_used(chart, i)
				     ? chart_key_columns(&chart->key[i], 1, CHART_WIDTH)
				     : COLUMNS;

		columns = fit < columns ? fit : columns;
	}
	for (size_t i = 0; chart->key && chart->key[i]; i++)
		if (key_style_is_used(chart, i))
			chart_key_item(key, CHART_WIDTH, columns, chart_style(i)->colour,
				       chart->key[i]);
	return chart_key_height(key->count, columns);
}
