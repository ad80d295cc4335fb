#include "plan/suites/suite_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "plan/header.h"
#include "plan/schema.h"
#include "plan/suites/library.h"
#include "plan/suites/made_suite.h"

struct suite_set {
	unsigned holders;
	const struct suite **all; /* NULL-terminated */
	size_t count;
	/* suites of `all` that have copies, and the copies */
	struct made_suite **made;
	size_t made_count, made_capacity;
};

static const struct key library_key = { .name = "library",
					.type = KEY_TEXT,
					.help = "shared object that contains the suite, relative "
						"to the directory of this file" };

static void add_suite(struct suite_set *set, const struct suite *suite)
{
	set->all = xrealloc(set->all, set->count + 2, sizeof(*set->all));
	set->all[set->count++] = suite;
	set->all[set->count] = NULL;
}

static struct made_suite *suite_set_add_made(struct suite_set *set, const struct suite *base)
{
	ARRAY_GROW(set->made, set->made_count, set->made_capacity);
	set->made[set->made_count] = made_suite_of(base);
	return set->made[set->made_count++];
}

static void add_absent(struct suite_set *set, const struct presentation *presented)
{
	const struct suite absent = { .name = presented->suite, .summary = "", .absent = true };
	struct made_suite *made = suite_set_add_made(set, &absent);

	made->suite.name = made_suite_text(made, presented->suite);
	for (const struct metric *m = presented->metrics; m && m->name; m++)
		made_suite_add_metric(made, m);
	add_suite(set, &made->suite);
}

/* The common copy of a suite of `all`, created for the first section that has a copy. */
static struct made_suite *common_suite(struct suite_set *set, const struct suite *base)
{
	struct made_suite *common;
	size_t at = 0;

	for (size_t i = 0; i < set->made_count; i++)
		if (set->made[i]->is_common && strcmp(set->made[i]->suite.name, base->name) == 0)
			return set->made[i];
	common = suite_set_add_made(set, base);
	common->is_common = true;
	while (at < set->count && strcmp(set->all[at]->name, base->name) != 0)
		at++;
	if (at == set->count)
		add_suite(set, &common->suite);
	set->all[at] = &common->suite;
	return common;
}

/* The suite of the library that the section names; NULL: a problem was reported. */
static const struct suite *suite_set_load_library(struct document *d,
						  const struct document_section *section,
						  struct entry *entry)
{
	const struct suite *suite = NULL;
	struct error err = ERROR_NONE;
	char *path = document_path(d, entry->place, entry->value);
	char *title = header_text(section->kind, section->name, section->label);

	if (!*entry->value)
		document_problem(d, entry->place, "%s library: missing value", title);
	else if (library_suite(path, section->name, &suite, &err) != STATUS_OK)
		document_problem(d, entry->place, "%s library = %.200s: %s", title, path,
				 err.message);
	free(title);
	free(entry->value);
	entry->value = path;
	return suite;
}

/* Creates the section's copy with its declarations. */
static void suite_set_copy_for(struct suite_set *set, struct document *d,
			       struct document_section *section, const struct suite *base,
			       bool of_library)
{
	struct made_suite *common = common_suite(set, base), *own = suite_set_add_made(set, base);
	struct adaption adaption = { d, section, own, common };

	own->common = common;
	if (of_library) {
		made_suite_add_key(own, &library_key);
		made_suite_add_key(common, &library_key);
	}
	if (base->adapt)
		base->adapt(&adaption);
	section->suite = &own->suite;
}

/* False: the section has no suite. This was reported, unless the document allows unknown suites. */
static bool find_suite_of(struct suite_set *set, struct document *d,
			  struct document_section *section)
{
	const struct suite *suite = schema_named(d->suites, section->name);
	struct entry *library = section_entry(section, library_key.name);

	if (d->loads_nothing)
		return schema_named(set->all, section->name) != NULL;
	if (suite) {
		if (suite->adapt)
			suite_set_copy_for(set, d, section, suite, false);
		return true;
	}
	if (!library) {
		char *title = header_text(section->kind, section->name, section->label);

		/* Removes the brackets, as header_parse() expects. */
		title[strlen(title) - 1] = '\0';
		document_unknown_suite(d, section->place, title + 1, section->name);
		free(title);
		return false;
	}
	suite = library->broken ? NULL : suite_set_load_library(d, section, library);
	if (suite)
		suite_set_copy_for(set, d, section, suite, true);
	return suite != NULL;
}

struct suite_set *suite_set_make(struct document *d)
{
	struct suite_set *set = xcalloc(1, sizeof(*set));
	size_t kept = 0;

	set->holders = 1;
	set->all = xcalloc(1, sizeof(*set->all));
	for (const struct suite *const *s = d->suites; *s; s++)
		/* The rows contain what its sections declared. */
		if (!((*s)->adapt && d->loads_nothing))
			add_suite(set, *s);
	for (size_t i = 0; i < d->presented_count; i++)
		if (!schema_named(set->all, d->presented[i].suite))
			add_absent(set, &d->presented[i]);
	for (size_t i = 0; i < d->section_count; i++) {
		struct document_section *section = &d->sections[i];

		if (strcmp(section->kind, "suite") == 0 && !find_suite_of(set, d, section))
			document_section_release(section);
		else
			d->sections[kept++] = *section;
	}
	d->section_count = kept;
	for (size_t i = 0; i < set->made_count; i++)
		if (set->made[i]->common)
			set->made[i]->suite.metrics = set->made[i]->common->suite.metrics;
	return set;
}

const struct suite *const *suite_set_all(const struct suite_set *set)
{
	return set ? set->all : suites;
}

struct suite_set *suite_set_hold(struct suite_set *set)
{
	if (set)
		set->holders++;
	return set;
}

void suite_set_drop(struct suite_set *set)
{
	if (!set || --set->holders > 0)
		return;
	for (size_t i = 0; i < set->made_count; i++)
		made_suite_free(set->made[i]);
	free(set->made);
	free(set->all);
	free(set);
}
