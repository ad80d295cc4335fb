#include "plan/resolve.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "plan/header.h"
#include "plan/ini/hint.h"
#include "plan/limits/limit.h"
#include "plan/value.h"

struct resolving {
	const struct schema *schema;
	struct document *document;
	const struct document_section *defaults; /* NULL: none */
	/* The last invalid value of [defaults]: reported once for all sections that use it. */
	struct bad_default {
		const struct entry *entry;
		struct title title; /* of the first section with it */
		char *why;
		size_t others;
	} * bad;
	size_t bad_count, bad_capacity;
};

/* Reports an unknown key of `section`, with the most similar one. */
static void resolve_unknown_key(struct resolving *r, const struct document_section *section,
				const struct suite *suite, const struct entry *entry)
{
	struct key_walk walk = schema_keys(r->schema, section->kind, suite);
	struct text list = TEXT_EMPTY;
	const struct key *key;

	if (document_is_full(r->document)) {
		document_problem(r->document, entry->place, "unknown key");
		return;
	}
	while ((key = schema_key_next(&walk)))
		hint_add(&list, key->name);
	document_problem(r->document, entry->place, "%s has no key '%.60s'%s; keys: %s",
			 plan_header_title(section->kind, section->name, section->label).text,
			 entry->key, hint_in(entry->key, &list).text, list.data);
	text_release(&list);
}

static void resolve_unknown_default(struct resolving *r, const struct entry *entry)
{
	struct text list = TEXT_EMPTY;
	const struct key *key;

	if (document_is_full(r->document)) {
		document_problem(r->document, entry->place, "unknown key");
		return;
	}
	for (const struct suite *const *s = r->schema->suites; *s; s++) {
		struct key_walk walk = schema_keys(r->schema, "suite", *s);

		while ((key = schema_key_next(&walk)))
			hint_add(&list, key->name);
	}
	document_problem(r->document, entry->place, "[defaults]: no suite has the key '%.60s'%s",
			 entry->key, hint_in(entry->key, &list).text);
	text_release(&list);
}

/* Further sections find the same error and do not repeat it. */
static void resolve_bad_default(struct resolving *r, const struct entry *entry, struct title title,
				const char *why)
{
	for (size_t i = 0; i < r->bad_count; i++)
		if (r->bad[i].entry == entry && strcmp(r->bad[i].why, why) == 0) {
			r->bad[i].others++;
			return;
		}
	ARRAY_GROW(r->bad, r->bad_count, r->bad_capacity);
	r->bad[r->bad_count++] =
		(struct bad_default){ .entry = entry, .title = title, .why = xstrdup(why) };
}

static void resolve_report_bad_defaults(struct resolving *r)
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
				 b->title.text, more, b->why);
		free(b->why);
	}
	free(r->bad);
}

/* Fills one setting; leaves `setting->count` 0 without a valid value (reported). */
static void resolve_key(struct resolving *r, const struct section *section,
			const struct document_section *own, struct ini_place place,
			const struct key *key, struct setting *setting)
{
	const struct entry *entry = document_section_entry(own, key->name);
	bool from_defaults = !entry && section->suite;
	bool unique = schema_is_axis(section->suite, key);
	const struct title title = plan_header_title(section->kind, section->name, section->label);
	struct values values = { 0 };
	struct error err = ERROR_NONE;

	if (from_defaults)
		entry = document_section_entry(r->defaults, key->name);
	setting->key = key;
	setting->origin = entry ? document_place(r->document, entry->place) : xstrdup("default");
	if (!entry && !key->fallback) {
		document_problem(r->document, place, "%s needs the key %s: %s", title.text,
				 key->name, key->help);
	} else if (!entry) {
		if (values_parse(&values, key, key->fallback, unique, &err) != STATUS_OK) {
			fprintf(stderr, "gpuproof: bug: the default of key %s: %s\n", key->name,
				err.message);
			abort();
		}
	} else if (!entry->broken &&
		   values_parse(&values, key, entry->value, unique, &err) != STATUS_OK) {
		if (from_defaults)
			resolve_bad_default(r, entry, title, err.message);
		else
			document_problem(r->document, entry->place, "%s %s = %.60s%s: %s",
					 title.text, key->name, entry->value,
					 strlen(entry->value) > 60 ? "..." : "", err.message);
	}
	setting->values = values.items;
	setting->count = values.count;
}

static void resolve_section(struct resolving *r, struct section *out, const char *kind,
			    const struct document_section *own)
{
	const struct suite *suite = strcmp(kind, "suite") != 0 ? NULL
				    : own->suite               ? own->suite
						 : schema_named(r->schema->suites, own->name);
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
	while ((key = schema_key_next(&walk))) {
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

const struct setting *resolve_setting_or_null(const struct section *section, const char *key)
{
	for (size_t i = 0; i < section->count; i++)
		if (section->settings[i].count && strcmp(section->settings[i].key->name, key) == 0)
			return &section->settings[i];
	return NULL;
}

/* Location of a setting's entry. */
static struct ini_place resolve_config_check_setting_place(const struct document *d,
							   const struct section *section,
							   const char *key)
{
	const struct document_section *own =
		document_find(d, section->kind, section->name, section->label);
	const struct entry *entry = document_section_entry(own, key);

	if (!entry && section->suite)
		entry = document_section_entry(document_find(d, "defaults", "", ""), key);
	return entry ? entry->place : own ? own->place : (struct ini_place){ 0, 0 };
}

static bool resolve_config_check_is_word(const char *s)
{
	if (!isalpha((unsigned char)*s))
		return false;
	while (isalnum((unsigned char)*s) || *s == '_' || *s == '-')
		s++;
	return !*s;
}

/*
 * A loadable backend may have any name, but a name similar to a known one is a misspelling. `none`:
 * the word for an unspecified backend, "auto" or "any".
 */
static void resolve_check_backend(const struct section *section, const char *none,
				  struct document *d)
{
	const char *const known[] = { none, "cuda", "host", "cuda13", "cuda12", "cuda11", NULL };
	const struct setting *setting = resolve_setting_or_null(section, "backend");
	const char *name = setting ? setting->values[0].text : none;

	for (size_t i = 0; known[i]; i++)
		if (strcmp(name, known[i]) == 0)
			return;
	/* Words for an unspecified backend in any section; no module has such a name. */
	if (!text_nearest(name, known) && resolve_config_check_is_word(name) &&
	    strcmp(name, "auto") != 0 && strcmp(name, "any") != 0 && strcmp(name, "all") != 0)
		return;
	document_problem(d, resolve_config_check_setting_place(d, section, "backend"),
			 "%s backend = %.60s: '%.60s' is not one of %s, cuda, host%s",
			 plan_header_title(section->kind, section->name, section->label).text, name,
			 name, none, hint_for(name, known).text);
}

static bool resolve_all_digits(const char *s)
{
	return *s && strspn(s, "0123456789") == strlen(s) && strlen(s) <= 4;
}

/* "0" or "cuda:0". */
static bool resolve_config_check_is_device(const char *s)
{
	const char *colon = strchr(s, ':');
	bool fits;
	char *word;

	if (!colon)
		return resolve_all_digits(s);
	word = xstrndup(s, (size_t)(colon - s));
	fits = resolve_config_check_is_word(word) && resolve_all_digits(colon + 1);
	free(word);
	return fits;
}

/* Reports a value that occurs twice. */
static void resolve_check_repeats(const struct section *run, const struct setting *setting,
				  struct document *d)
{
	for (size_t i = 1; i < setting->count; i++)
		for (size_t j = 0; j < i; j++)
			if (strcmp(setting->values[i].text, setting->values[j].text) == 0) {
				document_problem(d,
						 resolve_config_check_setting_place(
							 d, run, setting->key->name),
						 "[run] %s: '%.60s' is listed twice",
						 setting->key->name, setting->values[i].text);
				return;
			}
}

static void resolve_check_devices(const struct section *run, struct document *d)
{
	const struct setting *setting = resolve_setting_or_null(run, "devices");

	if (!setting || (setting->count == 1 && strcmp(setting->values[0].text, "all") == 0))
		return;
	for (size_t i = 0; i < setting->count; i++)
		if (!resolve_config_check_is_device(setting->values[i].text)) {
			document_problem(d, resolve_config_check_setting_place(d, run, "devices"),
					 "[run] devices: '%.60s' is not a device; allowed: all, or "
					 "indices (0, 1) or ids (cuda:0, host:1)",
					 setting->values[i].text);
			return;
		}
	resolve_check_repeats(run, setting, d);
}

static void resolve_check_suites(const struct config *config, struct document *d)
{
	const struct section *run = &config->sections[0];
	const struct setting *setting = resolve_setting_or_null(run, "suites");
	struct text list = TEXT_EMPTY;
	bool unknown = false;

	if (!setting || (setting->count == 1 && strcmp(setting->values[0].text, "all") == 0))
		return;
	for (size_t k = 0; k < config->count; k++)
		if (config->sections[k].suite)
			hint_add(&list, config->sections[k].name);
	for (size_t i = 0; i < setting->count && !unknown; i++) {
		unknown = !config_section(config, "suite", setting->values[i].text);
		if (unknown)
			document_problem(d, resolve_config_check_setting_place(d, run, "suites"),
					 "[run] suites: the config has no [suite %.60s]%s",
					 setting->values[i].text,
					 hint_in(setting->values[i].text, &list).text);
	}
	text_release(&list);
	if (unknown)
		return;
	resolve_check_repeats(run, setting, d);
}

static void resolve_check_sampling(const struct section *section, struct document *d)
{
	const struct setting *min = resolve_setting_or_null(section, "min_samples");
	const struct setting *max = resolve_setting_or_null(section, "max_samples");
	const char *key;

	if (!min || !max || min->values[0].integer <= max->values[0].integer)
		return;
	key = strcmp(max->origin, "default") == 0 ? "min_samples" : "max_samples";
	document_problem(d, resolve_config_check_setting_place(d, section, key),
			 "%s: min_samples = %s exceeds max_samples = %s",
			 plan_header_title(section->kind, section->name, section->label).text,
			 min->values[0].text, max->values[0].text);
}

struct limit_check {
	const struct section *section;
	struct document *d;
};

static void resolve_limit_problem(void *context, const char *key, const char *message)
{
	const struct limit_check *check = context;
	const struct section *s = check->section;
	const struct setting *setting = *key ? resolve_setting_or_null(s, key) : NULL;
	const struct ini_place place = resolve_config_check_setting_place(check->d, s, key);
	const struct title title = plan_header_title(s->kind, s->name, s->label);

	if (setting)
		document_problem(check->d, place, "%s %s = %.60s%s: %s", title.text, key,
				 setting->values[0].text,
				 strlen(setting->values[0].text) > 60 ? "..." : "", message);
	else
		document_problem(check->d, place, "%s: %s", title.text, message);
}

/* Checks the words of [run] and pairs of keys. */
static void resolve_config_check(const struct config *config, const struct schema *schema,
				 struct document *d)
{
	struct limit limit;

	resolve_check_backend(&config->sections[0], "auto", d);
	resolve_check_devices(&config->sections[0], d);
	resolve_check_suites(config, d);
	for (size_t i = 0; i < config->count; i++)
		if (config->sections[i].suite) {
			resolve_check_backend(&config->sections[i], "any", d);
			resolve_check_sampling(&config->sections[i], d);
		} else if (strcmp(config->sections[i].kind, "limit") == 0) {
			struct limit_check check = { &config->sections[i], d };

			if (limit_read(&limit, check.section, schema, resolve_limit_problem,
				       &check))
				limit_release(&limit);
		}
}

static void resolve_check_something_to_do(struct resolving *r, const struct config *config)
{
	const char *needed = r->schema->limits_only ? "limit" : "suite";
	struct text list = TEXT_EMPTY;

	for (size_t i = 0; i < config->count; i++)
		if (strcmp(config->sections[i].kind, needed) == 0)
			return;
	if (r->schema->limits_only) {
		document_problem(r->document, (struct ini_place){ 0, 0 },
				 "no [limit NAME] section; a file of limits needs one");
		return;
	}
	for (const struct suite *const *s = r->schema->suites; *s; s++)
		hint_add(&list, (*s)->name);
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
			resolve_unknown_default(&r, entry);
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
	resolve_report_bad_defaults(&r);
	if (!d->suite_maybe)
		resolve_check_something_to_do(&r, config);
	resolve_config_check(config, schema, d);
}
