/* Splits a line into words by a subset of shell rules, without expansions. */
#ifndef GPUPROOF_SUITES_COMMAND_WORDS_H
#define GPUPROOF_SUITES_COMMAND_WORDS_H

#include <stddef.h>

#include "base/error.h"

struct words {
	char **items; /* NULL-terminated unless empty */
	size_t count;
};

/*
 * Blanks separate words. 'text' is literal; in "text" a backslash escapes a quotation mark or a
 * backslash; elsewhere it escapes any character. Adjacent parts form one word, and '' is an empty
 * one. STATUS_USAGE: an unclosed quotation, or an unquoted shell operator, such as a word |. The
 * caller always releases `words`.
 */
enum status words_split(const char *text, struct words *words, struct error *err);
void words_add(struct words *words, char *word); /* takes ownership */
void words_release(struct words *words);

#endif
