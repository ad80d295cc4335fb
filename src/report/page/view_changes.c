/* Two results: what `compare` says of them, before all charts. */
#include <math.h>

#include "judge/compare/compare.h"
#include "judge/estimate/launch_spread.h"
#include "report/view/format.h"
#include "report/view/view.h"

static const struct {
	const char *kind, *symbol, *word; /* class of report.css */
} outcomes[] = {
	{ "ok", "✓", "Nothing got worse" },
	{ "failed", "✗", "Slower or larger than before" },
	{ "skipped", "○", "Nothing certainly got worse" },
	{ "skipped", "○", "Not all was compared" },
	{ "failed", "✗", "Wrong results" },
};

static size_t outcome_of(const struct comparison *c)
{
	int gate = comparison_gate(c);

	if (gate == 4)
		return comparison_gate_certain(c) == 4 ? 3 : 2;
	return gate == 5 ? 4 : gate == 1 ? 1 : 0;
}

static bool is_change(const struct comparison_row *row)
{
	return row->change == CHANGE_REGRESSED || row->change == CHANGE_IMPROVED;
}

static const char *row_kind(const struct comparison_row *row)
{
	if (row->wrong || (row->change == CHANGE_REGRESSED && !row->possible))
		return "failed";
	return row->change == CHANGE_SAME || row->change == CHANGE_IMPROVED ? "ok" : "skipped";
}

static void show_ratio(struct tree *map, const struct comparison_row *row)
{
	double half = (row->high - row->low) / 2 / row->ratio;
	int digits = half > 0.1 ? 2 : half > 0.01 ? 3 : 4;

	tree_textf(map, "ratio", isfinite(row->ratio) ? "%.*f" : "", digits, row->ratio);
	tree_textf(map, "interval",
		   isfinite(row->low) && row->low < row->high ? "%.*f to %.*f" : "", digits,
		   row->low, digits, row->high);
}

static const char *value_of(double value, const char *unit, char *out, size_t size)
{
	return isfinite(value) ? format_quantity(value, unit, out, size) : "";
}

static void show_row(struct tree *list, const struct comparison_row *row)
{
	struct tree *map = tree_item(list);
	char a[FORMAT_SIZE], b[FORMAT_SIZE];

	tree_text(map, "kind", row_kind(row));
	tree_textf(map, "word", "%s%s", row->possible && is_change(row) ? "possibly " : "",
		   change_name(row->change));
	view_text(map, "case", row->case_id);
	view_text(map, "metric", row->metric);
	tree_text(map, "a", value_of(row->a, row->unit, a, sizeof(a)));
	tree_text(map, "b", value_of(row->b, row->unit, b, sizeof(b)));
	show_ratio(map, row);
	if (*row->reason && row->change != CHANGE_SAME)
		view_text(map, "note", row->reason);
	else if (row->launches_needed)
		tree_textf(map, "note", "%zu launches of each would tell", row->launches_needed);
	else
		tree_text(map, "note", "");
}

static void show_comparison(const struct comparison *c, struct tree *map)
{
	size_t outcome = outcome_of(c), folded = 0;
	struct tree *rows = tree_list(map, "changed"), *rest = tree_list(map, "unchanged");
	struct tree *notes = tree_list(map, "notes");

	tree_text(map, "outcome_kind", outcomes[outcome].kind);
	tree_text(map, "outcome_symbol", outcomes[outcome].symbol);
	tree_text(map, "outcome_word", outcomes[outcome].word);
	view_text(map, "sentence", c->sentence);
	tree_textf(map, "margin", "%.3g %%", 100 * c->margin);
	for (size_t i = 0; i < c->fault_count; i++)
		tree_item_text(notes, c->faults[i]);
	if (*c->host_finding)
		tree_item_text(notes, c->host_finding);
	for (size_t i = 0; i < c->count; i++) {
		bool shown = is_change(&c->rows[i]) || c->rows[i].change == CHANGE_NONE;

		show_row(shown ? rows : rest, &c->rows[i]);
		folded += !shown;
	}
	tree_flag(map, "has_changed", rows->count != 0);
	tree_flag(map, "has_unchanged", folded != 0);
	tree_textf(map, "unchanged_count", "%zu", folded);
}

void view_changes(const struct view *view, struct tree *page)
{
	const struct result *a = &view->results[0], *b = view->count > 1 ? &view->results[1] : NULL;
	struct comparison_input input = { .a = a,
					  .b = b,
					  .a_count = 1,
					  .b_count = 1,
					  .margin = COMPARE_MARGIN,
					  .launch_spread = LAUNCH_SPREAD };
	struct error err = ERROR_NONE;
	struct comparison comparison;

	tree_flag(page, "has_changes", view->count == 2);
	if (view->count != 2)
		return;
	input.turns = compare_taken_in_turns(a, b);
	/* Without a history nothing can fail. */
	if (compare_results(&input, &comparison, &err) != STATUS_OK)
		return;
	show_comparison(&comparison, tree_map(page, "changes"));
	comparison_release(&comparison);
}
