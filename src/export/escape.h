/*
 * Text from outside, made harmless for a format. Common to all: what is not UTF-8, control
 * characters and the marks that turn the direction of writing become U+FFFD; what is longer than
 * `longest` characters is cut, and says so. NULL is "".
 */
#ifndef GPUPROOF_EXPORT_ESCAPE_H
#define GPUPROOF_EXPORT_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

#define ESCAPE_ALL ((size_t)-1) /* never cut */

/* Line breaks and tabs stay when `lines`, else they become blanks. The caller frees it. */
char *escape_plain(const char *s, bool lines, size_t longest);

/* Content of an element, and of an attribute in double quotes. */
void escape_xml(struct text *out, const char *s, size_t longest);
void escape_xml_attribute(struct text *out, const char *s, size_t longest);

/* A field in quotes. What a spreadsheet would take for a formula gets an apostrophe before it. */
void escape_csv(struct text *out, const char *s);

/* A code span in a cell of a table: nothing in it is markup, a link or a mention. "–" for "". */
void escape_markdown(struct text *out, const char *s, size_t longest);

/* The value of a label, without its quotes. */
void escape_prometheus(struct text *out, const char *s);
/* Inside a HELP line, where a quote is only a quote. */
void escape_prometheus_help(struct text *out, const char *s);

/* The shortest decimal that reads back as `value`; "" for NaN and infinities. */
void export_add_number(struct text *out, double value);

#endif
