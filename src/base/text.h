/*
 * A growing string. Always NUL-terminated once anything was added; may contain NUL bytes (`length`
 * is exact).
 *
 *	struct text t = TEXT_EMPTY;
 *	text_addf(&t, "%d devices", n);
 *	return text_detach(&t);       // the caller owns it, t is empty again
 */
#ifndef GPUPROOF_BASE_TEXT_H
#define GPUPROOF_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct text {
	char *data; /* NULL while empty */
	size_t length;
	size_t capacity;
};

#define TEXT_EMPTY         \
	{                  \
		NULL, 0, 0 \
	}

/* FNV-1a, 64 bits: continues `hash`, initially TEXT_HASH_START, with the bytes. */
#define TEXT_HASH_START UINT64_C(0xcbf29ce484222325)
uint64_t text_hash(uint64_t hash, const void *bytes, size_t count);

void text_add(struct text *t, const char *s);
void text_add_bytes(struct text *t, const void *bytes, size_t count);
/* Appends a word of a command line, quoted if a shell would split it. */
void text_add_shell_word(struct text *t, const char *word);
void text_add_char(struct text *t, char c);
void text_addf(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_reset(struct text *t);   /* empties it and keeps the memory */
void text_release(struct text *t); /* frees it */
char *text_detach(struct text *t); /* "" instead of NULL if empty */

bool text_starts_with(const char *s, const char *prefix);
bool text_ends_with(const char *s, const char *suffix);

/*
 * Copies the first `length` bytes of `s` without leading and trailing blanks and tabs; the caller
 * frees the copy.
 */
char *text_trimmed(const char *s, size_t length);

/* True if the bytes are well-formed UTF-8 (no surrogates, no overlong forms). */
bool text_is_utf8(const char *bytes, size_t count);

/* Length of the well-formed UTF-8 sequence at `bytes` (`count` >= 1 are available); 0: none. */
size_t text_utf8_sequence(const char *bytes, size_t count);

/*
 * True if the `length` bytes at `bytes` are a control character (including newline and tab), not a
 * character, or one that reorders the text around it.
 */
bool text_is_harmful(const char *bytes, size_t length);
/*
 * Copies `s` with '?' for each such character except newline and tab, because text from a file may
 * be printed on a terminal. The caller frees it.
 */
char *text_harmless(const char *s);

/*
 * Sanitises a message in place: drops a character that "%.60s" cut in two, and replaces other
 * invalid bytes and harmful characters, except newline and tab, by '?'. The text never grows.
 */
void text_mend(char *s);

/*
 * The entry of `names` (NULL-terminated) with the smallest edit distance to `word`; NULL if none is
 * close enough for a misspelling.
 */
const char *text_nearest(const char *word, const char *const *names);
/*
 * Suggestion in a message about an unknown `word`: "; did you mean 'a'?", or, if no name is close,
 * "; known: a, b, c". The caller frees it.
 */
char *text_instead(const char *word, const char *const *names);

/* Plural ending of a noun: "" for 1, "s" for other numbers. */
const char *text_plural(size_t count);

#ifdef __cplusplus
}
#endif

#endif
