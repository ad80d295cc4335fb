/*
 * One case of the suite `parallel` on one rank: verify, then time, then say where the time and the
 * memory went.
 */
#ifndef GPUPROOF_PARALLEL_MEASURE_H
#define GPUPROOF_PARALLEL_MEASURE_H

#include "measure/run.h"
#include "suites/training/models/setup.h"

struct baseline_cache;
struct connection_cache;

/* State kept from case to case: run->suite_state. */
struct parallel_state {
	struct connection_cache *connections;
	struct baseline_cache *baselines;
};

struct largest_options;

struct measure_options {
	/* the largest batch is looked for, and nothing is timed; NULL: not so */
	const struct largest_options *largest;
	double verify_flops; /* of a step: the most that the reference follows */
	bool timeline;       /* record when each operation of one step ran */
	int64_t iterations;  /* samples per series; 0: the stop rule decides */
};

/* Collective: every rank of run->world calls it. */
enum status measure_setup(struct run *run, const struct setup *setup,
			  const struct measure_options *options, struct error *err);

#endif
