#include "result/anonymise.h"

#include <ctype.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/input.h"
#include "base/memory.h"
#include "base/text.h"
#include "result/anonymise_parts.h"
#include "result/json_fields.h"
#include "result/pseudonym.h"

/* Shorter names are replaced only where they stand alone: "a1" must not take a word apart. */
#define STANDS_OUT 6

struct learned {
	char *name, *replacement;
	size_t length;
};

struct anonymiser {
	struct pseudonym_key key;
	struct learned *items; /* the longest first */
	size_t count, capacity;
};

/* Of a longer key the first bytes count. */
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
	a->items[at] = (struct learned){ xstrdup(name), pseudonym(a, kind, name, length), length };
}

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static const struct learned *learned_at(const struct anonymiser *a, const char *text,
					const char *at)
{
	for (size_t i = 0; i < a->count; i++) {
		const struct learned *l = &a->items[i];

		if (strncmp(at, l->name, l->length) != 0)
			continue;
		if (l->length >= STANDS_OUT ||
		    ((at == text || !in_word(at[-1])) && !in_word(at[l->length])))
			return l;
	}
	return NULL;
}

/* Digits of a hexadecimal number; 0 unless there are at least `least` and at most `most`. */
static size_t hex_run(const char *s, size_t least, size_t most)
{
	size_t n = 0;

	while (isxdigit((unsigned char)s[n]))
		n++;
	return n >= least && n <= most ? n : 0;
}

/* Length of "GPU-8f1c…": 8-4-4-4-12 hexadecimal digits, with what stands before; 0: no UUID. */
static size_t uuid_at(const char *s)
{
	static const size_t groups[] = { 8, 4, 4, 4, 12 };
	size_t n = text_starts_with(s, "GPU-") || text_starts_with(s, "MIG-") ? 4 : 0;

	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		if (i && s[n++] != '-')
			return 0;
		if (!hex_run(s + n, groups[i], groups[i]))
			return 0;
		n += groups[i];
	}
	return n;
}

/* Length of "0000:3b:00.0" or "3b:00.0"; 0: no PCI address. */
static size_t pci_at(const char *s)
{
	size_t domain = hex_run(s, 4, 8), n = domain && s[domain] == ':' ? domain + 1 : 0;

	if (!hex_run(s + n, 2, 2) || s[n + 2] != ':' || !hex_run(s + n + 3, 2, 2) ||
	    s[n + 5] != '.' || s[n + 6] < '0' || s[n + 6] > '7' || in_word(s[n + 7]) ||
	    s[n + 7] == '.')
		return 0;
	return n + 7;
}

/* Length of an absolute path, or one that starts with ./, ../ or ~/; 0: no path. */
static size_t path_at(const char *s)
{
	static const char *const everywhere[] = { "/proc/", "/sys/", "/dev/" };
	size_t n = strspn(s, ".~") <= 2 ? strspn(s, ".~") : 0;

	if (s[n] != '/' || (!in_word(s[n + 1]) && s[n + 1] != '.'))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(everywhere); i++)
		if (text_starts_with(s, everywhere[i]))
			return 0;
	n += strcspn(s + n, " \t\n\"'`,;:()[]<>|=");
	while (s[n - 1] == '.')
		n--;
	return n;
}

/* The length of what must go at `at`, with its kind; 0: nothing. */
static size_t identifier_at(const char *text, const char *at, const char **kind)
{
	bool starts = at == text || !(in_word(at[-1]) || strchr("./~-", at[-1]));
	size_t n;

	if (at != text && in_word(at[-1]))
		return 0;
	*kind = "uuid";
	n = uuid_at(at);
	if (n)
		return n;
	*kind = "pci";
	n = pci_at(at);
	if (n)
		return n;
	*kind = "path";
	return starts ? path_at(at) : 0;
}

char *anonymise_text(const struct anonymiser *a, const char *text)
{
	struct text out = TEXT_EMPTY;

	for (const char *at = text; at && *at;) {
		const struct learned *l = learned_at(a, text, at);
		const char *kind;
		size_t n = l ? 0 : identifier_at(text, at, &kind);

		if (l) {
			text_add(&out, l->replacement);
			at += l->length;
		} else if (n) {
			char *word = pseudonym(a, kind, at, n);

			text_add(&out, word);
			free(word);
			at += n;
		} else {
			text_add_char(&out, *at++);
		}
	}
	return text_detach(&out);
}

/* Words of the document itself, which no name may take apart. */
static bool ours(const char *member)
{
	static const char *const members[] = {
		"format",     "status",         "better",          "stop",    "unit",
		"suite",      "series",         "capabilities",    "backend", "module",
		"parameters", "parameter_text", "parameter_units", "state",   "key",
		"verdict",    "comparison",     "aspect"
	};

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (strcmp(members[i], member) == 0)
			return true;
	return false;
}

static json_t *rewritten_member(const struct anonymiser *a, const char *name, json_t *value);

static json_t *rewritten(const struct anonymiser *a, const json_t *value)
{
	json_t *out;

	if (json_is_string(value)) {
		char *text = anonymise_text(a, json_string_value(value));

		out = json_string(text);
		free(text);
	} else if (json_is_array(value)) {
		out = json_array();
		for (size_t i = 0; i < json_array_size(value); i++)
			json_array_append_new(out, rewritten(a, json_array_get(value, i)));
	} else if (json_is_object(value)) {
		const char *key;
		json_t *item;

		out = json_object();
		json_object_foreach((json_t *)value, key, item)
			json_object_set_new(out, key, rewritten_member(a, key, item));
	} else {
		out = json_incref((json_t *)value);
	}
	return out;
}

static json_t *rewritten_member(const struct anonymiser *a, const char *name, json_t *value)
{
	const char *text = json_string_value(value);
	char *word;
	json_t *out;

	if (ours(name))
		return json_incref(value);
	/* Always, even if it is a word that cannot be replaced elsewhere ("cuda", a number). */
	if ((strcmp(name, "hostname") != 0 && strcmp(name, "serial") != 0) || !text || !*text)
		return rewritten(a, value);
	word = pseudonym(a, *name == 'h' ? "host" : "serial", text, strlen(text));
	out = json_string(word);
	free(word);
	return out;
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
	after = rewritten(a, before);
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
