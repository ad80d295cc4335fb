/*
 * Full-text search of `gpuproof help WORD`: the glossary's definition of a word, and the commands,
 * topics, INI keys and metrics whose help contains it.
 */
#ifndef GPUPROOF_CLI_HELP_SEARCH_H
#define GPUPROOF_CLI_HELP_SEARCH_H

#include <stdbool.h>

#include "base/text.h"

/*
 * Appends the glossary's line of `word` (ignoring case and plural), then, for each text with
 * `word`, the command that shows it and its first line with the word. Returns false if no text
 * contains the word.
 */
bool help_search(const char *word, struct text *out);

#endif
