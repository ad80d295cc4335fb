/*
 * Full-text search of `gpuproof help WORD`: the glossary's meaning of a word, and the commands,
 * topics, INI keys and metrics whose help contains it.
 */
#ifndef GPUPROOF_CLI_HELP_SEARCH_H
#define GPUPROOF_CLI_HELP_SEARCH_H

#include <stdbool.h>

#include "base/text.h"

/*
 * Appends the glossary's line of `word` (upper or lower case, also its plural), then the command
 * that shows each text with `word`, and the first line of the text that has it. Returns false if no
 * text has the word.
 */
bool help_search(const char *word, struct text *out);

#endif
