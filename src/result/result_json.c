/* Converts the result document and its parts to text and files, and back. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/input.h"
#include "base/memory.h"
#include "base/text.h"
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

static void result_json_to_output(const struct result *result, struct file_output *output)
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

/* Far above any real run: 60 cases on each of 10,000 nodes are 1.7 GB. */
#define MAX_FILE_BYTES ((off_t)8 << 30)
/* Larger files are mapped; pipes are read up to this size. */
#define MAX_READ_BYTES ((size_t)256 << 20)

/* False: read the file as usual, which also reports any error. */
static bool result_json_map_file(const char *path, const char **text, size_t *length)
{
	int fd = input_open(path);
	struct stat about;
	void *at = MAP_FAILED;

	if (fd < 0)
		return false;
	if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) &&
	    about.st_size > (off_t)MAX_READ_BYTES && about.st_size <= MAX_FILE_BYTES)
		at = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (at == MAP_FAILED)
		return false;
	*text = at;
	*length = (size_t)about.st_size;
	return true;
}

typedef enum status read_fn(struct result *, const char *text, size_t length, struct error *);

static enum status result_json_read_file(struct result *result, const char *path, read_fn *read,
					 struct error *err)
{
	struct text text = TEXT_EMPTY;
	const char *mapped;
	size_t length;

	memset(result, 0, sizeof(*result));
	if (result_json_map_file(path, &mapped, &length)) {
		if (read(result, mapped, length, err) != STATUS_OK)
			error_prefix(err, "%s", path);
		munmap((void *)(uintptr_t)mapped, length);
		return err->status;
	}
	if (input_read_file(path, "result", MAX_READ_BYTES, &text, err) == STATUS_OK &&
	    read(result, text.data ? text.data : "", text.length, err) != STATUS_OK)
		error_prefix(err, "%s", path);
	text_release(&text);
	return err->status;
}

enum status result_read(struct result *result, const char *path, struct error *err)
{
	return result_json_read_file(result, path, result_from_json, err);
}

enum status result_read_summary(struct result *result, const char *path, struct error *err)
{
	return result_json_read_file(result, path, result_from_summary, err);
}

enum status result_read_header(struct result *result, const char *path, struct error *err)
{
	return result_json_read_file(result, path, result_header_from_json, err);
}

/*
 * Makes the rename durable. File systems that cannot sync a directory return EINVAL, which is not
 * an error.
 */
static enum status result_json_sync_directory(const char *directory, struct error *err)
{
	enum status status = STATUS_OK;
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return error_errno(err, "%s", directory);
	if (fsync(fd) != 0 && errno != EINVAL)
		status = error_errno(err, "fsync %s", directory);
	close(fd);
	return status;
}

enum status result_write(const struct result *result, const char *path, struct error *err)
{
	struct file_output output;
	char *path_copy;
	enum status status = file_output_open(&output, path, err);

	if (status != STATUS_OK)
		return status;
	result_json_to_output(result, &output);
	status = file_output_close(&output, err);
	path_copy = xstrdup(path);
	if (status == STATUS_OK)
		status = result_json_sync_directory(dirname(path_copy), err);
	free(path_copy);
	return status;
}

enum status result_read_from(struct result *result, const char *directory, struct error *err)
{
	char *path = xasprintf("%s/result.json", directory);
	enum status status = result_read(result, path, err);

	free(path);
	return status;
}

enum status result_write_to(const struct result *result, const char *directory, struct error *err)
{
	char *path = xasprintf("%s/result.json", directory);
	enum status status = result_write(result, path, err);

	free(path);
	return status;
}
