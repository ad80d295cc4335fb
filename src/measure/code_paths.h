/*
 * Which code a case ran where the device's capability decides (struct code_path), for its result.
 */
#ifndef GPUPROOF_MEASURE_CODE_PATHS_H
#define GPUPROOF_MEASURE_CODE_PATHS_H

#include "measure/run.h"

/* Before a case: what was launched for the one before is none of its business. */
void code_paths_forget(const struct run *run);
/* After it: into run->result->paths. */
void code_paths_record(const struct run *run);
/* A path that no kernel has: takes over `path`, "name: choice". */
void code_paths_add(struct case_result *result, char *path);
/* For cases that ran at the same time: they have one record. */
void code_paths_copy(const struct case_result *from, struct case_result *to);

#endif
