#include "plan/header.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "plan/ini/hint.h"
#include "plan/schema.h"
#include "plan/suite.h"

const char *const section_kinds[] = {
	"run", "defaults", "suite", "report", "limit", "fleet", NULL
};
static const char allowed_kinds[] =
	"[run], [defaults], [suite NAME], [suite NAME label], [limit NAME], [report], [fleet]";

struct title plan_header_title(const char *kind, const char *name, const char *label)
{
	struct title title;

	snprintf(title.text, sizeof(title.text), "[%s%s%s%s%s]", kind, *name ? " " : "", name,
		 *label ? " " : "", label);
	return title;
}

/* Stores at most `max` words of `s`; returns their total number. */
static size_t plan_header_split_words(const char *s, char **words, size_t max)
{
	size_t count = 0;

	for (;;) {
		size_t length;

		s += strspn(s, " \t");
		length = strcspn(s, " \t");
		if (!length)
			return count;
		if (count < max)
			words[count] = xstrndup(s, length);
		count++;
		s += length;
	}
}

/*
 * A built-in suite, or one of a section. While the document is being read, a library may still
 * define any suite.
 */
static bool plan_header_is_known(const struct document *d, const char *name)
{
	/* Valid characters for suite names, which are prefixes of metric and case names. */
	size_t valid = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
	bool known = schema_named(d->suites, name) ||
		     (d->reading && islower((unsigned char)*name) && !name[valid]);

	for (size_t i = 0; i < d->section_count && !known; i++)
		known = strcmp(d->sections[i].kind, "suite") == 0 &&
			strcmp(d->sections[i].name, name) == 0;
	return known;
}

void plan_header_document_unknown_suite(struct document *d, struct ini_place place,
					const char *header, const char *name)
{
	struct text list = TEXT_EMPTY;

	for (const struct suite *const *s = d->suites; *s; s++)
		hint_add(&list, (*s)->name);
	document_problem(d, place, "[%s]: unknown suite '%s'%s; suites: %s", header, name,
			 hint_in(name, &list).text, list.data ? list.data : "none");
	text_release(&list);
}

static void plan_header_unknown_kind(struct document *d, struct ini_place place, const char *header,
				     const char *kind)
{
	const char *near = text_nearest(kind, section_kinds);

	if (schema_named(d->suites, kind)) {
		d->suite_maybe = true;
		document_problem(d, place, "[%s] is not a section; did you mean [suite %s]?",
				 header, kind);
		return;
	}
	if (near && strcmp(near, "suite") == 0)
		d->suite_maybe = true;
	document_problem(d, place, "[%s] is not a section%s; sections: %s", header,
			 hint_for(kind, section_kinds).text, allowed_kinds);
}

static bool plan_header_label_fits(const char *label)
{
	for (; *label; label++)
		if (!isalnum((unsigned char)*label) && !strchr("_-.", *label))
			return false;
	return true;
}

static bool plan_header_suite_fits(struct document *d, struct ini_place place, const char *header,
				   char **words, size_t count)
{
	d->suite_maybe = true;
	if (count == 1)
		document_problem(d, place, "[suite] lacks a name; write [suite NAME]");
	else if (!plan_header_is_known(d, words[1]))
		plan_header_document_unknown_suite(d, place, header, words[1]);
	else if (count > 3)
		document_problem(d, place, "[%s]: too many words; write [suite NAME LABEL]",
				 header);
	else if (count == 3 && !plan_header_label_fits(words[2]))
		document_problem(d, place,
				 "[%s]: invalid label '%s'; use letters, digits, '_', '-' and '.'",
				 header, words[2]);
	else
		return true;
	return false;
}

static bool plan_header_name_fits(struct document *d, struct ini_place place, const char *header,
				  char **words, size_t count)
{
	if (count == 1)
		document_problem(d, place, "[%s] lacks a name; write [%s NAME]", words[0],
				 words[0]);
	else if (count > 2)
		document_problem(d, place, "[%s]: too many words; write one name", header);
	else if (!plan_header_label_fits(words[1]))
		document_problem(d, place,
				 "[%s]: invalid name '%s'; use letters, digits, '_', '-' and '.'",
				 header, words[1]);
	else
		return true;
	return false;
}

static bool plan_header_words_fit(struct document *d, struct ini_place place, const char *header,
				  char **words, size_t count)
{
	const struct section_kind *k = d->kinds ? d->kinds : config_kinds;
	struct text list = TEXT_EMPTY;

	while (k->name && (!count || strcmp(k->name, words[0]) != 0))
		k++;
	if (!k->name && d->kinds) {
		for (const struct section_kind *s = d->kinds; s->name; s++)
			text_addf(&list, "%s[%s%s]", list.length ? ", " : "", s->name,
				  s->named ? " NAME" : "");
		document_problem(d, place, "[%s] is not a section; sections: %s", header,
				 list.data);
		text_release(&list);
	}
	if (k->name && !d->kinds && strcmp(k->name, "suite") == 0)
		return plan_header_suite_fits(d, place, header, words, count);
	if (k->name && k->named)
		return plan_header_name_fits(d, place, header, words, count);
	if (!k->name && !d->kinds && count == 0)
		document_problem(d, place, "[] lacks a section name; sections: %s", allowed_kinds);
	else if (!k->name && !d->kinds)
		plan_header_unknown_kind(d, place, header, words[0]);
	else if (k->name && count > 1)
		document_problem(d, place, "[%s]: section [%s] takes no name", header, words[0]);
	else
		return k->name != NULL;
	return false;
}

bool plan_header_parse(struct document *d, struct ini_place place, const char *header, char **kind,
		       char **name, char **label)
{
	char *words[3] = { NULL, NULL, NULL };
	size_t count = plan_header_split_words(header, words, 3);
	bool fits = plan_header_words_fit(d, place, header, words, count);

	if (!fits) {
		for (size_t i = 0; i < 3; i++)
			free(words[i]);
		return false;
	}
	*kind = words[0];
	*name = words[1] ? words[1] : xstrdup("");
	*label = words[2] ? words[2] : xstrdup("");
	return true;
}
