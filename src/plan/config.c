#include "plan/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "plan/header.h"
#include "plan/ini/document.h"
#include "plan/resolve.h"
#include "plan/suites/suite_set.h"

void section_release(struct section *section)
{
	for (size_t i = 0; i < section->count; i++) {
		for (size_t v = 0; v < section->settings[i].count; v++)
			free(section->settings[i].values[v].text);
		free(section->settings[i].values);
		free(section->settings[i].origin);
	}
	free(section->settings);
	free(section->kind);
	free(section->name);
	free(section->label);
	free(section->origin);
}

void config_release(struct config *config)
{
	for (size_t i = 0; i < config->count; i++)
		section_release(&config->sections[i]);
	free(config->sections);
	free(config->name);
	suite_set_drop(config->suites);
	memset(config, 0, sizeof(*config));
}

/* "transfer:label" or "transfer" in the form of a section header: "suite transfer label". */
static char *config_header_of(const struct document *d, const char *section)
{
	bool whole = text_starts_with(section, "suite ") || text_starts_with(section, "limit ") ||
		     text_starts_with(section, "limit:");
	char *word = xstrndup(section, strcspn(section, ":")), *header;
	bool suite = schema_named(d->suites, word) != NULL;

	for (size_t i = 0; i < d->section_count && !suite; i++)
		suite = strcmp(d->sections[i].kind, "suite") == 0 &&
			strcmp(d->sections[i].name, word) == 0;
	free(word);
	/* For an unknown section that resembles no known one, lists the suites. */
	suite = suite || !text_nearest(section, section_kinds);
	header = xasprintf("%s%s", !whole && suite ? "suite " : "", section);
	for (char *p = header; *p; p++)
		if (*p == ':')
			*p = ' ';
	return header;
}

/* The name of a suite alone selects all of its variants. */
static void config_override_apply(struct document *d, struct ini_place place, const char *kind,
				  const char *name, const char *label, const char *key,
				  const char *value)
{
	struct document_section *section;
	size_t matches = 0;

	if (strcmp(kind, "suite") != 0) {
		section = document_find(d, kind, name, label);
		if (!section)
			section = document_add_section(d, kind, name, label, place);
		document_section_add_entry(section, key, xstrdup(value), false, place);
		return;
	}
	for (size_t i = 0; i < d->section_count; i++) {
		section = &d->sections[i];
		if (strcmp(section->kind, kind) || strcmp(section->name, name) ||
		    (*label && strcmp(section->label, label)))
			continue;
		document_section_add_entry(section, key, xstrdup(value), false, place);
		matches++;
	}
	if (!matches)
		document_problem(d, place, "the config has no %s",
				 plan_header_title(kind, name, label).text);
}

/* Applies one `--set section.key=value`, after reading. */
static void config_document_override(struct document *d, const char *text)
{
	struct error err = ERROR_NONE;
	struct ini_place place = { 0, 0 };
	size_t length = strcspn(text, "=");
	char *shown = xasprintf("--set %.200s%s", text, strlen(text) > 200 ? "..." : "");
	char *left = text_trimmed(text, length), *dot = strrchr(left, '.');
	char *kind, *name, *label, *section = NULL, *header = NULL, *value = NULL;

	text_mend(shown);
	place.file = document_add_file(d, shown);
	d->files[place.file].command_line = true;
	free(shown);
	if (text[length])
		value = document_read_replace_variables(text + length + 1, true, &err);
	if (text[length] && !value) {
		document_problem(d, place, "%s", err.message);
	} else if (!value || !dot || dot == left || !dot[1]) {
		document_problem(d, place, "write --set section.key=value");
	} else {
		section = text_trimmed(left, (size_t)(dot - left));
		header = config_header_of(d, section);
		dot += 1 + strspn(dot + 1, " \t");
	}
	if (header && plan_header_parse(d, place, header, &kind, &name, &label)) {
		config_override_apply(d, place, kind, name, label,
				      document_key(d, kind, dot, place), value);
		free(kind);
		free(name);
		free(label);
	}
	free(section);
	free(header);
	free(left);
	free(value);
}

/* Reads `text`, or where it is NULL the file `name`; applies overrides, types and final checks. */
static enum status config_read(struct config *config, struct document *d,
			       const struct schema *schema, const char *name, const char *text,
			       size_t length, const struct override *overrides,
			       size_t override_count, struct text *messages)
{
	enum status status = STATUS_OK;
	struct schema own = *schema;

	memset(config, 0, sizeof(*config));
	if (text)
		document_read_text(d, name, text, length);
	else
		document_read(d, name);
	for (size_t i = 0; i < override_count; i++)
		config_document_override(d, overrides[i].text);
	config->suites = suite_set_make(d);
	own.suites = suite_set_all(config->suites);
	config_resolve(config, &own, d);
	config->name = document_printable(name);
	if (d->problem_count) {
		document_problems(d, messages);
		config_release(config);
		status = STATUS_USAGE;
	}
	if (d->notes.data)
		text_add(messages, d->notes.data);
	document_release(d);
	return status;
}

enum status config_load_with(struct config *config, const struct schema *schema, const char *source,
			     const struct override *overrides, size_t override_count,
			     struct text *errors)
{
	struct document d = { .suites = schema->suites };

	return config_read(config, &d, schema, source, NULL, 0, overrides, override_count, errors);
}

enum status config_parse_with(struct config *config, const struct schema *schema, const char *name,
			      const char *text, size_t length, const struct override *overrides,
			      size_t override_count, struct text *errors)
{
	struct document d = { .suites = schema->suites };

	return config_read(config, &d, schema, name, text ? text : "", length, overrides,
			   override_count, errors);
}

enum status config_load(struct config *config, const char *source, const struct override *overrides,
			size_t override_count, struct text *errors)
{
	return config_load_with(config, &schema_program, source, overrides, override_count, errors);
}

enum status config_parse(struct config *config, const char *name, const char *text, size_t length,
			 const struct override *overrides, size_t override_count,
			 struct text *errors)
{
	return config_parse_with(config, &schema_program, name, text, length, overrides,
				 override_count, errors);
}

enum status config_parse_written(struct config *config, const char *name, const char *text,
				 size_t length, struct text *errors)
{
	struct document d = { .suites = schema_program.suites, .written = true };

	return config_read(config, &d, &schema_program, name, text, length, NULL, 0, errors);
}

enum status config_parse_presented(struct config *config, const char *name, const char *text,
				   size_t length, const struct presentation *presented,
				   size_t count, struct text *errors)
{
	struct document d = { .suites = schema_program.suites,
			      .written = true,
			      .loads_nothing = true,
			      .presented = presented,
			      .presented_count = count };

	return config_read(config, &d, &schema_program, name, text, length, NULL, 0, errors);
}

const struct section *config_section(const struct config *config, const char *kind,
				     const char *name)
{
	for (size_t i = 0; i < config->count; i++)
		if (strcmp(config->sections[i].kind, kind) == 0 &&
		    strcmp(config->sections[i].name, name) == 0)
			return &config->sections[i];
	return NULL;
}

const struct setting *section_setting(const struct section *section, const char *key)
{
	for (size_t i = 0; i < section->count; i++)
		if (strcmp(section->settings[i].key->name, key) == 0)
			return &section->settings[i];
	fprintf(stderr, "gpuproof: bug: [%s %s] has no key %s\n", section->kind, section->name,
		key);
	abort();
}

int64_t section_integer(const struct section *section, const char *key)
{
	return section_setting(section, key)->values[0].integer;
}

double section_real(const struct section *section, const char *key)
{
	return section_setting(section, key)->values[0].real;
}

const char *section_text(const struct section *section, const char *key)
{
	return section_setting(section, key)->values[0].text;
}

/* Writes one section of the effective config, after an empty line unless it is first. */
static void config_write_section(const struct section *section, int with_origin, struct text *out)
{
	text_add(out, out->length ? "\n" : "");
	text_add(out, plan_header_title(section->kind, section->name, section->label).text);
	if (with_origin)
		text_addf(out, " ; %s", section->origin);
	text_add_char(out, '\n');
	for (size_t i = 0; i < section->count; i++) {
		const struct setting *setting = &section->settings[i];

		text_addf(out, "%s =", setting->key->name);
		for (size_t v = 0; v < setting->count; v++) {
			text_add(out, v ? ", " : *setting->values[v].text ? " " : "");
			document_read_quote(setting->values[v].text, out);
		}
		if (with_origin)
			text_addf(out, " ; %s", setting->origin);
		text_add_char(out, '\n');
	}
}

void config_write(const struct config *config, int with_origin, struct text *out)
{
	for (size_t i = 0; i < config->count; i++)
		config_write_section(&config->sections[i], with_origin, out);
}

void config_write_kind(const struct config *config, const char *kind, struct text *out)
{
	for (size_t i = 0; i < config->count; i++)
		if (strcmp(config->sections[i].kind, kind) == 0)
			config_write_section(&config->sections[i], 0, out);
}
