/* Convolutional layers in double precision with plain loops: see reference.h and image_model.h. */
#ifndef GPUPROOF_SUITES_TRAINING_MODELS_REFERENCE_IMAGE_REFERENCE_H
#define GPUPROOF_SUITES_TRAINING_MODELS_REFERENCE_IMAGE_REFERENCE_H

#include "suites/training/models/reference/reference.h"

/* Computes activations[layer + 1] from activations[layer]. */
void image_reference_forward(struct mlp_reference *reference, size_t layer);
/* As transformer_reference_backward(). */
void image_reference_backward(struct mlp_reference *reference, size_t layer, const double *dy,
			      double *dx);

#endif
