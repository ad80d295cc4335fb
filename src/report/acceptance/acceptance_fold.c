/*
 * Tables with a row per device. With many devices, each column first counts the devices by verdict.
 * Only the worst devices follow, and the others are folded.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "report/acceptance/acceptance.h"
#include "report/template/tree.h"

#define MOST_OPEN 8   /* devices of a table that is not folded */
#define MOST_WORST 16 /* failed devices above the fold */
#define LEAST_WORST 3 /* with fewer, devices that are not in order follow, up to as many */
#define MOST_WORDS 12 /* that cells of one column have */

/* Orders cells by their class in report.css; a higher number is worse. */
static size_t cell_gravity(const struct tree *cell)
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

static const struct tree *fold_cell_of(const struct tree *row, size_t column)
{
	return tree_member(row, "cells")->children[column];
}

/* The worst cell of a row. */
static const struct tree *fold_worst_cell(const struct tree *row)
{
	const struct tree *cells = tree_member(row, "cells"), *worst = NULL;

	for (size_t i = 0; i < cells->count; i++)
		if (!worst || cell_gravity(cells->children[i]) > cell_gravity(worst))
			worst = cells->children[i];
	return worst;
}

static size_t gravity_of(const struct tree *row)
{
	const struct tree *worst = fold_worst_cell(row);

	return worst ? cell_gravity(worst) : 0;
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

static void fold_count_cell(struct tallies *t, const struct tree *cell)
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

static int by_gravity(const void *a, const void *b)
{
	size_t x = cell_gravity(((const struct verdict_tally *)a)->cell);
	size_t y = cell_gravity(((const struct verdict_tally *)b)->cell);

	return (x < y) - (x > y);
}

/* "3 FAIL, 2 INCONCLUSIVE" from the `first` on. */
static char *tallies_words(struct tallies *t, size_t first)
{
	struct text out = TEXT_EMPTY;

	for (size_t i = first; i < t->count; i++)
		text_addf(&out, "%s%zu %s", i > first ? ", " : "", t->items[i].count,
			  tree_member_text(t->items[i].cell, "word"));
	return out.data ? text_detach(&out) : xstrdup("");
}

/* The row about all devices: in each column the worst words in front. */
static struct tree *fold_row_of_all(const struct tree *rows, const char *detail)
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
			fold_count_cell(&t, fold_cell_of(rows->children[i], k));
		qsort(t.items, t.count, sizeof(*t.items), by_gravity);
		tree_text(cell, "kind", tree_member_text(t.items[0].cell, "kind"));
		tree_text(cell, "symbol", tree_member_text(t.items[0].cell, "symbol"));
		tree_textf(cell, "word", "%zu %s", t.items[0].count,
			   tree_member_text(t.items[0].cell, "word"));
		tree_text(cell, "aspect", tree_member_text(t.items[0].cell, "aspect"));
		tree_text_owned(cell, detail, tallies_words(&t, 1));
	}
	return all;
}

static struct tree *fold_table_of(struct tree *tables, char *folded)
{
	struct tree *table = tree_item(tables);

	tree_text_owned(table, "folded", folded);
	return tree_list(table, "rows");
}

/* "112 more devices: 3 INCONCLUSIVE, 109 PASS" */
static char *fold_words(struct tree *const *rows, size_t count)
{
	struct tallies t = { .count = 0 };
	char *words, *out;

	for (size_t i = 0; i < count; i++)
		if (fold_worst_cell(rows[i]))
			fold_count_cell(&t, fold_worst_cell(rows[i]));
	qsort(t.items, t.count, sizeof(*t.items), by_gravity);
	words = tallies_words(&t, 0);
	out = xasprintf("%zu more devices, by worst verdict: %s", count, words);
	free(words);
	return out;
}

/* Moves the rows of a gravity within bounds that are left in `rows`, at most `most`. */
static void fold_move_rows(struct tree *rows, struct tree *to, size_t least, size_t most)
{
	for (size_t i = 0; i < rows->count && most; i++) {
		if (!rows->children[i] || gravity_of(rows->children[i]) < least)
			continue;
		tree_append(to, rows->children[i]);
		rows->children[i] = NULL;
		most--;
	}
}

void acceptance_fold(struct tree *page, const char *name, struct tree *rows, const char *detail)
{
	struct tree *tables = tree_list(page, name), *shown = fold_table_of(tables, xstrdup(""));
	size_t left = 0;

	if (rows->count <= MOST_OPEN) {
		fold_move_rows(rows, shown, 0, rows->count);
	} else {
		tree_append(shown, fold_row_of_all(rows, detail));
		fold_move_rows(rows, shown, FAILED, MOST_WORST);
		if (shown->count <= LEAST_WORST)
			fold_move_rows(rows, shown, IN_ORDER + 1, LEAST_WORST + 1 - shown->count);
		for (size_t i = 0; i < rows->count; i++)
			if (rows->children[i])
				rows->children[left++] = rows->children[i];
		rows->count = left;
		if (left)
			fold_move_rows(rows,
				       fold_table_of(tables, fold_words(rows->children, left)), 0,
				       left);
	}
	rows->count = 0;
	tree_free(rows);
}
