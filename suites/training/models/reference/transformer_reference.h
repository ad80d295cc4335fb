/* The layers of a transformer in double precision: plain loops, see reference.h and model.h. */
#ifndef GPUPROOF_SUITES_TRAINING_MODELS_REFERENCE_TRANSFORMER_REFERENCE_H
#define GPUPROOF_SUITES_TRAINING_MODELS_REFERENCE_TRANSFORMER_REFERENCE_H

#include "suites/training/models/reference/reference.h"

/* activations[layer] -> activations[layer + 1]; the first layer reads the setup's tokens. */
void transformer_reference_forward(struct mlp_reference *reference, size_t layer);
/*
 * From dy (batch x widths[layer + 1]) the layer's gradients, and dx (batch x widths[layer], zero
 * before; NULL: not wanted).
 */
void transformer_reference_backward(struct mlp_reference *reference, size_t layer, const double *dy,
				    double *dx);

#endif
