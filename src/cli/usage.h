/*
 * Builds the text of `help`, the manual page and usage errors of a command from its members and its
 * option table.
 */
#ifndef GPUPROOF_CLI_USAGE_H
#define GPUPROOF_CLI_USAGE_H

#include "base/text.h"
#include "cli/options.h"

/*
 * Appends a line "PREFIX gpuproof FORM" per form: `first` before the first form, as many blanks
 * before the others.
 */
void usage_forms(const struct command *command, const char *first, struct text *out);
/* Appends about, options and notes, each after an empty line; not folded. */
void usage_details(const struct command *command, struct text *out);
/* Appends one line of at most `width` columns per option, after an empty line. */
void usage_option_lines(const struct command *command, size_t width, struct text *out);

#endif
