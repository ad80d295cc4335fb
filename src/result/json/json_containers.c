/* Codecs for nested structs, arrays of them, and rows of constant tables. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "result/json/json_fields.h"

static size_t container_count_of(const struct field *f, const void *base)
{
	return *(const size_t *)(const void *)((const char *)base + f->count_offset);
}

static bool container_nothing(const struct field *f, const void *base)
{
	return container_count_of(f, base) == 0;
}

/* First element of the array that `f` describes. */
static char *container_items(const struct field *f, const void *base)
{
	return *(char *const *)(const void *)((const char *)base + f->offset);
}

static void container_release(const struct field *f, void *base)
{
	free(container_items(f, base));
}

static enum status json_containers_expected_array(struct json_reader *r,
						  const struct json_path *path)
{
	return json_fields_path_error(path, r->err, "expected an array");
}

static void json_containers_object_write(struct json_writer *w, const struct field *f,
					 const void *base)
{
	if (f->one_line)
		writer_inline_next(w);
	json_fields_write(w, f->fields, (const char *)base + f->offset);
}

static enum status json_containers_object_read(struct json_reader *r, const struct field *f,
					       void *base, const struct json_path *path)
{
	return json_fields_read(r, f->fields, (char *)base + f->offset, path);
}

static void json_containers_object_absent(const struct field *f, void *base)
{
	json_fields_absent(f->fields, (char *)base + f->offset);
}

static void json_containers_object_release(const struct field *f, void *base)
{
	json_fields_release(f->fields, (char *)base + f->offset);
}

static void json_containers_pointer_write(struct json_writer *w, const struct field *f,
					  const void *base)
{
	json_fields_write(w, f->fields, container_items(f, base));
}

static enum status json_containers_pointer_read(struct json_reader *r, const struct field *f,
						void *base, const struct json_path *path)
{
	void **at = (void **)(void *)((char *)base + f->offset);

	*at = xcalloc(1, f->element_size);
	return json_fields_read(r, f->fields, *at, path);
}

static bool json_containers_pointer_nothing(const struct field *f, const void *base)
{
	return !container_items(f, base);
}

static void json_containers_pointer_release(const struct field *f, void *base)
{
	if (container_items(f, base))
		json_fields_release(f->fields, container_items(f, base));
	container_release(f, base);
}

static void json_containers_array_write(struct json_writer *w, const struct field *f,
					const void *base)
{
	writer_open(w, '[');
	for (size_t i = 0; i < container_count_of(f, base); i++) {
		if (f->one_line)
			writer_inline_next(w);
		json_fields_write(w, f->fields, container_items(f, base) + i * f->element_size);
	}
	writer_close(w, ']');
}

static enum status json_containers_array_read(struct json_reader *r, const struct field *f,
					      void *base, const struct json_path *path)
{
	if (!json_reader_take(r, '['))
		return json_containers_expected_array(r, path);
	for (size_t i = 0; json_reader_element(r, i); i++) {
		struct json_path here = { path, NULL, i };

		json_fields_read(r, f->fields, json_fields_append(f, base), &here);
	}
	return r->err->status;
}

static void json_containers_array_release(const struct field *f, void *base)
{
	for (size_t i = 0; i < container_count_of(f, base); i++)
		json_fields_release(f->fields, container_items(f, base) + i * f->element_size);
	container_release(f, base);
}

static char **container_key_of(const struct field *f, char *element)
{
	return (char **)(void *)(element + f->key_offset);
}

/* A JSON object has each name once: the last of repeated ones counts. */
static bool json_containers_repeated_later(const struct field *f, const void *base, size_t i)
{
	char *items = container_items(f, base);
	const char *key = *container_key_of(f, items + i * f->element_size);

	for (size_t j = i + 1; j < container_count_of(f, base); j++)
		if (strcmp(key, *container_key_of(f, items + j * f->element_size)) == 0)
			return true;
	return false;
}

static bool container_holds_values(const struct field *f)
{
	return f->codec == &codec_values;
}

static void container_map_write(struct json_writer *w, const struct field *f, const void *base)
{
	writer_open(w, '{');
	for (size_t i = 0; i < container_count_of(f, base); i++) {
		char *element = container_items(f, base) + i * f->element_size;

		if (json_containers_repeated_later(f, base, i))
			continue;
		writer_key(w, *container_key_of(f, element));
		if (container_holds_values(f))
			f->fields->codec->write(w, f->fields, element);
		else
			json_fields_write(w, f->fields, element);
	}
	writer_close(w, '}');
}

static int container_by_key(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Fails if a key is repeated. */
static enum status container_check_keys(const struct field *f, const void *base, struct error *err,
					const struct json_path *path)
{
	size_t count = container_count_of(f, base);
	char **keys = xcalloc(count + 1, sizeof(*keys));

	for (size_t i = 0; i < count; i++)
		keys[i] = *container_key_of(f, container_items(f, base) + i * f->element_size);
	qsort(keys, count, sizeof(*keys), container_by_key);
	for (size_t i = 1; i < count && err->status == STATUS_OK; i++)
		if (strcmp(keys[i - 1], keys[i]) == 0)
			json_fields_path_error(path, err, "'%.100s' is repeated", keys[i]);
	free(keys);
	return err->status;
}

static enum status container_map_read(struct json_reader *r, const struct field *f, void *base,
				      const struct json_path *path)
{
	if (!json_reader_take(r, '{'))
		return json_fields_path_error(path, r->err, "expected an object");
	for (size_t i = 0; json_reader_member(r, i); i++) {
		char *element = json_fields_append(f, base);
		char *key = text_harmless(r->string.data);
		struct json_path here = { path, key, 0 };

		*container_key_of(f, element) = key;
		if (f->shared && r->share)
			memory_shared_text(container_key_of(f, element));
		if (container_holds_values(f))
			f->fields->codec->read(r, f->fields, element, &here);
		else
			json_fields_read(r, f->fields, element, &here);
	}
	return r->err->status == STATUS_OK ? container_check_keys(f, base, r->err, path)
					   : r->err->status;
}

static void container_map_release(const struct field *f, void *base)
{
	for (size_t i = 0; i < container_count_of(f, base); i++)
		memory_shared_text_free(
			*container_key_of(f, container_items(f, base) + i * f->element_size));
	json_containers_array_release(f, base);
}

static char **container_strings(const struct field *f, const void *base)
{
	return (char **)(void *)container_items(f, base);
}

static void container_strings_write(struct json_writer *w, const struct field *f, const void *base)
{
	writer_open_inline(w, '[');
	for (size_t i = 0; i < container_count_of(f, base); i++)
		writer_text(w, container_strings(f, base)[i]);
	writer_close(w, ']');
}

static enum status container_strings_read(struct json_reader *r, const struct field *f, void *base,
					  const struct json_path *path)
{
	if (!json_reader_take(r, '['))
		return json_containers_expected_array(r, path);
	for (size_t i = 0; json_reader_element(r, i); i++) {
		char **item;

		if (json_reader_peek(r) != '"')
			return json_fields_path_error(&(struct json_path){ path, NULL, i }, r->err,
						      "expected a string");
		if (json_reader_string(r) != STATUS_OK)
			break;
		item = json_fields_append(f, base);
		*item = text_harmless(r->string.data);
		if (f->shared && r->share)
			memory_shared_text(item);
	}
	return r->err->status;
}

static void container_strings_release(const struct field *f, void *base)
{
	for (size_t i = 0; i < container_count_of(f, base); i++)
		memory_shared_text_free(container_strings(f, base)[i]);
	container_release(f, base);
}

static void json_containers_reals_write(struct json_writer *w, const struct field *f,
					const void *base)
{
	const double *items = (const double *)(const void *)container_items(f, base);

	writer_open_inline(w, '[');
	for (size_t i = 0; i < container_count_of(f, base); i++)
		writer_real(w, items[i]);
	writer_close(w, ']');
}

static enum status json_containers_reals_read(struct json_reader *r, const struct field *f,
					      void *base, const struct json_path *path)
{
	if (!json_reader_take(r, '['))
		return json_containers_expected_array(r, path);
	for (size_t i = 0; json_reader_element(r, i); i++) {
		struct json_number number = { .value = (double)NAN };

		if (!json_reader_take_null(r)) {
			if (!json_reader_at_number(r))
				return json_fields_path_error(&(struct json_path){ path, NULL, i },
							      r->err, "expected a number");
			if (json_reader_number(r, &number) != STATUS_OK)
				break;
		}
		*(double *)json_fields_append(f, base) = number.value;
	}
	return r->err->status;
}

static const char **json_containers_row_words(const struct field *f, const void *base)
{
	return (const char **)(void *)((char *)(uintptr_t)base + f->offset);
}

static void json_containers_row_word_write(struct json_writer *w, const struct field *f,
					   const void *base)
{
	writer_text(w, *json_containers_row_words(f, base));
}

static enum status json_containers_row_word_read(struct json_reader *r, const struct field *f,
						 void *base, const struct json_path *path)
{
	return codec_string.read(r, f, base, path);
}

static bool json_containers_row_word_nothing(const struct field *f, const void *base)
{
	return !*json_containers_row_words(f, base);
}

static void json_containers_row_word_release(const struct field *f, void *base)
{
	for (size_t i = 0; i < f->size / sizeof(const char *); i++)
		free((void *)(uintptr_t)json_containers_row_words(f, base)[i]);
}

static void json_containers_row_names_write(struct json_writer *w, const struct field *f,
					    const void *base)
{
	writer_open_inline(w, '[');
	for (const char **name = json_containers_row_words(f, base); *name; name++)
		writer_text(w, *name);
	writer_close(w, ']');
}

static enum status json_containers_row_names_read(struct json_reader *r, const struct field *f,
						  void *base, const struct json_path *path)
{
	size_t most = f->size / sizeof(const char *) - 1;

	if (!json_reader_take(r, '['))
		return json_containers_expected_array(r, path);
	for (size_t i = 0; json_reader_element(r, i); i++) {
		struct json_path here = { path, NULL, i };
		struct field word = { .offset = f->offset + i * sizeof(const char *) };

		if (i == most)
			return json_fields_path_error(path, r->err, "more than %zu names", most);
		codec_string.read(r, &word, base, &here);
	}
	return r->err->status;
}

static bool json_containers_is_row(const char *row)
{
	return *(const char *const *)(const void *)row != NULL;
}

static void json_containers_rows_write(struct json_writer *w, const struct field *f,
				       const void *base)
{
	writer_open(w, '[');
	for (const char *row = container_items(f, base); row && json_containers_is_row(row);
	     row += f->element_size) {
		writer_inline_next(w);
		json_fields_write(w, f->fields, row);
	}
	writer_close(w, ']');
}

static enum status json_containers_rows_read(struct json_reader *r, const struct field *f,
					     void *base, const struct json_path *path)
{
	char **rows = (char **)(void *)((char *)base + f->offset);
	size_t count = 0;

	if (!json_reader_take(r, '['))
		return json_containers_expected_array(r, path);
	*rows = xcalloc(1, f->element_size);
	for (size_t i = 0; json_reader_element(r, i); i++) {
		struct json_path here = { path, NULL, i };
		char *row;

		*rows = xrealloc(*rows, count + 2, f->element_size);
		row = *rows + count * f->element_size;
		memset(row, 0, 2 * f->element_size);
		json_fields_read(r, f->fields, row, &here);
		if (json_containers_is_row(row)) {
			count++;
		} else {
			/* A codec rejected it: a word of another program. */
			json_fields_release(f->fields, row);
			memset(row, 0, f->element_size);
		}
	}
	return r->err->status;
}

static bool json_containers_rows_nothing(const struct field *f, const void *base)
{
	return !container_items(f, base) || !json_containers_is_row(container_items(f, base));
}

static void json_containers_rows_release(const struct field *f, void *base)
{
	/* A row that could not be read completely is the last one. */
	for (char *row = container_items(f, base); row && json_containers_is_row(row);
	     row += f->element_size)
		json_fields_release(f->fields, row);
	container_release(f, base);
}

const struct codec codec_object = { json_containers_object_write, json_containers_object_read,
				    json_containers_object_absent,
				    .release = json_containers_object_release };
const struct codec codec_pointer = { json_containers_pointer_write, json_containers_pointer_read,
				     .nothing = json_containers_pointer_nothing,
				     .release = json_containers_pointer_release };
const struct codec codec_array = { json_containers_array_write, json_containers_array_read,
				   .nothing = container_nothing,
				   .release = json_containers_array_release };
const struct codec codec_map = { container_map_write, container_map_read,
				 .nothing = container_nothing, .release = container_map_release };
const struct codec codec_values = { container_map_write, container_map_read,
				    .nothing = container_nothing,
				    .release = container_map_release };
const struct codec codec_strings = { container_strings_write, container_strings_read,
				     .nothing = container_nothing,
				     .release = container_strings_release };
const struct codec codec_reals = { json_containers_reals_write, json_containers_reals_read,
				   .nothing = container_nothing, .release = container_release };
const struct codec codec_word = { json_containers_row_word_write, json_containers_row_word_read,
				  .nothing = json_containers_row_word_nothing,
				  .release = json_containers_row_word_release };
const struct codec codec_names = { json_containers_row_names_write, json_containers_row_names_read,
				   .nothing = json_containers_row_word_nothing,
				   .release = json_containers_row_word_release };
const struct codec codec_rows = { json_containers_rows_write, json_containers_rows_read,
				  .nothing = json_containers_rows_nothing,
				  .release = json_containers_rows_release };
