/*
 * The one door to inih: INI text as a stream of sections and entries with exact line numbers.
 *
 * The reader adds what inih (tried: 53, 55, 58, 62) does not report: the line
 * number; a section without keys; a section name cut at 49 bytes; a section without its ']'; a line
 * that is neither a section nor an entry, beyond the first. inih's line buffer holds 199 bytes: a
 * longer entry is handed to it in pieces, as continuation lines, and put together again, so long
 * lists work.
 *
 * The dialect: `key = value` (or `key: value`), `;` or `#` start a comment line, ` ;` a comment
 * after a value. Indentation means nothing. UTF-8, with or without BOM; LF or CRLF; a last line may
 * lack its end.
 */
#ifndef GPUPROOF_PLAN_INI_INI_H
#define GPUPROOF_PLAN_INI_INI_H

#include <stddef.h>

/* Longest line, in bytes: far beyond the longest legitimate list. */
#define INI_LINE_MAX 262144
/* Longest section name, in bytes: what inih keeps of it. */
#define INI_SECTION_MAX 49

/* Called in the order of the text; strings are valid during the call only. */
struct ini_sink {
	void *context;
	void (*section)(void *context, size_t line, const char *name);
	void (*entry)(void *context, size_t line, const char *key, const char *value);
	/* Entries after a broken section header are dropped silently: the header is the error. */
	void (*problem)(void *context, size_t line, const char *message);
};

void ini_read(const char *text, size_t length, const struct ini_sink *sink);

#endif
