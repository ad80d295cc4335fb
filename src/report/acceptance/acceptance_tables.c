/*
 * The table with a row per device and a column per aspect: the worst verdict and the smallest
 * margin. Words, not colours alone. With many devices, each column first counts the devices by
 * verdict. Only the worst devices follow, and the others are folded.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/acceptance/acceptance.h"
#include "report/view/view.h"

#define MOST_OPEN 8   /* devices of a table that is not folded */
#define MOST_WORST 16 /* failed devices above the fold */
#define LEAST_WORST 3 /* with fewer, devices that are not in order follow, up to as many */
#define MOST_WORDS 12 /* that cells of one column have */

/* Orders cells by their class in report.css; a higher number is worse. */
static size_t acceptance_tables_cell_gravity(const struct tree *cell)
{
	static const char *const order[] = { "none", "ok", "skipped", "noisy", "error", "failed" };
	const char *own = tree_member_text(cell, "kind");
	size_t i = ARRAY_SIZE(order) - 1;

	while (i > 0 && strcmp(order[i], own) != 0)
		i--;
	return i;
}

#define IN_ORDER 1 /* gravity of "ok" */
#define FAILED 5

/* The worst cell of a row; NULL: none. */
static const struct tree *acceptance_tables_fold_worst_cell(const struct tree *row)
{
	const struct tree *cells = row ? tree_member(row, "cells") : NULL, *worst = NULL;

	for (size_t i = 0; cells && i < cells->count; i++)
		if (!worst || acceptance_tables_cell_gravity(cells->children[i]) >
				      acceptance_tables_cell_gravity(worst))
			worst = cells->children[i];
	return worst;
}

/* Cells counted by their word. */
struct verdict_tally {
	const struct tree *cell;
	size_t count;
};

struct tallies {
	struct verdict_tally items[MOST_WORDS];
	size_t count;
};

static void acceptance_tables_fold_count_cell(struct tallies *t, const struct tree *cell)
{
	size_t i = 0;

	while (i < t->count && strcmp(tree_member_text(t->items[i].cell, "word"),
				      tree_member_text(cell, "word")) != 0)
		i++;
	if (i == MOST_WORDS)
		return;
	if (i == t->count)
		t->items[t->count++] = (struct verdict_tally){ .cell = cell };
	t->items[i].count++;
}

static int acceptance_tables_by_gravity(const void *a, const void *b)
{
	size_t x = acceptance_tables_cell_gravity(((const struct verdict_tally *)a)->cell);
	size_t y = acceptance_tables_cell_gravity(((const struct verdict_tally *)b)->cell);

	return (x < y) - (x > y);
}

/* "3 FAIL, 2 INCONCLUSIVE" from the `first` on. */
static char *acceptance_tables_tallies_words(struct tallies *t, size_t first)
{
	struct text out = TEXT_EMPTY;

	for (size_t i = first; i < t->count; i++)
		format_list(&out, "%zu %s", t->items[i].count,
			    tree_member_text(t->items[i].cell, "word"));
	return text_detach(&out);
}

/* The row about all devices: in each column the worst words in front. */
static struct tree *acceptance_tables_fold_row_of_all(const struct tree *rows)
{
	struct tree *all = tree_new(TREE_MAP), *cells;
	const struct tree *first = tree_member(rows->children[0], "cells");

	tree_textf(all, "device", "all %zu devices", rows->count);
	for (size_t i = 0; i < rows->children[0]->count; i++) {
		const struct tree *member = rows->children[0]->children[i];

		if (member->kind == TREE_TEXT && strcmp(member->name, "device") != 0)
			tree_text(all, member->name, "");
	}
	cells = tree_list(all, "cells");
	for (size_t k = 0; k < first->count; k++) {
		struct tallies t = { .count = 0 };
		struct tree *cell = tree_item(cells);

		for (size_t i = 0; i < rows->count; i++)
			acceptance_tables_fold_count_cell(
				&t, tree_member(rows->children[i], "cells")->children[k]);
		qsort(t.items, t.count, sizeof(*t.items), acceptance_tables_by_gravity);
		tree_text(cell, "kind", tree_member_text(t.items[0].cell, "kind"));
		tree_text(cell, "symbol", tree_member_text(t.items[0].cell, "symbol"));
		tree_textf(cell, "word", "%zu %s", t.items[0].count,
			   tree_member_text(t.items[0].cell, "word"));
		tree_text(cell, "aspect", tree_member_text(t.items[0].cell, "aspect"));
		tree_text_owned(cell, "detail", acceptance_tables_tallies_words(&t, 1));
	}
	return all;
}

static struct tree *acceptance_tables_fold_of(struct tree *tables, char *folded)
{
	struct tree *table = tree_item(tables);

	tree_text_owned(table, "folded", folded);
	return tree_list(table, "rows");
}

/* Moves the rows of a gravity within bounds that are left in `rows`, at most `most`. */
static void acceptance_tables_fold_move_rows(struct tree *rows, struct tree *to, size_t least,
					     size_t most)
{
	for (size_t i = 0; i < rows->count && most; i++) {
		const struct tree *worst = acceptance_tables_fold_worst_cell(rows->children[i]);

		if (!rows->children[i] ||
		    (worst ? acceptance_tables_cell_gravity(worst) : 0) < least)
			continue;
		tree_append(to, rows->children[i]);
		rows->children[i] = NULL;
		most--;
	}
}

/* The rows that are left, under "112 more devices, by worst verdict: 3 INCONCLUSIVE, 109 PASS". */
static void acceptance_tables_fold_rest(struct tree *rows, struct tree *tables)
{
	struct tallies t = { .count = 0 };
	size_t left = 0;
	char *words;

	for (size_t i = 0; i < rows->count; i++) {
		const struct tree *worst = acceptance_tables_fold_worst_cell(rows->children[i]);

		left += rows->children[i] != NULL;
		if (worst)
			acceptance_tables_fold_count_cell(&t, worst);
	}
	if (!left)
		return;
	qsort(t.items, t.count, sizeof(*t.items), acceptance_tables_by_gravity);
	words = acceptance_tables_tallies_words(&t, 0);
	acceptance_tables_fold_move_rows(rows,
					 acceptance_tables_fold_of(tables,
								   xasprintf("%zu more devices, by "
									     "worst verdict: %s",
									     left, words)),
					 0, left);
	free(words);
}

/*
 * Puts `rows` (a list, taken over) on the page as a list of tables: of many devices with a row
 * about all, and the others but the worst in a second table with the words of its fold.
 */
static void acceptance_tables_fold(struct tree *page, struct tree *rows)
{
	struct tree *tables = tree_list(page, "aspect_tables"),
		    *shown = acceptance_tables_fold_of(tables, xstrdup(""));

	if (rows->count <= MOST_OPEN) {
		acceptance_tables_fold_move_rows(rows, shown, 0, rows->count);
	} else {
		tree_append(shown, acceptance_tables_fold_row_of_all(rows));
		acceptance_tables_fold_move_rows(rows, shown, FAILED, MOST_WORST);
		if (shown->count <= LEAST_WORST)
			acceptance_tables_fold_move_rows(rows, shown, IN_ORDER + 1,
							 LEAST_WORST + 1 - shown->count);
		acceptance_tables_fold_rest(rows, tables);
	}
	rows->count = 0;
	tree_free(rows);
}

struct tree *acceptance_tables_add_aspect(const struct aspect_judgement *a, enum aspect aspect,
					  struct tree *cells)
{
	struct tree *cell = tree_item(cells);
	bool open = a && a->checks &&
		    (a->verdict == VERDICT_INCONCLUSIVE || a->verdict == VERDICT_ERROR);

	if (open || (a && a->judged))
		acceptance_set_verdict(cell, a->verdict);
	else if (a && a->promised)
		acceptance_set_words(cell, "error", "?", "not judged");
	else
		acceptance_set_words(cell, "none", "·", "not requested");
	tree_text(cell, "aspect", aspect_name(aspect));
	return cell;
}

static void acceptance_tables_aspects_add_cell(const struct aspect_judgement *a, enum aspect aspect,
					       struct tree *cells)
{
	struct tree *cell = acceptance_tables_add_aspect(a, aspect, cells);

	if (!a || !a->judged)
		view_text(cell, "detail", a ? a->reason : "");
	else if (isfinite(a->margin))
		tree_textf(cell, "detail", "%zu of %zu, margin %s", a->passed, a->checks,
			   format_margin(a->margin).text);
	else
		tree_textf(cell, "detail", "%zu of %zu", a->passed, a->checks);
}

void acceptance_tables_aspects(const struct acceptance *a, struct tree *page)
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
			acceptance_tables_aspects_add_cell(verdict_device_aspect(&v->devices[i],
										 (enum aspect)k),
							   (enum aspect)k, cells);
	}
	acceptance_tables_fold(page, rows);
	tree_flag(page, "has_aspects", v->device_count != 0);
}
