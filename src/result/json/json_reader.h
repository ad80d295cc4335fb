/*
 * Reads JSON text value by value, without a tree in memory. Accepts what RFC 8259 allows, except
 * NUL characters, unpaired surrogates, numbers beyond a double and nesting beyond 64 levels. The
 * first error sets `err` to STATUS_USAGE with line and column; the reader is then not used further.
 *
 *	json_reader_take(r, '{');
 *	for (size_t i = 0; json_reader_member(r, i); i++)  // the name is in r->string
 *	json_reader_take(r, '[');
 *	for (size_t i = 0; json_reader_element(r, i); i++)
 *	if (r->err->status != STATUS_OK) ...
 */
#ifndef GPUPROOF_RESULT_JSON_JSON_READER_H
#define GPUPROOF_RESULT_JSON_JSON_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

struct json_reader {
	const char *text, *at, *end; /* the document, and the remaining part of it */
	struct error *err;
	bool share;         /* rows with `.shared` share their strings (base/memory.h) */
	struct text string; /* the string that was read last, without escapes */
};

struct json_number {
	double value;
	int64_t integer; /* if `whole`: written as an integer of 64 bits */
	bool whole;
};

/* First character of the next value or bracket; NUL at the end of the text. */
char json_reader_peek(struct json_reader *r);
/* Skips that character if it is the next one. */
bool json_reader_take(struct json_reader *r, char wanted);
/* Skips null if it is next. */
bool json_reader_take_null(struct json_reader *r);
/* True if element or member `index` follows, counted by the loop. False at the end or on error. */
bool json_reader_element(struct json_reader *r, size_t index);
bool json_reader_member(struct json_reader *r, size_t index);
/*
 * As json_reader_member() if the member has this name, which is then not copied to r->string. False
 * if it has another one, or at the end or on error: json_reader_member() with the same index tells
 * which.
 */
bool json_reader_member_named(struct json_reader *r, size_t index, const char *name);
/* Reads the string, number or boolean that json_reader_peek() has found. */
enum status json_reader_string(struct json_reader *r);
enum status json_reader_number(struct json_reader *r, struct json_number *number);
enum status json_reader_bool(struct json_reader *r, bool *value);
/* Skips a value of any type, and checks it. */
enum status json_reader_skip(struct json_reader *r);
/* Checks that the document ends here. */
enum status json_reader_finish(struct json_reader *r);
/* True if a value of that type is next. */
bool json_reader_at_number(struct json_reader *r);
bool json_reader_at_bool(struct json_reader *r);

#endif
