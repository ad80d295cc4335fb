/* Cases of several runs side by side. Ratios are those of view_changes.c. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "report/page/view_sections.h"
#include "report/view/format.h"
#include "report/view/presented.h"
#include "report/view/view.h"

/* The same case on different devices: a row. */
struct match {
	char *key, *label;
	const struct case_result **cases; /* by source; NULL: not in that run */
};

struct matches {
	const struct view *view;
	struct match *items;
	size_t count, capacity, last;
};

/* The case's other devices: "→ cuda:1" of a copy from cuda:0. Where it starts is the column. */
static void add_partners(struct text *out, const struct case_result *c)
{
	for (size_t i = 1; i < c->device_count; i++)
		text_addf(out, "%s%s", i == 1 ? (out->length ? ", with " : "with ") : " ",
			  view_string(c->devices[i]));
}

static char *compare_page_match_label(const struct view *view, const struct case_result *c)
{
	struct text out = TEXT_EMPTY;
	char *parameters = view_parameters(view, c, NULL);

	if (*view_section(c))
		text_addf(&out, "%s%s", view_section(c), *parameters ? ", " : "");
	text_add(&out, parameters);
	add_partners(&out, c);
	free(parameters);
	return text_detach(&out);
}

/*
 * Rows are found by their label; runs have the same order, so the row is mostly the one after the
 * last.
 */
static struct match *compare_page_match_of(struct matches *matches, const struct case_result *c)
{
	char *label = compare_page_match_label(matches->view, c);
	size_t i = matches->last + 1;

	if (i >= matches->count || strcmp(matches->items[i].label, label) != 0)
		for (i = 0; i < matches->count && strcmp(matches->items[i].label, label) != 0;)
			i++;
	matches->last = i;
	if (i < matches->count) {
		free(label);
		return &matches->items[i];
	}
	ARRAY_GROW(matches->items, matches->count, matches->capacity);
	matches->items[matches->count++] =
		(struct match){ .label = label,
				.cases = xcalloc(matches->view->source_count, sizeof(c)) };
	return &matches->items[i];
}

static void compare_page_match_all(struct matches *matches, const struct view *view,
				   const char *suite)
{
	*matches = (struct matches){ .view = view };
	for (size_t r = 0; r < view->count; r++) {
		for (size_t i = 0; i < view->results[r].case_count; i++) {
			const struct case_result *c = &view->results[r].cases[i];
			struct match *match;

			if (strcmp(view_string(c->suite), suite) != 0)
				continue;
			match = compare_page_match_of(matches, c);
			match->cases[view_source_of(view, r, c)] = c;
		}
	}
}

static void compare_page_show_cell(const struct view *view, struct tree *cells,
				   const struct case_result *c)
{
	const struct metric_value *m = c && c->status == CASE_OK ? view_headline(c) : NULL;
	struct tree *cell = tree_item(cells);
	char text[FORMAT_SIZE];

	tree_text(cell, "value",
		  m   ? view_value(view, m, text, sizeof(text))
		  : c ? format_status_word(c->status)
		      : "not in this run");
	tree_text(cell, "symbol",
		  m   ? ""
		  : c ? format_status_symbol(c->status)
		      : format_status_symbol(CASE_SKIPPED));
	tree_text(cell, "interval", m ? view_interval(view, m, text, sizeof(text)) : "");
	tree_flag(cell, "noisy", c && m && view_metric_noisy(c, m));
}

void view_compared_cases(const struct view *view, const char *suite, struct tree *map)
{
	const struct metric_value *m = NULL;
	struct tree *rows = tree_list(map, "compared");
	struct matches matches;
	char name[FORMAT_SIZE];

	compare_page_match_all(&matches, view, suite);
	for (size_t i = 0; i < matches.count; i++) {
		const struct match *match = &matches.items[i];
		struct tree *row = tree_item(rows), *cells;

		view_text(row, "label", *match->label ? match->label : suite);
		cells = tree_list(row, "cells");
		for (size_t s = 0; s < view->source_count; s++) {
			compare_page_show_cell(view, cells, match->cases[s]);
			if (!m && match->cases[s])
				m = view_headline(match->cases[s]);
		}
	}
	view_case_count(map, matches.count);
	tree_text(map, "metric",
		  m ? view_metric_title(view, view_string(m->name), name, sizeof(name)) : "value");
	tree_text(map, "better", m ? format_better(m->better) : "");
	for (size_t i = 0; i < matches.count; i++) {
		free(matches.items[i].label);
		free(matches.items[i].cases);
	}
	free(matches.items);
}
