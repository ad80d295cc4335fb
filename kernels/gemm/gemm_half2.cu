/* FP16 GEMM with packed multiply-adds (half2): see gemm.h and gemm_half2.cuh. */
#include "kernels/gemm/gemm.h"

#include "kernels/gemm/gemm_half2.cuh"
#include "kernels/gemm/half2_path.h"
#include "device/cuda/cuda_kernel.h"

extern "C" enum status kernel_cuda_gemm_half2(struct stream *stream, const void *arguments,
					      struct error *err)
{
	const struct gemm *g = (const struct gemm *)arguments;
	half2_problem p = gemm_problem_of<half>(g);
	dim3 grid = gemm_problem_grid(g, HALF2_BM, HALF2_BN);
	cudaStream_t handle = cuda_stream_handle(stream);

	if (gemm_kernel_check("gemm_half2", g, 1u << PRECISION_FP16_ACC16, err) != STATUS_OK)
		return err->status;
	if (!(stream->device->info.capabilities & DEVICE_HAS_FP16_ACC16))
		return error_set(err, STATUS_UNSUPPORTED, "%s does not support FP16",
				 stream->device->info.id);
	if (gemm_problem_is_empty(g))
		return STATUS_OK;
	if (gemm_kernel_aligned(g, 8))
		gemm_half2<true><<<grid, HALF2_THREADS, 0, handle>>>(p);
	else
		gemm_half2<false><<<grid, HALF2_THREADS, 0, handle>>>(p);
	return cuda_device_check_path("gemm_half2", half2_path(&stream->device->info), err);
}
