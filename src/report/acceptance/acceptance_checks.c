/* The tables of checks and of their limits: value, limit, margin and origin on one row. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/acceptance/acceptance.h"
#include "report/view/presented.h"

#define MOST_ROWS 400 /* of one table: the rest is counted */
#define MOST_OPEN 16  /* of those above a fold */
#define MOST_ON_PAPER 200

struct row {
	const struct verdict_check *check;
	size_t order;
};

/* Wrong results first, then the worst margin; otherwise the order of the judgement. */
static int acceptance_checks_by_margin(const void *a, const void *b)
{
	const struct row *p = a, *q = b;
	double m = isfinite(p->check->margin) ? p->check->margin : -INFINITY,
	       n = isfinite(q->check->margin) ? q->check->margin : -INFINITY;

	if (p->check->wrong != q->check->wrong)
		return p->check->wrong ? -1 : 1;
	if (m != n)
		return m < n ? -1 : 1;
	return (p->order > q->order) - (p->order < q->order);
}

static struct formatted acceptance_checks_quantity(const struct verdict_check *c, double value)
{
	return verdict_check_counts(c) ? format_text("%.0f", value)
				       : format_quantity(value, c->unit);
}

static void acceptance_checks_add_row(const struct acceptance *a, struct tree *rows,
				      const struct verdict_check *c)
{
	const struct view view = { .results = a->result, .count = 1 };
	const char *const origins[] = { c->bound_text, c->bound_origin, c->place };
	bool bound = c->comparison != NO_COMPARISON && isfinite(c->bound);
	bool interval = isfinite(c->low) && isfinite(c->high) && c->low != c->high;
	struct tree *row = tree_item(rows);
	struct text origin = TEXT_EMPTY;

	acceptance_set_words(row, acceptance_kind(c->verdict), acceptance_symbol(c->verdict),
			     c->wrong ? "WRONG" : verdict_fields_name(c->verdict));
	tree_text(row, "allowed", c->accepted && c->verdict != VERDICT_PASS ? "accepted" : "");
	view_text(row, "limit", strcmp(c->limit, "run") == 0 ? "" : c->limit);
	view_text(row, "devices", *c->devices ? c->devices : "the machine");
	view_text(row, "case_id", c->case_id);
	view_text(row, "metric", presented_metric_title(&view, c->metric).text);
	view_text(row, "reason", c->reason);
	view_text(row, "cause", cause_name(c->cause));
	view_text(row, "action", cause_action(c->cause));
	tree_text(row, "value",
		  isfinite(c->value) ? acceptance_checks_quantity(c, c->value).text : "");
	tree_textf(row, "interval", interval ? "%s to %s" : "",
		   format_quantity(c->low, c->unit).text, format_quantity(c->high, c->unit).text);
	tree_textf(row, "bound", bound ? "%s %s" : "",
		   c->comparison == AT_MOST ? "at most" : "at least",
		   acceptance_checks_quantity(c, c->bound).text);
	tree_text(row, "margin", isfinite(c->margin) ? format_margin(c->margin).text : "");
	if (c->launches > 1)
		tree_textf(row, "n", "%zu launches", c->launches);
	else
		tree_textf(row, "n", c->samples ? "%zu sample%s" : "", c->samples,
			   text_plural(c->samples));
	for (size_t i = 0; i < ARRAY_SIZE(origins); i++)
		if (*origins[i])
			text_addf(&origin, "%s%s", origin.length ? "; " : "", origins[i]);
	view_text_owned(row, "origin", text_detach(&origin));
}

/* Rows from one to another as a table, `folded` under these words; "": open. */
static void acceptance_checks_add_part(const struct acceptance *a, struct tree *parts,
				       const struct row *rows, size_t count, const char *folded)
{
	struct tree *part = tree_item(parts), *list;

	tree_text(part, "folded", folded);
	list = tree_list(part, "rows");
	for (size_t i = 0; i < count; i++)
		acceptance_checks_add_row(a, list, rows[i].check);
}

static void acceptance_checks_add_table(const struct acceptance *a, struct tree *page,
					const char *name, enum verdict first, enum verdict second,
					size_t open)
{
	const struct verdicts *v = a->result->judgement;
	struct row *rows = xcalloc(v->count + 1, sizeof(*rows));
	struct tree *table = tree_map(page, name), *parts;
	size_t count = 0, shown;

	for (size_t i = 0; i < v->count; i++)
		if (v->checks[i].verdict == first || v->checks[i].verdict == second)
			rows[count++] = (struct row){ &v->checks[i], i };
	if (count)
		qsort(rows, count, sizeof(*rows), acceptance_checks_by_margin);
	shown = count < MOST_ROWS ? count : MOST_ROWS;
	open = shown < open ? shown : open;
	parts = tree_list(table, "parts");
	acceptance_checks_add_part(a, parts, rows, open, "");
	if (shown > open)
		acceptance_checks_add_part(
			a, parts, rows + open, shown - open,
			format_text("%zu more checks with larger margins", shown - open).text);
	tree_text(table, "name", name);
	tree_flag(table, "not_on_paper", count > MOST_ON_PAPER);
	tree_flag(table, "any", count != 0);
	tree_textf(table, "count", "%zu", count);
	tree_textf(table, "left_out",
		   count > MOST_ROWS
			   ? "%zu more checks are not shown here; see gpuproof check --all"
			   : "",
		   count - MOST_ROWS);
	free(rows);
}

void acceptance_checks(const struct acceptance *a, struct tree *page)
{
	acceptance_checks_add_table(a, page, "failed", VERDICT_FAIL, VERDICT_FAIL, MOST_ROWS);
	acceptance_checks_add_table(a, page, "undecided", VERDICT_INCONCLUSIVE, VERDICT_ERROR,
				    MOST_OPEN);
	acceptance_checks_add_table(a, page, "warned", VERDICT_WARN, VERDICT_WARN, MOST_OPEN);
	acceptance_checks_add_table(a, page, "passed", VERDICT_PASS, VERDICT_PASS, MOST_ROWS);
	acceptance_checks_add_table(a, page, "unmeasured", VERDICT_SKIP, VERDICT_SKIP, MOST_ROWS);
}

/* Checks of one limit with one bound text and one origin, such as a number of reference GPUs. */
struct limit_row {
	const struct verdict_check *first, *tightest;
	size_t counts[VERDICT_COUNT], total;
};

static struct limit_row *acceptance_checks_limit_row_of(struct limit_row *rows, size_t *count,
							const struct verdict_check *c)
{
	for (size_t i = 0; i < *count; i++)
		if (strcmp(rows[i].first->limit, c->limit) == 0 &&
		    strcmp(rows[i].first->bound_text, c->bound_text) == 0 &&
		    strcmp(rows[i].first->bound_origin, c->bound_origin) == 0)
			return &rows[i];
	rows[*count] = (struct limit_row){ .first = c };
	return &rows[(*count)++];
}

static void acceptance_checks_add_limit(const struct acceptance *a, struct tree *list,
					const struct limit_row *r)
{
	const struct view view = { .results = a->result, .count = 1 };
	struct tree *row = tree_item(list);
	struct text words = TEXT_EMPTY;

	for (int v = 0; v < VERDICT_COUNT; v++)
		if (r->counts[v])
			format_list(&words, "%zu %s", r->counts[v],
				    verdict_fields_name((enum verdict)v));
	view_text(row, "limit", r->first->limit);
	view_text(row, "metric", presented_metric_title(&view, r->first->metric).text);
	view_text(row, "bound", r->first->bound_text);
	view_text(row, "origin", r->first->bound_origin);
	view_text(row, "place", r->first->place);
	tree_text_owned(row, "checks", text_detach(&words));
	tree_text(row, "margin", r->tightest ? format_margin(r->tightest->margin).text : "");
	view_text(row, "tightest", r->tightest ? r->tightest->devices : "");
}

void acceptance_checks_limits(const struct acceptance *a, struct tree *page)
{
	const struct verdicts *v = a->result->judgement;
	struct limit_row *rows = xcalloc(v->count + 1, sizeof(*rows));
	struct tree *list = tree_list(page, "limits");
	size_t count = 0;

	for (size_t i = 0; i < v->count; i++) {
		const struct verdict_check *c = &v->checks[i];
		struct limit_row *row;

		if (strcmp(c->limit, "run") == 0)
			continue;
		row = acceptance_checks_limit_row_of(rows, &count, c);
		row->counts[c->verdict]++;
		if (isfinite(c->margin) && (!row->tightest || c->margin < row->tightest->margin))
			row->tightest = c;
	}
	for (size_t i = 0; i < count; i++)
		acceptance_checks_add_limit(a, list, &rows[i]);
	free(rows);
}
