/*
 * Charts: from numbers to the geometry that chart_*.mustache draw. All text in a chart goes through
 * the templates' escaping; nothing here writes markup (only path data: letters and numbers).
 *
 * One struct serves every kind:
 *      CHART_LINES    a series is a line, a point has x and y;
 *      CHART_BARS     a series is a group of bars under a heading, a point is a bar `text` of
 *                     length y;
 *      CHART_HEATMAP  a series is a row, a point the cell in column `text`;
 *      CHART_STACKED  a series is a bar, a point a part of it, `text` of length y;
 *      CHART_TIMELINE a series is a row, a point a span `text` from x to y in the colour `style`,
 *      named by `label`; CHART_MAP a series is a row, a point the cell in column `text`: `label`,
 *      and the colour `style`, which `key` names; CHART_STRIP a series is a group of rows, a point
 *      is a row `text` with its samples.
 *
 * Adding a kind: an enum value, draw function and row in chart.c's table, chart_<kind>.mustache, a
 * line in chart.mustache.
 */
#ifndef GPUPROOF_REPORT_CHART_CHART_H
#define GPUPROOF_REPORT_CHART_CHART_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "report/chart/scale.h"
#include "report/template/tree.h"
#include "result/metric.h"
#include "base/error.h"

enum chart_kind {
	CHART_LINES,
	CHART_BARS,
	CHART_HEATMAP,
	CHART_STRIP,
	CHART_STACKED,
	CHART_TIMELINE,
	CHART_MAP
};

enum chart_look { CHART_SOLID, CHART_HOLLOW, CHART_DASHED }; /* of a bar */

/* CHART_LINES: a line with marks; a line alone; marks alone, which get no label */
enum chart_trace { CHART_MARKED_LINE, CHART_PLAIN_LINE, CHART_DASHED_LINE, CHART_MARKS_ONLY };

struct chart_point {
	double x, y, low, high; /* low, high: 95 % interval; NaN: none */
	size_t n;
	char *text;       /* of x: "64 MiB"; the bar's, row's or cell's name */
	const char *unit; /* of y, where it is not the chart's; NULL: the same; borrowed */
	/* CHART_STRIP; CHART_BARS: values of the devices that a bar stands for, sorted; borrowed */
	const double *samples;
	size_t sample_count;
	double *converted;    /* samples that the chart owns; NULL: none */
	double p50, p95, p99; /* CHART_STRIP */
	double ideal;         /* CHART_BARS: a dashed tick; NaN: none; see `roofs` */
	/* CHART_BARS, _TIMELINE, _MAP: colour; _STACKED: that of the part, 0 in all: by order */
	size_t style;
	/* CHART_TIMELINE: short name, shown if it fits; CHART_MAP: text of the cell */
	char *label;
	enum chart_look look; /* CHART_BARS */
};

struct chart_series {
	char *name;
	size_t style; /* CHART_LINES: colour */
	enum chart_trace trace;
	size_t mark; /* CHART_LINES: dash and marker, which part lines of one colour */
	struct chart_point *points;
	size_t count, capacity;
};

struct chart {
	enum chart_kind kind;
	char *id; /* unique on the page */
	char *title;
	char *shows;   /* one sentence: the meaning of the marks */
	char *finding; /* one sentence: the result; NULL: none beyond the drawing */
	char *x_name, *x_unit, *y_name, *y_unit;
	enum scale_kind x_scale, y_scale;
	enum better better;
	/* CHART_BARS: bars start at this value; NaN: at 0. CHART_STRIP: a line across; NaN: none */
	double reference;
	const char *reference_name; /* of the line: "limit (at least)"; borrowed */
	/* CHART_STRIP: the axis spans only the values, and only their centres are marked */
	bool close;
	const char *centre; /* the name of `p50` where it is no median; NULL; borrowed */
	/* CHART_LINES: low and high are the extremes of many readings, not an interval */
	bool over_time;
	/* CHART_LINES of times over sizes: their latency and bandwidth in a table */
	bool fitted;
	/*
	 * CHART_LINES: roofs and the cases below them: `ideal` of a case is its roof, `label` what
	 * limits it
	 */
	bool roofs;
	/* CHART_HEATMAP: a cell covers both directions at once, not from its row to its column */
	bool together;
	bool listed; /* the page has a table of its values: the chart needs none of its own */
	struct extent range; /* CHART_HEATMAP: spanned by the colours as well: maps compare */
	char *note;          /* the parts that are left out; "" */
	size_t table_step;   /* the data table has every n-th row; 0: all */
	/* CHART_TIMELINE, _MAP: the meaning of each colour, NULL-terminated; borrowed */
	const char *const *key;
	struct chart_series *series;
	size_t count, capacity;
};

void chart_init(struct chart *chart, enum chart_kind kind);
void chart_release(struct chart *chart);
/* Parts of one as percent: values, intervals and unit. */
void chart_in_percent(struct chart *chart);
/* The series `name`, added when it is new. */
struct chart_series *chart_series_named(struct chart *chart, const char *name);
/* A new point: NaN and 0 in everything, `text` copied. */
struct chart_point *chart_point_new(struct chart_series *series, const char *text);

/* Appends the chart to a list for chart.mustache: texts, geometry, data table. */
void chart_draw(const struct chart *chart, struct tree *charts);

/* For the kinds: geometry into `map`; `finding` gets the sentence. */
void chart_lines_draw(const struct chart *chart, struct tree *map);
void chart_bars_draw(const struct chart *chart, struct tree *map);
void chart_heatmap_draw(const struct chart *chart, struct tree *map);
void chart_strip_draw(const struct chart *chart, struct tree *map);
void chart_stacked_draw(const struct chart *chart, struct tree *map);
void chart_stacked_timeline_draw(const struct chart *chart, struct tree *map);

#define CHART_STYLES 12 /* then they repeat */

/* Shared by the kinds. */
#define CHART_WIDTH 480.0
#define CHART_NARROW 360.0     /* the width of a telephone; report.css knows it, */
#define CHART_LOW 210.0        /* and a narrow chart of lines by this height */
#define CHART_NAME_LONGEST 38  /* characters of a bar's name: longer ones are cut in the middle */
#define CHART_NAME_ABOVE 52    /* the same of a name above its bar, in a narrow chart, */
#define CHART_NAME_ROW 14.0    /* px: and its height */
#define CHART_LEAST_BARS 140.0 /* px for the bars of a narrow chart with names on the left */
#define CHART_CHARACTER 6.7    /* px: mean width in labels (11 px) of a wide font, DejaVu Sans */
struct chart_style {
	const char *colour, *dash; /* dash: "none" or a stroke-dasharray */
	const char *ink;           /* of text upon the colour */
};
const struct chart_style *chart_key_style(size_t series);
#define CHART_SHADES 9
struct chart_shade {
	const char *colour, *ink; /* ink: of text upon the colour */
};
/* CHART_HEATMAP: of a value at `position` from 0, the lowest, to 1. */
const struct chart_shade *chart_key_shade(double position);
struct extent chart_extent(const struct chart *chart); /* of y with intervals */
size_t chart_characters(const char *text);             /* of UTF-8 */
/* px for the names of series, or of points, on the left: at least 4 characters, at most `most`. */
double chart_name_width(const struct chart *chart, bool of_points, size_t most);
/*
 * Shortens one of `count` names of a chart to at most `longest` characters. Names are words joined
 * by ", ". Words that most other names share are removed first ("FP32, …, tensor"); only then is
 * the name cut in its middle. The caller frees it.
 */
char *chart_short_name(const char *name, const char *const *names, size_t count, size_t longest);
/* "12.3", "4": one decimal, or none if it is zero. */
void chart_number(struct text *out, double value);
void chart_coordinate(struct tree *map, const char *name, double value);
/* The marker of series `series` at (x, y) as path data. */
void chart_marker(struct text *path, size_t series, double x, double y);
/* The point's y with its unit. A value not measured here (its look) is printed as in its source. */
struct formatted chart_value(const struct chart *chart, const struct chart_point *point);
#define CHART_AXIS 38.0 /* px below the rows of a chart, for its axis */
/* The frame of rows from `top` to `bottom`, and the axis `name` of their values below. */
void chart_frame(const struct scale *scale, const char *name, const char *unit, double width,
		 double top, double bottom, struct tree *map);
/*
 * Ticks as a list of { at, label_at, label }. `width`: of the drawing, for an axis along it, whose
 * labels stay inside; 0: an axis upwards.
 */
void chart_ticks(struct tree *map, const char *name, const struct scale *scale, const char *unit,
		 double factor, double width);
/*
 * Key of a chart of `width`: coloured squares with their meaning, three per row, or fewer if names
 * are long. chart_key_item() appends to the list "key"; chart_key_height() is the height of `count`
 * items.
 */
size_t chart_key_columns(const char *const *names, size_t count, double width);
void chart_key_item(struct tree *key, double width, size_t columns, const char *colour,
		    const char *name);
double chart_key_height(size_t count, size_t columns);
/* The list "key" of each colour that some point has; returns its height. */
double chart_key(const struct chart *chart, struct tree *map);
/* True if any point has an interval. */
bool chart_has_intervals(const struct chart *chart);
/*
 * The texts of all points, each once, in order of appearance. Borrowed; the array is the caller's.
 */
const char **chart_texts(const struct chart *chart, size_t *count);
const struct chart_point *chart_point_named(const struct chart_series *series, const char *text);

/* A chart as a table: for those who cannot see it, and for those who want the numbers. */
/*
 * The chart's numbers for chart_table.mustache: "head" (list of texts) and "rows" (lists of cells).
 */
void chart_table(const struct chart *chart, struct tree *map);

/*
 * The rows of a line chart's table: every x of any line, in order. free() the array; texts are
 * borrowed.
 */
struct chart_column {
	const char *text;
	double x;
};
struct chart_column *chart_table_columns(const struct chart *chart, size_t *count);

/* Charts of a page as files: ID.svg to be placed elsewhere, ID.csv to be drawn anew. */
/*
 * For chart_draw(): attaches the CSV to the chart's map, a row per point in base units (RFC 4180);
 * unknown numbers are empty.
 */
void chart_files_csv(const struct chart *chart, struct tree *map);

/* The words that a chart carries wherever it is placed. */
struct chart_source {
	const char *shown;  /* below the drawing: machine, run, author, licence */
	const char *origin; /* in the metadata: the command as well */
};

/*
 * Writes the two files of every chart below `page` into `directory`, which is made.
 * `template_dir` as for template_render().
 */
enum status chart_files_write(const struct tree *page, const char *directory,
			      const struct chart_source *source, const char *template_dir,
			      struct error *err);
/*
 * Appends the SVG of the chart `id` below `page`, with its title, meaning and source. STATUS_USAGE
 * if there is no such chart; the error lists the existing ones.
 */
enum status chart_file_render(const struct tree *page, const char *id,
			      const struct chart_source *source, const char *template_dir,
			      struct text *svg, struct error *err);

#endif
