/* Stores the output of a failed start next to the result. */
#ifndef GPUPROOF_SUITES_COMMAND_KEEP_H
#define GPUPROOF_SUITES_COMMAND_KEEP_H

#include "measure/processes/program.h"
#include "measure/run.h"

/*
 * Appends the last words of a start to the reason in `err`, and the names of the files in the run's
 * folder that contain its two streams, at most 1 MiB each.
 */
void keep_output(const struct run *run, const struct program_end *end, struct error *err);

#endif
