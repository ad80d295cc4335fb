#include "result/json/json_writer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Size of a piece that is drained, between elements of the outer levels. */
#define DRAIN_BYTES ((size_t)1 << 20)
#define DRAIN_LEVELS 2

static void json_writer_line_break(struct json_writer *w)
{
	text_add_char(&w->out, '\n');
	for (int i = 0; i < w->depth; i++)
		text_add_char(&w->out, ' ');
}

static bool writer_is_expanded(const struct json_writer *w)
{
	return w->depth > 0 && w->depth <= w->expand && !w->inline_depth;
}

/* Writes the separator before a value or a key: comma and line break if needed. */
static void writer_separate(struct json_writer *w)
{
	if (w->after_key) {
		w->after_key = false;
		return;
	}
	if (w->inside)
		text_add_char(&w->out, ',');
	if (writer_is_expanded(w))
		json_writer_line_break(w);
	else if (w->inside && w->expand)
		text_add_char(&w->out, ' ');
	w->inside = true;
}

void writer_open(struct json_writer *w, char bracket)
{
	writer_separate(w);
	text_add_char(&w->out, bracket);
	w->depth++;
	w->inside = false;
	if (w->inline_next && !w->inline_depth)
		w->inline_depth = w->depth;
	w->inline_next = false;
}

void writer_inline_next(struct json_writer *w)
{
	w->inline_next = true;
}

void writer_open_inline(struct json_writer *w, char bracket)
{
	writer_inline_next(w);
	writer_open(w, bracket);
}

void writer_close(struct json_writer *w, char bracket)
{
	bool break_line = w->inside && writer_is_expanded(w);

	if (w->inline_depth == w->depth)
		w->inline_depth = 0;
	w->depth--;
	if (break_line)
		json_writer_line_break(w);
	text_add_char(&w->out, bracket);
	w->inside = true;
	if (w->drain && w->depth <= DRAIN_LEVELS && w->out.length >= DRAIN_BYTES) {
		w->drain(w->context, w->out.data, w->out.length);
		text_reset(&w->out);
	}
}

static void json_writer_add_string(struct text *out, const char *s)
{
	static const char short_forms[] = {
		['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'
	};
	size_t left = strlen(s);

	text_add_char(out, '"');
	while (left) {
		unsigned char c = (unsigned char)*s;
		size_t n = 0;

		while (n < left && s[n] >= 0x20 && s[n] < 0x7f && s[n] != '"' && s[n] != '\\' &&
		       s[n] != '<')
			n++;
		if (n) {
			text_add_bytes(out, s, n);
		} else if ((n = text_utf8_sequence(s, left)) == 0) {
			text_add(out, "\xEF\xBF\xBD");
			n = 1;
		} else if (n == 1 && (c == '"' || c == '\\')) {
			text_addf(out, "\\%c", c);
		} else if (n == 1 && c < sizeof(short_forms) && short_forms[c]) {
			text_addf(out, "\\%c", short_forms[c]);
		} else if (n == 1) {
			text_addf(out, "\\u%04x", c);
		} else {
			text_add_bytes(out, s, n);
		}
		s += n;
		left -= n;
	}
	text_add_char(out, '"');
}

void writer_key(struct json_writer *w, const char *name)
{
	writer_separate(w);
	json_writer_add_string(&w->out, name ? name : "");
	text_add(&w->out, w->expand ? ": " : ":");
	w->after_key = true;
}

void writer_text(struct json_writer *w, const char *s)
{
	writer_separate(w);
	json_writer_add_string(&w->out, s ? s : "");
}

/* The decimal separator is always a point, because the program never calls setlocale(). */
void writer_real(struct json_writer *w, double value)
{
	char digits[32];

	if (!isfinite(value)) {
		writer_nothing(w);
		return;
	}
	for (int precision = 15; precision <= 17; precision++) {
		snprintf(digits, sizeof(digits), "%.*g", precision, value);
		if (strtod(digits, NULL) == value)
			break;
	}
	writer_separate(w);
	text_add(&w->out, digits);
	/* "-0" would read back as the integer 0. */
	if (value == 0 && signbit(value))
		text_add(&w->out, ".0");
}

void writer_signed(struct json_writer *w, int64_t value)
{
	writer_separate(w);
	text_addf(&w->out, "%" PRId64, value);
}

void writer_unsigned(struct json_writer *w, uint64_t value)
{
	writer_separate(w);
	text_addf(&w->out, "%" PRIu64, value);
}

void writer_bool(struct json_writer *w, bool value)
{
	writer_separate(w);
	text_add(&w->out, value ? "true" : "false");
}

void writer_nothing(struct json_writer *w)
{
	writer_separate(w);
	text_add(&w->out, "null");
}

char *writer_finish(struct json_writer *w)
{
	char *text;

	if (w->expand)
		text_add_char(&w->out, '\n');
	text = text_detach(&w->out);
	*w = (struct json_writer){ .expand = w->expand };
	return text;
}

void writer_open_member(struct json_writer *w, const char *name, char bracket)
{
	writer_key(w, name);
	writer_open(w, bracket);
}

void writer_text_member(struct json_writer *w, const char *name, const char *text)
{
	writer_key(w, name);
	writer_text(w, text);
}

void writer_real_member(struct json_writer *w, const char *name, double value)
{
	writer_key(w, name);
	writer_real(w, value);
}

void writer_bool_member(struct json_writer *w, const char *name, bool value)
{
	writer_key(w, name);
	writer_bool(w, value);
}

void writer_count_member(struct json_writer *w, const char *name, size_t value)
{
	writer_key(w, name);
	writer_unsigned(w, value);
}
