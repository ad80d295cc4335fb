/*
 * Order of backward passes and their gradient buffers.
 *
 * Backward of a layer is two GEMMs: dgrad, the gradient of its input, which the layers before
 * depend on, and wgrad, that of its weights, which only the update reads. A pipeline stage (struct
 * mode: `dgrad_first`) computes dgrad of all its layers, sends the result, and computes wgrad then:
 * a stage waits only for the dgrad half of each stage after it, and the transfer overlaps with the
 * wgrad GEMMs. (The split into B and W of "zero bubble" pipelines: Qi, Wan, Huang, Lin 2023,
 * arXiv:2401.10241. Here W follows at once.)
 *
 * The cost: the inputs of wgrad are kept for all layers of a group until its wgrad GEMMs. These are
 * the gradient of the outputs or, with the transposed wgrad layout, its transposed copy
 * (wgrad_layout.h). A group is the whole stage or one recomputed segment, because the next segment
 * overwrites the activations. The first stage sends nothing, and in other modes no rank waits for
 * dgrad: there each layer is a group, and two buffers alternate.
 *
 * Each wgrad product after a step's first adds to the gradients, which it reads and writes. So
 * several micro-batches may share one product (setup_wgrad_microbatches()): its inputs wait for the
 * last of them, in every stage, in neighbouring rows of the buffers. Before the last stage the
 * step's last micro-batch has its own product, so that the others' fill the time until its gradient
 * arrives.
 */
#ifndef GPUPROOF_SUITES_TRAINING_MODELS_BACKWARD_SCHEDULE_H
#define GPUPROOF_SUITES_TRAINING_MODELS_BACKWARD_SCHEDULE_H

#include "suites/training/models/network.h"

bool backward_dgrad_first(const struct network *network);
/* The first layer of the group whose last layer is `last` - 1. */
size_t backward_group(const struct network *network, size_t last);

/* Index in network->transient of the gradient of activations[l], between the partition's layers. */
size_t backward_transient_buffer(const struct network *network, size_t l);
/* Columns of the widest gradient in that buffer; 0: unused. */
uint64_t backward_transient_columns(const struct network *network, size_t buffer);

/*
 * Index in network->transposed of the transposed output gradients of layer `l`; columns of the
 * widest in a buffer.
 */
size_t backward_transposed_buffer(const struct network *network, size_t l);
uint64_t backward_transposed_columns(const struct network *network, size_t buffer);

/*
 * Call when all wgrad layouts are chosen. If every layer has a transposed copy, a gradient of
 * activations is dead when the next but one is written: frees all but two of their buffers.
 */
void backward_layouts_tuned(struct network *network);

#endif
