/* Findings of doctor, collected before and after an acceptance run. */
#ifndef GPUPROOF_CLI_RUN_RUN_HEALTH_H
#define GPUPROOF_CLI_RUN_RUN_HEALTH_H

#include "run/conductor.h"

/* Collects findings from a recent probe. The caller owns the array. */
void health_collect(const struct probe *probe, struct finding **out, size_t *count);

/*
 * Adds the findings from `before` the run (released), probes again for those after it, and rewrites
 * the result in `directory`.
 */
enum status health_add(struct result *result, struct finding *before, size_t count,
		       const struct config *config, const char *directory, struct error *err);

#endif
