#include "export/escape.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define REPLACEMENT "\xEF\xBF\xBD"

char *escape_plain(const char *s, bool lines, size_t longest)
{
	struct text out = TEXT_EMPTY;
	size_t length = s ? strlen(s) : 0, done = 0;

	for (size_t characters = 0; done < length && characters < longest; characters++) {
		const char *at = s + done;
		size_t n = text_utf8_sequence(at, length - done);

		if (*at == '\n' || *at == '\t')
			text_add_char(&out, (char)(lines ? *at : ' '));
		else if (!n || text_is_harmful(at, n))
			text_add(&out, REPLACEMENT);
		else
			text_add_bytes(&out, at, n);
		done += n ? n : 1;
	}
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

void escape_csv(struct text *out, const char *s)
{
	/* The last four are the full-width forms, which some spreadsheets accept as well. */
	static const char *const formulas[] = { "=",  "+",  "-",  "@",  "\t",
						"\n", "＝", "＋", "－", "＠" };
	char *plain = escape_plain(s, true, ESCAPE_ALL);
	bool formula = false;

	for (size_t i = 0; i < sizeof(formulas) / sizeof(*formulas); i++)
		formula = formula || text_starts_with(plain, formulas[i]);
	text_add(out, formula ? "\"'" : "\"");
	for (const char *p = plain; *p; p++) {
		if (*p == '"')
			text_add_char(out, '"');
		text_add_char(out, *p);
	}
	text_add_char(out, '"');
	free(plain);
}

void escape_markdown(struct text *out, const char *s, size_t longest)
{
	char *plain = escape_plain(s, false, longest), *fence;
	size_t ticks = 1, run = 0;

	if (!plain[strspn(plain, " ")]) {
		text_add(out, "–");
		free(plain);
		return;
	}
	/* The fence is longer than any run of ticks within it. */
	for (const char *p = plain; *p; p++) {
		run = *p == '`' ? run + 1 : 0;
		ticks = run >= ticks ? run + 1 : ticks;
	}
	fence = xmalloc(ticks + 1);
	memset(fence, '`', ticks);
	fence[ticks] = '\0';
	text_addf(out, "%s%s", fence, ticks > 1 ? " " : "");
	for (const char *p = plain; *p; p++) {
		/* A table is split into cells before code spans are parsed. */
		if (*p == '|')
			text_add_char(out, '\\');
		text_add_char(out, *p);
	}
	text_addf(out, "%s%s", ticks > 1 ? " " : "", fence);
	free(fence);
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
