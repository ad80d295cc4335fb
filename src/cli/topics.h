/*
 * The topics that `gpuproof help TOPIC` explains, in addition to the commands:
 * docs/topics/<topic>.txt, compiled in. The first line is the summary, an empty one follows, then
 * the text, which is folded (base/fold.h).
 *
 * Adding a topic: one file there.
 */
#ifndef GPUPROOF_CLI_TOPICS_H
#define GPUPROOF_CLI_TOPICS_H

#include "base/embedded.h"

/* NULL: there is none of that name ("limits"). */
const struct embedded_file *topic_find(const char *name);
/* The first line; the caller frees it. */
char *topic_summary(const struct embedded_file *topic);
/* The text after the summary. */
const char *topic_body(const struct embedded_file *topic);
/* The name without the file's suffix; the caller frees it. */
char *topic_name(const struct embedded_file *topic);

#endif
