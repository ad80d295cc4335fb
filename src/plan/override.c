/* --set section.key=value */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "plan/header.h"
#include "plan/ini/document.h"
#include "plan/schema.h"

static bool override_is_suite(const struct document *d, const char *name, size_t length)
{
	char *word = xstrndup(name, length);
	bool found = schema_named(d->suites, word) != NULL;

	for (size_t i = 0; i < d->section_count && !found; i++)
		found = strcmp(d->sections[i].kind, "suite") == 0 &&
			strcmp(d->sections[i].name, word) == 0;
	free(word);
	return found;
}

/* "transfer:label" or "transfer" in the form of a section header: "suite transfer label". */
static char *header_of(const struct document *d, const char *section)
{
	bool whole = text_starts_with(section, "suite ") || text_starts_with(section, "limit ") ||
		     text_starts_with(section, "limit:");
	char *header;

	/* For an unknown section that resembles no known one, lists the suites. */
	if (!whole && (override_is_suite(d, section, strcspn(section, ":")) ||
		       !text_nearest(section, section_kinds)))
		header = xasprintf("suite %s", section);
	else
		header = xstrdup(section);
	for (char *p = header; *p; p++)
		if (*p == ':')
			*p = ' ';
	return header;
}

/* The name of a suite alone selects all of its variants. */
static void override_apply(struct document *d, struct ini_place place, const char *kind,
			   const char *name, const char *label, const char *key, const char *value)
{
	struct document_section *section;
	size_t matches = 0;

	if (strcmp(kind, "suite") != 0) {
		section = document_find(d, kind, name, label);
		if (!section)
			section = document_add_section(d, kind, name, label, place);
		section_add_entry(section, key, xstrdup(value), false, place);
		return;
	}
	for (size_t i = 0; i < d->section_count; i++) {
		section = &d->sections[i];
		if (strcmp(section->kind, kind) || strcmp(section->name, name) ||
		    (*label && strcmp(section->label, label)))
			continue;
		section_add_entry(section, key, xstrdup(value), false, place);
		matches++;
	}
	if (!matches) {
		char *title = header_text(kind, name, label);

		document_problem(d, place, "the config has no %s", title);
		free(title);
	}
}

/* Splits `left`, "section.key", in place; false: it does not have two parts. */
static bool override_split_name(char *left, char **key)
{
	char *dot = strrchr(left, '.');

	if (!dot || dot == left || !dot[1])
		return false;
	*dot = '\0';
	*key = dot + 1;
	return true;
}

static char *override_trim(char *s)
{
	char *end = s + strlen(s);

	while (end > s && strchr(" \t", end[-1]))
		*--end = '\0';
	return s + strspn(s, " \t");
}

static void override_section(struct document *d, struct ini_place place, char *left,
			     const char *value)
{
	char *key, *kind, *name, *label, *header;

	if (!override_split_name(left, &key)) {
		document_problem(d, place, "write --set section.key=value");
		return;
	}
	header = header_of(d, override_trim(left));
	if (header_parse(d, place, header, &kind, &name, &label)) {
		override_apply(d, place, kind, name, label,
			       document_key(d, kind, override_trim(key), place), value);
		free(kind);
		free(name);
		free(label);
	}
	free(header);
}

void document_override(struct document *d, const char *text)
{
	struct error err = ERROR_NONE;
	struct ini_place place = { 0, 0 };
	const char *equals = strchr(text, '=');
	char *shown = xasprintf("--set %.200s%s", text, strlen(text) > 200 ? "..." : "");
	char *value;

	text_mend(shown);
	place.file = document_add_file(d, shown);
	d->files[place.file].command_line = true;
	free(shown);
	value = equals ? variables_replace(equals + 1, true, &err) : NULL;
	if (!equals)
		document_problem(d, place, "write --set section.key=value");
	else if (!value)
		document_problem(d, place, "%s", err.message);
	if (value) {
		char *left = xstrndup(text, (size_t)(equals - text));

		override_section(d, place, left, value);
		free(left);
	}
	free(value);
}
