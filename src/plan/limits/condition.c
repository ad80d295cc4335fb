/* Parses `where = direction:h2d|d2h, size:>=64MiB`. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "plan/ini/hint.h"
#include "plan/limits/limit.h"
#include "plan/value.h"

#define MOST_NAMES 32

/* Conditions that are not parameters. */
static const char *const special[] = { "device", "model", "backend", "label", "node", NULL };
static const char *const special_of_node[] = { "model", "node", NULL };

static const struct key *condition_find_parameter(const struct suite *suite, const char *name)
{
	for (const struct key *key = suite ? suite->parameters : NULL; key && key->name; key++)
		if (strcmp(key->name, name) == 0)
			return key;
	for (const struct key *key = suite ? suite->keys : NULL; key && key->name; key++)
		if (schema_is_axis(suite, key) && strcmp(key_parameter(key), name) == 0)
			return key;
	return NULL;
}

static enum status condition_unknown_name(const struct suite *suite, const char *name,
					  struct error *err)
{
	const char *names[MOST_NAMES + 1];
	struct text list = TEXT_EMPTY;
	size_t n = 0;

	for (const struct key *key = suite ? suite->keys : NULL;
	     key && key->name && n < MOST_NAMES - ARRAY_SIZE(special); key++)
		if (schema_is_axis(suite, key))
			names[n++] = key_parameter(key);
	for (const struct key *key = suite ? suite->parameters : NULL;
	     key && key->name && n < MOST_NAMES - ARRAY_SIZE(special); key++)
		names[n++] = key->name;
	for (const char *const *word = suite ? special : special_of_node; *word; word++)
		names[n++] = *word;
	names[n] = NULL;
	for (size_t i = 0; i < n; i++)
		text_addf(&list, "%s%s", i ? ", " : "", names[i]);
	error_set(err, STATUS_USAGE, "%s%s has no parameter '%.60s'%s; use one of %s",
		  suite ? "suite " : "", suite ? suite->name : "the node", name,
		  hint_for(name, names).text, list.data);
	text_release(&list);
	return STATUS_USAGE;
}

static void condition_add_word(struct condition *c, const char *word)
{
	c->words = xrealloc(c->words, c->word_count + 1, sizeof(*c->words));
	c->words[c->word_count++] = xstrdup(word);
}

/* Parses one alternative of "a|b|c"; `key` NULL: any text. */
static enum status condition_read_word(struct condition *c, const struct key *key, const char *word,
				       struct error *err)
{
	struct value value = { 0 };

	if (!*word)
		return error_set(err, STATUS_USAGE, "%s: missing value", c->name);
	if (!key) {
		condition_add_word(c, word);
		return STATUS_OK;
	}
	if (value_parse(&value, key, word, err) != STATUS_OK) {
		value_release(&value);
		return error_prefix(err, "%s", c->name);
	}
	condition_add_word(c, value.text);
	value_release(&value);
	return STATUS_OK;
}

/* A number of a suite that is not available: a size, or a plain number. */
static enum status read_any_number(const char *text, double *number, struct error *err)
{
	struct error ignored = ERROR_NONE;
	uint64_t bytes;

	if (units_parse_size(text, &bytes, &ignored) != STATUS_OK)
		return units_parse_real(text, number, err);
	*number = (double)bytes;
	return STATUS_OK;
}

static enum status read_comparison(struct condition *c, const struct key *key, bool absent,
				   const char *text, struct error *err)
{
	struct value value = { 0 };
	char *number = text_trimmed(text + 2, strlen(text + 2));
	enum status status = STATUS_OK;

	c->test = *text == '>' ? CONDITION_AT_LEAST : CONDITION_AT_MOST;
	if (!key && absent) {
		status = read_any_number(number, &c->number, err);
		free(number);
		return status;
	}
	if (!key || key->type == KEY_TEXT || key->type == KEY_CHOICE || key->type == KEY_BOOL ||
	    key->type == KEY_SHAPE)
		status = error_set(err, STATUS_USAGE, "%s: %.2s needs a numeric parameter", c->name,
				   text);
	else if (value_parse(&value, key, number, err) != STATUS_OK)
		status = error_prefix(err, "%s", c->name);
	c->number = value.real;
	value_release(&value);
	free(number);
	return status;
}

static bool is_special(const struct suite *suite, const char *name)
{
	for (const char *const *word = suite ? special : special_of_node; *word; word++)
		if (strcmp(*word, name) == 0)
			return true;
	return false;
}

static enum status read_condition(struct limit *limit, const char *text, struct error *err)
{
	const char *colon = strchr(text, ':');
	bool absent = limit->suite && limit->suite->absent;
	const struct key *key;
	struct condition *c;

	if (!colon)
		return error_set(err, STATUS_USAGE,
				 "'%.60s' is not a condition; write parameter:value", text);
	limit->conditions =
		xrealloc(limit->conditions, limit->condition_count + 1, sizeof(*limit->conditions));
	c = &limit->conditions[limit->condition_count++];
	*c = (struct condition){ .name = text_trimmed(text, (size_t)(colon - text)) };
	for (size_t i = 0; i + 1 < limit->condition_count; i++)
		if (strcmp(limit->conditions[i].name, c->name) == 0 &&
		    limit->conditions[i].test == CONDITION_IS)
			return error_set(err, STATUS_USAGE,
					 "'%.60s' is repeated; alternatives: %.60s:a|b", c->name,
					 c->name);
	key = condition_find_parameter(limit->suite, c->name);
	if (!key && !absent && !is_special(limit->suite, c->name))
		return condition_unknown_name(limit->suite, c->name, err);
	text = colon + 1 + strspn(colon + 1, " \t");
	if (text_starts_with(text, ">=") || text_starts_with(text, "<="))
		return read_comparison(c, key, absent, text, err);
	for (const char *p = text; p;) {
		const char *bar = strchr(p, '|');
		char *word = text_trimmed(p, bar ? (size_t)(bar - p) : strlen(p));
		enum status status = condition_read_word(c, key, word, err);

		free(word);
		if (status != STATUS_OK)
			return status;
		p = bar ? bar + 1 : NULL;
	}
	return STATUS_OK;
}

enum status conditions_read(struct limit *limit, const char *text, struct error *err)
{
	if (!*text)
		return STATUS_OK;
	for (const char *p = text; p;) {
		const char *comma = strchr(p, ',');
		char *part = text_trimmed(p, comma ? (size_t)(comma - p) : strlen(p));
		enum status status = read_condition(limit, part, err);

		free(part);
		if (status != STATUS_OK)
			return status;
		p = comma ? comma + 1 : NULL;
	}
	return STATUS_OK;
}
