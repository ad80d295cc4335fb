/*
 * Gathers the results of a step from all ranks as whole tensors in device memory of rank 0.
 * Collective.
 */
#ifndef GPUPROOF_SUITES_TRAINING_PARALLEL_VERIFY_COLLECT_H
#define GPUPROOF_SUITES_TRAINING_PARALLEL_VERIFY_COLLECT_H

#include "suites/training/parallel/trainer/trainer.h"

struct collection {
	struct trainer *trainer;
	struct arena arena;
	/* Only on rank 0; NULL on other ranks. */
	void *gradients;                         /* flat, in the setup's precision */
	void *activations[SETUP_MAX_LAYERS + 1]; /* [l]: batch x widths[l], for 0 < l < layers */
	void *decisions[IMAGE_MAX_DECISIONS];    /* batch x image_decision_width() */
	void *staging; /* a tensor of one rank whose rows are parts of the whole tensor's rows */
};

/*
 * Before the step: allocates memory, and buffers for activations that the step overwrites.
 * STATUS_NO_MEMORY on all ranks if one has no room. collection_release() must follow in any case.
 */
enum status collect_prepare(struct trainer *trainer, struct collection *out, struct error *err);
/* Call after the step. */
enum status collection_collect(struct collection *collection, struct error *err);
/* Waits for the streams: after a failed step the team must have been abandoned. */
void collection_release(struct collection *collection);

#endif
