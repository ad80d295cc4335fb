/* One case on one rank: verified, timed, verified again. */
#ifndef GPUPROOF_COLLECTIVE_MEASURE_H
#define GPUPROOF_COLLECTIVE_MEASURE_H

#include "measure/run.h"

/* struct suite's run. */
enum status collective_run(struct run *run, struct error *err);

#endif
