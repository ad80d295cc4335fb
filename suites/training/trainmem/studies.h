/*
 * Studies of common recommendations: each runs one case of suite trainmem and records its metrics.
 */
#ifndef GPUPROOF_TRAINMEM_STUDIES_H
#define GPUPROOF_TRAINMEM_STUDIES_H

#include "suites/training/trainmem/measure.h"

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
