/*
 * Buffer aliasing: buffers of a training step that share memory because their lifetimes do not
 * overlap. The implementation is in buffer_alias.c. Time goes from left to right:
 *
 *   memory              forward ............. loss   backward: layer L, l, l - 1 ...     update
 *
 *   gradients of l      |activations[l] ................ last read||gradients of l ...  read|
 *   transient[L % 2]          |logits ....|gradient of logits||gradients of every 2nd input |
 *   other transient                                 |dx of L|transposed dy of L - 1|dx ...  |
 *
 * 1. Backward writes a layer's gradients after the last use of the layer's outputs: activations[l]
 *    occupies the gradients of that layer or of the layers before it. Not over gaps between
 *    tensors, which stay zero.
 * 2. The logits are one of the two buffers for gradients of activations; the loss writes their
 *    gradient in place.
 * 3. The transposed copy of an output gradient (layer.h) is in the buffer of the gradient of
 *    the same layer's input, which is written next. This does not lower the peak, which the first
 *    step has while it tries both layouts, but it makes a step's memory independent of the layout
 *    that was faster.
 * 4. A tensor-parallel pair of layers l and l + 1 has the gradient between them, `part`, in chunks.
 *    With transposed copies:
 *
 *      part                        |transposed dy of layer l, chunk by chunk ........ wgrad of l|
 *      activations[l + 2]  masks|  |gradient between the layers, chunk by chunk .... dgrad of l|
 *      dy of layer l + 1   |chunk by chunk replaced by its transposed copy ...... wgrad of l + 1|
 *
 *    Bias gradients are complete before the last chunk has read the masks and before the wgrad GEMM
 *    has read the inputs, either of which may occupy their place: so they wait in temporary buffers
 *    (struct network: bias_sums).
 *
 * A transformer's step (struct logits_overlap) may compute logits for one chunk of rows at a time,
 * each with its loss and the head's gradients, so that the logits of all rows are never in memory
 * together. A pipeline stage, which shares nothing, stores the logits of only one micro-batch.
 *
 *   gradients below the head |logits, gradient|gradients of the blocks ...|of the embedding ..read|
 *   logits, what they need more               |buffers of the mode .......|
 *   output of the head's norm ......|gradients between layers ....................................|
 *   output of GELU, last block .............|of the output; of qkv|
 *   what GELU reads, last block .................|inside the branches|
 *
 * The last two rows apply to every model: a block's gradients replace tensors that its own backward
 * has read.
 *
 * Convolutional layers have their gradients in the memory of later layers: blocks/image_buffers.c.
 *
 * setup->no_aliasing disables all of this, so that classes of memory are comparable with those of
 * other frameworks. The loss still writes the gradient of the logits in place of the logits, and
 * GELU's backward writes in place of the gradient of its output.
 *
 * Buffers are aliased only if a step has one forward and one backward pass over each layer (struct
 * mode: `aliases_buffers`, no gradient accumulation, no recomputation). Aliased activations are
 * lost after the step; to compare them, record them (struct network).
 *
 * Reduction of a device's peak, by tests/bench/bench_memory, Adam, direct wgrad layout:
 *
 *   model                        single    ddp x2, x8  zero1 x2, x8  zero3 x2, x8  tensor x2, x8
 *   8 x 8192, batch 8192, TF32   18.6 %   10.7, 3.0 %   13.6, 5.2 %  15.7, 10.6 %   17.6, 12.9 %
 *   same, FP16 mixed             10.7 %    5.8, 1.5 %    8.8, 4.3 %    9.6, 7.5 %    10.8, 9.6 %
 *   16 x 2048, batch 8192, TF32  11.4 %  15.7, 10.9 %  18.6, 17.6 %   10.8, 9.3 %    10.6, 9.7 %
 *   8 x 8192, batch 1024, TF32    3.0 %    1.5, 0.4 %    2.0, 0.7 %    2.4, 1.5 %    4.4, 11.3 %
 */
#ifndef GPUPROOF_SUITES_TRAINING_MODELS_BUFFER_ALIAS_H
#define GPUPROOF_SUITES_TRAINING_MODELS_BUFFER_ALIAS_H

#include "suites/training/models/network.h"

#define BUFFER_ALIAS_NONE UINT64_MAX

/* True if setup->no_aliasing makes a difference. */
bool buffer_alias_changes(const struct setup *setup);
bool buffer_alias_possible(const struct network *network);

/*
 * For each l: the element of the array of gradients at which activations[l] may begin, or
 * BUFFER_ALIAS_NONE if they need memory of their own.
 */
void buffer_alias_plan(const struct network *network, uint64_t at[SETUP_MAX_LAYERS + 1]);
/*
 * Places activations[l], of `bytes`, there, and the logits in memory that is also a transient
 * buffer.
 */
void buffer_alias_outputs(struct network *network, size_t l, uint64_t element, uint64_t bytes);
enum status buffer_alias_logits(struct network *network, uint64_t bytes, struct error *err);

/* See struct logits_overlap (network.h). */
struct logits_overlap buffer_alias_logits_overlap(const struct setup *setup,
						  const struct rank_partition *partition,
						  const struct parameter_shard *shard);
/*
 * Number of chunks in which a rank computes logits and losses of a backward call; 1: all rows at
 * once.
 */
uint64_t buffer_alias_loss_chunks(const struct setup *setup);
/* Allocates that block for network->gradients and the logits. */
enum status buffer_alias_open_gradients(struct network *network, struct error *err);
/* True if alignment leaves elements of the layer's range that belong to no tensor. */
bool buffer_alias_has_gaps(const struct model_layer *layer);

/*
 * Call after the layouts of all wgrad GEMMs are chosen. Frees the buffer of transposed copies and
 * uses the transient buffers instead, if they are large enough. Only for networks with whole
 * layers.
 */
void buffer_alias_transposed(struct network *network);

/* Buffers of tensor-parallel pairs of layers. */
struct pair_buffers {
	void *part;    /* gradients between the layers of a pair */
	bool in_place; /* the gradient of a pair's inputs replaces that of its outputs */
	/*
	 * the transposed copies occupy `part`, and the gradients reuse a buffer that is no longer
	 * needed
	 */
	bool part_aliased;
};

/* Number of layers in pairs. */
size_t buffer_alias_pairs_layers(const struct setup *setup);
/*
 * Bytes of `part` for the widest pair, and of the temporary buffers for bias gradients, if needed.
 */
uint64_t buffer_alias_pairs_part_bytes(const struct setup *setup);
uint64_t buffer_alias_pairs_bias_bytes(const struct setup *setup);
/*
 * Allocates `part`, and temporary buffers for bias gradients if other buffers alias their memory.
 */
enum status buffer_alias_pairs_open(struct network *network, struct pair_buffers *pairs,
				    struct error *err);
/* Like buffer_alias_transposed(), for pairs. */
void buffer_alias_pairs_transposed(struct network *network, struct pair_buffers *pairs);
/* Gradients between the layers of the pair that begins with layer `first`. */
void *buffer_alias_pairs_part(const struct network *network, const struct pair_buffers *pairs,
			      size_t first);

#endif
