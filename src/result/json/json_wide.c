#include "result/json/json_wide.h"

#include <stdlib.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"

#define WINDOW ((size_t)4 << 20)

/* A mapped document; `done`: end of the pages already released. */
static _Thread_local struct {
	const char *from, *to, *done;
} mapped;

void wide_mapped(const char *text, size_t length)
{
	mapped.from = mapped.done = text;
	mapped.to = text ? text + length : NULL;
}

/* Releases the pages before `at`. If they are needed again, they are read from the file. */
static void mapped_forget_before(const char *at)
{
	size_t page, length;

	if (!mapped.from || at < mapped.from || at > mapped.to ||
	    (at >= mapped.done && (size_t)(at - mapped.done) < WINDOW))
		return;
	page = (size_t)sysconf(_SC_PAGESIZE);
	if (at < mapped.done)
		mapped.done = at - ((uintptr_t)at & (page - 1));
	length = (size_t)(at - mapped.done) & ~(page - 1);
	if (length < WINDOW)
		return;
	madvise((void *)(uintptr_t)mapped.done, length, MADV_DONTNEED);
	mapped.done += length;
}

/* The remaining text; at == end: finished. */
struct cursor {
	const char *at, *end;
};

static bool json_is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static char cursor_next(struct cursor *c)
{
	while (c->at < c->end && json_is_blank(*c->at))
		c->at++;
	return c->at < c->end ? *c->at : '\0';
}

static bool cursor_take(struct cursor *c, char wanted)
{
	if (cursor_next(c) != wanted)
		return false;
	c->at++;
	return true;
}

/* Skips a string, from its opening quote to after its closing one. */
static bool skip_string(struct cursor *c)
{
	const char *quote = c->at;

	for (;;) {
		size_t backslashes = 0;

		quote = memchr(quote + 1, '"', (size_t)(c->end - quote) - 1);
		if (!quote)
			return false;
		while (quote[-1 - (ptrdiff_t)backslashes] == '\\')
			backslashes++;
		if (backslashes % 2 == 0) {
			c->at = quote + 1;
			return true;
		}
	}
}

/* Counts brackets only; the value is validated when it is parsed. */
static bool skip_container(struct cursor *c)
{
	size_t depth = 0;

	while (c->at < c->end) {
		char here = *c->at;

		if (here == '"') {
			if (!skip_string(c))
				return false;
			continue;
		}
		if (here == '{')
			mapped_forget_before(c->at);
		c->at++;
		if (here == '{' || here == '[')
			depth++;
		else if ((here == '}' || here == ']') && --depth == 0)
			return true;
	}
	return false;
}

static bool skip_value(struct cursor *c)
{
	const char *from;

	switch (cursor_next(c)) {
	case '"':
		return skip_string(c);
	case '{':
	case '[':
		return skip_container(c);
	}
	from = c->at;
	while (c->at < c->end && !json_is_blank(*c->at) && !strchr(",]}", *c->at))
		c->at++;
	return c->at > from;
}

static const struct field *field_of(const struct field *fields, const struct wide_member *m)
{
	for (; fields->name; fields++)
		if (strlen(fields->name) == m->name_length &&
		    memcmp(fields->name, m->name, m->name_length) == 0)
			return fields;
	return NULL;
}

static enum status cursor_malformed(const struct cursor *c, const char *text, struct error *err)
{
	return error_set(err, STATUS_USAGE, "byte %zu: not valid JSON", (size_t)(c->at - text));
}

static enum status wide_find_members(struct wide_document *d, const char *text, size_t length,
				     struct error *err)
{
	struct cursor c = { text, text + length };
	bool more = cursor_take(&c, '{') && cursor_next(&c) != '}';

	while (more) {
		struct wide_member m = { .name = c.at + 1 };

		if (cursor_next(&c) != '"')
			return cursor_malformed(&c, text, err);
		m.name = c.at + 1;
		if (!skip_string(&c))
			return cursor_malformed(&c, text, err);
		m.name_length = (size_t)(c.at - m.name) - 1;
		if (!cursor_take(&c, ':'))
			return cursor_malformed(&c, text, err);
		cursor_next(&c);
		m.value = c.at;
		if (!skip_value(&c))
			return cursor_malformed(&c, text, err);
		m.length = (size_t)(c.at - m.value);
		ARRAY_GROW(d->members, d->count, d->capacity);
		d->members[d->count++] = m;
		more = cursor_take(&c, ',');
	}
	if (!cursor_take(&c, '}') || cursor_next(&c))
		return cursor_malformed(&c, text, err);
	return STATUS_OK;
}

enum status wide_open(struct wide_document *d, const char *text, size_t length,
		      const struct field *fields, struct error *err)
{
	struct text narrow = TEXT_EMPTY;

	*d = (struct wide_document){ 0 };
	if (wide_find_members(d, text, length, err) != STATUS_OK)
		return STATUS_USAGE;
	text_add_char(&narrow, '{');
	for (size_t i = 0; i < d->count; i++) {
		const struct wide_member *m = &d->members[i];
		const struct field *f = field_of(fields, m);

		for (size_t k = 0; f && k < i; k++)
			if (field_of(fields, &d->members[k]) == f)
				error_set(err, STATUS_USAGE, "'%s' is repeated", f->name);
		if (!f || f->codec == &codec_array || f->codec == &codec_pointer)
			continue;
		text_addf(&narrow, "%s\"%s\":", narrow.length > 1 ? "," : "", f->name);
		text_add_bytes(&narrow, m->value, m->length);
	}
	text_add_char(&narrow, '}');
	if (!err->status)
		json_parse(narrow.data, narrow.length, &d->narrow, err);
	text_release(&narrow);
	return err->status;
}

void wide_close(struct wide_document *d)
{
	json_decref(d->narrow);
	free(d->members);
	*d = (struct wide_document){ 0 };
}

static enum status read_array(const struct wide_member *m, const struct field *f, void *base,
			      const struct json_path *path,
			      void (*taken)(const struct field *, void *), struct error *err)
{
	struct cursor c = { m->value, m->value + m->length };
	bool more = cursor_take(&c, '[');

	if (!more)
		return json_path_error(path, err, "expected an array");
	more = cursor_next(&c) != ']';
	for (size_t i = 0; more; i++) {
		struct json_path here = { path, NULL, i };
		struct error wrong = ERROR_NONE;
		const char *from;
		json_t *json;
		enum status status;
		void *element;

		cursor_next(&c);
		from = c.at;
		if (!skip_value(&c) ||
		    json_parse_brief(from, (size_t)(c.at - from), &json, &wrong) != STATUS_OK)
			return json_path_error(&here, err, "%s",
					       *wrong.message ? wrong.message : "not valid JSON");
		element = field_append(f, base);
		status = fields_read(json, f->fields, element, &here, err);
		json_release_brief(json);
		if (status != STATUS_OK)
			return status;
		if (taken)
			taken(f, element);
		more = cursor_take(&c, ',');
	}
	return cursor_take(&c, ']') ? STATUS_OK : json_path_error(path, err, "not valid JSON");
}

static enum status read_pointer(const struct wide_member *m, const struct field *f, void *base,
				const struct json_path *path, struct error *err)
{
	void **at = (void **)(void *)((char *)base + f->offset);
	struct wide_document own;
	enum status status;

	*at = xcalloc(1, f->element_size);
	status = wide_open(&own, m->value, m->length, f->fields, err);
	if (status == STATUS_OK)
		status = wide_read(&own, f->fields, *at, path, NULL, err);
	wide_close(&own);
	return status;
}

enum status wide_read(const struct wide_document *d, const struct field *fields, void *base,
		      const struct json_path *path,
		      void (*taken)(const struct field *field, void *element), struct error *err)
{
	for (const struct field *f = fields; f->name; f++) {
		struct json_path here = { path, f->name, 0 };
		const struct wide_member *m = NULL;
		enum status status;

		for (size_t i = 0; i < d->count && !m; i++)
			if (field_of(fields, &d->members[i]) == f)
				m = &d->members[i];
		if (!m && !f->optional)
			return json_path_error(&here, err, "is missing");
		if (!m && f->codec->absent)
			f->codec->absent(f, base);
		if (!m)
			continue;
		if (f->codec == &codec_array)
			status = read_array(m, f, base, &here, taken, err);
		else if (f->codec == &codec_pointer)
			status = read_pointer(m, f, base, &here, err);
		else
			status = f->codec->read(json_object_get(d->narrow, f->name), f, base, &here,
						err);
		if (status != STATUS_OK)
			return status;
	}
	return STATUS_OK;
}
