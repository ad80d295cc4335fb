/* A transformer's block, and the parts that embedding and head share with it. See blocks.h. */
#ifndef GPUPROOF_SUITES_TRAINING_MODELS_BLOCKS_TRANSFORMER_H
#define GPUPROOF_SUITES_TRAINING_MODELS_BLOCKS_TRANSFORMER_H

#include "kernels/attention/attention.h"
#include "suites/training/models/network.h"

/* Y = X W^T + b: W is tensor `weight` of a layer, out x in, and b, where there is one, the next. */
struct linear {
	size_t layer, weight;
	uint64_t in, out;
	bool has_bias;
};

/* backend_launch(), nothing of an idle network. */
enum status transformer_launch(const struct network *network, struct stream *stream,
			       const char *kernel, const void *arguments, struct error *err);

/* A tensor of a layer in the buffers that its products read and write. */
void *transformer_weights(const struct network *network, size_t layer, size_t tensor);
void *transformer_gradients(const struct network *network, size_t layer, size_t tensor);

/* Attention over `rows` tokens: queries, keys and values are parts of one tensor's rows. */
struct attention_shape transformer_attention(const struct network *network, uint64_t rows);

/*
 * All `rows` rows of hidden columns of which this rank has its share
 * (network_sequence_parallel_size()): in blocks->gathered, until the next call; `share` itself
 * where it has all.
 */
const void *transformer_gather(const struct network *network, const void *share, uint64_t rows,
			       struct error *err);
/* This rank's share of `rows` rows of hidden columns. */
void *transformer_share(const struct network *network, void *whole, uint64_t rows);
/* The place of row `row`, below the kept ones, in what a norm keeps. */
struct kept_norm transformer_kept_norm(const struct network *network, const struct kept_norm *norm,
				       uint64_t row);

/* x -> kept->y; `gamma`: the tensor of scales, the next one is that of shifts. */
enum status transformer_norm(struct network *network, struct stream *stream, size_t layer,
			     size_t gamma, const void *x, const struct kept_norm *kept,
			     uint64_t rows, struct error *err);
/* dy becomes dx. */
enum status transformer_norm_backward(struct network *network, struct stream *stream, size_t layer,
				      size_t gamma, const void *x, const struct kept_norm *kept,
				      void *dy, uint64_t rows, bool accumulate, struct error *err);

enum status transformer_linear(struct network *network, struct stream *stream,
			       const struct linear *linear, const void *x, void *y, uint64_t rows,
			       struct error *err);
/* Gradients of weight and bias, and dx. */
enum status transformer_linear_backward(struct network *network, struct stream *stream,
					const struct linear *linear, const void *x, const void *dy,
					void *dx, uint64_t rows, bool accumulate,
					struct error *err);

/*
 * The same of a layer whose outputs ranks have parts of: dx is added up over them, or its share
 * scattered, while the gradient of the weights is computed.
 */
enum status transformer_linear_backward_summed(struct network *network, struct stream *stream,
					       const struct linear *linear, const void *x, void *dy,
					       void *dx, uint64_t rows, bool accumulate,
					       struct error *err);
/*
 * Rows whose summands ranks have: the sum at `y`, of which with shares of the rows this rank's are
 * left; `summands` is then other memory, else `y`. The stream waits for it.
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
