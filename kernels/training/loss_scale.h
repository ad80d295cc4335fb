/*
 * The loss scale that follows the gradients, kept on the device so that a step never waits for the
 * host (Micikevicius et al., ICLR 2018, in PyTorch's shape): halved when a gradient overflowed,
 * whose step is skipped, and doubled after many good steps.
 *
 *	backward, with the loss times `scale`; gradients added up over ranks
 *	loss_scale_check  of every array of gradients: sets `found`
 *	`found` becomes the largest of all ranks' (a float, so that any collective can do it)
 *	loss_scale_decide, then the optimizers, which read `inverse` and the corrections
 */
#ifndef GPUPROOF_KERNELS_TRAINING_LOSS_SCALE_H
#define GPUPROOF_KERNELS_TRAINING_LOSS_SCALE_H

#include "kernels/kernel.h"

#define LOSS_SCALE_START 65536.0
#define LOSS_SCALE_LEAST 1.0
#define LOSS_SCALE_MOST 16777216.0 /* 2^24 */

/* Device memory. */
struct loss_scale {
	float scale;   /* of the gradients that are computed next */
	float found;   /* not 0: some gradient is infinite or not a number */
	float inverse; /* decided: 1 / scale of the gradients that are there; 0: skip this step */
	float correction1, correction2; /* decided: 1 - beta^applied */
	uint32_t good;                  /* steps since the scale changed */
	uint64_t applied, skipped;      /* steps so far */
};

/*
 * "loss_scale_check": state->found = 1 where some gradient is not finite; else it stays as it is.
 */
struct loss_scale_check_arguments {
	const void *gradient;
	enum precision precision;
	uint64_t count;
	struct loss_scale *state;
};

/*
 * "loss_scale_decide": skips the step or counts it, sets `inverse` and the corrections, clears
 * `found`, and sets the scale of the next step: halved, or doubled after `interval` good steps (0:
 * never).
 */
struct loss_scale_decide_arguments {
	struct loss_scale *state;
	double beta1, beta2;
	uint64_t interval;
};

#endif
