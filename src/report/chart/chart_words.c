#include "report/chart/chart_words.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/view/format.h"

struct spot {
	const struct chart_series *series;
	const struct chart_point *point;
};

static bool better(const struct chart *chart, double a, double b)
{
	return chart->better == BETTER_LOWER ? a < b : a > b;
}

/* The best point of one series; point NULL when it has none. */
static struct spot best_of(const struct chart *chart, const struct chart_series *series)
{
	struct spot best = { series, NULL };

	for (size_t p = 0; p < series->count; p++) {
		const struct chart_point *point = &series->points[p];

		if (isfinite(point->y) && (!best.point || better(chart, point->y, best.point->y)))
			best.point = point;
	}
	return best;
}

static void say_name(struct text *out, const struct chart *chart, const struct spot *spot)
{
	const char *name = spot->series->name, *text = spot->point->text;

	if (chart->kind == CHART_LINES)
		text_addf(out, "%s%sat %s", name, *name ? ", " : "", text);
	else if (chart->kind == CHART_HEATMAP)
		text_addf(out, "%s %s %s", name, chart->together ? "and" : "to", text);
	else
		text_addf(out, "%s%s%s", name, *name && *text ? ", " : "", text);
}

static void say(struct text *out, const struct chart *chart, const char *what,
		const struct spot *spot)
{
	char value[FORMAT_SIZE];

	text_addf(out, "%s %s, ", what, chart_value(chart, spot->point, value, sizeof(value)));
	say_name(out, chart, spot);
}

struct spots {
	struct spot best, worst;
	size_t count;
	/* that the best is not told apart from, the best of them, and the widest interval of all */
	size_t close;
	struct spot next;
	double noise;
};

static void consider(const struct chart *chart, struct spot spot, struct spots *spots)
{
	if (!spot.point || !isfinite(spot.point->y))
		return;
	spots->count++;
	if (!spots->best.point || better(chart, spot.point->y, spots->best.point->y))
		spots->best = spot;
	if (!spots->worst.point || better(chart, spots->worst.point->y, spot.point->y))
		spots->worst = spot;
}

static bool has_interval(const struct chart_point *p)
{
	return isfinite(p->low) && isfinite(p->high);
}

/* True if both have intervals and these overlap. */
static bool not_apart(const struct chart_point *a, const struct chart_point *b)
{
	return has_interval(a) && has_interval(b) && a->low <= b->high && b->low <= a->high;
}

static double noise_of(const struct chart_point *p)
{
	return fmax(p->high - p->y, p->y - p->low) / fabs(p->y);
}

static void compare_with_best(const struct chart *chart, struct spot spot, struct spots *spots)
{
	if (!spot.point || spot.point == spots->best.point ||
	    !not_apart(spot.point, spots->best.point))
		return;
	spots->noise = fmax(spots->noise, fmax(noise_of(spot.point), noise_of(spots->best.point)));
	if (!spots->close++ || better(chart, spot.point->y, spots->next.point->y))
		spots->next = spot;
}

/* The right end of all lines. */
static double last_x(const struct chart *chart)
{
	struct extent x = EXTENT_EMPTY;

	for (size_t s = 0; s < chart->count; s++)
		for (size_t p = 0; p < chart->series[s].count; p++)
			extent_add(&x, chart->series[s].points[p].x);
	return x.max;
}

static const struct chart_point *point_at(const struct chart_series *series, double x)
{
	for (size_t p = 0; p < series->count; p++)
		if (series->points[p].x == x)
			return &series->points[p];
	return NULL;
}

/*
 * A line counts with its peak where higher is better; else with its right end, since its best point
 * is just its smallest case. Of all other kinds every point counts.
 */
static void each_spot(const struct chart *chart, struct spots *spots,
		      void (*visit)(const struct chart *, struct spot, struct spots *))
{
	double end = last_x(chart);

	for (size_t s = 0; s < chart->count; s++) {
		const struct chart_series *series = &chart->series[s];

		if (chart->kind == CHART_LINES && chart->better == BETTER_LOWER)
			visit(chart, (struct spot){ series, point_at(series, end) }, spots);
		else if (chart->kind == CHART_LINES)
			visit(chart, best_of(chart, series), spots);
		else
			for (size_t p = 0; p < series->count; p++)
				visit(chart, (struct spot){ series, &series->points[p] }, spots);
	}
}

/* "batch 1024", "16 layers of 2048", "8 GiB": one of its words is a number, and not of devices. */
static bool names_amount(const char *part, size_t length)
{
	if (memmem(part, length, "device", strlen("device")) || memchr(part, ':', length))
		return false;
	for (size_t i = 0; i < length;) {
		size_t word = 0;

		while (i + word < length && part[i + word] != ' ')
			word++;
		if (word && strspn(part + i, "0123456789.,") >= word)
			return true;
		i += word + 1;
	}
	return false;
}

/* True if each part of `name` that names an amount, between ", ", is one of `other` too. */
static bool has_amounts_of(const char *name, const char *other)
{
	for (const char *part = name; *part;) {
		const char *end = strstr(part, ", ");
		size_t length = end ? (size_t)(end - part) : strlen(part);

		if (names_amount(part, length) && !memmem(other, strlen(other), part, length))
			return false;
		part += length + (end ? 2 : 0);
	}
	return true;
}

/* Batches of other sizes, or other models, are no alternatives. */
static bool same_work(const struct chart *chart, const struct spot *a, const struct spot *b)
{
	bool lines = chart->kind == CHART_LINES; /* the point's text is where the peak is */
	char *first = xasprintf("%s, %s", a->series->name, lines ? "" : a->point->text);
	char *second = xasprintf("%s, %s", b->series->name, lines ? "" : b->point->text);
	bool same = has_amounts_of(first, second) && has_amounts_of(second, first);

	free(first);
	free(second);
	return same;
}

/*
 * ": a factor of 4.2", or ": 0.3 % apart" where a factor would read 1.00; nothing where the lowest
 * is the one that values are ratios to, or two decades away.
 */
static void say_distance(struct text *out, const struct chart *chart, const struct spots *spots)
{
	double a = spots->best.point->y, b = spots->worst.point->y;
	double ratio = fmax(a, b) / fmin(a, b);
	bool is_ratio = chart->y_unit && strcmp(chart->y_unit, "×") == 0;
	char text[FORMAT_SIZE];

	if (!(a > 0 && b > 0) || ratio >= 100 || (is_ratio && fmin(a, b) == 1) ||
	    !same_work(chart, &spots->best, &spots->worst))
		return;
	if (ratio < 1.1)
		text_addf(out, ": %s apart", format_percent(ratio - 1, text, sizeof(text)));
	else
		text_addf(out, ": a factor of %.*f", ratio < 10 ? 2 : 1, ratio);
}

static double total_of(const struct chart_series *series)
{
	double total = 0;

	for (size_t p = 0; p < series->count; p++)
		total += isfinite(series->points[p].y) ? series->points[p].y : 0;
	return total;
}

/* "Largest 64.20 MB, DDP: half of it optimizer (32.10 MB)." */
static char *stack_finding(const struct chart *chart)
{
	const struct chart_series *highest = NULL;
	const struct chart_point *part = NULL;
	char total[FORMAT_SIZE], value[FORMAT_SIZE], share[FORMAT_SIZE];

	for (size_t s = 0; s < chart->count; s++)
		if (!highest || total_of(&chart->series[s]) > total_of(highest))
			highest = &chart->series[s];
	for (size_t p = 0; highest && p < highest->count; p++)
		if (isfinite(highest->points[p].y) && (!part || highest->points[p].y > part->y))
			part = &highest->points[p];
	if (!part || total_of(highest) <= 0)
		return xstrdup("Nothing was measured for this chart.");
	return xasprintf("Highest %s, %s; its largest part is %s: %s, %s.",
			 format_quantity(total_of(highest), chart->y_unit, total, sizeof(total)),
			 highest->name, part->text,
			 format_quantity(part->y, chart->y_unit, value, sizeof(value)),
			 format_percent(part->y / total_of(highest), share, sizeof(share)));
}

/* Values that print alike would otherwise be "0.00 % apart". */
static bool reads_the_same(const struct chart *chart, const struct spot *a, const struct spot *b)
{
	char first[FORMAT_SIZE], second[FORMAT_SIZE];

	return strcmp(chart_value(chart, a->point, first, sizeof(first)),
		      chart_value(chart, b->point, second, sizeof(second))) == 0;
}

/* "; not told apart from pool (noise ±1.2 %)" */
static void say_close(struct text *out, const struct chart *chart, const struct spots *spots)
{
	char noise[FORMAT_SIZE];

	text_add(out, ", not told apart from ");
	say_name(out, chart, &spots->next);
	if (spots->close > 1)
		text_addf(out, " and %zu more", spots->close - 1);
	text_addf(out, " (noise ±%s)", format_percent(spots->noise, noise, sizeof(noise)));
}

char *chart_finding(const struct chart *chart)
{
	bool lower = chart->better == BETTER_LOWER, peak = chart->kind == CHART_LINES && !lower;
	bool over_time = chart->over_time;
	const char *first = lower ? "Lowest" : peak ? "Highest peak" : "Highest";
	const char *last = lower ? "highest" : peak ? "lowest peak" : "lowest";
	struct spots spots = { .count = 0 };
	struct text out = TEXT_EMPTY;
	char value[FORMAT_SIZE];

	if (chart->kind == CHART_STACKED)
		return stack_finding(chart);
	each_spot(chart, &spots, consider);
	if (!spots.best.point)
		return xstrdup("Nothing was measured for this chart.");
	/* Extremes of many readings are no interval. */
	if (!over_time)
		each_spot(chart, &spots, compare_with_best);
	chart_value(chart, spots.best.point, value, sizeof(value));
	if (spots.count == 1) {
		text_addf(&out, "%s, ", value);
		say_name(&out, chart, &spots.best);
	} else if (reads_the_same(chart, &spots.best, &spots.worst)) {
		if (spots.count == 2)
			text_addf(&out, "Both are %s", value);
		else
			text_addf(&out, "All %zu are %s", spots.count, value);
	} else {
		say(&out, chart, first, &spots.best);
		if (spots.close)
			say_close(&out, chart, &spots);
		/* Figures that are not told apart have no lowest. */
		if (spots.close + 1 < spots.count) {
			text_add(&out, "; ");
			say(&out, chart, last, &spots.worst);
			say_distance(&out, chart, &spots);
		}
	}
	text_add_char(&out, '.');
	return text_detach(&out);
}

static void cell(struct tree *cells, const struct chart *chart, const struct chart_point *point)
{
	struct tree *c = tree_item(cells);
	char text[FORMAT_SIZE];

	tree_text(c, "value", point ? chart_value(chart, point, text, sizeof(text)) : "–");
	if (chart->over_time && point && isfinite(point->low)) {
		char high[FORMAT_SIZE];

		tree_textf(c, "spread", "%s to %s",
			   format_quantity(point->low, chart->y_unit, text, sizeof(text)),
			   format_quantity(point->high, chart->y_unit, high, sizeof(high)));
		return;
	}
	tree_text(c, "spread",
		  point ? format_spread(point->y, point->low, point->high, text, sizeof(text))
			: "");
}

static int column_order(const void *a, const void *b)
{
	const struct chart_column *p = a, *q = b;

	return (p->x > q->x) - (p->x < q->x);
}

struct chart_column *chart_columns(const struct chart *chart, size_t *count)
{
	struct chart_column *columns = NULL;
	size_t n = 0, capacity = 0;

	for (size_t s = 0; s < chart->count; s++) {
		for (size_t p = 0; p < chart->series[s].count; p++) {
			const struct chart_point *point = &chart->series[s].points[p];
			size_t i = 0;

			while (i < n && strcmp(columns[i].text, point->text) != 0)
				i++;
			if (i < n)
				continue;
			ARRAY_GROW(columns, n, capacity);
			columns[n++] = (struct chart_column){ point->text, point->x };
		}
	}
	if (n && chart->kind == CHART_LINES)
		qsort(columns, n, sizeof(*columns), column_order);
	*count = n;
	return columns;
}

/* Lines, heat maps, stacks: a row for each x (or column of the map), a column for each series. */
static void table_crossed(const struct chart *chart, struct tree *head, struct tree *rows)
{
	const char *const first_head[] = { [CHART_LINES] = chart->x_name,
					   [CHART_HEATMAP] =
						   chart->together ? "between" : "to \\ from",
					   [CHART_STACKED] = "part" };
	size_t count;
	struct chart_column *columns = chart_columns(chart, &count);

	tree_item_text(head, first_head[chart->kind]);
	for (size_t s = 0; s < chart->count; s++)
		tree_item_text(head,
			       *chart->series[s].name ? chart->series[s].name : chart->y_name);
	for (size_t i = 0; i < count; i++) {
		struct tree *row = tree_item(rows), *cells;

		tree_text(row, "name", columns[i].text);
		cells = tree_list(row, "cells");
		for (size_t s = 0; s < chart->count; s++)
			cell(cells, chart, chart_point_named(&chart->series[s], columns[i].text));
	}
	free(columns);
}

static void table_row_name(struct tree *row, const struct chart_series *series,
			   const struct chart_point *point)
{
	tree_textf(row, "name", "%s%s%s", series->name, *series->name && *point->text ? ", " : "",
		   point->text);
}

static void table_reference(const struct chart *chart, struct tree *rows)
{
	const struct chart_point point = { .y = chart->reference, .low = NAN, .high = NAN };
	struct tree *row = tree_item(rows);

	tree_text(row, "name", chart->reference_name);
	cell(tree_list(row, "cells"), chart, &point);
}

static void table_listed(const struct chart *chart, struct tree *head, struct tree *rows)
{
	bool quantiles = chart->kind == CHART_STRIP && !chart->close;

	tree_item_text(head, "case");
	tree_item_text(head, chart->y_name);
	if (quantiles) {
		tree_item_text(head, "p95");
		tree_item_text(head, "p99");
	}
	for (size_t s = 0; s < chart->count; s++) {
		for (size_t p = 0; p < chart->series[s].count; p++) {
			const struct chart_point *point = &chart->series[s].points[p];
			struct chart_point quantile = { .low = NAN, .high = NAN };
			struct tree *row = tree_item(rows), *cells;

			table_row_name(row, &chart->series[s], point);
			cells = tree_list(row, "cells");
			cell(cells, chart, point);
			if (!quantiles)
				continue;
			quantile.y = point->p95;
			cell(cells, chart, &quantile);
			quantile.y = point->p99;
			cell(cells, chart, &quantile);
		}
	}
	if (chart->kind == CHART_STRIP && isfinite(chart->reference))
		table_reference(chart, rows);
}

/* A row of a timeline's table: one operation of one row of the chart. */
static void table_operation(const struct chart *chart, const struct chart_series *series,
			    size_t style, double length, struct tree *rows)
{
	double together = 0;
	size_t times = 0;
	struct tree *row, *cells;
	char text[FORMAT_SIZE];

	for (size_t p = 0; p < series->count; p++)
		if (series->points[p].style == style) {
			together += series->points[p].y - series->points[p].x;
			times++;
		}
	if (!times)
		return;
	row = tree_item(rows);
	tree_textf(row, "name", "%s: %s", series->name, chart->key[style]);
	cells = tree_list(row, "cells");
	tree_textf(tree_item(cells), "value", "%zu", times);
	tree_text(tree_item(cells), "value",
		  format_quantity(together, chart->y_unit, text, sizeof(text)));
	tree_text(tree_item(cells), "value", format_percent(together / length, text, sizeof(text)));
}

static void table_timeline(const struct chart *chart, struct tree *head, struct tree *rows)
{
	double length = chart_extent(chart).max;

	tree_item_text(head, "row and operation");
	tree_item_text(head, "times");
	tree_item_text(head, "together");
	tree_item_text(head, "part of the step");
	for (size_t s = 0; s < chart->count; s++)
		for (size_t style = 0; chart->key && chart->key[style]; style++)
			table_operation(chart, &chart->series[s], style, length, rows);
}

static void table_map(const struct chart *chart, struct tree *head, struct tree *rows)
{
	size_t count;
	const char **texts = chart_texts(chart, &count);

	tree_item_text(head, chart->x_name);
	for (size_t c = 0; c < count; c++)
		tree_item_text(head, texts[c]);
	for (size_t s = 0; s < chart->count; s++) {
		struct tree *row = tree_item(rows), *cells;

		tree_text(row, "name", chart->series[s].name);
		cells = tree_list(row, "cells");
		for (size_t c = 0; c < count; c++) {
			const struct chart_point *point =
				chart_point_named(&chart->series[s], texts[c]);

			tree_text(tree_item(cells), "value",
				  point && point->label ? point->label : "\u2013");
		}
	}
	free(texts);
}

/* A row for each case below the roofs. */
static void table_roofs(const struct chart *chart, struct tree *head, struct tree *rows)
{
	char text[FORMAT_SIZE];

	tree_item_text(head, "case");
	tree_item_text(head, chart->x_name);
	tree_item_text(head, chart->y_name);
	tree_item_text(head, "of its roof");
	tree_item_text(head, "limited by");
	for (size_t s = 0; s < chart->count; s++)
		for (size_t p = 0; p < chart->series[s].count; p++) {
			const struct chart_point *point = &chart->series[s].points[p];
			struct tree *row, *cells;

			if (!point->label)
				continue;
			row = tree_item(rows);
			tree_text(row, "name", point->text);
			cells = tree_list(row, "cells");
			tree_text(tree_item(cells), "value",
				  format_rounded(point->x, "FLOP/B", text, sizeof(text)));
			cell(cells, chart, point);
			tree_text(tree_item(cells), "value",
				  format_percent(point->y / point->ideal, text, sizeof(text)));
			tree_text(tree_item(cells), "value", point->label);
		}
}

void chart_table(const struct chart *chart, struct tree *map)
{
	struct tree *head = tree_list(map, "head"), *rows = tree_list(map, "rows");

	if (chart->kind == CHART_TIMELINE) {
		table_timeline(chart, head, rows);
		return;
	}
	if (chart->kind == CHART_MAP) {
		table_map(chart, head, rows);
		return;
	}
	if (chart->roofs) {
		table_roofs(chart, head, rows);
		return;
	}
	if (chart->kind != CHART_BARS && chart->kind != CHART_STRIP)
		table_crossed(chart, head, rows);
	else
		table_listed(chart, head, rows);
}
