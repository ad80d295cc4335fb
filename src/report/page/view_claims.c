/* The claims of all guides by verdict, those that do not hold first; untested ones are folded. */
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
	[CLAIM_EXCEEDED] = { "✓", "ok", "better than claimed" },
	[CLAIM_FAILS] = { "✗", "failed", "do not hold" },
	[CLAIM_DEPENDS] = { "◐", "error", "hold in one case but not in another" },
	[CLAIM_UNDECIDED] = { "?", "noisy", "undecided" },
	[CLAIM_PARTIAL] = { "◔", "skipped", "tested in part" },
	[CLAIM_UNTESTED] = { "○", "skipped", "not tested" },
};

/* The order of the page. */
static const enum claim_verdict page_order[] = { CLAIM_FAILS,   CLAIM_DEPENDS,  CLAIM_UNDECIDED,
						 CLAIM_PARTIAL, CLAIM_EXCEEDED, CLAIM_HOLDS };

static struct formatted view_claims_format_reading(const struct claim_measure *m, double value,
						   const char *unit)
{
	if (m->yes_no)
		return format_text(value >= 0.5 ? "yes" : "no");
	/* 1 less a quotient is a saved share. */
	if (m->complement)
		return format_text("%.3g\u00a0%%", 100 * value);
	return strcmp(unit, "1") == 0 ? format_text("%.4g", value) : format_quantity(value, unit);
}

/*
 * `one`: the only reading of its measure, whose device needs no name. In a comparison with the run,
 * "A, ", or the two that the value is from, "B / A, ".
 */
static void view_claims_show_reading(const struct view *view, const struct claim_measure *m,
				     const struct claim_reading *r, bool one, struct tree *item)
{
	bool several = view->count > 1, two = several && r->run != r->other;

	tree_text(item, "what", m->what);
	tree_text(item, "value", view_claims_format_reading(m, r->value, r->unit).text);
	tree_flag(item, "uncertain", r->low < r->high);
	tree_text(item, "low", view_claims_format_reading(m, r->low, r->unit).text);
	tree_text(item, "high", view_claims_format_reading(m, r->high, r->unit).text);
	tree_text(item, "symbol", looks[r->verdict].symbol);
	tree_text(item, "missing", "");
	/* "at least 2", "0.1 to 0.4" */
	if (m->yes_no)
		tree_text(item, "range", m->high < 1 ? "no" : "yes");
	else if (!isfinite(m->high))
		tree_textf(item, "range", "at least %s",
			   view_claims_format_reading(m, m->low, r->unit).text);
	else if (m->low <= 0)
		tree_textf(item, "range", "at most %s",
			   view_claims_format_reading(m, m->high, r->unit).text);
	else
		tree_textf(item, "range", "%s to %s",
			   view_claims_format_reading(m, m->low, r->unit).text,
			   view_claims_format_reading(m, m->high, r->unit).text);
	tree_textf(item, "place", "%s%s%s%s%s", several ? view_letter(r->run).text : "",
		   two ? " / " : "", two ? view_letter(r->other).text : "", several ? ", " : "",
		   several || !one ? view_string(r->device) : "");
}

static void view_claims_show_missing(const char *what, const char *why, bool again,
				     struct tree *item)
{
	tree_flag(item, "again", again);
	tree_text(item, "what", what);
	view_text(item, "missing", why);
}

/*
 * Readings that decide nothing are on the page of the run. `again` is a reason that the row has
 * given already.
 */
static void view_claims_show_evidence(const struct view *view, const struct claim *claim,
				      const struct claim_evidence *evidence, struct tree *list)
{
	for (size_t i = 0; i < CLAIM_MEASURES; i++) {
		const struct claim_measure *m = &claim->measures[i];
		bool again = false;

		for (size_t k = 0; claim_is_decisive(m) && k < evidence[i].count; k++)
			view_claims_show_reading(view, m, &evidence[i].readings[k],
						 evidence[i].count == 1, tree_item(list));
		for (size_t k = 0; k < i && evidence[i].missing; k++)
			again = again || (evidence[k].missing &&
					  strcmp(evidence[k].missing, evidence[i].missing) == 0);
		if (evidence[i].missing)
			view_claims_show_missing(m->what, evidence[i].missing, again,
						 tree_item(list));
	}
	if (claim->untestable)
		view_claims_show_missing("cannot be tested by this version of gpuproof",
					 claim->untestable, false, tree_item(list));
}

static void view_claims_show(const struct view *view, const struct claim_group *group,
			     const struct claim *claim, struct tree *const lists[CLAIM_VERDICTS])
{
	struct claim_evidence evidence[CLAIM_MEASURES];
	enum claim_verdict verdict = claim_judge(view->results, view->count, claim, evidence);
	struct tree *row = tree_item(lists[verdict]);

	tree_text(row, "id", claim->id);
	tree_text(row, "claim", claim->claim);
	tree_text(row, "guide", group->title);
	tree_text(row, "source", claim->source);
	/* A claim that holds needs no expected figure. */
	tree_text(row, "prediction",
		  verdict == CLAIM_HOLDS || verdict == CLAIM_UNTESTED ? "" : claim->prediction);
	view_claims_show_evidence(view, claim, evidence, tree_list(row, "readings"));
	claim_evidence_release(evidence);
}

/* "43 of 76 claims in 5 guides hold on 2 × NVIDIA H200, 10 do not"; malloc'ed. */
static char *view_claims_title(const struct view *view, const struct claim_set *set,
			       const size_t counts[CLAIM_VERDICTS], size_t count)
{
	struct text out = TEXT_EMPTY;

	text_addf(&out, "%zu of %zu claims in %zu guide%s hold on ",
		  counts[CLAIM_HOLDS] + counts[CLAIM_EXCEEDED], count, set->count,
		  text_plural(set->count));
	if (view->count == 1)
		view_add_devices(&out, view->results);
	else
		text_addf(&out, "the devices of %zu results", view->count);
	text_addf(&out, ", %zu do not", counts[CLAIM_FAILS]);
	return text_detach(&out);
}

char *view_claims(const struct view *view, const struct claim_set *set, struct tree *page)
{
	struct tree *groups, *guides, *lists[CLAIM_VERDICTS];
	size_t counts[CLAIM_VERDICTS], count = 0;
	struct text words = TEXT_EMPTY;

	if (!set->count)
		return NULL;
	guides = tree_list(page, "claim_guides");
	for (size_t v = 0; v < CLAIM_VERDICTS; v++)
		lists[v] = tree_new(TREE_LIST);
	for (size_t g = 0; g < set->count; g++) {
		const struct claim_group *group = &set->groups[g];
		struct tree *guide = tree_item(guides);

		tree_text(guide, "title", group->title);
		tree_text(guide, "about", group->guide);
		for (size_t i = 0; i < group->count; i++)
			view_claims_show(view, group, &group->claims[i], lists);
		count += group->count;
	}
	groups = tree_list(page, "claim_groups");
	for (size_t v = 0; v < CLAIM_VERDICTS; v++)
		counts[v] = lists[v]->count;
	for (size_t i = 0; i < ARRAY_SIZE(page_order); i++) {
		enum claim_verdict verdict = page_order[i];
		struct tree *map;

		if (counts[verdict])
			format_list(&words, "%zu %s", counts[verdict], looks[verdict].plural);
		if (!counts[verdict]) {
			tree_free(lists[verdict]);
			continue;
		}
		map = tree_item(groups);
		tree_textf(map, "heading", "%zu %s", counts[verdict], looks[verdict].plural);
		tree_text(map, "kind", looks[verdict].kind);
		tree_text(map, "symbol", looks[verdict].symbol);
		tree_textf(map, "group_id", "claims-%zu", i + 1);
		tree_set(map, "claims", lists[verdict]);
	}
	if (counts[CLAIM_UNTESTED])
		format_list(&words, "%zu %s", counts[CLAIM_UNTESTED], looks[CLAIM_UNTESTED].plural);
	tree_text_owned(page, "counts", text_detach(&words));
	tree_set(page, "claims_not_tested", lists[CLAIM_UNTESTED]);
	tree_flag(page, "any_claim_untested", counts[CLAIM_UNTESTED] > 0);
	tree_flag(page, "any_claim_tested", counts[CLAIM_UNTESTED] < count);
	tree_textf(page, "claims_untested", "%zu", counts[CLAIM_UNTESTED]);
	if (counts[CLAIM_UNTESTED] == count)
		return xasprintf("None of %zu claims could be tested", count);
	return view_claims_title(view, set, counts, count);
}
