#include "report/template/template_tags.h"

#include <stdio.h>
#include <string.h>

void template_tags_begin(struct template_tags *tags, const char *template_name, const char *text)
{
	*tags = (struct template_tags){ template_name, text, 1, "{{", "}}" };
}

/* Everything up to `to` is read. */
static void template_move_to(struct template_tags *tags, const char *to)
{
	for (; tags->at < to; tags->at++)
		tags->line += *tags->at == '\n';
}

/* `text` of `length` bytes is the text between the delimiters: "=<% %>=". */
static bool change_delimiters(struct template_tags *tags, const char *text, size_t length,
			      struct error *err)
{
	char inner[40], open[16], close[16], rest;

	if (length > 2 && length < sizeof(inner) && text[length - 1] == '=') {
		memcpy(inner, text + 1, length - 2);
		inner[length - 2] = '\0';
		if (sscanf(inner, " %15s %15s %c", open, close, &rest) == 2 && !strchr(open, '=') &&
		    !strchr(close, '=')) {
			strcpy(tags->open, open);
			strcpy(tags->close, close);
			return true;
		}
	}
	error_set(err, STATUS_USAGE,
		  "template %s:%zu: %s%.*s%s does not change delimiters; write {{=<%% %%>=}}",
		  tags->template_name, tags->line, tags->open, length > 40 ? 40 : (int)length, text,
		  tags->close);
	return false;
}

static struct template_tag tag_of(const char *text, size_t length, size_t line)
{
	struct template_tag tag = { 0, text, length, line };

	if (length && strchr("#^/>!{&", *text)) {
		tag.kind = *text;
		tag.name++;
		tag.length--;
	}
	while (tag.length && strchr(" \t\r\n", *tag.name)) {
		tag.name++;
		tag.length--;
	}
	while (tag.length && strchr(" \t\r\n", tag.name[tag.length - 1]))
		tag.length--;
	return tag;
}

bool template_tags_next(struct template_tags *tags, struct template_tag *tag, struct error *err)
{
	for (;;) {
		const char *start = strstr(tags->at, tags->open), *text, *end;
		size_t line;

		if (!start)
			return false;
		template_move_to(tags, start);
		text = start + strlen(tags->open);
		end = strstr(text, tags->close);
		if (!end) {
			error_set(err, STATUS_USAGE, "template %s:%zu: a tag has no end",
				  tags->template_name, tags->line);
			return false;
		}
		line = tags->line;
		*tag = tag_of(text, (size_t)(end - text), line);
		template_move_to(tags, end + strlen(tags->close));
		if (*text != '=')
			return true;
		tags->line = line;
		if (!change_delimiters(tags, text, (size_t)(end - text), err))
			return false;
	}
}
