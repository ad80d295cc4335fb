/* Findings of doctor, collected before and after an acceptance run. */
#ifndef GPUPROOF_CLI_RUN_RUN_HEALTH_H
#define GPUPROOF_CLI_RUN_RUN_HEALTH_H

#include "run/conductor.h"

/* From a probe just taken. The array is the caller's. */
void health_collect(const struct probe *probe, struct finding **out, size_t *count);

/*
 * Adds what was collected `before` the run (released), probes again for what there is after it, and
 * writes the result into `directory` again.
 */
enum status health_add(struct result *result, struct finding *before, size_t count,
		       const struct config *config, const char *directory, struct error *err);

#endif
