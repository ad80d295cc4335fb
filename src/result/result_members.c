/* Members of the result document that are not plain structs: parameters, and the format's name. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "result/result.h"
#include "result/result_fields.h"

/* Reads r->string at a path to a copy that is shared if the reader shares. */
static char *member_text(const struct json_reader *r)
{
	char *text = text_harmless(r->string.data);

	if (r->share)
		shared_text(&text);
	return text;
}

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

static enum status member_parameters_read(struct json_reader *r, const struct field *f, void *base,
					  const struct json_path *path)
{
	struct case_result *c = base;

	if (!reader_take(r, '{'))
		return json_path_error(path, r->err, "expected an object");
	for (size_t i = 0; reader_member(r, i); i++) {
		struct case_parameter *parameter = field_append(f, base);
		struct json_number number = { .value = (double)NAN };
		char *name = member_text(r);
		struct json_path here = { path, name, 0 };

		parameter->name = name;
		if (case_parameter(c, parameter->name) != parameter)
			return json_path_error(&here, r->err, "is repeated");
		if (reader_at_number(r))
			reader_number(r, &number);
		else if (reader_peek(r) != '"')
			return json_path_error(&here, r->err, "expected a number or a string");
		else if (reader_string(r) == STATUS_OK)
			parameter->text = member_text(r);
		parameter->number = number.value;
	}
	return r->err->status;
}

static void member_parameters_release(const struct field *f, void *base)
{
	struct case_result *c = base;

	(void)f;
	for (size_t i = 0; i < c->parameter_count; i++) {
		shared_text_free(c->parameters[i].name);
		shared_text_free(c->parameters[i].text);
		shared_text_free(c->parameters[i].unit);
	}
	free(c->parameters);
}

/* The string of a parameter that the row is about. */
static char **parameter_string(const struct field *f, const struct case_parameter *p)
{
	return (char **)(void *)((char *)(uintptr_t)p + f->key_offset);
}

/* Text values are their own text; units are left out where there are none. */
static void parameter_strings_write(struct json_writer *w, const struct field *f, const void *base)
{
	const struct case_result *c = base;

	writer_open_inline(w, '{');
	for (size_t i = 0; i < c->parameter_count; i++) {
		const struct case_parameter *p = &c->parameters[i];
		const char *string = *parameter_string(f, p);

		if (f->key_offset == offsetof(struct case_parameter, text) ? !isfinite(p->number)
									   : !string || !*string)
			continue;
		writer_key(w, p->name);
		writer_text(w, string);
	}
	writer_close(w, '}');
}

static enum status parameter_strings_read(struct json_reader *r, const struct field *f, void *base,
					  const struct json_path *path)
{
	struct case_result *c = base;

	if (!reader_take(r, '{'))
		return json_path_error(path, r->err, "expected an object");
	for (size_t i = 0; reader_member(r, i); i++) {
		const struct case_parameter *p = case_parameter(c, r->string.data);
		struct json_path here = { path, p ? p->name : "", 0 };

		if (!p)
			reader_skip(r);
		else if (reader_peek(r) != '"')
			return json_path_error(&here, r->err, "expected a string");
		else if (reader_string(r) == STATUS_OK && !*parameter_string(f, p))
			*parameter_string(f, p) = member_text(r);
	}
	for (size_t i = 0; i < c->parameter_count; i++)
		if (!*parameter_string(f, &c->parameters[i]))
			*parameter_string(f, &c->parameters[i]) = xstrdup("");
	return r->err->status;
}

static void member_format_write(struct json_writer *w, const struct field *f, const void *base)
{
	(void)f;
	(void)base;
	writer_text(w, RESULT_FORMAT);
}

static enum status member_format_read(struct json_reader *r, const struct field *f, void *base,
				      const struct json_path *path)
{
	(void)f;
	(void)base;
	if (reader_peek(r) != '"' || reader_string(r) != STATUS_OK ||
	    strcmp(r->string.data, RESULT_FORMAT) != 0)
		return json_path_error(path, r->err, "expected \"" RESULT_FORMAT "\"");
	return STATUS_OK;
}

const struct codec codec_parameters = { member_parameters_write, member_parameters_read,
					.release = member_parameters_release };
const struct codec codec_parameter_strings = { parameter_strings_write, parameter_strings_read };
const struct codec codec_format = { member_format_write, member_format_read };
