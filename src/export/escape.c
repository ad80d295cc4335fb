#include "export/escape.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPLACEMENT "\xEF\xBF\xBD"

/* Appends the next character of `s`; returns its length. */
static size_t escape_add_plain(struct text *out, const char *s, size_t left, bool lines)
{
	size_t n = text_utf8_sequence(s, left);

	if (*s == '\n' || *s == '\t')
		text_add_char(out, (char)(lines ? *s : ' '));
	else if (!n || text_is_harmful(s, n))
		text_add(out, REPLACEMENT);
	else
		text_add_bytes(out, s, n);
	return n ? n : 1;
}

char *escape_plain(const char *s, bool lines, size_t longest)
{
	struct text out = TEXT_EMPTY;
	size_t length = s ? strlen(s) : 0, done = 0;

	for (size_t characters = 0; done < length && characters < longest; characters++)
		done += escape_add_plain(&out, s + done, length - done, lines);
	if (done < length)
		text_addf(&out, "… (%zu bytes)", length);
	return text_detach(&out);
}

static void escape_add_xml(struct text *out, const char *s, size_t longest, bool attribute)
{
	char *plain = escape_plain(s, true, longest);

	for (const char *p = plain; *p; p++)
		switch (*p) {
		case '&':
			text_add(out, "&amp;");
			break;
		case '<':
			text_add(out, "&lt;");
			break;
		case '>':
			text_add(out, "&gt;");
			break;
		case '"':
			text_add(out, "&quot;");
			break;
		case '\n':
		case '\t':
			/* Parsers replace them by blanks in attributes. */
			if (attribute) {
				text_addf(out, "&#%d;", *p);
				break;
			}
			/* fall through */
		default:
			text_add_char(out, *p);
		}
	free(plain);
}

void escape_xml(struct text *out, const char *s, size_t longest)
{
	escape_add_xml(out, s, longest, false);
}

void escape_xml_attribute(struct text *out, const char *s, size_t longest)
{
	escape_add_xml(out, s, longest, true);
}

static bool escape_looks_like_formula(const char *s)
{
	/* The last four are the full-width forms, which some spreadsheets accept as well. */
	static const char *const starts[] = {
		"=", "+", "-", "@", "\t", "\n", "＝", "＋", "－", "＠"
	};

	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		if (text_starts_with(s, starts[i]))
			return true;
	return false;
}

void escape_csv(struct text *out, const char *s)
{
	char *plain = escape_plain(s, true, ESCAPE_ALL);

	text_add_char(out, '"');
	if (escape_looks_like_formula(plain))
		text_add_char(out, '\'');
	for (const char *p = plain; *p; p++) {
		if (*p == '"')
			text_add_char(out, '"');
		text_add_char(out, *p);
	}
	text_add_char(out, '"');
	free(plain);
}

static size_t escape_longest_run(const char *s, char c)
{
	size_t longest = 0, run = 0;

	for (; *s; s++) {
		run = *s == c ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

static void escape_add_fence(struct text *out, size_t ticks)
{
	while (ticks--)
		text_add_char(out, '`');
}

void escape_markdown(struct text *out, const char *s, size_t longest)
{
	char *plain = escape_plain(s, false, longest);
	size_t ticks = escape_longest_run(plain, '`') + 1;

	if (!plain[strspn(plain, " ")]) {
		text_add(out, "–");
		free(plain);
		return;
	}
	escape_add_fence(out, ticks);
	text_add(out, ticks > 1 ? " " : "");
	for (const char *p = plain; *p; p++) {
		/* A table is split into cells before code spans are parsed. */
		if (*p == '|')
			text_add_char(out, '\\');
		text_add_char(out, *p);
	}
	text_add(out, ticks > 1 ? " " : "");
	escape_add_fence(out, ticks);
	free(plain);
}

/* `special`: characters that need a backslash. */
static void escape_add_prometheus(struct text *out, const char *s, const char *special)
{
	char *plain = escape_plain(s, true, ESCAPE_ALL);

	for (const char *p = plain; *p; p++) {
		if (strchr(special, *p))
			text_add_char(out, '\\');
		if (*p == '\n')
			text_add(out, "\\n");
		else
			text_add_char(out, *p);
	}
	free(plain);
}

void escape_prometheus(struct text *out, const char *s)
{
	escape_add_prometheus(out, s, "\\\"");
}

void escape_prometheus_help(struct text *out, const char *s)
{
	escape_add_prometheus(out, s, "\\");
}

void escape_add_number(struct text *out, double value)
{
	char digits[32];

	if (!isfinite(value))
		return;
	for (int precision = 15; precision <= 17; precision++) {
		snprintf(digits, sizeof(digits), "%.*g", precision, value);
		if (strtod(digits, NULL) == value)
			break;
	}
	text_add(out, digits);
}
