/*
 * Members of the result document that are not plain structs: parameters, points, and the name of
 * the format.
 */
#include "result/result_fields.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "result/result.h"
#include "result/verdict.h"

static void member_parameters_write(struct json_writer *w, const struct field *f, const void *base)
{
	const struct case_result *c = base;

	(void)f;
	writer_open_inline(w, '{');
	for (size_t i = 0; i < c->parameter_count; i++) {
		writer_key(w, c->parameters[i].name);
		if (isfinite(c->parameters[i].number))
			writer_real(w, c->parameters[i].number);
		else
			writer_text(w, c->parameters[i].text);
	}
	writer_close(w, '}');
}

static enum status member_parameters_read(const json_t *json, const struct field *f, void *base,
					  const struct json_path *path, struct error *err)
{
	const char *key;
	json_t *value;

	if (!json_is_object(json))
		return json_path_error(path, err, "expected an object");
	json_object_foreach((json_t *)json, key, value)
	{
		struct json_path here = { path, key, 0 };
		struct case_parameter *parameter = field_append(f, base);

		parameter->name = text_harmless(key);
		parameter->number = json_is_number(value) ? json_number_value(value) : (double)NAN;
		if (json_is_string(value))
			parameter->text = text_harmless(json_string_value(value));
		else if (!json_is_number(value))
			return json_path_error(&here, err, "expected a number or a string");
	}
	return STATUS_OK;
}

/* Text of numbers only: text values are their own text. */
static void member_parameter_text_write(struct json_writer *w, const struct field *f,
					const void *base)
{
	const struct case_result *c = base;

	(void)f;
	writer_open_inline(w, '{');
	for (size_t i = 0; i < c->parameter_count; i++) {
		if (!isfinite(c->parameters[i].number))
			continue;
		writer_key(w, c->parameters[i].name);
		writer_text(w, c->parameters[i].text);
	}
	writer_close(w, '}');
}

static void member_parameter_units_write(struct json_writer *w, const struct field *f,
					 const void *base)
{
	const struct case_result *c = base;

	(void)f;
	writer_open_inline(w, '{');
	for (size_t i = 0; i < c->parameter_count; i++) {
		if (!c->parameters[i].unit || !c->parameters[i].unit[0])
			continue;
		writer_key(w, c->parameters[i].name);
		writer_text(w, c->parameters[i].unit);
	}
	writer_close(w, '}');
}

/* The string member `name` of `json`, "" if it is missing; fails on another type. */
static enum status optional_string(const json_t *json, const char *name, char **out,
				   const struct json_path *path, struct error *err)
{
	struct json_path here = { path, name, 0 };
	const json_t *value = json_object_get(json, name);

	if (value && !json_is_string(value))
		return json_path_error(&here, err, "expected a string");
	*out = text_harmless(value ? json_string_value(value) : "");
	return STATUS_OK;
}

static enum status member_parameter_text_read(const json_t *json, const struct field *f, void *base,
					      const struct json_path *path, struct error *err)
{
	struct case_result *c = base;

	(void)f;
	if (!json_is_object(json))
		return json_path_error(path, err, "expected an object");
	for (size_t i = 0; i < c->parameter_count; i++) {
		struct case_parameter *parameter = &c->parameters[i];

		if (parameter->text)
			continue;
		if (optional_string(json, parameter->name, &parameter->text, path, err) !=
		    STATUS_OK)
			return STATUS_USAGE;
	}
	return STATUS_OK;
}

static enum status member_parameter_units_read(const json_t *json, const struct field *f,
					       void *base, const struct json_path *path,
					       struct error *err)
{
	struct case_result *c = base;

	(void)f;
	if (!json_is_object(json))
		return json_path_error(path, err, "expected an object");
	for (size_t i = 0; i < c->parameter_count; i++) {
		struct case_parameter *parameter = &c->parameters[i];

		if (optional_string(json, parameter->name, &parameter->unit, path, err) !=
		    STATUS_OK)
			return STATUS_USAGE;
	}
	return STATUS_OK;
}

static void member_format_write(struct json_writer *w, const struct field *f, const void *base)
{
	(void)f;
	(void)base;
	writer_text(w, RESULT_FORMAT);
}

static enum status member_format_read(const json_t *json, const struct field *f, void *base,
				      const struct json_path *path, struct error *err)
{
	(void)f;
	(void)base;
	if (!json_is_string(json) || strcmp(json_string_value(json), RESULT_FORMAT) != 0)
		return json_path_error(path, err, "expected \"" RESULT_FORMAT "\"");
	return STATUS_OK;
}

static void member_point_write(struct json_writer *w, const struct field *f, const void *base)
{
	writer_inline_next(w);
	codec_array.write(w, f, base);
}

static enum status member_point_read(const json_t *json, const struct field *f, void *base,
				     const struct json_path *path, struct error *err)
{
	return codec_array.read(json, f, base, path, err);
}

static void point_absent(const struct field *f, void *base)
{
	(void)f;
	case_derive_point(base);
}

static void member_check_point_write(struct json_writer *w, const struct field *f, const void *base)
{
	codec_string.write(w, f, base);
}

static enum status member_check_point_read(const json_t *json, const struct field *f, void *base,
					   const struct json_path *path, struct error *err)
{
	return codec_string.read(json, f, base, path, err);
}

static void check_point_absent(const struct field *f, void *base)
{
	(void)f;
	check_derive_point(base);
}

const struct codec codec_point = { member_point_write, member_point_read, point_absent };
const struct codec codec_check_point = { member_check_point_write, member_check_point_read,
					 check_point_absent };
const struct codec codec_parameters = { member_parameters_write, member_parameters_read, NULL };
const struct codec codec_parameter_text = { member_parameter_text_write, member_parameter_text_read,
					    NULL };
const struct codec codec_parameter_units = { member_parameter_units_write,
					     member_parameter_units_read, NULL };
const struct codec codec_format = { member_format_write, member_format_read, NULL };
