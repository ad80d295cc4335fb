/* One pair of nodes: every rank's part, verified, timed, verified again. */
#ifndef GPUPROOF_PAIRS_MEASURE_H
#define GPUPROOF_PAIRS_MEASURE_H

#include "measure/run.h"

enum pattern { ALL_RAILS, EACH_RAIL, CROSSED };
enum direction { BOTH, FORTH, BACK };

/* Up to this many bytes a message is timed as a ping-pong, beyond as a flow. */
#define PAIRS_LATENCY_BYTES 4096

/* struct suite's run. */
enum status pairs_run(struct run *run, struct error *err);

#endif
