/* Provenance of the numbers: runs, environment, configuration; and the differences between runs. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "report/page/view_sections.h"
#include "report/view/format.h"
#include "report/view/view.h"

char *view_citation(const struct result *result)
{
	const char *config = view_string(result->config_text);
	uint64_t hash = text_hash(TEXT_HASH_START, config, strlen(config));

	return xasprintf("gpuproof %s, run %s%s%s, configuration %s (%016" PRIx64 ")",
			 view_string(result->gpuproof_version), view_string(result->run_id),
			 *view_string(result->started) ? " of " : "", view_string(result->started),
			 view_string(result->config_name), hash);
}

void view_runs(const struct view *view, struct tree *page)
{
	struct tree *list = tree_list(page, "runs");

	for (size_t r = 0; r < view->count; r++) {
		const struct result *result = &view->results[r];
		struct tree *run = tree_item(list);
		char letter[4], seconds[FORMAT_SIZE], date[FORMAT_SIZE];
		char *citation = view_citation(result);

		tree_text(run, "letter", view->count > 1 ? view_letter(r, letter) : "");
		view_text(run, "label", view->count > 1 ? view_run_name(view, r) : result->label);
		view_text(run, "host", result_fact(result, "hostname"));
		view_text(run, "imported", result_fact(result, "provenance"));
		view_text(run, "run_id", result->run_id);
		view_text(run, "started", result->started);
		view_text(run, "date",
			  format_date(view_string(result->started), date, sizeof(date)));
		view_text(run, "state", result->state);
		view_text(run, "command", result->command);
		view_text(run, "citation", citation);
		free(citation);
		view_text(run, "config_name", result->config_name);
		view_text(run, "version", result->gpuproof_version);
		tree_textf(run, "seed", "%lld", (long long)result->seed);
		tree_text(run, "duration",
			  result->seconds > 0
				  ? format_seconds(result->seconds, seconds, sizeof(seconds))
				  : "");
		view_run_counts(view, r, run);
	}
}

/* "cuda driver" of "cuda_driver"; the names of variables stay as they are. */
static void environment_page_fact_name(const char *name, struct tree *row)
{
	char *words = xstrdup(name);

	for (char *p = words; *p && strncmp(name, "env ", 4) != 0; p++)
		*p = *p == '_' ? ' ' : *p;
	view_text(row, "name", words);
	free(words);
}

static const char *environment_page_setting_of(const struct result *result,
					       const struct result_setting *like)
{
	for (size_t i = 0; i < result->setting_count; i++) {
		const struct result_setting *s = &result->settings[i];

		if (strcmp(view_string(s->section), view_string(like->section)) == 0 &&
		    strcmp(view_string(s->key), view_string(like->key)) == 0)
			return view_string(s->value);
	}
	return NULL;
}

/* True if an earlier result has the fact already: every name is listed once. */
static bool environment_page_fact_before(const struct view *view, size_t run, const char *name)
{
	for (size_t r = 0; r < run; r++)
		if (result_fact(&view->results[r], name))
			return true;
	return false;
}

static bool environment_page_setting_before(const struct view *view, size_t run,
					    const struct result_setting *setting)
{
	for (size_t r = 0; r < run; r++)
		if (environment_page_setting_of(&view->results[r], setting))
			return true;
	return false;
}

/* The returned text is valid until the next call. */
typedef const char *value_fn(const struct result *result, const void *what);

static const char *environment_page_fact_value(const struct result *result, const void *what)
{
	return result_fact(result, what);
}

static const char *environment_page_setting_value(const struct result *result, const void *what)
{
	return environment_page_setting_of(result, what);
}

static bool environment_fact_differs(const struct view *view, value_fn *value, const void *what)
{
	const char *text = value(&view->results[0], what);
	char *first = text ? xstrdup(text) : NULL;
	bool other = false;

	for (size_t r = 1; r < view->count && !other; r++) {
		text = value(&view->results[r], what);
		other = !first != !text || (first && strcmp(first, text) != 0);
	}
	free(first);
	return other;
}

/*
 * Values that are equal in all results become one spanning cell: columns of defaults would hide the
 * differences.
 */
static void environment_page_value_cells(const struct view *view, value_fn *value, const void *what,
					 struct tree *row)
{
	struct tree *cells = tree_list(row, "cells");
	size_t width = environment_fact_differs(view, value, what) ? 1 : view->count;

	for (size_t r = 0; r < view->count; r += width) {
		const char *text = value(&view->results[r], what);
		struct tree *cell = tree_item(cells);

		view_text(cell, "value", text ? text : "–");
		if (width > 1)
			tree_textf(cell, "span", "%zu", width);
	}
}

/*
 * The host's yardstick (measure/yardstick.h) as a fact: two visits whose hosts differ explain a
 * lot.
 */
static const char *environment_page_yardstick_value(const struct result *result, const void *what)
{
	static _Thread_local char text[FORMAT_SIZE];
	const struct metric_value *m = result_yardstick(result, what);

	return m ? format_value(m, view_string(m->unit), false, text, sizeof(text)) : NULL;
}

static void environment_page_add_yardstick(const struct view *view, struct tree *facts)
{
	static const char *const names[][2] = {
		{ "host.multiply", "Host: one of a chain of multiplications" },
		{ "host.call", "Host: a system call" },
		{ "host.page_fault", "Host: first touch of a page" },
		{ "host.wake_up", "Host: waking a thread" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct tree *row;
		bool there = false;

		for (size_t r = 0; r < view->count; r++)
			there = there || result_yardstick(&view->results[r], names[i][0]);
		if (!there)
			continue;
		row = tree_item(facts);
		tree_text(row, "name", names[i][1]);
		environment_page_value_cells(view, environment_page_yardstick_value, names[i][0],
					     row);
	}
}

void view_environment(const struct view *view, struct tree *page)
{
	struct tree *facts = tree_list(page, "facts"), *settings = tree_list(page, "settings");

	for (size_t r = 0; r < view->count; r++) {
		const struct result *result = &view->results[r];

		for (size_t i = 0; i < result->environment_count; i++) {
			const char *name = view_string(result->environment[i].name);
			struct tree *row;

			if (environment_page_fact_before(view, r, name))
				continue;
			row = tree_item(facts);
			environment_page_fact_name(name, row);
			environment_page_value_cells(view, environment_page_fact_value, name, row);
		}
		for (size_t i = 0; i < result->setting_count; i++) {
			const struct result_setting *s = &result->settings[i];
			struct tree *row;

			if (environment_page_setting_before(view, r, s))
				continue;
			row = tree_item(settings);
			view_text(row, "section", s->section);
			view_text(row, "key", s->key);
			view_text(row, "origin", s->origin);
			environment_page_value_cells(view, environment_page_setting_value, s, row);
		}
	}
	environment_page_add_yardstick(view, facts);
	tree_flag(page, "has_facts", facts->count != 0);
	tree_flag(page, "has_settings", settings->count != 0);
	tree_text_owned(page, "config_text",
			format_cut(view->count == 1 ? view_string(view->results[0].config_text)
						    : "",
				   FORMAT_LONGEST_FILE));
}

static void environment_page_add_difference(const struct view *view, struct tree *list,
					    const char *kind, const char *name, value_fn *value,
					    const void *what)
{
	struct tree *row = tree_item(list);

	tree_text(row, "kind", kind);
	if (value == environment_page_fact_value)
		environment_page_fact_name(name, row);
	else
		view_text(row, "name", name);
	environment_page_value_cells(view, value, what, row);
}

static size_t environment_page_same_names(const struct result *result, size_t first)
{
	size_t count = 0;

	for (size_t d = first; d < result->device_count; d++)
		count += strcmp(result->devices[d].name, result->devices[first].name) == 0;
	return count;
}

static bool environment_page_named_before(const struct result *result, size_t device)
{
	for (size_t d = 0; d < device; d++)
		if (strcmp(result->devices[d].name, result->devices[device].name) == 0)
			return true;
	return false;
}

/* "2 × NVIDIA H200, Tesla T4" */
static const char *environment_page_device_names(const struct result *result, const void *what)
{
	static _Thread_local char text[FORMAT_LONGEST];
	struct text names = TEXT_EMPTY;

	(void)what;
	for (size_t d = 0; d < result->device_count; d++) {
		size_t count = environment_page_same_names(result, d);

		if (environment_page_named_before(result, d))
			continue;
		text_add(&names, names.length ? ", " : "");
		if (count > 1)
			text_addf(&names, "%zu × ", count);
		text_add(&names, result->devices[d].name);
	}
	snprintf(text, sizeof(text), "%s", names.data ? names.data : "");
	text_release(&names);
	return text;
}

static const char *environment_page_version_value(const struct result *result, const void *what)
{
	(void)what;
	return view_string(result->gpuproof_version);
}

/* Differences before those of settings are folded: two configs may differ in thousands. */
#define SHOWN 30

/* Differences between the runs come first: they decide what a comparison means. */
void view_differences(const struct view *view, struct tree *page)
{
	struct tree *tables = tree_list(page, "difference_tables"), *first = tree_item(tables);
	struct tree *list = tree_list(first, "differences");

	if (environment_fact_differs(view, environment_page_device_names, NULL))
		environment_page_add_difference(view, list, "device", "devices",
						environment_page_device_names, NULL);
	if (environment_fact_differs(view, environment_page_version_value, NULL))
		environment_page_add_difference(view, list, "program", "gpuproof",
						environment_page_version_value, NULL);
	for (size_t r = 0; r < view->count; r++) {
		const struct result *result = &view->results[r];

		for (size_t i = 0; i < result->environment_count; i++) {
			const char *name = view_string(result->environment[i].name);

			if (!environment_page_fact_before(view, r, name) &&
			    environment_fact_differs(view, environment_page_fact_value, name))
				environment_page_add_difference(view, list, "environment", name,
								environment_page_fact_value, name);
		}
		for (size_t i = 0; i < result->setting_count; i++) {
			const struct result_setting *s = &result->settings[i];
			char *name;

			if (environment_page_setting_before(view, r, s) ||
			    !environment_fact_differs(view, environment_page_setting_value, s))
				continue;
			name = xasprintf("[%s] %s", view_string(s->section), view_string(s->key));
			if (list->count == SHOWN && tables->count == 1)
				list = tree_list(tree_item(tables), "differences");
			environment_page_add_difference(view, list, "configuration", name,
							environment_page_setting_value, s);
			free(name);
		}
	}
	tree_flag(page, "has_differences", list->count != 0);
	tree_flag(first, "folded", false);
	if (tables->count > 1) {
		tree_flag(tables->children[1], "folded", true);
		tree_textf(tables->children[1], "count", "%zu", list->count);
	}
}
