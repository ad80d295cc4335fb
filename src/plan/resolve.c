#include "plan/resolve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "plan/header.h"
#include "plan/ini/hint.h"
#include "plan/limits/check.h"
#include "plan/value.h"

struct resolving {
	const struct schema *schema;
	struct document *document;
	const struct document_section *defaults; /* NULL: none */
	/* The last invalid value of [defaults]: reported once for all sections that use it. */
	struct bad_default {
		const struct entry *entry;
		char *title, *why; /* of the first section with it */
		size_t others;
	} * bad;
	size_t bad_count, bad_capacity;
};

/* Reports an unknown key of `section`, with the most similar one. */
static void resolve_unknown_key(struct resolving *r, const struct document_section *section,
				const struct suite *suite, const struct entry *entry)
{
	struct key_walk walk = schema_keys(r->schema, section->kind, suite);
	char *title;
	struct text list = TEXT_EMPTY;
	const char *names[64];
	const struct key *key;
	size_t n = 0;

	if (document_is_full(r->document)) {
		document_problem(r->document, entry->place, "unknown key");
		return;
	}
	title = header_text(section->kind, section->name, section->label);
	while ((key = key_next(&walk)) && n + 1 < ARRAY_SIZE(names)) {
		text_addf(&list, "%s%s", n ? ", " : "", key->name);
		names[n++] = key->name;
	}
	names[n] = NULL;
	document_problem(r->document, entry->place, "%s has no key '%.60s'%s; keys: %s", title,
			 entry->key, hint_for(entry->key, names).text, list.data);
	text_release(&list);
	free(title);
}

static void unknown_default(struct resolving *r, const struct entry *entry)
{
	const char *names[256];
	const struct key *key;
	size_t n = 0;

	if (document_is_full(r->document)) {
		document_problem(r->document, entry->place, "unknown key");
		return;
	}
	for (const struct suite *const *s = r->schema->suites; *s; s++) {
		struct key_walk walk = schema_keys(r->schema, "suite", *s);

		while ((key = key_next(&walk)) && n + 1 < ARRAY_SIZE(names))
			names[n++] = key->name;
	}
	names[n] = NULL;
	document_problem(r->document, entry->place, "[defaults]: no suite has the key '%.60s'%s",
			 entry->key, hint_for(entry->key, names).text);
}

/* Further sections find the same error and do not repeat it. */
static void bad_default(struct resolving *r, const struct entry *entry, char *title,
			const char *why)
{
	for (size_t i = 0; i < r->bad_count; i++)
		if (r->bad[i].entry == entry && strcmp(r->bad[i].why, why) == 0) {
			r->bad[i].others++;
			free(title);
			return;
		}
	ARRAY_GROW(r->bad, r->bad_count, r->bad_capacity);
	r->bad[r->bad_count++] =
		(struct bad_default){ .entry = entry, .title = title, .why = xstrdup(why) };
}

static void report_bad_defaults(struct resolving *r)
{
	for (size_t i = 0; i < r->bad_count; i++) {
		const struct bad_default *b = &r->bad[i];
		char more[64] = "";

		if (b->others)
			snprintf(more, sizeof(more), " and %zu more section%s", b->others,
				 b->others == 1 ? "" : "s");
		document_problem(r->document, b->entry->place,
				 "[defaults] %s = %.60s%s, as used by %s%s: %s", b->entry->key,
				 b->entry->value, strlen(b->entry->value) > 60 ? "..." : "",
				 b->title, more, b->why);
		free(b->title);
		free(b->why);
	}
	free(r->bad);
}

static void bad_value(struct resolving *r, const struct section *section, const struct key *key,
		      const struct entry *entry, bool from_defaults, const struct error *err)
{
	char *title = header_text(section->kind, section->name, section->label);

	if (from_defaults) {
		bad_default(r, entry, title, err->message);
		return;
	}
	document_problem(r->document, entry->place, "%s %s = %.60s%s: %s", title, key->name,
			 entry->value, strlen(entry->value) > 60 ? "..." : "", err->message);
	free(title);
}

static void parse_fallback(struct values *values, const struct key *key, bool unique)
{
	struct error err = ERROR_NONE;

	if (values_parse(values, key, key->fallback, unique, &err) == STATUS_OK)
		return;
	fprintf(stderr, "gpuproof: bug: the default of key %s: %s\n", key->name, err.message);
	abort();
}

/* Fills one setting; leaves `setting->count` 0 without a valid value (reported). */
static void resolve_key(struct resolving *r, const struct section *section,
			const struct document_section *own, struct ini_place place,
			const struct key *key, struct setting *setting)
{
	const struct entry *entry = section_entry(own, key->name);
	bool from_defaults = !entry && section->suite;
	bool unique = schema_is_axis(section->suite, key);
	struct values values = { 0 };
	struct error err = ERROR_NONE;

	if (from_defaults)
		entry = section_entry(r->defaults, key->name);
	setting->key = key;
	setting->origin = entry ? document_place(r->document, entry->place) : xstrdup("default");
	if (!entry && !key->fallback) {
		char *title = header_text(section->kind, section->name, section->label);

		document_problem(r->document, place, "%s needs the key %s: %s", title, key->name,
				 key->help);
		free(title);
	} else if (!entry)
		parse_fallback(&values, key, unique);
	else if (!entry->broken &&
		 values_parse(&values, key, entry->value, unique, &err) != STATUS_OK)
		bad_value(r, section, key, entry, from_defaults, &err);
	setting->values = values.items;
	setting->count = values.count;
}

static void resolve_section(struct resolving *r, struct section *out, const char *kind,
			    const struct document_section *own)
{
	const struct suite *suite = strcmp(kind, "suite") != 0 ? NULL
				    : own->suite               ? own->suite
							       : schema_suite(r->schema, own->name);
	struct key_walk walk = schema_keys(r->schema, kind, suite);
	struct ini_place place = own ? own->place : (struct ini_place){ 0, 0 };
	const struct key *key;
	size_t capacity = 0;

	*out = (struct section){
		.kind = xstrdup(kind),
		.name = xstrdup(own ? own->name : ""),
		.label = xstrdup(own ? own->label : ""),
		.suite = suite,
		.origin = own ? document_place(r->document, place) : xstrdup("default"),
	};
	if (own && !(suite && suite->absent)) {
		for (size_t i = 0; i < own->count; i++) {
			const struct entry *entry = &own->entries[i];

			if (*entry->key && !schema_key(r->schema, own->kind, suite, entry->key) &&
			    !(suite && document_retired_key(r->document, suite->name, entry->key,
							    entry->place)))
				resolve_unknown_key(r, own, suite, entry);
		}
	}
	while ((key = key_next(&walk))) {
		ARRAY_GROW(out->settings, out->count, capacity);
		out->settings[out->count] = (struct setting){ 0 };
		resolve_key(r, out, own, place, key, &out->settings[out->count]);
		out->count++;
	}
}

void section_resolve(struct section *out, const struct schema *schema, struct document *d,
		     const struct document_section *own)
{
	struct resolving r = { .schema = schema, .document = d };

	resolve_section(&r, out, own->kind, own);
}

static bool resolve_has_kind(const struct config *config, const char *kind)
{
	for (size_t i = 0; i < config->count; i++)
		if (strcmp(config->sections[i].kind, kind) == 0)
			return true;
	return false;
}

static void nothing_to_do(struct resolving *r)
{
	struct text list = TEXT_EMPTY;

	if (r->schema->limits_only) {
		document_problem(r->document, (struct ini_place){ 0, 0 },
				 "no [limit NAME] section; a file of limits needs one");
		return;
	}
	for (const struct suite *const *s = r->schema->suites; *s; s++)
		text_addf(&list, "%s%s", list.length ? ", " : "", (*s)->name);
	document_problem(r->document, (struct ini_place){ 0, 0 },
			 "no [suite NAME] section, so nothing to run; suites: %s",
			 list.data ? list.data : "none");
	text_release(&list);
}

void config_resolve(struct config *config, const struct schema *schema, struct document *d)
{
	struct resolving r = {
		.schema = schema,
		.document = d,
		.defaults = document_find(d, "defaults", "", ""),
	};

	/* [run] first, [report] last, every suite and then every limit between them. */
	config->sections = xcalloc(d->section_count + 2, sizeof(*config->sections));
	for (size_t i = 0; r.defaults && i < r.defaults->count; i++) {
		const struct entry *entry = &r.defaults->entries[i];
		bool known = !*entry->key || schema_key(r.schema, "defaults", NULL, entry->key);

		for (const struct suite *const *s = r.schema->suites; *s && !known; s++)
			known = schema_key(r.schema, "suite", *s, entry->key) != NULL;
		if (!known && !document_retired_key(r.document, NULL, entry->key, entry->place))
			unknown_default(&r, entry);
	}
	resolve_section(&r, &config->sections[config->count++], "run",
			document_find(d, "run", "", ""));
	for (size_t i = 0; i < d->section_count; i++)
		if (strcmp(d->sections[i].kind, "suite") == 0)
			resolve_section(&r, &config->sections[config->count++], "suite",
					&d->sections[i]);
	for (size_t i = 0; i < d->section_count; i++)
		if (strcmp(d->sections[i].kind, "limit") == 0)
			resolve_section(&r, &config->sections[config->count++], "limit",
					&d->sections[i]);
	/* Only if present: it makes the run a multi-node run. */
	if (document_find(d, "fleet", "", ""))
		resolve_section(&r, &config->sections[config->count++], "fleet",
				document_find(d, "fleet", "", ""));
	resolve_section(&r, &config->sections[config->count++], "report",
			document_find(d, "report", "", ""));
	report_bad_defaults(&r);
	if (!d->suite_maybe && !resolve_has_kind(config, schema->limits_only ? "limit" : "suite"))
		nothing_to_do(&r);
	config_check(config, schema, d);
}

const struct setting *setting_or_null(const struct section *section, const char *key)
{
	for (size_t i = 0; i < section->count; i++)
		if (section->settings[i].count && strcmp(section->settings[i].key->name, key) == 0)
			return &section->settings[i];
	return NULL;
}
