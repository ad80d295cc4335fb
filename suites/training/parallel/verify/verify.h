/*
 * A split is timed only after its loss and gradients were found equal to those of independent
 * computations: the double-precision reference (on a smaller model of the same structure if the
 * full one would take too long), and one device that computes the whole step at full size. A
 * difference is STATUS_MISMATCH on every rank. All calls are collective.
 */
#ifndef GPUPROOF_SUITES_TRAINING_PARALLEL_VERIFY_VERIFY_H
#define GPUPROOF_SUITES_TRAINING_PARALLEL_VERIFY_VERIFY_H

#include "suites/training/parallel/trainer/trainer.h"

/* Largest errors that rounding explains, all relative (gradients: in the L2 norm). */
struct tolerance {
	double gradient; /* over all parameters */
	double tensor;   /* of each weight matrix and bias separately */
	double loss;
	double masks;   /* reference.h: mask_error */
	double forward; /* reference.h: forward_error */
};
struct tolerance verify_tolerance(const struct setup *setup);

struct verify_check {
	double gradient_error, loss_error;
	/* of the reference; 0 in comparisons with one device, which masks its own forward */
	double mask_error;
	double loss;
};

/*
 * Compares one step of `setup` (already small) with the double-precision reference under the run's
 * ReLU masks: loss and gradients, then two optimizer updates, then the equality of replicas. After
 * a failure the team has no connections: rank_team_abandon().
 */
enum status verify_reference(const struct setup *setup, struct rank_team *team,
			     struct verify_check *check, struct error *err);

/*
 * Compares one step of `trainer` with `single` (on rank 0; NULL on other ranks): same data, same
 * ReLU masks, same precision. STATUS_NO_MEMORY if rank 0 has no room for the copies; after any
 * other failure the team has no connections.
 */
enum status verify_against_single(struct trainer *trainer, struct trainer *single,
				  struct verify_check *check, struct error *err);

/*
 * In a replicated mode every rank's parameters and reduced gradients must equal rank 0's bit for
 * bit. *sum: a checksum of this rank's parameters.
 */
enum status verify_replicas(struct trainer *trainer, uint64_t *sum, struct error *err);

/*
 * Training steps that are recorded once and launched repeatedly as one graph, on all of the team's
 * streams that a step uses. The device counts the steps: see optimizer_clock in
 * kernels/training/training.h.
 */

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
enum status verify_recorded_open(struct verify_recorded *recorded, struct trainer *trainer,
				 unsigned parts, struct error *err);
/* Enqueues `steps` steps. */
enum status verify_recorded_launch(struct verify_recorded *recorded, unsigned steps,
				   struct error *err);
void verify_recorded_close(struct verify_recorded *recorded);

/*
 * Runs some steps from the start by calls, and as many as graphs: the parameters and the loss must
 * be equal in every bit, else STATUS_MISMATCH. Collective. The trainer ends in the state after
 * `steps` steps.
 */
enum status recorded_verify(struct trainer *trainer, unsigned steps, struct error *err);

#endif
