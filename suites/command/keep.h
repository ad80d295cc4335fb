/* The output of a start that failed, next to the result. */
#ifndef GPUPROOF_SUITES_COMMAND_KEEP_H
#define GPUPROOF_SUITES_COMMAND_KEEP_H

#include "measure/processes/program.h"
#include "measure/run.h"

/*
 * Adds the last words of a start to the reason in `err`, and the names of the files in the run's
 * folder where both of its streams are: of each at most 1 MiB.
 */
void keep_output(const struct run *run, const struct program_end *end, struct error *err);

#endif
