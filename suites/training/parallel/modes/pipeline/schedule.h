/*
 * Simulation of a pipeline's schedule with given times: every stage runs its forward and backward
 * passes in the order of the mode, each as soon as the stage is free and its input has arrived. The
 * gradient for the previous stage is sent after the backward pass or, with dgrad first
 * (backward_schedule.h), after its first half. All times are in seconds; NaN propagates.
 */
#ifndef GPUPROOF_SUITES_TRAINING_PARALLEL_MODES_PIPELINE_SCHEDULE_H
#define GPUPROOF_SUITES_TRAINING_PARALLEL_MODES_PIPELINE_SCHEDULE_H

#include "suites/training/models/mode.h"

struct schedule_stage {
	double forward, inputs; /* of a micro-batch: forward, dgrad */
	double weights;         /* wgrad of setup_wgrad_microbatches() micro-batches */
	bool dgrad_first;
	/*
	 * Transfer of a micro-batch's outputs to the next stage, or of their gradient to the
	 * previous one: latency from the end of the producing kernels to the start of the other
	 * stage, and the part that occupies the link in this direction.
	 */
	double send, occupied;
	double last; /* output: end of its last backward pass */
};

struct schedule {
	const struct setup *setup;
	int stages;
	struct schedule_stage stage[SETUP_MAX_LAYERS]; /* each has at least one layer */
};

/* Initialises the stages of the setup's grid without times. */
void schedule_open(struct schedule *schedule, const struct setup *setup);
/* Sets `last` of every stage; returns the latest. */
double schedule_carry_out(struct schedule *schedule);

#endif
