#include "suites/command/placeholders.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define BYTES ":bytes"

static size_t placeholder_name_length(const char *name)
{
	size_t length = 0;

	if (isalpha((unsigned char)*name))
		while (isalnum((unsigned char)name[length]) || name[length] == '_')
			length++;
	return length;
}

/* Length of "{name}" or "{name:bytes}" at `text`; 0: not a placeholder. */
static size_t placeholder_length(const char *text, struct placeholder *found)
{
	size_t length = *text == '{' ? placeholder_name_length(text + 1) : 0, more;

	*found = (struct placeholder){ .name = text + 1, .length = length };
	if (!length)
		return 0;
	found->bytes = strncmp(text + 1 + length, BYTES, strlen(BYTES)) == 0;
	more = length + 1 + (found->bytes ? strlen(BYTES) : 0);
	return text[more] == '}' ? more + 1 : 0;
}

/* Length of "{{name}}". */
static size_t literal_length(const char *text)
{
	struct placeholder inside;
	size_t length =
		text[0] == '{' && text[1] == '{' ? placeholder_length(text + 1, &inside) : 0;

	return length && text[1 + length] == '}' ? length + 2 : 0;
}

const char *placeholder_find(const char *text, struct placeholder *found, const char **end)
{
	while ((text = strchr(text, '{'))) {
		size_t literal = literal_length(text), length = placeholder_length(text, found);

		if (!literal && length) {
			*end = text + length;
			return text;
		}
		text += literal ? literal : 1;
	}
	return NULL;
}

static bool is_called(const struct placeholder *p, const char *name)
{
	return strlen(name) == p->length && strncmp(name, p->name, p->length) == 0;
}

bool placeholder_is_device(const struct placeholder *p)
{
	return is_called(p, "device") || is_called(p, "index") || is_called(p, "uuid");
}

static void placeholder_add_escaped(struct text *out, const char *value, enum escape escape)
{
	for (; *value; value++) {
		if (escape == ESCAPE_REGEX && strchr("\\^$.[]|()*+?{}", *value))
			text_add_char(out, '\\');
		text_add_char(out, *value);
	}
}

/* Appends text unchanged, except {{name}}. */
static void placeholder_add_plain(struct text *out, const char *text, const char *end)
{
	while (text < end) {
		size_t literal = literal_length(text);

		text_add_bytes(out, text + (literal ? 1 : 0), literal ? literal - 2 : 1);
		text += literal ? literal : 1;
	}
}

char *placeholders_fill(const char *text, const struct plan_case *c,
			const struct device_info *device, enum escape escape)
{
	struct text out = TEXT_EMPTY;
	struct placeholder p;
	const char *start, *end;

	while ((start = placeholder_find(text, &p, &end))) {
		char *name;

		placeholder_add_plain(&out, text, start);
		name = xstrndup(p.name, p.length);
		if (is_called(&p, "index"))
			text_addf(&out, "%d", device->index);
		else if (placeholder_is_device(&p))
			placeholder_add_escaped(&out,
						is_called(&p, "uuid") ? device->uuid : device->id,
						escape);
		else if (p.bytes)
			text_addf(&out, "%lld", (long long)case_integer(c, name));
		else
			placeholder_add_escaped(&out, case_text(c, name), escape);
		free(name);
		text = end;
	}
	placeholder_add_plain(&out, text, text + strlen(text));
	return text_detach(&out);
}
