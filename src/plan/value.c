#include "plan/value.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/former_names.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "plan/ini/hint.h"

/* Text of `number` as a value of the key's type. */
static void value_number_text(const struct key *key, double number, char *out, size_t size)
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
		/* The shortest text that reads back as exactly this number. */
		for (int digits = 6; digits <= 17; digits++) {
			snprintf(out, size, "%.*g", digits, number);
			if (strtod(out, NULL) == number)
				break;
		}
		break;
	default:
		snprintf(out, size, "%.0f", number);
	}
}

static bool value_has_range(const struct key *key)
{
	return key->min != 0 || key->max != 0;
}

static enum status value_check_range(const struct key *key, const char *text, double number,
				     struct error *err)
{
	char min[64], max[64];

	if (value_has_range(key) ? number >= key->min && number <= key->max : number >= 0)
		return STATUS_OK;
	if (!value_has_range(key))
		return error_set(err, STATUS_USAGE, "'%.60s' is negative", text);
	value_number_text(key, key->min, min, sizeof(min));
	value_number_text(key, key->max, max, sizeof(max));
	return error_set(err, STATUS_USAGE, "'%.60s' is out of range; allowed: %s%s%s to %s", text,
			 key->word ? key->word : "", key->word ? ", " : "", min, max);
}

/* The value `n` of an integer type: checks the range and sets the canonical text. */
static enum status value_from_integer(struct value *value, const struct key *key, int64_t n,
				      struct error *err)
{
	char text[64];

	if (key->type == KEY_SIZE)
		units_size((uint64_t)n, text, sizeof(text));
	else
		snprintf(text, sizeof(text), "%" PRId64, n);
	if (value_check_range(key, text, (double)n, err) != STATUS_OK)
		return STATUS_USAGE;
	value->text = xstrdup(text);
	value->integer = n;
	value->real = (double)n;
	for (int i = 0; i < 3 && key->type == KEY_SHAPE; i++)
		value->shape[i] = n;
	return STATUS_OK;
}

static enum status plan_value_parse_integer(struct value *value, const struct key *key,
					    const char *text, struct error *err)
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

static enum status value_parse_number(struct value *value, const struct key *key, const char *text,
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
	if (status != STATUS_OK || value_check_range(key, text, value->real, err) != STATUS_OK)
		return STATUS_USAGE;
	value_number_text(key, value->real, canonical, sizeof(canonical));
	value->text = xstrdup(canonical);
	return STATUS_OK;
}

static enum status plan_value_parse_bool(struct value *value, const char *text, struct error *err)
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

/* -1: `word` is not a choice of the key. */
static int plan_value_find_choice(const struct key *key, const char *word)
{
	for (int i = 0; key->choices[i]; i++)
		if (strcmp(word, key->choices[i]) == 0)
			return i;
	return -1;
}

static enum status plan_value_parse_choice(struct value *value, const struct key *key,
					   const char *text, struct error *err)
{
	struct text list = TEXT_EMPTY;
	int choice = plan_value_find_choice(key, text);
	const char *current;

	if (choice >= 0) {
		value->integer = choice;
		value->real = choice;
		value->text = xstrdup(text);
		return STATUS_OK;
	}
	for (size_t i = 0; key->choices[i]; i++)
		hint_add(&list, key->choices[i]);
	/* Accepted in results of earlier versions; a config must be corrected. */
	current = former_name_current(NAME_ASPECT, "", text);
	if (current != text && plan_value_find_choice(key, current) >= 0)
		error_set(err, STATUS_USAGE, "'%.60s' is now called '%s'", text, current);
	else
		error_set(err, STATUS_USAGE, "'%.60s' is not one of %s%s", text,
			  list.data ? list.data : "nothing", hint_for(text, key->choices).text);
	text_release(&list);
	return STATUS_USAGE;
}

static enum status plan_value_bad_shape(const char *text, struct error *err)
{
	return error_set(err, STATUS_USAGE,
			 "'%.60s' is not a shape; write 1024 (a cube) or MxNxK (1024x512x64)",
			 text);
}

/* "1024" or "MxNxK". */
static enum status plan_value_parse_shape(struct value *value, const struct key *key,
					  const char *text, struct error *err)
{
	const char *p = text;
	int parts = 0;

	for (;;) {
		size_t digits = strspn(p, "0123456789");
		char number[32];

		if (!digits || digits >= sizeof(number) || parts == 3)
			return plan_value_bad_shape(text, err);
		memcpy(number, p, digits);
		number[digits] = '\0';
		if (units_parse_integer(number, &value->shape[parts], err) != STATUS_OK ||
		    value_check_range(key, text, (double)value->shape[parts], err) != STATUS_OK)
			return STATUS_USAGE;
		parts++;
		p += digits;
		if (!*p)
			break;
		if (*p++ != 'x')
			return plan_value_bad_shape(text, err);
	}
	if (parts == 2)
		return plan_value_bad_shape(text, err);
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
	uint64_t bytes = 0;

	memset(value, 0, sizeof(*value));
	switch (key->type) {
	case KEY_CHOICE:
		return plan_value_parse_choice(value, key, text, err);
	case KEY_BOOL:
		return plan_value_parse_bool(value, text, err);
	case KEY_INTEGER:
		return plan_value_parse_integer(value, key, text, err);
	case KEY_SIZE:
		if (units_parse_size(text, &bytes, err) != STATUS_OK ||
		    value_check_range(key, text, (double)bytes, err) != STATUS_OK)
			return STATUS_USAGE;
		return value_from_integer(value, key, (int64_t)bytes, err);
	case KEY_SHAPE:
		return plan_value_parse_shape(value, key, text, err);
	case KEY_REAL:
	case KEY_DURATION:
	case KEY_PERCENT:
		return value_parse_number(value, key, text, err);
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

void plan_value_key_describe(const struct key *key, struct text *out)
{
	static const struct {
		const char *one, *many;
	} words[] = {
		[KEY_TEXT] = { "text", "texts" },
		[KEY_BOOL] = { "yes or no", "yes or no" },
		[KEY_INTEGER] = { "whole number", "whole numbers" },
		[KEY_REAL] = { "number", "numbers" },
		[KEY_SIZE] = { "size", "sizes" },
		[KEY_DURATION] = { "duration", "durations" },
		[KEY_PERCENT] = { "percentage", "percentages" },
		[KEY_SHAPE] = { "shape", "shapes (1024 or MxNxK)" },
	};
	char min[64], max[64];

	if (key->type == KEY_CHOICE) {
		text_add(out, key->list ? "list of " : "one of ");
		for (size_t i = 0; key->choices[i]; i++)
			text_addf(out, "%s%s", i ? ", " : "", key->choices[i]);
		return;
	}
	text_addf(out, "%s%s", key->list ? "list of " : "",
		  key->list ? words[key->type].many : words[key->type].one);
	if (!value_has_range(key) || key->type == KEY_TEXT || key->type == KEY_BOOL)
		return;
	value_number_text(key, key->min, min, sizeof(min));
	value_number_text(key, key->max, max, sizeof(max));
	text_addf(out, ", %s to %s", min, max);
	if (key->word)
		text_addf(out, ", or %s", key->word);
}

void values_release(struct values *values)
{
	for (size_t i = 0; i < values->count; i++)
		value_release(&values->items[i]);
	free(values->items);
	memset(values, 0, sizeof(*values));
}

static enum status values_append(struct values *values, struct value *value, struct error *err)
{
	if (values->count == VALUES_MAX) {
		value_release(value);
		return error_set(err, STATUS_USAGE, "the list has more than %d values", VALUES_MAX);
	}
	ARRAY_GROW(values->items, values->count, values->capacity);
	values->items[values->count++] = *value;
	return STATUS_OK;
}

/* `empty`: the error for an empty text; NULL: it is a value. */
static enum status values_add_one(struct values *values, const struct key *key, const char *text,
				  const char *empty, struct error *err)
{
	struct value value = { 0 };

	if (!*text && empty)
		return error_set(err, STATUS_USAGE, "%s", empty);
	if (value_parse(&value, key, text, err) != STATUS_OK)
		return STATUS_USAGE;
	return values_append(values, &value, err);
}

struct value_range {
	int64_t first, last, step;
	bool geometric;
};

static enum status value_parse_bound(const struct key *key, const char *text, size_t length,
				     int64_t *out, struct error *err)
{
	struct value value = { 0 };
	char *word = text_trimmed(text, length);
	enum status status = value_parse(&value, key, word, err);

	if (status == STATUS_OK && key->type == KEY_SHAPE && strchr(word, 'x'))
		status = error_set(err, STATUS_USAGE,
				   "'%.60s' cannot begin or end a range; both ends must be single "
				   "numbers (cubes), such as 1024",
				   word);
	*out = value.integer;
	value_release(&value);
	free(word);
	return status;
}

/* Parses "*4", "+2" or "+4KiB", the step after the end of a range. */
static enum status value_parse_step(struct value_range *range, const struct key *key,
				    const char *text, struct error *err)
{
	char *word = text_trimmed(text + 1, strlen(text + 1));
	uint64_t bytes = 0;
	enum status status;

	range->geometric = *text == '*';
	if (!range->geometric && key->type == KEY_SIZE) {
		status = units_parse_size(word, &bytes, err);
		range->step = (int64_t)bytes;
	} else {
		status = units_parse_integer(word, &range->step, err);
	}
	free(word);
	return status;
}

static enum status value_parse_range(struct value_range *range, const struct key *key,
				     const char *text, struct error *err)
{
	const char *dots = strstr(text, "..");
	const char *end = dots + 2;
	const char *step = end + strcspn(end, "*+");

	range->step = 1;
	if (value_parse_bound(key, text, (size_t)(dots - text), &range->first, err) != STATUS_OK ||
	    value_parse_bound(key, end, (size_t)(step - end), &range->last, err) != STATUS_OK)
		return error_prefix(err, "range '%.60s'", text);
	if (!*step && key->type == KEY_SIZE)
		return error_set(err, STATUS_USAGE,
				 "the range '%.60s' lacks a step; write %.60s *2 or %.60s +1KiB",
				 text, text, text);
	if (*step && value_parse_step(range, key, step, err) != STATUS_OK)
		return error_prefix(err, "range '%.60s'", text);
	if (range->first > range->last)
		return error_set(err, STATUS_USAGE,
				 "the end of the range '%.60s' is below its start", text);
	if (range->geometric && range->step < 2)
		return error_set(err, STATUS_USAGE,
				 "the range '%.60s' would never end; the factor must be 2 or more",
				 text);
	if (range->geometric && range->first < 1)
		return error_set(err, STATUS_USAGE,
				 "the range '%.60s' would never end, because 0 times the factor is "
				 "0; start above 0",
				 text);
	if (range->step < 1)
		return error_set(err, STATUS_USAGE,
				 "the range '%.60s' would never end; the step must be 1 or more",
				 text);
	return STATUS_OK;
}

static enum status value_add_range(struct values *values, const struct key *key, const char *text,
				   struct error *err)
{
	struct value_range range = { 0 };
	int64_t n;

	if (value_parse_range(&range, key, text, err) != STATUS_OK)
		return STATUS_USAGE;
	for (n = range.first;;) {
		struct value value = { 0 };

		if (value_from_integer(&value, key, n, err) != STATUS_OK ||
		    values_append(values, &value, err) != STATUS_OK)
			return STATUS_USAGE;
		/* Compared without overflow. */
		if (range.geometric ? n > range.last / range.step
				    : (uint64_t)range.last - (uint64_t)n < (uint64_t)range.step)
			return STATUS_OK;
		n = range.geometric ? n * range.step : n + range.step;
	}
}

static int value_by_text(const void *a, const void *b)
{
	const struct value *const *p = a, *const *q = b;

	return strcmp((*p)->text, (*q)->text);
}

static enum status plan_value_check_unique(const struct values *values, struct error *err)
{
	const struct value **sorted = xcalloc(values->count, sizeof(struct value *));
	enum status status = STATUS_OK;

	for (size_t i = 0; i < values->count; i++)
		sorted[i] = &values->items[i];
	qsort(sorted, values->count, sizeof(struct value *), value_by_text);
	for (size_t i = 1; i < values->count && status == STATUS_OK; i++)
		if (value_by_text(&sorted[i - 1], &sorted[i]) == 0)
			status = error_set(err, STATUS_USAGE, "'%.60s' is listed twice",
					   sorted[i]->text);
	free(sorted);
	return status;
}

static enum status value_parse_list(struct values *values, const struct key *key, const char *text,
				    bool unique, struct error *err)
{
	bool ranges = key->type == KEY_INTEGER || key->type == KEY_SIZE || key->type == KEY_SHAPE;

	if (!*text)
		return error_set(err, STATUS_USAGE, "empty list");
	for (const char *p = text; p;) {
		const char *comma = strchr(p, ',');
		char *word = text_trimmed(p, comma ? (size_t)(comma - p) : strlen(p));
		enum status status =
			ranges && strstr(word, "..")
				? value_add_range(values, key, word, err)
				: values_add_one(values, key, word, "empty value in the list", err);

		free(word);
		if (status != STATUS_OK)
			return status;
		p = comma ? comma + 1 : NULL;
	}
	return unique ? plan_value_check_unique(values, err) : STATUS_OK;
}

enum status values_parse(struct values *values, const struct key *key, const char *text,
			 bool unique, struct error *err)
{
	bool may_be_empty = key->type == KEY_TEXT && key->fallback && !*key->fallback;
	enum status status;

	memset(values, 0, sizeof(*values));
	if (key->list)
		status = value_parse_list(values, key, text, unique, err);
	else if (key->type != KEY_TEXT && (strchr(text, ',') || strstr(text, "..")))
		status = error_set(err, STATUS_USAGE,
				   "'%.60s' is a list, but this key takes one value", text);
	else
		status = values_add_one(values, key, text, may_be_empty ? NULL : "missing value",
					err);
	if (status != STATUS_OK)
		values_release(values);
	return status;
}
