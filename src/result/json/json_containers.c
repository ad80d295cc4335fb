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
	free(container_items(f, base));
}

static char **container_key_of(const struct field *f, char *element)
{
	return (char **)(void *)(element + f->key_offset);
}

static bool container_is_keyed(const struct field *f)
{
	return f->codec == &codec_map || f->codec == &codec_values;
}

/* The row of each element, whose codec reads and writes it; offsets are within the element. */
static struct field container_element(const struct field *f)
{
	struct field element = { .codec = &codec_object,
				 .fields = f->fields,
				 .one_line = f->one_line,
				 .shared = f->shared };

	if (f->codec == &codec_values)
		return f->fields[0];
	if (f->codec == &codec_strings)
		element.codec = &codec_string;
	if (f->codec == &codec_reals)
		element.codec = &codec_real;
	return element;
}

static void container_list_write(struct json_writer *w, const struct field *f, const void *base)
{
	const struct field element = container_element(f);
	bool keyed = container_is_keyed(f);

	if (f->codec == &codec_strings || f->codec == &codec_reals)
		writer_inline_next(w);
	writer_open(w, keyed ? '{' : '[');
	for (size_t i = 0; i < container_count_of(f, base); i++) {
		char *item = container_items(f, base) + i * f->element_size;
		/* A JSON object has each name once: the last of repeated ones counts. */
		bool again = false;

		for (size_t j = i + 1; keyed && j < container_count_of(f, base) && !again; j++)
			again = strcmp(*container_key_of(f, item),
				       *container_key_of(f, item + (j - i) * f->element_size)) == 0;
		if (again)
			continue;
		if (keyed)
			writer_key(w, *container_key_of(f, item));
		element.codec->write(w, &element, item);
	}
	writer_close(w, keyed ? '}' : ']');
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

static enum status container_list_read(struct json_reader *r, const struct field *f, void *base,
				       const struct json_path *path)
{
	const struct field element = container_element(f);
	bool keyed = container_is_keyed(f);

	if (!json_reader_take(r, keyed ? '{' : '['))
		return json_fields_path_error(path, r->err, "expected an %s",
					      keyed ? "object" : "array");
	for (size_t i = 0; keyed ? json_reader_member(r, i) : json_reader_element(r, i); i++) {
		char *item = json_fields_append(f, base);
		struct json_path here = { path, NULL, i };

		if (keyed) {
			*container_key_of(f, item) = text_harmless(r->string.data);
			here.name = *container_key_of(f, item);
			if (f->shared && r->share)
				memory_shared_text(container_key_of(f, item));
		}
		element.codec->read(r, &element, item, &here);
	}
	return keyed && r->err->status == STATUS_OK ? container_check_keys(f, base, r->err, path)
						    : r->err->status;
}

static void container_list_release(const struct field *f, void *base)
{
	const struct field element = container_element(f);

	for (size_t i = 0; i < container_count_of(f, base); i++) {
		char *item = container_items(f, base) + i * f->element_size;

		if (container_is_keyed(f))
			memory_shared_text_free(*container_key_of(f, item));
		if (element.codec->release)
			element.codec->release(&element, item);
	}
	free(container_items(f, base));
}

static const char **json_containers_row_words(const struct field *f, const void *base)
{
	return (const char **)(void *)((char *)(uintptr_t)base + f->offset);
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
			/* Release it here: the list ends at a row without its first member. */
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
	free(container_items(f, base));
}

const struct codec codec_object = { json_containers_object_write, json_containers_object_read,
				    json_containers_object_absent,
				    .release = json_containers_object_release };
const struct codec codec_pointer = { json_containers_pointer_write, json_containers_pointer_read,
				     .nothing = json_containers_pointer_nothing,
				     .release = json_containers_pointer_release };
#define LIST_CODEC                                                                           \
	{                                                                                    \
		container_list_write, container_list_read, .nothing = container_nothing,     \
							   .release = container_list_release \
	}
const struct codec codec_array = LIST_CODEC, codec_map = LIST_CODEC, codec_values = LIST_CODEC,
		   codec_strings = LIST_CODEC, codec_reals = LIST_CODEC;
const struct codec codec_names = { json_containers_row_names_write, json_containers_row_names_read,
				   .nothing = json_containers_row_word_nothing,
				   .release = json_containers_row_word_release };
const struct codec codec_rows = { json_containers_rows_write, json_containers_rows_read,
				  .nothing = json_containers_rows_nothing,
				  .release = json_containers_rows_release };
