/* The words of an anonymiser, the names it has learned, and texts. */
#include <ctype.h>
#include <inttypes.h>
#include <regex.h>
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

/* No text of the program is as long; a longer one is left out. */
#define LONGEST_TEXT 4096
/* Names in texts: a single letter or digit tells nothing, and would take sentences apart. */
#define SHORTEST_NAME 2

/*
 * Parts of a text that tell nothing, although they look like a path or a user's name: ids of cases,
 * files of the system.
 */
static const char *const harmless[] = {
	"[a-z]+(:[[:alnum:]_.-]+)?/[^[:space:]]*@[a-z]+:[0-9]+",
	"/(dev|proc|sys)(/[[:alnum:]_-]+)*",
};

/* Forms of what tells of someone. */
static const char *const telling[] = {
	"([0-9]{1,3}\\.){3}[0-9]{1,3}",  /* IPv4, or a version: the first */
	"(^|[^[:alnum:]])/[^[:space:]]", /* a path */
	"(^|[^[:alnum:]_])-[A-Z]/",
	"~[[:alpha:]]",
	"[[:alnum:]_.-]+(/[[:alnum:]_.-]+){2,}",
	"[[:alnum:]]@", /* a user */
	"(GPU|MIG)-[[:xdigit:]]{2,}([^[:alnum:]]|$)",
	"[[:xdigit:]]{8}-[[:xdigit:]]{4}",
	"([[:xdigit:]]{2}[:-]){5}[[:xdigit:]]{2}", /* a hardware address */
	"::|[[:xdigit:]]+(:[[:xdigit:]]+){3}",     /* IPv6 */
	"[[:xdigit:]]{4}:[[:xdigit:]]{2}",         /* PCI */
	"[[:xdigit:]]{2}:[[:xdigit:]]{2}\\.[0-7]",
};

struct learned {
	char *name, *replacement;
	size_t length;
	int first; /* letter, lower case */
};

struct anonymiser {
	struct pseudonym_key key;
	struct learned *items; /* the longest first */
	size_t count, capacity;
	regex_t harmless[ARRAY_SIZE(harmless)], telling[ARRAY_SIZE(telling)];
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

static void compile(regex_t *out, const char *const *patterns, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (regcomp(&out[i], patterns[i], REG_EXTENDED) != 0)
			abort();
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
	compile((*out)->harmless, harmless, ARRAY_SIZE(harmless));
	compile((*out)->telling, telling, ARRAY_SIZE(telling));
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
	for (size_t i = 0; i < ARRAY_SIZE(harmless); i++)
		regfree(&a->harmless[i]);
	for (size_t i = 0; i < ARRAY_SIZE(telling); i++)
		regfree(&a->telling[i]);
	free(a->items);
	free(a);
}

static char *word_of(const struct anonymiser *a, const char *kind, const char *name)
{
	return xasprintf("%s-%012" PRIx64, kind, pseudonym_hash(&a->key, name, strlen(name)) >> 16);
}

/* Takes over `replacement`. */
static void learn(struct anonymiser *a, const char *name, char *replacement)
{
	size_t length = strlen(name), at = 0;

	for (; at < a->count && a->items[at].length >= length; at++)
		if (strcmp(a->items[at].name, name) == 0) {
			free(replacement);
			return;
		}
	ARRAY_GROW(a->items, a->count, a->capacity);
	memmove(&a->items[at + 1], &a->items[at], (a->count++ - at) * sizeof(*a->items));
	a->items[at] = (struct learned){ xstrdup(name), replacement, length,
					 tolower((unsigned char)*name) };
}

void anonymiser_learn(struct anonymiser *a, const char *kind, const char *name)
{
	if (name && *name)
		learn(a, name, word_of(a, kind, name));
}

char *anonymise_quoted(struct anonymiser *a, const char *text)
{
	if (*text)
		learn(a, text, xstrdup(ANONYMISE_LEFT_OUT));
	return xstrdup(*text ? ANONYMISE_LEFT_OUT : "");
}

/* The word of what was first learned by another kind is that one. */
char *anonymise_name(struct anonymiser *a, const char *kind, const char *name)
{
	anonymiser_learn(a, kind, name);
	for (size_t i = 0; i < a->count; i++)
		if (strcmp(a->items[i].name, name) == 0)
			return xstrdup(a->items[i].replacement);
	return xstrdup("");
}

static bool is_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       c == '_';
}

static const struct learned *learned_at(const struct anonymiser *a, const char *text,
					const char *at)
{
	const int first = tolower((unsigned char)*at);

	for (size_t i = 0; i < a->count; i++) {
		const struct learned *l = &a->items[i];

		if (l->first == first && l->length >= SHORTEST_NAME &&
		    strncasecmp(at, l->name, l->length) == 0 &&
		    !(at > text && is_word(at[-1]) && is_word(*at)) &&
		    !(is_word(at[l->length - 1]) && is_word(at[l->length])))
			return l;
	}
	return NULL;
}

char *anonymise_known(const struct anonymiser *a, const char *text)
{
	struct text out = TEXT_EMPTY;

	for (const char *at = text; *at;) {
		const struct learned *l = learned_at(a, text, at);

		if (l)
			text_add(&out, l->replacement);
		else
			text_add_char(&out, *at);
		at += l ? l->length : 1;
	}
	return text_detach(&out);
}

bool anonymise_tells(const struct anonymiser *a, const char *text, bool versions)
{
	char *rest = xstrdup(text);
	bool tells = strlen(text) > LONGEST_TEXT;
	regmatch_t match;

	for (size_t i = 0; i < ARRAY_SIZE(harmless) && !tells; i++)
		for (char *at = rest; regexec(&a->harmless[i], at, 1, &match, 0) == 0;) {
			memset(at + match.rm_so, ' ', (size_t)(match.rm_eo - match.rm_so));
			at += match.rm_eo;
		}
	for (size_t i = versions ? 1 : 0; i < ARRAY_SIZE(telling) && !tells; i++)
		tells = regexec(&a->telling[i], rest, 0, NULL, 0) == 0;
	free(rest);
	return tells;
}

char *anonymise_text(const struct anonymiser *a, const char *text)
{
	char *known;

	if (strlen(text) > LONGEST_TEXT)
		return xstrdup(ANONYMISE_LEFT_OUT);
	known = anonymise_known(a, text);
	if (!anonymise_tells(a, known, false))
		return known;
	free(known);
	return xstrdup(ANONYMISE_LEFT_OUT);
}
