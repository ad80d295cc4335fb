/*
 * A growing string. Always NUL-terminated once anything was added; may hold
 * NUL bytes (`length` is exact).
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

/* FNV-1a, 64 bits: continues `hash`, which begins as TEXT_HASH_START, with the bytes. */
#define TEXT_HASH_START UINT64_C(0xcbf29ce484222325)
uint64_t text_hash(uint64_t hash, const void *bytes, size_t count);

void text_add(struct text *t, const char *s);
void text_add_bytes(struct text *t, const void *bytes, size_t count);
/* A word of a command line, quoted where a shell would take it apart. */
void text_add_shell_word(struct text *t, const char *word);
void text_add_char(struct text *t, char c);
void text_addf(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_reset(struct text *t);   /* empties it, keeps the memory */
void text_release(struct text *t); /* frees it */
char *text_detach(struct text *t); /* "" rather than NULL when empty */

bool text_starts_with(const char *s, const char *prefix);
bool text_ends_with(const char *s, const char *suffix);

/* The first `length` bytes of `s` without blanks and tabs around them; malloc'ed. */
char *text_trimmed(const char *s, size_t length);

/* True when the bytes are well-formed UTF-8 (no surrogates, no overlong forms). */
bool text_is_utf8(const char *bytes, size_t count);

/*
 * Length of the well-formed UTF-8 sequence at `bytes` (`count` >= 1 of them are there), 0 when
 * there is none.
 */
size_t text_utf8_sequence(const char *bytes, size_t count);

/*
 * True if the character of `length` bytes at `bytes` is a control character (newline and tab as
 * well), none at all, or one that would reorder the text around it.
 */
bool text_is_harmful(const char *bytes, size_t length);
/*
 * A copy with '?' for each such character but newline and tab: what comes from a file may end on a
 * terminal. malloc'ed.
 */
char *text_harmless(const char *s);

/*
 * Makes UTF-8 of a message in place: a character that "%.60s" cut in two is left out, other bytes
 * that are no text and harmful characters but newline and tab become '?'. Never longer than before.
 */
void text_mend(char *s);

/*
 * The entry of `names` (NULL-terminated) nearest to `word` by edit distance,
 * or NULL when none is near enough to be a likely misspelling.
 */
const char *text_nearest(const char *word, const char *const *names);
/*
 * For a message that `word` is none of `names`: "; did you mean 'a'?", or where none is near ";
 * there are a, b, c". malloc'ed.
 */
char *text_instead(const char *word, const char *const *names);

/* The end of a noun: "" for one, "s" for other numbers of it. */
const char *text_plural(size_t count);

#ifdef __cplusplus
}
#endif

#endif
