/* Findings of doctor, collected before and after an acceptance run. */
#ifndef GPUPROOF_CLI_RUN_RUN_HEALTH_H
#define GPUPROOF_CLI_RUN_RUN_HEALTH_H

#include "run/conductor.h"

/* From a probe just taken; `directory`: where results go. The array is the caller's. */
void health_collect(const struct probe *probe, const char *directory, struct finding **out,
		    size_t *count);
/*
 * Probes again and fills result->postflight; a device of the run that is no longer there, and a
 * probe that fails, are findings, too.
 */
void health_after_run(const struct config *config, const char *directory, struct result *result);

#endif
