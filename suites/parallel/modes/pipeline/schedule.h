/*
 * A pipeline's schedule, carried out with given times: every stage takes its forwards and backwards in the order of the
 * mode, each when the stage is free and what it needs has come. What the stage before waits for has left with the backward
 * or, where gradients of inputs go first (turns.h), with the first half of it. Seconds throughout; a NaN stays one.
 */
#ifndef GPUPROOF_SUITES_PARALLEL_MODES_PIPELINE_SCHEDULE_H
#define GPUPROOF_SUITES_PARALLEL_MODES_PIPELINE_SCHEDULE_H

#include "suites/mlp/mode.h"

struct schedule_stage {
	double forward, inputs, weights; /* of a micro-batch; backward is the last two */
	double adding;                   /* more, to the gradients of the micro-batches before */
	bool inputs_first;
	/*
	 * A micro-batch's outputs to the next stage, or the gradient of them back: from the end of what makes them until the
	 * other stage may begin, and of that the time for which the link carries nothing else in this direction.
	 */
	double send, occupied;
	double last; /* filled in: when its last backward has ended */
};

struct schedule {
	const struct setup *setup;
	int stages;
	struct schedule_stage stage[SETUP_MAX_RANKS];
};

/* Stages without times, of the setup's grid. */
void schedule_open(struct schedule *schedule, const struct setup *setup);
/* Fills in `last` of every stage, and returns the latest. */
double schedule_carry_out(struct schedule *schedule);

#endif
