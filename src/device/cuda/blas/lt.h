/*
 * GEMM with cuBLASLt: lt_product.c describes one in cuBLASLt's types, lt.c chooses the algorithm
 * and stores the choices of each stream.
 */
#ifndef GPUPROOF_DEVICE_CUDA_BLAS_LT_H
#define GPUPROOF_DEVICE_CUDA_BLAS_LT_H

#include "device/cuda/blas/cublas.h"

/*
 * One GEMM in cuBLASLt's types; operands of other calls with the same shape may have other
 * addresses.
 */
struct lt_product {
	struct gemm gemm;
	cublasLtMatmulDesc_t operation;
	cublasLtMatrixLayout_t a, b, c;
};

struct lt_chosen {
	struct lt_product product;
	/* the fastest algorithm, and the library's default choice */
	cublasLtMatmulAlgo_t algorithm, first;
};

struct lt_context {
	cublasLtHandle_t handle;
	void *workspace;
	size_t workspace_bytes;
	struct lt_chosen *chosen;
	size_t count, capacity;
};

/* NULL is allowed. */
void lt_context_free(struct lt_context *context);

/* Release it with lt_product_release(), even after a failure; that leaves zeros. */
enum status lt_product_init(struct lt_product *product, const struct gemm *gemm, struct error *err);
void lt_product_release(struct lt_product *product);
/* Multiplies the operands of `gemm`. */
cublasStatus_t lt_product_multiply(const struct cuda_stream *stream,
				   const struct lt_product *product, const struct gemm *gemm,
				   const cublasLtMatmulAlgo_t *algorithm);

/*
 * `searched`: uses the choice of cuda_gemm_search() for this shape on this stream; STATUS_INTERNAL
 * if there was no search. Otherwise the library's default choice, whatever a search found; queries
 * it now if necessary, waiting for the stream.
 */
enum status lt_multiply(struct cuda_stream *stream, const struct gemm *gemm, struct error *err);

#endif
