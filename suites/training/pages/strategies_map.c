/* Fastest split by batch and width, as a map. */
#include "suites/training/pages/strategies.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "report/view/format.h"

/* The global batch: with weak scaling the parameter is the batch of one device. */
static double strategies_map_global_batch(const struct strategy *strategy)
{
	const struct case_parameter *batch = case_parameter(strategy->c, "batch");

	return (batch ? batch->number : NAN) *
	       (strategies_scales_weakly(strategy->c) ? strategy->devices : 1);
}

static double strategy_map_width_of(const struct strategy *strategy)
{
	const struct case_parameter *width = strategies_width(strategy->c);

	return width ? width->number : NAN;
}

struct map {
	const struct strategies *strategies;
	char **of; /* by item */
	/* of the strategies; training on one device is included in the comparison */
	double devices;
	double *batches, *widths;
	size_t batch_count, width_count;
};

static void strategies_map_add_distinct(double *list, size_t *count, double value)
{
	size_t i = 0;

	if (!isfinite(value))
		return;
	while (i < *count && list[i] < value)
		i++;
	if (i < *count && list[i] == value)
		return;
	memmove(list + i + 1, list + i, (*count - i) * sizeof(*list));
	list[i] = value;
	*count += 1;
}

/* The coordinates of a place on the map. */
struct map_place {
	const char *of;
	double batch, width;
};

/*
 * The fastest strategy and the next one of another mode at a place of the map; NULL if nothing was
 * measured.
 */
static const struct strategy *strategies_map_fastest(const struct map *m,
						     const struct map_place *place,
						     const struct strategy *without)
{
	const struct strategy *best = NULL;

	for (size_t i = 0; i < m->strategies->count; i++) {
		const struct strategy *s = &m->strategies->items[i];

		if (strcmp(m->of[i], place->of) != 0 ||
		    strategies_map_global_batch(s) != place->batch ||
		    strategy_map_width_of(s) != place->width ||
		    (s->devices != m->devices && s->devices != 1) ||
		    (without && strcmp(view_string(case_parameter(s->c, "mode")->text),
				       view_string(case_parameter(without->c, "mode")->text)) == 0))
			continue;
		if (!best || s->seconds < best->seconds)
			best = s;
	}
	return best;
}

#define MODES_MOST VIEW_STYLES
#define UNDECIDED VIEW_STYLE_NONE

struct winners {
	char *names[MODES_MOST + 1]; /* by colour, "" if no mode has it; NULL-terminated */
	size_t cells[MODES_MOST], all;
};

static void strategies_map_winners_open(struct winners *w)
{
	*w = (struct winners){ .all = 0 };
	for (size_t i = 0; i < MODES_MOST; i++)
		w->names[i] = xstrdup(i == UNDECIDED ? "not distinguishable" : "");
}

static struct formatted strategy_map_mode_word(const struct strategy *strategy)
{
	return presented_parameter(strategy->view, strategy->c->suite,
				   case_parameter(strategy->c, "mode"));
}

/* The colour of its mode; if it has none or shares it, the next free colour. */
static size_t strategies_map_winner_of(struct winners *w, const struct strategy *strategy)
{
	const struct case_parameter *mode = case_parameter(strategy->c, "mode");
	size_t style = view_style(strategy->view, mode->name, view_string(mode->text));
	size_t i = style < MODES_MOST ? style : 0, tried = 0;
	const struct formatted word = strategy_map_mode_word(strategy);

	while (tried++ < MODES_MOST &&
	       (i == UNDECIDED || (*w->names[i] && strcmp(w->names[i], word.text) != 0)))
		i = (i + 1) % MODES_MOST;
	if (!*w->names[i]) {
		free(w->names[i]);
		w->names[i] = xstrdup(word.text);
	}
	return i;
}

/* Both, if it is unknown which one is faster. */
static void strategies_map_decide_cell(struct chart_point *cell, const struct strategy *best,
				       const struct strategy *next, struct winners *winners)
{
	if (strategies_apart(best, next)) {
		cell->style = strategies_map_winner_of(winners, best);
		cell->label =
			xasprintf("%s %s", winners->names[cell->style], format_ratio(cell->y).text);
	} else {
		cell->style = UNDECIDED;
		cell->label = xasprintf("%s, %s", strategy_map_mode_word(best).text,
					strategy_map_mode_word(next).text);
	}
	winners->cells[cell->style]++;
	winners->all++;
}

static void strategies_map_add_cell(const struct map *m, const struct map_place *place,
				    struct chart_series *row, struct winners *winners)
{
	const struct strategy *best = strategies_map_fastest(m, place, NULL);
	const struct strategy *next = best ? strategies_map_fastest(m, place, best) : NULL;
	struct chart_point *cell;
	char text[32];

	snprintf(text, sizeof(text), "%.0f", place->width);
	if (!next)
		return;
	cell = chart_point_new(row, text);
	cell->y = next->seconds / best->seconds;
	strategies_map_decide_cell(cell, best, next, winners);
}

/*
 * A size by formula, for a strategy of the map; NaN: none. The highest rates of a run come from all
 * its cases.
 */
static double strategies_map_critical_size(const struct map *m, const char *of, const char *metric)
{
	for (size_t i = 0; i < m->strategies->count; i++) {
		const struct metric_value *v = case_metric(m->strategies->items[i].c, metric);

		if (v && strcmp(m->of[i], of) == 0 && m->strategies->items[i].devices == m->devices)
			return v->value;
	}
	return NAN;
}

/* Three digits without an exponent: "1130". */
static struct formatted strategies_map_three_digits(double value)
{
	return format_text("%.0f", strtod(format_text("%.2e", value).text, NULL));
}

static void strategies_map_add_critical(const struct map *m, const char *of, struct text *out)
{
	double batch = strategies_map_critical_size(m, of, "parallel.critical_batch"),
	       width = strategies_map_critical_size(m, of, "parallel.critical_width");

	if (isfinite(batch))
		text_addf(out,
			  " With %s rows per device or more (b*), DDP can hide its all-reduce, at "
			  "the highest rates of this run.",
			  strategies_map_three_digits(batch).text);
	if (isfinite(width))
		text_addf(out,
			  " At width %s and above (d*), an all-reduce of tensor parallelism takes "
			  "less time than the GEMMs around it.",
			  strategies_map_three_digits(width).text);
}

static char *strategies_map_crossover_finding(const struct map *m, const char *of,
					      const struct winners *w)
{
	struct text out = TEXT_EMPTY;

	for (size_t i = 0; i < MODES_MOST; i++)
		if (i != UNDECIDED && w->cells[i])
			text_addf(&out, "%s%s is fastest in %zu of %zu cells",
				  out.length ? "; " : "", w->names[i], w->cells[i], w->all);
	if (w->cells[UNDECIDED])
		text_addf(&out, "%s %zu of %zu cells, the fastest two are not distinguishable",
			  out.length ? "; in" : "In", w->cells[UNDECIDED], w->all);
	text_add_char(&out, '.');
	strategies_map_add_critical(m, of, &out);
	return text_detach(&out);
}

static void strategies_map_draw(const struct map *m, const char *of, struct tree *charts,
				struct tree *answers)
{
	struct winners winners;
	struct chart chart;

	strategies_map_winners_open(&winners);
	strategies_chart(m->strategies, &chart, CHART_MAP, charts,
			 xasprintf("Fastest strategy on %.0f devices%s%s", m->devices,
				   *of ? ": " : "", of));
	chart.shows = xstrdup("Fastest strategy for each batch (rows) and layer width (columns), "
			      "including a single device. A cell shows the lead over the second "
			      "strategy, or names both if their intervals overlap.");
	free(chart.x_name);
	chart.x_name = xstrdup("batch \\ width");
	for (size_t b = 0; b < m->batch_count; b++) {
		char text[32];
		struct chart_series *row;

		snprintf(text, sizeof(text), "%.0f", m->batches[b]);
		row = chart_series_named(&chart, text);
		for (size_t w = 0; w < m->width_count; w++)
			strategies_map_add_cell(m,
						&(struct map_place){ of, m->batches[b],
								     m->widths[w] },
						row, &winners);
	}
	chart.key = (const char *const *)winners.names;
	chart.finding = strategies_map_crossover_finding(m, of, &winners);
	if (winners.all) {
		char *words = xasprintf("%s, over batch and width: %s", chart.title, chart.finding);

		chart_draw(&chart, charts);
		tree_item_text(answers, words);
		free(words);
	}
	chart_release(&chart);
	for (size_t i = 0; i < MODES_MOST; i++)
		free(winners.names[i]);
}

void strategies_map_crossover(const struct strategies *strategies, struct tree *charts,
			      struct tree *answers)
{
	/* The properties that are equal on one map: all except batch, width and devices. */
	static const char *const without[] = { STRATEGY_PARAMETERS, "batch", "width", "hidden",
					       "batch_mode",        NULL };
	struct map m = { .strategies = strategies,
			 .of = xcalloc(strategies->count + 1, sizeof(char *)),
			 .batches = xcalloc(strategies->count + 1, sizeof(double)),
			 .widths = xcalloc(strategies->count + 1, sizeof(double)) };

	for (size_t i = 0; i < strategies->count; i++) {
		m.of[i] = view_parameters(strategies->view, strategies->items[i].c, without);
		strategies_map_add_distinct(m.batches, &m.batch_count,
					    strategies_map_global_batch(&strategies->items[i]));
		strategies_map_add_distinct(m.widths, &m.width_count,
					    strategy_map_width_of(&strategies->items[i]));
	}
	for (size_t i = 0; i < strategies->count && m.batch_count > 1 && m.width_count > 1; i++) {
		size_t first = 0;

		m.devices = strategies->items[i].devices;
		while (strcmp(m.of[first], m.of[i]) != 0 ||
		       strategies->items[first].devices != m.devices)
			first++;
		if (first == i && m.devices > 1)
			strategies_map_draw(&m, m.of[i], charts, answers);
	}
	for (size_t i = 0; i < strategies->count; i++)
		free(m.of[i]);
	free(m.of);
	free(m.batches);
	free(m.widths);
}
