/*
 * Topics of `gpuproof help TOPIC`, in addition to the commands: docs/topics/<topic>.txt, embedded.
 * The first line is the summary, followed by an empty line and the text, which is folded
 * (base/fold.h).
 *
 * Adding a topic: add a file there.
 */
#ifndef GPUPROOF_CLI_TOPICS_H
#define GPUPROOF_CLI_TOPICS_H

#include "base/embedded.h"

/* NULL: no topic of that name ("limits"). */
const struct embedded_file *topic_find(const char *name);
/* The first line; the caller frees it. */
char *topic_summary(const struct embedded_file *topic);
/* The text after the summary. */
const char *topic_body(const struct embedded_file *topic);
/* The file name without suffix; the caller frees it. */
char *topic_name(const struct embedded_file *topic);

#endif
