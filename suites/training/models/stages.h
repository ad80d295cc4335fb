/* Cutting a model into stages of neighbouring layers with equal work. */
#ifndef GPUPROOF_SUITES_TRAINING_MODELS_STAGES_H
#define GPUPROOF_SUITES_TRAINING_MODELS_STAGES_H

#include "suites/training/models/setup.h"

/*
 * bounds[s] .. bounds[s + 1] are the layers of stage s, each at least one; the largest stage has as
 * few floating-point operations as possible. `stages` <= setup->layers; bounds has stages + 1
 * elements.
 */
void stages_balance(const struct setup *setup, size_t stages, size_t *bounds);
/* The same of layers [first, last). */
void stages_balance_layers(const struct setup *setup, size_t first, size_t last, size_t stages,
			   size_t *bounds);

#endif
