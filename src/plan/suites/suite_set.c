#include "plan/suites/suite_set.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "plan/header.h"
#include "plan/schema.h"
#include "plan/suites/adapt.h"
#include "plan/suites/plugin.h"
#include "plan/value.h"

/* A copy of a suite with additional keys, axes and metrics. */
struct made_suite {
	struct suite suite;
	/* shared by all sections of the suite; not the copy of one section */
	bool is_common;
	struct made_suite *common; /* NULL: this is the common copy */
	/* Tables of the suite, terminated as in suite.h. */
	struct key *keys;
	const char **axes;
	struct metric *metrics;
	size_t key_count, axis_count, metric_count;
	char **texts; /* texts of its tables */
	size_t text_count, text_capacity;
};

/* State while a section is adapted. */
struct adaption {
	struct document *document;
	struct document_section *section;
	struct made_suite *own, *common;
};

struct suite_set {
	unsigned holders;
	const struct suite **all; /* NULL-terminated */
	size_t count;
	/* suites of `all` that have copies, and the copies */
	struct made_suite **made;
	size_t made_count, made_capacity;
};

/* Copies a text; the copy lives as long as the suite. */
static const char *suite_set_made_text(struct made_suite *made, const char *text)
{
	if (!text)
		return NULL;
	ARRAY_GROW(made->texts, made->text_count, made->text_capacity);
	made->texts[made->text_count] = xstrdup(text);
	return made->texts[made->text_count++];
}

/* Adds a key unless it exists; if the types differ it becomes a key of words. */
static void suite_set_made_add_key(struct made_suite *made, const struct key *key)
{
	for (size_t i = 0; i < made->key_count; i++)
		if (strcmp(made->keys[i].name, key->name) == 0) {
			if (made->keys[i].type != key->type)
				made->keys[i].type = KEY_TEXT;
			return;
		}
	made->suite.keys = made->keys =
		xrealloc(made->keys, made->key_count + 2, sizeof(*made->keys));
	made->keys[made->key_count] = *key;
	made->keys[made->key_count++].name = suite_set_made_text(made, key->name);
	made->keys[made->key_count] = (struct key){ 0 };
}

static void suite_set_made_add_metric(struct made_suite *made, const struct metric *metric)
{
	struct metric *added;

	made->suite.metrics = made->metrics =
		xrealloc(made->metrics, made->metric_count + 2, sizeof(*made->metrics));
	added = &made->metrics[made->metric_count++];
	*added = *metric;
	added->name = suite_set_made_text(made, metric->name);
	added->unit = suite_set_made_text(made, metric->unit);
	added->title = suite_set_made_text(made, metric->title);
	added->help = suite_set_made_text(made, metric->help);
	made->metrics[made->metric_count] = (struct metric){ 0 };
}

/* As suite_set_made_add_key(), for an axis. */
static void suite_set_made_add_axis(struct made_suite *made, const struct key *key)
{
	suite_set_made_add_key(made, key);
	for (size_t i = 0; i < made->axis_count; i++)
		if (strcmp(made->axes[i], key->name) == 0)
			return;
	made->suite.axes = made->axes =
		xrealloc(made->axes, made->axis_count + 2, sizeof(*made->axes));
	made->axes[made->axis_count++] = suite_set_made_text(made, key->name);
	made->axes[made->axis_count] = NULL;
}

static const struct key *suite_set_key_of(const struct suite *suite, const char *name)
{
	for (const struct key *key = suite->keys; key && key->name; key++)
		if (strcmp(key->name, name) == 0)
			return key;
	return NULL;
}

static struct entry *suite_set_entry_or_default(const struct adaption *a, const char *key)
{
	struct entry *entry = document_section_entry(a->section, key);

	return entry ? entry
		     : document_section_entry(document_find(a->document, "defaults", "", ""), key);
}

/* NULL also if it was reported as invalid. */
static struct entry *suite_set_entry_of(const struct adaption *a, const char *key)
{
	struct entry *entry = suite_set_entry_or_default(a, key);

	return entry && !entry->broken ? entry : NULL;
}

bool suite_set_adapt_has(const struct adaption *a, const char *key)
{
	return suite_set_entry_of(a, key) != NULL;
}

bool suite_set_adapt_is_broken(const struct adaption *a, const char *key)
{
	const struct entry *entry = suite_set_entry_or_default(a, key);

	return entry && entry->broken;
}

const char *suite_set_adapt_text(const struct adaption *a, const char *key)
{
	const struct entry *entry = suite_set_entry_of(a, key);
	const struct key *own;

	if (entry)
		return entry->value;
	own = suite_set_key_of(&a->own->suite, key);
	return own ? own->fallback : NULL;
}

void suite_set_adapt_set(struct adaption *a, const char *key, const char *text)
{
	const struct entry *entry = suite_set_entry_of(a, key);

	document_section_add_entry(a->section, key, xstrdup(text), false,
				   entry ? entry->place : a->section->place);
}

char *suite_set_adapt_path(const struct adaption *a, const char *key, const char *path)
{
	const struct entry *entry = suite_set_entry_of(a, key);

	return document_path(a->document, entry ? entry->place : a->section->place, path);
}

void suite_set_adapt_problem(struct adaption *a, const char *key, const char *format, ...)
{
	const struct entry *entry = suite_set_entry_of(a, key);
	const struct title title =
		plan_header_title(a->section->kind, a->section->name, a->section->label);
	char *message = NULL;
	va_list ap;

	va_start(ap, format);
	if (vasprintf(&message, format, ap) < 0)
		message = xstrdup(format);
	va_end(ap);
	if (entry)
		document_problem(a->document, entry->place, "%s %s = %.60s%s: %s", title.text, key,
				 entry->value, strlen(entry->value) > 60 ? "..." : "", message);
	else
		document_problem(a->document, a->section->place, "%s: %s", title.text, message);
	free(message);
}

/*
 * Sizes appear in ids and results. A size given by name must not contain blanks, or '@', which
 * precedes the devices.
 */
static enum status suite_set_adapt_check_word(const char *text, struct error *err)
{
	for (const char *p = text; *p; p++)
		if (*p == ' ' || *p == '\t' || *p == '@' || *p == '"')
			return error_set(err, STATUS_USAGE,
					 "'%.60s' contains a blank, '@' or a quotation mark, which "
					 "case names must not contain",
					 text);
	return STATUS_OK;
}

enum key_type suite_set_adapt_axis(struct adaption *a, const char *name, const char *help)
{
	static const enum key_type types[] = { KEY_INTEGER, KEY_SIZE };
	const struct entry *entry = suite_set_entry_of(a, name);
	struct key key = { .name = name, .type = KEY_TEXT, .list = true, .help = help };

	for (size_t i = 0; entry && i < ARRAY_SIZE(types); i++) {
		struct key number = { .name = name,
				      .type = types[i],
				      .list = true,
				      .max = 0x1p53,
				      .min = types[i] == KEY_SIZE ? 0 : -0x1p53,
				      .help = help };
		struct error err = ERROR_NONE;
		struct values values = { 0 };
		bool ok = values_parse(&values, &number, entry->value, false, &err) == STATUS_OK;

		values_release(&values);
		if (ok) {
			key = number;
			break;
		}
	}
	if (key.type == KEY_TEXT)
		key.check = suite_set_adapt_check_word;
	suite_set_made_add_axis(a->own, &key);
	suite_set_made_add_axis(a->common, &key);
	return key.type;
}

static bool suite_set_adapt_same_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

bool suite_set_adapt_metric(struct adaption *a, const char *key, const struct metric *metric)
{
	struct made_suite *common = a->common;

	for (size_t i = 0; i < common->metric_count; i++) {
		const struct metric *m = &common->metrics[i];

		if (strcmp(m->name, metric->name) != 0)
			continue;
		if (suite_set_adapt_same_text(m->unit, metric->unit) &&
		    m->better == metric->better &&
		    suite_set_adapt_same_text(m->title, metric->title) && m->kind == metric->kind)
			return true;
		suite_set_adapt_problem(a, key,
					"another section of this suite declares metric %s with a "
					"different "
					"unit, direction, title or kind",
					metric->name);
		return false;
	}
	suite_set_made_add_metric(common, metric);
	return true;
}

static enum status suite_set_library_check_metrics(const struct suite *suite, struct error *err)
{
	char units[256];
	size_t length = strlen(suite->name);

	if (!suite->metrics || !suite->metrics->name)
		return error_set(err, STATUS_USAGE, "the suite %s has no metric", suite->name);
	for (const struct metric *m = suite->metrics; m->name; m++) {
		/* "suite.name" in lowercase letters, digits and '_'. */
		if (strncmp(m->name, suite->name, length) != 0 || m->name[length] != '.' ||
		    !islower((unsigned char)m->name[length + 1]) ||
		    m->name[length + 1 +
			    strspn(m->name + length + 1, "abcdefghijklmnopqrstuvwxyz0123456789_")])
			return error_set(err, STATUS_USAGE,
					 "the metric '%.60s' must be named %s.NAME, with lowercase "
					 "letters, digits and '_'",
					 m->name, suite->name);
		if (!m->unit || !units_known(m->unit))
			return error_set(err, STATUS_USAGE,
					 "the metric %s has the unknown unit '%.20s'; allowed: %s",
					 m->name, m->unit ? m->unit : "",
					 units_all(units, sizeof(units)));
		if (!m->help)
			return error_set(err, STATUS_USAGE, "the metric %s has no help", m->name);
	}
	return STATUS_OK;
}

static enum status suite_set_library_check_key(const struct suite *suite, const struct key *key,
					       struct error *err)
{
	struct values values = { 0 };
	enum status status = STATUS_OK;

	if (!key->help || (key->type == KEY_CHOICE && !key->choices))
		return error_set(err, STATUS_USAGE, "the key %s has no %s", key->name,
				 key->help ? "choices" : "help");
	if (key->fallback)
		status = values_parse(&values, key, key->fallback, schema_is_axis(suite, key), err);
	values_release(&values);
	return status == STATUS_OK ? status : error_prefix(err, "the default of key %s", key->name);
}

static enum status suite_set_library_check(const struct suite *suite, const char *name,
					   struct error *err)
{
	if (!suite || !suite->name || strcmp(suite->name, name) != 0)
		return error_set(err, STATUS_USAGE,
				 "the shared object contains the suite '%.60s', but the section "
				 "names '%.60s'",
				 suite && suite->name ? suite->name : "", name);
	if (!suite->summary || (!suite->run && !suite->run_group))
		return error_set(err, STATUS_USAGE, "the suite %s has no %s", name,
				 suite->summary ? "run()" : "summary");
	if (suite_set_library_check_metrics(suite, err) != STATUS_OK)
		return err->status;
	for (const struct key *key = suite->keys; key && key->name; key++)
		if (suite_set_library_check_key(suite, key, err) != STATUS_OK)
			return err->status;
	for (const char *const *axis = suite->axes; axis && *axis; axis++) {
		const struct key *key = suite_set_key_of(suite, *axis);

		if (!key || !key->list)
			return error_set(err, STATUS_USAGE,
					 "the axis %s is not a key of the suite that takes a list",
					 *axis);
	}
	return STATUS_OK;
}

/* Loads the suite `name` of the shared object `path`, which stays loaded until the process ends. */
static enum status suite_set_library(const char *path, const char *name, const struct suite **out,
				     struct error *err)
{
	const struct suite_plugin *plugin;
	/* With a slash, because dlopen() searches the system's folders for other names. */
	char *file = strchr(path, '/') ? xstrdup(path) : xasprintf("./%s", path);
	void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	const char *reason = library ? NULL : dlerror();

	free(file);
	if (!library)
		return error_set(err, STATUS_USAGE, "cannot load the shared object: %s",
				 reason ? reason : "dlopen failed");
	plugin = dlsym(library, SUITE_PLUGIN_SYMBOL);
	if (!plugin)
		return error_set(err, STATUS_USAGE,
				 "not a gpuproof suite, because it does not "
				 "export " SUITE_PLUGIN_SYMBOL
				 "; add the line SUITE(%.60s) to its source",
				 name);
	if (plugin->abi != SUITE_ABI)
		return error_set(err, STATUS_USAGE,
				 "built for interface %08x, but this gpuproof has %08x; rebuild "
				 "the shared object with the installed headers",
				 plugin->abi, SUITE_ABI);
	if (suite_set_library_check(plugin->suite, name, err) != STATUS_OK)
		return err->status;
	*out = plugin->suite;
	return STATUS_OK;
}

static const struct key library_key = { .name = "library",
					.type = KEY_TEXT,
					.help = "shared object that contains the suite; a relative "
						"path begins at the directory of the config" };

static void suite_set_add_suite(struct suite_set *set, const struct suite *suite)
{
	set->all = xrealloc(set->all, set->count + 2, sizeof(*set->all));
	set->all[set->count++] = suite;
	set->all[set->count] = NULL;
}

static struct made_suite *suite_set_add_made(struct suite_set *set, const struct suite *base)
{
	struct made_suite *made = xcalloc(1, sizeof(*made));

	made->suite = *base;
	made->suite.keys = made->keys = xcalloc(1, sizeof(*made->keys));
	made->suite.axes = made->axes = xcalloc(1, sizeof(*made->axes));
	made->suite.metrics = made->metrics = xcalloc(1, sizeof(*made->metrics));
	for (const struct key *key = base->keys; key && key->name; key++)
		suite_set_made_add_key(made, key);
	for (const char *const *axis = base->axes; axis && *axis; axis++)
		suite_set_made_add_axis(made, suite_set_key_of(base, *axis));
	for (const struct metric *metric = base->metrics; metric && metric->name; metric++)
		suite_set_made_add_metric(made, metric);
	ARRAY_GROW(set->made, set->made_count, set->made_capacity);
	return set->made[set->made_count++] = made;
}

/* The common copy of a suite of `all`, created for the first section that has a copy. */
static struct made_suite *suite_set_common_suite(struct suite_set *set, const struct suite *base)
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
		suite_set_add_suite(set, &common->suite);
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
	const struct title title = plan_header_title(section->kind, section->name, section->label);

	if (!*entry->value)
		document_problem(d, entry->place, "%s library: missing value", title.text);
	else if (suite_set_library(path, section->name, &suite, &err) != STATUS_OK)
		document_problem(d, entry->place, "%s library = %.200s: %s", title.text, path,
				 err.message);
	free(entry->value);
	entry->value = path;
	return suite;
}

/* Creates the section's copy with its declarations. */
static void suite_set_copy_for(struct suite_set *set, struct document *d,
			       struct document_section *section, const struct suite *base,
			       bool of_library)
{
	struct made_suite *common = suite_set_common_suite(set, base),
			  *own = suite_set_add_made(set, base);
	struct adaption adaption = { d, section, own, common };

	own->common = common;
	if (of_library) {
		suite_set_made_add_key(own, &library_key);
		suite_set_made_add_key(common, &library_key);
	}
	if (base->adapt)
		base->adapt(&adaption);
	section->suite = &own->suite;
}

/* False: the section has no suite. This was reported, unless the document allows unknown suites. */
static bool suite_set_find_suite_of(struct suite_set *set, struct document *d,
				    struct document_section *section)
{
	const struct suite *suite = schema_named(d->suites, section->name);
	struct entry *library = document_section_entry(section, library_key.name);

	if (d->loads_nothing)
		return schema_named(set->all, section->name) != NULL;
	if (suite) {
		if (suite->adapt)
			suite_set_copy_for(set, d, section, suite, false);
		return true;
	}
	if (!library) {
		struct title title =
			plan_header_title(section->kind, section->name, section->label);

		/* Removes the brackets, as plan_header_parse() expects. */
		title.text[strlen(title.text) - 1] = '\0';
		plan_header_document_unknown_suite(d, section->place, title.text + 1,
						   section->name);
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
			suite_set_add_suite(set, *s);
	for (size_t i = 0; i < d->presented_count; i++) {
		const struct presentation *p = &d->presented[i];
		const struct suite absent = {
			.name = p->suite, .summary = "", .metrics = p->metrics, .absent = true
		};
		struct made_suite *made;

		if (schema_named(set->all, p->suite))
			continue;
		made = suite_set_add_made(set, &absent);
		made->suite.name = suite_set_made_text(made, p->suite);
		suite_set_add_suite(set, &made->suite);
	}
	for (size_t i = 0; i < d->section_count; i++) {
		struct document_section *section = &d->sections[i];

		if (strcmp(section->kind, "suite") == 0 &&
		    !suite_set_find_suite_of(set, d, section))
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
	for (size_t i = 0; i < set->made_count; i++) {
		struct made_suite *made = set->made[i];

		for (size_t k = 0; k < made->text_count; k++)
			free(made->texts[k]);
		free(made->texts);
		free(made->keys);
		free(made->axes);
		free(made->metrics);
		free(made);
	}
	free(set->made);
	free(set->all);
	free(set);
}
