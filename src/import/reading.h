/*
 * Internal interface for formats: builds the result, and reads lines, tables and JSON with
 * positions for messages.
 *
 * The first error is kept, and reading stops at the next line or element of a list. Functions of a
 * format return after an error, or continue where that does no harm: the result is thrown away.
 */
#ifndef GPUPROOF_IMPORT_READING_H
#define GPUPROOF_IMPORT_READING_H

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "import/import.h"

/* Largest file in bytes, also after expansion. */
#define IMPORT_MOST_BYTES ((size_t)1 << 30)
/* Most cases of one result: 0.7 GB (BabelStream) to 1.3 GB (nccl-tests -J) of memory. */
#define IMPORT_MOST_CASES ((size_t)250000)
/* Most rows of a file, because several rows may be samples of one case: about 400 MB of memory. */
#define IMPORT_MOST_ROWS ((size_t)2000000)
/* Most columns of a matrix and of a table, and GPUs that a text lists. */
#define IMPORT_FIELDS 1040
#define IMPORT_GPUS 256

struct import {
	struct result *result;
	struct error *err;
	const struct import_options *options;
	const struct import_format *format;
	const char *file, *text;
	size_t length;
	size_t lines_before; /* lines of the file before `text` */
	size_t line;         /* the line that is read, for messages; 0: none, line 1 is named */
	void *state;         /* of the format */
	char **v;            /* captured texts of the line, writable, NULL-terminated */
	/* Heading of a table: column names in order, and the fields of the row that is read. */
	char *heading;
	char *columns[IMPORT_FIELDS];
	char *fields[IMPORT_FIELDS];
	size_t column_count, field_count; /* no columns: no heading yet */
	/* GPUs listed in the text, by number; "": unknown */
	struct {
		char name[128], uuid[64], pci[32];
	} gpus[IMPORT_GPUS];
	const json_t *root;  /* of the document that is read */
	json_t *ids;         /* id: index, of the cases */
	json_t *device_keys; /* identity of a device: its index */
	json_t *left_out;    /* names, in the order of first use */
	char **hosts;        /* for each device; "": unknown */
	size_t device_capacity;
	size_t unfinished; /* number of incomplete tests */
	char *failure;     /* first failure message of a launcher or the driver; NULL */
};

/* "file:line: message", at the line that is read or another one. */
void building_error(struct import *import, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void building_error_at(struct import *import, size_t line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
bool building_stopped(const struct import *import); /* there is an error */

/* "imported from <tool>" */
void building_tool(struct import *import, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Adds a fact. A second, different value is appended. "" adds nothing. */
void building_fact(struct import *import, const char *name, const char *value);
/* Lists a quantity without a counterpart in gpuproof, once, in the fact IMPORT_LEFT_OUT. */
void building_left_out(struct import *import, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Marks the result as incomplete, with the reason. */
void building_incomplete(struct import *import, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Sets the start of the run, unless an earlier call or an option did. Ignores invalid times. */
void building_started(struct import *import, const char *text);

struct import_device {
	const char *backend;     /* "cuda", "hip", "host"; NULL: by the name of the GPU */
	int number;              /* on its host */
	const char *name, *host; /* NULL, "": unknown */
	const char *pci, *uuid, *serial;
};
/*
 * Index of the device in the result; a new device is added. Host, number and PCI address or UUID
 * identify a device. Its id has its number, or the next free one. options->device replaces the
 * name.
 */
size_t building_device(struct import *import, const struct import_device *device);
/* The same for a GPU by its number in import->gpus. */
size_t building_gpu(struct import *import, size_t number);

/* A parameter of a case: a word, or a number in a base unit. NULL and NaN leave it out. */
struct import_parameter {
	const char *name, *word;
	double number;
	const char *unit; /* of a number */
};
#define WORD(name_, word_)                                              \
	{                                                               \
		.name = (name_), .word = (word_), .number = (double)NAN \
	}
#define BYTES(name_, bytes_)                                     \
	{                                                        \
		.name = (name_), .number = (bytes_), .unit = "B" \
	}
#define NUMBER(name_, number_)                                    \
	{                                                         \
		.name = (name_), .number = (number_), .unit = "1" \
	}
#define PARAMETERS(...) ((const struct import_parameter[]){ __VA_ARGS__, { 0 } })
/*
 * The case on devices (indices; the first one is the case's device) with these parameters. The
 * first call with them adds it, later calls return it again. Valid until the next call. Too many
 * cases are an error.
 */
struct case_result *building_case(struct import *import, const char *suite, const size_t *devices,
				  size_t count, const struct import_parameter *parameters);
/*
 * Adds a metric; the first one is the headline. Lower is better for "s", higher for a unit per
 * second. Ignores NaN. Repeated values of a metric are samples, and their median becomes the
 * metric.
 */
void building_metric(struct case_result *c, const char *name, const char *unit, double value);
void building_note(struct case_result *c, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void building_ended(struct case_result *c, enum case_status status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* A wrong result, a case without a result, and a case that was not tried. */
#define import_failed(c, ...) building_ended(c, CASE_FAILED, __VA_ARGS__)
#define import_broken(c, ...) building_ended(c, CASE_ERROR, __VA_ARGS__)
#define import_skipped(c, reason) building_ended(c, CASE_SKIPPED, "%s", reason)
/* Completes the result after all cases: facts, statistics and states. */
void building_finish(struct import *import);
void building_end(struct import *import);

/*
 * Patterns of lines; the first that matches takes the line. A blank matches any number of blanks,
 * also none. '*' matches any text up to the next character. Captures: %d a whole number, %n a
 * number, %w a word, %t text up to the next literal, %r the rest of the line.
 *
 * A matching line becomes a fact, sets a member of the state, or is passed to take(). A text member
 * receives the first capture; a bool member becomes true. Lines that match no rule are ignored.
 */
struct import_rule {
	const char *pattern;
	void (*take)(struct import *import);
	const char *fact;
	size_t offset, bytes;
};
#define INTO(type, member) .offset = offsetof(type, member), .bytes = sizeof(((type *)0)->member)
/*
 * Reads the text line by line, with any line ends. Removes colours and a launcher's prefix
 * ("[1,0]<stdout>:", "0: ", a time) that precedes a mark of the format. `rules` end with a NULL
 * pattern. Ignores lines that match no rule.
 */
void import_lines(struct import *import, const struct import_rule *rules);
size_t import_lines_between(const char *from, const char *to);
/* For a rule: a GPU's number, name and UUID become its place in import->gpus. */
void lines_take_gpu(struct import *import);
/* True if the line is a launcher's, shell's or driver's report that a program failed. */
bool lines_is_failure(const char *line);
/* Copies the text without the prefix on each line of its JSON. */
void lines_unprefixed(const struct import *import, struct text *out);

/* Finds the first of these words that the text contains; NULL: it contains none. */
#define lines_find_any(text, ...) lines_find_word(text, (const char *const[]){ __VA_ARGS__, NULL })
const char *lines_find_word(const char *text, const char *const *words);

/* Sets the columns of the table; IMPORT_FIELDS or more are an error. */
void lines_heading(struct import *import, const char *line, char separator);
/* Sets the fields of a row, at most `most` and IMPORT_FIELDS, in `line`; returns their number. */
size_t lines_row(struct import *import, char *line, char separator, size_t most);
/* Index of the `nth` column (from 0) with this name; -1 if none. */
int lines_column(const struct import *import, const char *name, int nth);
/* The field of that column; "" if there is none. */
char *lines_cell(const struct import *import, const char *name, int nth);
/* Parses `text` as a number; false if anything follows the number. */
bool lines_real(const char *text, double *value);
/* The same; a text that is not a number is an error: "expected <what>, not 'abc'". */
double lines_number(struct import *import, const char *text, const char *what);
/* Half a unit of the last digit of a number as text: 0.005 of "1.25". */
double lines_half_digit(const char *text);

/* Parses the file as JSON and passes its root to the format. Syntax errors name the line. */
void import_json(struct import *import);
/* "file:line: path: message" at `value`, at its member `name`, or at the element of a list. */
void import_json_error(struct import *import, const json_t *value, const char *name,
		       const char *format, ...) __attribute__((format(printf, 4, 5)));
void import_json_item_error(struct import *import, const json_t *list, size_t index,
			    const char *format, ...) __attribute__((format(printf, 4, 5)));
/* A member of an object with the given type; NULL: missing or another type, reported. */
const json_t *import_json_member(struct import *import, const json_t *object, const char *name,
				 json_type type);
/* Calls take() for each object of a list, up to the first error. A missing list has no elements. */
void import_json_each(struct import *import, const json_t *list,
		      void (*take)(struct import *import, const json_t *item));
/* A string member; "" if missing. */
const char *import_json_string(const json_t *object, const char *name);
/* A number, or a string that contains one; NaN if missing or not a number. */
double import_json_figure(const json_t *value);
/* That of a member; a number below 0 is an error. */
double import_json_amount(struct import *import, const json_t *object, const char *name);

#endif
