/*
 * Table of aspects: a row per device, a column per aspect, with the worst verdict and the smallest
 * margin.
 */
#include <math.h>

#include "report/acceptance/acceptance.h"
#include "report/view/format.h"
#include "report/view/view.h"
#include "result/verdict.h"

static void acceptance_aspects_set_words(struct tree *cell, const char *kind, const char *symbol,
					 const char *word)
{
	tree_text(cell, "kind", kind);
	tree_text(cell, "symbol", symbol);
	tree_text(cell, "word", word);
}

static void acceptance_aspects_set_detail(const struct aspect_judgement *a, struct tree *cell)
{
	if (!a || !a->judged)
		view_text(cell, "detail", a ? a->reason : "");
	else if (isfinite(a->margin))
		tree_textf(cell, "detail", "%zu of %zu, margin %s", a->passed, a->checks,
			   format_margin(a->margin).text);
	else
		tree_textf(cell, "detail", "%zu of %zu", a->passed, a->checks);
}

static void aspects_add_cell(const struct aspect_judgement *a, const char *aspect,
			     struct tree *cells)
{
	struct tree *cell = tree_item(cells);

	if (a && a->judged)
		acceptance_aspects_set_words(cell, acceptance_kind(a->verdict),
					     acceptance_symbol(a->verdict),
					     verdict_name(a->verdict));
	else if (a && a->promised)
		acceptance_aspects_set_words(cell, "error", "?", "not judged");
	else
		acceptance_aspects_set_words(cell, "none", "·", "not asked for");
	tree_text(cell, "aspect", aspect);
	acceptance_aspects_set_detail(a, cell);
}

void acceptance_aspects(const struct acceptance *a, struct tree *page)
{
	const struct verdicts *v = a->result->judgement;
	struct tree *columns = tree_list(page, "aspect_columns"), *rows = tree_new(TREE_LIST);

	for (int k = ASPECT_NONE + 1; k < ASPECT_COUNT; k++)
		tree_item_text(columns, aspect_name((enum aspect)k));
	for (size_t i = 0; i < v->device_count; i++) {
		struct tree *row = tree_item(rows), *cells;

		view_text(row, "device", v->devices[i].device);
		view_text(row, "serial", v->devices[i].serial);
		cells = tree_list(row, "cells");
		for (int k = ASPECT_NONE + 1; k < ASPECT_COUNT; k++)
			aspects_add_cell(device_aspect(&v->devices[i], (enum aspect)k),
					 aspect_name((enum aspect)k), cells);
	}
	acceptance_fold(page, "aspect_tables", rows, "detail");
	tree_flag(page, "has_aspects", v->device_count != 0);
}
