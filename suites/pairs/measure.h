/* One case of suite pairs on one rank: verify, time, verify again. */
#ifndef GPUPROOF_PAIRS_MEASURE_H
#define GPUPROOF_PAIRS_MEASURE_H

#include "measure/run.h"

enum pattern { ALL_RAILS, EACH_RAIL, CROSSED };
enum direction { BOTH, FORTH, BACK };

/* A message of up to this many bytes is timed as a ping-pong, a larger one as a flow. */
#define PAIRS_LATENCY_BYTES 4096

/* run() of struct suite. */
enum status pairs_run(struct run *run, struct error *err);

#endif
