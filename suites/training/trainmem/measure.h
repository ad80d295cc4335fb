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

/*
 * The step that keeps everything it computes, with POLICY_ARENA in one allocation: the baseline of
 * the others.
 */
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

/* Studies of common recommendations, in studies.c. */

/*
 * Two logical devices on one, each with a memory limit that holds a step plus LOGICAL_MARGIN:
 * alternating steps of both, and the effect of one's failed allocation on the other.
 */
#define LOGICAL_MARGIN ((uint64_t)64 << 20)
enum status study_logical(const struct trainmem_case *c, struct error *err);

/*
 * Compares gradients of parts that are summed without division by their number, as loops in many
 * guides do, with the mean gradients.
 */
enum status study_accumulation(const struct trainmem_case *c, struct error *err);

/*
 * Training on `curve_samples` samples, each used once, with labels from a fixed linear map of the
 * first inputs, so that there is something to learn; at learning rate `curve_rate`.
 */
enum status study_loss_curve(const struct trainmem_case *c, struct error *err);

/*
 * CLEARING_STEPS steps with changing batch sizes under a limit of CLEARING_ROOM times the need of
 * the largest, and whether the largest fits afterwards, with and without clearing the cache.
 */
#define CLEARING_ROOM 1.1
#define CLEARING_STEPS 200
enum status study_clearing(const struct trainmem_case *c, struct error *err);

/*
 * A batch that does not fit in backward and one that does not fit in forward, and which remedies
 * make each fit: half the batch, checkpointing, accumulation, offloading.
 */
#define REMEDIES(X)                                                                 \
	X(halved, "with half the batch")                                            \
	X(checkpointed, "with recomputation of all but about sqrt(layers) outputs") \
	X(accumulated, "with gradient accumulation over two parts")                 \
	X(offloaded, "with outputs offloaded to host memory")
enum status study_remedies(const struct trainmem_case *c, struct error *err);

#endif
