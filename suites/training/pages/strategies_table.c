/*
 * Answer of a page about strategies: the fastest one, its margin and its memory, in one sentence
 * per model; and a table of all, best first, with the parts of their time.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "report/view/format.h"
#include "suites/training/pages/strategies.h"

/* Models with a table of their own; if there are more, only the fastest strategies are shown. */
#define MODELS_MOST 4
#define ROWS_MOST 40

static int strategy_table_by_seconds(const void *a, const void *b)
{
	const struct strategy *p = *(const struct strategy *const *)a,
			      *q = *(const struct strategy *const *)b;

	if (p->seconds != q->seconds)
		return p->seconds < q->seconds ? -1 : 1;
	return p < q ? -1 : p > q;
}

/* Columns that not all tables have. */
struct strategy_columns {
	bool energy, utilisation, divided;
	double longest; /* seconds of the longest bar; 0: no bars */
};

static void strategies_table_add_row(const struct strategy *s, const char *name,
				     const struct strategy_columns *columns, struct tree *rows)
{
	struct tree *row = tree_item(rows), *cells = tree_list(row, "cells");
	const struct metric_value *step = case_metric(s->c, "parallel.step_time"),
				  *energy = case_metric(s->c, "parallel.energy");

	tree_text(row, "name", name);
	tree_text(row, "where", format_quantity(step->value, view_string(step->unit)).text);
	tree_text(row, "interval", format_interval(step, view_string(step->unit)).text);
	strategies_columns_add_bar(s, columns->longest, row);
	tree_item_text(cells, strategies_speedup_cell(s).text);
	tree_item_text(cells, format_rounded(s->memory, "B").text);
	strategies_columns_add_time_parts(s, cells);
	if (columns->utilisation)
		tree_item_text(cells, strategies_columns_utilisation(s).text);
	/* Energy of a step with its interval. */
	if (columns->energy && energy && isfinite(energy->value))
		tree_item_text(cells,
			       format_text("%s %s", format_rounded(energy->value, "J").text,
					   format_interval(energy, view_string(energy->unit)).text)
				       .text);
	else if (columns->energy)
		tree_item_text(cells, "not measured");
}

static struct tree *strategy_add_table(struct tree *tables, char *title, const char *first,
				       const struct strategy_columns *more)
{
	static const char *const head[] = { "Speed-up", "Memory per device", "Computing",
					    "Pipeline bubble", "Exposed communication" };
	struct tree *table = tree_item(tables), *columns;

	tree_text_owned(table, "title", title);
	tree_text(table, "first", first);
	tree_text(table, "note", "");
	tree_flag(table, "in_parts", more->divided);
	tree_text(table, "second", "Step time [95\u00a0%]");
	columns = tree_list(table, "head");
	for (size_t i = 0; i < ARRAY_SIZE(head); i++)
		tree_item_text(columns, head[i]);
	if (more->utilisation)
		tree_item_text(columns, "FLOP utilisation (MFU)");
	if (more->energy)
		tree_item_text(columns, "Energy per step");
	return tree_list(table, "rows");
}

/*
 * The strategies of one model, the fastest first. Words common to all names ("8 devices") appear
 * once.
 */
struct strategy_group {
	const struct strategy **items;
	size_t count;
	char *title;  /* the model and the common words */
	char **names; /* the rest */
};

/* Words of the item's name that all names have, or that not all have. */
static char *strategies_table_some_words(const struct strategy_group *g, size_t item, bool common)
{
	struct text out = TEXT_EMPTY;

	for (const char *word = g->items[item]->name; *word;) {
		size_t length = strategies_word_length(word);
		bool in_all = true;

		for (size_t i = 0; i < g->count; i++)
			in_all = in_all && strategies_has_word(g->items[i]->name, word, length);
		if (in_all == common)
			text_addf(&out, "%s%.*s", out.length ? ", " : "", (int)length, word);
		word += length + (word[length] ? 2 : 0);
	}
	return text_detach(&out);
}

/* Models with several measured strategies, so that there is a choice. */
struct strategy_groups {
	struct strategy_group *items;
	size_t count;
};

static struct strategy_groups strategies_table_groups_open(const struct strategies *strategies)
{
	struct strategy_groups groups = { xcalloc(strategies->count + 1, sizeof(*groups.items)),
					  0 };

	for (size_t i = 0; i < strategies->count; i++) {
		struct strategy_group *g = &groups.items[groups.count];
		const char *model = strategies->items[i].model;
		char *common;

		if (!strategies_is_first(strategies, i))
			continue;
		*g = (struct strategy_group){ .items = xcalloc(strategies->count,
							       sizeof(*g->items)) };
		for (size_t k = i; k < strategies->count; k++)
			if (strcmp(strategies->items[k].model, model) == 0 &&
			    isfinite(strategies->items[k].seconds))
				g->items[g->count++] = &strategies->items[k];
		if (g->count < 2) {
			free(g->items);
			continue;
		}
		qsort(g->items, g->count, sizeof(*g->items), strategy_table_by_seconds);
		common = strategies_table_some_words(g, 0, true);
		g->title = xasprintf("%s%s%s", model, *common ? ", " : "", common);
		free(common);
		g->names = xcalloc(g->count, sizeof(*g->names));
		for (size_t k = 0; k < g->count; k++)
			g->names[k] = strategies_table_some_words(g, k, false);
		groups.count++;
	}
	return groups;
}

static void strategies_table_groups_close(struct strategy_groups *groups)
{
	for (size_t i = 0; i < groups->count; i++) {
		struct strategy_group *g = &groups->items[i];

		for (size_t k = 0; k < g->count; k++)
			free(g->names[k]);
		free(g->names);
		free(g->title);
		free(g->items);
	}
	free(groups->items);
}

/*
 * Time of the strategy over the time of the fastest. The page shows one time for a single device:
 * the one that each strategy measured next to its own step, from which speed-ups follow.
 */
static double strategies_table_times_fastest(const struct strategy_group *g, size_t item)
{
	const struct strategy *fastest = g->items[0], *s = g->items[item];
	double paired = s->devices == 1         ? strategies_value(fastest, "parallel.speedup")
			: fastest->devices == 1 ? 1 / strategies_value(s, "parallel.speedup")
						: (double)NAN;

	return paired > 0 && isfinite(paired) ? paired : s->seconds / fastest->seconds;
}

/* "8.4 % longer" than the fastest; "14x as long". */
static struct formatted strategies_table_longer_words(const struct strategy_group *g, size_t item)
{
	double ratio = strategies_table_times_fastest(g, item);

	if (ratio < 2)
		return format_text("%s %s", format_percent(fabs(ratio - 1)).text,
				   ratio < 1 ? "shorter" : "longer");
	return format_text("%s as long", format_ratio(ratio).text);
}

static void strategies_table_add_memory(const struct strategy_group *g, struct text *out)
{
	struct formatted text, own = format_rounded(g->items[0]->memory, "B");
	size_t least = 0;

	/* The strategy with the least memory; of equal ones the faster. */
	for (size_t i = 1; i < g->count; i++)
		if (g->items[i]->memory < g->items[least]->memory)
			least = i;
	/* The fastest needs as much within 1 %: no difference that a reader could use. */
	if (!(g->items[least]->memory < 0.99 * g->items[0]->memory))
		least = 0;
	text = format_rounded(g->items[least]->memory, "B");
	if (!isfinite(g->items[0]->memory))
		return;
	if (!least)
		text_addf(out, " No strategy needs over 1 %% less memory than %s (%s per device).",
			  g->names[0], own.text);
	else if (least == 1)
		text_addf(out,
			  " The second strategy also needs least memory: %s per device instead of "
			  "%s.",
			  text.text, own.text);
	else
		text_addf(out,
			  " Least memory: %s with %s per device instead of %s; its step time is "
			  "%s.",
			  g->names[least], text.text, own.text,
			  strategies_table_longer_words(g, least).text);
}

/*
 * The fastest and the next. No winner: names the first two by their medians, and the number of
 * others that do not differ significantly.
 */
static void strategies_table_add_fastest(const struct strategy_group *g, size_t alike,
					 struct text *out)
{
	bool wins = strategies_apart(g->items[0], g->items[1]);

	text_addf(out, wins ? "%s%s is fastest, %s per step" : "%s%s, %s per step", g->names[0],
		  wins && strchr(g->names[0], ',') ? "," : "",
		  format_quantity(g->items[0]->seconds, "s").text);
	strategies_speedup_words(g->items[0], out);
	text_addf(out, wins ? ". Next: %s, %s" : "; and %s, %s", g->names[1],
		  strategies_table_longer_words(g, 1).text);
	if (!wins && alike > 1)
		text_addf(out, "; and %zu more strategies", alike - 1);
	if (!wins)
		text_addf(out, ": not distinguishable, because their %s overlap",
			  strategies_has_interval(g->items[0]) &&
					  strategies_has_interval(g->items[1])
				  ? "intervals"
				  : "samples");
	text_add_char(out, '.');
}

/* True if the group has a fastest strategy, of the mode (a name's first word). */
static bool strategies_table_wins(const struct strategy_group *g, const char *mode)
{
	size_t length = strategies_word_length(mode);

	return strategies_apart(g->items[0], g->items[1]) &&
	       strategies_word_length(g->names[0]) == length &&
	       strncmp(g->names[0], mode, length) == 0;
}

/* ", 1.19× to 1.75× the speed of one device"; of one device how much longer the next takes. */
static void strategies_table_add_margins(const struct strategy_groups *w, const char *mode,
					 struct text *out)
{
	double least = INFINITY, most = 0;
	bool single = false;

	for (size_t i = 0; i < w->count; i++) {
		const struct strategy_group *g = &w->items[i];
		double ratio;

		if (!strategies_table_wins(g, mode))
			continue;
		single = g->items[0]->devices == 1;
		ratio = single ? strategies_table_times_fastest(g, 1)
			       : strategies_value(g->items[0], "parallel.speedup");
		least = fmin(least, ratio);
		most = fmax(most, ratio);
	}
	if (!(most > 0))
		return;
	text_addf(out, single ? "; the next takes %s" : ", %s", format_ratio(least).text);
	if (strcmp(format_ratio(least).text, format_ratio(most).text) != 0)
		text_addf(out, " to %s", format_ratio(most).text);
	text_add(out, single ? " as long" : " the speed of one device");
}

static void strategies_table_winners_words(const struct strategy_groups *w, struct text *out)
{
	const char *mode = NULL;
	size_t most = 0;

	for (size_t i = 0; i < w->count; i++) {
		size_t wins = 0;

		for (size_t k = 0; k < w->count; k++)
			wins += strategies_table_wins(&w->items[k], w->items[i].names[0]);
		if (wins > most) {
			most = wins;
			mode = w->items[i].names[0];
		}
	}
	if (!w->count)
		return;
	if (!mode) {
		text_addf(out, "the fastest strategies are not distinguishable (%s per step%s)",
			  format_rounded(w->items->items[0]->seconds, "s").text,
			  w->count > 1 ? " of the first model" : "");
		return;
	}
	if (strncmp(mode, "single", strlen("single")) == 0)
		text_add(out, "one device is fastest");
	else
		text_addf(out, "%.*s is fastest", (int)strategies_word_length(mode), mode);
	if (w->count > 1)
		text_addf(out, " in %zu of %zu models", most, w->count);
	strategies_table_add_margins(w, mode, out);
	if (w->count == 1 && isfinite(w->items->items[0]->memory))
		text_addf(out, ", %s per device",
			  format_rounded(w->items->items[0]->memory, "B").text);
}

void strategies_table_add_title(const struct strategies *strategies, struct text *out)
{
	struct strategy_groups groups = strategies_table_groups_open(strategies);

	strategies_table_winners_words(&groups, out);
	if (!groups.count && strategies->count)
		text_addf(out, "%s per step of %s",
			  format_rounded(strategies->items[0].seconds, "s").text,
			  strategies->items[0].model);
	strategies_table_groups_close(&groups);
}

/*
 * "M, 8 devices: tensor is fastest, 15.45 ms a step, 4.72x the speed of one device. Next: 1F1B, 8.4
 * % longer. ..."; and the table.
 */
static void strategies_table_add_group(const struct strategies *strategies,
				       const struct strategy_group *g, struct tree *answers,
				       struct tree *tables)
{
	size_t shown = g->count < ROWS_MOST ? g->count : ROWS_MOST, alike = 0;
	char *peaks = strategies_columns_peak_words(strategies),
	     *title = g->count > shown ? xasprintf("%s: the %zu fastest of %zu strategies",
						   g->title, shown, g->count)
				       : xasprintf("%s: all strategies, fastest first", g->title);
	struct strategy_columns columns = {
		/* A data sheet has the peak rate of some strategy's devices. */
		.utilisation = peaks && *peaks,
		.longest = g->items[shown - 1]->seconds,
	};
	struct text words = TEXT_EMPTY;
	double parts[TIME_PARTS];
	struct tree *rows;

	text_addf(&words, "%s: ", g->title);
	/* Strategies after the first that do not differ from it significantly. */
	for (size_t i = 1; i < g->count; i++)
		alike += !strategies_apart(g->items[0], g->items[i]);
	for (size_t i = 0; i < shown; i++)
		columns.divided |= strategies_columns_time_parts(g->items[i], parts);
	for (size_t i = 0; i < g->count; i++)
		columns.energy |= isfinite(strategies_value(g->items[i], "parallel.energy")) != 0;
	strategies_table_add_fastest(g, alike, &words);
	strategies_table_add_memory(g, &words);
	tree_item_text(answers, words.data);
	rows = strategy_add_table(tables, title, "Split", &columns);
	for (size_t i = 0; i < shown; i++)
		strategies_table_add_row(g->items[i], g->names[i], &columns, rows);
	text_release(&words);
	free(peaks);
}

void strategies_table_answer(const struct strategies *strategies, struct tree *answers,
			     struct tree *tables)
{
	const struct strategy_columns plain = { .longest = 0 };
	struct strategy_groups groups = strategies_table_groups_open(strategies);
	struct tree *winners =
		groups.count > MODELS_MOST
			? strategy_add_table(tables, xstrdup("Fastest strategy of each model"),
					     "Model", &plain)
			: NULL;

	for (size_t i = 0; i < groups.count; i++) {
		const struct strategy_group *g = &groups.items[i];
		char *name;

		if (!winners) {
			strategies_table_add_group(strategies, g, answers, tables);
			continue;
		}
		name = xasprintf("%s: %s", g->items[0]->model, g->items[0]->name);
		strategies_table_add_row(g->items[0], name, &plain, winners);
		free(name);
	}
	strategies_table_groups_close(&groups);
}
