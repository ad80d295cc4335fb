/* Replaces $NAME and ${NAME} in values. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "plan/ini/document.h"
#include "plan/ini/ini.h"

/*
 * Maximum length of a value in bytes; a canonical list written out again stays below INI_LINE_MAX.
 */
#define VALUE_MAX (INI_LINE_MAX / 4)

/* Replaces the variable at `p` (after the dollar). Returns the position after it, NULL on error. */
static const char *replace_one(const char *p, bool environment, struct text *out, struct error *err)
{
	bool braces = *p == '{';
	const char *start = p + braces, *end = start;
	char name[128];
	const char *value;

	if (*p == '$') {
		text_add_char(out, '$');
		return p + 1;
	}
	if (!environment) {
		error_set(err, STATUS_USAGE,
			  "the config of a result must not use environment variables ($$ is a "
			  "plain dollar)");
		return NULL;
	}
	while (isalnum((unsigned char)*end) || *end == '_')
		end++;
	if (end == start || (braces && *end != '}') || isdigit((unsigned char)*start)) {
		error_set(err, STATUS_USAGE,
			  "a '$' must be followed by NAME, {NAME} or another '$'");
		return NULL;
	}
	if ((size_t)(end - start) >= sizeof(name)) {
		error_set(err, STATUS_USAGE, "variable name '%.40s...' is too long", start);
		return NULL;
	}
	memcpy(name, start, (size_t)(end - start));
	name[end - start] = '\0';
	value = getenv(name);
	if (!value) {
		error_set(err, STATUS_USAGE,
			  "the environment variable %s is not set ($$ is a plain dollar)", name);
		return NULL;
	}
	text_add(out, value);
	return end + braces;
}

static void variables_trim(struct text *t)
{
	size_t start = 0;

	while (t->length && (t->data[t->length - 1] == ' ' || t->data[t->length - 1] == '\t'))
		t->data[--t->length] = '\0';
	while (start < t->length && (t->data[start] == ' ' || t->data[start] == '\t'))
		start++;
	if (start)
		memmove(t->data, t->data + start, t->length + 1 - start);
	t->length -= start;
}

/*
 * Values from the environment or the command line must fit into one INI line of the effective
 * config.
 */
static enum status check_writable(const struct text *t, struct error *err)
{
	const char *s = t->data ? t->data : "";

	if (t->length > VALUE_MAX)
		return error_set(err, STATUS_USAGE,
				 "the value has %zu bytes; at most %d are allowed", t->length,
				 VALUE_MAX);
	if (!text_is_utf8(s, t->length))
		return error_set(err, STATUS_USAGE, "the value is not UTF-8 text");
	if (*s == ';')
		return error_set(err, STATUS_USAGE,
				 "a value cannot start with ';', which starts a comment");
	for (const char *p = s; *p; p++) {
		if ((unsigned char)*p < 0x20 ? *p != '\t' : *p == 0x7f)
			return error_set(err, STATUS_USAGE,
					 "the value contains the control character 0x%02x", *p);
		if (*p == ';' && (p[-1] == ' ' || p[-1] == '\t'))
			return error_set(err, STATUS_USAGE,
					 "a value cannot contain ';' after a blank, which starts a "
					 "comment");
	}
	return STATUS_OK;
}

char *variables_replace(const char *value, bool environment, struct error *err)
{
	struct text out = TEXT_EMPTY;

	for (const char *p = value; p && *p;) {
		const char *dollar = strchr(p, '$');

		text_add_bytes(&out, p, dollar ? (size_t)(dollar - p) : strlen(p));
		p = dollar ? replace_one(dollar + 1, environment, &out, err) : NULL;
		if (dollar && !p)
			goto fail;
	}
	if (out.data)
		variables_trim(&out);
	if (check_writable(&out, err) == STATUS_OK)
		return text_detach(&out);
fail:
	text_release(&out);
	return NULL;
}

void variables_quote(const char *value, struct text *out)
{
	for (; *value; value++) {
		if (*value == '$')
			text_add_char(out, '$');
		text_add_char(out, *value);
	}
}
