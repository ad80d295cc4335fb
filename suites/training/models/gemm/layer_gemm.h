/*
 * The GEMMs of a layer: tensors are row-major, GEMMs column-major. They process `rows` rows from
 * the given addresses and are asynchronous on the stream, except in the tuning step, which searches
 * for the fastest algorithm of each new GEMM on its own operands.
 */
#ifndef GPUPROOF_SUITES_TRAINING_MODELS_GEMM_LAYER_GEMM_H
#define GPUPROOF_SUITES_TRAINING_MODELS_GEMM_LAYER_GEMM_H

#include "suites/training/models/gemm/layer.h"

/*
 * Y = X W^T for rows [row, row + rows); `fused`: + b, and the ReLU unless it is the last layer
 * (STATUS_UNSUPPORTED: no such GEMM).
 */
enum status layer_gemm_forward(struct network *network, size_t layer, uint64_t row, uint64_t rows,
			       bool fused, struct error *err);
/* dX = dY W. */
enum status layer_gemm_dgrad(struct network *network, size_t layer, const void *dy, void *dx,
			     uint64_t rows, struct error *err);
/*
 * dW = dY^T X + beta dW for rows [row, row + rows), with the layer's wgrad layout: reads dY at `dy`
 * or its transposed copy in network->transposed. Computes only `outputs`, a range of the rows of
 * dW.
 */
enum status layer_gemm_wgrad(struct network *network, size_t layer, struct outputs outputs,
			     const void *dy, uint64_t row, uint64_t rows, double beta,
			     struct error *err);

/* Appends the algorithms that the search found to be faster than the library's defaults. */
struct text;
void layer_gemms_describe(const struct network *network, struct text *out);

#endif
