#include "import/import.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/input.h"
#include "base/memory.h"
#include "base/text.h"
#include "import/reading.h"
#include "result/host/build.h"
#include "result/result_check.h"

#define MOST_BYTES ((size_t)256 << 20)

#define IMPORT(name) extern const struct import_format import_##name;
#include "import/import.def"
#undef IMPORT

const struct import_format *const import_formats[] = {
#define IMPORT(name) &import_##name,
#include "import/import.def"
#undef IMPORT
	NULL
};

static const struct import_format *format_named(const char *name, struct error *err)
{
	const char *names[16] = { NULL };
	char *instead;

	for (size_t i = 0; import_formats[i]; i++) {
		if (strcmp(import_formats[i]->name, name) == 0)
			return import_formats[i];
		names[i] = import_formats[i]->name;
	}
	instead = text_instead(name, names);
	error_set(err, STATUS_USAGE, "there is no format '%.60s' to import%s", name, instead);
	free(instead);
	return NULL;
}

static void start(struct result *result)
{
	*result = (struct result){ .version = RESULT_VERSION,
				   .gpuproof_version = xstrdup(build_version()),
				   .run_id = xstrdup(""),
				   .label = xstrdup(""),
				   .started = xstrdup(""),
				   .finished = xstrdup(""),
				   .state = xstrdup("complete"),
				   .command = xstrdup(""),
				   .config_name = xstrdup("imported"),
				   .config_text = xstrdup("") };
}

/* The same file gives the same id. */
static char *identity(const char *text, size_t length)
{
	return xasprintf("%016llx", (unsigned long long)text_hash(TEXT_HASH_START, text, length));
}

static void finish(struct import *import)
{
	struct result *r = import->result;

	free(r->run_id);
	r->run_id = identity(import->text, import->length);
	free(r->label);
	r->label =
		xstrdup(strrchr(import->file, '/') ? strrchr(import->file, '/') + 1 : import->file);
	r->planned = r->case_count;
}

/*
 * Human-readable numbers are rounded and do not identify their cases: the error names the option
 * for the others.
 */
static enum status refuse_for_people(struct import *import, const struct import_format *f)
{
	struct import_lines lines = import_lines(import);
	enum status status = STATUS_OK;

	while (f->for_people && status == STATUS_OK && import_next(&lines))
		if (text_starts_with(lines.line, f->for_people))
			status = import_error(import, lines.number,
					      "this is what %s prints for people; %s", f->name,
					      f->instead);
	import_lines_end(&lines);
	return status;
}

/*
 * An imported result must be readable. The likely cause of a failure: the output of several runs in
 * one file.
 */
static enum status check(struct import *import)
{
	struct error own = ERROR_NONE;

	if (result_check(import->result, SAMPLES_REQUIRED, &own) == STATUS_OK)
		return STATUS_OK;
	return error_set(import->err, STATUS_USAGE,
			 "%s: what it holds makes no result (is it the output of several runs?): "
			 "%s",
			 import->file, own.message);
}

enum status import_text(struct result *result, const char *format, const char *file,
			const char *text, size_t length, const struct import_options *options,
			struct error *err)
{
	const struct import_format *f = format_named(format, err);
	struct import import;
	enum status status;

	memset(result, 0, sizeof(*result));
	if (!f)
		return STATUS_USAGE;
	import = (struct import){ .result = result,
				  .err = err,
				  .options = options,
				  .file = file,
				  .text = text,
				  .length = length,
				  .ids = json_object() };
	start(result);
	if (memchr(text, '\0', length))
		status = import_error(&import, 1, "this is no text");
	else
		status = refuse_for_people(&import, f);
	if (status == STATUS_OK)
		status = f->read(&import);
	if (status == STATUS_OK && !result->case_count)
		status = import_error(&import, 1, "holds no value that %s knows", f->name);
	if (status == STATUS_OK) {
		finish(&import);
		status = check(&import);
	}
	json_decref(import.ids);
	if (status != STATUS_OK)
		result_release(result);
	return status;
}

/* The line that "file:12: ..." is about; 0: none. */
static long line_of(const char *message, const char *file)
{
	size_t length = strlen(file);

	return strncmp(message, file, length) == 0 && message[length] == ':'
		       ? strtol(message + length + 1, NULL, 10)
		       : 0;
}

/*
 * In the one format that reads all of it. Where none does, the error is that of the format that got
 * furthest.
 */
static enum status read_any(struct result *result, const char *file, const char *text,
			    size_t length, const struct import_options *options, struct error *err)
{
	const struct import_format *found = NULL;
	struct error furthest = ERROR_NONE;
	const char *tried = "";

	memset(result, 0, sizeof(*result));
	for (size_t i = 0; import_formats[i]; i++) {
		const struct import_format *f = import_formats[i];
		struct error own = ERROR_NONE;
		struct result one;

		if (import_text(&one, f->name, file, text, length, options, &own) != STATUS_OK) {
			if (!*tried ||
			    line_of(own.message, file) > line_of(furthest.message, file)) {
				furthest = own;
				tried = f->name;
			}
			continue;
		}
		if (found) {
			result_release(&one);
			result_release(result);
			return error_set(err, STATUS_USAGE, "%s may be %s or %s: say which", file,
					 found->name, f->name);
		}
		found = f;
		*result = one;
	}
	if (found)
		return STATUS_OK;
	return error_set(err, furthest.status, "%s (read as %s; gpuproof import --list-formats)",
			 furthest.message, tried);
}

enum status import_file(struct result *result, const char *format, const char *path,
			const struct import_options *options, struct error *err)
{
	struct text text = TEXT_EMPTY;
	enum status status;

	memset(result, 0, sizeof(*result));
	if (format && !format_named(format, err))
		return err->status;
	status = input_read_file(path, format ? format : "text", MOST_BYTES, &text, err);
	if (status == STATUS_OK && format)
		status = import_text(result, format, path, text.data ? text.data : "", text.length,
				     options, err);
	else if (status == STATUS_OK)
		status = read_any(result, path, text.data ? text.data : "", text.length, options,
				  err);
	text_release(&text);
	return status;
}
