/*
 * Training steps that are recorded once and launched repeatedly as one graph, on all of the team's
 * streams that a step uses. The device counts the steps: see optimizer_clock in
 * kernels/training/training.h.
 */
#ifndef GPUPROOF_SUITES_TRAINING_PARALLEL_VERIFY_RECORDED_H
#define GPUPROOF_SUITES_TRAINING_PARALLEL_VERIFY_RECORDED_H

#include "suites/training/parallel/trainer/trainer.h"

struct verify_recorded {
	struct trainer *trainer;
	unsigned parts;
	struct graph *graph;
};

/*
 * Records `parts` of one step (enum step_part) without executing it; every layer must be tuned and
 * every kernel loaded before. STATUS_UNSUPPORTED if the backend or the transport cannot record. Not
 * collective: a rank may call it alone.
 */
enum status recorded_open(struct verify_recorded *recorded, struct trainer *trainer, unsigned parts,
			  struct error *err);
/* Enqueues `steps` steps. */
enum status recorded_launch(struct verify_recorded *recorded, unsigned steps, struct error *err);
void recorded_close(struct verify_recorded *recorded);

/*
 * Runs some steps from the start by calls, and as many as graphs: the parameters and the loss must
 * be equal in every bit, else STATUS_MISMATCH. Collective. The trainer ends in the state after
 * `steps` steps.
 */
enum status recorded_verify(struct trainer *trainer, unsigned steps, struct error *err);

#endif
