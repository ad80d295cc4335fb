/*
 * "gemm_tensor" (gemm.h): C = alpha A B + beta C in column-major FP16 or BF16 with FP32
 * accumulation with WMMA (16 x 16 x 16 fragments), portable from compute capability 7.0 on.
 *
 * A block computes a 128 x 128 tile of C, 32 deep at a time, with two stages; each of eight warps
 * computes 64 x 32 of it. Lines in shared memory are padded so that they start in different banks.
 */
#include "kernels/gemm/gemm.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include "device/cuda/cuda_kernel.h"
#include "kernels/gemm/gemm_problem.cuh"
#include "kernels/launch/compat.h"

#define WMMA_TILE 128
#define WMMA_DEPTH 32
#define WMMA_THREADS 256
#define WMMA_LINE_A (WMMA_TILE + 8)  /* A: lines along m */
#define WMMA_LINE_B (WMMA_DEPTH + 8) /* B: lines along k */
#define WMMA_STAGE (WMMA_DEPTH * WMMA_LINE_A + WMMA_TILE * WMMA_LINE_B)
#define WMMA_SHARED_BYTES (2 * WMMA_STAGE * 2)

typedef gemm_problem<void> wmma_problem;

template <typename T, bool WIDE>
static __device__ __forceinline__ void gemm_tensor_load(const wmma_problem &p, T *stage, int row,
							int column, int depth)
{
	T *b = stage + WMMA_DEPTH * WMMA_LINE_A;

	for (int i = threadIdx.x; i < WMMA_DEPTH * WMMA_TILE / 8; i += WMMA_THREADS) {
		int l = i / (WMMA_TILE / 8), m = i % (WMMA_TILE / 8) * 8;

		gemm_problem_load_eight<T, WIDE>(stage + l * WMMA_LINE_A + m, (const T *)p.a, p.lda,
						 depth + l, p.k, row + m, p.m);
	}
	for (int i = threadIdx.x; i < WMMA_TILE * WMMA_DEPTH / 8; i += WMMA_THREADS) {
		int n = i / (WMMA_DEPTH / 8), l = i % (WMMA_DEPTH / 8) * 8;

		gemm_problem_load_eight<T, WIDE>(b + n * WMMA_LINE_B + l, (const T *)p.b, p.ldb,
						 column + n, p.n, depth + l, p.k);
	}
}

#if CODE_HAS_TENSOR_CORES
template <typename T, bool WIDE>
static __device__ __forceinline__ void gemm_tensor_tile(wmma_problem &p)
{
	using namespace nvcuda::wmma;
	extern __shared__ __align__(32) char wmma_memory[];
	T *shared = (T *)wmma_memory;
	int warp = threadIdx.x / 32, lane = threadIdx.x % 32, m = warp % 2 * 64, n = warp / 2 * 32;
	int steps = (p.k + WMMA_DEPTH - 1) / WMMA_DEPTH, row, column;
	fragment<accumulator, 16, 16, 16, float> sums[4][2];
	float *own = (float *)wmma_memory + warp * 256;

	gemm_problem_tile<T>(&p, WMMA_TILE, WMMA_TILE, &row, &column);
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < 2; j++)
			fill_fragment(sums[i][j], 0.0f);
	if (steps > 0)
		gemm_tensor_load<T, WIDE>(p, shared, row, column, 0);
	async_copy_commit();
	for (int step = 0; step < steps; step++) {
		const T *a = shared + step % 2 * WMMA_STAGE, *b = a + WMMA_DEPTH * WMMA_LINE_A;

		async_copy_wait<0>();
		__syncthreads();
		if (step + 1 < steps)
			gemm_tensor_load<T, WIDE>(p, shared + (step + 1) % 2 * WMMA_STAGE, row,
						  column, (step + 1) * WMMA_DEPTH);
		async_copy_commit();
#pragma unroll
		for (int l = 0; l < WMMA_DEPTH; l += 16) {
			fragment<matrix_a, 16, 16, 16, T, col_major> left[4];
			fragment<matrix_b, 16, 16, 16, T, col_major> right[2];

#pragma unroll
			for (int i = 0; i < 4; i++)
				load_matrix_sync(left[i], a + l * WMMA_LINE_A + m + i * 16,
						 WMMA_LINE_A);
#pragma unroll
			for (int j = 0; j < 2; j++)
				load_matrix_sync(right[j], b + (n + j * 16) * WMMA_LINE_B + l,
						 WMMA_LINE_B);
#pragma unroll
			for (int i = 0; i < 4; i++)
#pragma unroll
				for (int j = 0; j < 2; j++)
					mma_sync(sums[i][j], left[i], right[j], sums[i][j]);
		}
	}
	__syncthreads();
	/* Each warp writes its fragments through 1 KiB of its own. */
#pragma unroll
	for (int i = 0; i < 4; i++) {
#pragma unroll
		for (int j = 0; j < 2; j++) {
			store_matrix_sync(own, sums[i][j], 16, mem_col_major);
			__syncwarp();
			for (int e = lane; e < 256; e += 32) {
				int x = row + m + i * 16 + e % 16, y = column + n + j * 16 + e / 16;
				T *to = (T *)p.c + y * p.ldc + x;

				if (x < p.m && y < p.n)
					*to = T(p.alpha * own[e] +
						(p.beta != 0 ? p.beta * (float)*to : 0));
			}
			__syncwarp();
		}
	}
}
#endif

template <typename T> struct wmma_since {
	static const int capability = 80;
};
template <> struct wmma_since<half> {
	static const int capability = 70;
};

/* Never launched without such tensor cores. */
template <typename T, bool WIDE>
static __global__ void __launch_bounds__(WMMA_THREADS) gemm_tensor(wmma_problem p)
{
#if CODE_HAS_TENSOR_CORES
	if constexpr (CODE_CAPABILITY >= wmma_since<T>::capability)
		gemm_tensor_tile<T, WIDE>(p);
	else
#endif
		compat_code_is_absent();
}

template <typename T>
static void gemm_tensor_launch(const wmma_problem &p, const struct gemm *g, cudaStream_t stream)
{
	dim3 grid = gemm_problem_grid(g, WMMA_TILE, WMMA_TILE);

	if (gemm_kernel_aligned(g, 8))
		gemm_tensor<T, true><<<grid, WMMA_THREADS, WMMA_SHARED_BYTES, stream>>>(p);
	else
		gemm_tensor<T, false><<<grid, WMMA_THREADS, WMMA_SHARED_BYTES, stream>>>(p);
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
