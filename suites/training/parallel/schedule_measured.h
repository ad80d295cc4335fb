/*
 * A mode's schedule with the times that a case measured: the step time if messages took no time,
 * and the idle time of the devices with real messages. Formulas ignore that stages differ (the
 * first does not compute the gradient of its input) and that messages arrive late.
 */
#ifndef GPUPROOF_SUITES_TRAINING_PARALLEL_SCHEDULE_MEASURED_H
#define GPUPROOF_SUITES_TRAINING_PARALLEL_SCHEDULE_MEASURED_H

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
struct measured_schedule schedule_measured(const struct setup *setup,
					   const struct measured_times *times);

#endif
