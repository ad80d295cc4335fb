/*
 * The colours of charts, as they are upon white. report.css gives each a name, by which a dark
 * screen shows another: a colour that is new here needs its row there, or
 * tests/unit/report/test_colours.c fails.
 *
 * Adding a colour: its name and two values, light and dark, in report-templates/report.css; one of
 * a chart also here, with a rule for the attribute there. tests/unit/report/test_colours.c has the
 * pairs whose contrast counts.
 */
#include "base/memory.h"
#include "report/chart/chart.h"

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

const struct chart_style *chart_style(size_t series)
{
	return &styles[series % CHART_STYLES];
}

const struct chart_shade *chart_shade(double position)
{
	return &shades[(size_t)(position * (CHART_SHADES - 1) + 0.5)];
}
