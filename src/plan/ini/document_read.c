/* Reads files and their includes into a document. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/embedded.h"
#include "base/input.h"
#include "base/memory.h"
#include "plan/header.h"
#include "plan/ini/document.h"
#include "plan/ini/hint.h"
#include "plan/ini/ini.h"

#define LIMITS "limits/"

static enum status document_read_whole_source(struct ini_source *source, int fd, struct error *err)
{
	struct text bytes = TEXT_EMPTY;
	enum status status = input_read(fd, "config", SOURCE_MAX_BYTES, &bytes, err);

	source->length = bytes.length;
	source->data = text_detach(&bytes);
	if (status == STATUS_OK && memchr(source->data, '\0', source->length))
		return error_set(err, STATUS_USAGE, "not a text file: it contains NUL bytes");
	return status;
}

static enum status document_read_source_open_file(struct ini_source *source, const char *name,
						  struct error *err)
{
	struct stat about = { 0 };
	enum status status;
	int fd = input_open(source->name);

	if (fd < 0 && errno == ENOENT) {
		struct text hint = TEXT_EMPTY;

		/* The name is neither a file nor a shipped config. */
		if (strchr(name, '/') || text_ends_with(name, ".ini"))
			return error_set(err, STATUS_USAGE, "no such file");
		hint_files(&hint, name, embedded_configs);
		error_set(err, STATUS_USAGE, "neither a file nor a shipped config has this name%s",
			  hint.data);
		text_release(&hint);
		return STATUS_USAGE;
	}
	if (fd < 0)
		return error_set(err, STATUS_USAGE, "cannot open: %s", strerror(errno));
	if (fstat(fd, &about) == 0) {
		source->device = about.st_dev;
		source->inode = about.st_ino;
	}
	status = document_read_whole_source(source, fd, err);
	close(fd);
	return status;
}

enum status document_read_source_open(struct ini_source *source, const char *name,
				      const struct ini_source *includer, struct error *err)
{
	const struct embedded_file *embedded;
	bool limits = includer && text_starts_with(name, LIMITS);
	char *with_suffix = xasprintf("%s.ini", limits ? name + strlen(LIMITS) : name);

	embedded = embedded_find(limits ? embedded_limits : embedded_configs, with_suffix);
	free(with_suffix);
	if (!embedded && includer && includer->embedded)
		embedded = embedded_find(embedded_configs, name);
	memset(source, 0, sizeof(*source));
	if (!includer && strcmp(name, "-") == 0) {
		source->name = xstrdup("standard input");
		return document_read_whole_source(source, STDIN_FILENO, err);
	}
	if (!embedded) {
		const char *slash =
			includer && !includer->embedded ? strrchr(includer->name, '/') : NULL;

		source->name = !slash || *name == '/'
				       ? xstrdup(name)
				       : xasprintf("%.*s/%s", (int)(slash - includer->name),
						   includer->name, name);
		return document_read_source_open_file(source, name, err);
	}
	source->name = text_starts_with(name, LIMITS) ? xasprintf("%s.ini", name)
						      : xstrdup(embedded->name);
	source->embedded = true;
	source->length = embedded->size;
	source->data = xstrndup((const char *)embedded->data, embedded->size);
	return STATUS_OK;
}

void document_read_source_close(struct ini_source *source)
{
	free(source->name);
	free(source->data);
	memset(source, 0, sizeof(*source));
}

/*
 * Maximum length of a value in bytes; a canonical list written out again stays below INI_LINE_MAX.
 */
#define VALUE_MAX (INI_LINE_MAX / 4)

/* Replaces the variable at `p` (after the dollar). Returns the position after it, NULL on error. */
static const char *document_read_replace_one(const char *p, bool environment, struct text *out,
					     struct error *err)
{
	bool braces = *p == '{';
	const char *start = p + braces, *end = start;
	char name[128];
	const char *value;

	if (*p == '$') {
		text_add_char(out, '$');
		return p + 1;
	}
	if (!environment) {
		error_set(err, STATUS_USAGE,
			  "a config stored in a result must not use environment variables (write "
			  "$$ for a dollar sign)");
		return NULL;
	}
	while (isalnum((unsigned char)*end) || *end == '_')
		end++;
	if (end == start || (braces && *end != '}') || isdigit((unsigned char)*start)) {
		error_set(err, STATUS_USAGE, "'$' must be followed by NAME, {NAME} or another '$'");
		return NULL;
	}
	if ((size_t)(end - start) >= sizeof(name)) {
		error_set(err, STATUS_USAGE, "variable name '%.40s...' is too long", start);
		return NULL;
	}
	memcpy(name, start, (size_t)(end - start));
	name[end - start] = '\0';
	value = getenv(name);
	if (!value) {
		error_set(err, STATUS_USAGE,
			  "the environment variable %s is not set (write $$ for a dollar sign)",
			  name);
		return NULL;
	}
	text_add(out, value);
	return end + braces;
}

/*
 * Values from the environment or the command line must fit into one INI line of the effective
 * config.
 */
static enum status document_read_check_writable(const char *s, struct error *err)
{
	size_t length = strlen(s);

	if (length > VALUE_MAX)
		return error_set(err, STATUS_USAGE,
				 "the value has %zu bytes; at most %d are allowed", length,
				 VALUE_MAX);
	if (!text_is_utf8(s, length))
		return error_set(err, STATUS_USAGE, "the value is not UTF-8 text");
	if (*s == ';')
		return error_set(err, STATUS_USAGE,
				 "a value cannot start with ';', because that starts a comment");
	for (const char *p = s; *p; p++) {
		if ((unsigned char)*p < 0x20 ? *p != '\t' : *p == 0x7f)
			return error_set(err, STATUS_USAGE,
					 "the value contains the control character 0x%02x", *p);
		if (*p == ';' && (p[-1] == ' ' || p[-1] == '\t'))
			return error_set(err, STATUS_USAGE,
					 "a value cannot contain ';' after a blank, because that "
					 "starts a comment");
	}
	return STATUS_OK;
}

char *document_read_replace_variables(const char *value, bool environment, struct error *err)
{
	struct text out = TEXT_EMPTY;
	char *replaced;

	for (const char *p = value; p && *p && err->status == STATUS_OK;) {
		const char *dollar = strchr(p, '$');

		text_add_bytes(&out, p, dollar ? (size_t)(dollar - p) : strlen(p));
		p = dollar ? document_read_replace_one(dollar + 1, environment, &out, err) : NULL;
	}
	replaced = text_trimmed(out.data ? out.data : "", out.length);
	text_release(&out);
	if (err->status == STATUS_OK && document_read_check_writable(replaced, err) == STATUS_OK)
		return replaced;
	free(replaced);
	return NULL;
}

void document_read_quote(const char *value, struct text *out)
{
	for (; *value; value++) {
		if (*value == '$')
			text_add_char(out, '$');
		text_add_char(out, *value);
	}
}

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

static struct ini_place document_read_place_here(const struct document_reading *r, size_t line)
{
	return (struct ini_place){ r->file, line };
}

static void document_read_on_problem(void *context, size_t line, const char *message)
{
	struct document_reading *r = context;

	document_problem(r->document, document_read_place_here(r, line), "%s", message);
	r->document->suite_maybe = true;
}

/* The section of that header, new or from an earlier file; NULL: there are too many (reported). */
static struct document_section *document_read_enter_section(struct document_reading *r, size_t line,
							    const char *kind, const char *name,
							    const char *label)
{
	struct document *d = r->document;
	struct document_section *section = document_find(d, kind, name, label);

	if (section && section->place.file == r->file) {
		document_problem(d, document_read_place_here(r, line),
				 "%s is repeated; first in line %zu",
				 plan_header_title(kind, name, label).text, section->place.line);
	} else if (section) {
		section->place = document_read_place_here(r, line);
	} else if (d->section_count < DOCUMENT_MOST_SECTIONS) {
		section = document_add_section(d, kind, name, label,
					       document_read_place_here(r, line));
	} else if (!d->full) {
		document_problem(d, document_read_place_here(r, line), "more than %d sections",
				 DOCUMENT_MOST_SECTIONS);
		d->full = true;
	}
	return section;
}

static void document_read_on_section(void *context, size_t line, const char *header)
{
	struct document_reading *r = context;
	struct document *d = r->document;
	char *kind, *name, *label;
	struct document_section *section;

	d->reading = true;
	r->skip = d->full || !plan_header_parse(d, document_read_place_here(r, line), header, &kind,
						&name, &label);
	d->reading = false;
	r->section = 0;
	if (r->skip)
		return;
	section = document_read_enter_section(r, line, kind, name, label);
	r->skip = !section;
	r->section = section ? (size_t)(section - d->sections) : 0;
	free(kind);
	free(name);
	free(label);
}

/* Chain of includes that leads to `file`: "a.ini -> b.ini". */
static void document_read_add_chain(const struct document *d, size_t file, struct text *out)
{
	if (d->files[file].included) {
		document_read_add_chain(d, d->files[file].parent.file, out);
		text_add(out, " -> ");
	}
	text_add(out, d->files[file].name);
}

/* Checks an include of `source` by `r`. False: it is a cycle or exceeds a limit (reported). */
static bool document_read_include_fits(struct document_reading *r, size_t line,
				       const struct ini_source *source)
{
	struct document *d = r->document;
	struct text chain = TEXT_EMPTY;
	bool cycle = false;

	for (size_t f = r->file;; f = d->files[f].parent.file) {
		const struct document_file *file = &d->files[f];

		if (file->inode || source->inode)
			cycle = cycle ||
				(file->inode == source->inode && file->device == source->device);
		else
			cycle = cycle || strcmp(file->name, source->name) == 0;
		if (!file->included)
			break;
	}
	document_read_add_chain(d, r->file, &chain);
	text_addf(&chain, " -> %s", source->name);
	if (cycle)
		document_problem(d, document_read_place_here(r, line), "include cycle: %s",
				 chain.data);
	else if (r->depth + 1 >= MAX_INCLUDE_DEPTH)
		document_problem(d, document_read_place_here(r, line),
				 "includes are nested more than %d deep: %s", MAX_INCLUDE_DEPTH,
				 chain.data);
	else if (d->file_count >= MAX_FILES)
		document_problem(d, document_read_place_here(r, line),
				 "more than %d files are included", MAX_FILES);
	else
		line = 0;
	text_release(&chain);
	return line == 0;
}

static void document_read_include(struct document_reading *r, size_t line, const char *name)
{
	struct error err = ERROR_NONE;
	struct ini_source source;
	size_t file;

	if (!*name || r->document->written) {
		document_problem(r->document, document_read_place_here(r, line),
				 *name ? "a config stored in a result must not include other files"
				       : "include needs a file name");
		return;
	}
	if (document_read_source_open(&source, name, r->source, &err) != STATUS_OK) {
		bool same = strcmp(name, source.name) == 0;

		r->document->suite_maybe = true;
		document_problem(r->document, document_read_place_here(r, line),
				 "include = %.200s: %s%s%s", name, same ? "" : source.name,
				 same ? "" : ": ", err.message);
	} else if (document_read_include_fits(r, line, &source)) {
		file = document_add_file(r->document, source.name);
		r->document->files[file].included = true;
		r->document->files[file].parent = document_read_place_here(r, line);
		document_read_source(r->document, &source, file, r->depth + 1);
	}
	document_read_source_close(&source);
}

/* False: reported. */
static bool document_read_key_fits(struct document_reading *r, size_t line, const char *key)
{
	struct ini_place here = document_read_place_here(r, line);
	struct document *d = r->document;
	struct document_section *s = &d->sections[r->section];
	const struct entry *first;
	struct title title;

	if (s->full)
		return false;
	first = document_section_entry(s, key);
	title = plan_header_title(s->kind, s->name, s->label);
	if (!*key) {
		document_problem(d, here, "%s: missing key before '='", title.text);
	} else if (strcmp(key, "include") == 0) {
		document_problem(d, here, "%s: include must come before the first section",
				 title.text);
	} else if (first && first->place.file == r->file) {
		document_problem(d, here, "%s %.60s is repeated; first in line %zu", title.text,
				 key, first->place.line);
	} else if (!first && s->count >= DOCUMENT_MOST_KEYS) {
		document_problem(d, here, "%s has more than %d keys", title.text,
				 DOCUMENT_MOST_KEYS);
		s->full = true;
	} else {
		return true;
	}
	return false;
}

static void document_read_on_entry(void *context, size_t line, const char *key, const char *value)
{
	struct document_reading *r = context;
	struct ini_place here = document_read_place_here(r, line);
	struct document_section *s =
		r->section == SIZE_MAX ? NULL : &r->document->sections[r->section];
	struct error err = ERROR_NONE;
	char *replaced;

	if (r->skip)
		return;
	if (s) {
		key = document_key(r->document, s->kind, key, here);
		if (!document_read_key_fits(r, line, key))
			return;
	}
	replaced = document_read_replace_variables(value, !r->document->written, &err);
	if (!replaced)
		document_problem(r->document, here, "%s%s%.60s = %.60s%s: %s",
				 s ? plan_header_title(s->kind, s->name, s->label).text : "",
				 s ? " " : "", key, value, strlen(value) > 60 ? "..." : "",
				 err.message);
	if (s) {
		document_section_add_entry(s, key, replaced, !replaced, here);
		return;
	}
	if (replaced && strcmp(key, "include") == 0)
		document_read_include(r, line, replaced);
	else if (replaced)
		document_problem(r->document, here,
				 "'%.60s' is outside a section; move it below [run]. Only include "
				 "= FILE may come before the first section",
				 key);
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
		.section = document_read_on_section,
		.entry = document_read_on_entry,
		.problem = document_read_on_problem,
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

	if (document_read_source_open(&source, name, NULL, &err) == STATUS_OK) {
		document_read_source(d, &source, document_add_file(d, source.name), 0);
	} else {
		document_problem(d, (struct ini_place){ document_add_file(d, source.name), 0 },
				 "%s", err.message);
		d->suite_maybe = true;
	}
	document_read_source_close(&source);
}

void document_read_text(struct document *d, const char *name, const char *text, size_t length)
{
	struct ini_source source = { .name = xstrdup(name), .data = NULL, .length = length };

	/*
	 * A NUL-terminated copy, as document_read_source_open() makes; memory functions do not
	 * accept NULL.
	 */
	source.data = xmalloc(length + 1);
	memcpy(source.data, length ? text : "", length);
	source.data[length] = '\0';
	document_read_source(d, &source, document_add_file(d, name), 0);
	document_read_source_close(&source);
}
