/* Words for shell completion, each followed by a blank. */
#ifndef GPUPROOF_CLI_WORDS_H
#define GPUPROOF_CLI_WORDS_H

#include "base/text.h"
#include "cli/options.h"

void words_backends(struct text *out);
void words_configs(struct text *out);
void words_export_formats(struct text *out);
void words_gpus(struct text *out); /* and "all" */
void words_import_formats(struct text *out);
void words_limits(struct text *out);
void words_settings(struct text *out); /* "run.suites=" for --set */
void words_suites(struct text *out);
void words_subjects(struct text *out); /* commands and topics */

void words_embedded(struct text *out); /* configs, limits and claims */
void words_sections(struct text *out); /* sections of a config: suites, run, limit, report */

#endif
