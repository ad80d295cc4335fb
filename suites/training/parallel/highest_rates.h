/*
 * The highest rates that a run measured on the devices of a training step, and their consequences:
 * utilisation, and the sizes above which communication can be hidden.
 */
#ifndef GPUPROOF_SUITES_TRAINING_PARALLEL_HIGHEST_RATES_H
#define GPUPROOF_SUITES_TRAINING_PARALLEL_HIGHEST_RATES_H

#include "result/result.h"
#include "suites/training/models/mode.h"

struct highest_rates {
	double gemm; /* FLOP/s of one device in the step's precision, without transposed operands */
	double bus;  /* bus bandwidth of an all-reduce over the step's ranks, B/s */
};

/*
 * Reads the cases of `result` (suites matmul and collective) whose first device is `device`; NaN if
 * the run did not measure them.
 */
struct highest_rates highest_rates_find(const struct result *result, const char *device,
					const struct setup *setup);

/*
 * The batch per device below which data parallelism cannot hide its all-reduce, (n - 1) / n e F /
 * (2 beta), and the width below which the all-reduce of a tensor-parallel pair takes longer than
 * its GEMMs, (n - 1) e F / (2 beta). F, beta: `rates`; e: bytes of an element.
 */
double highest_rates_critical_batch(const struct setup *setup, const struct highest_rates *rates);
double highest_rates_critical_width(const struct setup *setup, const struct highest_rates *rates);

#endif
