/* FP32 products by ordinary multiply-adds: see gemm.h and gemm_simt.cuh. */
#include "kernels/gemm.h"

#include "device/cuda/cuda_kernel.h"
#include "kernels/gemm_simt.cuh"

/* Tiles for devices that copy asynchronously and have much shared memory, for few tiles, and for older devices. */
typedef simt_shape<256, 128, 16, 16, 8, 4, 3> large_tiles;
typedef simt_shape<128, 128, 16, 8, 8, 8, 3> small_tiles;
typedef simt_shape<128, 128, 8, 8, 8, 8, 2> plain_tiles;

template <typename S, bool WIDE>
static void launch_shape(const simt_problem &p, unsigned batch, cudaStream_t stream)
{
	unsigned tiles =
		(unsigned)((p.m + S::BM - 1) / S::BM) * (unsigned)((p.n + S::BN - 1) / S::BN);

	if (S::SHARED_BYTES > 48 << 10)
		cudaFuncSetAttribute(gemm_simt<S, WIDE>,
				     cudaFuncAttributeMaxDynamicSharedMemorySize, S::SHARED_BYTES);
	gemm_simt<S, WIDE><<<dim3(tiles, 1, batch), S::THREADS, S::SHARED_BYTES, stream>>>(p);
}

extern "C" enum status kernel_cuda_gemm_simt(struct stream *stream, const void *arguments,
					     struct error *err)
{
	const struct gemm *g = (const struct gemm *)arguments;
	const struct device_info *info = &stream->device->info;
	simt_problem p = { (const float *)g->a,
			   (const float *)g->b,
			   (float *)g->c,
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
	unsigned batch = g->batch > 0 ? (unsigned)g->batch : 1;
	cudaStream_t handle = cuda_stream_handle(stream);
	bool wide = gemm_kernel_aligned(g, 4);
	int64_t tiles = ((g->m + 255) / 256) * ((g->n + 127) / 128) * batch;

	if (gemm_kernel_check("gemm_simt", g, 1u << PRECISION_FP32, err) != STATUS_OK)
		return err->status;
	if (g->m == 0 || g->n == 0)
		return STATUS_OK;
	if (!wide)
		launch_shape<plain_tiles, false>(p, batch, handle);
	else if (info->capability_major < 8)
		launch_shape<plain_tiles, true>(p, batch, handle);
	else if (tiles < 2 * info->multiprocessors)
		launch_shape<small_tiles, true>(p, batch, handle);
	else
		launch_shape<large_tiles, true>(p, batch, handle);
	return cuda_check_launch("gemm_simt", err);
}
