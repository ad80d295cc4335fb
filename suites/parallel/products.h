/*
 * The three matrix products of a layer: row-major tensors, column-major products. For rows
 * [row, row + rows) of the share, asynchronous on the stream.
 */
#ifndef GPUPROOF_PARALLEL_PRODUCTS_H
#define GPUPROOF_PARALLEL_PRODUCTS_H

#include "suites/parallel/network.h"

/* Y = X W^T. */
enum status product_forward(struct network *network, struct stream *stream, size_t layer,
			    const void *x, void *y, uint64_t rows, struct error *err);
/* dX = dY W. */
enum status product_input(struct network *network, struct stream *stream, size_t layer,
			  const void *dy, void *dx, uint64_t rows, struct error *err);
/*
 * dW = dY^T X + beta dW, along the layer's route: from dY, or from its transposed copy (rows from
 * the first of the buffer on), where network->transposed has it.
 */
enum status product_weight(struct network *network, struct stream *stream, size_t layer,
			   const void *dy, const void *x, uint64_t rows, double beta,
			   struct error *err);

#endif
