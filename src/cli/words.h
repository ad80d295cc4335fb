/* Words for shell completion, each followed by a blank. */
#ifndef GPUPROOF_CLI_WORDS_H
#define GPUPROOF_CLI_WORDS_H

#include "base/text.h"
#include "cli/options.h"

void cli_words_backends(struct text *out);
void cli_words_configs(struct text *out);
void cli_words_export_formats(struct text *out);
void cli_words_gpus(struct text *out); /* and "all" */
void cli_words_import_formats(struct text *out);
void cli_words_limits(struct text *out);
void cli_words_settings(struct text *out); /* "run.suites=" for --set */
void cli_words_suites(struct text *out);
void cli_words_subjects(struct text *out); /* commands and topics */

void cli_words_embedded(struct text *out); /* configs, limits and claims */
void cli_words_sections(struct text *out); /* sections of a config: run, ..., suites */

/*
 * Suggestion in a message about a `word` that `list` does not have: text_instead(). The caller
 * frees it.
 */
char *cli_words_instead(const char *word, void (*list)(struct text *out));

#endif
