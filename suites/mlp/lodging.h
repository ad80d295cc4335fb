/*
 * Memory that a step needs at one time and that serves it at another. Backward writes a layer's gradients when the
 * outputs of that layer have been used for the last time, so the outputs may lie where its gradients, or those of
 * layers before it, are going to be. The logits' place takes turns with one other buffer for the gradients of
 * activations. Transposed copies lie where the gradient of the same layer's input comes next.
 *
 * Only where a step goes once forward and once back (struct mode: `lodges`, no accumulation, nothing computed again).
 * Activations are gone after the step: whoever wants to compare them records them (struct network).
 */
#ifndef GPUPROOF_SUITES_MLP_LODGING_H
#define GPUPROOF_SUITES_MLP_LODGING_H

#include "suites/mlp/network.h"

#define LODGING_NONE UINT64_MAX

bool lodging_possible(const struct network *network);

/*
 * For each l the element of the array of gradients at which activations[l] may lie, or LODGING_NONE: they need
 * memory of their own. No gap between tensors is covered: those stay zero.
 */
void lodging_plan(const struct network *network, uint64_t at[SETUP_MAX_LAYERS + 1]);

/*
 * When the routes of the weights' gradients are settled: gives up the buffer of transposed copies for the
 * transient ones, where these are large enough. Of networks whose layers are whole.
 */
void lodging_transposed(struct network *network);

#endif
