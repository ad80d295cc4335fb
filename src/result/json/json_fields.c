#include "result/json/json_fields.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static void json_path_add(struct text *out, const struct json_path *path)
{
	if (!path)
		return;
	json_path_add(out, path->parent);
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

enum status json_path_error(const struct json_path *path, struct error *err, const char *format,
			    ...)
{
	struct text where = TEXT_EMPTY;
	char message[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(message, sizeof(message), format, ap);
	va_end(ap);
	json_path_add(&where, path);
	if (where.length)
		error_set(err, STATUS_USAGE, "%s: %s", where.data, message);
	else
		error_set(err, STATUS_USAGE, "%s", message);
	text_release(&where);
	return STATUS_USAGE;
}

static bool json_fields_is_nothing(const struct field *f, const void *base)
{
	if (f->codec->nothing)
		return f->codec->nothing(f, base);
	if (f->codec == &codec_pointer)
		return !*(const void *const *)(const void *)((const char *)base + f->offset);
	if (f->codec == &codec_mark)
		return !*(const bool *)((const char *)base + f->offset);
	return f->element_size &&
	       *(const size_t *)(const void *)((const char *)base + f->count_offset) == 0;
}

void fields_write(struct json_writer *w, const struct field *fields, const void *base)
{
	writer_open(w, '{');
	for (const struct field *f = fields; f->name; f++) {
		if (f->optional && json_fields_is_nothing(f, base))
			continue;
		writer_key(w, f->name);
		f->codec->write(w, f, base);
	}
	writer_close(w, '}');
}

static void json_field_absent(const struct field *f, void *base)
{
	if (f->codec->absent)
		f->codec->absent(f, base);
}

void fields_absent(const struct field *fields, void *base)
{
	for (const struct field *f = fields; f->name; f++)
		json_field_absent(f, base);
}

enum status fields_read(const json_t *json, const struct field *fields, void *base,
			const struct json_path *path, struct error *err)
{
	if (!json_is_object(json))
		return json_path_error(path, err, "expected an object");
	for (const struct field *f = fields; f->name; f++) {
		struct json_path here = { path, f->name, 0 };
		const json_t *value = json_object_get(json, f->name);
		enum status status;

		if (!value && f->optional) {
			json_field_absent(f, base);
			continue;
		}
		if (!value)
			return json_path_error(&here, err, "is missing");
		status = f->codec->read(value, f, base, &here, err);
		if (status != STATUS_OK)
			return status;
	}
	return STATUS_OK;
}

void *field_append(const struct field *field, void *base)
{
	char *at = base;
	size_t own_capacity = 0;
	size_t *count = (size_t *)(void *)(at + field->count_offset);
	size_t *capacity = &own_capacity;
	char **items = (char **)(void *)(at + field->offset);
	char *item;

	if (field->capacity_offset)
		capacity = (size_t *)(void *)(at + field->capacity_offset);
	else if (*count & (*count - 1))
		/* capacity was grown to a power of two, so there is room */
		own_capacity = *count + 1;
	else
		own_capacity = *count;
	if (*count == *capacity) {
		*capacity = *count ? 2 * *count : 1;
		*items = xrealloc(*items, *capacity, field->element_size);
	}
	item = *items + (*count)++ * field->element_size;
	return memset(item, 0, field->element_size);
}

/*
 * Memory limit of a tree relative to its text. Usual is 5 times; an array of one-digit numbers
 * needs 25 times, an array of empty arrays 45 times, which only a hostile document has. jansson has
 * one process-wide allocator, set once; the limit applies to the parsing thread.
 */
#define TREE_PER_BYTE 32
#define TREE_LEAST ((size_t)1 << 20)
#define TREE_MOST ((size_t)4 << 30)

struct tree_budget {
	size_t left;
	bool exceeded;
};

static _Thread_local struct tree_budget *tree_budget; /* NULL: no limit */

/* Memory for a short-lived tree; what does not fit is allocated with malloc(). */
#define BRIEF_BYTES ((size_t)16 << 20)
static _Thread_local struct {
	char *from;
	size_t used;
	bool active, spilled;
} brief;

static void *tree_malloc(size_t size)
{
	size_t rounded;

	if (tree_budget && size > tree_budget->left) {
		tree_budget->exceeded = true;
		return NULL;
	}
	if (tree_budget)
		tree_budget->left -= size;
	rounded = (size + 15) / 16 * 16;
	if (!brief.active || rounded > BRIEF_BYTES - brief.used) {
		brief.spilled = brief.spilled || brief.active;
		return malloc(size);
	}
	brief.used += rounded;
	return brief.from + brief.used - rounded;
}

static void json_tree_free(void *p)
{
	if (!brief.from || (uintptr_t)p < (uintptr_t)brief.from ||
	    (uintptr_t)p >= (uintptr_t)brief.from + BRIEF_BYTES)
		free(p);
}

static pthread_once_t json_once = PTHREAD_ONCE_INIT;
static pthread_key_t brief_key; /* frees the memory of an exiting thread */

static void set_allocator(void)
{
	json_set_alloc_funcs(tree_malloc, json_tree_free);
	pthread_key_create(&brief_key, free);
}

static size_t tree_limit(size_t length)
{
	size_t limit = length < TREE_MOST / TREE_PER_BYTE ? length * TREE_PER_BYTE : TREE_MOST;

	return limit < TREE_LEAST ? TREE_LEAST : limit;
}

enum status json_parse(const char *text, size_t length, json_t **out, struct error *err)
{
	struct tree_budget budget = { .left = tree_limit(length) };
	json_error_t json_err;

	pthread_once(&json_once, set_allocator);
	tree_budget = &budget;
	*out = json_parse_quick(text, length);
	budget = (struct tree_budget){ .left = tree_limit(length) };
	if (!*out)
		*out = json_loadb(text, length, JSON_REJECT_DUPLICATES, &json_err);
	tree_budget = NULL;
	if (*out)
		return STATUS_OK;
	if (budget.exceeded)
		return error_set(err, STATUS_USAGE,
				 "needs more than %zu MiB of memory: not a gpuproof result",
				 tree_limit(length) >> 20);
	return error_set(err, STATUS_USAGE, "line %d, column %d: %s", json_err.line,
			 json_err.column, json_err.text);
}

enum status json_parse_brief(const char *text, size_t length, json_t **out, struct error *err)
{
	enum status status;

	if (!brief.from) {
		brief.from = xmalloc(BRIEF_BYTES);
		pthread_once(&json_once, set_allocator);
		pthread_setspecific(brief_key, brief.from);
	}
	brief.used = 0;
	brief.spilled = false;
	brief.active = true;
	status = json_parse(text, length, out, err);
	brief.active = false;
	return status;
}

void json_release_brief(json_t *json)
{
	if (brief.spilled)
		json_decref(json);
}

enum status fields_parse(const char *text, size_t length, const struct field *fields, void *base,
			 struct error *err)
{
	json_t *json;
	enum status status = json_parse(text, length, &json, err);

	if (status != STATUS_OK)
		return status;
	status = fields_read(json, fields, base, NULL, err);
	json_decref(json);
	return status;
}

char *fields_line(const struct field *fields, const void *base)
{
	struct json_writer w = { 0 };

	fields_write(&w, fields, base);
	return writer_finish(&w);
}
