/*
 * Nonlinear layers on the tensors of a network: convolutional layers in images.h; embedding, blocks
 * and head of a transformer here. A row is a token; rows [row, row + rows) are whole sequences. All
 * functions are asynchronous on the stream. The arithmetic is that of kernels/layers and
 * kernels/attention: FP32, TF32 products, FP16, BF16. Every sum has a fixed order, so that replicas
 * stay equal bit for bit.
 */
#ifndef GPUPROOF_SUITES_TRAINING_MODELS_BLOCKS_BLOCKS_H
#define GPUPROOF_SUITES_TRAINING_MODELS_BLOCKS_BLOCKS_H

#include <string.h>

#include "suites/training/models/network.h"

/* epsilon of all norms */
#define BLOCK_NORM_EPSILON 1e-5

/* Rows [row, row + rows) that pass through a layer; `accumulate`: added to the gradients. */
struct pass {
	struct network *n;
	size_t layer;
	uint64_t row, rows;
	bool accumulate;
};

/* A tensor that a layer keeps for backward: `place` is the address of its pointer. */
struct kept_tensor {
	void *place;
	uint64_t bytes;
};
#define LAYER_MAX_KEPT (3 * (IMAGE_MAX_UNITS + 1) + 1)

static inline void *kept_memory(const struct kept_tensor *kept)
{
	void *memory;

	memcpy(&memory, kept->place, sizeof(memory));
	return memory;
}
static inline void kept_place(const struct kept_tensor *kept, void *memory)
{
	memcpy(kept->place, &memory, sizeof(memory));
}

/* Tensors that layer `layer` keeps for `rows` rows; returns their number, 0 for a linear layer. */
size_t blocks_kept(struct network *network, size_t layer, uint64_t rows, struct kept_tensor *out);
/* Allocates scratch memory, but not the tensors that layers keep. */
enum status blocks_scratch_open(struct network *network, struct error *err);

/*
 * Allocates the tensors that blocks keep for backward, and their scratch memory, from the network's
 * arena; nothing for a multilayer perceptron.
 */
enum status block_buffers_open(struct network *network, struct error *err);
/*
 * Copies the partition's tokens into activations[0] and sets the position of every row. Waits for
 * the stream.
 */
enum status blocks_fill_tokens(const struct network *network, void *memory, uint64_t row,
			       uint64_t rows, struct error *err);
enum status blocks_fill_positions(struct network *network, struct error *err);

/* Computes activations[layer + 1] from activations[layer], and the tensors that backward needs. */
enum status blocks_forward(const struct pass *pass, struct error *err);
/*
 * Computes from dy, which it changes, all gradients of the layer's parameters.
 * blocks_input_gradient() must follow before backward of another layer.
 */
enum status blocks_backward(const struct pass *pass, void *dy, struct error *err);
/* See network_backward_end(). */
enum status blocks_sum_norm_gradients(struct network *network, struct error *err);
/* Computes dx after blocks_backward(). */
enum status blocks_input_gradient(const struct pass *pass, const void *dy, void *dx,
				  struct error *err);

#endif
