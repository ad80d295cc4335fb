/*
 * Code paths: which implementation a case ran where the device's capability selects one (struct
 * code_path), for its result.
 */
#ifndef GPUPROOF_MEASURE_CODE_PATHS_H
#define GPUPROOF_MEASURE_CODE_PATHS_H

#include "measure/run.h"

/* Call before a case: drops the launches of the previous one. */
void code_paths_forget(const struct run *run);
/* Call after a case: stores the paths in run->result->paths. */
void code_paths_record(const struct run *run);
/* Adds a path chosen outside of kernels; takes ownership of `path`, "name: choice". */
void code_paths_add(struct case_result *result, char *path);
/* Copies the paths of cases that ran concurrently and have a single record. */
void code_paths_copy(const struct case_result *from, struct case_result *to);

#endif
