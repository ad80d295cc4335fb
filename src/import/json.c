/*
 * JSON with the line of every value: jansson reports it only for syntax errors, so it is looked up
 * in the text.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "import/reading.h"

enum status import_json(struct import *import,
			enum status (*read)(struct import *import, const json_t *root))
{
	json_error_t at;
	json_t *root = json_loadb(import->text, import->length, JSON_REJECT_DUPLICATES, &at);
	enum status status;

	if (!root)
		return import_error(import, at.line > 0 ? (size_t)at.line : 1, "%s", at.text);
	status = read(import, root);
	json_decref(root);
	return status;
}

static const char *skip_space(const char *p)
{
	return p + strspn(p, " \t\r\n");
}

static const char *skip_string(const char *p)
{
	for (p++; *p && *p != '"'; p++)
		if (*p == '\\' && p[1])
			p++;
	return *p ? p + 1 : p;
}

/* Position after the value at `p`; the text is known to be JSON. */
static const char *skip_value(const char *p)
{
	int depth = 0;

	do {
		p = skip_space(p);
		if (*p == '"') {
			p = skip_string(p);
		} else if (*p == '{' || *p == '[') {
			depth++;
			p++;
		} else if (*p == '}' || *p == ']') {
			depth--;
			p++;
		} else if (*p == ',' || *p == ':') {
			p++;
		} else {
			p += strcspn(p, " \t\r\n,:]}");
		}
	} while (depth > 0 && *p);
	return p;
}

/* The value of member `name`, or element `index`, of what starts at `p`; NULL: not there. */
static const char *step(const char *p, const char *name, size_t index)
{
	bool object = *p == '{';

	for (p = skip_space(p + 1); *p && *p != '}' && *p != ']'; p = skip_space(p)) {
		const char *key = p;

		if (object) {
			p = skip_space(skip_string(p));
			p = skip_space(*p ? p + 1 : p);
			if (name && strncmp(key + 1, name, strlen(name)) == 0 &&
			    key[1 + strlen(name)] == '"')
				return p;
		} else if (!name && index-- == 0) {
			return p;
		}
		p = skip_space(skip_value(p));
		p += *p == ',';
	}
	return NULL;
}

/* As near as there is: of a missing member its object. */
static const char *place(const struct import *import, const struct json_path *path)
{
	const char *parent, *found;

	if (!path)
		return skip_space(import->text);
	parent = place(import, path->parent);
	found = step(parent, path->name, path->index);
	return found ? found : parent;
}

/* Line of the value at `path`. */
static size_t line_of(const struct import *import, const struct json_path *path)
{
	const char *end = place(import, path);
	size_t line = 1;

	for (const char *p = import->text; p < end; p++)
		line += *p == '\n';
	return line;
}

static void add_path(struct text *out, const struct json_path *path)
{
	if (!path)
		return;
	add_path(out, path->parent);
	if (path->name)
		text_addf(out, "%s%s", out->length ? "." : "", path->name);
	else
		text_addf(out, "[%zu]", path->index);
}

enum status import_json_error(struct import *import, const struct json_path *path,
			      const char *format, ...)
{
	struct text where = TEXT_EMPTY;
	char message[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	add_path(&where, path);
	import_error(import, line_of(import, path), "%s%s%s", where.data ? where.data : "",
		     where.length ? ": " : "", message);
	text_release(&where);
	return STATUS_USAGE;
}

json_t *import_member(struct import *import, const json_t *object, const struct json_path *path,
		      const char *name, json_type type)
{
	static const char *const types[] = { [JSON_OBJECT] = "an object",
					     [JSON_ARRAY] = "an array",
					     [JSON_STRING] = "a text",
					     [JSON_INTEGER] = "a whole number",
					     [JSON_REAL] = "a number" };
	const struct json_path here = { path, name, 0 };
	json_t *value = json_object_get(object, name);

	if (!json_is_object(object))
		import_json_error(import, path, "expected an object");
	else if (!value)
		import_json_error(import, path, "'%s' is missing", name);
	else if (json_typeof(value) != type && !(type == JSON_REAL && json_is_integer(value)))
		import_json_error(import, &here, "expected %s", types[type]);
	else
		return value;
	return NULL;
}

const char *import_string(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}
