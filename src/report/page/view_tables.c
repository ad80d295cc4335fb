/*
 * Tables of cases whose metrics belong together and are not points of a curve: a row a case, a column a
 * metric. The table below names them.
 *
 * Adding a table: a row in rules.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/view/format.h"
#include "report/view/view.h"

#define COLUMNS 8

#define SEARCHED                                                                                     \
	"Memory: tensors and workspaces of that step when most are in use. Context: what the process "  \
	"takes before its first tensor. Budget: the card's memory without it and without the reserve. "   \
	"Trials: processes that tried a step, and the one that looked for the budget."

static const struct {
	const char *suite, *title;
	const char *without[4];       /* parameters that the title says */
	const char *columns[COLUMNS]; /* metrics; a case without the first is not in the table */
	const char *note;             /* words that the heads do not explain; NULL: none */
} rules[] = {
	{ "alloc",
	  "Fragmentation: what still fits when free memory is in pieces (1: the request fits, 0: "
	  "not)",
	  { "operation" },
	  { "alloc.external_frag", "alloc.total_free", "alloc.largest_free", "alloc.fits_block",
	    "alloc.fits_double", "alloc.fits_quarter", "alloc.kept" },
	  NULL },
	{ "alloc",
	  "What a block really takes",
	  { "operation" },
	  { "alloc.cost", "alloc.cost_ratio", "alloc.granularity", "alloc.alignment" },
	  NULL },
	{ "alloc",
	  "Using up the device",
	  { "operation" },
	  { "alloc.granted", "alloc.granted_share", "alloc.failure", "alloc.lost" },
	  NULL },
	{ "trainmem",
	  "The largest batch that fits, by memory of the card",
	  { "study" },
	  { "trainmem.largest_batch", "trainmem.halving_batch", "trainmem.trials", "trainmem.memory",
	    "trainmem.context", "trainmem.budget", "trainmem.search_time" },
	  SEARCHED " Halving batch: what halving a power of two would have found." },
	{ "trainmem",
	  "The widest model that fits, by memory of the card",
	  { "study" },
	  { "trainmem.largest_width", "trainmem.largest_parameters", "trainmem.trials",
	    "trainmem.memory", "trainmem.context", "trainmem.budget", "trainmem.search_time" },
	  SEARCHED },
	{ "trainmem",
	  "What a step needs by phase, and how much of the process' memory is accounted for",
	  { "study" },
	  { "trainmem.peak_forward", "trainmem.peak_backward", "trainmem.peak_optimizer",
	    "trainmem.bytes_per_sample", "trainmem.balance_batch", "trainmem.context", "trainmem.process",
	    "trainmem.accounted" },
	  "Peaks: the most in use in that phase. Balance batch (B*): from there on input and activations take more than "
	  "parameters, gradients and optimizer state. Process: its memory after forward, as the system sees it. Accounted: "
	  "the part of it that tensors, workspaces and context explain." },
	{ "trainmem",
	  "What needing less memory saves, and what it costs",
	  { "study" },
	  { "trainmem.saved", "trainmem.activations_saved", "trainmem.slowdown", "trainmem.memory",
	    "trainmem.step_time" },
	  "Against the plain step, measured in the same case: all outputs kept, in one allocation. Saved: part of its "
	  "memory, and of its activations. Slowdown: step time / its time." },
};

static void add_head(const char *const *columns, struct tree *table)
{
	struct tree *head = tree_list(table, "head");

	for (size_t i = 0; i < COLUMNS && columns[i]; i++) {
		char name[FORMAT_SIZE];

		format_metric(columns[i], name, sizeof(name));
		format_capital(name);
		tree_item_text(head, name);
	}
}

/* "small: FP32, arena, 8 GiB" */
static char *name_of(const struct case_result *c, const char *const *without)
{
	char *parameters = view_named_parameters(c, without);
	const char *section = view_section(c);
	char *name = xasprintf("%s%s%s", section, *section ? ": " : "", parameters);

	free(parameters);
	return name;
}

static void add_row(const struct view *view, size_t run, const struct case_result *c, size_t rule,
		    struct tree *rows)
{
	char *name = name_of(c, rules[rule].without), *devices = view_devices(c);
	struct tree *row = tree_item(rows), *cells = tree_list(row, "cells");

	view_text(row, "name", name);
	tree_text(row, "where",
		  view->count > 1 ? view->sources[view_source_of(view, run, c)].label : devices);
	tree_text(row, "interval", "");
	for (size_t i = 0; i < COLUMNS && rules[rule].columns[i]; i++) {
		const struct metric_value *m = case_metric(c, rules[rule].columns[i]);
		char text[FORMAT_SIZE];

		tree_item_text(cells,
			       format_value(m, text, sizeof(text)));
	}
	free(name);
	free(devices);
}

static void add_rows(const struct view *view, size_t rule, struct tree *rows)
{
	for (size_t r = 0; r < view->count; r++) {
		for (size_t i = 0; i < view->results[r].case_count; i++) {
			const struct case_result *c = &view->results[r].cases[i];

			if (strcmp(view_string(c->suite), rules[rule].suite) == 0 &&
			    case_metric(c, rules[rule].columns[0]))
				add_row(view, r, c, rule, rows);
		}
	}
}

static bool has_rows(const struct view *view, size_t rule)
{
	for (size_t r = 0; r < view->count; r++)
		for (size_t i = 0; i < view->results[r].case_count; i++)
			if (strcmp(view_string(view->results[r].cases[i].suite),
				   rules[rule].suite) == 0 &&
			    case_metric(&view->results[r].cases[i], rules[rule].columns[0]))
				return true;
	return false;
}

void view_tables(const struct view *view, const char *suite, struct tree *map)
{
	struct tree *tables = tree_list(map, "tables");

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		struct tree *table;

		if (strcmp(rules[i].suite, suite) != 0 || !has_rows(view, i))
			continue;
		table = tree_item(tables);
		tree_text(table, "title", rules[i].title);
		tree_text(table, "first", "Case");
		tree_text(table, "second", "Where");
		add_head(rules[i].columns, table);
		add_rows(view, i, tree_list(table, "rows"));
		tree_text(table, "note", rules[i].note ? rules[i].note : "");
	}
	view_split_limits(view, suite, tables);
}
