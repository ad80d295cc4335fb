/*
 * A mode's schedule applied to the times that a case measured: how long the step would take if
 * messages took no time, and how long its devices idle with the messages as they are. A formula
 * knows neither stages that differ (the first has no gradient of its input to compute) nor messages
 * that come late.
 */
#ifndef GPUPROOF_SUITES_TRAINING_PARALLEL_SCHEDULE_MEASURED_H
#define GPUPROOF_SUITES_TRAINING_PARALLEL_SCHEDULE_MEASURED_H

#include "suites/training/models/mode.h"

/* Seconds of one step. */
struct measured_times {
	const double *compute; /* of each rank: its kernels alone, the update with them */
	/* of each rank: the update alone, at most `compute`; pipelines only */
	const double *update;
	double communication; /* all communication alone */
};

struct measured_schedule {
	/*
	 * of the step, if no message took time; modes without a schedule: the slowest rank's
	 * kernels
	 */
	double seconds;
	/*
	 * mean over the stages: part of the step, messages and all, without kernels; no pipeline:
	 * NaN
	 */
	double idle;
};

/*
 * A stage's kernels are shared out to forward, gradients of inputs and of weights, by their
 * products' operations. A message takes what makes the same schedule without kernels take
 * `communication`; where a grid adds up parts or replicas as well, the messages' share of its
 * bytes. Edges differ as their widths do.
 */
struct measured_schedule schedule_measured(const struct setup *setup,
					   const struct measured_times *times);

#endif
