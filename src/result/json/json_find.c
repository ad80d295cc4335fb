#include "result/json/json_find.h"

#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/units.h"

struct json_search {
	double *numbers;
	size_t count, capacity;
	struct error *err;
};

/* Length of "[0]", "[*]" or "[name=value]" at the start; 0: none, or not closed. */
static size_t json_find_bracket_length(const char *path)
{
	size_t length = *path == '[' ? strcspn(path, "]") : 0;

	return length && path[length] ? length + 1 : 0;
}

enum status json_find_check(const char *path, struct error *err)
{
	const char *at = path;
	size_t length;

	do {
		length = strcspn(at, ".[");
		if (!length && (at != path || *at != '['))
			return error_set(err, STATUS_USAGE, "a name is missing before '%.60s'", at);
		for (at += length; *at == '['; at += length) {
			const char *inside = at + 1, *equals;
			bool valid;

			length = json_find_bracket_length(at);
			equals = length ? memchr(inside, '=', length - 2) : NULL;
			valid = equals ? equals > inside
				       : (length == 3 && *inside == '*') ||
						 (length > 2 && length <= 11 &&
						  strspn(inside, "0123456789") == length - 2);
			if (!valid)
				return error_set(err, STATUS_USAGE,
						 "'%.60s' is invalid; write [0], [*] or "
						 "[name=value]",
						 at);
		}
		if (*at && *at != '.')
			return error_set(err, STATUS_USAGE, "a '.' is missing before '%.60s'", at);
	} while (*at++);
	return STATUS_OK;
}

/* True if the brackets select this element. */
static bool json_find_is_meant(const json_t *element, size_t index, const char *bracket,
			       size_t length)
{
	const char *inside = bracket + 1, *equals = memchr(inside, '=', length - 2);
	char *name, *text, *wanted;
	const json_t *value;
	bool meant;

	if (!equals)
		return *inside == '*' || strtoul(inside, NULL, 10) == index;
	name = xstrndup(inside, (size_t)(equals - inside));
	wanted = xstrndup(equals + 1, (size_t)(bracket + length - 1 - (equals + 1)));
	value = json_object_get(element, name);
	text = json_is_string(value) ? xstrdup(json_string_value(value))
	       : value               ? json_dumps(value, JSON_ENCODE_ANY)
				     : NULL;
	meant = text && strcmp(text, wanted) == 0;
	free(text);
	free(wanted);
	free(name);
	return meant;
}

/* NOLINTNEXTLINE(misc-no-recursion): each call handles one step of the path */
static enum status json_find_step(struct json_search *s, const json_t *value, const char *path)
{
	size_t length = json_find_bracket_length(path);
	char *name;

	if (!*path) {
		double number = json_is_number(value) ? json_number_value(value) : (double)NAN;
		struct error ignored = ERROR_NONE;

		if (json_is_string(value))
			units_parse_real(json_string_value(value), &number, &ignored);
		if (!isfinite(number))
			return error_set(s->err, STATUS_USAGE,
					 "the value at this path is not a number");
		ARRAY_GROW(s->numbers, s->count, s->capacity);
		s->numbers[s->count++] = number;
		return STATUS_OK;
	}
	if (length) {
		for (size_t i = 0; i < json_array_size(value) && s->err->status == STATUS_OK; i++)
			if (json_find_is_meant(json_array_get(value, i), i, path, length))
				json_find_step(s, json_array_get(value, i), path + length);
		return s->err->status;
	}
	path += *path == '.';
	length = strcspn(path, ".[");
	if (!length)
		return json_find_step(s, value, path);
	name = xstrndup(path, length);
	value = json_object_get(value, name);
	free(name);
	return value ? json_find_step(s, value, path + length) : STATUS_OK;
}

enum status json_find_numbers(const char *text, size_t length, const char *path, double **out,
			      size_t *count, struct error *err)
{
	struct json_search s = { .err = err };
	json_error_t where;
	json_t *root = json_loadb(text, length, JSON_DECODE_ANY, &where);

	if (root)
		json_find_step(&s, root, path);
	else
		error_set(err, STATUS_USAGE, "not valid JSON: line %d: %.200s", where.line,
			  where.text);
	json_decref(root);
	*out = s.numbers;
	*count = s.count;
	return err->status;
}
