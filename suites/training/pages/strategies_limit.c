/* A table of the fastest strategy of each model within a memory limit. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "report/view/format.h"
#include "report/view/memory_limit.h"
#include "suites/training/pages/strategies.h"

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
		  "Fastest strategy under a memory limit per device. The limit covers tensors "
		  "and workspaces, not context and collectives' library");
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
