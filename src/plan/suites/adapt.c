#include "plan/suites/adapt.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "plan/header.h"
#include "plan/suites/made_suite.h"
#include "plan/value.h"

static struct entry *entry_of(const struct adaption *a, const char *key)
{
	struct entry *entry = section_entry(a->section, key);

	if (!entry)
		entry = section_entry(document_find(a->document, "defaults", "", ""), key);
	return entry && !entry->broken ? entry : NULL;
}

bool adapt_has(const struct adaption *a, const char *key)
{
	return entry_of(a, key) != NULL;
}

bool adapt_is_broken(const struct adaption *a, const char *key)
{
	const struct entry *entry = section_entry(a->section, key);

	if (!entry)
		entry = section_entry(document_find(a->document, "defaults", "", ""), key);
	return entry && entry->broken;
}

const char *adapt_text(const struct adaption *a, const char *key)
{
	const struct entry *entry = entry_of(a, key);

	if (entry)
		return entry->value;
	for (size_t i = 0; i < a->own->key_count; i++)
		if (strcmp(a->own->keys[i].name, key) == 0)
			return a->own->keys[i].fallback;
	return NULL;
}

void adapt_set(struct adaption *a, const char *key, const char *text)
{
	const struct entry *entry = entry_of(a, key);

	section_add_entry(a->section, key, xstrdup(text), false,
			  entry ? entry->place : a->section->place);
}

char *adapt_path(const struct adaption *a, const char *key, const char *path)
{
	const struct entry *entry = entry_of(a, key);

	return document_path(a->document, entry ? entry->place : a->section->place, path);
}

void adapt_problem(struct adaption *a, const char *key, const char *format, ...)
{
	const struct entry *entry = entry_of(a, key);
	char *title = header_text(a->section->kind, a->section->name, a->section->label);
	char *message = NULL;
	va_list ap;

	va_start(ap, format);
	if (vasprintf(&message, format, ap) < 0)
		message = xstrdup(format);
	va_end(ap);
	if (entry)
		document_problem(a->document, entry->place, "%s %s = %.60s%s: %s", title, key,
				 entry->value, strlen(entry->value) > 60 ? "..." : "", message);
	else
		document_problem(a->document, a->section->place, "%s: %s", title, message);
	free(message);
	free(title);
}

/*
 * Sizes appear in ids and results. A size given by name must not contain blanks, or '@', which
 * precedes the devices.
 */
static enum status adapt_check_word(const char *text, struct error *err)
{
	for (const char *p = text; *p; p++)
		if (*p == ' ' || *p == '\t' || *p == '@' || *p == '"')
			return error_set(err, STATUS_USAGE,
					 "'%.60s' contains a blank, '@' or a quotation mark, which "
					 "case names must not contain",
					 text);
	return STATUS_OK;
}

enum key_type adapt_axis(struct adaption *a, const char *name, const char *help)
{
	static const enum key_type types[] = { KEY_INTEGER, KEY_SIZE };
	const struct entry *entry = entry_of(a, name);
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
		key.check = adapt_check_word;
	made_suite_add_axis(a->own, &key);
	made_suite_add_axis(a->common, &key);
	return key.type;
}

static bool adapt_same_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

bool adapt_metric(struct adaption *a, const char *key, const struct metric *metric)
{
	struct made_suite *common = a->common;

	for (size_t i = 0; i < common->metric_count; i++) {
		const struct metric *m = &common->metrics[i];

		if (strcmp(m->name, metric->name) != 0)
			continue;
		if (adapt_same_text(m->unit, metric->unit) && m->better == metric->better &&
		    adapt_same_text(m->title, metric->title) && m->kind == metric->kind)
			return true;
		adapt_problem(a, key,
			      "another section of the suite has a metric %s with another unit, "
			      "direction, title or kind",
			      metric->name);
		return false;
	}
	made_suite_add_metric(common, metric);
	return true;
}
