/*
 * The matrix products of a layer: row-major tensors, column-major products. `rows` rows, from the
 * addresses given; asynchronous on the stream, but for the step that settles a network: there the
 * fastest algorithm of each new product is searched for, on its own operands.
 */
#ifndef GPUPROOF_SUITES_MLP_GEMM_PRODUCTS_H
#define GPUPROOF_SUITES_MLP_GEMM_PRODUCTS_H

#include "suites/mlp/network.h"

/* Y = X W^T. */
enum status product_forward(struct network *network, struct stream *stream, size_t layer,
			    const void *x, void *y, uint64_t rows, struct error *err);
/* Y = X W^T + b, and the ReLU unless it is the last layer. STATUS_UNSUPPORTED: no such product. */
enum status product_forward_fused(struct network *network, struct stream *stream, size_t layer,
				  const void *x, void *y, uint64_t rows, struct error *err);
/* dX = dY W. */
enum status product_input(struct network *network, struct stream *stream, size_t layer,
			  const void *dy, void *dx, uint64_t rows, struct error *err);
/*
 * dW = dY^T X + beta dW with the layer's wgrad layout: reads dY, or its transposed copy in network->transposed (rows
 * from the buffer's first on). Computes only `outputs`, a range of the rows of dW.
 */
enum status product_weight(struct network *network, struct stream *stream, size_t layer,
			   struct outputs outputs, const void *dy, const void *x, uint64_t rows,
			   double beta, struct error *err);

/* Adds the algorithms that were searched and are faster than the library's choices; nothing: none. */
struct text;
void products_describe(const struct network *network, struct text *out);

#endif
