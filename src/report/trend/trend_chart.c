#include "report/trend/trend_rows.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "history/history.h"
#include "report/chart/chart.h"
#include "report/view/view.h"

#define SPARK_WIDTH 180.0
#define SPARK_HEIGHT 34.0
#define LEFT 52.0
#define RIGHT 20.0
#define TOP 24.0
#define BOTTOM 42.0
#define DATE_TICKS 6
#define DOT 1.8 /* half a side */
#define HOUR 60
#define DAY (24 * HOUR)

/* The place of a drawing on its axes. */
struct plot {
	const struct trend_drawing *drawing;
	struct scale y;
	double left, right, top, bottom;
};

static double trend_chart_deviation(const struct trend_drawing *d, double value)
{
	return 100 * (value / d->zero - 1);
}

static double trend_chart_plot_y(const struct plot *p, double value)
{
	return scale_at(&p->y, trend_chart_deviation(p->drawing, value));
}

static double trend_chart_plot_x(const struct plot *p, double time)
{
	double days = p->drawing->last - p->drawing->first;

	if (!(days > 0))
		return (p->left + p->right) / 2;
	return p->left + (p->right - p->left) * (time - p->drawing->first) / days;
}

static void trend_chart_extent_add(struct extent *extent, const struct trend_drawing *d)
{
	for (size_t i = 0; i < d->count; i++)
		scale_extent_add(extent, trend_chart_deviation(d, d->nights[i].value));
}

static void trend_chart_plot_init(struct plot *p, const struct trend_drawing *d)
{
	struct extent extent = EXTENT_EMPTY;

	*p = (struct plot){ .drawing = d,
			    .left = d->axes ? LEFT : 3,
			    .right = (d->axes ? CHART_NARROW : SPARK_WIDTH) - (d->axes ? RIGHT : 3),
			    .top = d->axes ? TOP : 4,
			    .bottom = d->axes ? CHART_LOW - BOTTOM : SPARK_HEIGHT - 4 };
	trend_chart_extent_add(&extent, d);
	for (size_t i = 0; i < d->other_count; i++)
		trend_chart_extent_add(&extent, &d->others[i]);
	scale_extent_add(&extent, trend_chart_deviation(d, d->low));
	scale_extent_add(&extent, trend_chart_deviation(d, d->high));
	/* One percent at least, so that noise of a hair does not fill the picture. */
	scale_extent_add(&extent, -0.5);
	scale_extent_add(&extent, 0.5);
	scale_init(&p->y, SCALE_LINEAR, extent, "", p->bottom, p->top);
}

/* A line is broken where a day has no run. */
static void trend_chart_add_line(const struct plot *p, const struct trend_drawing *d,
				 struct text *line)
{
	for (size_t i = 0; i < d->count; i++)
		text_addf(line, "%c%.1f %.1f",
			  i && d->nights[i].day - d->nights[i - 1].day <= 1 ? 'L' : 'M',
			  trend_chart_plot_x(p, d->nights[i].time),
			  scale_at(&p->y, trend_chart_deviation(d, d->nights[i].value)));
}

static void trend_chart_draw_dots(const struct plot *p, struct tree *map)
{
	struct text dots = TEXT_EMPTY, line = TEXT_EMPTY, columns = TEXT_EMPTY, others = TEXT_EMPTY;

	for (size_t i = 0; i < p->drawing->count; i++) {
		const struct trend_night *n = &p->drawing->nights[i];
		double x = trend_chart_plot_x(p, n->time), y = trend_chart_plot_y(p, n->value);

		/* A sparkline is its line alone, and has no table of its own. */
		if (!p->drawing->axes)
			continue;
		text_addf(&dots, "M%.1f %.1fh%.1fv%.1fh-%.1fz", x - DOT, y - DOT, 2 * DOT, 2 * DOT,
			  2 * DOT);
		text_addf(&columns, "%s%.1f", i ? " " : "", x);
	}
	trend_chart_add_line(p, p->drawing, &line);
	for (size_t i = 0; i < p->drawing->other_count; i++)
		trend_chart_add_line(p, &p->drawing->others[i], &others);
	tree_text_owned(map, "others", text_detach(&others));
	tree_text_owned(map, "columns", text_detach(&columns));
	tree_text_owned(map, "dots", text_detach(&dots));
	tree_text_owned(map, "line", text_detach(&line));
}

static void trend_chart_draw_segments(const struct plot *p, struct tree *map)
{
	const struct trend_drawing *d = p->drawing;
	struct text steps = TEXT_EMPTY, ticks = TEXT_EMPTY;

	for (size_t i = 0; i < d->count; i++) {
		double x = trend_chart_plot_x(p, d->nights[i].time),
		       y = trend_chart_plot_y(p, d->nights[i].level);

		text_addf(&steps, "%c%.1f %.1f", !i || d->nights[i].change ? 'M' : 'L', x, y);
		if (d->nights[i].change)
			text_addf(&ticks, "M%.1f %.1fV%.1f", x, p->top, p->bottom);
	}
	tree_text_owned(map, "steps", text_detach(&steps));
	tree_text_owned(map, "changes", text_detach(&ticks));
}

static void trend_chart_draw_band(const struct plot *p, struct tree *map)
{
	const struct trend_drawing *d = p->drawing;
	size_t first = d->count;
	double high = trend_chart_plot_y(p, d->high), low = trend_chart_plot_y(p, d->low);
	struct text band = TEXT_EMPTY;

	while (first && !d->nights[first - 1].change)
		first--;
	first -= first > 0;
	if (isfinite(high) && isfinite(low) && d->count)
		text_addf(&band, "M%.1f %.1fH%.1fV%.1fH%.1fz",
			  trend_chart_plot_x(p, d->nights[first].time), high, p->right, low,
			  trend_chart_plot_x(p, d->nights[first].time));
	tree_text_owned(map, "band", text_detach(&band));
}

/* The first tick at or after `minute` (since 1970-01-01): whole weeks begin on Mondays. */
static int64_t trend_chart_tick_after(double minute, int64_t step)
{
	const int64_t monday = 4 * DAY;

	return monday + (int64_t)ceil((minute - (double)monday) / (double)step) * step;
}

/* Round steps of hours, days or weeks; the first date has its year, and hours stand alone. */
static void trend_chart_draw_dates(const struct plot *p, struct tree *map)
{
	static const int64_t steps[] = { 5,        10,       30,      HOUR,    2 * HOUR,
					 6 * HOUR, DAY,      2 * DAY, 3 * DAY, 7 * DAY,
					 14 * DAY, 28 * DAY, 91 * DAY };
	struct tree *ticks = tree_list(map, "dates");
	double first = p->drawing->first * DAY, last = p->drawing->last * DAY;
	size_t i = 0;

	if (!p->drawing->axes || !(last >= first)) {
		tree_text(map, "x_name", "");
		return;
	}
	while (i + 1 < ARRAY_SIZE(steps) && (last - first) / (double)steps[i] > DATE_TICKS)
		i++;
	tree_text(map, "x_name", steps[i] < DAY ? "time of the run (UTC)" : "day of the run (UTC)");
	for (int64_t at = trend_chart_tick_after(first, steps[i]); (double)at <= last;
	     at += steps[i]) {
		struct tree *tick = tree_item(ticks);
		char moment[32];

		history_moment(at / DAY, (int)(at % DAY), moment);
		if (steps[i] >= DAY)
			moment[strlen("2026-10-01")] = '\0';
		chart_coordinate(tick, "at", trend_chart_plot_x(p, (double)at / DAY));
		tree_text(tick, "label",
			  moment + (steps[i] < DAY      ? strlen("2026-10-01 ")
				    : ticks->count == 1 ? 0
							: strlen("2026-")));
	}
}

/* Labels take turns with the lines' sides, so that one at the right edge stays in the picture. */
static void trend_chart_draw_seams(const struct plot *p, struct tree *map)
{
	struct tree *list = tree_list(map, "seams");

	for (size_t i = 0; i < p->drawing->seam_count; i++) {
		const struct trend_mark *seam = &p->drawing->seams[i];
		double x = trend_chart_plot_x(p, seam->time);
		struct tree *item;

		if (seam->time < p->drawing->first)
			continue;
		item = tree_item(list);
		chart_coordinate(item, "at", x);
		tree_text(item, "anchor", x > (p->left + p->right) / 2 ? "end" : "start");
		tree_text(item, "aside", x > (p->left + p->right) / 2 ? "-4" : "4");
		view_text(item, "label", p->drawing->axes ? seam->label : "");
	}
}

void trend_chart(const struct trend_drawing *drawing, const char *id, const char *title,
		 const char *finding, struct tree *list)
{
	struct tree *map = tree_item(list);
	struct plot plot;

	trend_chart_plot_init(&plot, drawing);
	tree_text(map, "svg_id", id);
	tree_text(map, "svg_title", title);
	tree_text(map, "svg_finding", finding);
	tree_text(map, "zero", drawing->zero_name);
	tree_text(map, "better", format_better(drawing->better));
	tree_flag(map, "axes", plot.drawing->axes);
	chart_coordinate(map, "width", plot.drawing->axes ? CHART_NARROW : SPARK_WIDTH);
	chart_coordinate(map, "height", plot.drawing->axes ? CHART_LOW : SPARK_HEIGHT);
	chart_coordinate(map, "left", plot.left);
	chart_coordinate(map, "right", plot.right);
	chart_coordinate(map, "top", plot.top);
	chart_coordinate(map, "bottom", plot.bottom);
	if (plot.drawing->axes)
		chart_ticks(map, "percents", &plot.y, "", 1, 0);
	else
		tree_list(map, "percents");
	trend_chart_draw_dates(&plot, map);
	trend_chart_draw_band(&plot, map);
	trend_chart_draw_segments(&plot, map);
	trend_chart_draw_dots(&plot, map);
	trend_chart_draw_seams(&plot, map);
}
