/* Gathers what the ranks of a step computed, whole, in device memory of rank 0. Collective. */
#ifndef GPUPROOF_PARALLEL_COLLECT_H
#define GPUPROOF_PARALLEL_COLLECT_H

#include "suites/parallel/trainer.h"

/* Only on rank 0; NULL elsewhere. */
struct collection {
	struct arena arena;
	void *gradients;                         /* flat, in the setup's precision */
	void *activations[SETUP_MAX_LAYERS + 1]; /* [l]: batch x widths[l], for 0 < l < layers */
};

/*
 * STATUS_NO_MEMORY on all ranks when rank 0 has no room. collection_release() whatever the outcome.
 */
enum status collect(struct trainer *trainer, struct collection *out, struct error *err);
void collection_release(struct collection *collection);

#endif
