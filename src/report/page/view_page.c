#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "report/page/settings.h"
#include "report/view/format.h"
#include "report/view/view.h"

static bool same_model(const struct result *a, const struct result *b)
{
	return a->device_count && b->device_count &&
	       strcmp(a->devices[0].name, b->devices[0].name) == 0;
}

/* "2 × NVIDIA H200"; shares of a CPU are not as many CPUs. */
static void add_devices(struct text *out, const struct result *result)
{
	const struct device_info *first = result->devices;
	bool host = result->device_count && device_is_host(first);

	if (result->device_count > 1 && !host)
		text_addf(out, "%zu × ", result->device_count);
	text_add(out, result->device_count ? first->name : "no device");
	if (host)
		text_add(out, " (CPU)");
}

/* The devices that all runs have: ": 2 × NVIDIA H200", ": NVIDIA H200", or nothing. */
static void add_common(struct text *out, const struct view *view)
{
	const struct result *first = &view->results[0];
	bool model = true, number = true;

	for (size_t r = 1; r < view->count; r++) {
		model = model && same_model(first, &view->results[r]);
		number = number && view->results[r].device_count == first->device_count;
	}
	if (!model)
		return;
	text_add(out, ": ");
	if (number)
		add_devices(out, first);
	else
		text_add(out, first->devices[0].name);
}

/* A title names at most this many results; for more it states their number. */
#define NAMED_RESULTS 3

/* "Measurement: lab node 7, 2 × NVIDIA H200" */
static char *default_title(const struct view *view)
{
	const struct result *first = &view->results[0];
	struct text out = TEXT_EMPTY;
	char *cut;

	if (view->count > 1 && view->count <= NAMED_RESULTS && *view_run_name(view, 0)) {
		for (size_t r = 1; r < view->count; r++)
			text_addf(&out, "%s%s", r > 1 ? ", " : "", view_run_name(view, r));
		text_addf(&out, " against %s", view_run_name(view, 0));
		add_common(&out, view);
		return text_detach(&out);
	}
	text_add(&out, view->count > 1 ? "Comparison" : "Measurement");
	if (view->count > NAMED_RESULTS) {
		text_addf(&out, " of %zu results", view->count);
		add_common(&out, view);
	}
	for (size_t r = 0; view->count > 1 && view->count <= NAMED_RESULTS && r < view->count;
	     r++) {
		text_add(&out, r ? " against " : ": ");
		add_devices(&out, &view->results[r]);
	}
	if (view->count == 1 && *view_string(first->label))
		text_addf(&out, ": %s", first->label);
	if (view->count == 1 && first->device_count) {
		text_add(&out, *view_string(first->label) ? ", " : ": ");
		add_devices(&out, first);
	}
	cut = format_cut(out.data, 120);
	text_release(&out);
	return cut;
}

/* The suite's answer in words, before all figures of the page. */
static void add_answers(const struct view *view, size_t index, const struct tree *answers,
			struct tree *all)
{
	for (size_t i = 0; i < answers->count; i++) {
		struct tree *answer = tree_item(all);

		tree_text(answer, "words", answers->children[i]->text);
		view_text(answer, "suite", view->suites[index]);
		tree_textf(answer, "suite_id", "suite-%zu", index + 1);
	}
}

/*
 * "gpuproof run quick --suites transfer" of "gpuproof run quick -o here": the run's command for one
 * suite, into another folder. "" where the command chose cases itself, or quotes what to write to.
 */
static char *repeat_command(const struct result *result, const char *suite)
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

/* The first charts of the one list, `most` of them at most, end the other. */
static void move_charts(struct tree *charts, size_t most, struct tree *to)
{
	size_t count = most < charts->count ? most : charts->count;

	for (size_t i = 0; i < count; i++)
		tree_append(to, charts->children[i]);
	charts->count -= count;
	for (size_t i = 0; i < charts->count; i++)
		charts->children[i] = charts->children[i + count];
}

/*
 * True if the suite has a map of winners, which is what its configuration is for: a page of one run
 * begins with `maps`.
 */
static bool add_suite(const struct view *view, size_t index, struct tree *list, struct tree *maps,
		      struct tree *all_answers)
{
	size_t map_count;
	char *command;
	struct tree *suite = tree_item(list), *charts, *answers;

	view_text(suite, "suite", view->suites[index]);
	tree_textf(suite, "suite_id", "suite-%zu", index + 1);
	view_suite_counts(view, view->suites[index], suite);
	command =
		view->count == 1 ? repeat_command(view->results, view->suites[index]) : xstrdup("");
	view_text(suite, "repeat", command);
	free(command);
	charts = tree_list(suite, "charts");
	answers = tree_new(TREE_LIST);
	view_split_maps(view, view->suites[index], charts, answers);
	map_count = charts->count;
	view_split_answer(view, view->suites[index], suite, answers);
	view_memory_answer(view, view->suites[index], answers);
	add_answers(view, index, answers, all_answers);
	tree_free(answers);
	view_figures(view, view->suites[index], charts);
	view_watches(view, view->suites[index], charts);
	if (view->count == 1)
		move_charts(charts, map_count, maps);
	view_tables(view, view->suites[index], suite);
	/* Every case of two results is in the table of the comparison. */
	tree_flag(suite, "side_by_side", view->count > 2);
	if (view->count > 2)
		view_compared_cases(view, view->suites[index], suite);
	else if (view->count == 1)
		view_cases(view, view->suites[index], suite);
	return map_count != 0;
}

/* The last of the list becomes the item at `place`. */
static void move_last(struct tree *list, size_t place)
{
	struct tree *last = list->children[list->count - 1];

	for (size_t i = list->count - 1; i > place; i--)
		list->children[i] = list->children[i - 1];
	list->children[place] = last;
}

#define LEAD 2 /* charts next to each other */

/* A page whose data sheet says nothing begins with the first charts of its suites. */
static void lead_with_charts(struct tree *suites, struct tree *lead)
{
	for (size_t i = 0; i < suites->count && lead->count < LEAD; i++) {
		struct tree *suite = suites->children[i];

		for (size_t m = 0; m < suite->count; m++) {
			struct tree *charts = suite->children[m];

			if (strcmp(charts->name, "charts") != 0)
				continue;
			move_charts(charts, LEAD - lead->count, lead);
		}
	}
}

struct tree *view_page(const struct view *view, const char *title)
{
	struct tree *page = tree_new(TREE_MAP), *lead, *maps, *suites, *answers;
	size_t first = 0;
	char *own = title ? NULL : default_title(view);

	if (!title && view->count == 1 && *report_setting(view->results, "title"))
		title = report_setting(view->results, "title");
	view_text(page, "title", title ? title : own);
	free(own);
	view_runs(view, page);
	view_verdict(view, page);
	view_warnings(view, page);
	view_launches(view, page);
	view_problems(view, page);
	lead = view_headlines(view, page);
	tree_flag(page, "comparison", view->count > 1);
	answers = tree_list(page, "answers");
	maps = tree_list(page, "map_charts");
	suites = tree_list(page, "suites");
	for (size_t i = 0; i < view->suite_count; i++)
		if (add_suite(view, i, suites, maps, answers))
			move_last(suites, first++);
	if (view->count == 1 && !lead->count && !maps->count)
		lead_with_charts(suites, lead);
	tree_flag(page, "has_shares", lead->count || maps->count);
	tree_flag(page, "has_answers", answers->count != 0);
	view_skipped(view, page);
	view_nodes(view, page);
	view_devices_table(view, page);
	view_environment(view, page);
	if (view->count > 1) {
		view_differences(view, page);
		view_changes(view, page);
	}
	view_data(view, page);
	return page;
}
