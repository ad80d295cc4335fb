/* The studies of one case: they check one step's gradients, then measure, and record. */
#ifndef GPUPROOF_TRAINMEM_MEASURE_H
#define GPUPROOF_TRAINMEM_MEASURE_H

#include "measure/run.h"
#include "suites/training/parallel/verify/verify.h"
#include "suites/training/trainmem/training.h"

struct trainmem_case {
	struct run *run;
	struct setup setup;
	struct training_options options;
	double verify_flops;
};

/* The step that keeps everything it computes, in one allocation: the baseline of the others. */
struct training_options trainmem_measure_plain_options(void);
struct setup trainmem_measure_plain_setup(const struct setup *setup);

/*
 * Compares one step of a model like `setup` with at most `flops` operations: the trainer of
 * parallel with the double-precision reference, and then `options` with that trainer. *small is the
 * model used; check->gradient_error the larger of both errors. A difference is STATUS_MISMATCH.
 */
enum status trainmem_measure_check_step(struct device *device, const struct setup *setup,
					const struct training_options *options, double flops,
					struct setup *small, struct verify_check *check,
					struct error *err);
/*
 * Verifies the gradients of a model like the case's, computed with its options, and records them as
 * verified.
 */
enum status trainmem_measure_verify(const struct trainmem_case *c, struct error *err);

/* The study `step`: the gradients, the time and the memory account of a step. */
enum status trainmem_measure_step(const struct trainmem_case *c, struct error *err);
/*
 * Alternating batches are at most this many parts of the setup's batch, which must be divisible by
 * it.
 */
#define ALTERNATION_PARTS 8
/*
 * Steps with changing batch sizes: the memory that the policy needs for them, and their duration.
 */
enum status trainmem_measure_alternating(const struct trainmem_case *c, struct error *err);

#endif
