/* The study `step`: checks one step's gradients, measures its time and its memory account. */
#ifndef GPUPROOF_TRAINMEM_MEASURE_H
#define GPUPROOF_TRAINMEM_MEASURE_H

#include "measure/run.h"
#include "suites/training/trainmem/training.h"

struct trainmem_options {
	struct training_options training;
	double verify_flops;
	double process_seconds; /* maximum for a separate process */
};

/*
 * Verifies the gradients of a model like the setup's, computed with the options, and records them
 * as verified.
 */
enum status measure_verify(struct run *run, const struct setup *setup,
			   const struct trainmem_options *options, struct error *err);
enum status measure_step(struct run *run, const struct setup *setup,
			 const struct trainmem_options *options, struct error *err);
/*
 * Alternating batches are at most this many parts of the setup's batch, which must be divisible by
 * it.
 */
#define ALTERNATION_PARTS 8
/*
 * Steps with changing batch sizes: the memory that the policy needs for them, and their duration.
 */
enum status measure_alternating(struct run *run, const struct setup *setup,
				const struct trainmem_options *options, struct error *err);

/* The step that keeps everything it computes, in one allocation: the baseline of the others. */
struct training_options trainmem_plain_options(void);
struct setup trainmem_plain_setup(const struct setup *setup);

#endif
