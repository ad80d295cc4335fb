/*
 * Matrix products through cuBLASLt: lt_product.c puts one into its terms, lt_search.c chooses the
 * algorithm, lt.c keeps what was chosen for each stream.
 */
#ifndef GPUPROOF_DEVICE_CUDA_BLAS_LT_H
#define GPUPROOF_DEVICE_CUDA_BLAS_LT_H

#include "device/cuda/blas/cublas.h"
#include "device/cuda/cuda_backend.h"

/*
 * One product in cuBLASLt's terms; operands of other calls of the same shape may have other
 * addresses.
 */
struct lt_product {
	struct gemm gemm;
	cublasLtMatmulDesc_t operation;
	cublasLtMatrixLayout_t a, b, c;
};

struct lt_chosen {
	struct lt_product product;
	cublasLtMatmulAlgo_t algorithm, first; /* the fastest, and the library's own first choice */
};

struct lt_context {
	cublasLtHandle_t handle;
	void *workspace;
	size_t workspace_bytes;
	struct lt_chosen *chosen;
	size_t count, capacity;
};

/*
 * The widest access that an algorithm makes: operands aligned further than that are all the same to
 * it.
 */
#define LT_ALIGNMENT 16
/* Alignment of an operand in bytes: a power of two, at most LT_ALIGNMENT. */
uint32_t lt_alignment(const void *memory);

/* Also after a failure it is released with lt_product_release(), which leaves zeros. */
enum status lt_product_init(struct lt_product *product, const struct gemm *gemm, struct error *err);
void lt_product_release(struct lt_product *product);
/* On the operands of `gemm`. */
cublasStatus_t lt_product_multiply(const struct cuda_stream *stream,
				   const struct lt_product *product, const struct gemm *gemm,
				   const cublasLtMatmulAlgo_t *algorithm);

/*
 * The algorithms for chosen->product, on its own operands: see gemm_search() in device/backend.h.
 */
enum status lt_search(struct cuda_stream *stream, struct lt_chosen *chosen,
		      const struct autotune_rules *rules, struct gemm_choice *out,
		      struct error *err);

/*
 * By what cuda_gemm_search() chose for this shape on this stream; STATUS_INTERNAL: it was not
 * asked.
 */
enum status lt_multiply(struct cuda_stream *stream, const struct gemm *gemm, struct error *err);
/*
 * By the library's own first choice, whatever a search found; asked for now, waiting for the
 * stream, if it was not.
 */
enum status lt_multiply_first(struct cuda_stream *stream, const struct gemm *gemm,
			      struct error *err);

#endif
