/*
 * Help of commands: docs/commands/<name>.txt, embedded. The first line is the summary. After an
 * empty line follow the forms of the command, one line each: operands and options, then an
 * explanation after three blanks. The rest are paragraphs, with lines "--option: explanation"
 * before the last ones, the notes. shared.txt explains options of several commands.
 *
 * Topics of `gpuproof help TOPIC` are docs/topics/<topic>.txt: the summary, an empty line and the
 * text. Adding a topic: add a file there.
 */
#ifndef GPUPROOF_CLI_USAGE_H
#define GPUPROOF_CLI_USAGE_H

#include "base/embedded.h"
#include "base/text.h"
#include "cli/options.h"

/* The first line of a topic; the caller frees it. */
char *usage_topic_summary(const struct embedded_file *topic);
/* The text after the summary. */
const char *usage_topic_body(const struct embedded_file *topic);
/* The file name without suffix; the caller frees it. */
char *usage_topic_name(const struct embedded_file *topic);
/* NULL: no topic of that name ("limits"). */
const struct embedded_file *usage_topic_find(const char *name);

/* The line of a command in `help`; the caller frees it. */
char *usage_summary(const struct command *command);
/*
 * Appends a line "PREFIX gpuproof FORM" per form: `first` before the first form, as many blanks
 * before the others.
 */
void usage_forms(const struct command *command, const char *first, struct text *out);
/* Operands and options of an action: "NAME RESULT...". The caller frees it. */
char *usage_operands(const struct command *command, const char *action);
/* Explanation of an option; the caller frees it. */
char *usage_explanation(const struct command *command, const struct option_row *row);
/* Appends paragraphs, options and notes, each after an empty line; not folded. */
void usage_details(const struct command *command, struct text *out);
/*
 * Appends each option with its explanation, or with `brief` the first clause of it, after an empty
 * line; not folded.
 */
void usage_option_lines(const struct command *command, bool brief, struct text *out);

#endif
