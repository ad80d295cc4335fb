/*
 * The claims: first those that were tested, verdict first, then the others and why they were not.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/chart/chart.h"
#include "report/claims/claims.h"
#include "report/view/format.h"
#include "report/view/view.h"

static const char *const symbols[CLAIM_VERDICTS] = {
	[CLAIM_HOLDS] = "✓",     [CLAIM_FAILS] = "✗",   [CLAIM_DEPENDS] = "◐",
	[CLAIM_UNDECIDED] = "?", [CLAIM_PARTIAL] = "◔", [CLAIM_UNTESTED] = "○",
};
/* As templates and style sheets call them. */
static const char *const kinds[CLAIM_VERDICTS] = {
	[CLAIM_HOLDS] = "ok",        [CLAIM_FAILS] = "failed",    [CLAIM_DEPENDS] = "error",
	[CLAIM_UNDECIDED] = "noisy", [CLAIM_PARTIAL] = "skipped", [CLAIM_UNTESTED] = "skipped",
};

static const char *const words[CLAIM_VERDICTS] = {
	[CLAIM_HOLDS] = "hold",
	[CLAIM_FAILS] = "do not hold",
	[CLAIM_DEPENDS] = "depend",
	[CLAIM_UNDECIDED] = "undecided",
	[CLAIM_PARTIAL] = "tested in part",
	[CLAIM_UNTESTED] = "not tested",
};

static void format_reading(const struct claim_measure *m, double value, const char *unit, char *out,
			   size_t size)
{
	if (m->yes_no)
		snprintf(out, size, "%s", value >= 0.5 ? "yes" : "no");
	else if (strcmp(unit, "1") == 0)
		snprintf(out, size, "%.4g", value);
	else
		format_quantity(value, unit, out, size);
}

/* "at least 2", "0.1 to 0.4"; "" of what has no say. */
static void format_range(const struct claim_measure *m, const char *unit, char *out, size_t size)
{
	char low[FORMAT_SIZE], high[FORMAT_SIZE];

	*out = '\0';
	if (!claim_is_decisive(m))
		return;
	if (m->yes_no) {
		snprintf(out, size, "%s", m->high < 1 ? "no" : "yes");
		return;
	}
	if (isfinite(m->low))
		format_reading(m, m->low, unit, low, sizeof(low));
	if (isfinite(m->high))
		format_reading(m, m->high, unit, high, sizeof(high));
	if (!isfinite(m->high))
		snprintf(out, size, "at least %s", low);
	else if (m->low <= 0)
		snprintf(out, size, "at most %s", high);
	else
		snprintf(out, size, "%s to %s", low, high);
}

/* "A, " in a comparison, "B / A, " between two of its results. */
static void add_runs(const struct view *view, const struct claim_reading *r, struct tree *item)
{
	char run[4], other[4];

	if (view->count < 2)
		tree_text(item, "runs", "");
	else if (r->run == r->other)
		tree_textf(item, "runs", "%s, ", view_letter(r->run, run));
	else
		tree_textf(item, "runs", "%s / %s, ", view_letter(r->run, run),
			   view_letter(r->other, other));
}

static void show_reading(const struct view *view, const struct claim_measure *m,
			 const struct claim_reading *r, struct tree *item)
{
	char value[FORMAT_SIZE], low[FORMAT_SIZE], high[FORMAT_SIZE], range[3 * FORMAT_SIZE];
	bool decisive = claim_is_decisive(m);

	format_reading(m, r->value, r->unit, value, sizeof(value));
	format_reading(m, r->low, r->unit, low, sizeof(low));
	format_reading(m, r->high, r->unit, high, sizeof(high));
	format_range(m, r->unit, range, sizeof(range));
	tree_text(item, "what", m->what);
	tree_text(item, "value", value);
	tree_flag(item, "uncertain", r->low < r->high);
	tree_text(item, "low", low);
	tree_text(item, "high", high);
	tree_text(item, "range", range);
	tree_text(item, "symbol", decisive ? symbols[r->verdict] : "");
	tree_text(item, "verdict", decisive ? claim_verdict_name(r->verdict) : "");
	tree_text(item, "missing", "");
	view_text(item, "device", r->device);
	add_runs(view, r, item);
}

static void show_missing(const struct claim_measure *m, const char *why, struct tree *item)
{
	tree_text(item, "what", m->what);
	view_text(item, "missing", why);
}

static void show_evidence(const struct view *view, const struct claim *claim,
			  const struct claim_evidence *evidence, struct tree *list)
{
	for (size_t i = 0; i < CLAIM_MEASURES && claim->measures[i].a.metric; i++) {
		for (size_t k = 0; k < evidence[i].count; k++)
			show_reading(view, &claim->measures[i], &evidence[i].readings[k],
				     tree_item(list));
		if (evidence[i].missing)
			show_missing(&claim->measures[i], evidence[i].missing, tree_item(list));
	}
}

/* Why nothing was tested, each reason once. */
static void show_reasons(const struct claim *claim, const struct claim_evidence *evidence,
			 struct tree *list)
{
	if (claim->untestable) {
		tree_textf(tree_item(list), "reason", "cannot be tested by this version: %s",
			   claim->untestable);
		return;
	}
	for (size_t i = 0; i < CLAIM_MEASURES; i++) {
		bool told = !evidence[i].missing;

		for (size_t k = 0; k < i && !told; k++)
			told = evidence[k].missing &&
			       strcmp(evidence[k].missing, evidence[i].missing) == 0;
		if (!told)
			view_text(tree_item(list), "reason", evidence[i].missing);
	}
}

static void show_text(const struct claim_group *group, const struct claim *claim, struct tree *row)
{
	tree_text(row, "id", claim->id);
	tree_text(row, "claim", claim->claim);
	tree_textf(row, "source", "Guide %s, %s", group->id, claim->source);
	tree_text(row, "guide", group->guide);
	tree_text(row, "prediction", claim->prediction);
}

static enum claim_verdict show_claim(const struct view *view, const struct claim_group *group,
				     const struct claim *claim, struct tree *tested,
				     struct tree *untested)
{
	struct claim_evidence evidence[CLAIM_MEASURES];
	enum claim_verdict verdict = claim_judge(view->results, view->count, claim, evidence);
	struct tree *row = tree_item(verdict == CLAIM_UNTESTED ? untested : tested);

	show_text(group, claim, row);
	tree_text(row, "kind", kinds[verdict]);
	tree_text(row, "symbol", symbols[verdict]);
	tree_text(row, "verdict", claim_verdict_name(verdict));
	if (verdict == CLAIM_UNTESTED)
		show_reasons(claim, evidence, tree_list(row, "reasons"));
	else
		show_evidence(view, claim, evidence, tree_list(row, "readings"));
	claim_evidence_release(evidence);
	return verdict;
}

/* Colours of charts: those that hold are the first one, those without an answer grey. */
static const size_t styles[CLAIM_VERDICTS] = {
	[CLAIM_HOLDS] = 0,     [CLAIM_FAILS] = 1,   [CLAIM_DEPENDS] = 5,
	[CLAIM_UNDECIDED] = 3, [CLAIM_PARTIAL] = 4, [CLAIM_UNTESTED] = 7,
};

/* A bar of the group's verdicts, in their order. */
static void add_bar(struct chart *chart, const struct claim_group *group,
		    const size_t counts[CLAIM_VERDICTS])
{
	char *name =
		xasprintf("%s. %.*s", group->id, (int)strcspn(group->title, ":"), group->title);
	struct chart_series *bar = chart_series_named(chart, name);

	for (size_t v = 0; v < CLAIM_VERDICTS; v++) {
		struct chart_point *part = chart_point_new(bar, words[v]);

		part->y = (double)counts[v];
		part->style = styles[v];
	}
	free(name);
}

static void show_group(const struct view *view, const struct claim_group *group,
		       struct tree *tested_groups, struct tree *untested,
		       size_t all[CLAIM_VERDICTS], struct chart *chart)
{
	struct tree *map = tree_new(TREE_MAP), *tested = tree_list(map, "claims");
	size_t counts[CLAIM_VERDICTS] = { 0 };

	for (size_t i = 0; i < group->count; i++)
		counts[show_claim(view, group, &group->claims[i], tested, untested)]++;
	add_bar(chart, group, counts);
	for (size_t v = 0; v < CLAIM_VERDICTS; v++)
		all[v] += counts[v];
	tree_text(map, "title", group->title);
	if (counts[CLAIM_UNTESTED] < group->count)
		tree_append(tested_groups, map);
	else
		tree_free(map);
}

static void show_counts(const size_t counts[CLAIM_VERDICTS], struct tree *page)
{
	struct tree *tiles = tree_list(page, "claim_tiles");

	for (size_t v = 0; v < CLAIM_VERDICTS; v++)
		view_tile(tiles, kinds[v], symbols[v], counts[v], words[v]);
	tree_textf(page, "claims_untested", "%zu", counts[CLAIM_UNTESTED]);
	tree_flag(page, "any_claim_tested",
		  counts[CLAIM_HOLDS] + counts[CLAIM_FAILS] + counts[CLAIM_DEPENDS] +
				  counts[CLAIM_UNDECIDED] + counts[CLAIM_PARTIAL] >
			  0);
}

static void show_guides(const struct claim_set *set, struct tree *page)
{
	struct tree *list = tree_list(page, "claim_guides");

	for (size_t g = 0; g < set->count; g++) {
		struct tree *guide = tree_item(list);

		tree_text(guide, "letter", set->groups[g].id);
		tree_text(guide, "subject", set->groups[g].guide);
	}
}

/* Draws and releases the chart of all groups' verdicts; with nothing tested there is none. */
static void finish_chart(struct chart *chart, const size_t counts[CLAIM_VERDICTS],
			 struct tree *charts)
{
	size_t all = 0;

	for (size_t v = 0; v < CLAIM_VERDICTS; v++)
		all += counts[v];
	chart->id = xstrdup("chart-claims");
	chart->title = xstrdup("Verdicts of each guide's claims");
	chart->shows = xstrdup("The number of claims of each guide by verdict.");
	chart->finding = xasprintf("Of %zu claims %zu hold, %zu do not hold, %zu depend.", all,
				   counts[CLAIM_HOLDS], counts[CLAIM_FAILS], counts[CLAIM_DEPENDS]);
	chart->x_name = xstrdup("verdict");
	chart->x_unit = xstrdup("");
	chart->y_name = xstrdup("claims");
	chart->y_unit = xstrdup("claims");
	chart->note = xstrdup("");
	if (counts[CLAIM_UNTESTED] < all)
		chart_draw(chart, charts);
	chart_release(chart);
}

void view_claims(const struct view *view, const struct claim_set *set, struct tree *page)
{
	struct tree *groups, *untested, *charts;
	size_t counts[CLAIM_VERDICTS] = { 0 };
	struct chart chart;

	tree_flag(page, "has_claims", set->count > 0);
	if (!set->count)
		return;
	groups = tree_list(page, "claim_groups");
	untested = tree_list(page, "claims_not_tested");
	chart_init(&chart, CHART_STACKED);
	for (size_t g = 0; g < set->count; g++)
		show_group(view, &set->groups[g], groups, untested, counts, &chart);
	charts = tree_list(page, "claim_charts");
	finish_chart(&chart, counts, charts);
	tree_flag(page, "any_claim_untested", counts[CLAIM_UNTESTED] > 0);
	show_counts(counts, page);
	show_guides(set, page);
}
