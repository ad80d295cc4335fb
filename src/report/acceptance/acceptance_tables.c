/*
 * Tables with a row per device: a column per aspect, with the worst verdict and the smallest
 * margin; and one per suite, the page's most printed table. Words, not colours alone. With many
 * devices, each column first counts the devices by verdict. Only the worst devices follow, and the
 * others are folded.
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
static struct tree *acceptance_tables_fold_row_of_all(const struct tree *rows, const char *detail)
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
		tree_text_owned(cell, detail, acceptance_tables_tallies_words(&t, 1));
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
 * Puts `rows` (a list, taken over) on the page as the list of tables `name`: of many devices with a
 * row about all, and the others but the worst in a second table with the words of its fold. Cells
 * have `detail` next to their word.
 */
static void acceptance_tables_fold(struct tree *page, const char *name, struct tree *rows,
				   const char *detail)
{
	struct tree *tables = tree_list(page, name),
		    *shown = acceptance_tables_fold_of(tables, xstrdup(""));

	if (rows->count <= MOST_OPEN) {
		acceptance_tables_fold_move_rows(rows, shown, 0, rows->count);
	} else {
		tree_append(shown, acceptance_tables_fold_row_of_all(rows, detail));
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

	if (a && a->judged)
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
	acceptance_tables_fold(page, "aspect_tables", rows, "detail");
	tree_flag(page, "has_aspects", v->device_count != 0);
}

/* Outcomes on one device: of a suite, of what is of no case, or of everything. */
struct device_cell {
	size_t counts[VERDICT_COUNT];
	size_t missing; /* of the skipped, those that no limit allows */
	size_t checks, cases, ran, errors;
};

struct verdict_matrix {
	const struct result *result;
	const char **suites; /* in order of appearance; then come CONDITION and ALL */
	size_t suite_count;
	struct text_index devices;
	struct device_cell *cells; /* device x column */
};

#define CONDITION(m) ((m)->suite_count)
#define ALL(m) ((m)->suite_count + 1)

static struct device_cell *acceptance_tables_matrix_cell(const struct verdict_matrix *m,
							 size_t device, size_t column)
{
	return &m->cells[device * (m->suite_count + 2) + column];
}

/* Its column; CONDITION for a suite without cases. */
static size_t acceptance_tables_matrix_suite(const struct verdict_matrix *m, const char *suite)
{
	size_t s = 0;

	while (s < m->suite_count && strcmp(m->suites[s], suite) != 0)
		s++;
	return s;
}

static void acceptance_tables_matrix_count_check(const struct verdict_matrix *m,
						 const struct verdict_check *c)
{
	size_t suite = acceptance_tables_matrix_suite(m, c->suite);
	char *devices = xstrdup(c->devices), *rest = devices, *id;

	while ((id = strsep(&rest, ","))) {
		size_t device = text_index_find(&m->devices, id, "");
		const size_t columns[] = { suite, CONDITION(m), ALL(m) };

		for (size_t k = 0; device != SIZE_MAX && k < ARRAY_SIZE(columns); k++) {
			struct device_cell *cell =
				acceptance_tables_matrix_cell(m, device, columns[k]);

			if (k == 0 ? suite == CONDITION(m) : k == 1 && *c->case_id)
				continue;
			cell->counts[c->verdict]++;
			cell->missing += k < 2 && c->verdict == VERDICT_SKIP && !c->accepted;
			cell->checks++;
		}
	}
	free(devices);
}

static void acceptance_tables_matrix_count_case(const struct verdict_matrix *m,
						const struct case_result *c)
{
	for (size_t d = 0; d < c->device_count; d++) {
		size_t device = text_index_find(&m->devices, view_string(c->devices[d]), "");
		struct device_cell *cell;

		if (device == SIZE_MAX)
			continue;
		cell = acceptance_tables_matrix_cell(
			m, device, acceptance_tables_matrix_suite(m, view_string(c->suite)));
		cell->cases++;
		cell->ran += c->status != CASE_SKIPPED;
		cell->errors += c->status == CASE_ERROR;
	}
}

/* The worst first. */
static enum verdict acceptance_tables_matrix_worst_verdict(const struct device_cell *cell)
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
static void acceptance_tables_matrix_add_cell(const struct device_cell *cell, bool health,
					      struct tree *list)
{
	struct tree *item = tree_item(list);
	enum verdict worst = acceptance_tables_matrix_worst_verdict(cell);

	if (cell->checks) {
		acceptance_set_verdict(item, worst);
		tree_textf(item, "count",
			   worst == VERDICT_SKIP || !cell->counts[VERDICT_SKIP]
				   ? "%zu of %zu"
				   : "%zu of %zu, %zu skipped",
			   cell->counts[worst], cell->checks, cell->counts[VERDICT_SKIP]);
	} else if (cell->errors) {
		acceptance_set_words(item, "error", "!", "error");
		tree_textf(item, "count", "%zu of %zu, no limit", cell->errors, cell->cases);
	} else if (cell->ran) {
		acceptance_set_words(item, "none", "·", "no limit");
		tree_textf(item, "count", "%zu measured", cell->ran);
	} else {
		acceptance_set_words(item, health ? "none" : "skipped", health ? "·" : "○",
				     health ? "nothing found" : "not run");
		tree_text(item, "count", "");
	}
}

void acceptance_tables_matrix(const struct acceptance *a, struct tree *page)
{
	const struct result *r = a->result;
	struct tree *columns = tree_list(page, "matrix_columns"), *rows = tree_new(TREE_LIST);
	struct verdict_matrix m = { .result = r };

	m.suites = xcalloc(r->case_count + 1, sizeof(*m.suites));
	for (size_t i = 0; i < r->case_count; i++)
		if (acceptance_tables_matrix_suite(&m, view_string(r->cases[i].suite)) ==
		    m.suite_count)
			m.suites[m.suite_count++] = view_string(r->cases[i].suite);
	m.cells = xcalloc(r->device_count * (m.suite_count + 2) + 1, sizeof(*m.cells));
	for (size_t i = 0; i < r->device_count; i++)
		*text_index_at(&m.devices, r->devices[i].id, "") = i;
	for (size_t i = 0; i < r->judgement->count; i++)
		acceptance_tables_matrix_count_check(&m, &r->judgement->checks[i]);
	for (size_t i = 0; i < r->case_count; i++)
		acceptance_tables_matrix_count_case(&m, &r->cases[i]);
	for (size_t s = 0; s < m.suite_count; s++)
		tree_item_text(columns, m.suites[s]);
	tree_item_text(columns, "condition");
	for (size_t i = 0; i < r->device_count; i++) {
		const struct device_info *d = &m.result->devices[i];
		const struct device_cell *all = acceptance_tables_matrix_cell(&m, i, ALL(&m));
		struct tree *row = tree_item(rows), *cells;

		view_text(row, "device", d->id);
		view_text(row, "model", view_device_name(d->name).text);
		view_text(row, "uuid", d->uuid);
		view_text(row, "serial", d->serial);
		view_text(row, "pci", d->pci);
		tree_text(row, "kind",
			  all->checks ? acceptance_kind(acceptance_tables_matrix_worst_verdict(all))
				      : "none");
		cells = tree_list(row, "cells");
		for (size_t s = 0; s <= CONDITION(&m); s++)
			acceptance_tables_matrix_add_cell(acceptance_tables_matrix_cell(&m, i, s),
							  s == CONDITION(&m), cells);
	}
	acceptance_tables_fold(page, "matrix_tables", rows, "count");
	tree_flag(page, "has_matrix", r->device_count != 0);
	text_index_release(&m.devices);
	free(m.suites);
	free(m.cells);
}
