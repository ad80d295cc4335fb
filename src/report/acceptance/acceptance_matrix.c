/* A row per device, a column per suite: the page's most printed table. Words, not colours alone. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/acceptance/acceptance.h"
#include "report/view/format.h"
#include "report/view/view.h"

/* The outcome of one suite on one device. */
struct device_cell {
	size_t counts[VERDICT_COUNT];
	size_t missing; /* of the skipped, those that no limit allows */
	size_t checks, cases, ran, wrong, errors;
};

/* `suite` NULL: checks that are of no case. */
static struct device_cell matrix_cell(const struct acceptance *a,
				      const struct acceptance_devices *devices, size_t d,
				      const char *suite)
{
	const struct device_items *checks = &devices->checks, *cases = &devices->cases;
	struct device_cell cell = { .checks = 0 };

	for (size_t i = checks->starts[d]; i < checks->starts[d + 1]; i++) {
		const struct verdict_check *c = &a->result->judgement->checks[checks->items[i]];

		if (suite ? strcmp(c->suite, suite) != 0 : *c->case_id != '\0')
			continue;
		cell.counts[c->verdict]++;
		cell.missing += c->verdict == VERDICT_SKIP && !c->accepted;
		cell.checks++;
	}
	for (size_t i = cases->starts[d]; suite && i < cases->starts[d + 1]; i++) {
		const struct case_result *c = &a->result->cases[cases->items[i]];

		if (strcmp(view_string(c->suite), suite) != 0)
			continue;
		cell.cases++;
		cell.ran += c->status != CASE_SKIPPED;
		cell.wrong += c->status == CASE_FAILED;
		cell.errors += c->status == CASE_ERROR;
	}
	return cell;
}

/* The worst first. */
static enum verdict matrix_worst_verdict(const struct device_cell *cell)
{
	static const enum verdict order[] = { VERDICT_FAIL, VERDICT_ERROR, VERDICT_INCONCLUSIVE,
					      VERDICT_WARN, VERDICT_PASS,  VERDICT_SKIP };

	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		if (order[i] == VERDICT_WARN && cell->missing)
			return VERDICT_SKIP;
		if (cell->counts[order[i]])
			return order[i];
	}
	return VERDICT_SKIP;
}

/* "12 of 12": how many checks have the word. */
static void matrix_add_cell(const struct device_cell *cell, bool health, struct tree *list)
{
	struct tree *item = tree_item(list);
	enum verdict worst = matrix_worst_verdict(cell);

	if (cell->checks) {
		tree_text(item, "kind", acceptance_kind(worst));
		tree_text(item, "symbol", acceptance_symbol(worst));
		tree_text(item, "word", verdict_name(worst));
		if (worst == VERDICT_SKIP || !cell->counts[VERDICT_SKIP])
			tree_textf(item, "count", "%zu of %zu", cell->counts[worst], cell->checks);
		else
			tree_textf(item, "count", "%zu of %zu, %zu skipped", cell->counts[worst],
				   cell->checks, cell->counts[VERDICT_SKIP]);
	} else if (cell->errors) {
		tree_text(item, "kind", "error");
		tree_text(item, "symbol", "!");
		tree_text(item, "word", "error");
		tree_textf(item, "count", "%zu of %zu, no limit", cell->errors, cell->cases);
	} else if (cell->ran) {
		tree_text(item, "kind", "none");
		tree_text(item, "symbol", "·");
		tree_text(item, "word", "no limit");
		tree_textf(item, "count", "%zu measured", cell->ran);
	} else {
		tree_text(item, "kind", health ? "none" : "skipped");
		tree_text(item, "symbol", health ? "·" : "○");
		tree_text(item, "word", health ? "nothing found" : "not run");
		tree_text(item, "count", "");
	}
}

static void matrix_add_device(const struct acceptance *a, const struct acceptance_devices *devices,
			      size_t index, const char *const *suites, size_t suite_count,
			      struct tree *rows)
{
	const struct device_info *d = &a->result->devices[index];
	const struct device_items *checks = &devices->checks;
	struct tree *row = tree_item(rows), *cells;
	struct device_cell health = matrix_cell(a, devices, index, NULL), all = { .checks = 0 };
	struct formatted name;

	for (size_t i = checks->starts[index]; i < checks->starts[index + 1]; i++) {
		all.counts[a->result->judgement->checks[checks->items[i]].verdict]++;
		all.checks++;
	}
	view_text(row, "device", d->id);
	name = view_device_name(d->name);
	view_text(row, "model", name.text);
	view_text(row, "uuid", d->uuid);
	view_text(row, "serial", d->serial);
	view_text(row, "pci", d->pci);
	tree_text(row, "kind", all.checks ? acceptance_kind(matrix_worst_verdict(&all)) : "none");
	cells = tree_list(row, "cells");
	for (size_t s = 0; s < suite_count; s++) {
		struct device_cell cell = matrix_cell(a, devices, index, suites[s]);

		matrix_add_cell(&cell, false, cells);
	}
	matrix_add_cell(&health, true, cells);
}

void acceptance_matrix(const struct acceptance *a, const struct acceptance_devices *devices,
		       struct tree *page)
{
	const struct result *r = a->result;
	const char **suites = xcalloc(r->case_count + 1, sizeof(*suites));
	struct tree *columns = tree_list(page, "matrix_columns"), *rows = tree_new(TREE_LIST);
	size_t count = 0;

	for (size_t i = 0; i < r->case_count; i++) {
		const char *suite = view_string(r->cases[i].suite);
		size_t s = 0;

		while (s < count && strcmp(suites[s], suite) != 0)
			s++;
		if (s == count)
			suites[count++] = suite;
	}
	for (size_t s = 0; s < count; s++)
		tree_item_text(columns, suites[s]);
	tree_item_text(columns, "condition");
	for (size_t i = 0; i < r->device_count; i++)
		matrix_add_device(a, devices, i, suites, count, rows);
	acceptance_fold(page, "matrix_tables", rows, "count");
	tree_flag(page, "has_matrix", r->device_count != 0);
	free(suites);
}
