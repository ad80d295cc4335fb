/* Divides a model into stages of neighbouring layers with equal work. */
#ifndef GPUPROOF_SUITES_TRAINING_MODELS_STAGES_H
#define GPUPROOF_SUITES_TRAINING_MODELS_STAGES_H

#include "suites/training/models/setup.h"

/*
 * Sets the layers of stage s to bounds[s] .. bounds[s + 1], at least one each; minimises the
 * floating-point operations of the largest stage. `stages` <= setup->layers; bounds has stages + 1
 * elements.
 */
void stages_balance(const struct setup *setup, size_t stages, size_t *bounds);
/* The same for layers [first, last). */
void stages_balance_layers(const struct setup *setup, size_t first, size_t last, size_t stages,
			   size_t *bounds);

#endif
