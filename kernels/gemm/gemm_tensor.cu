/* GEMM on tensor cores: see gemm.h. */
#include "kernels/gemm/gemm.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels/gemm/gemm_wmma.cuh"
#include "kernels/launch/compat.h"
#include "device/cuda/cuda_kernel.h"

template <typename T>
static void gemm_tensor_launch(const wmma_problem &p, const struct gemm *g, cudaStream_t stream)
{
	dim3 grid = gemm_problem_grid(g, WMMA_TILE, WMMA_TILE);

	if (gemm_kernel_aligned(g, 8))
		gemm_wmma<T, true><<<grid, WMMA_THREADS, WMMA_SHARED_BYTES, stream>>>(p);
	else
		gemm_wmma<T, false><<<grid, WMMA_THREADS, WMMA_SHARED_BYTES, stream>>>(p);
}

extern "C" enum status kernel_cuda_gemm_tensor(struct stream *stream, const void *arguments,
					       struct error *err)
{
	const struct gemm *g = (const struct gemm *)arguments;
	const struct device_info *info = &stream->device->info;
	wmma_problem p = gemm_problem_of<void>(g);

	if (gemm_kernel_check("gemm_tensor", g, 1u << PRECISION_FP16 | 1u << PRECISION_BF16, err) !=
	    STATUS_OK)
		return err->status;
	if (info->capability_major < 7 ||
	    (g->precision == PRECISION_BF16 && info->capability_major < 8))
		return error_set(err, STATUS_UNSUPPORTED, "%s has no tensor cores for %s", info->id,
				 g->precision == PRECISION_FP16 ? "fp16" : "bf16");
	if (gemm_problem_is_empty(g))
		return STATUS_OK;
	if (g->precision == PRECISION_FP16)
		gemm_tensor_launch<half>(p, g, cuda_stream_handle(stream));
	else
		gemm_tensor_launch<__nv_bfloat16>(p, g, cuda_stream_handle(stream));
	return cuda_device_check_path("gemm_tensor",
				      gemm_kernel_aligned(g, 8) ? "WMMA" : "WMMA, narrow loads",
				      err);
}
