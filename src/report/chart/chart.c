#include "report/chart/chart.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/chart/fit.h"
#include "report/view/text_index.h"

/* Fits lines of time over size: latency and bandwidth, a row for each line. */

static bool chart_series_fit(const struct chart_series *series, struct fit *fit)
{
	double *sizes = xcalloc(series->count + 1, sizeof(*sizes));
	double *seconds = xcalloc(series->count + 1, sizeof(*seconds));
	bool fitted;

	for (size_t p = 0; p < series->count; p++) {
		sizes[p] = series->points[p].x;
		seconds[p] = series->points[p].y;
	}
	fitted = fit_transfer(sizes, seconds, series->count, fit);
	free(sizes);
	free(seconds);
	return fitted;
}

/* "6.01 µs ± 3.2 %" */
static char *chart_error_of_fit(double value, const char *unit, double error)
{
	struct formatted quantity = format_quantity(value, unit);

	if (!isfinite(error) || !(value > 0))
		return xstrdup(quantity.text);
	return xasprintf("%s ± %s", quantity.text, format_percent(error / value).text);
}

static const char *chart_text_at_x(const struct chart_series *series, double x)
{
	for (size_t p = 0; p < series->count; p++)
		if (series->points[p].x == x)
			return series->points[p].text;
	return "";
}

static void chart_add_fit_row(struct tree *rows, const struct chart_series *series,
			      const struct fit *fit)
{
	struct tree *row = tree_item(rows);
	struct formatted typical, worst;

	tree_text(row, "name", *series->name ? series->name : "all");
	tree_text_owned(row, "latency", chart_error_of_fit(fit->alpha, "s", fit->alpha_error));
	tree_text_owned(row, "rate", chart_error_of_fit(fit->beta, "B/s", fit->beta_error));
	typical = format_percent(fit->deviation);
	worst = format_percent(fit->worst);
	tree_textf(row, "deviation", "%s, at most %s at %s", typical.text, worst.text,
		   chart_text_at_x(series, fit->worst_size));
}

/* A grid of words: rows and columns are numbers, a colour for each word. */

#define LEFT 78.0
#define HEAD 38.0
#define CELL 34.0
#define CELL_WIDEST 110.0
#define NAME_LONGEST 11

static void chart_map_draw_cell(struct tree *list, const struct chart_point *point, double x,
				double y, double width)
{
	struct tree *cell = tree_item(list);
	size_t longest = (size_t)fmax(width / CHART_CHARACTER, 3);

	chart_coordinate(cell, "x", x);
	chart_coordinate(cell, "y", y);
	chart_coordinate(cell, "middle", x + width / 2);
	chart_coordinate(cell, "text_y", y + CELL / 2 + 4);
	tree_text(cell, "colour", point ? chart_key_style(point->style)->colour : "#ffffff");
	tree_text_owned(cell, "words",
			format_label(point && point->label ? point->label : "\u2013", longest));
}

static void chart_map_draw(const struct chart *chart, struct tree *map)
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
			chart_map_draw_cell(cells, chart_point_named(&chart->series[s], texts[c]),
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

static const struct {
	const char *name;
	void (*draw)(const struct chart *chart, struct tree *map);
} kinds[] = {
	[CHART_LINES] = { "lines", chart_lines_draw },
	[CHART_BARS] = { "bars", chart_bars_draw },
	[CHART_HEATMAP] = { "heatmap", chart_heatmap_draw },
	[CHART_STRIP] = { "strip", chart_strip_draw },
	[CHART_STACKED] = { "stacked", chart_stacked_draw },
	[CHART_TIMELINE] = { "timeline", chart_stacked_timeline_draw },
	[CHART_MAP] = { "map", chart_map_draw },
};

void chart_init(struct chart *chart, enum chart_kind kind)
{
	*chart = (struct chart){ .kind = kind, .reference = NAN, .range = EXTENT_EMPTY };
}

void chart_in_percent(struct chart *chart)
{
	free(chart->y_unit);
	chart->y_unit = xstrdup("%");
	for (size_t s = 0; s < chart->count; s++)
		for (size_t p = 0; p < chart->series[s].count; p++) {
			struct chart_point *point = &chart->series[s].points[p];

			point->y *= 100;
			point->low *= 100;
			point->high *= 100;
			point->ideal *= 100;
		}
}

void chart_release(struct chart *chart)
{
	for (size_t s = 0; s < chart->count; s++) {
		for (size_t p = 0; p < chart->series[s].count; p++) {
			free(chart->series[s].points[p].text);
			free(chart->series[s].points[p].label);
			free(chart->series[s].points[p].converted);
		}
		free(chart->series[s].points);
		free(chart->series[s].name);
	}
	free(chart->series);
	free(chart->id);
	free(chart->title);
	free(chart->shows);
	free(chart->finding);
	free(chart->x_name);
	free(chart->x_unit);
	free(chart->y_name);
	free(chart->y_unit);
	free(chart->note);
	*chart = (struct chart){ 0 };
}

struct chart_series *chart_series_named(struct chart *chart, const char *name)
{
	for (size_t s = 0; s < chart->count; s++)
		if (strcmp(chart->series[s].name, name) == 0)
			return &chart->series[s];
	ARRAY_GROW(chart->series, chart->count, chart->capacity);
	chart->series[chart->count] = (struct chart_series){ .name = xstrdup(name),
							     .style = chart->count,
							     .mark = chart->count };
	return &chart->series[chart->count++];
}

struct chart_point *chart_point_new(struct chart_series *series, const char *text)
{
	ARRAY_GROW(series->points, series->count, series->capacity);
	series->points[series->count] = (struct chart_point){
		.x = NAN,
		.y = NAN,
		.low = NAN,
		.high = NAN,
		.p50 = NAN,
		.p95 = NAN,
		.p99 = NAN,
		.ideal = NAN,
		.text = xstrdup(text),
	};
	return &series->points[series->count++];
}

struct extent chart_extent(const struct chart *chart)
{
	struct extent extent = EXTENT_EMPTY;

	for (size_t s = 0; s < chart->count; s++) {
		for (size_t p = 0; p < chart->series[s].count; p++) {
			scale_extent_add(&extent, chart->series[s].points[p].y);
			scale_extent_add(&extent, chart->series[s].points[p].low);
			scale_extent_add(&extent, chart->series[s].points[p].high);
			scale_extent_add(&extent, chart->series[s].points[p].ideal);
			for (size_t i = 0; chart->kind == CHART_BARS &&
					   i < chart->series[s].points[p].sample_count;
			     i++)
				scale_extent_add(&extent, chart->series[s].points[p].samples[i]);
		}
	}
	return extent;
}

bool chart_has_intervals(const struct chart *chart)
{
	for (size_t s = 0; s < chart->count; s++)
		for (size_t p = 0; p < chart->series[s].count; p++)
			if (isfinite(chart->series[s].points[p].low) &&
			    isfinite(chart->series[s].points[p].high))
				return true;
	return false;
}

const struct chart_point *chart_point_named(const struct chart_series *series, const char *text)
{
	for (size_t p = 0; p < series->count; p++)
		if (strcmp(series->points[p].text, text) == 0)
			return &series->points[p];
	return NULL;
}

const char **chart_texts(const struct chart *chart, size_t *count)
{
	struct text_index seen = { 0 };
	const char **texts = NULL;
	size_t n = 0, capacity = 0;

	for (size_t s = 0; s < chart->count; s++) {
		for (size_t p = 0; p < chart->series[s].count; p++) {
			const char *text = chart->series[s].points[p].text;
			size_t *place = text_index_at(&seen, text, "");

			if (*place != SIZE_MAX)
				continue;
			*place = n;
			ARRAY_GROW(texts, n, capacity);
			texts[n++] = text;
		}
	}
	text_index_release(&seen);
	*count = n;
	return texts;
}

size_t chart_characters(const char *text)
{
	size_t count = 0;

	for (; *text; text++)
		count += ((unsigned char)*text & 0xc0) != 0x80;
	return count;
}

double chart_name_width(const struct chart *chart, bool of_points, size_t most)
{
	size_t longest = 4;

	for (size_t s = 0; s < chart->count; s++)
		for (size_t p = 0; p < (of_points ? chart->series[s].count : 1); p++) {
			size_t length = chart_characters(of_points ? chart->series[s].points[p].text
								   : chart->series[s].name);

			longest = length > longest ? length : longest;
		}
	return CHART_CHARACTER * (double)(longest > most ? most + of_points : longest);
}

#define WORDS_MOST 24
#define BETWEEN ", "

struct word {
	const char *start;
	size_t length, shared; /* by how many names */
	bool left_out;
};

static size_t chart_name_words(const char *name, struct word *words)
{
	size_t count = 0;

	for (const char *at = name; *at && count < WORDS_MOST; count++) {
		const char *end = strstr(at, BETWEEN);
		size_t length = end && count + 1 < WORDS_MOST ? (size_t)(end - at) : strlen(at);

		words[count] = (struct word){ .start = at, .length = length };
		at += length + (at[length] ? strlen(BETWEEN) : 0);
	}
	return count;
}

static bool chart_has_word(const char *name, const struct word *word)
{
	struct word words[WORDS_MOST];
	size_t count = chart_name_words(name, words);

	for (size_t i = 0; i < count; i++)
		if (words[i].length == word->length &&
		    strncmp(words[i].start, word->start, word->length) == 0)
			return true;
	return false;
}

/* Words that are left out in a row are one "…". */
static char *chart_name_join_words(const struct word *words, size_t count)
{
	struct text out = TEXT_EMPTY;

	for (size_t i = 0; i < count; i++) {
		if (words[i].left_out && i && words[i - 1].left_out)
			continue;
		text_add(&out, out.length ? BETWEEN : "");
		if (words[i].left_out)
			text_add(&out, "\u2026");
		else
			text_add_bytes(&out, words[i].start, words[i].length);
	}
	return text_detach(&out);
}

char *chart_short_name(const char *name, const char *const *names, size_t count, size_t longest)
{
	struct word words[WORDS_MOST];
	size_t word_count = chart_name_words(name, words), left = word_count;
	char *out = xstrdup(name), *cut;

	if (chart_characters(name) <= longest)
		return out;
	for (size_t w = 0; w < word_count; w++)
		for (size_t i = 0; i < count; i++)
			words[w].shared += chart_has_word(names[i], &words[w]);
	while (chart_characters(out) > longest && left > 1) {
		struct word *most = NULL;

		for (size_t w = 0; w < word_count; w++)
			if (!words[w].left_out && (!most || words[w].shared > most->shared))
				most = &words[w];
		if (most->shared < 2)
			break;
		most->left_out = true;
		left--;
		free(out);
		out = chart_name_join_words(words, word_count);
	}
	cut = format_name(out, longest);
	free(out);
	return cut;
}

void chart_number(struct text *out, double value)
{
	char number[32];
	size_t length;

	snprintf(number, sizeof(number), "%.1f", isfinite(value) ? value + 0.0 : 0);
	length = strlen(number);
	if (number[length - 1] == '0')
		number[length - 2] = '\0';
	text_add(out, strcmp(number, "-0") == 0 ? "0" : number);
}

void chart_coordinate(struct tree *map, const char *name, double value)
{
	struct text t = TEXT_EMPTY;

	chart_number(&t, value);
	tree_text_owned(map, name, text_detach(&t));
}

struct formatted chart_value(const struct chart *chart, const struct chart_point *point)
{
	const char *unit = point->unit ? point->unit : chart->y_unit;

	return point->look == CHART_SOLID ? format_quantity(point->y, unit)
					  : format_stated(point->y, unit);
}

#define TICK_APART 2.0 /* px */

/* The middle of a label below a tick: next to an edge of the drawing it moves inwards, whole. */
static double chart_label_middle(const struct scale *scale, const struct tick *tick, double width)
{
	double half = CHART_CHARACTER * (double)chart_characters(tick->label.text) / 2;

	return fmax(half, fmin(scale_at(scale, tick->value), width - half));
}

/* Horizontal labels: every n-th is shown, so that no two touch. */
static bool chart_labels_touch(const struct scale *scale, const struct tick *ticks, size_t count,
			       size_t every, double width)
{
	double free_from = -HUGE_VAL;

	for (size_t i = 0; i < count; i += every) {
		double at = chart_label_middle(scale, &ticks[i], width);
		double half = CHART_CHARACTER * (double)chart_characters(ticks[i].label.text) / 2;

		if (at - half < free_from)
			return true;
		free_from = at + half + TICK_APART;
	}
	return false;
}

void chart_ticks(struct tree *map, const char *name, const struct scale *scale, const char *unit,
		 double factor, double width)
{
	struct tick ticks[SCALE_TICKS];
	size_t count = scale_ticks(scale, unit, factor, ticks);
	struct tree *list = tree_list(map, name);
	size_t every = 1;

	while (width > 0 && every < count && chart_labels_touch(scale, ticks, count, every, width))
		every++;
	for (size_t i = 0; i < count; i++) {
		struct tree *tick = tree_item(list);

		chart_coordinate(tick, "at", scale_at(scale, ticks[i].value));
		chart_coordinate(tick, "label_at",
				 width > 0 ? chart_label_middle(scale, &ticks[i], width) : 0);
		tree_text(tick, "label", i % every ? "" : ticks[i].label.text);
	}
}

void chart_frame(const struct scale *scale, const char *name, const char *unit, double width,
		 double top, double bottom, struct tree *map)
{
	bool linear = scale->kind == SCALE_LINEAR;
	double factor;
	struct formatted shown = format_unit(scale->high, unit, &factor);

	chart_coordinate(map, "width", width);
	chart_coordinate(map, "height", bottom + CHART_AXIS);
	chart_coordinate(map, "left", scale->from);
	chart_coordinate(map, "right", scale->to);
	chart_coordinate(map, "top", top);
	chart_coordinate(map, "bottom", bottom + 2);
	chart_coordinate(map, "tick_y", bottom + 16);
	chart_coordinate(map, "title_y", bottom + 32);
	tree_text(map, "axis_name", name);
	tree_text(map, "axis_unit", linear && strcmp(shown.text, name) != 0 ? shown.text : "");
	tree_flag(map, "axis_log", !linear);
	chart_ticks(map, "ticks", scale, unit, factor, width);
}

/* Closed outlines around the origin, in px; a count of 0 ends the table. */
static const struct {
	int count;
	double x[8], y[8];
} markers[] = {
	{ 8,
	  { 3.2, 2.3, 0, -2.3, -3.2, -2.3, 0, 2.3 },
	  { 0, 2.3, 3.2, 2.3, 0, -2.3, -3.2, -2.3 } },             /* disc */
	{ 4, { -2.8, 2.8, 2.8, -2.8 }, { -2.8, -2.8, 2.8, 2.8 } }, /* square */
	{ 3, { 0, 3.6, -3.6 }, { -3.6, 2.8, 2.8 } },               /* triangle */
	{ 4, { 0, 3.8, 0, -3.8 }, { -3.8, 0, 3.8, 0 } },           /* diamond */
	{ 3, { 0, 3.6, -3.6 }, { 3.6, -2.8, -2.8 } },              /* triangle down */
	{ 4, { -1.4, 1.4, 1.4, -1.4 }, { -4, -4, 4, 4 } },         /* upright */
	{ 4, { -4, 4, 4, -4 }, { -1.4, -1.4, 1.4, 1.4 } },         /* lying */
	{ 4, { -3.4, 3.4, -3.4, 3.4 }, { -3, -3, 3, 3 } },         /* hourglass */
};

void chart_marker(struct text *path, size_t series, double x, double y)
{
	size_t m = series % ARRAY_SIZE(markers);

	for (int i = 0; i < markers[m].count; i++) {
		text_add_char(path, i ? 'L' : 'M');
		chart_number(path, x + markers[m].x[i]);
		text_add_char(path, ' ');
		chart_number(path, y + markers[m].y[i]);
	}
	text_add_char(path, 'Z');
}

static size_t chart_point_count(const struct chart *chart)
{
	size_t count = 0;

	for (size_t s = 0; s < chart->count; s++)
		for (size_t p = 0; p < chart->series[s].count; p++)
			count += isfinite(chart->series[s].points[p].y) != 0;
	return count;
}

void chart_draw(const struct chart *chart, struct tree *charts)
{
	struct tree *map = tree_item(charts);
	bool empty = chart_point_count(chart) == 0;
	struct tree *table, *rows;

	tree_text(map, "id", chart->id);
	tree_text(map, "title", chart->title);
	tree_text(map, "shows", chart->shows);
	tree_text(map, "note", chart->note);
	tree_text(map, "finding", chart->finding ? chart->finding : "");
	tree_flag(map, "empty", empty);
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		if (k == (size_t)chart->kind && !empty)
			kinds[k].draw(chart, tree_map(map, kinds[k].name));
		else
			tree_flag(map, kinds[k].name, false);
	}
	/* The list "fit", one table or none. */
	table = tree_list(map, "fit");
	rows = NULL;
	if (chart->fitted) {
		for (size_t s = 0; s < chart->count; s++) {
			struct fit fit;

			if (!chart_series_fit(&chart->series[s], &fit))
				continue;
			if (!rows) {
				struct tree *shown = tree_item(table);

				tree_text(shown, "of", chart->title);
				rows = tree_list(shown, "fits");
			}
			chart_add_fit_row(rows, &chart->series[s], &fit);
		}
	}
	tree_flag(map, "tabled", !chart->listed && !empty);
	if (!chart->listed)
		chart_table(chart, map);
	if (!empty)
		chart_files_csv(chart, map);
}
