#include "result/anonymise/anonymise.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "base/input.h"
#include "base/memory.h"
#include "base/text.h"
#include "result/anonymise/anonymise_parts.h"
#include "result/anonymise/pseudonym.h"
#include "result/json/json_fields.h"

/* Shorter names are replaced only as whole words: "a1" must not split a word. */
#define STANDS_OUT 6

struct learned {
	char *name, *replacement;
	size_t length;
	bool any_case; /* names of hosts are the same in other letters */
};

struct anonymiser {
	struct pseudonym_key key;
	struct learned *items; /* the longest first */
	size_t count, capacity;
};

/* Only the first bytes of a longer key are used. */
#define LEAST_KEY_BYTES 16
#define KEY_BYTES 4096
#define MOST_KEY_BYTES ((size_t)1 << 20)

static enum status read_key(struct pseudonym_key *key, const char *path, struct error *err)
{
	/* Two constants make two independent halves of it. */
	static const struct pseudonym_key first = { 0, 1 }, second = { 0, 2 };
	struct text bytes = TEXT_EMPTY;
	size_t n;

	if (input_read_file(path, "key", MOST_KEY_BYTES, &bytes, err) != STATUS_OK) {
		text_release(&bytes);
		return err->status;
	}
	n = bytes.length < KEY_BYTES ? bytes.length : KEY_BYTES;
	if (n < LEAST_KEY_BYTES)
		error_set(err, STATUS_USAGE, "%s: a key needs at least %d bytes, this has %zu",
			  path, LEAST_KEY_BYTES, n);
	else
		*key = (struct pseudonym_key){ pseudonym_hash(&first, bytes.data, n),
					       pseudonym_hash(&second, bytes.data, n) };
	text_release(&bytes);
	return err->status;
}

enum status anonymiser_new(struct anonymiser **out, const char *key_file, struct error *err)
{
	struct pseudonym_key key;

	*out = NULL;
	if (key_file) {
		if (read_key(&key, key_file, err) != STATUS_OK)
			return err->status;
	} else if (getrandom(&key, sizeof(key), 0) != (ssize_t)sizeof(key)) {
		return error_errno(err, "no random key");
	}
	*out = xcalloc(1, sizeof(**out));
	(*out)->key = key;
	return STATUS_OK;
}

void anonymiser_free(struct anonymiser *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->count; i++) {
		free(a->items[i].name);
		free(a->items[i].replacement);
	}
	free(a->items);
	free(a);
}

char *pseudonym(const struct anonymiser *a, const char *kind, const char *bytes, size_t length)
{
	return xasprintf("%s-%012" PRIx64, kind, pseudonym_hash(&a->key, bytes, length) >> 16);
}

void anonymiser_learn(struct anonymiser *a, const char *kind, const char *name)
{
	size_t length = name ? strlen(name) : 0, at = 0;

	if (!length)
		return;
	for (; at < a->count && a->items[at].length >= length; at++)
		if (strcmp(a->items[at].name, name) == 0)
			return;
	ARRAY_GROW(a->items, a->count, a->capacity);
	memmove(&a->items[at + 1], &a->items[at], (a->count++ - at) * sizeof(*a->items));
	a->items[at] = (struct learned){ xstrdup(name), pseudonym(a, kind, name, length), length,
					 strcmp(kind, "host") == 0 || strcmp(kind, "domain") == 0 };
}

static const struct learned *learned_at(const struct anonymiser *a, const char *text,
					const char *at)
{
	for (size_t i = 0; i < a->count; i++) {
		const struct learned *l = &a->items[i];

		if ((l->any_case ? strncasecmp : strncmp)(at, l->name, l->length) != 0)
			continue;
		if (l->length >= STANDS_OUT ||
		    ((at == text || !anonymise_in_word(at[-1])) && !anonymise_in_word(at[l->length])))
			return l;
	}
	return NULL;
}

/* An abbreviated UUID becomes the same word as the whole one, where that was learned. */
static char *identifier_word(const struct anonymiser *a, const char *kind, const char *at, size_t n)
{
	for (size_t i = 0; strcmp(kind, "uuid") == 0 && i < a->count; i++)
		if (strncasecmp(a->items[i].name, at, n) == 0)
			return xstrdup(a->items[i].replacement);
	return pseudonym(a, kind, at, n);
}

char *anonymise_text(const struct anonymiser *a, const char *text)
{
	struct text out = TEXT_EMPTY;

	for (const char *at = text; at && *at;) {
		const struct learned *l = learned_at(a, text, at);
		const char *kind;
		size_t n = l ? 0 : anonymise_identifier(text, at, &kind);

		if (l) {
			text_add(&out, l->replacement);
			at += l->length;
		} else if (n) {
			char *word = identifier_word(a, kind, at, n);

			text_add(&out, word);
			free(word);
			at += n;
		} else {
			text_add_char(&out, *at++);
		}
	}
	return text_detach(&out);
}

/* Words of the document itself and rows of the program's tables, which no name may take apart. */
static bool ours(const char *member)
{
	static const char *const members[] = {
		"format",     "status",         "better",          "stop",    "unit",
		"suite",      "series",         "capabilities",    "backend", "module",
		"parameters", "parameter_text", "parameter_units", "state",   "key",
		"verdict",    "comparison",     "aspect",          "presentation"
	};

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (strcmp(members[i], member) == 0)
			return true;
	return false;
}

static json_t *replaced(const struct anonymiser *a, const char *kind, const json_t *value)
{
	const char *text = json_string_value(value);
	char *word = pseudonym(a, kind, text, strlen(text));
	json_t *out = json_string(word);

	free(word);
	return out;
}

/* The text of a config: numbers that are labels are known by their keys. */
static json_t *rewritten_config(const struct anonymiser *a, const char *text)
{
	char *config = anonymise_config_numbers(a, text), *all = anonymise_text(a, config);
	json_t *out = json_string(all);

	free(config);
	free(all);
	return out;
}

/* Within `parent`, a member of the document or NULL. */
static json_t *rewritten_member(const struct anonymiser *a, const char *parent, const char *name,
				json_t *value);

/* {"key": "label", "value": "4711"} of a user: a number cannot be replaced elsewhere, here it can. */
static bool is_number_of_user(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	const char *origin = json_string_value(json_object_get(object, "origin"));

	return anonymise_is_number(text) && !(origin && anonymise_shipped_place(origin));
}

static json_t *rewritten(const struct anonymiser *a, const char *parent, const json_t *value)
{
	json_t *out;

	if (json_is_string(value)) {
		char *text = anonymise_text(a, json_string_value(value));

		out = json_string(text);
		free(text);
	} else if (json_is_array(value)) {
		out = json_array();
		for (size_t i = 0; i < json_array_size(value); i++)
			json_array_append_new(out, rewritten(a, parent, json_array_get(value, i)));
	} else if (json_is_object(value)) {
		const char *key, *subject = json_string_value(json_object_get(value, "key"));
		bool number = subject && anonymise_is_free_text(subject) &&
			      is_number_of_user(value, "value");
		json_t *item;

		out = json_object();
		json_object_foreach((json_t *)value, key, item)
			json_object_set_new(out, key,
					    number && strcmp(key, "value") == 0 ?
						    replaced(a, "label", item) :
						    rewritten_member(a, parent, key, item));
	} else {
		out = json_incref((json_t *)value);
	}
	return out;
}

static json_t *rewritten_member(const struct anonymiser *a, const char *parent, const char *name,
				json_t *value)
{
	const char *text = json_string_value(value);

	if (ours(name))
		return json_incref(value);
	if (!text || !*text)
		return rewritten(a, name, value);
	/* Always, even if it is a word that cannot be replaced elsewhere ("cuda", a number). */
	if (strcmp(name, "hostname") == 0)
		return replaced(a, "host", value);
	if (strcmp(name, "serial") == 0)
		return replaced(a, "serial", value);
	if (parent && strcmp(parent, "run") == 0 && strcmp(name, "label") == 0 &&
	    anonymise_is_number(text))
		return replaced(a, "label", value);
	if (strcmp(name, "text") == 0 || strcmp(name, "limits_text") == 0)
		return rewritten_config(a, text);
	return rewritten(a, name, value);
}

enum status anonymise_result(const struct anonymiser *a, struct result *result, struct error *err)
{
	char *text = result_to_json(result), *changed;
	struct result out;
	json_t *before, *after;
	enum status status = json_parse(text, strlen(text), &before, err);

	free(text);
	if (status != STATUS_OK)
		return status;
	after = rewritten(a, NULL, before);
	json_decref(before);
	changed = json_dumps(after, JSON_COMPACT | JSON_REAL_PRECISION(17));
	json_decref(after);
	if (!changed)
		return error_set(err, STATUS_INTERNAL, "the anonymised result is no JSON");
	status = result_from_json(&out, changed, strlen(changed), err);
	free(changed);
	if (status != STATUS_OK)
		return status;
	free(out.command);
	out.command = anonymise_command(a, result->command);
	result_release(result);
	*result = out;
	return STATUS_OK;
}
