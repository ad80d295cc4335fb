/* One value of each type. */
#include <ctype.h>
#include <math.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/units.h"
#include "plan/ini/hint.h"
#include "plan/value.h"

/* `value` in the shortest form that reads as exactly the same number. */
static void shortest(double value, char *out, size_t size)
{
	for (int digits = 6; digits <= 17; digits++) {
		snprintf(out, size, "%.*g", digits, value);
		if (strtod(out, NULL) == value)
			return;
	}
}

/* `number` as a value of the key's type is written. */
static void number_text(const struct key *key, double number, char *out, size_t size)
{
	switch (key->type) {
	case KEY_SIZE:
		units_size((uint64_t)number, out, size);
		break;
	case KEY_DURATION:
		units_duration(number, out, size);
		break;
	case KEY_PERCENT:
		units_percent(number, out, size);
		break;
	case KEY_REAL:
		shortest(number, out, size);
		break;
	default:
		snprintf(out, size, "%.0f", number);
	}
}

static bool has_range(const struct key *key)
{
	return key->min != 0 || key->max != 0;
}

static enum status check_range(const struct key *key, const char *text, double number,
			       struct error *err)
{
	char min[64], max[64];

	if (has_range(key) ? number >= key->min && number <= key->max : number >= 0)
		return STATUS_OK;
	if (!has_range(key))
		return error_set(err, STATUS_USAGE, "'%.60s' is negative", text);
	number_text(key, key->min, min, sizeof(min));
	number_text(key, key->max, max, sizeof(max));
	return error_set(err, STATUS_USAGE, "'%.60s' is out of range; allowed: %s%s%s to %s", text,
			 key->word ? key->word : "", key->word ? ", " : "", min, max);
}

enum status value_from_integer(struct value *value, const struct key *key, int64_t n,
			       struct error *err)
{
	char text[64];

	if (key->type == KEY_SIZE)
		units_size((uint64_t)n, text, sizeof(text));
	else
		snprintf(text, sizeof(text), "%" PRId64, n);
	if (check_range(key, text, (double)n, err) != STATUS_OK)
		return STATUS_USAGE;
	value->text = xstrdup(text);
	value->integer = n;
	value->real = (double)n;
	for (int i = 0; i < 3 && key->type == KEY_SHAPE; i++)
		value->shape[i] = n;
	return STATUS_OK;
}

static enum status parse_integer(struct value *value, const struct key *key, const char *text,
				 struct error *err)
{
	int64_t n = 0;

	if (key->word && strcmp(text, key->word) == 0) {
		value->text = xstrdup(text);
		value->integer = 0;
		return STATUS_OK;
	}
	if (units_parse_integer(text, &n, err) != STATUS_OK) {
		if (key->word) {
			error_clear(err);
			error_set(err, STATUS_USAGE, "'%.60s' is neither %s nor a whole number",
				  text, key->word);
		}
		return STATUS_USAGE;
	}
	return value_from_integer(value, key, n, err);
}

static enum status parse_size(struct value *value, const struct key *key, const char *text,
			      struct error *err)
{
	uint64_t bytes = 0;

	if (units_parse_size(text, &bytes, err) != STATUS_OK ||
	    check_range(key, text, (double)bytes, err) != STATUS_OK)
		return STATUS_USAGE;
	return value_from_integer(value, key, (int64_t)bytes, err);
}

static enum status parse_number(struct value *value, const struct key *key, const char *text,
				struct error *err)
{
	enum status status;
	char canonical[64];

	if (key->type == KEY_REAL)
		status = units_parse_real(text, &value->real, err);
	else if (key->type == KEY_DURATION)
		status = units_parse_duration(text, &value->real, err);
	else
		status = units_parse_percent(text, &value->real, err);
	if (status != STATUS_OK || check_range(key, text, value->real, err) != STATUS_OK)
		return STATUS_USAGE;
	number_text(key, value->real, canonical, sizeof(canonical));
	value->text = xstrdup(canonical);
	return STATUS_OK;
}

static enum status parse_bool(struct value *value, const char *text, struct error *err)
{
	static const char *const words[] = { "no", "yes", "off", "on", "false", "true" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(text, words[i]) == 0) {
			value->integer = (int64_t)(i % 2);
			value->real = (double)value->integer;
			value->text = xstrdup(words[i % 2]);
			return STATUS_OK;
		}
	}
	return error_set(err, STATUS_USAGE, "'%.60s' is not yes or no (or on, off, true, false)",
			 text);
}

static void join(const char *const *words, struct text *out)
{
	for (size_t i = 0; words[i]; i++)
		text_addf(out, "%s%s", i ? ", " : "", words[i]);
}

static enum status parse_choice(struct value *value, const struct key *key, const char *text,
				struct error *err)
{
	struct text list = TEXT_EMPTY;

	for (int i = 0; key->choices[i]; i++) {
		if (strcmp(text, key->choices[i]) == 0) {
			value->integer = i;
			value->real = i;
			value->text = xstrdup(text);
			return STATUS_OK;
		}
	}
	join(key->choices, &list);
	error_set(err, STATUS_USAGE, "'%.60s' is not one of %s%s", text,
		  list.data ? list.data : "nothing", hint_for(text, key->choices).text);
	text_release(&list);
	return STATUS_USAGE;
}

static enum status bad_shape(const char *text, struct error *err)
{
	return error_set(err, STATUS_USAGE,
			 "'%.60s' is not a shape: write 1024 (a cube) or MxNxK (1024x512x64)",
			 text);
}

/* "1024" or "MxNxK". */
static enum status parse_shape(struct value *value, const struct key *key, const char *text,
			       struct error *err)
{
	const char *p = text;
	int parts = 0;

	for (;;) {
		size_t digits = strspn(p, "0123456789");
		char number[32];

		if (!digits || digits >= sizeof(number) || parts == 3)
			return bad_shape(text, err);
		memcpy(number, p, digits);
		number[digits] = '\0';
		if (units_parse_integer(number, &value->shape[parts], err) != STATUS_OK ||
		    check_range(key, text, (double)value->shape[parts], err) != STATUS_OK)
			return STATUS_USAGE;
		parts++;
		p += digits;
		if (!*p)
			break;
		if (*p++ != 'x')
			return bad_shape(text, err);
	}
	if (parts == 2)
		return bad_shape(text, err);
	if (parts == 1 ||
	    (value->shape[0] == value->shape[1] && value->shape[1] == value->shape[2]))
		return value_from_integer(value, key, value->shape[0], err);
	value->text = xasprintf("%" PRId64 "x%" PRId64 "x%" PRId64, value->shape[0],
				value->shape[1], value->shape[2]);
	return STATUS_OK;
}

enum status value_parse(struct value *value, const struct key *key, const char *text,
			struct error *err)
{
	memset(value, 0, sizeof(*value));
	switch (key->type) {
	case KEY_CHOICE:
		return parse_choice(value, key, text, err);
	case KEY_BOOL:
		return parse_bool(value, text, err);
	case KEY_INTEGER:
		return parse_integer(value, key, text, err);
	case KEY_SIZE:
		return parse_size(value, key, text, err);
	case KEY_SHAPE:
		return parse_shape(value, key, text, err);
	case KEY_REAL:
	case KEY_DURATION:
	case KEY_PERCENT:
		return parse_number(value, key, text, err);
	case KEY_TEXT:
		if (*text && key->check && key->check(text, err) != STATUS_OK)
			return STATUS_USAGE;
		break;
	}
	value->text = xstrdup(text);
	return STATUS_OK;
}

void value_release(struct value *value)
{
	free(value->text);
	value->text = NULL;
}

void key_describe(const struct key *key, struct text *out)
{
	static const char *const one[] = {
		[KEY_TEXT] = "text",
		[KEY_BOOL] = "yes or no",
		[KEY_INTEGER] = "whole number",
		[KEY_REAL] = "number",
		[KEY_SIZE] = "size",
		[KEY_DURATION] = "duration",
		[KEY_PERCENT] = "percentage",
		[KEY_SHAPE] = "shape",
	};
	static const char *const many[] = {
		[KEY_TEXT] = "texts",
		[KEY_BOOL] = "yes or no",
		[KEY_INTEGER] = "whole numbers",
		[KEY_REAL] = "numbers",
		[KEY_SIZE] = "sizes",
		[KEY_DURATION] = "durations",
		[KEY_PERCENT] = "percentages",
		[KEY_SHAPE] = "shapes (1024 or MxNxK)",
	};
	char min[64], max[64];

	if (key->type == KEY_CHOICE) {
		text_add(out, key->list ? "list of " : "one of ");
		join(key->choices, out);
		return;
	}
	text_addf(out, "%s%s", key->list ? "list of " : "",
		  key->list ? many[key->type] : one[key->type]);
	if (!has_range(key) || key->type == KEY_TEXT || key->type == KEY_BOOL)
		return;
	number_text(key, key->min, min, sizeof(min));
	number_text(key, key->max, max, sizeof(max));
	text_addf(out, ", %s to %s", min, max);
	if (key->word)
		text_addf(out, ", or %s", key->word);
}
