#include "plan/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "plan/header.h"
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

/* Applies overrides, types and final checks; releases the document. */
static enum status config_finish(struct config *config, struct document *d,
				 const struct schema *schema, const char *name,
				 const struct override *overrides, size_t override_count,
				 struct text *messages)
{
	enum status status = STATUS_OK;
	struct schema own = *schema;

	for (size_t i = 0; i < override_count; i++)
		document_override(d, overrides[i].text);
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
	struct document d;

	memset(config, 0, sizeof(*config));
	document_init(&d, schema->suites);
	document_read(&d, source);
	return config_finish(config, &d, schema, source, overrides, override_count, errors);
}

enum status config_parse_with(struct config *config, const struct schema *schema, const char *name,
			      const char *text, size_t length, const struct override *overrides,
			      size_t override_count, struct text *errors)
{
	struct document d;

	memset(config, 0, sizeof(*config));
	document_init(&d, schema->suites);
	document_read_text(&d, name, text, length);
	return config_finish(config, &d, schema, name, overrides, override_count, errors);
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
	struct document d;

	memset(config, 0, sizeof(*config));
	document_init(&d, schema_program.suites);
	d.written = true;
	document_read_text(&d, name, text, length);
	return config_finish(config, &d, &schema_program, name, NULL, 0, errors);
}

enum status config_parse_presented(struct config *config, const char *name, const char *text,
				   size_t length, const struct presentation *presented,
				   size_t count, struct text *errors)
{
	struct document d;

	memset(config, 0, sizeof(*config));
	document_init(&d, schema_program.suites);
	d.written = d.loads_nothing = true;
	d.presented = presented;
	d.presented_count = count;
	document_read_text(&d, name, text, length);
	return config_finish(config, &d, &schema_program, name, NULL, 0, errors);
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

/* Writes the effective config as INI text. */
static void config_write_setting(const struct setting *setting, int with_origin, struct text *out)
{
	text_addf(out, "%s =", setting->key->name);
	for (size_t i = 0; i < setting->count; i++) {
		text_add(out, i ? ", " : *setting->values[i].text ? " " : "");
		variables_quote(setting->values[i].text, out);
	}
	if (with_origin)
		text_addf(out, " ; %s", setting->origin);
	text_add_char(out, '\n');
}

static void config_write_section(const struct section *section, int with_origin, struct text *out)
{
	text_addf(out, "[%s%s%s%s%s]", section->kind, *section->name ? " " : "", section->name,
		  *section->label ? " " : "", section->label);
	if (with_origin)
		text_addf(out, " ; %s", section->origin);
	text_add_char(out, '\n');
	for (size_t i = 0; i < section->count; i++)
		config_write_setting(&section->settings[i], with_origin, out);
}

void config_write(const struct config *config, int with_origin, struct text *out)
{
	for (size_t i = 0; i < config->count; i++) {
		text_add(out, i ? "\n" : "");
		config_write_section(&config->sections[i], with_origin, out);
	}
}

void config_write_kind(const struct config *config, const char *kind, struct text *out)
{
	const char *separator = "";

	for (size_t i = 0; i < config->count; i++) {
		if (strcmp(config->sections[i].kind, kind) != 0)
			continue;
		text_add(out, separator);
		config_write_section(&config->sections[i], 0, out);
		separator = "\n";
	}
}
