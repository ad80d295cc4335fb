/*
 * C = alpha A B + beta C in column-major FP32 by ordinary multiply-adds.
 *
 * A block makes a BM x BN tile of C, BK deep at a time. Tiles of A and B come into shared memory as they lie in
 * memory (A: columns of m, B: columns of k), asynchronously where the device can, STAGES - 1 of them ahead. Each
 * thread keeps TM x TN sums: per four steps of k it reads 4 TM elements of A and, along k, 4 TN of B in pieces
 * of 16 bytes. Pieces of B are swapped within their column by an exclusive or, so that lanes that read neighbouring
 * columns meet different banks.
 */
#ifndef GPUPROOF_KERNELS_GEMM_SIMT_CUH
#define GPUPROOF_KERNELS_GEMM_SIMT_CUH

#include <stdint.h>

#include "kernels/async_copy.cuh"
#include "kernels/tile_order.cuh"

struct simt_problem {
	const float *a, *b;
	float *c;
	int m, n, k;
	int64_t lda, ldb, ldc;
	int64_t stride_a, stride_b, stride_c;
	float alpha, beta;
};

template <int BM_, int BN_, int BK_, int TM_, int TN_, int LANES_M_, int STAGES_, int BLOCKS_ = 1>
struct simt_shape {
	static const int BM = BM_, BN = BN_, BK = BK_, TM = TM_, TN = TN_, STAGES = STAGES_;
	static const int LANES_M = LANES_M_, LANES_N = 32 / LANES_M_, BLOCKS = BLOCKS_;
	static const int WARP_M = LANES_M * TM, WARP_N = LANES_N * TN;
	static const int WARPS_M = BM / WARP_M, WARPS_N = BN / WARP_N;
	static const int THREADS = 32 * WARPS_M * WARPS_N;
	static const int CHUNKS = BK / 4; /* pieces of 16 bytes of a column of B */
	static const int STAGE_FLOATS = BK * (BM + BN);
	static const int SHARED_BYTES = STAGES * STAGE_FLOATS * 4;
};

/* Where piece `chunk` of column n of B lies. */
template <typename S> static __device__ __forceinline__ int simt_place(int n, int chunk)
{
	const int mix = S::CHUNKS == 2   ? n >> 2 & 1
			: S::CHUNKS == 4 ? n >> 1 & 3
					 : n & (S::CHUNKS - 1);

	return n * S::BK + (chunk ^ mix) * 4;
}

/* One stage; what is beyond the matrices becomes 0. WIDE: 16 bytes at a time, else 4. */
template <typename S, bool WIDE>
static __device__ __forceinline__ void simt_load(const simt_problem &p, float *stage, int row,
						 int column, int depth)
{
	float *a = stage, *b = stage + S::BK * S::BM;

	if (WIDE) {
#pragma unroll
		for (int i = threadIdx.x; i < S::BK * S::BM / 4; i += S::THREADS) {
			int l = i / (S::BM / 4), m = i % (S::BM / 4) * 4;
			bool in = row + m < p.m && depth + l < p.k;

			copy_async<16>(a + l * S::BM + m,
				       in ? p.a + (depth + l) * p.lda + row + m : p.a, in);
		}
#pragma unroll
		for (int i = threadIdx.x; i < S::BN * S::CHUNKS; i += S::THREADS) {
			int n = i / S::CHUNKS, chunk = i % S::CHUNKS;
			bool in = column + n < p.n && depth + chunk * 4 < p.k;

			copy_async<16>(b + simt_place<S>(n, chunk),
				       in ? p.b + (column + n) * p.ldb + depth + chunk * 4 : p.b,
				       in);
		}
	} else {
		for (int i = threadIdx.x; i < S::BK * S::BM; i += S::THREADS) {
			int l = i / S::BM, m = i % S::BM;
			bool in = row + m < p.m && depth + l < p.k;

			copy_async<4>(a + i, in ? p.a + (depth + l) * p.lda + row + m : p.a, in);
		}
		for (int i = threadIdx.x; i < S::BN * S::BK; i += S::THREADS) {
			int n = i / S::BK, l = i % S::BK;
			bool in = column + n < p.n && depth + l < p.k;

			copy_async<4>(b + simt_place<S>(n, l / 4) + l % 4,
				      in ? p.b + (column + n) * p.ldb + depth + l : p.b, in);
		}
	}
}

template <typename S>
static __device__ __forceinline__ void simt_multiply(const float *stage, int m, int n,
						     float sums[S::TM][S::TN])
{
	const float *a = stage + m, *b = stage + S::BK * S::BM;

#pragma unroll
	for (int chunk = 0; chunk < S::CHUNKS; chunk++) {
		float4 right[S::TN];

#pragma unroll
		for (int j = 0; j < S::TN; j++)
			right[j] = *reinterpret_cast<const float4 *>(
				b + simt_place<S>(n + j * S::LANES_N, chunk));
#pragma unroll
		for (int l = 0; l < 4; l++) {
			float4 left[S::TM / 4];

#pragma unroll
			for (int i = 0; i < S::TM / 4; i++)
				left[i] = *reinterpret_cast<const float4 *>(
					a + (chunk * 4 + l) * S::BM + i * S::LANES_M * 4);
#pragma unroll
			for (int j = 0; j < S::TN; j++) {
				float r = l == 0   ? right[j].x
					  : l == 1 ? right[j].y
					  : l == 2 ? right[j].z
						   : right[j].w;

#pragma unroll
				for (int i = 0; i < S::TM / 4; i++) {
					sums[i * 4][j] = fmaf(left[i].x, r, sums[i * 4][j]);
					sums[i * 4 + 1][j] = fmaf(left[i].y, r, sums[i * 4 + 1][j]);
					sums[i * 4 + 2][j] = fmaf(left[i].z, r, sums[i * 4 + 2][j]);
					sums[i * 4 + 3][j] = fmaf(left[i].w, r, sums[i * 4 + 3][j]);
				}
			}
		}
	}
}

template <typename S>
static __device__ __forceinline__ void simt_store(const simt_problem &p, int row, int column,
						  bool wide, const float sums[S::TM][S::TN])
{
#pragma unroll
	for (int j = 0; j < S::TN; j++) {
		int n = column + j * S::LANES_N;

		if (n >= p.n)
			continue;
#pragma unroll
		for (int i = 0; i < S::TM; i += 4) {
			int m = row + i * S::LANES_M;
			float *c = p.c + n * p.ldc + m;

			if (wide && p.beta == 0 && m < p.m) {
				*reinterpret_cast<float4 *>(c) = make_float4(
					p.alpha * sums[i][j], p.alpha * sums[i + 1][j],
					p.alpha * sums[i + 2][j], p.alpha * sums[i + 3][j]);
				continue;
			}
#pragma unroll
			for (int x = 0; x < 4; x++)
				if (m + x < p.m)
					c[x] = p.alpha * sums[i + x][j] +
					       (p.beta != 0 ? p.beta * c[x] : 0);
		}
	}
}

template <typename S, bool WIDE>
static __global__ void __launch_bounds__(S::THREADS, S::BLOCKS) gemm_simt(simt_problem p)
{
	extern __shared__ __align__(16) float simt_memory[];
	int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	int m = warp % S::WARPS_M * S::WARP_M + lane % S::LANES_M * 4;
	int n = warp / S::WARPS_M * S::WARP_N + lane / S::LANES_M;
	int steps = (p.k + S::BK - 1) / S::BK;
	float sums[S::TM][S::TN];
	int row, column;

	tile_of_block(blockIdx.x, (p.m + S::BM - 1) / S::BM, (p.n + S::BN - 1) / S::BN, &row,
		      &column);
	row *= S::BM;
	column *= S::BN;
	p.a += blockIdx.z * p.stride_a;
	p.b += blockIdx.z * p.stride_b;
	p.c += blockIdx.z * p.stride_c;
#pragma unroll
	for (int i = 0; i < S::TM; i++)
#pragma unroll
		for (int j = 0; j < S::TN; j++)
			sums[i][j] = 0;
#pragma unroll
	for (int s = 0; s < S::STAGES - 1; s++) {
		if (s < steps)
			simt_load<S, WIDE>(p, simt_memory + s * S::STAGE_FLOATS, row, column,
					   s * S::BK);
		copies_commit();
	}
	for (int step = 0; step < steps; step++) {
		int next = step + S::STAGES - 1;

		copies_wait<S::STAGES - 2>();
		__syncthreads();
		if (next < steps)
			simt_load<S, WIDE>(p, simt_memory + next % S::STAGES * S::STAGE_FLOATS, row,
					   column, next * S::BK);
		copies_commit();
		simt_multiply<S>(simt_memory + step % S::STAGES * S::STAGE_FLOATS, m, n, sums);
	}
	simt_store<S>(p, row + m, column + n, WIDE && p.ldc % 4 == 0 && (uintptr_t)p.c % 16 == 0,
		      sums);
}

#endif
