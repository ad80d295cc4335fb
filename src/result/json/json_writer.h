/*
 * Writes JSON text value by value. Output is deterministic: doubles in the shortest form that reads
 * back to the same number, NaN and infinities as null, ill-formed UTF-8 as U+FFFD, and '<' escaped
 * so that the text can be embedded in an HTML <script>.
 *
 *	struct json_writer w = { .expand = 4 };
 *	writer_open(&w, '{');
 *	writer_key(&w, "seconds");
 *	writer_real(&w, 1.5);
 *	writer_close(&w, '}');
 *	return writer_finish(&w);
 */
#ifndef GPUPROOF_RESULT_JSON_JSON_WRITER_H
#define GPUPROOF_RESULT_JSON_JSON_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

struct json_writer {
	int expand; /* number of outer levels with one member per line; 0: everything on one line */
	/* Receives the text in pieces while it is written; NULL: the whole text stays in memory. */
	void (*drain)(void *context, const char *bytes, size_t count);
	void *context;
	/* Private. */
	struct text out;
	int depth, inline_depth;
	bool inline_next;
	bool inside, after_key; /* a value was written at this level; a key expects its value */
};

void writer_open(struct json_writer *w, char bracket);        /* '{' or '[' */
void writer_open_inline(struct json_writer *w, char bracket); /* its contents stay on one line */
/* the next object or array stays on one line */
void writer_inline_next(struct json_writer *w);
void writer_close(struct json_writer *w, char bracket); /* '}' or ']' */
void writer_key(struct json_writer *w, const char *name);
void writer_text(struct json_writer *w, const char *s); /* NULL is "" */
void writer_real(struct json_writer *w, double value);
void writer_signed(struct json_writer *w, int64_t value);
void writer_unsigned(struct json_writer *w, uint64_t value);
void writer_bool(struct json_writer *w, bool value);
void writer_nothing(struct json_writer *w); /* null */
/*
 * Returns the text that was not drained, with a final line break if expanded; the caller frees it.
 * The writer is empty again.
 */
char *writer_finish(struct json_writer *w);

/* Writes a key and its value, or the bracket that begins it. */
void writer_open_member(struct json_writer *w, const char *name, char bracket);
void writer_text_member(struct json_writer *w, const char *name, const char *text);
void writer_real_member(struct json_writer *w, const char *name, double value);
void writer_bool_member(struct json_writer *w, const char *name, bool value);
void writer_count_member(struct json_writer *w, const char *name, size_t value);

#endif
