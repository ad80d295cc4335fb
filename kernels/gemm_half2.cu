/* FP16 products by multiply-adds of pairs: see gemm.h and gemm_half2.cuh. */
#include "kernels/gemm.h"

#include "device/cuda/cuda_kernel.h"
#include "kernels/gemm_half2.cuh"

extern "C" enum status kernel_cuda_gemm_half2(struct stream *stream, const void *arguments,
					      struct error *err)
{
	const struct gemm *g = (const struct gemm *)arguments;
	half2_problem p = { (const half *)g->a,
			    (const half *)g->b,
			    (half *)g->c,
			    (int)g->m,
			    (int)g->n,
			    (int)g->k,
			    g->lda,
			    g->ldb,
			    g->ldc,
			    g->stride_a,
			    g->stride_b,
			    g->stride_c,
			    (float)g->alpha,
			    (float)g->beta };
	dim3 grid((unsigned)((g->m + HALF2_BM - 1) / HALF2_BM) *
			  (unsigned)((g->n + HALF2_BN - 1) / HALF2_BN),
		  1, g->batch > 0 ? (unsigned)g->batch : 1);
	cudaStream_t handle = cuda_stream_handle(stream);

	if (gemm_kernel_check("gemm_half2", g, 1u << PRECISION_FP16_ACC16, err) != STATUS_OK)
		return err->status;
	if (!(stream->device->info.capabilities & DEVICE_HAS_FP16_ACC16))
		return error_set(err, STATUS_UNSUPPORTED, "%s does not calculate with FP16",
				 stream->device->info.id);
	if (g->m == 0 || g->n == 0)
		return STATUS_OK;
	if (gemm_kernel_aligned(g, 8))
		gemm_half2<true><<<grid, HALF2_THREADS, 0, handle>>>(p);
	else
		gemm_half2<false><<<grid, HALF2_THREADS, 0, handle>>>(p);
	return cuda_check_launch("gemm_half2", err);
}
