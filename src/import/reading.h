/*
 * For the formats: building the result, and reading lines, tables and JSON with places for
 * messages.
 */
#ifndef GPUPROOF_IMPORT_READING_H
#define GPUPROOF_IMPORT_READING_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "import/import.h"
#include "result/json/json_fields.h"

struct import {
	struct result *result;
	struct error *err;
	const struct import_options *options;
	const char *file, *text;
	size_t length;
	json_t *ids; /* id: index, of the cases that import_earlier() has seen */
};

/* "file:line: message"; returns STATUS_USAGE. */
enum status import_error(struct import *import, size_t line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* "imported: <tool>" */
void import_tool(struct import *import, const char *tool);
void import_fact(struct import *import, const char *name, const char *value);
/* Names what has no counterpart here, once, in the fact IMPORT_LEFT_OUT. */
void import_left_out(struct import *import, const char *what);

/*
 * The device with number `index`, added when it is new, and its id ("cuda:0", "host:0").
 * options->device replaces `name`.
 */
const char *import_device(struct import *import, const char *backend, int index, const char *name);

/*
 * A case on devices (ids, the first one is the case's): parameters and metrics are added to it,
 * import_named() gives it its id. Valid until the next one.
 */
struct case_result *import_case(struct import *import, const char *suite,
				const char *const *devices, size_t count);
void import_word(struct case_result *c, const char *name, const char *word);
void import_bytes(struct case_result *c, const char *name, double bytes);
void import_number(struct case_result *c, const char *name, double number, const char *text);
/* The first metric is the headline. NaN is left out. */
void import_metric(struct case_result *c, const char *name, const char *unit, enum better better,
		   double value);
void import_named(struct case_result *c);
/* An earlier case with the id of `c`, the last case; NULL: none, and `c` is remembered. */
struct case_result *import_earlier(struct import *import, const struct case_result *c);
/* An earlier case of the same id, `c` then being gone again; else `c`. */
struct case_result *import_merged(struct import *import, struct case_result *c);
/* A wrong result; one that never came to a result. */
void import_failed(struct case_result *c, const char *reason);
void import_broken(struct case_result *c, const char *reason);

/* One line after the other, without its end. */
struct import_lines {
	const char *at, *end;
	size_t number;
	char *line; /* the caller changes it as it likes */
};
struct import_lines import_lines(const struct import *import);
bool import_next(struct import_lines *lines);
void import_lines_end(struct import_lines *lines);

/*
 * Cuts `line` at separators (',', or ' ' for any white space) into at most `most` fields; quotes
 * hold commas.
 */
size_t import_fields(char *line, char separator, char **fields, size_t most);
/* The whole of `text` must be a number. */
bool import_real(const char *text, double *value);

/* Reads the file as JSON, whose root goes to `read`; syntax errors name the line. */
enum status import_json(struct import *import,
			enum status (*read)(struct import *import, const json_t *root));
/* "file:line: path: message" */
enum status import_json_error(struct import *import, const struct json_path *path,
			      const char *format, ...) __attribute__((format(printf, 3, 4)));
/* A member of an object, of one of the types; NULL: reported. */
json_t *import_member(struct import *import, const json_t *object, const struct json_path *path,
		      const char *name, json_type type);
/* A text that may be absent: "". */
const char *import_string(const json_t *object, const char *name);

#endif
