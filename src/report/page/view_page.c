#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/claims/claims.h"
#include "report/figure/figure.h"
#include "report/page/view_sections.h"
#include "report/run/run_figures.h"
#include "report/page/html.h"
#include "report/view/suite_page.h"

/* The devices that all runs have: "2 × NVIDIA H200", "NVIDIA H200", or "". malloc'ed. */
static char *view_page_common_devices(const struct view *view)
{
	const struct result *first = &view->results[0];
	bool model = true, same = true;
	struct text out = TEXT_EMPTY;

	view_add_devices(&out, first);
	for (size_t r = 1; r < view->count; r++) {
		struct text own = TEXT_EMPTY;

		view_add_devices(&own, &view->results[r]);
		same = same && strcmp(own.data, out.data) == 0;
		text_release(&own);
		model = model &&
			(first->device_count && view->results[r].device_count &&
			 strcmp(first->devices[0].name, view->results[r].devices[0].name) == 0);
	}
	if (same)
		return text_detach(&out);
	text_release(&out);
	if (model)
		text_add(&out, first->devices[0].name);
	return text_detach(&out);
}

/* A title names at most this many results; for more it states their number. */
#define NAMED_RESULTS 3

/* "h100_3 against h100_1", or "Comparison: NVIDIA H100 against NVIDIA H200". malloc'ed. */
static char *view_page_comparison_names(const struct view *view)
{
	struct text out = TEXT_EMPTY;
	char *cut;

	if (view->count > NAMED_RESULTS) {
		text_addf(&out, "Comparison of %zu results", view->count);
	} else if (*view_run_name(view, 0)) {
		for (size_t r = 1; r < view->count; r++)
			text_addf(&out, "%s%s", r > 1 ? ", " : "", view_run_name(view, r));
		text_addf(&out, " against %s", view_run_name(view, 0));
	} else {
		text_add(&out, "Comparison");
		for (size_t r = 0; r < view->count; r++) {
			text_add(&out, r ? " against " : ": ");
			view_add_devices(&out, &view->results[r]);
		}
	}
	cut = format_cut(out.data, 120);
	text_release(&out);
	return cut;
}

/*
 * "gpuproof run quick --suites transfer" of "gpuproof run quick -o here": the run's command for one
 * suite, into another folder. "" where the command chose cases itself, or quotes what to write to.
 */
static char *view_page_repeat_command(const struct result *result, const char *suite)
{
	const char *command = view_string(result->command), *end = command + strlen(command);
	const char *output = strstr(command, " -o "),
		   *rest = output ? output + strlen(" -o ") : end;
	size_t word = strcspn(rest, " ");

	if (!text_starts_with(command, "gpuproof run ") || strstr(command, " --resume") ||
	    strstr(command, " --suites") || strstr(command, " --only") ||
	    strcspn(rest, "'\"\\") < word)
		return xstrdup("");
	return xasprintf("%.*s%s --suites %s", (int)((output ? output : end) - command), command,
			 rest + word, suite);
}

/* The first of one list, `most` of them at most, end the other. */
static void view_page_move_first(struct tree *list, size_t most, struct tree *to)
{
	size_t count = most < list->count ? most : list->count;

	for (size_t i = 0; i < count; i++)
		tree_append(to, list->children[i]);
	list->count -= count;
	for (size_t i = 0; i < list->count; i++)
		list->children[i] = list->children[i + count];
}

/* The beginning of a page of one run. */
struct page_lead {
	struct tree *answers, *maps, *tables, *charts; /* lists */
	struct text terms;
	bool *tabled;      /* by suite: all its figures are in the tables */
	bool takes_tables; /* no share of a data sheet comes first */
};

/*
 * True if the suite has a map of winners, which is what its configuration is for: a page of one run
 * begins with it.
 */
static bool view_page_add_suite(const struct view *view, size_t index, struct tree *list,
				struct page_lead *lead)
{
	size_t map_count;
	char *command;
	struct suite_page page = presented_suite_page_of(view->suites[index]);
	struct tree *suite = tree_item(list), *charts, *answers, *tables;
	struct text terms = TEXT_EMPTY;

	view_text(suite, "suite", view->suites[index]);
	tree_textf(suite, "suite_id", "suite-%zu", index + 1);
	view_verdict_suite_counts(view, view->suites[index], suite);
	command = view_page_repeat_command(view->results, view->suites[index]);
	view_text_owned(suite, "repeat", command);
	charts = tree_list(suite, "charts");
	answers = tree_new(TREE_LIST);
	tables = tree_list(suite, "answer_tables");
	if (page.maps)
		page.maps(view, view->suites[index], charts, answers);
	map_count = charts->count;
	if (page.answer)
		page.answer(view, view->suites[index], answers, tables, &terms);
	lead->tabled[index] = lead->takes_tables && tables->count;
	if (lead->tabled[index]) {
		view_page_move_first(tables, tables->count, lead->tables);
		text_addf(&lead->terms, "%s%s", lead->terms.length ? " " : "",
			  view_string(terms.data));
		text_release(&terms);
	}
	tree_text_owned(suite, "terms", text_detach(&terms));
	/* The suite's answer as text, before all figures of the page. */
	for (size_t i = 0; i < answers->count; i++) {
		struct tree *answer = tree_item(lead->answers);

		tree_text(answer, "words", answers->children[i]->text);
		view_text(answer, "suite", view->suites[index]);
		tree_textf(answer, "suite_id", "suite-%zu", index + 1);
	}
	tree_free(answers);
	view_figures(view, view->suites[index], charts);
	view_watches(view, view->suites[index], charts);
	view_page_move_first(charts, map_count, lead->maps);
	view_cases_tables(view, view->suites[index], suite);
	view_cases(view, view->suites[index], suite);
	return map_count != 0;
}

#define LEAD 2 /* charts next to each other */

/*
 * Without figures of a data sheet, the first charts of the suites lead. A chart is left out if a
 * table that leads has the same answer. Bars show all that a table of the suite's figures would.
 */
static void view_page_lead_with_charts(const struct view *view, bool *tabled,
				       const struct tree *folds, struct tree *lead)
{
	for (size_t i = 0; i < folds->count && lead->count < LEAD; i++) {
		struct tree *charts = tree_member(folds->children[i], "charts");
		size_t first = lead->count;

		if (tabled[i] && !presented_suite_page_of(view->suites[i]).charts_lead)
			continue;
		view_page_move_first(charts, LEAD - lead->count, lead);
		for (size_t k = first; k < lead->count; k++) {
			const struct tree *bars = tree_member(lead->children[k], "bars");

			tabled[i] = tabled[i] || (bars && bars->kind == TREE_MAP);
		}
	}
}

/* The figures, charts and folds of a page of one run. */
static void view_page_add_run(const struct view *view, const struct headline_shares *shares,
			      struct tree *page)
{
	struct page_lead lead = { .answers = tree_list(page, "answers"),
				  .maps = tree_list(page, "map_charts"),
				  .tables = tree_list(page, "lead_tables"),
				  .charts = tree_list(page, "share_charts"),
				  .terms = TEXT_EMPTY,
				  .tabled = xcalloc(view->suite_count + 1, sizeof(bool)) };
	struct tree *folds = tree_list(page, "suites");
	size_t first = 0;

	run_figures(view, shares, page);
	lead.takes_tables = !tree_member(page, "figures")->count;
	view_roofline(view, lead.charts);
	for (size_t i = 0; i < view->suite_count; i++)
		if (view_page_add_suite(view, i, folds, &lead)) {
			struct tree *last = folds->children[i];

			memmove(folds->children + first + 1, folds->children + first,
				(i - first) * sizeof(*folds->children));
			folds->children[first++] = last;
		}
	if (lead.takes_tables && !lead.charts->count && !lead.maps->count)
		view_page_lead_with_charts(view, lead.tabled, folds, lead.charts);
	run_plain_figures(view, lead.tabled, page);
	tree_text_owned(page, "lead_terms", text_detach(&lead.terms));
	/* The answer comes before counts of cases where nothing failed and nothing was judged. */
	tree_flag(page, "answers_lead",
		  lead.tables->count && tree_member(page, "plain_verdict")->flag);
	tree_flag(page, "has_shares", lead.charts->count || lead.maps->count);
	free(lead.tabled);
}

/*
 * `title`: the caller's; NULL: of the configuration, else what was found. Takes over `names` of
 * compared results and `finding`, of claims or of the comparison; either may be NULL.
 */
static void view_page_set_title(const struct view *view, const struct headline_shares *shares,
				char *names, char *finding, const char *title, struct tree *page)
{
	char *devices = view_page_common_devices(view);
	char *found = names && finding ? xasprintf("%s: %s", names, finding)
		      : names          ? xstrdup(names)
		      : finding        ? xstrdup(finding)
				       : run_figures_title(view, shares);

	if (!title && view->count == 1 && *report_setting(view->results, "title"))
		title = report_setting(view->results, "title");
	view_text(page, "title", title ? title : found);
	view_text(page, "found", title && view->count == 1 ? found : "");
	/* The heading of the answer's box says the same where the title does not. */
	tree_flag(page, "titled", title || !finding);
	view_text(page, "compared_devices", devices);
	free(devices);
	free(found);
	free(names);
	free(finding);
}

struct tree *view_page(const struct view *view, const struct claim_set *claims, const char *title)
{
	struct tree *page = tree_new(TREE_MAP);
	struct headline_shares shares = { 0 };
	char *finding = view_claims(view, claims, page), *names = NULL;

	if (view->count == 1 && !claims->count)
		headline_shares_of(view, &shares);
	if (view->count > 1) {
		char *changed;

		view_environment_differences(view, page);
		changed = view_changes(view, page);
		names = finding ? NULL : view_page_comparison_names(view);
		if (!finding)
			finding = changed;
		else
			free(changed);
	}
	view_page_set_title(view, &shares, names, finding, title, page);
	view_environment_runs(view, page);
	view_verdict(view, page);
	view_warnings(view, page);
	view_warnings_launches(view, page);
	view_problems(view, page);
	tree_flag(page, "comparison", view->count > 1);
	if (view->count == 1 && !claims->count)
		view_page_add_run(view, &shares, page);
	headline_shares_release(&shares);
	view_problems_skipped(view, page);
	view_devices_nodes(view, page);
	view_devices_table(view, page);
	view_environment(view, page);
	return page;
}
