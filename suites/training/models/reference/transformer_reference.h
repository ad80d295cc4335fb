/* The layers of a transformer in double precision with plain loops: see reference.h and model.h. */
#ifndef GPUPROOF_SUITES_TRAINING_MODELS_REFERENCE_TRANSFORMER_REFERENCE_H
#define GPUPROOF_SUITES_TRAINING_MODELS_REFERENCE_TRANSFORMER_REFERENCE_H

#include "suites/training/models/reference/reference.h"

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
