#include "report/view/format.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"

#define NOTHING "\u2013"

/* "3.1×10⁻⁷" of "3.1e-07". */
static void format_power(const char *plain, char *out, size_t size)
{
	static const char *const digits[] = { "⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹" };
	const char *e = plain + strspn(plain, "-.0123456789");
	const char *p = e + 1;
	struct text t = TEXT_EMPTY;

	if (*e != 'e') { /* the end, or a unit */
		snprintf(out, size, "%s", plain);
		return;
	}
	if (e != plain + 1 || *plain != '1') {
		text_add_bytes(&t, plain, (size_t)(e - plain));
		text_add(&t, "×");
	}
	text_addf(&t, "10%s", *p == '-' ? "⁻" : "");
	p += *p == '-' || *p == '+';
	p += *p == '0' && p[1] != '\0' && isdigit((unsigned char)p[1]);
	for (; isdigit((unsigned char)*p); p++)
		text_add(&t, digits[*p - '0']);
	text_add(&t, p); /* a unit */
	snprintf(out, size, "%s", t.data);
	text_release(&t);
}

/* The minus sign of print; a hyphen is shorter, and ends a line. */
static char *with_minus(char *out, size_t size)
{
	static const char sign[] = "\u2212";
	size_t length = strlen(out);

	if (*out != '-' || length + sizeof(sign) - 1 > size)
		return out;
	memmove(out + sizeof(sign) - 1, out + 1, length);
	memcpy(out, sign, sizeof(sign) - 1);
	return out;
}

char *format_short(double value, double factor, char *out, size_t size)
{
	char plain[FORMAT_SIZE];

	snprintf(plain, sizeof(plain), "%.6g", value / factor + 0.0);
	format_power(plain, out, size);
	return with_minus(out, size);
}

char *format_power_of_ten(double value, char *out, size_t size)
{
	int exponent = (int)floor(log10(value) + 1e-9);
	char plain[FORMAT_SIZE];

	snprintf(plain, sizeof(plain), "%.6ge%d", value / pow(10, exponent), exponent);
	format_power(plain, out, size);
	return out;
}

char *format_count(double value, char *out, size_t size)
{
	char plain[32];
	size_t length, at = 0;

	snprintf(plain, sizeof(plain), "%.0f", fabs(value));
	length = strlen(plain);
	if (value < 0)
		out[at++] = '-';
	for (size_t i = 0; i < length && at + 2 < size; i++) {
		out[at++] = plain[i];
		if ((length - i) % 3 == 1 && i + 1 < length && length > 4)
			out[at++] = ',';
	}
	out[at] = '\0';
	return with_minus(out, size);
}

char *format_quantity(double value, const char *unit, char *out, size_t size)
{
	char plain[FORMAT_SIZE];
	const char *prefix, *micro;

	if (isnan(value)) {
		snprintf(out, size, NOTHING);
		return out;
	}
	if (strcmp(unit, "%") == 0) {
		/* Three digits: percent are parts of something, which has its own. */
		snprintf(out, size, "%.*f\u00a0%%",
			 value == 0            ? 0
			 : fabs(value) < 9.995 ? 2
			 : fabs(value) < 99.95 ? 1
					       : 0,
			 value);
		return with_minus(out, size);
	}
	if (strcmp(unit, "×") == 0)
		return format_ratio(value, out, size);
	if ((strcmp(unit, "samples") == 0 || strcmp(unit, "claims") == 0) &&
	    value == floor(value) && fabs(value) < 1e15) {
		format_count(value, plain, sizeof(plain));
		/* One has no plural. */
		snprintf(out, size, "%s %.*s", plain, (int)strlen(unit) - (value == 1), unit);
		return out;
	}
	units_si(value, unit, plain, sizeof(plain));
	units_prefix(value, unit, &prefix);
	micro = strcmp(prefix, "u") == 0 ? strchr(plain, 'u') : NULL;
	if (micro)
		snprintf(out, size, "%.*sµ%s", (int)(micro - plain), plain, micro + 1);
	else
		format_power(plain, out, size);
	return with_minus(out, size);
}

char *format_stated(double value, const char *unit, char *out, size_t size)
{
	char *point, *end, *last;

	format_quantity(value, unit, out, size);
	point = strchr(out, '.');
	if (!point)
		return out;
	end = point + 1 + strspn(point + 1, "0123456789");
	for (last = end; last[-1] == '0'; last--)
		;
	last -= last - 1 == point;
	memmove(last, end, strlen(end) + 1);
	return out;
}

char *format_value(const struct metric_value *m, const char *unit, bool percent, char *out,
		   size_t size)
{
	if (!m || !isfinite(m->value))
		return format_quantity(NAN, unit, out, size);
	if (percent)
		return format_quantity(100 * m->value, "%", out, size);
	/* A single reading that is whole is a count: it has no digits after the point. */
	if (strcmp(unit, "1") == 0 && !isfinite(m->low) && m->value == floor(m->value) &&
	    fabs(m->value) < 1e15) {
		return format_count(m->value, out, size);
	}
	return format_quantity(m->value, unit, out, size);
}

char *format_rounded(double value, const char *unit, char *out, size_t size)
{
	char digits[32], name[FORMAT_SIZE];
	double rounded, factor, shown;
	int leading;

	if (!isfinite(value))
		return format_quantity(value, unit, out, size);
	factor = format_unit(value, unit, name, sizeof(name));
	snprintf(digits, sizeof(digits), "%.2e", value / factor);
	rounded = strtod(digits, NULL) * factor;
	factor = format_unit(rounded, unit, name, sizeof(name));
	shown = rounded / factor;
	leading = shown == 0 ? 2 : (int)floor(log10(fabs(shown)) + 1e-9);
	snprintf(out, size, "%.*f %s", leading < 2 ? 2 - leading : 0, shown, name);
	return with_minus(out, size);
}

double format_unit(double value, const char *unit, char *out, size_t size)
{
	const char *prefix;
	double factor = units_prefix(value, unit, &prefix);

	snprintf(out, size, "%s%s", strcmp(prefix, "u") == 0 ? "µ" : prefix,
		 strcmp(unit, "1") == 0 ? "" : units_after_prefix(unit, factor));
	return factor;
}

char *format_scaled(double value, double factor, char *out, size_t size)
{
	double shown = value / factor;
	int leading, digits;

	if (isnan(value)) {
		snprintf(out, size, NOTHING);
		return out;
	}
	if (shown != 0 && (fabs(shown) < 1e-3 || fabs(shown) >= 1e7)) {
		char plain[FORMAT_SIZE];

		snprintf(plain, sizeof(plain), "%.3e", shown);
		format_power(plain, out, size);
		return with_minus(out, size);
	}
	leading = shown == 0 ? 0 : (int)floor(log10(fabs(shown)) + 1e-5);
	digits = shown == 0 || leading > 3 ? 0 : 3 - leading;
	snprintf(out, size, "%.*f", digits, shown);
	return with_minus(out, size);
}

char *format_interval(const struct metric_value *m, const char *unit, char *out, size_t size)
{
	char low[FORMAT_SIZE], high[FORMAT_SIZE];
	const char *prefix;
	double factor = units_prefix(m->value, unit, &prefix);

	if (!isfinite(m->low) || !isfinite(m->high))
		snprintf(out, size, "%s", "");
	else
		snprintf(out, size, "[%s, %s]", format_scaled(m->low, factor, low, sizeof(low)),
			 format_scaled(m->high, factor, high, sizeof(high)));
	return out;
}

char *format_percent(double ratio, char *out, size_t size)
{
	double percent = 100 * ratio;

	if (!isfinite(percent))
		snprintf(out, size, NOTHING);
	else
		snprintf(out, size, "%.*f\u00a0%%",
			 fabs(percent) < 1    ? 2
			 : fabs(percent) < 10 ? 1
					      : 0,
			 percent);
	return with_minus(out, size);
}

char *format_margin(double ratio, char *out, size_t size)
{
	if (!isfinite(ratio))
		snprintf(out, size, NOTHING);
	else
		snprintf(out, size, "%+.1f\u00a0%%", 100 * ratio);
	return with_minus(out, size);
}

char *format_spread(double value, double low, double high, char *out, size_t size)
{
	char percent[FORMAT_SIZE];
	double half = fmax(high - value, value - low);

	if (!isfinite(low) || !isfinite(high) || value == 0)
		snprintf(out, size, "%s", "");
	else
		snprintf(out, size, "±%s",
			 format_percent(half / fabs(value), percent, sizeof(percent)));
	return out;
}

char *format_ratio(double ratio, char *out, size_t size)
{
	char number[FORMAT_SIZE];

	if (!isfinite(ratio)) {
		snprintf(out, size, NOTHING);
		return out;
	}
	if (ratio >= 0.1 && ratio < 1e4)
		snprintf(number, sizeof(number), "%.*f",
			 ratio < 10    ? 2
			 : ratio < 100 ? 1
				       : 0,
			 ratio);
	else
		format_scaled(ratio, 1, number, sizeof(number));
	snprintf(out, size, "%s×", number);
	return out;
}

char *format_seconds(double seconds, char *out, size_t size)
{
	long whole = isfinite(seconds) && seconds < 1e15 ? lround(seconds) : 0;

	if (!isfinite(seconds))
		snprintf(out, size, NOTHING);
	else if (seconds < 99.95)
		snprintf(out, size, "%.1f s", seconds);
	else if (whole < 3600)
		snprintf(out, size, "%ld min %ld s", whole / 60, whole % 60);
	else
		snprintf(out, size, "%ld h %ld min", whole / 3600, whole % 3600 / 60);
	return out;
}

/* Bytes of the first `longest` characters. */
static size_t format_cut_at(const char *text, size_t longest)
{
	size_t at = 0;

	for (size_t characters = 0; text[at] && characters < longest; characters++) {
		at++;
		while (((unsigned char)text[at] & 0xc0) == 0x80)
			at++;
	}
	return at;
}

char *format_cut(const char *text, size_t longest)
{
	size_t at = format_cut_at(text, longest);

	if (!text[at])
		return xstrdup(text);
	return xasprintf("%.*s… (%zu bytes)", (int)at, text, strlen(text));
}

char *format_label(const char *text, size_t longest)
{
	size_t at = format_cut_at(text, longest);

	if (!text[at])
		return xstrdup(text);
	return xasprintf("%.*s…", (int)format_cut_at(text, longest - 1), text);
}

char *format_name(const char *text, size_t longest)
{
	size_t characters = 0, head = (longest - 1) / 2, tail = longest - 1 - head;

	for (const char *p = text; *p; p++)
		characters += ((unsigned char)*p & 0xc0) != 0x80;
	if (characters <= longest)
		return xstrdup(text);
	return xasprintf("%.*s…%s", (int)format_cut_at(text, head), text,
			 text + format_cut_at(text, characters - tail));
}
