/* Converts the result document and its parts to text and back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "result/json/json_wide.h"
#include "result/result.h"
#include "result/result_check.h"
#include "result/reasons/reasons.h"
#include "result/result_fields.h"
#include "result/verdict.h"

/* One case, device or fact per line, so that line-based tools find whole cases. */
#define EXPANDED_LEVELS 2
/* From this size on, cases are read one by one: a tree of all is 10 times as large. */
#define WIDE_BYTES ((size_t)16 << 20)

char *result_to_json(const struct result *result)
{
	struct json_writer w = { .expand = EXPANDED_LEVELS };

	fields_write(&w, result_fields, result);
	return writer_finish(&w);
}

static void write_to_file_output(void *output, const char *bytes, size_t count)
{
	file_output_add(output, bytes, count);
}

void result_to_file(const struct result *result, struct file_output *output)
{
	struct json_writer w = { .expand = EXPANDED_LEVELS };
	char *rest;

	w.drain = write_to_file_output;
	w.context = output;
	fields_write(&w, result_fields, result);
	rest = writer_finish(&w);
	file_output_add(output, rest, strlen(rest));
	free(rest);
}

char *result_to_json_line(const struct result *result)
{
	return fields_line(result_fields, result);
}

char *result_header_to_json(const struct result *result)
{
	return fields_line(result_header_fields, result);
}

char *case_result_to_json(const struct case_result *c)
{
	return fields_line(case_fields, c);
}

/* Checked first, because a newer document may differ anywhere. */
static enum status result_check_version(const json_t *json, struct error *err)
{
	const char *format = json_string_value(json_object_get(json, "format"));
	const json_t *version = json_object_get(json, "version");

	if (!format || strcmp(format, RESULT_FORMAT) != 0)
		return error_set(err, STATUS_USAGE,
				 "not a gpuproof result: it has no \"format\": \"%s\"",
				 RESULT_FORMAT);
	if (!json_is_integer(version) || json_integer_value(version) < 1)
		return error_set(err, STATUS_USAGE, "version: expected a positive integer");
	if (json_integer_value(version) > RESULT_VERSION)
		return error_set(err, STATUS_USAGE,
				 "format version %lld comes from a newer gpuproof; this one reads "
				 "up to version %d",
				 (long long)json_integer_value(version), RESULT_VERSION);
	return STATUS_OK;
}

/*
 * Parses far enough to recognise a page or a journal: the position of a parse error would not help
 * the user.
 */
static bool is_json(const char *text, size_t length)
{
	size_t at = 0;

	while (at < length && strchr(" \t\r\n", text[at]))
		at++;
	return at < length && (text[at] == '{' || text[at] == '[');
}

static enum status read_tree(struct result *result, const char *text, size_t length,
			     const struct field *fields, struct error *err)
{
	json_t *json;
	enum status status = json_parse_brief(text, length, &json, err);

	if (status != STATUS_OK)
		return status;
	status = result_check_version(json, err);
	if (status == STATUS_OK)
		status = fields_read(json, fields, result, NULL, err);
	json_release_brief(json);
	return status;
}

static void result_json_share_texts(const struct field *field, void *element)
{
	if (field->fields == case_fields)
		case_share_texts(element);
}

static enum status read_wide(struct result *result, const char *text, size_t length,
			     const struct field *fields, struct error *err)
{
	struct wide_document document;
	enum status status = wide_open(&document, text, length, fields, err);

	if (status == STATUS_OK)
		status = result_check_version(document.narrow, err);
	if (status == STATUS_OK)
		status = wide_read(&document, fields, result, NULL, result_json_share_texts, err);
	wide_close(&document);
	return status;
}

static enum status read_document(struct result *result, const char *text, size_t length,
				 const struct field *fields, bool wide, struct error *err)
{
	enum status status;

	memset(result, 0, sizeof(*result));
	if (!is_json(text, length))
		return error_set(err, STATUS_USAGE, "not a gpuproof result: not valid JSON");
	status = wide ? read_wide(result, text, length, fields, err)
		      : read_tree(result, text, length, fields, err);
	for (size_t i = 0; i < result->device_count && status == STATUS_OK; i++)
		result->devices[i].capabilities |= device_implied_capabilities(&result->devices[i]);
	if (status != STATUS_OK)
		result_release(result);
	return status;
}

static enum status result_json_read_whole(struct result *result, const char *text, size_t length,
					  enum samples_wanted samples, bool wide, struct error *err)
{
	enum status status = read_document(result, text, length, result_fields, wide, err);

	if (status != STATUS_OK)
		return status;
	/* Counts are not stored, so they cannot contradict the checks. */
	if (result->judgement)
		verdicts_count(result->judgement);
	/* Earlier versions did not store any. */
	if (result->judgement && !result->judgement->reason_count)
		verdicts_explain(result->judgement);
	status = result_check(result, result->samples_left_out ? SAMPLES_MAY_LACK : samples, err);
	if (status != STATUS_OK)
		result_release(result);
	return status;
}

enum status result_from_json(struct result *result, const char *text, size_t length,
			     struct error *err)
{
	return result_json_read_whole(result, text, length, SAMPLES_REQUIRED, length >= WIDE_BYTES,
				      err);
}

enum status result_from_json_without_samples(struct result *result, const char *text, size_t length,
					     struct error *err)
{
	return result_json_read_whole(result, text, length, SAMPLES_MAY_LACK, length >= WIDE_BYTES,
				      err);
}

enum status result_header_from_json(struct result *result, const char *text, size_t length,
				    struct error *err)
{
	return read_document(result, text, length, result_header_fields, false, err);
}

enum status result_from_summary(struct result *result, const char *text, size_t length,
				struct error *err)
{
	return result_json_read_whole(result, text, length, SAMPLES_REQUIRED, true, err);
}

enum status result_header_of_json(struct result *result, const char *text, size_t length,
				  struct error *err)
{
	return read_document(result, text, length, result_header_fields, true, err);
}

enum status case_result_from_json(struct case_result *c, const char *text, size_t length,
				  struct error *err)
{
	enum status status;

	memset(c, 0, sizeof(*c));
	status = fields_parse(text, length, case_fields, c, err);
	if (status != STATUS_OK)
		case_result_release(c);
	return status;
}

char *lost_worker_to_json(const struct lost_worker *lost)
{
	return fields_line(lost_worker_fields, lost);
}

enum status lost_worker_from_json(struct lost_worker *lost, const char *text, size_t length,
				  struct error *err)
{
	enum status status;

	memset(lost, 0, sizeof(*lost));
	status = fields_parse(text, length, lost_worker_fields, lost, err);
	if (status != STATUS_OK)
		lost_worker_release(lost);
	return status;
}
