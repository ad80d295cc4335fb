/*
 * One case of the suite `parallel` on one rank: verifies, times, and breaks down time and memory.
 */
#ifndef GPUPROOF_PARALLEL_MEASURE_H
#define GPUPROOF_PARALLEL_MEASURE_H

#include "measure/run.h"
#include "suites/training/models/setup.h"

struct baseline_cache;
struct connection_cache;

/* State kept between cases: run->suite_state. */
struct parallel_state {
	struct connection_cache *connections;
	struct baseline_cache *baselines;
};

struct largest_options;

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

#endif
