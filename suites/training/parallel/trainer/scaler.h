/*
 * The loss scale on the device (kernels/training/loss_scale.h) in a step of several ranks: either
 * all ranks skip a step, or none. Without setup->dynamic_scale these calls do nothing.
 */
#ifndef GPUPROOF_SUITES_TRAINING_PARALLEL_TRAINER_SCALER_H
#define GPUPROOF_SUITES_TRAINING_PARALLEL_TRAINER_SCALER_H

#include "suites/training/parallel/trainer/trainer.h"

/* As in PyTorch: good steps before the scale doubles. */
#define SCALER_INTERVAL 2000

/* Resets the counts. The scale stays; in the first call it is set to the setup's. Waits. */
enum status scaler_reset(struct trainer *trainer, struct error *err);

/*
 * Enqueued on the compute stream after the rank's gradients are complete: checks for an overflow on
 * every rank and decides about this step. The optimizers that follow obey the decision.
 */
enum status scaler_decide(struct trainer *trainer, struct error *err);

/*
 * Runs steps until one is not skipped, so that the following steps start with a suitable scale.
 * Collective.
 */
enum status scaler_settle(struct trainer *trainer, struct error *err);

/* Scale of the gradients of a step before its update. Waits. */
enum status scaler_scale(struct trainer *trainer, double *scale, struct error *err);
/* Number of applied and skipped steps since the last reset; zero without a dynamic scale. Waits. */
enum status scaler_counts(struct trainer *trainer, uint64_t *applied, uint64_t *skipped,
			  struct error *err);

#endif
