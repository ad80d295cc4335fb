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
#include "result/json/json_reader.h"

/* Most places to try as the start of a document; each is parsed up to its first error. */
#define MOST_STARTS 64

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
static void import_json_quote_odd_numbers(char *text)
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

/* Parses the document at `start` and sets `*length` to its size in bytes. NULL: no document. */
static json_t *import_json_load_at(char *start, size_t left, size_t *length, json_error_t *at)
{
	const size_t flags = JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK;
	json_t *root = json_loadb(start, left, flags, at);

	/* a number that JSON does not allow, such as NaN */
	if (!root && (strcasestr(at->text, "near 'nan") || strcasestr(at->text, "near 'inf") ||
		      strstr(at->text, "near '-'"))) {
		import_json_quote_odd_numbers(start);
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
	building_error_at(import, first.line > 0 ? (size_t)first.line : 1, "%s",
			  first.line > 0 ? first.text : "not valid JSON");
	return NULL;
}

void import_json(struct import *import)
{
	struct text copy = TEXT_EMPTY;
	json_t *root;

	lines_unprefixed(import, &copy);
	import->text = copy.data;
	import->length = copy.length;
	import->root = root = import_json_load_document(import, copy.data);
	if (root)
		import->format->read_json(import, root);
	json_decref(root);
	import->root = NULL;
	import->text = "";
	import->length = 0;
	text_release(&copy);
}

/* Place of an error: a value, or its member `name` or element `index` if it has that. */
struct json_place {
	const json_t *value;
	const char *name; /* NULL: none */
	size_t index;     /* SIZE_MAX: none */
};

/*
 * Reads the text of `value` together with it, up to a place. Adds its path. NULL: the place is not
 * in this value.
 */
static const char *import_json_find(struct json_reader *r, const json_t *value,
				    const struct json_place *place, struct text *path)
{
	bool object = json_reader_peek(r) == '{', list = json_reader_peek(r) == '[';
	const char *start = r->at, *found = NULL;
	size_t before = path->length;

	if (!object && !list)
		json_reader_skip(r);
	r->at += object || list;
	for (size_t i = 0;
	     !found && (object ? json_reader_member(r, i) : list && json_reader_element(r, i));
	     i++) {
		const char *key = object ? r->string.data : NULL;
		const json_t *item =
			object ? json_object_get(value, key) : json_array_get(value, i);
		bool here =
			value == place->value &&
			(key ? place->name && strcmp(key, place->name) == 0 : i == place->index);

		if (path->data) /* not after an empty first key */
			path->data[path->length = before] = '\0';
		if (key)
			text_addf(path, "%s%s", before ? "." : "", key);
		else
			text_addf(path, "[%zu]", i);
		json_reader_peek(r);
		found = here ? r->at : import_json_find(r, item, place, path);
	}
	if (!found && path->data)
		path->data[path->length = before] = '\0';
	return found || value != place->value ? found : start;
}

__attribute__((format(printf, 3, 0))) static void import_json_report(struct import *import,
								     const struct json_place *place,
								     const char *format,
								     va_list arguments)
{
	struct text path = TEXT_EMPTY;
	struct error ignored = ERROR_NONE;
	struct json_reader r = { .text = import->text,
				 .at = import->text,
				 .end = import->text + import->length,
				 .err = &ignored };
	const char *found = import_json_find(&r, import->root, place, &path);
	char message[512];

	vsnprintf(message, sizeof(message), format, arguments);
	building_error_at(import,
			  1 + import_lines_between(import->text, found ? found : import->text),
			  "%s%s%s", path.data ? path.data : "", path.length ? ": " : "", message);
	text_release(&r.string);
	text_release(&path);
}

void import_json_error(struct import *import, const json_t *value, const char *name,
		       const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	import_json_report(import, &(struct json_place){ value, name, SIZE_MAX }, format,
			   arguments);
	va_end(arguments);
}

void import_json_item_error(struct import *import, const json_t *list, size_t index,
			    const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	import_json_report(import, &(struct json_place){ list, NULL, index }, format, arguments);
	va_end(arguments);
}

const json_t *import_json_member(struct import *import, const json_t *object, const char *name,
				 json_type type)
{
	static const char *const types[] = {
		[JSON_OBJECT] = "an object", [JSON_ARRAY] = "an array", [JSON_STRING] = "a text"
	};
	const json_t *value = json_object_get(object, name);

	if (!value)
		import_json_error(import, object, NULL, "'%s' is missing", name);
	else if (json_typeof(value) != type)
		import_json_error(import, object, name, "expected %s", types[type]);
	else
		return value;
	return NULL;
}

void import_json_each(struct import *import, const json_t *list,
		      void (*take)(struct import *import, const json_t *item))
{
	for (size_t i = 0; i < json_array_size(list) && !building_stopped(import); i++) {
		const json_t *item = json_array_get(list, i);

		if (json_is_object(item))
			take(import, item);
		else
			import_json_item_error(import, list, i, "expected an object");
	}
}

const char *import_json_string(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}

double import_json_figure(const json_t *value)
{
	double number;

	if (json_is_number(value))
		return json_number_value(value);
	return json_is_string(value) && lines_real(json_string_value(value), &number) ? number
										      : NAN;
}

double import_json_amount(struct import *import, const json_t *object, const char *name)
{
	double value = import_json_figure(json_object_get(object, name));

	if (value < 0)
		import_json_error(import, object, name, "expected a number of at least 0");
	return value;
}
