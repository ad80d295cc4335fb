/* A transformer block, and the functions that embedding and head share with it. See blocks.h. */
#ifndef GPUPROOF_SUITES_TRAINING_MODELS_BLOCKS_TRANSFORMER_H
#define GPUPROOF_SUITES_TRAINING_MODELS_BLOCKS_TRANSFORMER_H

#include "kernels/attention/attention.h"
#include "suites/training/models/network.h"

/* Y = X W^T + b: W is tensor `weight` of a layer, out x in; b, if any, is the next tensor. */
struct linear {
	size_t layer, weight;
	uint64_t in, out;
	bool has_bias;
};

/* Calls backend_launch(), or does nothing for an idle network. */
enum status transformer_launch(const struct network *network, struct stream *stream,
			       const char *kernel, const void *arguments, struct error *err);

/* Address of a layer's tensor in the buffer that its products use. */
void *transformer_weights(const struct network *network, size_t layer, size_t tensor);
void *transformer_gradients(const struct network *network, size_t layer, size_t tensor);

/* Attention over `rows` tokens: queries, keys and values are parts of the rows of one tensor. */
struct attention_shape transformer_attention(const struct network *network, uint64_t rows);

/*
 * Gathers `rows` rows of hidden columns, of which this rank has its share
 * (network_sequence_parallel_size()), into blocks->gathered, valid until the next call; returns
 * `share` itself if it is whole.
 */
const void *transformer_gather(const struct network *network, const void *share, uint64_t rows,
			       struct error *err);
/* This rank's share of `rows` rows of hidden columns. */
void *transformer_share(const struct network *network, void *whole, uint64_t rows);
/* Address of row `row`, modulo the kept rows, in the tensors that a norm keeps. */
struct kept_norm transformer_kept_norm(const struct network *network, const struct kept_norm *norm,
				       uint64_t row);

/* Computes kept->y from x; `gamma`: the tensor of scales, followed by the tensor of shifts. */
enum status transformer_norm(struct network *network, struct stream *stream, size_t layer,
			     size_t gamma, const void *x, const struct kept_norm *kept,
			     uint64_t rows, struct error *err);
/* Replaces dy by dx. */
enum status transformer_norm_backward(struct network *network, struct stream *stream, size_t layer,
				      size_t gamma, const void *x, const struct kept_norm *kept,
				      void *dy, uint64_t rows, bool accumulate, struct error *err);

enum status transformer_linear(struct network *network, struct stream *stream,
			       const struct linear *linear, const void *x, void *y, uint64_t rows,
			       struct error *err);
/* Computes the gradients of weight and bias, and dx. */
enum status transformer_linear_backward(struct network *network, struct stream *stream,
					const struct linear *linear, const void *x, const void *dy,
					void *dx, uint64_t rows, bool accumulate,
					struct error *err);

/*
 * The same for a layer whose outputs are divided among ranks: dx is summed over the ranks (or the
 * sum is scattered) while the gradient of the weights is computed.
 */
enum status transformer_linear_backward_summed(struct network *network, struct stream *stream,
					       const struct linear *linear, const void *x, void *dy,
					       void *dx, uint64_t rows, bool accumulate,
					       struct error *err);
/*
 * Sums rows over ranks into `y`; with sequence parallelism only this rank's rows. `summands` is
 * then separate memory, else `y`. The stream waits for the sum.
 */
enum status transformer_sum(struct network *network, void *summands, void *y, uint64_t rows,
			    struct error *err);

/* A block: see blocks_forward(), blocks_backward(). */
enum status transformer_forward(struct network *network, struct stream *stream, size_t layer,
				uint64_t row, uint64_t rows, struct error *err);
enum status transformer_backward(struct network *network, struct stream *stream, size_t layer,
				 uint64_t row, uint64_t rows, void *dy, bool accumulate,
				 struct error *err);

#endif
