/* Converts the result document and its parts to text and back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "result/causes/cause.h"
#include "result/result.h"
#include "result/result_check.h"
#include "result/result_fields.h"
#include "result/verdict.h"

/* One case, device or fact per line, so that line-based tools find whole cases. */
#define EXPANDED_LEVELS 2
/* From this size on, equal texts of the cases are stored once. */
#define MANY_BYTES ((size_t)16 << 20)

char *result_to_json(const struct result *result)
{
	struct json_writer w = { .expand = EXPANDED_LEVELS };

	json_fields_write(&w, result_fields, result);
	return writer_finish(&w);
}

static void result_json_write_to_file_output(void *output, const char *bytes, size_t count)
{
	file_output_add(output, bytes, count);
}

void result_json_to_file(const struct result *result, struct file_output *output)
{
	struct json_writer w = { .expand = EXPANDED_LEVELS };
	char *rest;

	w.drain = result_json_write_to_file_output;
	w.context = output;
	json_fields_write(&w, result_fields, result);
	rest = writer_finish(&w);
	file_output_add(output, rest, strlen(rest));
	free(rest);
}

char *result_to_json_line(const struct result *result)
{
	return json_fields_line(result_fields, result);
}

char *result_header_to_json(const struct result *result)
{
	return json_fields_line(result_header_fields, result);
}

char *case_result_to_json(const struct case_result *c)
{
	return json_fields_line(case_fields, c);
}

/* Finds a member of the document that `r` begins; leaves `r` at its value. False: there is none. */
static bool result_json_find_member(struct json_reader *r, const char *name)
{
	for (size_t i = 0; json_reader_member(r, i); i++) {
		if (strcmp(r->string.data, name) == 0) {
			json_reader_peek(r);
			return true;
		}
		json_reader_skip(r);
	}
	return false;
}

/* Checked first, because a newer document may differ anywhere. */
static enum status result_json_check_version(const char *text, size_t length, struct error *err)
{
	struct json_reader r = { text, text, text + length, err, false, TEXT_EMPTY };
	struct json_number version = { 0 };
	bool ours;

	if (json_reader_peek(&r) != '{' && json_reader_peek(&r) != '[')
		return error_set(err, STATUS_USAGE, "not a gpuproof result: not valid JSON");
	ours = json_reader_take(&r, '{') && result_json_find_member(&r, "format") &&
	       json_reader_peek(&r) == '"' && json_reader_string(&r) == STATUS_OK &&
	       strcmp(r.string.data, RESULT_FORMAT) == 0;
	if (!ours)
		error_set(err, STATUS_USAGE, "not a gpuproof result: it has no \"format\": \"%s\"",
			  RESULT_FORMAT);
	r.at = text;
	if (ours && json_reader_take(&r, '{') && result_json_find_member(&r, "version") &&
	    json_reader_at_number(&r))
		json_reader_number(&r, &version);
	if (!version.whole || version.integer < 1)
		error_set(err, STATUS_USAGE, "version: expected a positive integer");
	if (version.integer > RESULT_VERSION)
		error_set(err, STATUS_USAGE,
			  "format version %lld comes from a newer gpuproof; this one reads up to "
			  "version %d",
			  (long long)version.integer, RESULT_VERSION);
	text_release(&r.string);
	return err->status;
}

/* `share`: for many cases, whose equal texts are then stored once. */
static enum status result_json_read_document(struct result *result, const char *text, size_t length,
					     const struct field *fields, bool share,
					     struct error *err)
{
	struct error own = ERROR_NONE;

	memset(result, 0, sizeof(*result));
	if (result_json_check_version(text, length, &own) == STATUS_OK)
		json_fields_parse_shared(text, length, fields, result, share, &own);
	for (size_t i = 0; i < result->device_count && own.status == STATUS_OK; i++)
		result->devices[i].capabilities |= device_implied_capabilities(&result->devices[i]);
	if (own.status != STATUS_OK)
		result_release(result);
	return error_copy(err, &own);
}

static enum status result_json_read_whole(struct result *result, const char *text, size_t length,
					  bool share, struct error *err)
{
	enum status status =
		result_json_read_document(result, text, length, result_fields, share, err);

	if (status != STATUS_OK)
		return status;
	/* Counts are not stored, so they cannot contradict the checks. */
	if (result->judgement) {
		/* Those that this program does not know. */
		verdicts_find_causes(result->judgement);
		verdicts_count(result->judgement);
	}
	status = result_check(result, err);
	if (status != STATUS_OK)
		result_release(result);
	return status;
}

enum status result_from_json(struct result *result, const char *text, size_t length,
			     struct error *err)
{
	return result_json_read_whole(result, text, length, length >= MANY_BYTES, err);
}

enum status result_from_summary(struct result *result, const char *text, size_t length,
				struct error *err)
{
	return result_json_read_whole(result, text, length, true, err);
}

enum status result_header_from_json(struct result *result, const char *text, size_t length,
				    struct error *err)
{
	return result_json_read_document(result, text, length, result_header_fields, false, err);
}

enum status case_result_from_json(struct case_result *c, const char *text, size_t length,
				  struct error *err)
{
	enum status status;

	memset(c, 0, sizeof(*c));
	status = json_fields_parse(text, length, case_fields, c, err);
	if (status != STATUS_OK)
		case_result_release(c);
	return status;
}

char *lost_worker_to_json(const struct lost_worker *lost)
{
	return json_fields_line(lost_worker_fields, lost);
}

enum status lost_worker_from_json(struct lost_worker *lost, const char *text, size_t length,
				  struct error *err)
{
	enum status status;

	memset(lost, 0, sizeof(*lost));
	status = json_fields_parse(text, length, lost_worker_fields, lost, err);
	if (status != STATUS_OK)
		lost_worker_release(lost);
	return status;
}
