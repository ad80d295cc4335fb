#include "result/json/json_fields.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

static void json_fields_path_add(struct text *out, const struct json_path *path)
{
	if (!path)
		return;
	json_fields_path_add(out, path->parent);
	if (!path->name) {
		text_addf(out, "[%zu]", path->index);
		return;
	}
	if (out->length)
		text_add_char(out, '.');
	/*
	 * Names may come from a hostile file: limits their length and removes terminal control
	 * characters.
	 */
	for (const char *p = path->name; *p && p - path->name < 64; p++)
		text_add_char(out, (unsigned char)*p < 0x20 || *p == 0x7f ? '?' : *p);
}

enum status json_fields_path_error(const struct json_path *path, struct error *err,
				   const char *format, ...)
{
	struct text where = TEXT_EMPTY;
	char message[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(message, sizeof(message), format, ap);
	va_end(ap);
	json_fields_path_add(&where, path);
	if (where.length)
		error_set(err, STATUS_USAGE, "%s: %s", where.data, message);
	else
		error_set(err, STATUS_USAGE, "%s", message);
	text_release(&where);
	return STATUS_USAGE;
}

void json_fields_write(struct json_writer *w, const struct field *fields, const void *base)
{
	writer_open(w, '{');
	for (const struct field *f = fields; f->name; f++) {
		if (f->omitted && f->codec->nothing(f, base))
			continue;
		writer_key(w, f->name);
		f->codec->write(w, f, base);
	}
	writer_close(w, '}');
}

void json_fields_absent(const struct field *fields, void *base)
{
	for (const struct field *f = fields; f->name; f++)
		if (f->codec->absent)
			f->codec->absent(f, base);
}

void json_fields_release(const struct field *fields, void *base)
{
	for (const struct field *f = fields; f->name; f++)
		if (f->codec->release)
			f->codec->release(f, base);
}

/* The row with that name, most likely `next`; NULL: none. */
static const struct field *json_fields_named(const struct field *fields, const struct field *next,
					     const char *name)
{
	for (const struct field *f = next; f->name; f++)
		if (strcmp(f->name, name) == 0)
			return f;
	for (const struct field *f = fields; f < next; f++)
		if (strcmp(f->name, name) == 0)
			return f;
	return NULL;
}

void json_fields_clear(const struct field *fields, const char *name, void *base)
{
	const struct field *f = json_fields_named(fields, fields, name);
	char *at = base;

	f->codec->release(f, base);
	memset(at + f->offset, 0, f->size);
	memset(at + f->count_offset, 0, sizeof(size_t));
	if (f->capacity_offset)
		memset(at + f->capacity_offset, 0, sizeof(size_t));
}

/* Members that were not in the object, and those that wait for others; `at`: their values. */
static enum status json_fields_complete(struct json_reader *r, const struct field *fields,
					void *base, const struct json_path *path,
					const char *const *at)
{
	const char *end = r->at;

	for (const struct field *f = fields; f->name; f++) {
		struct json_path here = { path, f->name, 0 };
		const char *value = at[f - fields];

		if (!value && !f->optional && !f->omitted)
			return json_fields_path_error(&here, r->err, "is missing");
		if (!value && f->codec->absent)
			f->codec->absent(f, base);
		if (!value || !f->late)
			continue;
		r->at = value;
		if (f->codec->read(r, f, base, &here) != STATUS_OK)
			return r->err->status;
	}
	r->at = end;
	return STATUS_OK;
}

/* Reads the name of member `i`; *f is its row, most likely `next`, or NULL. False: the end. */
static bool json_fields_next_member(struct json_reader *r, const struct field *fields,
				    const struct field *next, size_t i, const struct field **f)
{
	*f = next;
	if (next->name && json_reader_member_named(r, i, next->name))
		return true;
	if (!json_reader_member(r, i))
		return false;
	*f = json_fields_named(fields, next, r->string.data);
	return true;
}

#define MOST_FIELDS 64

enum status json_fields_read(struct json_reader *r, const struct field *fields, void *base,
			     const struct json_path *path)
{
	const char *at[MOST_FIELDS] = { NULL };
	const struct field *next = fields, *f;

	if (!json_reader_take(r, '{'))
		return json_fields_path_error(path, r->err, "expected an object");
	for (size_t i = 0; json_fields_next_member(r, fields, next, i, &f); i++) {
		struct json_path here = { path, f ? f->name : NULL, 0 };

		if (!f || f->late)
			json_reader_peek(r);
		if (f && at[f - fields])
			return json_fields_path_error(path, r->err, "'%s' is repeated", f->name);
		if (f)
			at[f - fields] = r->at;
		if (f && !f->late)
			f->codec->read(r, f, base, &here);
		else
			json_reader_skip(r);
		next = f ? f + 1 : next;
	}
	return r->err->status == STATUS_OK ? json_fields_complete(r, fields, base, path, at)
					   : r->err->status;
}

void *json_fields_append(const struct field *field, void *base)
{
	char *at = base;
	/* Lists of numbers are long, those of structs often have one element. */
	size_t first = field->element_size <= sizeof(double) ? 16 : 1, own_capacity = 0;
	size_t *count = (size_t *)(void *)(at + field->count_offset);
	size_t *capacity = &own_capacity;
	char **items = (char **)(void *)(at + field->offset);
	char *item;

	if (field->capacity_offset)
		capacity = (size_t *)(void *)(at + field->capacity_offset);
	else if (*count & (*count - 1) || (*count && *count < first))
		/* capacity was grown to a power of two, so there is room */
		own_capacity = *count + 1;
	else
		own_capacity = *count;
	if (*count == *capacity) {
		*capacity = *count ? 2 * *count : first;
		*items = xrealloc(*items, *capacity, field->element_size);
	}
	item = *items + (*count)++ * field->element_size;
	return memset(item, 0, field->element_size);
}

enum status json_fields_parse_shared(const char *text, size_t length, const struct field *fields,
				     void *base, bool share, struct error *err)
{
	struct error own = ERROR_NONE;
	struct json_reader r = { text, text, text + length, &own, share, TEXT_EMPTY };

	if (json_fields_read(&r, fields, base, NULL) == STATUS_OK)
		json_reader_finish(&r);
	text_release(&r.string);
	return error_copy(err, &own);
}

enum status json_fields_parse(const char *text, size_t length, const struct field *fields,
			      void *base, struct error *err)
{
	return json_fields_parse_shared(text, length, fields, base, false, err);
}

char *json_fields_line(const struct field *fields, const void *base)
{
	struct json_writer w = { 0 };

	json_fields_write(&w, fields, base);
	return writer_finish(&w);
}
