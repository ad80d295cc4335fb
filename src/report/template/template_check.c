/* Finds tags and sections of a template that are not closed. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/template/template.h"
#include "report/template/template_tags.h"

struct template_checking {
	const char *name;
	struct error *err;
	struct template_tag *open; /* sections, innermost last */
	size_t count, capacity;
};

static enum status template_close_section(struct template_checking *check,
					  const struct template_tag *tag)
{
	const struct template_tag *last = check->count ? &check->open[check->count - 1] : NULL;

	if (!last)
		return error_set(check->err, STATUS_USAGE,
				 "template %s:%zu: {{/%.*s}} closes nothing", check->name,
				 tag->line, (int)tag->length, tag->name);
	if (last->length != tag->length || memcmp(last->name, tag->name, tag->length) != 0)
		return error_set(check->err, STATUS_USAGE,
				 "template %s:%zu: {{/%.*s}} where {{/%.*s}} of line %zu is "
				 "expected",
				 check->name, tag->line, (int)tag->length, tag->name,
				 (int)last->length, last->name, last->line);
	check->count--;
	return STATUS_OK;
}

static enum status check_tag(struct template_checking *check, const struct template_tag *tag)
{
	if (tag->kind == '/')
		return template_close_section(check, tag);
	if (tag->kind != '#' && tag->kind != '^')
		return STATUS_OK;
	ARRAY_GROW(check->open, check->count, check->capacity);
	check->open[check->count++] = *tag;
	return STATUS_OK;
}

static enum status check_tags(struct template_checking *check, const char *text)
{
	const struct template_tag *last;
	struct template_tags tags;
	struct template_tag tag;

	template_tags_begin(&tags, check->name, text);
	while (template_tags_next(&tags, &tag, check->err))
		if (check_tag(check, &tag) != STATUS_OK)
			return check->err->status;
	if (check->err->status != STATUS_OK || !check->count)
		return check->err->status;
	last = &check->open[check->count - 1];
	return error_set(check->err, STATUS_USAGE, "template %s:%zu: {{%.*s}} is never closed",
			 check->name, last->line, (int)last->length, last->name);
}

enum status template_check(const char *name, const char *text, size_t length, struct error *err)
{
	struct error own = ERROR_NONE;
	struct template_checking check = { .name = name, .err = err ? err : &own };
	enum status status;

	if (strlen(text) != length)
		return error_set(err, STATUS_USAGE, "template %s has a NUL byte", name);
	status = check_tags(&check, text);
	free(check.open);
	return status;
}
