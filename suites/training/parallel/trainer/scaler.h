/*
 * The loss scale that the device keeps (kernels/training/loss_scale.h) in a step of several ranks:
 * all skip a step, or none. Without setup->dynamic_scale these calls do nothing.
 */
#ifndef GPUPROOF_SUITES_TRAINING_PARALLEL_TRAINER_SCALER_H
#define GPUPROOF_SUITES_TRAINING_PARALLEL_TRAINER_SCALER_H

#include "suites/training/parallel/trainer/trainer.h"

/* PyTorch's: good steps before the scale doubles. */
#define SCALER_INTERVAL 2000

/* Counts from zero. The scale stays as it is; the first time it is the setup's. Waits. */
enum status scaler_reset(struct trainer *trainer, struct error *err);

/*
 * On the compute stream, after the rank's gradients are complete: looks for an overflow on every
 * rank and decides about this step. The optimizers after it obey.
 */
enum status scaler_decide(struct trainer *trainer, unsigned parts, struct error *err);

/*
 * Steps until one is not skipped, so that what follows begins with a scale that fits. Collective.
 */
enum status scaler_settle(struct trainer *trainer, struct error *err);

/* The scale of the gradients of a step that is not updated yet. Waits. */
enum status scaler_scale(struct trainer *trainer, double *scale, struct error *err);
/* Steps that were applied and skipped since the last reset; zero without a dynamic scale. Waits. */
enum status scaler_counts(struct trainer *trainer, uint64_t *applied, uint64_t *skipped,
			  struct error *err);

#endif
