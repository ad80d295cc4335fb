/*
 * One case of the suite `parallel` on one rank: verifies, times, and breaks down time and memory.
 */
#ifndef GPUPROOF_PARALLEL_MEASURE_H
#define GPUPROOF_PARALLEL_MEASURE_H

#include "measure/run.h"
#include "suites/training/models/setup.h"
#include "suites/training/parallel/ranks/team.h"

struct baseline_cache;
struct connection_cache;

/* State kept between cases: run->suite_state. */
struct parallel_state {
	struct connection_cache *connections;
	struct baseline_cache *baselines;
};

/*
 * The largest batch of a split whose step fits into each of its devices, or into emulated cards of
 * a given size: predicted from the step's planned memory, then tried until the largest that fits
 * and the smallest that does not are close together.
 */
struct largest_options {
	uint64_t capacity; /* bytes of each emulated card; 0: the devices' own memory */
	uint64_t reserve;  /* bytes that always stay free */
	uint64_t most;     /* upper end of the search */
};

struct measure_options {
	/* searches for the largest batch and times nothing; NULL: no search */
	const struct largest_options *largest;
	/* maximum floating-point operations of a step that the reference computes */
	double verify_flops;
	bool timeline;      /* record the time of each operation of one step */
	int64_t iterations; /* samples per series; 0: the stop rule decides */
};

/* Collective: every rank of run->world calls it. */
enum status parallel_measure_setup(struct run *run, const struct setup *setup,
				   const struct measure_options *options, struct error *err);

/*
 * Collective: every rank of the team calls it with the setup of the minimum batch; rank 0 records.
 * STATUS_UNSUPPORTED: not even this fits into an emulated card; STATUS_NO_MEMORY: not into the
 * device.
 */
enum status largest_batch(struct run *run, struct rank_team *team, const struct setup *least,
			  const struct largest_options *options, struct error *err);

#endif
