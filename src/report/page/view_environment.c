/* Provenance of the numbers: runs, environment, configuration; and the differences between runs. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/page/view_sections.h"

char *view_environment_citation(const struct result *result)
{
	const char *config = view_string(result->config_text);
	uint64_t hash = text_hash(TEXT_HASH_START, config, strlen(config));

	return xasprintf("gpuproof %s, run %s%s%s, configuration %s (%016" PRIx64 ")",
			 view_string(result->gpuproof_version), view_string(result->run_id),
			 *view_string(result->started) ? " of " : "", view_string(result->started),
			 view_string(result->config_name), hash);
}

void view_environment_runs(const struct view *view, struct tree *page)
{
	struct tree *list = tree_list(page, "runs");

	for (size_t r = 0; r < view->count; r++) {
		const struct result *result = &view->results[r];
		struct tree *run = tree_item(list);
		char *citation = view_environment_citation(result);

		tree_text(run, "letter", view->count > 1 ? view_letter(r).text : "");
		view_text(run, "label", view->count > 1 ? view_run_name(view, r) : result->label);
		view_text(run, "host", result_fact(result, "hostname"));
		view_text(run, "imported", result_fact(result, "provenance"));
		view_text(run, "run_id", result->run_id);
		view_text(run, "started", result->started);
		view_text(run, "date", format_date(view_string(result->started)).text);
		view_text(run, "state", result->state);
		view_text(run, "command", result->command);
		view_text_owned(run, "citation", citation);
		view_text(run, "config_name", result->config_name);
		view_text(run, "version", result->gpuproof_version);
		tree_textf(run, "seed", "%lld", (long long)result->seed);
		tree_text(run, "duration",
			  result->seconds > 0 ? format_seconds(result->seconds).text : "");
		view_verdict_run_counts(view, r, run);
	}
}

/* "cuda driver" of "cuda_driver"; the names of variables stay as they are. malloc'ed. */
static char *view_environment_fact_words(const char *name)
{
	char *words = xstrdup(name);

	for (char *p = words; *p && strncmp(name, "env ", 4) != 0; p++)
		*p = *p == '_' ? ' ' : *p;
	return words;
}

static const struct result_setting *view_environment_setting(const struct result *result,
							     const struct result_setting *like)
{
	for (size_t i = 0; i < result->setting_count; i++) {
		const struct result_setting *s = &result->settings[i];

		if (strcmp(view_string(s->section), view_string(like->section)) == 0 &&
		    strcmp(view_string(s->key), view_string(like->key)) == 0)
			return s;
	}
	return NULL;
}

/* A fact of all results. */
struct environment_fact {
	enum {
		FACT_OF_ENVIRONMENT,
		FACT_OF_CONFIGURATION,
		FACT_OF_HOST,
		FACT_OF_DEVICES,
		FACT_OF_PROGRAM
	} kind;
	char *name; /* for people */
	const char
		*what; /* the fact, or the metric of the host's yardstick (measure/yardstick.h) */
	const struct result_setting *setting; /* NULL: it is no setting */
	bool known, differs, set;             /* set: by a file or an option, in any result */
};

/* malloc'ed; NULL if the result has none. */
static char *view_environment_value(const struct result *result,
				    const struct environment_fact *fact)
{
	const struct result_setting *s = NULL;
	const struct metric_value *m = NULL;
	struct text text = TEXT_EMPTY;

	switch (fact->kind) {
	case FACT_OF_ENVIRONMENT:
		return result_fact(result, fact->what) ? xstrdup(result_fact(result, fact->what))
						       : NULL;
	case FACT_OF_CONFIGURATION:
		s = view_environment_setting(result, fact->setting);
		return s ? xstrdup(view_string(s->value)) : NULL;
	case FACT_OF_HOST:
		m = result_yardstick(result, fact->what);
		return m ? xstrdup(format_value(m, view_string(m->unit), false).text) : NULL;
	case FACT_OF_DEVICES:
		view_add_devices(&text, result);
		break;
	case FACT_OF_PROGRAM:
		text_add(&text, view_string(result->gpuproof_version));
		break;
	}
	return text_detach(&text);
}

typedef void environment_fn(const struct view *view, const struct environment_fact *fact,
			    void *user);

/* Calls `visit` if a result has the fact. Frees fact.name. */
static void view_environment_visit(const struct view *view, struct environment_fact fact,
				   environment_fn *visit, void *user)
{
	char *first = view_environment_value(&view->results[0], &fact);

	fact.known = first;
	for (size_t r = 0; r < view->count; r++) {
		const struct result_setting *s =
			fact.setting ? view_environment_setting(&view->results[r], fact.setting)
				     : NULL;
		char *text = view_environment_value(&view->results[r], &fact);

		fact.known = fact.known || text;
		fact.differs = fact.differs || !first != !text || (first && strcmp(first, text));
		fact.set = fact.set || (s && strcmp(view_string(s->origin), "default") != 0);
		free(text);
	}
	if (fact.known)
		visit(view, &fact, user);
	free(first);
	free(fact.name);
}

/* Visits facts and settings that earlier results do not have, each name once. */
static void view_environment_visit_run(const struct view *view, size_t run, environment_fn *visit,
				       void *user)
{
	const struct result *result = &view->results[run];
	bool before = false;

	for (size_t i = 0; i < result->environment_count; i++, before = false) {
		const char *name = view_string(result->environment[i].name);
		struct environment_fact fact = { .kind = FACT_OF_ENVIRONMENT, .what = name };

		for (size_t r = 0; r < run; r++)
			before = before || result_fact(&view->results[r], name);
		if (before)
			continue;
		fact.name = view_environment_fact_words(name);
		view_environment_visit(view, fact, visit, user);
	}
	for (size_t i = 0; i < result->setting_count; i++, before = false) {
		const struct result_setting *s = &result->settings[i];
		struct environment_fact fact = { .kind = FACT_OF_CONFIGURATION, .setting = s };

		for (size_t r = 0; r < run; r++)
			before = before || view_environment_setting(&view->results[r], s);
		if (before)
			continue;
		fact.name = xasprintf("[%s] %s", view_string(s->section), view_string(s->key));
		view_environment_visit(view, fact, visit, user);
	}
}

static void view_environment_visit_all(const struct view *view, environment_fn *visit, void *user)
{
	static const char *const yardsticks[][2] = {
		{ "host.multiply", "Host: one multiplication in a dependent chain" },
		{ "host.call", "Host: a system call" },
		{ "host.page_fault", "Host: first access to a page" },
		{ "host.wake_up", "Host: wake-up of a thread" },
	};

	for (size_t r = 0; r < view->count; r++)
		view_environment_visit_run(view, r, visit, user);
	for (size_t i = 0; i < ARRAY_SIZE(yardsticks); i++) {
		struct environment_fact fact = { .kind = FACT_OF_HOST, .what = yardsticks[i][0] };

		fact.name = xstrdup(yardsticks[i][1]);
		view_environment_visit(view, fact, visit, user);
	}
}

/* Leaves out what differs, which has a table of its own, and keys with their defaults. */
static void view_environment_show_fact(const struct view *view, const struct environment_fact *fact,
				       void *user)
{
	const struct result_setting *s = fact->setting;
	struct tree *page = user, *row;

	if (fact->differs || (s && !fact->set))
		return;
	row = tree_item(tree_member(page, s ? "settings" : "facts"));
	view_text(row, "name", fact->name);
	view_text_owned(row, "value", view_environment_value(&view->results[0], fact));
	view_text(row, "section", s ? s->section : "");
	view_text(row, "key", s ? s->key : "");
	view_text(row, "origin", s ? s->origin : "");
}

void view_environment(const struct view *view, struct tree *page)
{
	tree_list(page, "facts");
	tree_list(page, "settings");
	view_environment_visit_all(view, view_environment_show_fact, page);
	tree_text_owned(page, "config_text",
			format_cut(view->count == 1 ? view_string(view->results[0].config_text)
						    : "",
				   FORMAT_LONGEST_FILE));
}

/* Differences before those that are folded: two configs may differ in thousands. */
#define SHOWN 30

static void view_environment_show_difference(const struct view *view,
					     const struct environment_fact *fact, void *user)
{
	static const char *const kinds[] = {
		[FACT_OF_ENVIRONMENT] = "environment",
		[FACT_OF_CONFIGURATION] = "configuration",
		[FACT_OF_HOST] = "host",
		[FACT_OF_DEVICES] = "device",
		[FACT_OF_PROGRAM] = "program",
	};
	struct tree *tables = user, *list, *row, *cells;

	if (!fact->differs)
		return;
	list = tables->children[tables->count - 1]->children[0];
	if (list->count == SHOWN && tables->count == 1)
		list = tree_list(tree_item(tables), "differences");
	row = tree_item(list);
	tree_text(row, "kind", kinds[fact->kind]);
	view_text(row, "name", fact->name);
	cells = tree_list(row, "cells");
	for (size_t r = 0; r < view->count; r++) {
		char *text = view_environment_value(&view->results[r], fact);

		view_text_owned(tree_item(cells), "value", text ? text : xstrdup("–"));
	}
}

/* Differences between the runs decide what a comparison means. */
void view_environment_differences(const struct view *view, struct tree *page)
{
	struct tree *tables = tree_list(page, "difference_tables"), *first = tree_item(tables);
	struct tree *list = tree_list(first, "differences");
	struct environment_fact devices = { .kind = FACT_OF_DEVICES, .name = xstrdup("devices") };
	struct environment_fact program = { .kind = FACT_OF_PROGRAM, .name = xstrdup("gpuproof") };

	view_environment_visit(view, devices, view_environment_show_difference, tables);
	view_environment_visit(view, program, view_environment_show_difference, tables);
	view_environment_visit_all(view, view_environment_show_difference, tables);
	tree_flag(page, "has_differences", list->count != 0);
	tree_flag(first, "folded", false);
	if (tables->count > 1) {
		tree_flag(tables->children[1], "folded", true);
		tree_textf(tables->children[1], "count", "%zu",
			   tables->children[1]->children[0]->count);
	}
}
