/* The key of a chart's colours. */
#include "report/chart/chart.h"
#include "report/view/format.h"

#define ROW 17.0
#define WIDTH 474.0 /* px, of all columns */
#define SHORT 22    /* characters that fit into a third of it, and into half */
#define LONG 35

size_t chart_key_columns(const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (chart_characters(names[i]) > SHORT)
			return 2;
	return 3;
}

void chart_key_item(struct tree *key, size_t columns, const char *colour, const char *name)
{
	size_t at = key->count;
	double x = 4 + WIDTH / (double)columns * (double)(at % columns),
	       y = 4 + ROW * (double)(at / columns);
	struct tree *item = tree_item(key);

	tree_text(item, "colour", colour);
	tree_text_owned(item, "name", format_label(name, columns == 2 ? LONG : SHORT));
	chart_coordinate(item, "x", x);
	chart_coordinate(item, "y", y);
	chart_coordinate(item, "text_x", x + 15);
	chart_coordinate(item, "text_y", y + 9);
}

double chart_key_height(size_t count, size_t columns)
{
	return 4 + ROW * (double)((count + columns - 1) / columns);
}

static bool used(const struct chart *chart, size_t style)
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
	size_t columns = 3;

	for (size_t i = 0; chart->key && chart->key[i]; i++)
		if (used(chart, i) && chart_key_columns(&chart->key[i], 1) < columns)
			columns = 2;
	for (size_t i = 0; chart->key && chart->key[i]; i++)
		if (used(chart, i))
			chart_key_item(key, columns, chart_style(i)->colour, chart->key[i]);
	return chart_key_height(key->count, columns);
}
