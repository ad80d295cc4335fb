/*
 * C = alpha A B + beta C in column-major FP16 or BF16 with FP32 accumulation on the tensor cores of
 * compute capability 9.0 (wgmma), only for machine code sm_90a.
 *
 * Blocks are persistent: each computes one tile of C after another. One thread copies tiles of A
 * and B to shared memory with TMA, STAGES ahead; two groups of four warps multiply, each half of
 * the tile. The rows of the tensor cores' result are columns of C: their left operand is B,
 * contiguous along k, their right operand A, contiguous along m.
 *
 * A line in shared memory has 128 bytes; groups of eight lines use the 128-byte swizzle of 16-byte
 * pieces, as TMA writes and the tensor cores read them.
 */
#ifndef GPUPROOF_KERNELS_GEMM_WGMMA_CUH
#define GPUPROOF_KERNELS_GEMM_WGMMA_CUH

#include "kernels/gemm/gemm_wgmma.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

#include "kernels/gemm/tma.cuh"
#include "kernels/gemm/tile_order.cuh"
#include "kernels/gemm/wgmma.cuh"

#define WGMMA_TILE_M 256
#define WGMMA_TILE_N 128
#define WGMMA_TILE_K 64
/* Elements per line of 128 bytes. */
#define WGMMA_LINE 64
#define WGMMA_A_BYTES (WGMMA_TILE_M * WGMMA_TILE_K * 2)
#define WGMMA_B_BYTES (WGMMA_TILE_N * WGMMA_TILE_K * 2)
#define WGMMA_STAGE_BYTES (WGMMA_A_BYTES + WGMMA_B_BYTES)
/* 64 x 64 elements: one copy of A, and what one group multiplies of B. */
#define WGMMA_BLOCK_BYTES (WGMMA_LINE * WGMMA_TILE_K * 2)
#define WGMMA_STAGES 4
#define WGMMA_THREADS 384
#define WGMMA_SHARED_BYTES (WGMMA_STAGES * WGMMA_STAGE_BYTES + 1024)

struct wgmma_problem {
	void *c;
	int m, n, k;
	int64_t ldc;
	float alpha, beta;
};

static __device__ __forceinline__ void put(half *to, float x)
{
	*to = __float2half_rn(x);
}
static __device__ __forceinline__ void put(__nv_bfloat16 *to, float x)
{
	*to = __float2bfloat16_rn(x);
}
static __device__ __forceinline__ void put_two(half *to, float x, float y)
{
	*reinterpret_cast<half2 *>(to) = __floats2half2_rn(x, y);
}
static __device__ __forceinline__ void put_two(__nv_bfloat16 *to, float x, float y)
{
	*reinterpret_cast<__nv_bfloat162 *>(to) = __floats2bfloat162_rn(x, y);
}

template <typename T>
static __device__ __forceinline__ void wgmma_store(const wgmma_problem &p, const float d[128],
						   int m0, int n)
{
	T *c = (T *)p.c;
	int lane = threadIdx.x % 32;
	bool pairs = p.beta == 0 && p.ldc % 2 == 0 && (uintptr_t)p.c % 4 == 0;

#pragma unroll
	for (int i = 0; i < 64; i++) {
		int row = n + i % 2 * 8, m = m0 + i / 2 * 8 + lane % 4 * 2;
		float x = p.alpha * d[i / 2 * 4 + i % 2 * 2],
		      y = p.alpha * d[i / 2 * 4 + i % 2 * 2 + 1];
		T *to = c + row * p.ldc + m;

		if (row >= p.n)
			continue;
		if (pairs && m + 1 < p.m) {
			put_two(to, x, y);
			continue;
		}
		if (m < p.m)
			put(to, x + (p.beta != 0 ? p.beta * (float)to[0] : 0));
		if (m + 1 < p.m)
			put(to + 1, y + (p.beta != 0 ? p.beta * (float)to[1] : 0));
	}
}

static __device__ __forceinline__ void
wgmma_produce(const wgmma_problem &p, const CUtensorMap *map_a, const CUtensorMap *map_b,
	      char *stages, uint64_t *full, uint64_t *empty, int rows, int columns, int steps)
{
	pipeline_state<WGMMA_STAGES> r;

	for (int tile = blockIdx.x; tile < rows * columns; tile += gridDim.x) {
		int row, column;

		tile_of_block(tile, rows, columns, &row, &column);
		for (int step = 0; step < steps; step++) {
			char *a = stages + r.stage * WGMMA_STAGE_BYTES, *b = a + WGMMA_A_BYTES;

			mbarrier_wait(&empty[r.stage], r.phase ^ 1);
			mbarrier_expect_tx(&full[r.stage], WGMMA_STAGE_BYTES);
			for (int i = 0; i < WGMMA_TILE_M / WGMMA_LINE; i++)
				tma_load(a + i * WGMMA_BLOCK_BYTES, map_a,
					 row * WGMMA_TILE_M + i * WGMMA_LINE, step * WGMMA_TILE_K,
					 &full[r.stage]);
			tma_load(b, map_b, step * WGMMA_TILE_K, column * WGMMA_TILE_N,
				 &full[r.stage]);
			r.advance();
		}
	}
}

template <typename T>
static __device__ __forceinline__ void wgmma_consume(const wgmma_problem &p, char *stages,
						     uint64_t *full, uint64_t *empty, int rows,
						     int columns, int steps)
{
	int group = threadIdx.x / 128 - 1, lane = threadIdx.x % 32, warp = threadIdx.x % 128 / 32;
	pipeline_state<WGMMA_STAGES> r;
	float d[128];

	for (int tile = blockIdx.x; tile < rows * columns; tile += gridDim.x) {
		int row, column, last = 0;

		tile_of_block(tile, rows, columns, &row, &column);
		for (int step = 0; step < steps; step++) {
			char *a = stages + r.stage * WGMMA_STAGE_BYTES;
			uint64_t left =
				operand_descriptor(a + WGMMA_A_BYTES + group * WGMMA_BLOCK_BYTES,
						   16, 1024);
			uint64_t right = operand_descriptor(a, WGMMA_BLOCK_BYTES, 1024);

			mbarrier_wait(&full[r.stage], r.phase);
			wgmma_begin();
#pragma unroll
			/* 16 elements of k: 32 bytes along a line of B, 16 lines of A. */
			for (int i = 0; i < WGMMA_TILE_K / 16; i++)
				multiply_km(T(), d, left + i * (32 >> 4),
					    right + i * (16 * 128 >> 4), step > 0 || i > 0);
			wgmma_commit();
			wgmma_wait<1>();
			if (step > 0)
				consumer_release(&empty[last]);
			last = r.stage;
			r.advance();
		}
		wgmma_wait<0>();
		accumulators_fence(d);
		consumer_release(&empty[last]);
		wgmma_store<T>(p, d, row * WGMMA_TILE_M,
			       column * WGMMA_TILE_N + group * 64 + warp * 16 + lane / 4);
	}
}

template <typename T>
static __global__ void __launch_bounds__(WGMMA_THREADS, 1)
	gemm_wgmma(wgmma_problem p, const __grid_constant__ CUtensorMap map_a,
		   const __grid_constant__ CUtensorMap map_b)
{
	extern __shared__ char wgmma_memory[];
	__shared__ uint64_t full[WGMMA_STAGES], empty[WGMMA_STAGES];
	/* The swizzle counts lines from multiples of 1,024 bytes. */
	char *stages = wgmma_memory + (1024 - shared_address(wgmma_memory) % 1024) % 1024;
	int rows = (p.m + WGMMA_TILE_M - 1) / WGMMA_TILE_M,
	    columns = (p.n + WGMMA_TILE_N - 1) / WGMMA_TILE_N;
	int steps = (p.k + WGMMA_TILE_K - 1) / WGMMA_TILE_K;

	if (threadIdx.x == 0) {
		for (int i = 0; i < WGMMA_STAGES; i++) {
			mbarrier_init(&full[i], 1);
			mbarrier_init(&empty[i], 8); /* each warp that multiplies */
		}
		mbarriers_publish();
	}
	__syncthreads();
	if (threadIdx.x < 128) {
		asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
		if (threadIdx.x == 0)
			wgmma_produce(p, &map_a, &map_b, stages, full, empty, rows, columns, steps);
	} else {
		asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
		wgmma_consume<T>(p, stages, full, empty, rows, columns, steps);
	}
}

#endif
