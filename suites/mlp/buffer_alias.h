/*
 * Buffer aliasing: which buffers of a training step share memory because their lifetimes do not overlap.
 *
 *                      forward of all layers     backward of layer l      backward of layer l-1
 *   activations[l]     written ------------ last read
 *   gradients of l                               written (same memory) --------------------------->
 *   logits             written -> loss; then one of the two buffers for gradients of activations
 *   transposed copy                              one of these two buffers as well
 *
 * Backward writes a layer's gradients after the last use of the layer's outputs, so the outputs may occupy the
 * memory of the gradients of that layer or of the layers before it. The logits share memory with one of the two
 * buffers for gradients of activations. The transposed copy of an output gradient shares memory with the gradient of
 * the same layer's input, which is written next.
 *
 * Only where a step has one forward and one backward pass over each layer (struct mode: `aliases_buffers`, no
 * gradient accumulation, no recomputation). Aliased activations are lost after the step; to compare them, record
 * them (struct network).
 */
#ifndef GPUPROOF_SUITES_MLP_BUFFER_ALIAS_H
#define GPUPROOF_SUITES_MLP_BUFFER_ALIAS_H

#include "suites/mlp/network.h"

#define BUFFER_ALIAS_NONE UINT64_MAX

bool buffer_alias_possible(const struct network *network);

/*
 * For each l: the element of the array of gradients at which activations[l] may begin, or BUFFER_ALIAS_NONE if they
 * need memory of their own. Gaps between tensors are never covered: they stay zero.
 */
void buffer_alias_plan(const struct network *network, uint64_t at[SETUP_MAX_LAYERS + 1]);

/*
 * Call when the layouts of all wgrad GEMMs are chosen. Frees the buffer of transposed copies and uses the transient
 * buffers instead, if these are large enough. Only for networks whose layers are whole.
 */
void buffer_alias_transposed(struct network *network);

#endif
