/*
 * The largest batch of a split whose step fits into each of its devices, or into emulated cards of
 * a given size: predicted from the step's planned memory, then tried until the largest that fits
 * and the smallest that does not are close together.
 */
#ifndef GPUPROOF_PARALLEL_LARGEST_BATCH_H
#define GPUPROOF_PARALLEL_LARGEST_BATCH_H

#include "measure/run.h"
#include "suites/training/models/setup.h"
#include "suites/training/parallel/ranks/team.h"

struct largest_options {
	uint64_t capacity; /* bytes of each emulated card; 0: the devices' own memory */
	uint64_t reserve;  /* bytes that always stay free */
	uint64_t most;     /* upper end of the search */
};

/*
 * Collective: every rank of the team calls it with the setup of the minimum batch; rank 0 records.
 * STATUS_UNSUPPORTED: not even this fits into an emulated card; STATUS_NO_MEMORY: not into the
 * device.
 */
enum status largest_batch(struct run *run, struct rank_team *team, const struct setup *least,
			  const struct largest_options *options, struct error *err);

#endif
