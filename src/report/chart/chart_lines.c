/* Lines over x with markers, whiskers and band of the interval, named at their ends. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/units.h"
#include "report/chart/chart.h"

#define HEIGHT 270.0
#define TOP 26.0
#define AXIS 38.0        /* px below the plot */
#define LEAST_PLOT 190.0 /* px for the lines of a narrow chart, */
#define LABELS_MOST 10   /* and the labels that fit at its right */
#define LEFT 50.0        /* at least: where labels of the axis are wide, more */
#define LABEL_GAP 8.0
#define LABEL_HEIGHT 14.0
#define LABEL_LONGEST 26 /* characters */
#define DECIMATE_FROM \
	2000 /* points of a line: beyond, the extremes of each pixel column are enough */

struct lines_chart {
	const struct chart *chart;
	struct scale x, y;
	double width, height;
	double left, right, bottom; /* of the plot */
	size_t label_longest;
};

static int chart_lines_by_x(const void *a, const void *b)
{
	const struct chart_point *p = a, *q = b;

	return (p->x > q->x) - (p->x < q->x);
}

/* Keeps the lowest and the highest point of each pixel column, in order. Returns how many. */
static size_t chart_lines_decimate(const struct lines_chart *l, struct chart_point *points,
				   size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count;) {
		long column = lround(scale_at(&l->x, points[i].x));
		size_t low = i, high = i, end = i;

		for (; end < count && lround(scale_at(&l->x, points[end].x)) == column; end++) {
			low = points[end].y < points[low].y ? end : low;
			high = points[end].y > points[high].y ? end : high;
		}
		points[kept++] = points[low < high ? low : high];
		if (low != high)
			points[kept++] = points[low < high ? high : low];
		i = end;
	}
	return kept;
}

/* The series' drawable points in order of x; the array is the caller's, the texts are not. */
static struct chart_point *chart_lines_order_points(const struct lines_chart *l,
						    const struct chart_series *series,
						    size_t *count)
{
	struct chart_point *points = xmalloc((series->count + 1) * sizeof(*points));
	size_t n = 0;

	for (size_t p = 0; p < series->count; p++)
		if (isfinite(series->points[p].x) &&
		    (l->x.kind == SCALE_LINEAR || series->points[p].x > 0))
			points[n++] = series->points[p];
	qsort(points, n, sizeof(*points), chart_lines_by_x);
	*count = n > DECIMATE_FROM ? chart_lines_decimate(l, points, n) : n;
	return points;
}

static void chart_lines_path_add_point(struct text *path, char command, double x, double y)
{
	text_add_char(path, command);
	chart_number(path, x);
	text_add_char(path, ' ');
	chart_number(path, y);
}

static void chart_lines_draw_one(const struct lines_chart *l, struct tree *map,
				 const struct chart_point *points, size_t count)
{
	struct text path = TEXT_EMPTY;
	bool pen_down = false;

	for (size_t p = 0; p < count; p++) {
		if (!isfinite(points[p].y)) {
			pen_down = false; /* a gap, not a line across missing points */
			continue;
		}
		chart_lines_path_add_point(&path, pen_down ? 'L' : 'M',
					   scale_at(&l->x, points[p].x),
					   scale_at(&l->y, points[p].y));
		pen_down = true;
	}
	tree_text_owned(map, "line", text_detach(&path));
}

static void chart_lines_draw_marks(const struct lines_chart *l, struct tree *map,
				   const struct chart_series *series,
				   const struct chart_point *points, size_t count)
{
	struct text marks = TEXT_EMPTY, whiskers = TEXT_EMPTY;

	for (size_t p = 0; p < count; p++) {
		double x = scale_at(&l->x, points[p].x);

		if (!isfinite(points[p].y))
			continue;
		if (l->chart->over_time || series->trace == CHART_PLAIN_LINE ||
		    series->trace == CHART_DASHED_LINE)
			continue;
		if (count <= 100)
			chart_marker(&marks, series->mark, x, scale_at(&l->y, points[p].y));
		if (!isfinite(points[p].low) || !isfinite(points[p].high))
			continue;
		chart_lines_path_add_point(&whiskers, 'M', x, scale_at(&l->y, points[p].low));
		chart_lines_path_add_point(&whiskers, 'L', x, scale_at(&l->y, points[p].high));
	}
	tree_text_owned(map, "marks", text_detach(&marks));
	tree_text_owned(map, "whiskers", text_detach(&whiskers));
}

/* The interval as an area: there along the upper ends, back along the lower ones. */
static void chart_lines_draw_band(const struct lines_chart *l, struct tree *map,
				  const struct chart_point *points, size_t count)
{
	struct text path = TEXT_EMPTY;

	for (size_t start = 0; start < count;) {
		size_t end = start;

		while (end < count && isfinite(points[end].low) && isfinite(points[end].high))
			end++;
		for (size_t p = start; end - start > 1 && p < end; p++)
			chart_lines_path_add_point(&path, p == start ? 'M' : 'L',
						   scale_at(&l->x, points[p].x),
						   scale_at(&l->y, points[p].high));
		for (size_t p = end; end - start > 1 && p > start; p--)
			chart_lines_path_add_point(&path, 'L', scale_at(&l->x, points[p - 1].x),
						   scale_at(&l->y, points[p - 1].low));
		if (end - start > 1)
			text_add_char(&path, 'Z');
		start = end == start ? start + 1 : end;
	}
	tree_text_owned(map, "band", text_detach(&path));
}

struct label {
	size_t series;
	double x, wanted, y; /* the line's end; where the label goes */
};

static int chart_lines_labels_by_height(const void *a, const void *b)
{
	const struct label *p = a, *q = b;

	if (p->wanted != q->wanted)
		return p->wanted < q->wanted ? -1 : 1;
	return (p->series > q->series) - (p->series < q->series);
}

static void chart_lines_draw_labels(const struct lines_chart *l, struct tree *map,
				    struct label *labels, size_t count)
{
	struct tree *list = tree_list(map, "labels");
	const char **names = xcalloc(count + 1, sizeof(*names));

	for (size_t i = 0; i < count; i++)
		names[i] = l->chart->series[labels[i].series].name;
	/*
	 * Labels in order of height, each at least LABEL_HEIGHT below the one above, none below
	 * the plot.
	 */
	qsort(labels, count, sizeof(*labels), chart_lines_labels_by_height);
	for (size_t i = 0; i < count; i++) {
		labels[i].y = fmax(labels[i].wanted, TOP);
		if (i)
			labels[i].y = fmax(labels[i].y, labels[i - 1].y + LABEL_HEIGHT);
	}
	for (size_t i = count; i-- > 0;) {
		double limit = i + 1 < count ? labels[i + 1].y - LABEL_HEIGHT : l->bottom;

		labels[i].y = fmin(labels[i].y, limit);
	}
	for (size_t i = 0; i < count; i++) {
		const struct chart_series *series = &l->chart->series[labels[i].series];
		struct tree *label = tree_item(list);
		struct text mark = TEXT_EMPTY, leader = TEXT_EMPTY;

		chart_marker(&mark, series->mark, l->right + 14, labels[i].y);
		chart_lines_path_add_point(&leader, 'M', labels[i].x + 4, labels[i].wanted);
		chart_lines_path_add_point(&leader, 'L', l->right + 9, labels[i].y);
		tree_textf(label, "place", "%zu", labels[i].series);
		tree_text(label, "colour", chart_key_style(series->style)->colour);
		tree_text_owned(label, "mark", text_detach(&mark));
		tree_text_owned(label, "leader", text_detach(&leader));
		chart_coordinate(label, "x", l->right + 21);
		chart_coordinate(label, "y", labels[i].y + 4);
		tree_text_owned(label, "name",
				chart_short_name(series->name, names, count, LABEL_LONGEST));
	}
	free(names);
}

static void chart_lines_draw_series(const struct lines_chart *l, struct tree *list, size_t number,
				    struct label *label)
{
	const struct chart_series *series = &l->chart->series[number];
	struct tree *map = tree_item(list);
	size_t count;
	struct chart_point *points = chart_lines_order_points(l, series, &count);

	tree_textf(map, "place", "%zu", number);
	tree_text(map, "colour", chart_key_style(series->style)->colour);
	tree_text(map, "dash",
		  series->trace == CHART_PLAIN_LINE    ? "none"
		  : series->trace == CHART_DASHED_LINE ? "4 3"
						       : chart_key_style(series->mark)->dash);
	chart_lines_draw_band(l, map, points, count);
	if (series->trace == CHART_MARKS_ONLY)
		tree_text(map, "line", "");
	else
		chart_lines_draw_one(l, map, points, count);
	chart_lines_draw_marks(l, map, series, points, count);
	*label = (struct label){ .series = number, .wanted = NAN };
	for (size_t p = 0; p < count; p++) {
		if (isfinite(points[p].y) && series->trace != CHART_MARKS_ONLY) {
			label->x = scale_at(&l->x, points[p].x);
			label->wanted = scale_at(&l->y, points[p].y);
		}
	}
	free(points);
}

/* Room for the labels of the y axis: "100 TFLOP/s". */
static double chart_lines_left(const struct lines_chart *l)
{
	struct tick ticks[SCALE_TICKS];
	double factor, left = LEFT;
	size_t count;

	format_unit(l->y.high, l->chart->y_unit, &factor);
	count = scale_ticks(&l->y, l->chart->y_unit, factor, ticks);
	for (size_t i = 0; i < count; i++)
		left = fmax(left, LABEL_GAP + CHART_CHARACTER * (double)chart_characters(
									ticks[i].label.text));
	return left;
}

/* Places the plot in a chart of this size. */
static void chart_lines_place(struct lines_chart *l, double width, double height, struct extent x)
{
	l->width = width;
	l->height = height;
	l->bottom = height - AXIS;
	l->right = width - 24 - CHART_CHARACTER * (double)l->label_longest;
	scale_init(&l->y, l->chart->y_scale, chart_extent(l->chart), l->chart->y_unit, l->bottom,
		   TOP + 4);
	l->left = chart_lines_left(l);
	scale_init(&l->x, l->chart->x_scale, x, l->chart->x_unit, l->left + 6, l->right);
}

/* As wide as a telephone where that leaves room for the lines. */
static void chart_lines_measure(struct lines_chart *l)
{
	struct extent x = EXTENT_EMPTY;
	size_t longest = 0, labels = 0;

	for (size_t s = 0; s < l->chart->count; s++) {
		bool labelled = l->chart->series[s].trace != CHART_MARKS_ONLY;
		size_t length = labelled ? chart_characters(l->chart->series[s].name) : 0;

		labels += labelled;
		longest = length > longest ? length : longest;
		for (size_t p = 0; p < l->chart->series[s].count; p++)
			scale_extent_add(&x, l->chart->series[s].points[p].x);
	}
	l->label_longest = longest > LABEL_LONGEST ? LABEL_LONGEST + 2 : longest;
	chart_lines_place(l, CHART_NARROW, CHART_LOW, x);
	if (l->right - l->left < LEAST_PLOT || labels > LABELS_MOST)
		chart_lines_place(l, CHART_WIDTH, HEIGHT, x);
}

/* Places of the rows of the chart's table: "69.1 85.1". */
static void chart_lines_place_columns(const struct lines_chart *l, struct tree *map)
{
	struct text places = TEXT_EMPTY;
	size_t count;
	struct chart_column *columns = chart_table_columns(l->chart, &count);

	/* The table of a roofline has its cases. */
	for (size_t i = 0; i < count && !l->chart->roofs; i++) {
		bool drawn =
			isfinite(columns[i].x) && (l->x.kind == SCALE_LINEAR || columns[i].x > 0);

		if (i)
			text_add_char(&places, ' ');
		chart_number(&places, drawn ? scale_at(&l->x, columns[i].x) : l->left);
	}
	free(columns);
	tree_text_owned(map, "columns", text_detach(&places));
}

void chart_lines_draw(const struct chart *chart, struct tree *map)
{
	struct lines_chart l = { .chart = chart };
	struct label *labels = xmalloc((chart->count + 1) * sizeof(*labels));
	struct formatted unit;
	struct tree *list;
	double factor;
	size_t count = 0;

	chart_lines_measure(&l);
	unit = format_unit(l.y.high, chart->y_unit, &factor);
	chart_coordinate(map, "width", l.width);
	chart_coordinate(map, "height", l.height);
	chart_coordinate(map, "left", l.left);
	chart_coordinate(map, "right", l.right);
	chart_coordinate(map, "top", TOP);
	chart_coordinate(map, "bottom", l.bottom);
	tree_text(map, "y_title_name", chart->y_name);
	tree_text(map, "y_title_unit", chart->y_scale == SCALE_LINEAR ? unit.text : "");
	tree_flag(map, "y_log", chart->y_scale != SCALE_LINEAR);
	tree_text(map, "x_title", chart->x_name);
	chart_ticks(map, "x_ticks", &l.x, chart->x_unit, 1, l.width);
	chart_ticks(map, "y_ticks", &l.y, chart->y_unit, factor, 0);
	list = tree_list(map, "series");
	for (size_t s = 0; s < chart->count; s++) {
		chart_lines_draw_series(&l, list, s, &labels[count]);
		if (isfinite(labels[count].wanted))
			count++;
	}
	/* A single line without a name needs no label. */
	if (chart->count == 1 && !*chart->series[0].name)
		count = 0;
	chart_lines_draw_labels(&l, map, labels, count);
	chart_lines_place_columns(&l, map);
	free(labels);
}
