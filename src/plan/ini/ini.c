#include "plan/ini/ini.h"

#include <ini.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

enum line_kind { LINE_NONE, LINE_HEADER, LINE_ENTRY };

struct ini_reader {
	const struct ini_sink *sink;
	const char *at, *end; /* remaining text */
	size_t number;        /* number of `line`, from 1 */
	struct text line;     /* the line passed to inih */
	enum line_kind kind;
	size_t handed;    /* bytes of `line` that inih has received */
	unsigned pieces;  /* in how many pieces */
	unsigned answers; /* handler calls for them: one per piece */
	bool skip;        /* drops entries after an invalid header */
	char *key;        /* the current entry */
	struct text value;
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

static bool ini_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Start of a trailing comment: a ';' after a blank. NULL: none. */
static const char *trailing_comment(const char *s)
{
	for (const char *p = s; *p; p++)
		if (*p == ';' && p > s && ini_is_blank(p[-1]))
			return p;
	return NULL;
}

static void ini_trim_line(struct text *line)
{
	size_t start = 0, end = line->length;

	while (end > 0 && ini_is_blank(line->data[end - 1]))
		end--;
	while (start < end && ini_is_blank(line->data[start]))
		start++;
	if (end == line->length && start == 0)
		return;
	memmove(line->data, line->data + start, end - start);
	line->length = end - start;
	line->data[line->length] = '\0';
}

/* Copies the next physical line, without its end, to r->line. False at the end of the text. */
static bool ini_next_line(struct ini_reader *r, size_t *length)
{
	const char *newline;

	if (r->at == r->end)
		return false;
	newline = memchr(r->at, '\n', (size_t)(r->end - r->at));
	*length = (size_t)((newline ? newline : r->end) - r->at);
	text_reset(&r->line);
	text_add_bytes(&r->line, r->at, *length <= INI_LINE_MAX ? *length : 64);
	r->at += *length + (newline ? 1 : 0);
	r->number++;
	while (r->line.length && r->line.data[r->line.length - 1] == '\r')
		r->line.data[--r->line.length] = '\0';
	return true;
}

static bool ini_bytes_fit(const struct ini_reader *r, size_t length)
{
	const struct text *line = &r->line;

	if (length > INI_LINE_MAX) {
		ini_problem(r, "the line has %zu bytes; at most %d are allowed", length,
			    INI_LINE_MAX);
		return false;
	}
	for (size_t i = 0; i < line->length; i++) {
		unsigned char c = (unsigned char)line->data[i];

		if (c == '\0')
			ini_problem(r, "NUL byte in column %zu; not a text file", i + 1);
		else if ((c < 0x20 && c != '\t') || c == 0x7f)
			ini_problem(r, "control character 0x%02x in column %zu", c, i + 1);
		else
			continue;
		return false;
	}
	if (!text_is_utf8(line->data ? line->data : "", line->length)) {
		ini_problem(r, "the line is not UTF-8 text");
		return false;
	}
	return true;
}

/* Checks what inih would silently accept in a header. */
static bool header_fits(const struct ini_reader *r)
{
	const char *line = r->line.data;
	const char *close = strchr(line, ']');
	const char *comment = trailing_comment(line);
	const char *rest = close ? close + 1 : "";

	if (!close || (comment && comment < close)) {
		ini_problem(r, "missing ']' after the section name: '%.60s'", line);
		return false;
	}
	if (close - line - 1 > INI_SECTION_MAX) {
		ini_problem(r, "the section name has %d bytes; at most %d are allowed",
			    (int)(close - line - 1), INI_SECTION_MAX);
		return false;
	}
	while (ini_is_blank(*rest))
		rest++;
	if (*rest && *rest != ';' && *rest != '#') {
		ini_problem(r, "text after ']': '%.60s'", rest);
		return false;
	}
	return true;
}

/* Classifies the line in r->line and decides if inih gets it. */
static void ini_classify_line(struct ini_reader *r, size_t length)
{
	bool sound = ini_bytes_fit(r, length);
	bool header;

	ini_trim_line(&r->line);
	header = r->line.length && r->line.data[0] == '[';
	r->kind = LINE_NONE;
	r->handed = 0;
	r->pieces = 0;
	r->answers = 0;
	if (header)
		r->skip = true; /* until it is known to be valid */
	if (!sound || !r->line.length || strchr(";#", r->line.data[0]))
		return;
	if (header && !header_fits(r))
		return;
	if (header)
		r->skip = false;
	r->kind = header ? LINE_HEADER : LINE_ENTRY;
}

/*
 * inih would trim blanks at the ends of pieces and drop a piece that looks like a comment. In a
 * value passed in pieces, stand-ins that cannot occur in a line (bytes_fit) replace these bytes
 * until inih is done.
 */
static const char trimmed_bytes[] = " \t;#", stand_ins[] = "\x01\x02\x03\x04";

static void replace_bytes(char *s, const char *from, const char *to)
{
	for (; *s; s++) {
		const char *at = strchr(from, *s);

		if (at)
			*s = to[at - from];
	}
}

/* Prepares r->line, which is longer than a piece, to be cut anywhere after its '='. */
static void ini_prepare_pieces(struct ini_reader *r)
{
	const char *comment = trailing_comment(r->line.data);
	char *value;

	if (comment) {
		r->line.length = (size_t)(comment - r->line.data);
		r->line.data[r->line.length] = '\0';
		ini_trim_line(&r->line);
	}
	value = r->line.data + strcspn(r->line.data, "=:");
	if (!*value)
		return;
	value++;
	value += strspn(value, " \t");
	replace_bytes(value, trimmed_bytes, stand_ins);
}

/*
 * Passes the next piece of the line to inih; later pieces start with a blank, which makes them
 * continuation lines.
 */
static void hand_over(struct ini_reader *r, char *out, size_t size)
{
	size_t length, most = size - 3;

	if (r->handed == 0 && r->line.length > most)
		ini_prepare_pieces(r);
	length = r->line.length - r->handed < most ? r->line.length - r->handed : most;
	snprintf(out, size, "%s%.*s", r->handed ? " " : "", (int)length, r->line.data + r->handed);
	r->handed += length;
	r->pieces++;
}

/* Called when inih is done with the line: passes the entry on, or reports that inih ignored it. */
static void ini_finish_line(struct ini_reader *r)
{
	if (r->kind == LINE_ENTRY && !r->skip) {
		if (r->answers && r->answers == r->pieces)
			r->sink->entry(r->sink->context, r->number, r->key,
				       r->value.data ? r->value.data : "");
		else if (r->answers)
			ini_problem(r, "inih dropped part of the line; it was built without "
				       "continuation lines");
		else
			ini_problem(r, "'%.60s' is neither a [section] nor key = value",
				    r->line.data);
	}
	r->kind = LINE_NONE;
}

/* Line reader called by inih; see ini_reader. */
static char *ini_read_piece(char *out, int size, void *context)
{
	struct ini_reader *r = context;
	size_t length;

	if (r->kind == LINE_ENTRY && r->handed < r->line.length) {
		hand_over(r, out, (size_t)size);
		return out;
	}
	if (r->kind == LINE_HEADER && r->handed) {
		/* inih calls no handler for a section; an entry without a name triggers it. */
		r->handed = 0;
		return strcpy(out, "=");
	}
	do {
		ini_finish_line(r);
		if (!ini_next_line(r, &length))
			return NULL;
		ini_classify_line(r, length);
		if (r->kind == LINE_HEADER) {
			const char *close = strchr(r->line.data, ']');

			r->handed = (size_t)(close + 1 - r->line.data);
			snprintf(out, (size_t)size, "%.*s", (int)r->handed, r->line.data);
			return out;
		}
	} while (r->kind == LINE_NONE);
	hand_over(r, out, (size_t)size);
	return out;
}

/* See ini_handler. */
static int ini_take_entry(void *context, const char *section, const char *key, const char *value)
{
	struct ini_reader *r = context;
	size_t before;

	if (r->kind == LINE_HEADER) {
		r->kind = LINE_NONE;
		r->sink->section(r->sink->context, r->number, section);
		return 1;
	}
	/* inih appends a continuation of an invalid line to the previous entry; ignore it. */
	if (!value || r->answers + 1 != r->pieces)
		return 1;
	if (++r->answers == 1) {
		free(r->key);
		r->key = xstrdup(key);
		text_reset(&r->value);
	}
	before = r->value.length;
	text_add(&r->value, value);
	replace_bytes(r->value.data + before, stand_ins, trimmed_bytes);
	return 1;
}

void ini_read(const char *text, size_t length, const struct ini_sink *sink)
{
	static const char bom[] = "\xEF\xBB\xBF";
	struct ini_reader r = { .sink = sink, .at = text, .end = text + length };

	if (length >= 3 && memcmp(text, bom, 3) == 0)
		r.at += 3;
	/* The return code is only the first bad line; ini_finish_line() has reported each. */
	ini_parse_stream(ini_read_piece, &r, ini_take_entry, &r);
	free(r.key);
	text_release(&r.line);
	text_release(&r.value);
}
