#include "plan/ini/document.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/former_names.h"
#include "base/memory.h"

/* Further problems are counted, not shown. */
#define MAX_PROBLEMS_SHOWN 100

void document_init(struct document *d, const struct suite *const *suites)
{
	memset(d, 0, sizeof(*d));
	d->suites = suites;
}

void document_section_release(struct document_section *section)
{
	for (size_t i = 0; i < section->count; i++) {
		free(section->entries[i].key);
		free(section->entries[i].value);
	}
	free(section->entries);
	free(section->kind);
	free(section->name);
	free(section->label);
}

void document_release(struct document *d)
{
	for (size_t i = 0; i < d->file_count; i++)
		free(d->files[i].name);
	for (size_t i = 0; i < d->section_count; i++)
		document_section_release(&d->sections[i]);
	for (size_t i = 0; i < d->problem_count; i++)
		free(d->problems[i].message);
	free(d->files);
	free(d->sections);
	free(d->problems);
	text_release(&d->notes);
	memset(d, 0, sizeof(*d));
}

/* File names may contain any bytes; messages, origins and the result need lines of UTF-8 text. */
char *document_printable(const char *name)
{
	bool utf8 = text_is_utf8(name, strlen(name));
	char *copy = xstrdup(name);

	for (char *p = copy; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f || (!utf8 && (unsigned char)*p >= 0x80))
			*p = '?';
	return copy;
}

char *document_path(const struct document *d, struct ini_place place, const char *path)
{
	const struct document_file *file = &d->files[place.file];
	const char *slash = strrchr(file->name, '/');

	if (!slash || file->command_line || file->embedded || d->written || *path == '/')
		return xstrdup(path);
	return xasprintf("%.*s/%s", (int)(slash - file->name), file->name, path);
}

size_t document_add_file(struct document *d, const char *name)
{
	ARRAY_GROW(d->files, d->file_count, d->file_capacity);
	d->files[d->file_count] = (struct document_file){ .name = document_printable(name) };
	return d->file_count++;
}

struct document_section *document_find(const struct document *d, const char *kind, const char *name,
				       const char *label)
{
	for (size_t i = 0; i < d->section_count; i++) {
		struct document_section *s = &d->sections[i];

		if (strcmp(s->kind, kind) == 0 && strcmp(s->name, name) == 0 &&
		    strcmp(s->label, label) == 0)
			return s;
	}
	return NULL;
}

struct document_section *document_add_section(struct document *d, const char *kind,
					      const char *name, const char *label,
					      struct ini_place place)
{
	ARRAY_GROW(d->sections, d->section_count, d->section_capacity);
	d->sections[d->section_count] = (struct document_section){
		.kind = xstrdup(kind),
		.name = xstrdup(name),
		.label = xstrdup(label),
		.place = place,
	};
	return &d->sections[d->section_count++];
}

struct entry *document_section_entry(const struct document_section *section, const char *key)
{
	for (size_t i = 0; section && i < section->count; i++)
		if (strcmp(section->entries[i].key, key) == 0)
			return &section->entries[i];
	return NULL;
}

void document_section_add_entry(struct document_section *section, const char *key, char *value,
				bool broken, struct ini_place place)
{
	struct entry *entry = document_section_entry(section, key);

	if (!entry) {
		ARRAY_GROW(section->entries, section->count, section->capacity);
		entry = &section->entries[section->count++];
		*entry = (struct entry){ .key = xstrdup(key) };
	}
	free(entry->value);
	entry->value = value;
	entry->broken = broken;
	entry->place = place;
}

/* Adds a note once per document; none for text written by a program. */
static void document_add_note(struct document *d, struct ini_place place, const char *note)
{
	if (d->written || (d->notes.data && strstr(d->notes.data, note)))
		return;
	text_add(&d->notes, d->files[place.file].name);
	if (place.line)
		text_addf(&d->notes, ":%zu", place.line);
	text_add(&d->notes, note);
}

const char *document_key(struct document *d, const char *kind, const char *key,
			 struct ini_place place)
{
	const char *current =
		former_name_current(NAME_KEY, strcmp(kind, "defaults") == 0 ? "suite" : kind, key);
	char *note;

	if (current == key)
		return current;
	note = xasprintf(": note: the key %s is now called %s; both names are accepted\n", key,
			 current);
	document_add_note(d, place, note);
	free(note);
	return current;
}

bool document_retired_key(struct document *d, const char *suite, const char *key,
			  struct ini_place place)
{
	char *note;

	if (!former_names_key_is_retired(suite, key))
		return false;
	note = xasprintf(": note: the key %s no longer has an effect\n", key);
	document_add_note(d, place, note);
	free(note);
	return true;
}

bool document_is_full(const struct document *d)
{
	return d->problem_count >= DOCUMENT_MOST_PROBLEMS;
}

void document_problem(struct document *d, struct ini_place place, const char *format, ...)
{
	struct problem problem = { .place = place, .sequence = d->problem_count };
	va_list ap;

	if (document_is_full(d)) {
		d->uncounted_problems++;
		return;
	}
	va_start(ap, format);
	if (vasprintf(&problem.message, format, ap) < 0)
		problem.message = xstrdup(format);
	va_end(ap);
	text_mend(problem.message);
	ARRAY_GROW(d->problems, d->problem_count, d->problem_capacity);
	d->problems[d->problem_count++] = problem;
}

static int document_by_place(const void *a, const void *b)
{
	const struct problem *p = a, *q = b;

	if (p->place.file != q->place.file)
		return p->place.file < q->place.file ? -1 : 1;
	if (p->place.line != q->place.line)
		return p->place.line < q->place.line ? -1 : 1;
	return p->sequence < q->sequence ? -1 : p->sequence > q->sequence;
}

void document_problems(struct document *d, struct text *out)
{
	if (d->problem_count)
		qsort(d->problems, d->problem_count, sizeof(*d->problems), document_by_place);
	for (size_t i = 0; i < d->problem_count && i < MAX_PROBLEMS_SHOWN; i++) {
		const struct problem *p = &d->problems[i];

		text_add(out, d->files[p->place.file].name);
		if (p->place.line)
			text_addf(out, ":%zu", p->place.line);
		text_addf(out, ": %s\n", p->message);
	}
	if (d->problem_count > MAX_PROBLEMS_SHOWN)
		text_addf(out, "... and %zu more errors\n",
			  d->problem_count - MAX_PROBLEMS_SHOWN + d->uncounted_problems);
	/* File names are untrusted as well. */
	if (out->data) {
		text_mend(out->data);
		out->length = strlen(out->data);
	}
}

char *document_place(const struct document *d, struct ini_place place)
{
	const struct document_file *file = &d->files[place.file];

	return file->command_line ? xstrdup("--set") : xasprintf("%s:%zu", file->name, place.line);
}
