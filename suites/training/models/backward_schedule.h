/*
 * Order of backward passes and their gradient buffers.
 *
 * Backward of a layer is two GEMMs: dgrad, the gradient of its input, on which the layers before
 * depend, and wgrad, the gradient of its weights, which only the update reads. A pipeline stage
 * (struct mode: `dgrad_first`) computes dgrad of all its layers, sends the result, and then
 * computes wgrad. So each stage waits only for the dgrad half of the stages after it, and the
 * transfer overlaps with the wgrad GEMMs. (The split into B and W of "zero bubble" pipelines: Qi,
 * Wan, Huang, Lin 2023, arXiv:2401.10241. Here W follows immediately.)
 *
 * The cost: the inputs of wgrad are kept for all layers of a group until its wgrad GEMMs. These are
 * the gradients of the outputs or, with the transposed wgrad layout, their transposed copies
 * (wgrad_layout.h). A group is the whole stage or one recomputed segment, because the next segment
 * overwrites the activations. The first stage sends nothing, and in other modes no rank waits for
 * dgrad: there each layer is a group, and two buffers alternate.
 *
 * Each wgrad product after the first of a step reads the gradients and adds to them. To save these
 * accesses, several micro-batches may share one product (setup_wgrad_microbatches()): in every
 * stage its inputs are stored in neighbouring rows of the buffers until the last of these
 * micro-batches is complete. Before the last stage, the last micro-batch of a step has its own
 * product, so that the product of the others runs while the stage waits for the last gradient.
 */
#ifndef GPUPROOF_SUITES_TRAINING_MODELS_BACKWARD_SCHEDULE_H
#define GPUPROOF_SUITES_TRAINING_MODELS_BACKWARD_SCHEDULE_H

#include "suites/training/models/network.h"

bool backward_dgrad_first(const struct network *network);
/* First layer of the group whose last layer is `last` - 1. */
size_t backward_group(const struct network *network, size_t last);

/*
 * Index in network->transient of the gradient of activations[l], for activations between layers of
 * the partition.
 */
size_t backward_transient_buffer(const struct network *network, size_t l);
/* Columns of the widest gradient in that buffer; 0: the buffer is unused. */
uint64_t backward_transient_columns(const struct network *network, size_t buffer);

/*
 * Index in network->transposed of the transposed output gradients of layer `l`; number of columns
 * of the widest in a buffer.
 */
size_t backward_transposed_buffer(const struct network *network, size_t l);
uint64_t backward_transposed_columns(const struct network *network, size_t buffer);

/*
 * Call after all wgrad layouts are chosen. If every layer has a transposed copy, a gradient of
 * activations is no longer needed when the second next gradient is written: frees all but two of
 * the buffers.
 */
void backward_layouts_tuned(struct network *network);

#endif
