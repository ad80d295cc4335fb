/*
 * JSON with the line of every value. jansson gives lines only for syntax errors, so this file finds
 * them in the text. Other programs may have written text before and after the document.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "import/reading.h"

/* Most places to try as the start of a document; each is parsed up to its first error. */
#define MOST_STARTS 64

static const char *skip_space(const char *p)
{
	return p + strspn(p, " \t\r\n");
}

static const char *import_json_after_string(const char *p)
{
	for (p++; *p && *p != '"'; p++)
		if (*p == '\\' && p[1])
			p++;
	return *p ? p + 1 : p;
}

/*
 * Some programs write NaN and Infinity, which JSON does not allow. Turns them into strings of the
 * same length, so that positions do not change.
 */
static void quote_odd_numbers(char *text)
{
	for (char *p = text; *p;) {
		size_t length = strspn(p, "+-aAfFiInNtTyY"), sign = *p == '-' || *p == '+';

		if (*p == '"') {
			p = (char *)(uintptr_t)import_json_after_string(p);
			continue;
		}
		if (length >= 3 &&
		    (strncasecmp(p + sign, "nan", 3) == 0 || strncasecmp(p + sign, "inf", 3) == 0))
			p[0] = p[length - 1] = '"';
		p += length ? length : 1;
	}
}

/* True if the syntax error is a number that JSON does not allow, such as NaN. */
static bool import_json_is_odd_number(const json_error_t *at)
{
	return strcasestr(at->text, "near 'nan") || strcasestr(at->text, "near 'inf") ||
	       strstr(at->text, "near '-'");
}

/* Parses the document at `start` and sets `*length` to its size in bytes. NULL: no document. */
static json_t *import_json_load_at(char *start, size_t left, size_t *length, json_error_t *at)
{
	const size_t flags = JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK;
	json_t *root = json_loadb(start, left, flags, at);

	if (!root && import_json_is_odd_number(at)) {
		quote_odd_numbers(start);
		root = json_loadb(start, left, flags, at);
	}
	*length = (size_t)at->position;
	return root;
}

/* True if the text contains one of the format's marks, such as `"nvbandwidth"`. */
static bool import_json_has_mark(const struct import *import, const char *text, size_t length)
{
	for (size_t i = 0; import->format->marks[i]; i++)
		if (memmem(text, length, import->format->marks[i],
			   strlen(import->format->marks[i])))
			return true;
	return false;
}

/* Cuts the text before `start`. */
static void import_json_start_document_at(struct import *import, const char *start)
{
	import->lines_before += import_lines_between(import->text, start);
	import->length -= (size_t)(start - import->text);
	import->text = start;
}

/*
 * Loads the first document with a mark of the format, or else the first document. A syntax error is
 * reported for the first place that looks like a document.
 */
static json_t *import_json_load_document(struct import *import, char *text)
{
	char *end = text + import->length, *other = NULL, *p = text;
	json_error_t first = { .line = 0 }, at;
	size_t length;
	json_t *root;

	for (int starts = 0; p < end && starts < MOST_STARTS; starts++) {
		p += strcspn(p, "{");
		root = *p ? import_json_load_at(p, (size_t)(end - p), &length, &at) : NULL;
		if (root && import_json_has_mark(import, p, length)) {
			import_json_start_document_at(import, p);
			return root;
		}
		other = root && !other ? p : other;
		if (*p && !root && !first.line) {
			first = at;
			first.line += (int)import_lines_between(text, p);
		}
		p += root ? length : *p != '\0';
		json_decref(root);
	}
	if (other && (!first.line || !import_json_has_mark(import, text, import->length))) {
		import_json_start_document_at(import, other);
		return import_json_load_at(other, import->length, &length, &at);
	}
	import_error(import, first.line > 0 ? (size_t)first.line : 1, "%s",
		     first.line > 0 ? first.text : "not valid JSON");
	return NULL;
}

enum status import_json(struct import *import,
			enum status (*read)(struct import *import, const json_t *root))
{
	struct text copy = TEXT_EMPTY;
	enum status status = STATUS_USAGE;
	json_t *root;

	import_unprefixed(import, &copy);
	import->text = copy.data;
	import->length = copy.length;
	root = import_json_load_document(import, copy.data);
	if (root)
		status = read(import, root);
	json_decref(root);
	import->text = "";
	import->length = 0;
	text_release(&copy);
	return status;
}

/* Position after the value at `p`, in text that is valid JSON. */
static const char *import_json_after_value(const char *p)
{
	int depth = 0;

	do {
		p = skip_space(p);
		if (*p == '"') {
			p = import_json_after_string(p);
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

/* The value of member `name`, or of element `index`, of the value at `p`; NULL if missing. */
static const char *import_json_find_member(const char *p, const char *name, size_t index)
{
	bool object = *p == '{';

	for (p = skip_space(p + 1); *p && *p != '}' && *p != ']'; p = skip_space(p)) {
		const char *key = p;

		if (object) {
			p = skip_space(import_json_after_string(p));
			p = skip_space(*p ? p + 1 : p);
			if (name && strncmp(key + 1, name, strlen(name)) == 0 &&
			    key[1 + strlen(name)] == '"')
				return p;
		} else if (!name && index-- == 0) {
			return p;
		}
		p = skip_space(import_json_after_value(p));
		p += *p == ',';
	}
	return NULL;
}

/* Finds a value in the text. For a missing member it finds the object. */
static const char *import_json_find_value(const struct import *import, const struct json_path *path)
{
	const char *parent, *found;

	if (!path)
		return skip_space(import->text);
	parent = import_json_find_value(import, path->parent);
	found = import_json_find_member(parent, path->name, path->index);
	return found ? found : parent;
}

static void import_json_describe_path(struct text *out, const struct json_path *path)
{
	if (!path)
		return;
	import_json_describe_path(out, path->parent);
	if (path->name)
		text_addf(out, "%s%s", out->length ? "." : "", path->name);
	else
		text_addf(out, "[%zu]", path->index);
}

enum status import_json_error(struct import *import, const struct json_path *path,
			      const char *format, ...)
{
	struct text where = TEXT_EMPTY;
	char message[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	import_json_describe_path(&where, path);
	import_error(import,
		     1 + import_lines_between(import->text, import_json_find_value(import, path)),
		     "%s%s%s", where.data ? where.data : "", where.length ? ": " : "", message);
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

enum status import_each(struct import *import, const json_t *list, const struct json_path *path,
			enum status (*take)(struct import *import, void *state, const json_t *item,
					    const struct json_path *path),
			void *state)
{
	enum status status = STATUS_OK;

	for (size_t i = 0; status == STATUS_OK && i < json_array_size(list); i++)
		status = take(import, state, json_array_get(list, i), NTH(path, i));
	return status;
}

const char *import_string(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}

double import_figure(const json_t *value)
{
	double number;

	if (json_is_number(value))
		return json_number_value(value);
	return json_is_string(value) && import_real(json_string_value(value), &number) ? number
										       : NAN;
}
