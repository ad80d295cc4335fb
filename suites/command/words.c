#include "suites/command/words.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

void words_add(struct words *words, char *word)
{
	words->items = xrealloc(words->items, words->count + 2, sizeof(*words->items));
	words->items[words->count++] = word;
	words->items[words->count] = NULL;
}

void words_release(struct words *words)
{
	for (size_t i = 0; i < words->count; i++)
		free(words->items[i]);
	free(words->items);
	*words = (struct words){ 0 };
}

/* The quoted part that starts at `at`; returns the position after it, NULL if it is not closed. */
static const char *take_quoted(const char *at, struct text *word)
{
	const char mark = *at++;

	for (; *at && *at != mark; at++) {
		if (mark == '"' && *at == '\\' && (at[1] == '"' || at[1] == '\\'))
			at++;
		text_add_char(word, *at);
	}
	return *at ? at + 1 : NULL;
}

/* True for a shell operator; here it would be an unexpected argument. */
static bool is_operator(const char *at, size_t length)
{
	static const char *const words[] = { "|", "||", "&",  "&&",   ";", "<",
					     ">", ">>", "2>", "2>&1", "&>" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strlen(words[i]) == length && strncmp(words[i], at, length) == 0)
			return true;
	return false;
}

/* The word at `at`; returns the position after it, NULL and `err` if it is invalid. */
static const char *command_take_word(const char *at, struct words *words, struct error *err)
{
	const char *start = at;
	struct text word = TEXT_EMPTY;
	size_t length = strcspn(at, " \t");

	if (is_operator(at, length)) {
		error_set(err, STATUS_USAGE,
			  "'%.*s' needs a shell, and none is used; quote it if it is an "
			  "argument, or write sh -c '...'",
			  (int)length, at);
		return NULL;
	}
	while (at && *at && !strchr(" \t", *at)) {
		if (*at == '\'' || *at == '"') {
			at = take_quoted(at, &word);
		} else {
			at += *at == '\\' && at[1];
			text_add_char(&word, *at++);
		}
	}
	if (!at)
		error_set(err, STATUS_USAGE, "a quotation mark is missing after '%.60s'", start);
	words_add(words, text_detach(&word));
	return at;
}

enum status words_split(const char *text, struct words *words, struct error *err)
{
	*words = (struct words){ 0 };
	for (const char *at = text + strspn(text, " \t"); at && *at;) {
		at = command_take_word(at, words, err);
		if (at)
			at += strspn(at, " \t");
	}
	return err->status;
}
