/*
 * "gemm_half2" (gemm.h): C = alpha A B + beta C in column-major FP16 with packed multiply-adds
 * (half2) and FP16 accumulation. Tiles and layout are those of gemm_simt.cu; a pair is two
 * neighbours in m, and a piece of B is eight elements of k.
 */
#include "kernels/gemm/gemm.h"

#include <cuda_fp16.h>

#include "device/cuda/cuda_kernel.h"
#include "kernels/gemm/gemm_problem.cuh"
#include "kernels/gemm/half2_path.h"
#include "kernels/launch/compat.h"

#define HALF2_BM 256
#define HALF2_BN 128
#define HALF2_BK 32
#define HALF2_STAGES 2
#define HALF2_THREADS 256
/* Per thread: eight pairs of m in two pieces of 16 bytes, and eight columns. */
#define HALF2_PIECES 2
#define HALF2_COLUMNS 8
#define HALF2_STAGE (HALF2_BK * (HALF2_BM + HALF2_BN))

typedef gemm_problem<half> half2_problem;

/* Position of piece `chunk` (of four) of column n of B. */
static __device__ __forceinline__ int gemm_half2_place(int n, int chunk)
{
	return n * HALF2_BK + (chunk ^ (n >> 1 & 3)) * 8;
}

template <bool WIDE>
static __device__ __forceinline__ void gemm_half2_load(const half2_problem &p, half *stage, int row,
						       int column, int depth)
{
	half *b = stage + HALF2_BK * HALF2_BM;

	for (int i = threadIdx.x; i < HALF2_BK * HALF2_BM / 8; i += HALF2_THREADS) {
		int l = i / (HALF2_BM / 8), m = i % (HALF2_BM / 8) * 8;

		gemm_problem_load_eight<half, WIDE>(stage + l * HALF2_BM + m, p.a, p.lda, depth + l,
						    p.k, row + m, p.m);
	}
	for (int i = threadIdx.x; i < HALF2_BN * HALF2_BK / 8; i += HALF2_THREADS) {
		int n = i / (HALF2_BK / 8), chunk = i % (HALF2_BK / 8);

		gemm_problem_load_eight<half, WIDE>(b + gemm_half2_place(n, chunk), p.b, p.ldb,
						    column + n, p.n, depth + chunk * 8, p.k);
	}
}

static __device__ __forceinline__ half2 gemm_half2_fma(half2 a, half2 b, half2 c)
{
#if CODE_HAS_HALF_ARITHMETIC
	return __hfma2(a, b, c);
#else
	return c; /* never launched on such devices */
#endif
}

/* Pair `i` of four, by member name, because an index would put the piece into local memory. */
static __device__ __forceinline__ half2 gemm_half2_of(uint4 piece, int i)
{
	unsigned bits = i == 0 ? piece.x : i == 1 ? piece.y : i == 2 ? piece.z : piece.w;

	return *reinterpret_cast<half2 *>(&bits);
}

static __device__ __forceinline__ void
gemm_half2_multiply(const half *stage, int m, int n, half2 sums[HALF2_PIECES * 4][HALF2_COLUMNS])
{
	const half *b = stage + HALF2_BK * HALF2_BM;

#pragma unroll
	for (int chunk = 0; chunk < HALF2_BK / 8; chunk++) {
		uint4 right[HALF2_COLUMNS];

#pragma unroll
		for (int j = 0; j < HALF2_COLUMNS; j++)
			right[j] = *reinterpret_cast<const uint4 *>(
				b + gemm_half2_place(n + j * 8, chunk));
#pragma unroll
		for (int l = 0; l < 8; l++) {
			uint4 left[HALF2_PIECES];

#pragma unroll
			for (int i = 0; i < HALF2_PIECES; i++)
				left[i] = *reinterpret_cast<const uint4 *>(
					stage + (chunk * 8 + l) * HALF2_BM + m + i * 32);
#pragma unroll
			for (int j = 0; j < HALF2_COLUMNS; j++) {
				half2 pair = gemm_half2_of(right[j], l / 2);
				half2 r = l % 2 ? __high2half2(pair) : __low2half2(pair);

#pragma unroll
				for (int i = 0; i < HALF2_PIECES * 4; i++)
					sums[i][j] =
						gemm_half2_fma(gemm_half2_of(left[i / 4], i % 4), r,
							       sums[i][j]);
			}
		}
	}
}

static __device__ __forceinline__ void
gemm_half2_store(const half2_problem &p, int row, int column,
		 const half2 sums[HALF2_PIECES * 4][HALF2_COLUMNS])
{
#pragma unroll
	for (int j = 0; j < HALF2_COLUMNS; j++) {
		int n = column + j * 8;

#pragma unroll
		for (int i = 0; i < HALF2_PIECES * 8; i++) {
			int m = row + i / 8 * 32 + i % 8;
			float x =
				i % 2 ? __high2float(sums[i / 2][j]) : __low2float(sums[i / 2][j]);
			half *c = p.c + n * p.ldc + m;

			if (m < p.m && n < p.n)
				*c = __float2half_rn(p.alpha * x +
						     (p.beta != 0 ? p.beta * __half2float(*c) : 0));
		}
	}
}

/*
 * Warps: four in m (each 64 wide: four lanes of 16), two in n (each 64: eight lanes of eight
 * columns).
 */
template <bool WIDE>
static __global__ void __launch_bounds__(HALF2_THREADS) gemm_half2(half2_problem p)
{
	__shared__ __align__(16) half shared[HALF2_STAGES * HALF2_STAGE];
	int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	int m = warp % 4 * 64 + lane % 4 * 8, n = warp / 4 * 64 + lane / 4;
	int steps = (p.k + HALF2_BK - 1) / HALF2_BK;
	half2 sums[HALF2_PIECES * 4][HALF2_COLUMNS];
	int row, column;

	gemm_problem_tile<half>(&p, HALF2_BM, HALF2_BN, &row, &column);
#pragma unroll
	for (int i = 0; i < HALF2_PIECES * 4; i++)
#pragma unroll
		for (int j = 0; j < HALF2_COLUMNS; j++)
			sums[i][j] = __float2half2_rn(0);
	if (steps > 0)
		gemm_half2_load<WIDE>(p, shared, row, column, 0);
	async_copy_commit();
	for (int step = 0; step < steps; step++) {
		async_copy_wait<0>();
		__syncthreads();
		if (step + 1 < steps)
			gemm_half2_load<WIDE>(p, shared + (step + 1) % HALF2_STAGES * HALF2_STAGE,
					      row, column, (step + 1) * HALF2_BK);
		async_copy_commit();
		gemm_half2_multiply(shared + step % HALF2_STAGES * HALF2_STAGE, m, n, sums);
	}
	gemm_half2_store(p, row + m, column + n, sums);
}

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
