/* Codecs for nested structs and arrays of them. */
#include "result/json/json_fields.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

static size_t container_count_of(const struct field *f, const void *base)
{
	return *(const size_t *)(const void *)((const char *)base + f->count_offset);
}

/* First element of the array that `f` describes. */
static const char *container_items(const struct field *f, const void *base)
{
	return *(const char *const *)(const void *)((const char *)base + f->offset);
}

static void object_write(struct json_writer *w, const struct field *f, const void *base)
{
	if (f->one_line)
		writer_inline_next(w);
	fields_write(w, f->fields, (const char *)base + f->offset);
}

static enum status object_read(const json_t *json, const struct field *f, void *base,
			       const struct json_path *path, struct error *err)
{
	return fields_read(json, f->fields, (char *)base + f->offset, path, err);
}

static void object_absent(const struct field *f, void *base)
{
	fields_absent(f->fields, (char *)base + f->offset);
}

static void pointer_write(struct json_writer *w, const struct field *f, const void *base)
{
	fields_write(w, f->fields, container_items(f, base));
}

static enum status pointer_read(const json_t *json, const struct field *f, void *base,
				const struct json_path *path, struct error *err)
{
	void **at = (void **)(void *)((char *)base + f->offset);

	*at = xcalloc(1, f->element_size);
	return fields_read(json, f->fields, *at, path, err);
}

static void array_write(struct json_writer *w, const struct field *f, const void *base)
{
	writer_open(w, '[');
	for (size_t i = 0; i < container_count_of(f, base); i++) {
		if (f->one_line)
			writer_inline_next(w);
		fields_write(w, f->fields, container_items(f, base) + i * f->element_size);
	}
	writer_close(w, ']');
}

static enum status array_read(const json_t *json, const struct field *f, void *base,
			      const struct json_path *path, struct error *err)
{
	if (!json_is_array(json))
		return json_path_error(path, err, "expected an array");
	for (size_t i = 0; i < json_array_size(json); i++) {
		struct json_path here = { path, NULL, i };
		void *element = field_append(f, base);
		enum status status =
			fields_read(json_array_get(json, i), f->fields, element, &here, err);

		if (status != STATUS_OK)
			return status;
	}
	return STATUS_OK;
}

static const char *container_key_of(const struct field *f, const char *element)
{
	return *(const char *const *)(const void *)(element + f->key_offset);
}

/* A JSON object has each name once: the last of repeated ones counts. */
static bool repeated_later(const struct field *f, const void *base, size_t i)
{
	const char *key = container_key_of(f, container_items(f, base) + i * f->element_size);

	for (size_t j = i + 1; j < container_count_of(f, base); j++)
		if (strcmp(key, container_key_of(f, container_items(f, base) +
							    j * f->element_size)) == 0)
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
		const char *element = container_items(f, base) + i * f->element_size;

		if (repeated_later(f, base, i))
			continue;
		writer_key(w, container_key_of(f, element));
		if (container_holds_values(f))
			f->fields->codec->write(w, f->fields, element);
		else
			fields_write(w, f->fields, element);
	}
	writer_close(w, '}');
}

static enum status container_map_read(const json_t *json, const struct field *f, void *base,
				      const struct json_path *path, struct error *err)
{
	const char *key;
	json_t *value;

	if (!json_is_object(json))
		return json_path_error(path, err, "expected an object");
	json_object_foreach((json_t *)json, key, value)
	{
		struct json_path here = { path, key, 0 };
		char *element = field_append(f, base);
		enum status status;

		*(char **)(void *)(element + f->key_offset) = text_harmless(key);
		status = container_holds_values(f)
				 ? f->fields->codec->read(value, f->fields, element, &here, err)
				 : fields_read(value, f->fields, element, &here, err);
		if (status != STATUS_OK)
			return status;
	}
	return STATUS_OK;
}

static void container_strings_write(struct json_writer *w, const struct field *f, const void *base)
{
	const char *const *items = (const char *const *)(const void *)container_items(f, base);

	writer_open_inline(w, '[');
	for (size_t i = 0; i < container_count_of(f, base); i++)
		writer_text(w, items[i]);
	writer_close(w, ']');
}

static enum status container_strings_read(const json_t *json, const struct field *f, void *base,
					  const struct json_path *path, struct error *err)
{
	if (!json_is_array(json))
		return json_path_error(path, err, "expected an array");
	for (size_t i = 0; i < json_array_size(json); i++) {
		const char *s = json_string_value(json_array_get(json, i));

		if (!s)
			return json_path_error(&(struct json_path){ path, NULL, i }, err,
					       "expected a string");
		*(char **)field_append(f, base) = text_harmless(s);
	}
	return STATUS_OK;
}

static void reals_write(struct json_writer *w, const struct field *f, const void *base)
{
	const double *items = (const double *)(const void *)container_items(f, base);

	writer_open_inline(w, '[');
	for (size_t i = 0; i < container_count_of(f, base); i++)
		writer_real(w, items[i]);
	writer_close(w, ']');
}

static enum status reals_read(const json_t *json, const struct field *f, void *base,
			      const struct json_path *path, struct error *err)
{
	if (!json_is_array(json))
		return json_path_error(path, err, "expected an array");
	for (size_t i = 0; i < json_array_size(json); i++) {
		const json_t *item = json_array_get(json, i);

		if (!json_is_number(item) && !json_is_null(item))
			return json_path_error(&(struct json_path){ path, NULL, i }, err,
					       "expected a number");
		*(double *)field_append(f, base) =
			json_is_null(item) ? (double)NAN : json_number_value(item);
	}
	return STATUS_OK;
}

const struct codec codec_object = { object_write, object_read, object_absent };
const struct codec codec_pointer = { pointer_write, pointer_read, NULL };
const struct codec codec_array = { array_write, array_read, NULL };
const struct codec codec_map = { container_map_write, container_map_read, NULL };
const struct codec codec_values = { container_map_write, container_map_read, NULL };
const struct codec codec_strings = { container_strings_write, container_strings_read, NULL };
const struct codec codec_reals = { reals_write, reals_read, NULL };
