/* The hash that distinguishes one epoch of a series from the next. Private to the history. */
#ifndef GPUPROOF_HISTORY_HISTORY_EPOCH_H
#define GPUPROOF_HISTORY_HISTORY_EPOCH_H

#include "result/result.h"

/* Hardware of `device` (may be NULL), driver and config as "name=value" lines. The caller frees it. */
char *epoch_facts(const struct result *result, const struct device_info *device);
/* A name for them: 16 hexadecimal digits. */
void epoch_hash(const char *facts, char out[17]);

/* The facts of the environment as lines. The caller frees it. */
char *night_facts(const struct result *result);

#endif
