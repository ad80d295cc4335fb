/* The claims as a table: what is said, what was predicted, what was measured, and whether it holds. */
#include <math.h>
#include <string.h>

#include "report/claims.h"
#include "report/format.h"
#include "report/view.h"

static const char *const symbols[CLAIM_VERDICTS] = {
	[CLAIM_HOLDS] = "✓",
	[CLAIM_FAILS] = "✗",
	[CLAIM_DEPENDS] = "◐",
	[CLAIM_UNTESTED] = "○",
};

/* Of a claim that was measured, all it looks for: what is missing has had no say. */
static void show_measures(const struct result *result, const struct claim *claim, struct tree *list)
{
	for (size_t i = 0; i < CLAIM_MEASURES && claim->measures[i].a.metric; i++) {
		const struct claim_measure *m = &claim->measures[i];
		char text[FORMAT_SIZE];
		const char *unit;
		double value = claim_value(result, m, &unit);
		struct tree *item;

		item = tree_item(list);
		tree_text(item, "what", m->what);
		if (isnan(value))
			tree_text(item, "value", "not measured:");
		else if (strcmp(unit, "1") == 0)
			tree_textf(item, "value", "%.3g", value);
		else
			tree_text(item, "value", format_quantity(value, unit, text, sizeof(text)));
	}
}

static enum claim_verdict show_claim(const struct result *result, const struct claim *claim,
				     struct tree *rows)
{
	enum claim_verdict verdict = claim_judge(result, claim);
	struct tree *row = tree_item(rows);

	tree_text(row, "id", claim->id);
	tree_text(row, "claim", claim->claim);
	tree_text(row, "prediction", claim->prediction);
	if (verdict == CLAIM_UNTESTED)
		tree_list(row, "measures");
	else
		show_measures(result, claim, tree_list(row, "measures"));
	tree_text(row, "symbol", symbols[verdict]);
	tree_text(row, "verdict", claim_verdict_name(verdict));
	tree_text(row, "needs", verdict == CLAIM_UNTESTED ? claim->needs : "");
	return verdict;
}

/* Of the first result: a claim is about one machine. */
void view_claims(const struct view *view, bool wanted, struct tree *page)
{
	struct tree *groups;
	size_t counts[CLAIM_VERDICTS] = { 0 };

	tree_flag(page, "has_claims", wanted);
	if (!wanted)
		return;
	groups = tree_list(page, "claim_groups");
	for (size_t g = 0; g < claim_group_count; g++) {
		struct tree *group = tree_item(groups), *rows;

		tree_text(group, "title", claim_groups[g].title);
		rows = tree_list(group, "claims");
		for (size_t i = 0; i < claim_groups[g].count; i++)
			counts[show_claim(&view->results[0], &claim_groups[g].claims[i], rows)]++;
	}
	tree_textf(page, "claims_hold", "%zu", counts[CLAIM_HOLDS]);
	tree_textf(page, "claims_fail", "%zu", counts[CLAIM_FAILS]);
	tree_textf(page, "claims_depend", "%zu", counts[CLAIM_DEPENDS]);
	tree_textf(page, "claims_untested", "%zu", counts[CLAIM_UNTESTED]);
}
