/*
 * The largest batch of a split whose step fits each of its devices, or cards of a size that they
 * emulate: predicted from the plan of the step, then tried until the largest that fits and the
 * smallest that does not are close together.
 */
#ifndef GPUPROOF_PARALLEL_LARGEST_BATCH_H
#define GPUPROOF_PARALLEL_LARGEST_BATCH_H

#include "measure/run.h"
#include "suites/training/models/setup.h"
#include "suites/training/parallel/ranks/team.h"

struct largest_options {
	uint64_t capacity; /* of each emulated card; 0: the devices' own memory */
	uint64_t reserve;  /* of it always left free */
	uint64_t most;     /* where the search ends */
};

/*
 * Collective: every rank of the team calls it with the setup of the least batch; rank 0 records.
 * A card that not even this fits is STATUS_UNSUPPORTED, of the device itself STATUS_NO_MEMORY.
 */
enum status largest_batch(struct run *run, struct rank_team *team, const struct setup *least,
			  const struct largest_options *options, struct error *err);

#endif
