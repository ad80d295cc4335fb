#include "plan/ini/ini.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

struct ini_reader {
	const struct ini_sink *sink;
	size_t number; /* of the line, from 1 */
	bool skip;     /* drops entries after an invalid header */
};

static void ini_problem(const struct ini_reader *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void ini_problem(const struct ini_reader *r, const char *format, ...)
{
	char message[256];
	va_list ap;

	va_start(ap, format);
	vsnprintf(message, sizeof(message), format, ap);
	va_end(ap);
	r->sink->problem(r->sink->context, r->number, message);
}

/* Start of a trailing comment: a ';' after a blank; else the end of the line. */
static const char *ini_comment_or_end(const char *line)
{
	const char *p = line;

	while (*p && !(*p == ';' && p > line && (p[-1] == ' ' || p[-1] == '\t')))
		p++;
	return p;
}

/* False: reported. */
static bool ini_bytes_fit(const struct ini_reader *r, const char *line, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)line[i];

		if (c == '\0')
			ini_problem(r, "NUL byte in column %zu; not a text file", i + 1);
		else if ((c < 0x20 && c != '\t') || c == 0x7f)
			ini_problem(r, "control character 0x%02x in column %zu", c, i + 1);
		else
			continue;
		return false;
	}
	if (text_is_utf8(line, length))
		return true;
	ini_problem(r, "the line is not UTF-8 text");
	return false;
}

static void ini_read_header(struct ini_reader *r, char *line)
{
	char *close = strchr(line, ']');
	const char *rest;

	if (!close || ini_comment_or_end(line) < close) {
		ini_problem(r, "missing ']' after the section name: '%.60s'", line);
		return;
	}
	if (close - line - 1 > INI_SECTION_MAX) {
		ini_problem(r, "the section name has %d bytes; at most %d are allowed",
			    (int)(close - line - 1), INI_SECTION_MAX);
		return;
	}
	rest = close + 1 + strspn(close + 1, " \t");
	if (*rest && *rest != ';' && *rest != '#') {
		ini_problem(r, "text after ']': '%.60s'", rest);
		return;
	}
	r->skip = false;
	*close = '\0';
	r->sink->section(r->sink->context, r->number, line + 1);
}

static void ini_read_entry(const struct ini_reader *r, const char *line)
{
	const char *end = ini_comment_or_end(line), *separator = line + strcspn(line, "=:");
	char *key, *value;

	if (separator >= end) {
		ini_problem(r, "'%.60s' is neither a [section] nor key = value", line);
		return;
	}
	key = text_trimmed(line, (size_t)(separator - line));
	value = text_trimmed(separator + 1, (size_t)(end - separator) - 1);
	r->sink->entry(r->sink->context, r->number, key, value);
	free(key);
	free(value);
}

static void ini_read_line(struct ini_reader *r, const char *text, size_t length)
{
	bool sound = length <= INI_LINE_MAX;
	char *line;

	r->number++;
	if (!sound) {
		ini_problem(r, "the line has %zu bytes; at most %d are allowed", length,
			    INI_LINE_MAX);
		length = INI_LINE_MAX;
	}
	while (length && text[length - 1] == '\r')
		length--;
	sound = sound && ini_bytes_fit(r, text, length);
	line = text_trimmed(text, length);
	if (*line == '[') {
		r->skip = true; /* until it is known to be valid */
		if (sound)
			ini_read_header(r, line);
	} else if (sound && !r->skip && *line && !strchr(";#", *line)) {
		ini_read_entry(r, line);
	}
	free(line);
}

void ini_read(const char *text, size_t length, const struct ini_sink *sink)
{
	static const char bom[] = "\xEF\xBB\xBF";
	struct ini_reader r = { .sink = sink };
	const char *end = text + length;

	if (length >= 3 && memcmp(text, bom, 3) == 0)
		text += 3;
	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const char *stop = newline ? newline : end;

		ini_read_line(&r, text, (size_t)(stop - text));
		text = newline ? newline + 1 : end;
	}
}
