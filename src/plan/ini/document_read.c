/* Reads files and their includes into a document. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "plan/header.h"
#include "plan/ini/document.h"
#include "plan/ini/ini.h"
#include "plan/ini/source.h"

#define MAX_INCLUDE_DEPTH 8
#define MAX_FILES 64

struct document_reading {
	struct document *document;
	const struct ini_source *source;
	size_t file;
	size_t depth;
	size_t section; /* index in document->sections, SIZE_MAX before the first */
	bool skip;      /* the header was invalid: skip its entries */
};

static void document_read_source(struct document *d, const struct ini_source *source, size_t file,
				 size_t depth);

static struct ini_place document_place_here(const struct document_reading *r, size_t line)
{
	return (struct ini_place){ r->file, line };
}

static void document_on_problem(void *context, size_t line, const char *message)
{
	struct document_reading *r = context;

	document_problem(r->document, document_place_here(r, line), "%s", message);
	r->document->suite_maybe = true;
}

/* The section of that header, new or from an earlier file; NULL: there are too many (reported). */
static struct document_section *enter_section(struct document_reading *r, size_t line,
					      const char *kind, const char *name, const char *label)
{
	struct document *d = r->document;
	struct document_section *section = document_find(d, kind, name, label);

	if (section && section->place.file == r->file) {
		char *title = header_text(kind, name, label);

		document_problem(d, document_place_here(r, line),
				 "%s is repeated; first in line %zu", title, section->place.line);
		free(title);
	} else if (section) {
		section->place = document_place_here(r, line);
	} else if (d->section_count < DOCUMENT_MOST_SECTIONS) {
		section = document_add_section(d, kind, name, label, document_place_here(r, line));
	} else if (!d->full) {
		document_problem(d, document_place_here(r, line), "more than %d sections",
				 DOCUMENT_MOST_SECTIONS);
		d->full = true;
	}
	return section;
}

static void document_on_section(void *context, size_t line, const char *header)
{
	struct document_reading *r = context;
	struct document *d = r->document;
	char *kind, *name, *label;
	struct document_section *section;

	d->reading = true;
	r->skip = d->full ||
		  !header_parse(d, document_place_here(r, line), header, &kind, &name, &label);
	d->reading = false;
	r->section = 0;
	if (r->skip)
		return;
	section = enter_section(r, line, kind, name, label);
	r->skip = !section;
	r->section = section ? (size_t)(section - d->sections) : 0;
	free(kind);
	free(name);
	free(label);
}

/* Chain of includes that leads to `file`: "a.ini -> b.ini". */
static void add_chain(const struct document *d, size_t file, struct text *out)
{
	if (d->files[file].included) {
		add_chain(d, d->files[file].parent.file, out);
		text_add(out, " -> ");
	}
	text_add(out, d->files[file].name);
}

static bool document_same_file(const struct document_file *file, const struct ini_source *source)
{
	if (file->inode || source->inode)
		return file->inode == source->inode && file->device == source->device;
	return strcmp(file->name, source->name) == 0;
}

/* Checks an include of `source` by `r`. False: it is a cycle or exceeds a limit (reported). */
static bool include_fits(struct document_reading *r, size_t line, const struct ini_source *source)
{
	struct document *d = r->document;
	struct text chain = TEXT_EMPTY;
	bool cycle = false;

	for (size_t f = r->file;; f = d->files[f].parent.file) {
		cycle = cycle || document_same_file(&d->files[f], source);
		if (!d->files[f].included)
			break;
	}
	add_chain(d, r->file, &chain);
	text_addf(&chain, " -> %s", source->name);
	if (cycle)
		document_problem(d, document_place_here(r, line), "include cycle: %s", chain.data);
	else if (r->depth + 1 >= MAX_INCLUDE_DEPTH)
		document_problem(d, document_place_here(r, line),
				 "includes are nested more than %d deep: %s", MAX_INCLUDE_DEPTH,
				 chain.data);
	else if (d->file_count >= MAX_FILES)
		document_problem(d, document_place_here(r, line), "more than %d files are included",
				 MAX_FILES);
	else
		line = 0;
	text_release(&chain);
	return line == 0;
}

static void document_include(struct document_reading *r, size_t line, const char *name)
{
	struct error err = ERROR_NONE;
	struct ini_source source;
	size_t file;

	if (!*name || r->document->written) {
		document_problem(r->document, document_place_here(r, line),
				 *name ? "the config of a result must not include files"
				       : "include lacks a file name");
		return;
	}
	if (source_open(&source, name, r->source, &err) != STATUS_OK) {
		bool same = strcmp(name, source.name) == 0;

		r->document->suite_maybe = true;
		document_problem(r->document, document_place_here(r, line),
				 "include = %.200s: %s%s%s", name, same ? "" : source.name,
				 same ? "" : ": ", err.message);
	} else if (include_fits(r, line, &source)) {
		file = document_add_file(r->document, source.name);
		r->document->files[file].included = true;
		r->document->files[file].parent = document_place_here(r, line);
		document_read_source(r->document, &source, file, r->depth + 1);
	}
	source_close(&source);
}

static void section_is_full(struct document_reading *r, size_t line, const char *title)
{
	struct document_section *s = &r->document->sections[r->section];

	document_problem(r->document, document_place_here(r, line), "%s has more than %d keys",
			 title, DOCUMENT_MOST_KEYS);
	s->full = true;
}

/* False: reported. */
static bool document_key_fits(struct document_reading *r, size_t line, const char *key)
{
	struct document *d = r->document;
	const struct document_section *s = &d->sections[r->section];
	const struct entry *first;
	char *title;

	if (s->full)
		return false;
	first = section_entry(s, key);
	title = header_text(s->kind, s->name, s->label);
	if (!*key)
		document_problem(d, document_place_here(r, line), "%s: missing key before '='",
				 title);
	else if (strcmp(key, "include") == 0)
		document_problem(d, document_place_here(r, line),
				 "%s: move include before the first section", title);
	else if (first && first->place.file == r->file)
		document_problem(d, document_place_here(r, line),
				 "%s %.60s is repeated; first in line %zu", title, key,
				 first->place.line);
	else if (!first && s->count >= DOCUMENT_MOST_KEYS)
		section_is_full(r, line, title);
	else
		line = 0;
	free(title);
	return line == 0;
}

/* Title of the current section, followed by a space; "" before the first one. */
static char *document_title_of(const struct document_reading *r)
{
	const struct document_section *s = r->document->sections;
	char *title, *with_blank;

	if (r->section == SIZE_MAX)
		return xstrdup("");
	s += r->section;
	title = header_text(s->kind, s->name, s->label);
	with_blank = xasprintf("%s ", title);
	free(title);
	return with_blank;
}

static char *replace_variables(struct document_reading *r, size_t line, const char *key,
			       const char *value)
{
	struct error err = ERROR_NONE;
	char *replaced = variables_replace(value, !r->document->written, &err);
	char *title;

	if (replaced)
		return replaced;
	title = document_title_of(r);
	document_problem(r->document, document_place_here(r, line), "%s%.60s = %.60s%s: %s", title,
			 key, value, strlen(value) > 60 ? "..." : "", err.message);
	free(title);
	return NULL;
}

static void document_on_entry(void *context, size_t line, const char *key, const char *value)
{
	struct document_reading *r = context;
	char *replaced;

	if (r->section != SIZE_MAX && !r->skip)
		key = document_key(r->document, r->document->sections[r->section].kind, key,
				   document_place_here(r, line));
	if (r->skip || (r->section != SIZE_MAX && !document_key_fits(r, line, key)))
		return;
	replaced = replace_variables(r, line, key, value);
	if (r->section != SIZE_MAX) {
		section_add_entry(&r->document->sections[r->section], key, replaced, !replaced,
				  document_place_here(r, line));
		return;
	}
	if (replaced) {
		if (strcmp(key, "include") == 0)
			document_include(r, line, replaced);
		else
			document_problem(r->document, document_place_here(r, line),
					 "'%.60s' is outside a section; move it below [run]. Only "
					 "include = FILE may come before the first section",
					 key);
	}
	free(replaced);
}

static void document_read_source(struct document *d, const struct ini_source *source, size_t file,
				 size_t depth)
{
	struct document_reading r = {
		.document = d,
		.source = source,
		.file = file,
		.depth = depth,
		.section = SIZE_MAX,
	};
	const struct ini_sink sink = {
		.context = &r,
		.section = document_on_section,
		.entry = document_on_entry,
		.problem = document_on_problem,
	};

	d->files[file].embedded = source->embedded;
	d->files[file].device = source->device;
	d->files[file].inode = source->inode;
	ini_read(source->data, source->length, &sink);
}

void document_read(struct document *d, const char *name)
{
	struct error err = ERROR_NONE;
	struct ini_source source;

	if (source_open(&source, name, NULL, &err) == STATUS_OK) {
		document_read_source(d, &source, document_add_file(d, source.name), 0);
	} else {
		document_problem(d, (struct ini_place){ document_add_file(d, source.name), 0 },
				 "%s", err.message);
		d->suite_maybe = true;
	}
	source_close(&source);
}

void document_read_text(struct document *d, const char *name, const char *text, size_t length)
{
	struct ini_source source = { .name = xstrdup(name), .data = NULL, .length = length };

	/* A NUL-terminated copy, as source_open() makes; memory functions do not accept NULL. */
	source.data = xmalloc(length + 1);
	memcpy(source.data, length ? text : "", length);
	source.data[length] = '\0';
	document_read_source(d, &source, document_add_file(d, name), 0);
	source_close(&source);
}
