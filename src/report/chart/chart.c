#include "report/chart/chart.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/chart/chart_files.h"
#include "report/chart/chart_words.h"
#include "report/view/format.h"

static const struct {
	const char *name;
	void (*draw)(const struct chart *chart, struct tree *map);
} kinds[] = {
	[CHART_LINES] = { "lines", chart_lines_draw },
	[CHART_BARS] = { "bars", chart_bars_draw },
	[CHART_HEATMAP] = { "heatmap", chart_heatmap_draw },
	[CHART_STRIP] = { "strip", chart_strip_draw },
	[CHART_STACKED] = { "stacked", chart_stacked_draw },
	[CHART_TIMELINE] = { "timeline", chart_timeline_draw },
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
			extent_add(&extent, chart->series[s].points[p].y);
			extent_add(&extent, chart->series[s].points[p].low);
			extent_add(&extent, chart->series[s].points[p].high);
			extent_add(&extent, chart->series[s].points[p].ideal);
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
	const char **texts = NULL;
	size_t n = 0, capacity = 0;

	for (size_t s = 0; s < chart->count; s++) {
		for (size_t p = 0; p < chart->series[s].count; p++) {
			const char *text = chart->series[s].points[p].text;
			size_t i = 0;

			while (i < n && strcmp(texts[i], text) != 0)
				i++;
			if (i < n)
				continue;
			ARRAY_GROW(texts, n, capacity);
			texts[n++] = text;
		}
	}
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

#define WORDS_MOST 24
#define BETWEEN ", "

struct word {
	const char *start;
	size_t length, shared; /* by how many names */
	bool left_out;
};

static size_t words_of(const char *name, struct word *words)
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

static bool has_word(const char *name, const struct word *word)
{
	struct word words[WORDS_MOST];
	size_t count = words_of(name, words);

	for (size_t i = 0; i < count; i++)
		if (words[i].length == word->length &&
		    strncmp(words[i].start, word->start, word->length) == 0)
			return true;
	return false;
}

/* Words that are left out in a row are one "…". */
static char *joined(const struct word *words, size_t count)
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
	size_t word_count = words_of(name, words), left = word_count;
	char *out = xstrdup(name), *cut;

	if (chart_characters(name) <= longest)
		return out;
	for (size_t w = 0; w < word_count; w++)
		for (size_t i = 0; i < count; i++)
			words[w].shared += has_word(names[i], &words[w]);
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
		out = joined(words, word_count);
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

char *chart_value(const struct chart *chart, const struct chart_point *point, char *out,
		  size_t size)
{
	return point->look == CHART_SOLID ? format_quantity(point->y, chart->y_unit, out, size)
					  : format_stated(point->y, chart->y_unit, out, size);
}

#define TICK_APART 2.0 /* px */

/* Horizontal labels: every n-th is shown, so that no two touch. */
static bool labels_touch(const struct scale *scale, const struct tick *ticks, size_t count,
			 size_t every)
{
	double free_from = -HUGE_VAL;

	for (size_t i = 0; i < count; i += every) {
		double at = scale_at(scale, ticks[i].value);
		double half = CHART_CHARACTER * (double)chart_characters(ticks[i].label) / 2;

		if (at - half < free_from)
			return true;
		free_from = at + half + TICK_APART;
	}
	return false;
}

void chart_ticks(struct tree *map, const char *name, const struct scale *scale, const char *unit,
		 double factor)
{
	struct tick ticks[SCALE_TICKS];
	size_t count = scale_ticks(scale, unit, factor, ticks);
	struct tree *list = tree_list(map, name);
	bool across =
		count > 1 && scale_at(scale, ticks[1].value) > scale_at(scale, ticks[0].value);
	size_t every = 1;

	while (across && every < count && labels_touch(scale, ticks, count, every))
		every++;
	for (size_t i = 0; i < count; i++) {
		struct tree *tick = tree_item(list);

		chart_coordinate(tick, "at", scale_at(scale, ticks[i].value));
		tree_text(tick, "label", i % every ? "" : ticks[i].label);
	}
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

static size_t point_count(const struct chart *chart)
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
	char *finding = chart->finding ? xstrdup(chart->finding) : chart_finding(chart);
	bool empty = point_count(chart) == 0;

	tree_text(map, "id", chart->id);
	tree_text(map, "title", chart->title);
	tree_text(map, "shows", chart->shows);
	tree_text(map, "note", chart->note);
	tree_text_owned(map, "finding", finding);
	tree_flag(map, "empty", empty);
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		if (k == (size_t)chart->kind && !empty)
			kinds[k].draw(chart, tree_map(map, kinds[k].name));
		else
			tree_flag(map, kinds[k].name, false);
	}
	chart_fit(chart, map);
	chart_table(chart, map);
	if (!empty)
		chart_csv(chart, map);
}
