/* The key of a chart's colours. */
#include "base/memory.h"
#include "report/chart/chart.h"

/*
 * The colours of charts, as they are upon white. report.css gives each a name, by which a dark
 * screen shows another: a colour that is new here needs its row there, or
 * tests/unit/report/test_colours.c fails.
 *
 * Adding a colour: its name and two values, light and dark, in report-templates/report.css; one of
 * a chart also here, with a rule for the attribute there. tests/unit/report/test_colours.c has the
 * pairs whose contrast counts.
 */

#define WHITE "#ffffff"
#define BLACK "#000000"
#define TEXT "#1a1a1a"

/*
 * Okabe & Ito's colours for all kinds of sight, the pale ones last and darker than theirs, so that
 * each is seen upon white; yellow became olive. A dash and a marker each.
 */
static const struct chart_style styles[CHART_STYLES] = {
	{ "#0b5cad", "none", WHITE },    { "#d55e00", "7 3", BLACK },
	{ "#009e73", "2 2", BLACK },     { "#ad5a89", "9 3 2 3", WHITE },
	{ "#222222", "4 2", WHITE },     { "#755a00", "12 3", WHITE },
	{ "#3a8fc4", "1 3", BLACK },     { "#767676", "6 2 1 2 1 2", WHITE },
	{ "#5a1f10", "5 2", WHITE },     { "#84994f", "3 3", BLACK },
	{ "#45219e", "8 2 2 2", WHITE }, { "#a78a99", "1 2", BLACK },
};

/* A perceptually even ramp of one hue: lightness falls in equal steps (L* 96 to 24). */
static const struct chart_shade shades[CHART_SHADES] = {
	{ "#eff6fc", TEXT },  { "#d3e6f5", TEXT },  { "#b2d2ec", TEXT },
	{ "#8cbce0", TEXT },  { "#62a3d2", TEXT },  { "#3c88bf", TEXT },
	{ "#216da6", WHITE }, { "#115289", WHITE }, { "#083a66", WHITE },
};

const struct chart_style *chart_key_style(size_t series)
{
	return &styles[series % CHART_STYLES];
}

const struct chart_shade *chart_key_shade(double position)
{
	return &shades[(size_t)(position * (CHART_SHADES - 1) + 0.5)];
}

#define ROW 17.0
#define SQUARE 15.0   /* px of a column before its text */
#define CHARACTER 6.5 /* px */
#define COLUMNS 3     /* at most */

static double chart_key_column_width(double width, size_t columns)
{
	return (width - 6) / (double)columns;
}

/* Characters that fit into one of the columns. */
static size_t chart_key_room_of(double width, size_t columns)
{
	return (size_t)((chart_key_column_width(width, columns) - SQUARE) / CHARACTER);
}

size_t chart_key_columns(const char *const *names, size_t count, double width)
{
	size_t columns = COLUMNS;

	for (size_t i = 0; i < count; i++)
		while (columns > 1 &&
		       chart_characters(names[i]) > chart_key_room_of(width, columns))
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
	tree_text_owned(item, "name", format_label(name, chart_key_room_of(width, columns)));
	chart_coordinate(item, "x", x);
	chart_coordinate(item, "y", y);
	chart_coordinate(item, "text_x", x + SQUARE);
	chart_coordinate(item, "text_y", y + 9);
}

double chart_key_height(size_t count, size_t columns)
{
	return 4 + ROW * (double)((count + columns - 1) / columns);
}

static bool chart_key_style_is_used(const struct chart *chart, size_t style)
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
		size_t fit = chart_key_style_is_used(chart, i)
				     ? chart_key_columns(&chart->key[i], 1, CHART_WIDTH)
				     : COLUMNS;

		columns = fit < columns ? fit : columns;
	}
	for (size_t i = 0; chart->key && chart->key[i]; i++)
		if (chart_key_style_is_used(chart, i))
			chart_key_item(key, CHART_WIDTH, columns, chart_key_style(i)->colour,
				       chart->key[i]);
	return chart_key_height(key->count, columns);
}
