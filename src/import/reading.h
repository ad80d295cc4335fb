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

/* The most bytes that a file has, also after it was expanded. */
#define IMPORT_MOST_BYTES ((size_t)1 << 30)
/* The most cases of one result: 0.7 (BabelStream) to 1.3 GB of memory (nccl-tests -J). */
#define IMPORT_MOST_CASES ((size_t)250000)
/* The most rows of a file, which may be samples of fewer cases: some 400 MB of memory. */
#define IMPORT_MOST_ROWS ((size_t)2000000)

struct import {
	struct result *result;
	struct error *err;
	const struct import_options *options;
	const struct import_format *format;
	const char *file, *text;
	size_t length;
	size_t lines_before; /* lines of the file before `text` */
	json_t *ids;         /* id: index, of the cases that import_merged() has seen */
	json_t *device_keys; /* what tells a device from others: its index */
	json_t *left_out;    /* names, in the order in which they were met */
	char **hosts;        /* of each device; "": unknown */
	size_t device_capacity;
	size_t unfinished; /* tests without all their figures */
	char *failure;     /* the first words of a launcher or the driver about a failure; NULL */
};

/* "file:line: message"; returns STATUS_USAGE. */
enum status import_error(struct import *import, size_t line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* "imported from <tool>" */
void import_tool(struct import *import, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Once; another value of the same fact is added to it. "" is no fact. */
void import_fact(struct import *import, const char *name, const char *value);
/* Names what has no counterpart here, once, in the fact IMPORT_LEFT_OUT. */
void import_left_out(struct import *import, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The result lacks figures that the tool was to give; `format`: why. */
void import_incomplete(struct import *import, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The run's start, unless an earlier call or an option gave it; a text that is no time is left. */
void import_started(struct import *import, const char *text);

struct import_device {
	const char *backend;     /* "cuda", "hip", "host" */
	int number;              /* on its host */
	const char *name, *host; /* NULL, "": unknown */
	const char *pci, *uuid, *serial;
};
/*
 * Index of the device in the result, added when it is new: host, number and PCI address or UUID
 * tell devices apart. Its id is that of its number, or the next free one. options->device replaces
 * the name.
 */
size_t import_device(struct import *import, const struct import_device *device);
/* The backend of a GPU of this name: "cuda" unless it is another vendor's. */
const char *import_backend(const char *name);
/* GPUs that a list in the text names, by their numbers. */
#define IMPORT_GPUS 256
struct import_gpu {
	char name[128], uuid[64], pci[32]; /* "": unknown */
};
size_t import_listed_gpu(struct import *import, const struct import_gpu *gpus, size_t number);

/*
 * A case on devices (indices, the first one is the case's): parameters and metrics are added to it,
 * import_named() gives it its id. `words` are its first parameters, names and values in turns up to
 * a NULL. Valid until the next one. NULL: there are too many, reported.
 */
struct case_result *import_case(struct import *import, size_t line, const char *suite,
				const size_t *devices, size_t count, const char *const *words);
#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL, NULL })
void import_word(struct case_result *c, const char *name, const char *word);
void import_bytes(struct case_result *c, const char *name, double bytes);
void import_number(struct case_result *c, const char *name, double number);
/*
 * The first metric is the headline. NaN is left out. A second value of a metric is a sample: the
 * metric is the median of all in the end.
 */
void import_metric(struct case_result *c, const char *name, const char *unit, enum better better,
		   double value);
/*
 * Gives the last case its id. Returns the earlier case with that id, the last one then being gone
 * again; else `c`.
 */
struct case_result *import_named(struct import *import, struct case_result *c);
void import_ended(struct case_result *c, enum case_status status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* A wrong result; one that never came to a result; one that was not tried. */
#define import_failed(c, ...) import_ended(c, CASE_FAILED, __VA_ARGS__)
#define import_broken(c, ...) import_ended(c, CASE_ERROR, __VA_ARGS__)
#define import_skipped(c, reason) import_ended(c, CASE_SKIPPED, "%s", reason)
/* Facts, statistics and states that need all cases. */
void import_finish(struct import *import);
void import_end(struct import *import);

/*
 * Rows of a table of line forms, the first that fits takes the line. Blanks of a pattern stand for
 * any blanks or none, '*' for any text up to the next character, and these for what is captured:
 * %d a whole number, %n a number, %w a word, %t text up to what follows, %r the rest of the line.
 */
struct import_line {
	struct import *import;
	void *state; /* of the format */
	size_t number;
	char **v; /* what was captured, texts that may be changed, NULL-terminated */
};
/*
 * Line form that becomes a fact, fills a member of the state, or is handed on; else it is noise. A
 * member is a text that takes the first capture, or a bool that becomes true.
 */
struct import_rule {
	const char *pattern;
	enum status (*take)(const struct import_line *l);
	const char *fact;
	size_t offset, bytes;
};
#define INTO(type, member) .offset = offsetof(type, member), .bytes = sizeof(((type *)0)->member)
/*
 * Reads the text line by line: ends of any kind, without colours, without the prefix of a launcher
 * ("[1,0]<stdout>:", "0: ", a time) that is found before a mark of the format. `rules` end with a
 * NULL pattern; lines that fit none are noise.
 */
enum status import_lines(struct import *import, const struct import_rule *rules, void *state);
size_t import_lines_between(const char *from, const char *to);
/* True if launchers, the shell or the driver report with this line that a program failed. */
bool import_is_failure(const char *line);
/* A copy of the text without the prefix that its JSON has in each line. */
void import_unprefixed(const struct import *import, struct text *out);

#define IMPORT_COLUMNS 48
/* The heading of a table: names of columns, in order. */
struct import_table {
	char heading[1024];
	char *names[IMPORT_COLUMNS];
	size_t count; /* 0: no heading yet */
};
void import_heading(struct import_table *table, const char *line, char separator);
/* Index of the column with that name, the `nth` of them from 0; -1: none. */
int import_column(const struct import_table *table, const char *name, int nth);
/*
 * Cuts `line` at separators (',', or ' ' for any white space) into at most `most` fields; quotes
 * hold commas.
 */
size_t import_fields(char *line, char separator, char **fields, size_t most);
/* The whole of `text` must be a number. */
bool import_real(const char *text, double *value);
/* Half a unit of the last digit of a number as text: 0.005 of "1.25". */
double import_half_digit(const char *text);

/* Reads the file as JSON, whose root goes to `read`; syntax errors name the line. */
enum status import_json(struct import *import,
			enum status (*read)(struct import *import, const json_t *root));
/* "file:line: path: message" */
enum status import_json_error(struct import *import, const struct json_path *path,
			      const char *format, ...) __attribute__((format(printf, 3, 4)));
/* A member of an object, of one of the types; NULL: reported. */
json_t *import_member(struct import *import, const json_t *object, const struct json_path *path,
		      const char *name, json_type type);
/* The error of a line of text, or of a place in JSON where `line` is 0. */
#define import_error_at(import, line, path, ...)              \
	((line) ? import_error((import), (line), __VA_ARGS__) \
		: import_json_error((import), (path), __VA_ARGS__))
/* The path of a member, of an element. */
#define AT(parent, name) (&(const struct json_path){ parent, name, 0 })
#define NTH(parent, index) (&(const struct json_path){ parent, NULL, index })
/* Hands on each element of a list with its path, up to the first error; no list has none. */
enum status import_each(struct import *import, const json_t *list, const struct json_path *path,
			enum status (*take)(struct import *import, void *state, const json_t *item,
					    const struct json_path *path),
			void *state);
/* A text that may be absent: "". */
const char *import_string(const json_t *object, const char *name);
/* A number that may be absent or none: NaN. Numbers as text are numbers. */
double import_figure(const json_t *value);

#endif
