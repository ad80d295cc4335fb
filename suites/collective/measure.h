/* Runs one case on one rank: verify, time, verify again. */
#ifndef GPUPROOF_COLLECTIVE_MEASURE_H
#define GPUPROOF_COLLECTIVE_MEASURE_H

#include "measure/run.h"

/* run() of struct suite. */
enum status collective_run(struct run *run, struct error *err);

#endif
