/* What colours stand for. */
#include "report/chart.h"
#include "report/format.h"

#define ROW 17.0
#define COLUMN 158.0 /* px: three columns */

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
	size_t shown = 0;

	for (size_t i = 0; chart->key && chart->key[i]; i++) {
		struct tree *item;
		double x = 4 + COLUMN * (double)(shown % 3), y = 4 + ROW * (double)(shown / 3);

		if (!used(chart, i))
			continue;
		shown++;
		item = tree_item(key);
		tree_text(item, "colour", chart_style(i)->colour);
		tree_text_owned(item, "name", format_label(chart->key[i], 22));
		chart_coordinate(item, "x", x);
		chart_coordinate(item, "y", y);
		chart_coordinate(item, "text_x", x + 15);
		chart_coordinate(item, "text_y", y + 9);
	}
	return 4 + ROW * (double)((shown + 2) / 3);
}
