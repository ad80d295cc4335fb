#include "plan/value.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"

void values_release(struct values *values)
{
	for (size_t i = 0; i < values->count; i++)
		value_release(&values->items[i]);
	free(values->items);
	memset(values, 0, sizeof(*values));
}

static enum status add(struct values *values, struct value *value, struct error *err)
{
	if (values->count == VALUES_MAX) {
		value_release(value);
		return error_set(err, STATUS_USAGE, "the list has more than %d values", VALUES_MAX);
	}
	ARRAY_GROW(values->items, values->count, values->capacity);
	values->items[values->count++] = *value;
	return STATUS_OK;
}

struct range {
	int64_t first, last, step;
	bool geometric;
};

static enum status parse_bound(const struct key *key, const char *text, size_t length, int64_t *out,
			       struct error *err)
{
	struct value value = { 0 };
	char *word = text_trimmed(text, length);
	enum status status = value_parse(&value, key, word, err);

	if (status == STATUS_OK && key->type == KEY_SHAPE && strchr(word, 'x'))
		status = error_set(err, STATUS_USAGE,
				   "'%.60s' cannot bound a range: only cubes (1024) can", word);
	*out = value.integer;
	value_release(&value);
	free(word);
	return status;
}

/* "*4", "+2", "+4KiB": the step after the end of a range. */
static enum status parse_step(struct range *range, const struct key *key, const char *text,
			      struct error *err)
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

static enum status check_ends(const struct range *range, const char *text, struct error *err)
{
	if (range->first > range->last)
		return error_set(err, STATUS_USAGE,
				 "the range '%.60s' runs backwards: its end is below its start",
				 text);
	if (range->geometric && range->step < 2)
		return error_set(err, STATUS_USAGE,
				 "the range '%.60s' never ends: the factor must be 2 or more",
				 text);
	if (range->geometric && range->first < 1)
		return error_set(err, STATUS_USAGE,
				 "the range '%.60s' never ends: 0 times anything is 0", text);
	if (range->step < 1)
		return error_set(err, STATUS_USAGE,
				 "the range '%.60s' never ends: the step must be 1 or more", text);
	return STATUS_OK;
}

static enum status parse_range(struct range *range, const struct key *key, const char *text,
			       struct error *err)
{
	const char *dots = strstr(text, "..");
	const char *end = dots + 2;
	const char *step = end + strcspn(end, "*+");

	range->step = 1;
	if (parse_bound(key, text, (size_t)(dots - text), &range->first, err) != STATUS_OK ||
	    parse_bound(key, end, (size_t)(step - end), &range->last, err) != STATUS_OK)
		return error_prefix(err, "range '%.60s'", text);
	if (!*step && key->type == KEY_SIZE)
		return error_set(err, STATUS_USAGE,
				 "the range '%.60s' has no step: write %.60s *2 or %.60s +1KiB",
				 text, text, text);
	if (*step && parse_step(range, key, step, err) != STATUS_OK)
		return error_prefix(err, "range '%.60s'", text);
	return check_ends(range, text, err);
}

static enum status add_range(struct values *values, const struct key *key, const char *text,
			     struct error *err)
{
	struct range range = { 0 };
	int64_t n;

	if (parse_range(&range, key, text, err) != STATUS_OK)
		return STATUS_USAGE;
	for (n = range.first;;) {
		struct value value = { 0 };

		if (value_from_integer(&value, key, n, err) != STATUS_OK ||
		    add(values, &value, err) != STATUS_OK)
			return STATUS_USAGE;
		/* Compared without overflow. */
		if (range.geometric ? n > range.last / range.step
				    : (uint64_t)range.last - (uint64_t)n < (uint64_t)range.step)
			return STATUS_OK;
		n = range.geometric ? n * range.step : n + range.step;
	}
}

static bool takes_ranges(const struct key *key)
{
	return key->type == KEY_INTEGER || key->type == KEY_SIZE || key->type == KEY_SHAPE;
}

static enum status add_item(struct values *values, const struct key *key, const char *text,
			    struct error *err)
{
	struct value value = { 0 };

	if (!*text)
		return error_set(err, STATUS_USAGE, "the list has an empty value");
	if (takes_ranges(key) && strstr(text, ".."))
		return add_range(values, key, text, err);
	if (value_parse(&value, key, text, err) != STATUS_OK)
		return STATUS_USAGE;
	return add(values, &value, err);
}

static int by_text(const void *a, const void *b)
{
	const struct value *const *p = a, *const *q = b;

	return strcmp((*p)->text, (*q)->text);
}

static enum status check_unique(const struct values *values, struct error *err)
{
	const struct value **sorted = xcalloc(values->count, sizeof(struct value *));
	enum status status = STATUS_OK;

	for (size_t i = 0; i < values->count; i++)
		sorted[i] = &values->items[i];
	qsort(sorted, values->count, sizeof(struct value *), by_text);
	for (size_t i = 1; i < values->count && status == STATUS_OK; i++)
		if (by_text(&sorted[i - 1], &sorted[i]) == 0)
			status = error_set(err, STATUS_USAGE, "the list has '%.60s' twice",
					   sorted[i]->text);
	free(sorted);
	return status;
}

static enum status parse_list(struct values *values, const struct key *key, const char *text,
			      bool unique, struct error *err)
{
	if (!*text)
		return error_set(err, STATUS_USAGE, "the list is empty");
	for (const char *p = text; p;) {
		const char *comma = strchr(p, ',');
		char *word = text_trimmed(p, comma ? (size_t)(comma - p) : strlen(p));
		enum status status = add_item(values, key, word, err);

		free(word);
		if (status != STATUS_OK)
			return status;
		p = comma ? comma + 1 : NULL;
	}
	return unique ? check_unique(values, err) : STATUS_OK;
}

static enum status parse_single(struct values *values, const struct key *key, const char *text,
				struct error *err)
{
	bool may_be_empty = key->type == KEY_TEXT && key->fallback && !*key->fallback;
	struct value value = { 0 };

	if (!*text && !may_be_empty)
		return error_set(err, STATUS_USAGE, "a value is missing");
	if (key->type != KEY_TEXT && (strchr(text, ',') || strstr(text, "..")))
		return error_set(err, STATUS_USAGE, "'%.60s' is a list; this key takes one value",
				 text);
	if (value_parse(&value, key, text, err) != STATUS_OK)
		return STATUS_USAGE;
	return add(values, &value, err);
}

enum status values_parse(struct values *values, const struct key *key, const char *text,
			 bool unique, struct error *err)
{
	enum status status;

	memset(values, 0, sizeof(*values));
	status = key->list ? parse_list(values, key, text, unique, err)
			   : parse_single(values, key, text, err);
	if (status != STATUS_OK)
		values_release(values);
	return status;
}
