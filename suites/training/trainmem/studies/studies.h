/*
 * Studies of common recommendations: each runs one case of suite trainmem and records its metrics.
 */
#ifndef GPUPROOF_TRAINMEM_STUDIES_H
#define GPUPROOF_TRAINMEM_STUDIES_H

#include "measure/run.h"
#include "suites/training/trainmem/measure.h"

/*
 * logical.c: two logical devices on one, each with a memory limit that holds a step plus
 * LOGICAL_MARGIN: alternating steps of both, and the effect of one's failed allocation on the
 * other.
 */
#define LOGICAL_MARGIN ((uint64_t)64 << 20)
enum status study_logical(struct run *run, const struct setup *setup,
			  const struct trainmem_options *options, struct error *err);

/*
 * accumulation.c: compares gradients of parts that are summed without division by their number, as
 * loops in many guides do, with the mean gradients.
 */
enum status study_accumulation(struct run *run, const struct setup *setup,
			       const struct trainmem_options *options, struct error *err);

/*
 * loss_curve.c: training on `samples` samples, each used once, with labels from a fixed linear map
 * of the first inputs, so that there is something to learn; at learning rate `rate`.
 */
struct loss_curve_options {
	uint64_t samples;
	double rate;
};
enum status study_loss_curve(struct run *run, const struct setup *setup,
			     const struct trainmem_options *options,
			     const struct loss_curve_options *curve, struct error *err);

/*
 * clearing.c: CLEARING_STEPS steps with changing batch sizes under a limit of CLEARING_ROOM times
 * the need of the largest, and whether the largest fits afterwards, with and without clearing the
 * cache.
 */
#define CLEARING_ROOM 1.1
#define CLEARING_STEPS 200
enum status study_clearing(struct run *run, const struct setup *setup,
			   const struct trainmem_options *options, struct error *err);

/*
 * remedies.c: a batch that does not fit in backward and one that does not fit in forward, and which
 * remedies make each fit: half the batch, checkpointing, accumulation, offloading.
 */
#define REMEDIES(X)                                                                 \
	X(halved, "with half the batch")                                            \
	X(checkpointed, "with recomputation of all but about sqrt(layers) outputs") \
	X(accumulated, "with gradient accumulation over two parts")                 \
	X(offloaded, "with outputs offloaded to host memory")
struct remedies_options {
	uint64_t capacity, reserve, most;
};
enum status study_remedies(struct run *run, const struct setup *setup,
			   const struct trainmem_options *options,
			   const struct remedies_options *remedies, struct error *err);

#endif
