#include "report/view/format.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/units.h"

#define NOTHING "\u2013"

struct formatted format_text(const char *format, ...)
{
	struct formatted out;
	va_list ap;

	va_start(ap, format);
	vsnprintf(out.text, sizeof(out.text), format, ap);
	va_end(ap);
	return out;
}

void format_list(struct text *out, const char *format, ...)
{
	char words[FORMAT_LONGEST];
	va_list ap;

	va_start(ap, format);
	vsnprintf(words, sizeof(words), format, ap);
	va_end(ap);
	text_add(out, out->length ? ", " : "");
	text_add(out, words);
}

/* "3.1×10⁻⁷" of "3.1e-07". */
static struct formatted format_power(const char *plain)
{
	static const char *const digits[] = {
		"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹",
	};
	const char *e = plain + strspn(plain, "-.0123456789");
	const char *p = e + 1;
	struct formatted out;
	struct text t = TEXT_EMPTY;

	if (*e != 'e') /* the end, or a unit */
		return format_text("%s", plain);
	if (e != plain + 1 || *plain != '1') {
		text_add_bytes(&t, plain, (size_t)(e - plain));
		text_add(&t, "×");
	}
	text_addf(&t, "10%s", *p == '-' ? "⁻" : "");
	p += *p == '-' || *p == '+';
	p += *p == '0' && p[1] != '\0' && isdigit((unsigned char)p[1]);
	for (; isdigit((unsigned char)*p); p++)
		text_add(&t, digits[*p - '0']);
	out = format_text("%s%s", t.data, p); /* with a unit */
	text_release(&t);
	return out;
}

/* The minus sign of print; a hyphen is shorter, and ends a line. */
static struct formatted format_with_minus(struct formatted plain)
{
	return *plain.text == '-' ? format_text("\u2212%s", plain.text + 1) : plain;
}

struct formatted format_short(double value, double factor)
{
	return format_with_minus(format_power(format_text("%.6g", value / factor + 0.0).text));
}

struct formatted format_power_of_ten(double value)
{
	int exponent = (int)floor(log10(value) + 1e-9);

	return format_power(format_text("%.6ge%d", value / pow(10, exponent), exponent).text);
}

struct formatted format_scientific(double value)
{
	return format_power(format_text("%.1e", value).text);
}

struct formatted format_count(double value)
{
	struct formatted plain = format_text("%.0f", fabs(value)), out = { "" };
	size_t length = strlen(plain.text), at = 0;

	if (value < 0)
		out.text[at++] = '-';
	for (size_t i = 0; i < length && at + 2 < sizeof(out.text); i++) {
		out.text[at++] = plain.text[i];
		if ((length - i) % 3 == 1 && i + 1 < length && length > 4)
			out.text[at++] = ',';
	}
	return format_with_minus(out);
}

struct formatted format_quantity(double value, const char *unit)
{
	char plain[FORMAT_SIZE];
	const char *prefix, *micro;

	if (isnan(value))
		return format_text(NOTHING);
	if (strcmp(unit, "%") ==
	    0) /* Three digits: a percentage is of something that has its own. */
		return format_with_minus(format_text("%.*f\u00a0%%",
						     value == 0            ? 0
						     : fabs(value) < 9.995 ? 2
						     : fabs(value) < 99.95 ? 1
									   : 0,
						     value));
	if (strcmp(unit, "×") == 0)
		return format_ratio(value);
	/* One has no plural. */
	if ((strcmp(unit, "samples") == 0 || strcmp(unit, "claims") == 0) &&
	    value == floor(value) && fabs(value) < 1e15)
		return format_text("%s %.*s", format_count(value).text,
				   (int)strlen(unit) - (value == 1), unit);
	units_si(value, unit, plain, sizeof(plain));
	units_prefix(value, unit, &prefix);
	micro = strcmp(prefix, "u") == 0 ? strchr(plain, 'u') : NULL;
	if (micro)
		return format_with_minus(
			format_text("%.*sµ%s", (int)(micro - plain), plain, micro + 1));
	return format_with_minus(format_power(plain));
}

struct formatted format_stated(double value, const char *unit)
{
	struct formatted out = format_quantity(value, unit);
	char *point = strchr(out.text, '.'), *end, *last;

	if (!point)
		return out;
	end = point + 1 + strspn(point + 1, "0123456789");
	for (last = end; last[-1] == '0'; last--)
		;
	last -= last - 1 == point;
	memmove(last, end, strlen(end) + 1);
	return out;
}

struct formatted format_value(const struct metric_value *m, const char *unit, bool percent)
{
	if (!m || !isfinite(m->value))
		return format_text(NOTHING);
	if (percent)
		return format_quantity(100 * m->value, "%");
	/* A single reading that is whole is a count: it has no digits after the point. */
	if (strcmp(unit, "1") == 0 && !isfinite(m->low) && m->value == floor(m->value) &&
	    fabs(m->value) < 1e15)
		return format_count(m->value);
	return format_quantity(m->value, unit);
}

struct formatted format_rounded(double value, const char *unit)
{
	double rounded, factor, shown;
	struct formatted name;
	int leading;

	if (!isfinite(value))
		return format_quantity(value, unit);
	format_unit(value, unit, &factor);
	rounded = strtod(format_text("%.2e", value / factor).text, NULL) * factor;
	name = format_unit(rounded, unit, &factor);
	shown = rounded / factor;
	leading = shown == 0 ? 2 : (int)floor(log10(fabs(shown)) + 1e-9);
	return format_with_minus(
		format_text("%.*f %s", leading < 2 ? 2 - leading : 0, shown, name.text));
}

struct formatted format_unit(double value, const char *unit, double *factor)
{
	const char *prefix;

	*factor = units_prefix(value, unit, &prefix);
	return format_text("%s%s", strcmp(prefix, "u") == 0 ? "µ" : prefix,
			   strcmp(unit, "1") == 0 ? "" : units_after_prefix(unit, *factor));
}

struct formatted format_scaled(double value, double factor)
{
	double shown = value / factor;
	int leading, digits;

	if (isnan(value))
		return format_text(NOTHING);
	if (shown != 0 && (fabs(shown) < 1e-3 || fabs(shown) >= 1e7))
		return format_with_minus(format_power(format_text("%.3e", shown).text));
	leading = shown == 0 ? 0 : (int)floor(log10(fabs(shown)) + 1e-5);
	digits = shown == 0 || leading > 3 ? 0 : 3 - leading;
	return format_with_minus(format_text("%.*f", digits, shown));
}

struct formatted format_interval(const struct metric_value *m, const char *unit)
{
	const char *prefix;
	double factor = units_prefix(m->value, unit, &prefix);

	if (!isfinite(m->low) || !isfinite(m->high))
		return format_text("");
	return format_text("[%s, %s]", format_scaled(m->low, factor).text,
			   format_scaled(m->high, factor).text);
}

struct formatted format_percent(double ratio)
{
	double percent = 100 * ratio;

	if (!isfinite(percent))
		return format_text(NOTHING);
	return format_with_minus(format_text("%.*f\u00a0%%",
					     fabs(percent) < 1    ? 2
					     : fabs(percent) < 10 ? 1
								  : 0,
					     percent));
}

struct formatted format_margin(double ratio)
{
	if (!isfinite(ratio))
		return format_text(NOTHING);
	return format_with_minus(format_text("%+.1f\u00a0%%", 100 * ratio));
}

struct formatted format_spread(double value, double low, double high)
{
	if (!isfinite(low) || !isfinite(high) || value == 0)
		return format_text("");
	return format_text("±%s",
			   format_percent(fmax(high - value, value - low) / fabs(value)).text);
}

struct formatted format_ratio(double ratio)
{
	if (!isfinite(ratio))
		return format_text(NOTHING);
	if (ratio < 0.1 || ratio >= 1e4)
		return format_text("%s×", format_scaled(ratio, 1).text);
	return format_text("%.*f×", ratio < 10 ? 2 : ratio < 100 ? 1 : 0, ratio);
}

struct formatted format_seconds(double seconds)
{
	long whole = isfinite(seconds) && seconds < 1e15 ? lround(seconds) : 0;

	if (!isfinite(seconds))
		return format_text(NOTHING);
	if (seconds < 99.95)
		return format_text("%.1f s", seconds);
	if (whole < 3600)
		return format_text("%ld min %ld s", whole / 60, whole % 60);
	return format_text("%ld h %ld min", whole / 3600, whole % 3600 / 60);
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

struct formatted format_spaced(const char *text)
{
	size_t digits = strspn(text, "0123456789.");
	size_t letters = strspn(text + digits, "KMGTiB");

	if (digits && letters && !text[digits + letters])
		return format_text("%.*s\u00a0%s", (int)digits, text, text + digits);
	return format_text("%s", text);
}

/* "4 devices", "batch 256", "bucket 25 MiB": numbers other than sizes need their name. */
static struct formatted format_named(const struct case_parameter *parameter)
{
	struct formatted name = format_metric(parameter->name);
	struct formatted value = format_spaced(parameter->text);
	size_t length = strlen(name.text);

	if (!text_ends_with(name.text, "s"))
		return format_text("%.50s %.40s", name.text, value.text);
	/* "device" of "devices", "microbatch" of "microbatches". */
	if (strcmp(value.text, "1") == 0)
		name.text[length - (text_ends_with(name.text, "ches") ||
						    text_ends_with(name.text, "shes") ||
						    text_ends_with(name.text, "xes")
					    ? 2
					    : 1)] = '\0';
	return format_text("%.40s %.50s", value.text, name.text);
}

/* "4096×4096×128" of "4096x4096x128"; "" where the text is no shape. */
static struct formatted format_shape(const char *text)
{
	struct text shape = TEXT_EMPTY;
	size_t digits = strspn(text, "0123456789"), sides = 0;
	struct formatted out;

	for (; digits; digits = *text == 'x' ? strspn(++text, "0123456789") : 0) {
		text_addf(&shape, "%s%.*s", sides++ ? "×" : "", (int)digits, text);
		text += digits;
	}
	out = format_text("%s", sides > 1 && !*text ? shape.data : "");
	text_release(&shape);
	return out;
}

static struct formatted format_without_underscores(struct formatted out)
{
	for (char *p = out.text; *p; p++)
		if (*p == '_')
			*p = ' ';
	return out;
}

struct formatted format_parameter(const struct case_parameter *parameter)
{
	const char *value = parameter->text ? parameter->text : "";
	const char *name = parameter->name ? parameter->name : "";
	const char *unit = parameter->unit ? parameter->unit : "";
	struct formatted shape = format_shape(value);
	bool number = value[strspn(value, "0123456789")] == '\0';

	if (strcmp(value, "-") == 0 || !*value)
		return format_text("");
	if (*shape.text)
		return shape;
	if (*name && (number || (strcmp(unit, "B") == 0 && strcmp(name, PARAMETER_SIZE) != 0)))
		return format_named(parameter);
	return format_without_underscores(format_spaced(value));
}

struct formatted format_metric(const char *name)
{
	const char *dot = strchr(name, '.');

	return format_without_underscores(format_text("%s", dot ? dot + 1 : name));
}

void format_count_of(struct text *list, size_t count, const char *words)
{
	if (count)
		format_list(list, "%zu %s", count, words);
}

const char *format_cases(size_t count)
{
	return count == 1 ? "case" : "cases";
}

void format_capital(char *s)
{
	if (*s >= 'a' && *s <= 'z')
		*s = (char)(*s - 'a' + 'A');
}

const char *format_better(enum better better)
{
	switch (better) {
	case BETTER_HIGHER:
		return "higher is better";
	case BETTER_LOWER:
		return "lower is better";
	case BETTER_NONE:
		break;
	}
	return "neither is better";
}

static const struct {
	const char *word, *symbol;
} statuses[] = {
	[CASE_OK] = { "OK", "✓" },
	[CASE_SKIPPED] = { "not run", "○" },
	[CASE_FAILED] = { "wrong result", "✗" },
	[CASE_ERROR] = { "error", "!" },
};

const char *format_status_word(enum case_status status)
{
	return statuses[status].word;
}

const char *format_status_symbol(enum case_status status)
{
	return statuses[status].symbol;
}

struct formatted format_date(const char *stamp)
{
	static const char *const months[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
					      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
	unsigned year, month, day, hour, minute;

	if (sscanf(stamp, "%4u-%2u-%2uT%2u:%2u:", &year, &month, &day, &hour, &minute) == 5 &&
	    month >= 1 && month <= ARRAY_SIZE(months))
		return format_text("%u %s %u %02u:%02u UTC", day, months[month - 1], year, hour,
				   minute);
	return format_text("%s", stamp);
}
