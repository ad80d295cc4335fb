/*
 * Built-in GEMM kernels, for comparison with the library's: "gemm_simt" (FP32 without tensor
 * cores), "gemm_half2" (FP16 pairs with FP16 accumulation: FP16_ACC16) and "gemm_tensor" (FP16 and
 * BF16 with FP32 accumulation on tensor cores, compute capability 7.0 and newer). The arguments are
 * a struct gemm (device/backend.h) without transposition; any shape, leading dimension and batch.
 * Another precision is STATUS_UNSUPPORTED.
 *
 * The fast path needs m, k, leading dimensions and addresses in multiples of 16 bytes; other shapes
 * use narrower loads.
 */
#ifndef GPUPROOF_KERNELS_GEMM_GEMM_H
#define GPUPROOF_KERNELS_GEMM_GEMM_H

#include "kernels/kernel.h"

/* STATUS_OK if the kernel supports `gemm`. */
static inline enum status gemm_kernel_check(const char *kernel, const struct gemm *gemm,
					    unsigned precisions, struct error *err)
{
	if (gemm->transpose_a || gemm->transpose_b)
		return error_set(err, STATUS_UNSUPPORTED, "%s takes no transposed matrices",
				 kernel);
	if (!(precisions >> gemm->precision & 1))
		return error_set(err, STATUS_UNSUPPORTED, "%s is not written for this precision",
				 kernel);
	if (gemm->m > INT32_MAX || gemm->n > INT32_MAX || gemm->k > INT32_MAX ||
	    gemm->batch > 65535)
		return error_set(err, STATUS_UNSUPPORTED,
				 "%s: a dimension is beyond 2^31 or the batch beyond 65,535",
				 kernel);
	return STATUS_OK;
}

/*
 * True if A and B may be read in 16-byte pieces of `elements`, each completely inside or outside.
 */
static inline bool gemm_kernel_aligned(const struct gemm *g, int64_t elements)
{
	int64_t misfit = g->m % elements | g->k % elements | g->lda % elements | g->ldb % elements;

	if (g->batch > 1)
		misfit |= g->stride_a % elements | g->stride_b % elements;
	return misfit == 0 && (((uintptr_t)g->a | (uintptr_t)g->b) & 15) == 0;
}

#endif
