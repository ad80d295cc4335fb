/*
 * The training step in double precision on the CPU, written a second time: plain loops, its own
 * data from the generator, no backend, no kernel. What a run computed is compared with this before
 * it is timed.
 */
#ifndef GPUPROOF_SUITES_TRAINING_MODELS_REFERENCE_REFERENCE_H
#define GPUPROOF_SUITES_TRAINING_MODELS_REFERENCE_REFERENCE_H

#include "suites/training/models/image_model.h"
#include "suites/training/models/model.h"

struct mlp_reference {
	const struct setup *setup;
	struct model model;
	double *parameters, *gradients; /* in the model's flat order; gaps are 0 */
	double *activations[SETUP_MAX_LAYERS +
			    1]; /* [l]: batch x widths[l], the input of layer l */
	int32_t *labels;
	/*
	 * Outputs of the ReLUs inside convolutional layers (image_decisions(), batch x width) that
	 * a run computed: each is compared with what the reference makes of the one before, and
	 * taken in its place. So a rounding decides a ReLU or a pool in both in the same way, and
	 * is not amplified by all batch norms after it. The caller's; NULL: the reference's own.
	 */
	const double *imposed[IMAGE_MAX_DECISIONS];
	double forward_error; /* the largest of those differences, relative (L2) */
	double loss;          /* mean over the batch */
	/*
	 * For the layer where the imposed masks disagree most: the norm of the sums whose ReLU this
	 * reference decides otherwise, relative to all of that layer's. Roundings flip sums near
	 * zero alone. 0 without masks.
	 */
	double mask_error;
};

/* Parameters, input and labels as the setup's seed gives them, rounded as the setup stores them. */
void reference_open(struct mlp_reference *reference, const struct setup *setup);
void reference_close(struct mlp_reference *reference);

/*
 * Loss and gradients. masks[l] (batch x widths[l] bytes) says which outputs of layer l - 1 the run
 * let pass (1) and which it cut (0): rounding flips a few ReLUs near zero, and each flip would be
 * an error far larger than that of the arithmetic. NULL, or masks[l] NULL: the reference decides
 * for itself. Forward: a unit that was let through counts as it is, even if it is slightly negative
 * here. What masks hide shows in mask_error: a run whose units are all cut would agree with itself.
 */
void reference_step(struct mlp_reference *reference, const unsigned char *const *masks);

#endif
