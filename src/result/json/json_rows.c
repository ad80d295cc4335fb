/*
 * Rows of constant tables as JSON: what a row leaves out is NULL or false, and a table ends with an
 * empty row.
 */
#include "result/json/json_fields.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static const char **words_at(const struct field *f, const void *base)
{
	return (const char **)(void *)((char *)(uintptr_t)base + f->offset);
}

static size_t places_of(const struct field *f)
{
	return f->size / sizeof(const char *);
}

static enum status take_word(const json_t *json, const struct field *f, const char **word,
			     const struct json_path *path, struct error *err)
{
	if (!json_is_string(json))
		return json_path_error(path, err, "expected a string");
	*word = text_harmless(current_name(f->names, "", json_string_value(json)));
	return STATUS_OK;
}

static void word_write(struct json_writer *w, const struct field *f, const void *base)
{
	const char *word = *words_at(f, base);

	writer_text(w, word ? word : "");
}

static enum status word_read(const json_t *json, const struct field *f, void *base,
			     const struct json_path *path, struct error *err)
{
	return take_word(json, f, words_at(f, base), path, err);
}

static bool word_is_nothing(const struct field *f, const void *base)
{
	return !*words_at(f, base);
}

static void names_write(struct json_writer *w, const struct field *f, const void *base)
{
	writer_open_inline(w, '[');
	for (const char **name = words_at(f, base); *name; name++)
		writer_text(w, *name);
	writer_close(w, ']');
}

static enum status names_read(const json_t *json, const struct field *f, void *base,
			      const struct json_path *path, struct error *err)
{
	if (!json_is_array(json))
		return json_path_error(path, err, "expected an array");
	if (json_array_size(json) >= places_of(f))
		return json_path_error(path, err, "has %zu names; at most %zu are allowed",
				       json_array_size(json), places_of(f) - 1);
	for (size_t i = 0; i < json_array_size(json); i++) {
		struct json_path here = { path, NULL, i };

		if (take_word(json_array_get(json, i), f, words_at(f, base) + i, &here, err) !=
		    STATUS_OK)
			return STATUS_USAGE;
	}
	return STATUS_OK;
}

static const char *rows_at(const struct field *f, const void *base)
{
	return *(const char *const *)(const void *)((const char *)base + f->offset);
}

static bool is_row(const char *row)
{
	return *(const char *const *)(const void *)row != NULL;
}

static void rows_write(struct json_writer *w, const struct field *f, const void *base)
{
	writer_open(w, '[');
	for (const char *row = rows_at(f, base); row && is_row(row); row += f->element_size) {
		writer_inline_next(w);
		fields_write(w, f->fields, row);
	}
	writer_close(w, ']');
}

static enum status rows_read(const json_t *json, const struct field *f, void *base,
			     const struct json_path *path, struct error *err)
{
	char *row;

	if (!json_is_array(json))
		return json_path_error(path, err, "expected an array");
	row = xcalloc(json_array_size(json) + 1, f->element_size);
	*(char **)(void *)((char *)base + f->offset) = row;
	for (size_t i = 0; i < json_array_size(json); i++, row += f->element_size) {
		struct json_path here = { path, NULL, i };

		if (fields_read(json_array_get(json, i), f->fields, row, &here, err) != STATUS_OK)
			return STATUS_USAGE;
	}
	return STATUS_OK;
}

static bool rows_are_nothing(const struct field *f, const void *base)
{
	return !rows_at(f, base) || !is_row(rows_at(f, base));
}

static void words_release(const struct field *f, void *base, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free((void *)(uintptr_t)words_at(f, base)[i]);
}

void fields_release(const struct field *fields, void *base)
{
	for (const struct field *f = fields; f->name; f++) {
		if (f->codec == &codec_word) {
			words_release(f, base, 1);
		} else if (f->codec == &codec_names) {
			words_release(f, base, places_of(f));
		} else if (f->codec == &codec_rows) {
			char *first = (char *)(uintptr_t)rows_at(f, base);

			/* A row that could not be read whole is the last one. */
			for (char *row = first; row && is_row(row); row += f->element_size)
				fields_release(f->fields, row);
			free(first);
		}
	}
}

const struct codec codec_word = { word_write, word_read, NULL, word_is_nothing };
const struct codec codec_names = { names_write, names_read, NULL, word_is_nothing };
const struct codec codec_rows = { rows_write, rows_read, NULL, rows_are_nothing };
