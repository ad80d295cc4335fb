/* The list of modes. */
#ifndef GPUPROOF_SUITES_TRAINING_PARALLEL_MODES_MODES_H
#define GPUPROOF_SUITES_TRAINING_PARALLEL_MODES_MODES_H

#include "suites/training/models/mode.h"

/* Every mode, NULL-terminated; names in the same order for the INI key. */
extern const struct mode *const modes[];
extern const char *const mode_names[];
const struct mode *mode_find(const char *name);

#endif
