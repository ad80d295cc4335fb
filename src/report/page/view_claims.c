/* The claims of each guide, one a row; untested ones are in a table of their own. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "report/claims/claims.h"
#include "report/page/view_sections.h"

/* `kind`: as templates and style sheets call it. */
static const struct {
	const char *symbol, *kind, *plural;
} looks[CLAIM_VERDICTS] = {
	[CLAIM_HOLDS] = { "✓", "ok", "hold" },
	[CLAIM_FAILS] = { "✗", "failed", "do not hold" },
	[CLAIM_DEPENDS] = { "◐", "error", "depend" },
	[CLAIM_UNDECIDED] = { "?", "noisy", "undecided" },
	[CLAIM_PARTIAL] = { "◔", "skipped", "tested in part" },
	[CLAIM_UNTESTED] = { "○", "skipped", "not tested" },
};

static struct formatted claims_page_format_reading(const struct claim_measure *m, double value,
						   const char *unit)
{
	if (m->yes_no)
		return format_text(value >= 0.5 ? "yes" : "no");
	return strcmp(unit, "1") == 0 ? format_text("%.4g", value) : format_quantity(value, unit);
}

/* In a comparison with the run, "A, ", or the two that the value is from, "B / A, ". */
static void claims_page_show_reading(const struct view *view, const struct claim_measure *m,
				     const struct claim_reading *r, struct tree *item)
{
	bool several = view->count > 1, two = several && r->run != r->other;

	tree_flag(item, "decides", claim_is_decisive(m));
	tree_text(item, "what", m->what);
	tree_text(item, "value", claims_page_format_reading(m, r->value, r->unit).text);
	tree_flag(item, "uncertain", r->low < r->high);
	tree_text(item, "low", claims_page_format_reading(m, r->low, r->unit).text);
	tree_text(item, "high", claims_page_format_reading(m, r->high, r->unit).text);
	tree_text(item, "symbol", looks[r->verdict].symbol);
	tree_text(item, "verdict", claim_verdict_name(r->verdict));
	tree_text(item, "missing", "");
	view_text(item, "device", r->device);
	if (claim_is_decisive(m)) {
		/* "at least 2", "0.1 to 0.4" */
		if (m->yes_no)
			tree_text(item, "range", m->high < 1 ? "no" : "yes");
		else if (!isfinite(m->high))
			tree_textf(item, "range", "at least %s",
				   claims_page_format_reading(m, m->low, r->unit).text);
		else if (m->low <= 0)
			tree_textf(item, "range", "at most %s",
				   claims_page_format_reading(m, m->high, r->unit).text);
		else
			tree_textf(item, "range", "%s to %s",
				   claims_page_format_reading(m, m->low, r->unit).text,
				   claims_page_format_reading(m, m->high, r->unit).text);
	}
	tree_textf(item, "runs", "%s%s%s%s", several ? view_letter(r->run).text : "",
		   two ? " / " : "", two ? view_letter(r->other).text : "", several ? ", " : "");
}

static void claims_page_show_missing(const char *what, const char *why, bool again,
				     struct tree *item)
{
	tree_flag(item, "again", again);
	tree_text(item, "what", what);
	view_text(item, "missing", why);
}

/* `again` is a reason that the row has given already. */
static void claims_page_show_evidence(const struct view *view, const struct claim *claim,
				      const struct claim_evidence *evidence, struct tree *list)
{
	for (size_t i = 0; i < CLAIM_MEASURES; i++) {
		const struct claim_measure *m = &claim->measures[i];
		bool again = false;

		for (size_t k = 0; k < evidence[i].count; k++)
			claims_page_show_reading(view, m, &evidence[i].readings[k],
						 tree_item(list));
		for (size_t k = 0; k < i && evidence[i].missing; k++)
			again = again || (evidence[k].missing &&
					  strcmp(evidence[k].missing, evidence[i].missing) == 0);
		if (evidence[i].missing)
			claims_page_show_missing(m->what, evidence[i].missing, again,
						 tree_item(list));
	}
	if (claim->untestable)
		claims_page_show_missing("cannot be tested by this version", claim->untestable,
					 false, tree_item(list));
}

static enum claim_verdict show_claim(const struct view *view, const struct claim_group *group,
				     const struct claim *claim, struct tree *tested,
				     struct tree *untested)
{
	struct claim_evidence evidence[CLAIM_MEASURES];
	enum claim_verdict verdict = claim_judge(view->results, view->count, claim, evidence);
	struct tree *row = tree_item(verdict == CLAIM_UNTESTED ? untested : tested);

	tree_text(row, "id", claim->id);
	tree_text(row, "claim", claim->claim);
	tree_textf(row, "source", "Guide %s, %s", group->id, claim->source);
	tree_text(row, "prediction", claim->prediction);
	tree_text(row, "kind", looks[verdict].kind);
	tree_text(row, "symbol", looks[verdict].symbol);
	tree_text(row, "verdict", claim_verdict_name(verdict));
	claims_page_show_evidence(view, claim, evidence, tree_list(row, "readings"));
	claim_evidence_release(evidence);
	return verdict;
}

/* "14 hold, 4 do not hold" */
static void claims_page_show_counts(const size_t counts[CLAIM_VERDICTS], struct tree *map)
{
	struct text t = TEXT_EMPTY;

	for (size_t v = 0; v < CLAIM_VERDICTS; v++)
		if (counts[v])
			format_list(&t, "%zu %s", counts[v], looks[v].plural);
	tree_text_owned(map, "counts", text_detach(&t));
}

char *view_claims(const struct view *view, const struct claim_set *set, struct tree *page)
{
	struct tree *groups, *untested;
	size_t all[CLAIM_VERDICTS] = { 0 }, count = 0;

	if (!set->count)
		return NULL;
	groups = tree_list(page, "claim_groups");
	untested = tree_list(page, "claims_not_tested");
	for (size_t g = 0; g < set->count; g++) {
		const struct claim_group *group = &set->groups[g];
		struct tree *map = tree_item(groups), *rows = tree_list(map, "claims");
		size_t of[CLAIM_VERDICTS] = { 0 };

		for (size_t i = 0; i < group->count; i++)
			of[show_claim(view, group, &group->claims[i], rows, untested)]++;
		for (size_t v = 0; v < CLAIM_VERDICTS; v++)
			all[v] += of[v];
		count += group->count;
		tree_text(map, "letter", group->id);
		tree_text(map, "title", group->title);
		tree_text(map, "guide", group->guide);
		tree_flag(map, "tested", of[CLAIM_UNTESTED] < group->count);
		claims_page_show_counts(of, map);
	}
	tree_flag(page, "any_claim_untested", all[CLAIM_UNTESTED] > 0);
	tree_flag(page, "any_claim_tested", all[CLAIM_UNTESTED] < count);
	tree_textf(page, "claims_untested", "%zu", all[CLAIM_UNTESTED]);
	claims_page_show_counts(all, page);
	if (all[CLAIM_UNTESTED] == count)
		return NULL;
	return xasprintf("Of %zu claims in %zu guide%s %zu hold, %zu do not", count, set->count,
			 text_plural(set->count), all[CLAIM_HOLDS], all[CLAIM_FAILS]);
}
