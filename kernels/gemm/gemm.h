/*
 * GEMM by our own code, for comparison with the library's: "gemm_simt" (FP32 by ordinary
 * multiply-adds), "gemm_half2" (FP16 by pairs, with FP16 sums: FP16_ACC16) and "gemm_tensor" (FP16
 * and BF16 with FP32 sums by the tensor cores, compute capability 7.0 and newer). The arguments are
 * a struct gemm (device/backend.h) without transposition; any shape and leading dimension, and
 * batches. Another precision is STATUS_UNSUPPORTED.
 *
 * Multiples of the vector width (16 bytes) in m, k, the leading dimensions and the addresses are
 * the fast path; other shapes take narrower loads.
 */
#ifndef GPUPROOF_KERNELS_GEMM_GEMM_H
#define GPUPROOF_KERNELS_GEMM_GEMM_H

#include "kernels/kernel.h"

/* STATUS_OK when `gemm` is one that the kernel is written for. */
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
 * True if A and B may be read 16 bytes (`elements`) at a time: each such piece is wholly inside or
 * outside.
 */
static inline bool gemm_kernel_aligned(const struct gemm *g, int64_t elements)
{
	int64_t misfit = g->m % elements | g->k % elements | g->lda % elements | g->ldb % elements;

	if (g->batch > 1)
		misfit |= g->stride_a % elements | g->stride_b % elements;
	return misfit == 0 && (((uintptr_t)g->a | (uintptr_t)g->b) & 15) == 0;
}

#endif
