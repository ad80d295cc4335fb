/*
 * A command's usage text read as what it is, a small grammar, so that the manual page and the completions cannot
 * disagree with `help`: each form starts "gpuproof NAME" (the first without "gpuproof"), an option is a --word.
 */
#ifndef GPUPROOF_CLI_USAGE_H
#define GPUPROOF_CLI_USAGE_H

#include <stdbool.h>

#include "base/text.h"
#include "cli/command.h"

/*
 * Appends the command's options, each once, with a space behind each: "--output -o --strict ": those of its forms, and those
 * that a line below explains, not those that explanations mention.
 */
void usage_options(const struct command *command, struct text *out);

/* What an option's value may be, where that is a short list; ends with NULL. */
struct usage_value {
	const char *option;
	void (*add)(struct text *out); /* to a list of its own */
	bool files;                    /* or a file */
};
extern const struct usage_value usage_values[];
/* Appends them as usage_options() does. */
void usage_value_words(const struct usage_value *value, struct text *out);

/* Appends what may follow "gpuproof config ACTION": sections for keys, else shipped configs, for write also limits. */
void usage_config_names(const char *action, struct text *out);

/*
 * Appends what may follow the command's name, with a space behind each: subcommands as they are written ("save",
 * "devices|suites"), CONFIG as the shipped configs, FORMAT as the formats, COMMAND as commands and topics. Nothing
 * when a file is wanted.
 */
void usage_words(const struct command *command, struct text *out);

#endif
