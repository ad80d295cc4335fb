/*
 * Texts for people, folded to a width: an explanation after a gap ("  -o FILE   the page")
 * continues below its begin, a paragraph is filled anew, and lines that fit stay as they are.
 */
#ifndef GPUPROOF_CLI_FOLD_H
#define GPUPROOF_CLI_FOLD_H

#include "base/text.h"

/*
 * Appends folded `text`. Lines before the first empty one are usage forms and are never joined.
 * Later lines are joined with the previous one if that was full, and only if something was too
 * long.
 */
void fold_text(struct text *out, const char *text, size_t width);

#endif
