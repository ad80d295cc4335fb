/*
 * Escapes untrusted text for each format. In all of them, invalid UTF-8, control characters and
 * bidirectional overrides become U+FFFD; text longer than `longest` characters is truncated with a
 * mark. NULL becomes "".
 */
#ifndef GPUPROOF_EXPORT_ESCAPE_H
#define GPUPROOF_EXPORT_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

#define ESCAPE_ALL ((size_t)-1) /* never cut */

/*
 * Keeps line breaks and tabs if `lines` is set, else replaces them by blanks. The caller frees it.
 */
char *escape_plain(const char *s, bool lines, size_t longest);

/* For the content of an element, and for an attribute in double quotes. */
void escape_xml(struct text *out, const char *s, size_t longest);
void escape_xml_attribute(struct text *out, const char *s, size_t longest);

/* A quoted field. An apostrophe precedes text that a spreadsheet would execute as a formula. */
void escape_csv(struct text *out, const char *s);

/* A code span in a table cell: nothing in it acts as markup, link or mention. "–" for "". */
void escape_markdown(struct text *out, const char *s, size_t longest);

/* Value of a label, without its quotes. */
void escape_prometheus(struct text *out, const char *s);
/* For a HELP line, where quotes need no escape. */
void escape_prometheus_help(struct text *out, const char *s);

/* The shortest decimal that reads back as `value`; "" for NaN and infinities. */
void escape_add_number(struct text *out, double value);

#endif
