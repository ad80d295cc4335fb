/*
 * Codecs for rows of constant tables: omitted members are NULL or false, and an empty row ends a
 * table.
 */
#include "result/json/json_fields.h"

#include <stdlib.h>
#include <string.h>
#include <string.h>

#include "base/memory.h"

static const char **json_rows_words_at(const struct field *f, const void *base)
{
	return (const char **)(void *)((char *)(uintptr_t)base + f->offset);
}

static enum status json_rows_take_word(const json_t *json, const char **word,
				       const struct json_path *path, struct error *err)
{
	if (!json_is_string(json))
		return json_path_error(path, err, "expected a string");
	*word = text_harmless(json_string_value(json));
	return STATUS_OK;
}

static void json_rows_word_write(struct json_writer *w, const struct field *f, const void *base)
{
	const char *word = *json_rows_words_at(f, base);

	writer_text(w, word ? word : "");
}

static enum status json_rows_word_read(const json_t *json, const struct field *f, void *base,
				       const struct json_path *path, struct error *err)
{
	return json_rows_take_word(json, json_rows_words_at(f, base), path, err);
}

static bool json_rows_word_is_nothing(const struct field *f, const void *base)
{
	return !*json_rows_words_at(f, base);
}

static void json_rows_names_write(struct json_writer *w, const struct field *f, const void *base)
{
	writer_open_inline(w, '[');
	for (const char **name = json_rows_words_at(f, base); *name; name++)
		writer_text(w, *name);
	writer_close(w, ']');
}

static enum status json_rows_names_read(const json_t *json, const struct field *f, void *base,
					const struct json_path *path, struct error *err)
{
	if (!json_is_array(json))
		return json_path_error(path, err, "expected an array");
	if (json_array_size(json) >= (f->size / sizeof(const char *)))
		return json_path_error(path, err, "has %zu names; at most %zu are allowed",
				       json_array_size(json), (f->size / sizeof(const char *)) - 1);
	for (size_t i = 0; i < json_array_size(json); i++) {
		struct json_path here = { path, NULL, i };

		if (json_rows_take_word(json_array_get(json, i), json_rows_words_at(f, base) + i,
					&here, err) != STATUS_OK)
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
	for (size_t i = 0; i < json_array_size(json); i++) {
		struct json_path here = { path, NULL, i };

		if (fields_read(json_array_get(json, i), f->fields, row, &here, err) != STATUS_OK)
			return STATUS_USAGE;
		if (is_row(row)) {
			row += f->element_size;
		} else {
			/* A codec rejected it: a word of another program. */
			fields_release(f->fields, row);
			memset(row, 0, f->element_size);
		}
	}
	return STATUS_OK;
}

static bool rows_are_nothing(const struct field *f, const void *base)
{
	return !rows_at(f, base) || !is_row(rows_at(f, base));
}

static void json_words_release(const struct field *f, void *base, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free((void *)(uintptr_t)json_rows_words_at(f, base)[i]);
}

void fields_release(const struct field *fields, void *base)
{
	for (const struct field *f = fields; f->name; f++) {
		if (f->codec == &codec_word) {
			json_words_release(f, base, 1);
		} else if (f->codec == &codec_names) {
			json_words_release(f, base, f->size / sizeof(const char *));
		} else if (f->codec == &codec_rows) {
			char *first = (char *)(uintptr_t)rows_at(f, base);

			/* A row that could not be read completely is the last one. */
			for (char *row = first; row && is_row(row); row += f->element_size)
				fields_release(f->fields, row);
			free(first);
		}
	}
}

const struct codec codec_word = { json_rows_word_write, json_rows_word_read, NULL,
				  json_rows_word_is_nothing };
const struct codec codec_names = { json_rows_names_write, json_rows_names_read, NULL,
				   json_rows_word_is_nothing };
const struct codec codec_rows = { rows_write, rows_read, NULL, rows_are_nothing };
