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
#include "report/view/memory_limit.h"
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

/* Strategies of one model, the fastest first. */
static const struct strategy **strategies_ranked(const struct strategies *strategies,
						 const char *model, size_t *count)
{
	const struct strategy **out = xcalloc(strategies->count + 1, sizeof(*out));

	*count = 0;
	for (size_t i = 0; i < strategies->count; i++)
		if (strcmp(strategies->items[i].model, model) == 0 &&
		    isfinite(strategies->items[i].seconds))
			out[(*count)++] = &strategies->items[i];
	qsort(out, *count, sizeof(*out), strategy_table_by_seconds);
	return out;
}

/* "4.75 ms, 31 %" of the step. */
static char *strategy_table_part_words(double seconds, double step)
{
	if (!isfinite(seconds))
		return xstrdup("\u2013");
	if (seconds <= 0)
		return xstrdup("none");
	return xasprintf("%s, %s", format_rounded(seconds, "s").text,
			 format_percent(seconds / step).text);
}

static void add_owned(struct tree *cells, char *text)
{
	tree_item_text(cells, text);
	free(text);
}

/* Computation, idle time of the schedule, and the rest; dashes if they were not measured. */
static void strategy_add_time_parts(const struct strategy *s, struct tree *cells)
{
	double compute = strategies_value(s, "parallel.compute_time"),
	       scheduled = strategies_scheduled(s);
	bool known = isfinite(scheduled);

	add_owned(cells,
		  strategy_table_part_words(known ? fmin(compute, s->seconds) : NAN, s->seconds));
	add_owned(cells, strategy_table_part_words(known ? fmin(scheduled, s->seconds) -
								   fmin(compute, s->seconds)
							 : NAN,
						   s->seconds));
	add_owned(cells, strategy_table_part_words(s->seconds - scheduled, s->seconds));
}

/* Energy of a step with its interval. */
static char *strategy_table_energy_words(const struct strategy *s)
{
	const struct metric_value *m = strategies_metric(s, "parallel.energy");
	struct formatted interval;

	if (!m || !isfinite(m->value))
		return xstrdup("not measured");
	interval = format_interval(m, view_string(m->unit));
	return xasprintf("%s %s", format_rounded(m->value, "J").text, interval.text);
}

/* True if the energy of one of them was measured: then the table has an energy column. */
static bool strategy_table_have_energy(const struct strategy *const *items, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (isfinite(strategies_value(items[i], "parallel.energy")))
			return true;
	return false;
}

static void strategy_add_row(const struct strategy *s, const char *name, bool energy,
			     struct tree *rows)
{
	struct tree *row = tree_item(rows), *cells = tree_list(row, "cells");
	const struct metric_value *step = strategies_metric(s, "parallel.step_time");
	struct formatted text;

	tree_text(row, "name", name);
	tree_text(row, "where", format_quantity(step->value, view_string(step->unit)).text);
	text = format_interval(step, view_string(step->unit));
	tree_text(row, "interval", *text.text ? text.text : "no interval");
	tree_item_text(cells, strategies_speedup_cell(s).text);
	tree_item_text(cells, format_rounded(s->memory, "B").text);
	strategy_add_time_parts(s, cells);
	if (energy)
		add_owned(cells, strategy_table_energy_words(s));
}

static struct tree *strategy_add_table(struct tree *tables, char *title, const char *first,
				       bool energy)
{
	static const char *const head[] = { "Speed-up", "Memory per device", "Computing",
					    "Pipeline bubble", "Exposed communication" };
	struct tree *table = tree_item(tables), *columns;

	tree_text_owned(table, "title", title);
	tree_text(table, "first", first);
	tree_text(table, "note", "");
	tree_text(table, "second", "Step time [95\u00a0%]");
	columns = tree_list(table, "head");
	for (size_t i = 0; i < ARRAY_SIZE(head); i++)
		tree_item_text(columns, head[i]);
	if (energy)
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

static bool strategy_table_in_all(const struct strategy_group *g, const char *word, size_t length)
{
	for (size_t i = 0; i < g->count; i++)
		if (!strategies_has_word(g->items[i]->name, word, length))
			return false;
	return true;
}

/* Words of the item's name that all names have, or that not all have. */
static char *some_words(const struct strategy_group *g, size_t item, bool common)
{
	struct text out = TEXT_EMPTY;

	for (const char *word = g->items[item]->name; *word;) {
		size_t length = strategies_word_length(word);

		if (strategy_table_in_all(g, word, length) == common)
			text_addf(&out, "%s%.*s", out.length ? ", " : "", (int)length, word);
		word += length + (word[length] ? 2 : 0);
	}
	return text_detach(&out);
}

static void strategy_table_group_open(struct strategy_group *g, const struct strategies *strategies,
				      const char *model)
{
	char *common;

	*g = (struct strategy_group){ .count = 0 };
	g->items = strategies_ranked(strategies, model, &g->count);
	if (!g->count)
		return;
	common = some_words(g, 0, true);
	g->title = xasprintf("%s%s%s", model, *common ? ", " : "", common);
	free(common);
	g->names = xcalloc(g->count, sizeof(*g->names));
	for (size_t i = 0; i < g->count; i++)
		g->names[i] = some_words(g, i, false);
}

static void strategy_table_group_close(struct strategy_group *g)
{
	for (size_t i = 0; g->names && i < g->count; i++)
		free(g->names[i]);
	free(g->names);
	free(g->title);
	free(g->items);
}

/* The strategy with the least memory; of equal ones the faster. */
static size_t strategy_least_memory(const struct strategy_group *g)
{
	size_t least = 0;

	for (size_t i = 1; i < g->count; i++)
		if (g->items[i]->memory < g->items[least]->memory)
			least = i;
	return least;
}

/* "8.4 % longer" than the fastest; "14x as long". */
static struct formatted strategy_longer_words(const struct strategy_group *g, size_t item)
{
	double ratio = g->items[item]->seconds / g->items[0]->seconds;

	if (ratio < 2)
		return format_text("%s longer", format_percent(ratio - 1).text);
	return format_text("%s as long", format_ratio(ratio).text);
}

static void strategy_add_memory(const struct strategy_group *g, struct text *out)
{
	size_t least = strategy_least_memory(g);
	struct formatted text, own;

	own = format_rounded(g->items[0]->memory, "B");
	text = format_rounded(g->items[least]->memory, "B");
	if (!isfinite(g->items[0]->memory))
		return;
	if (!least)
		text_addf(out, " No strategy needs less memory than its %s per device.", own.text);
	else if (least == 1)
		text_addf(out, " It also needs least memory: %s per device instead of %s.",
			  text.text, own.text);
	else
		text_addf(out, " Least memory: %s, %s per device instead of %s; its step is %s.",
			  g->names[least], text.text, own.text,
			  strategy_longer_words(g, least).text);
}

/* Strategies after the first that do not differ from it significantly. */
static size_t strategy_table_count_alike(const struct strategy_group *g)
{
	size_t count = 0;

	for (size_t i = 1; i < g->count; i++)
		count += !strategies_apart(g->items[0], g->items[i]);
	return count;
}

static void add_winner_words(const struct strategy_group *g, struct text *out)
{
	text_addf(out, "%s%s is fastest, %s per step", g->names[0],
		  strchr(g->names[0], ',') ? "," : "",
		  format_quantity(g->items[0]->seconds, "s").text);
	strategies_speedup_words(g->items[0], out);
	text_addf(out, ". Next: %s, %s.", g->names[1], strategy_longer_words(g, 1).text);
}

/*
 * No winner: names the first two by their medians, and the number of others that do not differ
 * significantly.
 */
static void strategy_table_add_alike_words(const struct strategy_group *g, size_t alike,
					   struct text *out)
{
	bool intervals =
		strategies_has_interval(g->items[0]) && strategies_has_interval(g->items[1]);

	text_addf(out, "%s, %s per step", g->names[0],
		  format_quantity(g->items[0]->seconds, "s").text);
	strategies_speedup_words(g->items[0], out);
	text_addf(out, "; and %s, %s", g->names[1], strategy_longer_words(g, 1).text);
	if (alike > 1)
		text_addf(out, "; and %zu more", alike - 1);
	text_addf(out, ": not distinguishable, because their %s overlap.",
		  intervals ? "intervals" : "samples");
}

static double strategy_step_joules(const struct strategy *s)
{
	return strategies_value(s, "parallel.energy");
}

/* "512.0 J [505.0 J, 519.0 J]" */
static void add_joules(const struct strategy *s, struct text *out)
{
	const struct metric_value *m = strategies_metric(s, "parallel.energy");
	struct formatted interval;

	interval = format_interval(m, "J");
	text_addf(out, "%s%s%s", format_quantity(m->value, "J").text,
		  *interval.text ? " " : ", no interval", interval.text);
}

/* False if one has no interval. */
static bool energy_is_apart(const struct strategy *less, const struct strategy *more)
{
	return strategies_metric(less, "parallel.energy")->high <
	       strategies_metric(more, "parallel.energy")->low;
}

/* The one with the least energy, except `except`; `count`: none was measured. */
static size_t energy_least(const struct strategy *const *items, size_t count, size_t except)
{
	size_t found = count;

	for (size_t i = 0; i < count; i++)
		if (i != except && isfinite(strategy_step_joules(items[i])) &&
		    (found == count ||
		     strategy_step_joules(items[i]) < strategy_step_joules(items[found])))
			found = i;
	return found;
}

static void energy_add_winner(const struct strategy *const *items, char *const *names,
			      size_t frugal, struct text *out)
{
	text_addf(out, " Least energy: %s, ", names[frugal]);
	add_joules(items[frugal], out);
	text_add(out, " per step, all devices");
	if (frugal && isfinite(strategy_step_joules(items[0]))) {
		text_addf(out, "; %s%s takes ", names[0], strchr(names[0], ',') ? "," : "");
		add_joules(items[0], out);
	}
	if (frugal)
		text_addf(out, ", with a step time of %s instead of %s",
			  format_quantity(items[frugal]->seconds, "s").text,
			  format_quantity(items[0]->seconds, "s").text);
	text_add(out, ".");
}

/*
 * Appends which of a model's strategies uses the least energy, compared with the fastest, items[0];
 * nothing if fewer than two have a measured energy.
 */
static void strategies_energy_words(const struct strategy *const *items, char *const *names,
				    size_t count, struct text *out)
{
	size_t frugal = energy_least(items, count, count),
	       next = energy_least(items, count, frugal), measured = 0, alike = 0;

	for (size_t i = 0; i < count; i++) {
		measured += isfinite(strategy_step_joules(items[i])) != 0;
		alike += i != frugal && isfinite(strategy_step_joules(items[i])) &&
			 !energy_is_apart(items[frugal], items[i]);
	}
	if (measured < 2)
		return;
	if (!alike) {
		energy_add_winner(items, names, frugal, out);
	} else {
		text_addf(out, " Least energy: undecided between %s, ", names[frugal]);
		add_joules(items[frugal], out);
		text_addf(out, " per step, and %s, ", names[next]);
		add_joules(items[next], out);
		if (alike > 1)
			text_addf(out, ", and %zu more", alike - 1);
		text_add(out, ": their intervals overlap.");
	}
	if (measured < count)
		text_addf(out, " Energy was not measured for %zu of %zu.", count - measured, count);
}

/*
 * "M, 8 devices: tensor is fastest, 15.45 ms a step, 4.72x the speed of one device. Next: 1F1B, 8.4
 * % longer. ..."
 */
static char *strategy_sentence(const struct strategy_group *g)
{
	size_t alike = strategy_table_count_alike(g);
	struct text out = TEXT_EMPTY;

	text_addf(&out, "%s: ", g->title);
	if (!strategies_apart(g->items[0], g->items[1]))
		strategy_table_add_alike_words(g, alike, &out);
	else
		add_winner_words(g, &out);
	strategy_add_memory(g, &out);
	strategies_energy_words(g->items, g->names, g->count, &out);
	return text_detach(&out);
}

/* Models with several measured strategies, so that there is a choice. */
static size_t strategy_table_count_models(const struct strategies *strategies)
{
	size_t models = 0;

	for (size_t i = 0; i < strategies->count; i++) {
		size_t count = 0;

		if (strategies_is_first(strategies, i))
			free(strategies_ranked(strategies, strategies->items[i].model, &count));
		models += count > 1;
	}
	return models;
}

static void strategy_add_group(const struct strategy_group *g, struct tree *answers,
			       struct tree *tables)
{
	char *words = strategy_sentence(g),
	     *title = g->count > ROWS_MOST
			      ? xasprintf("%s: the %d fastest of %zu strategies", g->title,
					  ROWS_MOST, g->count)
			      : xasprintf("%s: all strategies, fastest first", g->title);
	bool energy = strategy_table_have_energy(g->items, g->count);
	struct tree *rows = strategy_add_table(tables, title, "Split", energy);

	tree_item_text(answers, words);
	for (size_t i = 0; i < g->count && i < ROWS_MOST; i++)
		strategy_add_row(g->items[i], g->names[i], energy, rows);
	free(words);
}

static void strategy_add_winner(const struct strategy_group *g, struct tree *rows)
{
	char *name = xasprintf("%s: %s", g->items[0]->model, g->items[0]->name);

	strategy_add_row(g->items[0], name, false, rows);
	free(name);
}

void strategies_answer(const struct strategies *strategies, struct tree *answers,
		       struct tree *tables)
{
	size_t models = strategy_table_count_models(strategies);
	struct tree *winners =
		models > MODELS_MOST
			? strategy_add_table(tables, xstrdup("Fastest strategy of each model"),
					     "Model", false)
			: NULL;

	for (size_t i = 0; i < strategies->count && models; i++) {
		struct strategy_group g;

		if (!strategies_is_first(strategies, i))
			continue;
		strategy_table_group_open(&g, strategies, strategies->items[i].model);
		if (g.count > 1 && winners)
			strategy_add_winner(&g, winners);
		else if (g.count > 1)
			strategy_add_group(&g, answers, tables);
		strategy_table_group_close(&g);
	}
}

/*
 * The strategy of a model with the least energy, compared with the fastest; undecided if intervals
 * overlap.
 */

/* A table of the fastest strategy of each model within a memory limit. */

/* The fastest strategy of that model within `bytes`; NULL: none was measured. */
static const struct strategy *strategy_limit_best_within(const struct strategies *strategies,
							 const char *model, double bytes)
{
	const struct strategy *best = NULL;

	for (size_t i = 0; i < strategies->count; i++) {
		const struct strategy *s = &strategies->items[i];

		if (strcmp(s->model, model) == 0 && s->memory <= bytes &&
		    (!best || s->seconds < best->seconds))
			best = s;
	}
	return best;
}

static void memory_limit_add_row(const struct strategies *strategies, const char *model,
				 const struct memory_limit *limit, struct tree *rows)
{
	const struct strategy *best = strategy_limit_best_within(strategies, model, limit->bytes);
	struct tree *row = tree_item(rows), *cells = tree_list(row, "cells");

	tree_text(row, "name", model);
	tree_text(row, "where", limit->name);
	tree_text(row, "interval", "");
	tree_item_text(cells, best ? best->name : "none of those measured");
	tree_item_text(cells, format_quantity(best ? best->seconds : NAN, "s").text);
	tree_item_text(cells, format_quantity(best ? best->memory : NAN, "B").text);
}

void strategies_under_limits(const struct strategies *strategies, const struct memory_limit *limits,
			     size_t count, struct tree *tables)
{
	static const char *const head[] = { "Fastest strategy", "Step time", "Memory per device" };
	struct tree *table, *columns, *rows;

	if (!count || !strategies->count)
		return;
	table = tree_item(tables);
	tree_text(table, "title",
		  "Fastest strategy under a memory limit per device. The limit covers tensors and "
		  "workspaces, not context and collectives' library");
	tree_text(table, "note", "");
	tree_text(table, "first", "Model");
	tree_text(table, "second", "Limit");
	columns = tree_list(table, "head");
	for (size_t i = 0; i < ARRAY_SIZE(head); i++)
		tree_item_text(columns, head[i]);
	rows = tree_list(table, "rows");
	for (size_t i = 0; i < strategies->count; i++)
		for (size_t k = 0; k < count && strategies_is_first(strategies, i); k++)
			memory_limit_add_row(strategies, strategies->items[i].model, &limits[k],
					     rows);
}
