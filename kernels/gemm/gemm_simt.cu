/* FP32 GEMM without tensor cores: see gemm.h and gemm_simt.cuh. */
#include "kernels/gemm/gemm.h"

#include "kernels/gemm/gemm_simt.cuh"
#include "device/cuda/cuda_kernel.h"

/*
 * Tiles for devices with asynchronous copies and large shared memory, for GEMMs too small to fill
 * such a device once, and for older devices. On an H200 at 8192^3, where cuBLAS reaches 50.9 to
 * 51.3 TFLOP/s, the large tiles without bounds checks reach 50.2 to 50.5; rereading each element of
 * A 48.0; sixteen rows by eight columns per thread 47.7; bounds checks 43.9; two blocks of half the
 * tile 50.0.
 */
#define LARGE "large tiles, asynchronous copies"
typedef simt_shape<256, 128, 16, 8, 16, 8, 3> large_tiles;
typedef simt_shape<128, 128, 16, 8, 8, 4, 3, 2> small_tiles;
typedef simt_shape<128, 128, 8, 8, 8, 8, 2> plain_tiles;

template <typename S, bool WIDE, bool WHOLE>
static enum status gemm_simt_launch_shape(struct stream *stream, const struct gemm *g,
					  const char *path, struct error *err)
{
	cudaStream_t handle = cuda_stream_handle(stream);

	if (cuda_stream_shared_memory(stream, (const void *)gemm_simt<S, WIDE, WHOLE>,
				      S::SHARED_BYTES, err) != STATUS_OK)
		return err->status;
	gemm_simt<S, WIDE, WHOLE>
		<<<gemm_problem_grid(g, S::BM, S::BN), S::THREADS, S::SHARED_BYTES, handle>>>(
			gemm_problem_of<float>(g));
	return cuda_device_check_path("gemm_simt", path, err);
}

/* True if no tile extends beyond the matrices. */
template <typename S> static bool gemm_simt_fits(const struct gemm *g)
{
	return g->m % S::BM == 0 && g->n % S::BN == 0 && g->k % S::BK == 0;
}

extern "C" enum status kernel_cuda_gemm_simt(struct stream *stream, const void *arguments,
					     struct error *err)
{
	const struct gemm *g = (const struct gemm *)arguments;
	const struct device_info *info = &stream->device->info;
	dim3 tiles = gemm_problem_grid(g, large_tiles::BM, large_tiles::BN);

	if (gemm_kernel_check("gemm_simt", g, 1u << PRECISION_FP32, err) != STATUS_OK)
		return err->status;
	if (gemm_problem_is_empty(g))
		return STATUS_OK;
	if (!gemm_kernel_aligned(g, 4))
		return gemm_simt_launch_shape<plain_tiles, false, false>(
			stream, g, "plain tiles, narrow loads", err);
	if (info->capability_major < 8)
		return gemm_simt_launch_shape<plain_tiles, true, false>(stream, g, "plain tiles",
									err);
	if (10 * (uint64_t)tiles.x * tiles.z < 9 * (uint64_t)info->multiprocessors)
		return gemm_simt_launch_shape<small_tiles, true, false>(
			stream, g, "small tiles, asynchronous copies", err);
	return gemm_simt_fits<large_tiles>(g)
		       ? gemm_simt_launch_shape<large_tiles, true, true>(stream, g, LARGE, err)
		       : gemm_simt_launch_shape<large_tiles, true, false>(stream, g, LARGE, err);
}
