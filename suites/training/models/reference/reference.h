/*
 * An independent implementation of the training step in double precision on the CPU: plain loops,
 * data from its own generator, no backend, no kernel. The results of a run are compared with it
 * before the run is timed.
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
	 * Outputs of the ReLUs inside convolutional layers (image_model_decisions(), batch x width)
	 * of a run. Each is compared with the reference's output and then replaces it. So rounding
	 * decides a ReLU or a pool the same way in both, and is not amplified by the batch norms
	 * that follow. Owned by the caller; NULL: the reference uses its own.
	 */
	const double *imposed[IMAGE_MAX_DECISIONS];
	double forward_error; /* largest of these differences, relative (L2) */
	double loss;          /* mean over the batch */
	/*
	 * For the layer where the imposed masks disagree most: norm of the pre-activations whose
	 * sign disagrees with the mask, relative to all of that layer. Rounding alone flips only
	 * pre-activations near zero. 0 without masks.
	 */
	double mask_error;
};

/* Elements of a tensor of a layer. */
static inline double *model_reference_parameters(const struct mlp_reference *ref, size_t l,
						 size_t tensor)
{
	return ref->parameters + ref->model.layer[l].tensor[tensor].first;
}
static inline double *model_reference_gradients(const struct mlp_reference *ref, size_t l,
						size_t tensor)
{
	return ref->gradients + ref->model.layer[l].tensor[tensor].first;
}

/* Sets parameters, input and labels from the setup's seed, rounded to the setup's precision. */
void model_reference_open(struct mlp_reference *reference, const struct setup *setup);
void model_reference_close(struct mlp_reference *reference);

/*
 * Computes loss and gradients. masks[l] (batch x widths[l] bytes) states which outputs of layer l -
 * 1 passed in the run (1) and which were cut (0): rounding flips a few ReLUs near zero, and each
 * flip would cause an error far larger than that of the arithmetic. NULL, or masks[l] NULL: the
 * reference decides. Forward: an output that passed keeps its value even if it is slightly negative
 * here. mask_error shows errors that masks would hide: a run that cuts every output would agree
 * with the reference.
 */
void model_reference_step(struct mlp_reference *reference, const unsigned char *const *masks);

/* Convolutional layers in double precision with plain loops: see reference.h and image_model.h. */

/* Computes activations[layer + 1] from activations[layer]. */
void image_reference_forward(struct mlp_reference *reference, size_t layer);
/* As transformer_reference_backward(). */
void image_reference_backward(struct mlp_reference *reference, size_t layer, const double *dy,
			      double *dx);

/* The layers of a transformer in double precision with plain loops: see reference.h and model.h. */

/*
 * Computes activations[layer + 1] from activations[layer]; the first layer reads the setup's
 * tokens.
 */
void transformer_reference_forward(struct mlp_reference *reference, size_t layer);
/*
 * Computes from dy (batch x widths[layer + 1]) the gradients of the layer, and dx (batch x
 * widths[layer], initially zero; NULL: not computed).
 */
void transformer_reference_backward(struct mlp_reference *reference, size_t layer, const double *dy,
				    double *dx);

#endif
