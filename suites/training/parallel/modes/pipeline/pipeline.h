/*
 * Pipelines: each rank has a stage of neighbouring layers; activations are sent to later stages and
 * gradients to earlier ones, in micro-batches. The modes differ in the order of a stage's forwards
 * and backwards, and so in the number of micro-batches that it must keep:
 *
 *     warm-up forwards, then one forward and one backward in turn, then the rest of the backwards.
 *
 * A stage computes and sends dgrad before it computes wgrad (network.h), except in
 * layer_split.
 */
#ifndef GPUPROOF_SUITES_TRAINING_PARALLEL_MODES_PIPELINE_PIPELINE_H
#define GPUPROOF_SUITES_TRAINING_PARALLEL_MODES_PIPELINE_PIPELINE_H

#include "suites/training/models/mode.h"
#include "suites/training/parallel/trainer/trainer.h"

/* Members of struct mode: all forwards first, 1F1B. */
uint64_t pipeline_plan_warmup_all(int stages, int stage, uint64_t micro);
uint64_t pipeline_plan_warmup_plain(int stages, int stage, uint64_t micro);

/*
 * Number of backward passes that share the wgrad product after pass `turn`; 0: no product follows
 * (setup_wgrad_microbatches()). Before the last stage, the step's last pass has its own product:
 * the others are computed while the stage waits for its gradient.
 */
uint64_t pipeline_plan_product(const struct setup *setup, bool last_stage, uint64_t turn);

/* Members of struct mode. */
const char *pipeline_plan_refusal(const struct setup *setup);
void pipeline_plan_partition(const struct setup *setup, int rank, struct rank_partition *partition);
uint64_t pipeline_buffers(const struct setup *setup, int rank);
enum status pipeline_open(struct trainer *trainer, struct error *err);
void pipeline_close(struct trainer *trainer);
void pipeline_tuned(struct trainer *trainer);
enum status pipeline_enqueue(struct trainer *trainer, struct error *err);
unsigned pipeline_commands(const struct trainer *trainer);
/*
 * Idle share of a step with p stages and m micro-batches. If a stage sends gradients only after its
 * whole backward pass, it is (p - 1) / (m + p - 1), for any order of forward and backward passes.
 * If a stage first computes and sends the gradients of its inputs, stages idle less:
 * 2 (p - 1) / (3 m + 2 (p - 1)), if all GEMMs take the same time. If several micro-batches share a
 * GEMM of weight gradients, the share comes from a simulated schedule of equal stages.
 */
double pipeline_plan_bubble(const struct setup *setup);

/*
 * Simulation of a pipeline's schedule with given times: every stage runs its forward and backward
 * passes in the order of the mode, each as soon as the stage is free and its input has arrived. The
 * gradient for the previous stage is sent after the backward pass or, with dgrad first
 * (network.h), after its first half. All times are in seconds; NaN propagates.
 */

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
void pipeline_plan_schedule_open(struct schedule *schedule, const struct setup *setup);
/* Sets `last` of every stage; returns the latest. */
double pipeline_plan_schedule_carry_out(struct schedule *schedule);

#endif
