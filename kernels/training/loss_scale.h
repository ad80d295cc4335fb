/*
 * Dynamic loss scale, kept on the device so that a step never waits for the host (Micikevicius et
 * al., ICLR 2018, as in PyTorch): halved when a gradient overflows, and that step is skipped;
 * doubled after many good steps.
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
	float scale;   /* for the next gradients */
	float found;   /* not 0: a gradient is infinite or NaN */
	float inverse; /* decision: 1 / scale of the present gradients; 0: skip this step */
	float correction1, correction2; /* decision: 1 - beta^applied */
	uint32_t good;                  /* steps since the last change of the scale */
	uint64_t applied, skipped;      /* number of steps so far */
};

/* "loss_scale_check": sets state->found = 1 if a gradient is not finite; otherwise unchanged. */
struct loss_scale_check_arguments {
	const void *gradient;
	enum precision precision;
	uint64_t count;
	struct loss_scale *state;
};

/*
 * "loss_scale_decide": skips or counts the step, sets `inverse` and the corrections, clears
 * `found`, and sets the scale of the next step: halved, or doubled after `interval` good steps (0:
 * never).
 */
struct loss_scale_decide_arguments {
	struct loss_scale *state;
	double beta1, beta2;
	uint64_t interval;
};

#endif
