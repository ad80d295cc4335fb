/*
 * Nonlinear layers on the tensors of a network: convolutional layers; embedding, blocks
 * and head of a transformer. A row is a token; rows [row, row + rows) are whole sequences. All
 * functions are asynchronous on the stream. The arithmetic is that of kernels/layers and
 * kernels/attention: FP32, TF32 products, FP16, BF16. Every sum has a fixed order, so that replicas
 * stay equal bit for bit.
 */
#ifndef GPUPROOF_SUITES_TRAINING_MODELS_BLOCKS_BLOCKS_H
#define GPUPROOF_SUITES_TRAINING_MODELS_BLOCKS_BLOCKS_H

#include <string.h>

#include "kernels/attention/attention.h"
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

static inline void *model_blocks_kept_memory(const struct kept_tensor *kept)
{
	void *memory;

	memcpy(&memory, kept->place, sizeof(memory));
	return memory;
}
static inline void model_blocks_kept_place(const struct kept_tensor *kept, void *memory)
{
	memcpy(kept->place, &memory, sizeof(memory));
}

/* Tensors that layer `layer` keeps for `rows` rows; returns their number, 0 for a linear layer. */
size_t model_blocks_kept(struct network *network, size_t layer, uint64_t rows,
			 struct kept_tensor *out);
/* Allocates scratch memory, but not the tensors that layers keep. */
enum status model_blocks_scratch_open(struct network *network, struct error *err);

/*
 * Allocates the tensors that blocks keep for backward, and their scratch memory, from the network's
 * arena; nothing for a multilayer perceptron.
 */
enum status model_blocks_buffers_open(struct network *network, struct error *err);
/*
 * Copies the partition's tokens into activations[0] and sets the position of every row. Waits for
 * the stream.
 */
enum status model_blocks_fill_tokens(const struct network *network, void *memory, uint64_t row,
				     uint64_t rows, struct error *err);
enum status model_blocks_fill_positions(struct network *network, struct error *err);

/* Computes activations[layer + 1] from activations[layer], and the tensors that backward needs. */
enum status model_blocks_forward(const struct pass *pass, struct error *err);
/*
 * Computes from dy, which it changes, all gradients of the layer's parameters.
 * model_blocks_input_gradient() must follow before backward of another layer.
 */
enum status model_blocks_backward(const struct pass *pass, void *dy, struct error *err);
/* See gemm_layer_backward_end(). */
enum status model_blocks_sum_norm_gradients(struct network *network, struct error *err);
/* Computes dx after model_blocks_backward(). */
enum status model_blocks_input_gradient(const struct pass *pass, const void *dy, void *dx,
					struct error *err);

/*
 * Convolutional layers (image_model.h) on the tensors of a network, with the interface of blocks.h:
 * a row is an image. For backward, a layer keeps the output of each convolution, with a batch norm
 * also the output of the ReLU, and the statistics.
 */

/* See model_blocks_kept(). */
size_t blocks_images_kept(struct network *network, size_t layer, uint64_t rows,
			  struct kept_tensor *out);
/* Allocates scratch memory and gradients, but not the tensors that layers keep: image_buffers.c. */
enum status image_buffers_scratch_open(struct network *network, struct error *err);
/* True if the network's gradients fit into the memory of later layers. */
bool image_buffers_alias(struct network *network);
/* Allocates scratch memory, gradients and kept tensors; if they are aliased, also the outputs. */
enum status image_buffers_open(struct network *network, struct error *err);

enum status blocks_images_forward(const struct pass *pass, struct error *err);
enum status blocks_images_backward(const struct pass *pass, void *dy, struct error *err);
enum status blocks_images_input_gradient(const struct pass *pass, void *dx, struct error *err);

/* A transformer block, and the functions that embedding and head share with it. See blocks.h. */

/* Y = X W^T + b: W is tensor `weight` of the layer, out x in; b, if any, is the next tensor. */
struct linear {
	size_t weight;
	uint64_t in, out;
	bool has_bias;
};

/* Attention over `rows` tokens: queries, keys and values are parts of the rows of one tensor. */
struct attention_shape transformer_attention(const struct network *network, uint64_t rows);

/*
 * Gathers the pass's rows of hidden columns, of which this rank has its share
 * (network_row_shares()), into blocks->gathered, valid until the next call; returns `share` itself
 * if it is whole.
 */
void *transformer_gather(const struct pass *pass, void *share, struct error *err);
/* This rank's share of the rows of hidden columns. */
void *transformer_share(const struct pass *pass, void *whole);
/* Address of row `row`, modulo the kept rows, in the tensors that a norm keeps. */
struct kept_norm transformer_kept_norm(const struct network *network, const struct kept_norm *norm,
				       uint64_t row);

/* Computes kept->y from x; `gamma`: the tensor of scales, followed by the tensor of shifts. */
enum status transformer_norm(const struct pass *pass, size_t gamma, const void *x,
			     const struct kept_norm *kept, struct error *err);
/* Replaces dy by dx. */
enum status transformer_norm_backward(const struct pass *pass, size_t gamma, const void *x,
				      const struct kept_norm *kept, void *dy, struct error *err);
/* y = a + b, of this rank's share of the rows. */
enum status transformer_add_residual(const struct pass *pass, const void *a, const void *b, void *y,
				     struct error *err);

enum status transformer_linear(const struct pass *pass, const struct linear *linear, const void *x,
			       void *y, struct error *err);
/*
 * Computes the gradients of weight and bias, and dx. `sums`: the layer's outputs are divided among
 * ranks, so dx is summed over them (or the sum is scattered) while the gradient of the weights is
 * computed.
 */
enum status transformer_linear_backward(const struct pass *pass, const struct linear *linear,
					const void *x, void *dy, void *dx, bool sums,
					struct error *err);
/*
 * Sums rows over ranks into `y`; with sequence parallelism only this rank's rows. `summands` is
 * then separate memory, else `y`. The stream waits for the sum.
 */
enum status transformer_sum(const struct pass *pass, void *summands, void *y, struct error *err);

/* A block: see model_blocks_forward(), model_blocks_backward(). */
enum status transformer_forward(const struct pass *pass, struct error *err);
enum status transformer_backward(const struct pass *pass, void *dy, struct error *err);

#endif
