/*
 * INI text as a stream of sections and entries with their lines.
 *
 * Dialect: `key = value` (or `key: value`). A `;` or `#` starts a comment line, ` ;` a comment
 * after a value. Indentation has no meaning. UTF-8 with or without BOM; LF or CRLF; the last line
 * may lack its end.
 */
#ifndef GPUPROOF_PLAN_INI_INI_H
#define GPUPROOF_PLAN_INI_INI_H

#include <stddef.h>

/* Maximum length of a line in bytes: far above any legitimate list. */
#define INI_LINE_MAX 262144
/* Maximum length of a section name in bytes. */
#define INI_SECTION_MAX 49

/* Callbacks in the order of the text; strings are valid during the call only. */
struct ini_sink {
	void *context;
	void (*section)(void *context, size_t line, const char *name);
	void (*entry)(void *context, size_t line, const char *key, const char *value);
	/*
	 * Entries after an invalid section header are dropped silently, because the header is the
	 * error.
	 */
	void (*problem)(void *context, size_t line, const char *message);
};

void ini_read(const char *text, size_t length, const struct ini_sink *sink);

#endif
