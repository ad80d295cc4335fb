/*
 * A mode's schedule with the times that a case measured: the step time if messages took no time,
 * and the idle time of the devices with real messages. Formulas ignore that stages differ (the
 * first does not compute the gradient of its input) and that messages arrive late.
 */
#ifndef GPUPROOF_SUITES_TRAINING_PARALLEL_DERIVED_H
#define GPUPROOF_SUITES_TRAINING_PARALLEL_DERIVED_H

#include "result/result.h"
#include "suites/training/models/mode.h"

/* Seconds of one step. */
struct measured_times {
	const double *compute; /* per rank: its kernels alone, including the update */
	/* per rank: the update alone, at most `compute`; only for pipelines */
	const double *update;
	double communication; /* all communication alone */
};

struct measured_schedule {
	/*
	 * of the step without message time; for modes without a schedule: the slowest rank's
	 * kernels
	 */
	double seconds;
	/*
	 * mean over the stages: fraction of the step, including messages, without kernels; no
	 * pipeline: NaN
	 */
	double idle;
};

/*
 * A stage's kernel time is divided among forward, gradients of inputs and gradients of weights in
 * proportion to the operations of their products. The message time is chosen so that the same
 * schedule without kernels takes `communication`; if a grid also sums parts or replicas, the
 * fraction of its bytes that are messages. Edges differ in proportion to their widths.
 */
struct measured_schedule parallel_derived_schedule_measured(const struct setup *setup,
							    const struct measured_times *times);

/*
 * The highest rates that a run measured on the devices of a training step, and their consequences:
 * utilisation, and the sizes above which communication can be hidden.
 */

struct highest_rates {
	double gemm; /* FLOP/s of one device in the step's precision, without transposed operands */
	double bus;  /* bus bandwidth of an all-reduce over the step's ranks, B/s */
};

/*
 * Reads the cases of `result` (suites matmul and collective) whose first device is `device`; NaN if
 * the run did not measure them.
 */
struct highest_rates parallel_derived_highest_rates_find(const struct result *result,
							 const char *device,
							 const struct setup *setup);

/*
 * The width below which the all-reduce of a tensor-parallel pair of n ranks takes longer than its
 * GEMMs: (n - 1) e F / (2 beta). The batch per device below which data parallelism cannot hide its
 * all-reduce is 1 / n of it. F, beta: `rates`; e: bytes of an element.
 */
double parallel_derived_critical_width(const struct setup *setup,
				       const struct highest_rates *rates);

#endif
