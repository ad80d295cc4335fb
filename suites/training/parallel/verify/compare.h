/* Relative L2 differences of gradients, tensor by tensor. Used on rank 0. */
#ifndef GPUPROOF_SUITES_TRAINING_PARALLEL_VERIFY_COMPARE_H
#define GPUPROOF_SUITES_TRAINING_PARALLEL_VERIFY_COMPARE_H

#include "suites/training/parallel/trainer/trainer.h"
#include "suites/training/parallel/verify/verify.h"

struct verify_difference {
	double overall; /* over all parameters */
	double worst;   /* of one tensor */
	size_t worst_layer;
	const char *worst_tensor; /* its name in the model */
};

/* Copies numbers from device memory; does nothing after an error. */
enum status verify_fetch(struct rank_team *team, const void *array, enum precision precision,
			 uint64_t count, double *out, struct error *err);

/* Flat gradients of the model in device memory of this rank. */
struct gradients {
	struct rank_team *team;
	const void *memory;
	const struct setup *setup;
	double scale;          /* of the loss that they are gradients of */
	const double *on_host; /* these instead, unscaled; NULL: in device memory */
};

/* `by_device`: neither is copied to the host. */
enum status verify_compare_gradients(const struct model *model, const struct gradients *run,
				     const struct gradients *expected, bool by_device,
				     struct verify_difference *out, struct error *err);

/*
 * STATUS_MISMATCH with a sentence that names the difference from `than` and its size. NaN counts as
 * a difference.
 */
enum status verify_compare_judge(const struct verify_difference *difference, double loss,
				 double expected_loss, const struct tolerance *tolerance,
				 const char *than, struct verify_check *check, struct error *err);

/* Verifies that the optimizer updated the parameters by its formula. */

/*
 * Runs two optimizer updates with the current gradients and compares each parameter with the
 * formula in double precision, on every rank for its own parameters; also checks that 16-bit copies
 * are the rounded master weights. Collective.
 */
enum status verify_compare_update(struct trainer *trainer, struct error *err);

/*
 * Gathers the results of a step from all ranks as whole tensors in device memory of rank 0.
 * Collective.
 */

struct collection {
	struct trainer *trainer;
	struct arena arena;
	/* Only on rank 0; NULL on other ranks. */
	void *gradients;                         /* flat, in the setup's precision */
	void *activations[SETUP_MAX_LAYERS + 1]; /* [l]: batch x widths[l], for 0 < l < layers */
	void *decisions[IMAGE_MAX_DECISIONS];    /* batch x image_model_decision_width() */
	void *staging; /* a tensor of one rank whose rows are parts of the whole tensor's rows */
};

/*
 * Before the step: allocates memory, and buffers for activations that the step overwrites.
 * STATUS_NO_MEMORY on all ranks if one has no room. verify_collect_release() must follow in any
 * case.
 */
enum status verify_collect_prepare(struct trainer *trainer, struct collection *out,
				   struct error *err);
/* Call after the step. */
enum status verify_collect_all(struct collection *collection, struct error *err);
/* Waits for the streams: after a failed step the team must have been abandoned. */
void verify_collect_release(struct collection *collection);

#endif
