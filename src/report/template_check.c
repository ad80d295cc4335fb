/* Finds tags and sections of a template that are not closed. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/template.h"

struct section {
	const char *name; /* within the template */
	size_t length, line;
};

struct check {
	const char *name;
	struct error *err;
	struct section *open; /* innermost last */
	size_t count, capacity, line;
};

static size_t count_lines(const char *from, const char *to)
{
	size_t lines = 0;

	for (; from < to; from++)
		lines += *from == '\n';
	return lines;
}

static enum status close_section(struct check *check, const char *name, size_t length)
{
	const struct section *last = check->count ? &check->open[check->count - 1] : NULL;

	if (!last)
		return error_set(check->err, STATUS_USAGE,
				 "template %s:%zu: {{/%.*s}} closes nothing", check->name,
				 check->line, (int)length, name);
	if (last->length != length || memcmp(last->name, name, length) != 0)
		return error_set(
			check->err, STATUS_USAGE,
			"template %s:%zu: {{/%.*s}} where {{/%.*s}} of line %zu is expected",
			check->name, check->line, (int)length, name, (int)last->length, last->name,
			last->line);
	check->count--;
	return STATUS_OK;
}

static enum status tag(struct check *check, const char *text, size_t length)
{
	char kind = *text;

	if (!strchr("#^/", kind))
		return STATUS_OK;
	for (text++, length--; length && *text == ' '; text++)
		length--;
	while (length && text[length - 1] == ' ')
		length--;
	if (kind == '/')
		return close_section(check, text, length);
	ARRAY_GROW(check->open, check->count, check->capacity);
	check->open[check->count++] = (struct section){ text, length, check->line };
	return STATUS_OK;
}

static enum status check_tags(struct check *check, const char *text)
{
	const char *start, *end;
	enum status status;

	while ((start = strstr(text, "{{")) != NULL) {
		check->line += count_lines(text, start);
		end = strstr(start, "}}");
		if (!end)
			return error_set(check->err, STATUS_USAGE,
					 "template %s:%zu: a tag has no end", check->name,
					 check->line);
		if (start[2] == '=')
			return STATUS_OK; /* other delimiters from here on: not followed */
		status = end > start + 2 ? tag(check, start + 2, (size_t)(end - start) - 2)
					 : STATUS_OK;
		if (status != STATUS_OK)
			return status;
		check->line += count_lines(start, end);
		text = end + 2;
	}
	if (check->count)
		return error_set(check->err, STATUS_USAGE,
				 "template %s:%zu: {{%.*s}} is never closed", check->name,
				 check->open[check->count - 1].line,
				 (int)check->open[check->count - 1].length,
				 check->open[check->count - 1].name);
	return STATUS_OK;
}

enum status template_check(const char *name, const char *text, size_t length, struct error *err)
{
	struct check check = { .name = name, .err = err, .line = 1 };
	enum status status;

	if (strlen(text) != length)
		return error_set(err, STATUS_USAGE, "template %s holds a NUL byte", name);
	status = check_tags(&check, text);
	free(check.open);
	return status;
}
