/* A line of text as words, by a part of the rules of shells: nothing is expanded. */
#ifndef GPUPROOF_SUITES_COMMAND_WORDS_H
#define GPUPROOF_SUITES_COMMAND_WORDS_H

#include <stddef.h>

#include "base/error.h"

struct words {
	char **items; /* NULL-terminated unless there are none */
	size_t count;
};

/*
 * Words are separated by blanks. 'text' is taken as it is; in "text" a backslash keeps a quotation
 * mark or a backslash; elsewhere it keeps any character. Parts without a blank between are one
 * word, and '' is an empty one. STATUS_USAGE: a quotation without its end, or an unquoted operator
 * of shells, such as a word |. The caller releases `words` in any case.
 */
enum status words_split(const char *text, struct words *words, struct error *err);
void words_add(struct words *words, char *word); /* takes it over */
void words_release(struct words *words);

#endif
