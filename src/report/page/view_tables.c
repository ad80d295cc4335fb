/*
 * Tables of cases whose metrics belong together and are not points of a curve: a row a case, a
 * column a metric. The suite's rows name them (result/presentation.h).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/page/view_sections.h"
#include "report/view/suite_page.h"
#include "report/view/format.h"
#include "report/view/presented.h"
#include "report/view/view.h"

/* "small: FP32, arena, 8 GiB" */
static char *table_case_name(const struct view *view, const struct case_result *c,
			     const char *const *without)
{
	char *parameters = view_named_parameters(view, c, without);
	const char *section = view_section(c);
	char *name = xasprintf("%s%s%s", section, *section ? ": " : "", parameters);

	free(parameters);
	return name;
}

static void tables_add_row(const struct view *view, const struct case_result *c,
			   const struct table_row *table, struct tree *rows)
{
	char *name = table_case_name(view, c, table->without);
	struct tree *row = tree_item(rows), *cells = tree_list(row, "cells");

	view_text(row, "name", name);
	tree_text_owned(row, "where", view_devices(view, c));
	tree_text(row, "interval", "");
	for (size_t i = 0; table->columns[i]; i++) {
		const struct metric_value *m = case_metric(c, table->columns[i]);

		tree_item_text(cells, view_value(view, m).text);
	}
	free(name);
}

void view_tables(const struct view *view, const char *suite, struct tree *map)
{
	const struct presentation p = view_presentation(view, suite);
	struct tree *tables = tree_list(map, "tables");

	for (const struct table_row *row = p.tables; row && row->title; row++) {
		struct tree *table = tree_new(TREE_MAP), *head, *rows = tree_list(table, "rows");

		for (size_t i = 0; i < view->results->case_count; i++)
			if (strcmp(view_string(view->results->cases[i].suite), suite) == 0 &&
			    row->columns[0] &&
			    case_metric(&view->results->cases[i], row->columns[0]))
				tables_add_row(view, &view->results->cases[i], row, rows);
		if (!rows->count) {
			tree_free(table);
			continue;
		}
		tree_append(tables, table);
		view_text(table, "title", row->title);
		tree_text(table, "first", "Case");
		tree_text(table, "second", "Where");
		head = tree_list(table, "head");
		for (size_t i = 0; row->columns[i]; i++) {
			struct formatted name;

			name = view_metric_title(view, row->columns[i]);
			format_capital(name.text);
			tree_item_text(head, name.text);
		}
		view_text(table, "note", row->note ? row->note : "");
	}
	if (suite_page_of(suite).limits)
		suite_page_of(suite).limits(view, suite, tables);
}
