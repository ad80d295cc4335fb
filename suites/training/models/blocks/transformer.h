/* A transformer block, and the functions that embedding and head share with it. See blocks.h. */
#ifndef GPUPROOF_SUITES_TRAINING_MODELS_BLOCKS_TRANSFORMER_H
#define GPUPROOF_SUITES_TRAINING_MODELS_BLOCKS_TRANSFORMER_H

#include "kernels/attention/attention.h"
#include "suites/training/models/blocks/blocks.h"

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

/* A block: see blocks_forward(), blocks_backward(). */
enum status transformer_forward(const struct pass *pass, struct error *err);
enum status transformer_backward(const struct pass *pass, void *dy, struct error *err);

#endif
