/*
 * A command's usage text read as what it is, a small grammar, so that the manual page and the completions cannot
 * disagree with `help`: each form starts "gpuproof NAME" (the first without "gpuproof"), an option is a --word.
 */
#ifndef GPUPROOF_CLI_USAGE_H
#define GPUPROOF_CLI_USAGE_H

#include "base/text.h"
#include "cli/command.h"

/* Appends the command's long options, each once, with a space behind each: "--output --strict ". */
void usage_options(const struct command *command, struct text *out);

/*
 * Appends what may follow the command's name, with a space behind each: subcommands as they are written ("save",
 * "devices|suites"), CONFIG as the shipped configs, FORMAT as the formats, COMMAND as commands and topics. Nothing
 * when a file is wanted.
 */
void usage_words(const struct command *command, struct text *out);

#endif
