/*
 * Texts for people, folded to a width: an explanation after a gap ("  -o FILE   the page")
 * continues below its begin, a paragraph is filled anew, and lines that fit stay as they are.
 */
#ifndef GPUPROOF_CLI_FOLD_H
#define GPUPROOF_CLI_FOLD_H

#include "base/text.h"

/*
 * Appends `text`. Lines before the first empty one are forms, which are never joined; later ones
 * are joined with the one before when that was full, and only where something was too long.
 */
void fold_text(struct text *out, const char *text, size_t width);

#endif
