#include "base/text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static void text_reserve(struct text *t, size_t extra)
{
	size_t need = t->length + extra + 1;

	if (need <= t->capacity)
		return;
	t->capacity = need > 2 * t->capacity ? need : 2 * t->capacity;
	t->data = xrealloc(t->data, t->capacity, 1);
}

void text_add_bytes(struct text *t, const void *bytes, size_t count)
{
	text_reserve(t, count);
	memcpy(t->data + t->length, bytes, count);
	t->length += count;
	t->data[t->length] = '\0';
}

void text_add(struct text *t, const char *s)
{
	text_add_bytes(t, s, strlen(s));
}

void text_add_char(struct text *t, char c)
{
	text_add_bytes(t, &c, 1);
}

void text_addf(struct text *t, const char *format, ...)
{
	va_list ap, again;
	int length;

	va_start(ap, format);
	va_copy(again, ap);
	length = vsnprintf(NULL, 0, format, ap);
	va_end(ap);
	if (length > 0) {
		text_reserve(t, (size_t)length);
		vsnprintf(t->data + t->length, (size_t)length + 1, format, again);
		t->length += (size_t)length;
	}
	va_end(again);
}

void text_reset(struct text *t)
{
	t->length = 0;
	if (t->data)
		t->data[0] = '\0';
}

void text_release(struct text *t)
{
	free(t->data);
	*t = (struct text)TEXT_EMPTY;
}

char *text_detach(struct text *t)
{
	char *data = t->data ? t->data : xstrdup("");

	*t = (struct text)TEXT_EMPTY;
	return data;
}

bool text_starts_with(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool text_ends_with(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n >= m && strcmp(s + n - m, suffix) == 0;
}

/* RFC 3629, table in section 4. */
size_t text_utf8_sequence(const char *bytes, size_t left)
{
	const unsigned char *p = (const unsigned char *)bytes;
	unsigned char low = 0x80, high = 0xBF;
	size_t length;

	if (p[0] < 0x80)
		return 1;
	if (p[0] >= 0xC2 && p[0] <= 0xDF)
		length = 2;
	else if (p[0] >= 0xE0 && p[0] <= 0xEF)
		length = 3;
	else if (p[0] >= 0xF0 && p[0] <= 0xF4)
		length = 4;
	else
		return 0;
	if (p[0] == 0xE0)
		low = 0xA0;
	else if (p[0] == 0xED)
		high = 0x9F;
	else if (p[0] == 0xF0)
		low = 0x90;
	else if (p[0] == 0xF4)
		high = 0x8F;
	if (left < length || p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < length; i++)
		if (p[i] < 0x80 || p[i] > 0xBF)
			return 0;
	return length;
}

bool text_is_utf8(const char *bytes, size_t count)
{
	size_t at = 0;

	while (at < count) {
		size_t n = text_utf8_sequence(bytes + at, count - at);

		if (!n)
			return false;
		at += n;
	}
	return true;
}

/* Replaces invalid bytes and harmful characters by '?'; a character that is cut off may go. */
static void text_clean(char *s, bool drops_cut)
{
	char *to;

	/* Usually all of the text. */
	while (*s >= 0x20 && *s < 0x7f)
		s++;
	to = s;
	for (size_t left = strlen(s), n; left; s += n, left -= n) {
		size_t whole = text_utf8_sequence(s, left), cut = 0;
		bool shown = whole && (*s == '\n' || *s == '\t' || !text_is_harmful(s, whole));

		/* Bytes that are an incomplete start of a character. */
		if (drops_cut && !whole && (unsigned char)*s >= 0xC2 && (unsigned char)*s <= 0xF4)
			for (cut = 1; ((unsigned char)s[cut] & 0xC0) == 0x80;)
				cut++;
		n = whole ? whole : cut ? cut : 1;
		if (shown)
			memmove(to, s, n);
		else if (!cut)
			*to = '?';
		to += shown ? n : !cut;
	}
	*to = '\0';
}

void text_mend(char *s)
{
	text_clean(s, true);
}

char *text_harmless(const char *s)
{
	char *copy = xstrdup(s);

	text_clean(copy, false);
	return copy;
}

bool text_is_harmful(const char *bytes, size_t length)
{
	static const unsigned char masks[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	const unsigned char *s = (const unsigned char *)bytes;
	uint32_t c = s[0] & masks[length];

	for (size_t i = 1; i < length; i++)
		c = c << 6 | (s[i] & 0x3f);
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff ||
	       (c & 0xfffe) == 0xfffe;
}

/* Levenshtein distance for words of at most 63 characters; longer ones are far from all others. */
static size_t text_levenshtein_distance(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);
	size_t row[64];

	if (n > 63 || m > 63)
		return SIZE_MAX;
	for (size_t j = 0; j <= m; j++)
		row[j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			size_t replace = diagonal + (a[i - 1] != b[j - 1]);
			size_t best = row[j] + 1 < row[j - 1] + 1 ? row[j] + 1 : row[j - 1] + 1;

			diagonal = row[j];
			row[j] = replace < best ? replace : best;
		}
	}
	return row[m];
}

const char *text_nearest(const char *word, const char *const *names)
{
	const char *best = NULL;
	size_t limit = strlen(word) / 3 + 1;
	size_t best_distance = limit + 1;

	for (; *names; names++) {
		size_t d = text_levenshtein_distance(word, *names);

		if (d < best_distance) {
			best = *names;
			best_distance = d;
		}
	}
	return best;
}

char *text_instead(const char *word, const char *const *names)
{
	const char *near = text_nearest(word, names);
	struct text t = TEXT_EMPTY;

	if (near)
		text_addf(&t, "; did you mean '%s'?", near);
	else
		for (size_t i = 0; names[i]; i++)
			text_addf(&t, "%s%s", i ? ", " : "; known: ", names[i]);
	return text_detach(&t);
}

char *text_trimmed(const char *s, size_t length)
{
	while (length && (*s == ' ' || *s == '\t')) {
		s++;
		length--;
	}
	while (length && (s[length - 1] == ' ' || s[length - 1] == '\t'))
		length--;
	return xstrndup(s, length);
}

void text_add_shell_word(struct text *text, const char *word)
{
	bool plain = *word && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ012"
					   "3456789-_=.,:/@%+") == strlen(word);

	text_add(text, plain ? "" : "'");
	for (const char *s = word; *s; s++) {
		if (*s == '\'')
			text_add(text, "'\\''");
		else
			text_add_char(text, *s);
	}
	text_add(text, plain ? "" : "'");
}

uint64_t text_hash(uint64_t hash, const void *bytes, size_t count)
{
	const unsigned char *b = bytes;

	for (size_t i = 0; i < count; i++)
		hash = (hash ^ b[i]) * UINT64_C(0x100000001b3);
	return hash;
}

const char *text_plural(size_t count)
{
	return count == 1 ? "" : "s";
}
