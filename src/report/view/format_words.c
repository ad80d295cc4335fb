/* Names and values as people read them where no suite has words for them; statuses. */
#include "report/view/format.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

char *format_spaced(const char *text, char *out, size_t size)
{
	size_t digits = strspn(text, "0123456789.");
	size_t letters = strspn(text + digits, "KMGTiB");

	if (digits && letters && !text[digits + letters])
		snprintf(out, size, "%.*s\u00a0%s", (int)digits, text, text + digits);
	else
		snprintf(out, size, "%s", text);
	return out;
}

/*
 * "4 devices", "batch 256", "bucket 25 MiB": numbers other than sizes need their name.
 */
static char *format_named(const struct case_parameter *parameter, char *out, size_t size)
{
	char name[FORMAT_SIZE], value[FORMAT_SIZE];

	format_metric(parameter->name, name, sizeof(name));
	format_spaced(parameter->text, value, sizeof(value));
	if (!text_ends_with(name, "s")) {
		snprintf(out, size, "%.50s %.40s", name, value);
		return out;
	}
	if (strcmp(value, "1") == 0) {
		size_t length = strlen(name);

		/* "device" of "devices", "microbatch" of "microbatches". */
		if (text_ends_with(name, "ches") || text_ends_with(name, "shes") ||
		    text_ends_with(name, "xes"))
			name[length - 2] = '\0';
		else if (text_ends_with(name, "s"))
			name[length - 1] = '\0';
	}
	snprintf(out, size, "%.40s %.50s", value, name);
	return out;
}

/* "4096×4096×128" of "4096x4096x128"; "" where the text is no shape. */
static char *format_shape(const char *text, char *out, size_t size)
{
	struct text shape = TEXT_EMPTY;
	size_t digits = strspn(text, "0123456789"), sides = 0;

	for (; digits; digits = *text == 'x' ? strspn(++text, "0123456789") : 0) {
		text_addf(&shape, "%s%.*s", sides++ ? "×" : "", (int)digits, text);
		text += digits;
	}
	snprintf(out, size, "%s", sides > 1 && !*text ? shape.data : "");
	text_release(&shape);
	return out;
}

static bool format_words_needs_name(const char *name, const char *value, const char *unit)
{
	if (value[strspn(value, "0123456789")] == '\0')
		return *name != '\0';
	return unit && strcmp(unit, "B") == 0 && *name && strcmp(name, PARAMETER_SIZE) != 0;
}

char *format_parameter(const struct case_parameter *parameter, char *out, size_t size)
{
	const char *value = parameter->text ? parameter->text : "";
	const char *name = parameter->name ? parameter->name : "";

	*out = '\0';
	if (strcmp(value, "-") == 0 || !*value)
		return out;
	if (format_shape(value, out, size)[0])
		return out;
	if (format_words_needs_name(name, value, parameter->unit))
		return format_named(parameter, out, size);
	format_spaced(value, out, size);
	for (char *p = out; *p; p++)
		if (*p == '_')
			*p = ' ';
	return out;
}

char *format_metric(const char *name, char *out, size_t size)
{
	const char *dot = strchr(name, '.');

	snprintf(out, size, "%s", dot ? dot + 1 : name);
	for (char *p = out; *p; p++)
		if (*p == '_')
			*p = ' ';
	return out;
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

char *format_date(const char *stamp, char *out, size_t size)
{
	static const char *const months[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
					      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
	unsigned year, month, day, hour, minute;

	if (sscanf(stamp, "%4u-%2u-%2uT%2u:%2u:", &year, &month, &day, &hour, &minute) == 5 &&
	    month >= 1 && month <= ARRAY_SIZE(months))
		snprintf(out, size, "%u %s %u %02u:%02u UTC", day, months[month - 1], year, hour,
			 minute);
	else
		snprintf(out, size, "%s", stamp);
	return out;
}
