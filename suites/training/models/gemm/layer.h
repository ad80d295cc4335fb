/*
 * The operations of one training step on a network. They do nothing after an error, so that a
 * sequence of them needs one check, and an idle network only starts its collectives.
 */
#ifndef GPUPROOF_SUITES_TRAINING_MODELS_GEMM_LAYER_H
#define GPUPROOF_SUITES_TRAINING_MODELS_GEMM_LAYER_H

#include "device/backend.h"
#include "suites/training/models/network.h"
#include "suites/training/models/setup.h"

/* True if every rank computes this whole layer, so that all must get the same bits. */
bool gemm_tuning_is_replicated(const struct network *network, size_t layer);
/*
 * Products of a linear layer, column-major, with operands without gaps: outputs (out x rows) = W^T
 * X; gradients of inputs (in x rows) = W dY; gradients of weights (in x out) = X dY^T.
 */
enum linear_product { PRODUCT_OUTPUTS, PRODUCT_INPUTS, PRODUCT_WEIGHTS };
struct linear_size {
	uint64_t in, out, rows;
};
struct gemm gemm_tuning_product(const struct network *network, enum linear_product which,
				struct linear_size size, const void *a, const void *b, void *c);
/*
 * A GEMM of the network with the algorithm found in the tuning step; it leaves multiprocessors to
 * collectives that overlap with `pass` (enum overlap in mode.h).
 */
enum status gemm_tuning_multiply(struct network *network, size_t layer, unsigned pass,
				 struct gemm *gemm, struct error *err);

/*
 * Forward of a layer: its GEMM, then bias and ReLU. Two functions, for modes that first reduce the
 * GEMM's output over ranks.
 */
enum status gemm_layer_forward_product(struct network *network, size_t layer, uint64_t row,
				       uint64_t rows, struct error *err);
enum status gemm_layer_activate(struct network *network, size_t layer, uint64_t row, uint64_t rows,
				struct error *err);
enum status gemm_layer_forward(struct network *network, size_t layer, uint64_t row, uint64_t rows,
			       struct error *err);
/*
 * Computes row losses from logits and replaces the logits by their gradients times gradient_scale.
 * Collective if ranks divide the vocabulary.
 */
enum status gemm_layer_loss(struct network *network, uint64_t row, uint64_t rows,
			    double gradient_scale, struct error *err);
/* The same for logits at another address, for all rows at once. */
enum status gemm_layer_loss_of(struct network *network, void *logits, uint64_t row, uint64_t rows,
			       double gradient_scale, struct error *err);
/*
 * Backward of a layer for rows [row, row + rows). First its output gradient dy (rows x out): masked
 * in place by the layer's ReLU, summed into the bias gradient, and copied transposed if the wgrad
 * layout needs it. Then wgrad of rows that have been through the first part; `accumulate` adds to
 * the gradients of the parameters instead of overwriting them. Then dgrad, dx (rows x in).
 */
enum status gemm_layer_output_gradient(struct network *network, size_t layer, uint64_t row,
				       uint64_t rows, void *dy, bool accumulate, struct error *err);
enum status gemm_layer_weight_gradient(struct network *network, size_t layer, uint64_t row,
				       uint64_t rows, const void *dy, bool accumulate,
				       struct error *err);
/* A range of the layer's outputs, which are neighbouring rows of the weights. */
struct outputs {
	uint64_t first, count;
};
enum status gemm_layer_weight_gradient_of(struct network *network, size_t layer,
					  struct outputs outputs, uint64_t row, uint64_t rows,
					  const void *dy, bool accumulate, struct error *err);
enum status gemm_layer_input_gradient(struct network *network, size_t layer, uint64_t rows,
				      const void *dy, void *dx, struct error *err);
/* The pass of gemm_layer_output_gradient() with another mask `y` (NULL: none). */
enum status gemm_layer_output_pass(struct network *network, size_t layer, uint64_t rows, void *dy,
				   const void *y, uint64_t row, bool accumulate, struct error *err);
/*
 * First part of backward, before the GEMMs: recomputes activations and computes the output
 * gradient.
 */
enum status gemm_layer_backward_begin(struct network *network, size_t layer, uint64_t row,
				      uint64_t rows, void *dy, bool accumulate, struct error *err);
/*
 * Complete backward of a layer; `dx` NULL: not computed. For nonlinear layers (enum layer_kind)
 * gemm_layer_output_gradient() computes all gradients of parameters and the wgrad function does
 * nothing.
 */
enum status gemm_layer_backward(struct network *network, size_t layer, uint64_t row, uint64_t rows,
				void *dy, void *dx, bool accumulate, struct error *err);
/* Runs all layers of the partition for these rows: forward, or backward of a whole model. */
enum status gemm_layer_forward_all(struct network *network, uint64_t row, uint64_t rows,
				   struct error *err);
enum status gemm_layer_backward_all(struct network *network, uint64_t row, uint64_t rows,
				    bool accumulate, struct error *err);
/*
 * Call after the last backward of a step. With sequence parallelism it sums the gradients of norms,
 * which each rank has only for its share of the rows; otherwise it does nothing.
 */
enum status gemm_layer_backward_end(struct network *network, struct error *err);
/* One optimizer step; gradients are divided by the loss scale. */
enum status gemm_layer_update(struct network *network, struct error *err);
/* The same by ranges: begin once, then update every range of the shard. */
enum status gemm_layer_update_begin(struct network *network, struct error *err);
/* Adam's bias correction of update `update`, counted from 1. */
double gemm_layer_correction(double beta, uint64_t update);
enum status gemm_layer_update_range(struct network *network, const struct shard_range *range,
				    struct error *err);

/*
 * Approximate number of commands that one step of the partition enqueues on the compute stream, in
 * `microbatches` parts.
 */
unsigned gemm_layer_commands(const struct network *network, uint64_t microbatches);

/*
 * Times several candidates for the same computation and returns the fastest on this device. Not
 * collective; waits for the stream.
 */

#define TRIAL_MAX_CANDIDATES 4

/* Enqueues candidate 0 to candidates - 1 on the stream. */
typedef enum status layer_trial_fn(void *context, size_t candidate, struct error *err);

/*
 * Alternates between at most TRIAL_MAX_CANDIDATES candidates; of equally fast ones the first wins.
 */
enum status layer_select_fastest(struct stream *stream, size_t candidates, layer_trial_fn *run,
				 void *context, size_t *fastest, struct error *err);

/*
 * Layout of the wgrad GEMM, dW = dY^T X. It reads dY as stored, or a transposed copy, which the
 * kernel that masks dY also writes: some devices are far slower if both operands are strided along
 * the sum (TF32 on Hopper: 250 instead of 400 TFLOP/s).
 */

struct network;
struct world;

/*
 * Sets network->wgrad_layouts[layer] and allocates its buffers, once per layer: as in the setup, or
 * for `auto` by timing both layouts on `dy` and `y` (see gemm_layer_output_gradient()), all rows of
 * a backward call. Only during tuning, because it allocates memory and synchronizes.
 */
enum status gemm_tuning_tune_wgrad_layout(struct network *network, size_t layer, void *dy,
					  const void *y, struct error *err);

/*
 * Collective; call after all layouts are chosen. Every rank of a row-parallel layer computes the
 * whole bias gradient, and the order of that sum may depend on the layout: if one rank has chosen
 * WGRAD_DIRECT, all ranks use it.
 */
void gemm_tuning_agree_on_wgrad_layouts(struct network *network, struct world *world);

/*
 * The GEMMs of a layer: tensors are row-major, GEMMs column-major. They process `rows` rows from
 * the given addresses and are asynchronous on the stream, except in the tuning step, which searches
 * for the fastest algorithm of each new GEMM on its own operands.
 */

/*
 * Y = X W^T for rows [row, row + rows); `fused`: + b, and the ReLU unless it is the last layer
 * (STATUS_UNSUPPORTED: no such GEMM).
 */
enum status gemm_tuning_forward(struct network *network, size_t layer, uint64_t row, uint64_t rows,
				bool fused, struct error *err);
/* dX = dY W. */
enum status gemm_tuning_dgrad(struct network *network, size_t layer, const void *dy, void *dx,
			      uint64_t rows, struct error *err);
/*
 * dW = dY^T X + beta dW for rows [row, row + rows), with the layer's wgrad layout: reads dY at `dy`
 * or its transposed copy in network->transposed. Computes only `outputs`, a range of the rows of
 * dW.
 */
enum status gemm_tuning_wgrad(struct network *network, size_t layer, struct outputs outputs,
			      const void *dy, uint64_t row, uint64_t rows, double beta,
			      struct error *err);

/* Appends the algorithms that the search found to be faster than the library's defaults. */
struct text;
void gemm_tuning_describe(const struct network *network, struct text *out);

#endif
