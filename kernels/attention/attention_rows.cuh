/*
 * Online softmax on mma.sync accumulators, between the two GEMMs of attention. A warp has 16 rows.
 * Per 8 columns, a thread has two neighbouring columns of row lane / 4 and of row lane / 4 + 8: s[4
 * i + 2 half + e] is column 8 i + lane % 4 * 2 + e. Packed in pairs, the same values are the left
 * operand of the next GEMM, 16 columns in four registers.
 */
#ifndef GPUPROOF_KERNELS_ATTENTION_ROWS_CUH
#define GPUPROOF_KERNELS_ATTENTION_ROWS_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math.h>
#include <stdint.h>

#include "kernels/attention/attention_problem.cuh"
#include "kernels/gemm/mma.cuh"

#define LOG2_E 1.4426950408889634f

/* Tile, batch and head of a block. Tiles count down if the last ones take longest. */
struct attention_place {
	int tile, batch, head;
	int64_t row_values; /* start of this head's values of lse and delta */

	__device__ __forceinline__ attention_place(const attention_problem &p, bool down)
	{
		int all = p.shape.batch * p.shape.heads, group = p.tiles * p.heads_near;
		int first = blockIdx.x / group * p.heads_near;
		int near = all - first < p.heads_near ? all - first : p.heads_near;
		int within = blockIdx.x % group, of_all = first + within % near;

		tile = within / near;
		if (down)
			tile = p.tiles - 1 - tile;
		batch = of_all / p.shape.heads;
		head = of_all % p.shape.heads;
		row_values = of_all * (int64_t)((p.shape.sequence + ATTENTION_TILE - 1) /
						ATTENTION_TILE * ATTENTION_TILE);
	}
};

static __device__ __forceinline__ float attention_rows_power_of_two(float x)
{
	float y;

	asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
	return y;
}

static __device__ __forceinline__ unsigned attention_rows_pair_of(half, float x, float y)
{
	half2 pair = __floats2half2_rn(x, y);

	return *reinterpret_cast<unsigned *>(&pair);
}
static __device__ __forceinline__ unsigned attention_rows_pair_of(__nv_bfloat16, float x, float y)
{
	__nv_bfloat162 pair = __floats2bfloat162_rn(x, y);

	return *reinterpret_cast<unsigned *>(&pair);
}

template <typename T, int COUNT>
static __device__ __forceinline__ void attention_rows_pack(unsigned (&packed)[COUNT / 2],
							   const float (&s)[COUNT])
{
#pragma unroll
	for (int i = 0; i < COUNT / 2; i++)
		packed[i] = attention_rows_pair_of(T(), s[2 * i], s[2 * i + 1]);
}

/* Causal mask: rows are queries, columns keys; keys that a query must not see become `hidden`. */
template <int COUNT>
static __device__ __forceinline__ void attention_rows_hide_keys(float (&s)[COUNT], int row,
								int column, int sequence,
								bool causal, float hidden)
{
	int lane = threadIdx.x % 32;

#pragma unroll
	for (int i = 0; i < COUNT; i++) {
		int query = row + lane / 4 + i % 4 / 2 * 8,
		    key = column + i / 4 * 8 + lane % 4 * 2 + i % 2;

		if (key >= sequence || (causal && key > query))
			s[i] = hidden;
	}
}

/*
 * One step of the online softmax over a tile's columns: s becomes exp(scale * (s - maximum)), not
 * yet divided by the sum. Updates `most` and `sum` (of this thread's columns); the caller
 * multiplies earlier sums by `rescale`. base2: scale * log2(e).
 */
template <int COUNT>
static __device__ __forceinline__ void
attention_rows_softmax_step(float (&s)[COUNT], float (&most)[2], float (&sum)[2],
			    float (&rescale)[2], float base2)
{
#pragma unroll
	for (int h = 0; h < 2; h++) {
		float before = most[h], now = before, total = 0;

#pragma unroll
		for (int i = 0; i < COUNT; i += 4)
			now = fmaxf(now, fmaxf(s[i + 2 * h], s[i + 2 * h + 1]));
		now = fmaxf(now, __shfl_xor_sync(~0u, now, 1));
		now = fmaxf(now, __shfl_xor_sync(~0u, now, 2));
		most[h] = now;
		rescale[h] = attention_rows_power_of_two((before - now) * base2);
#pragma unroll
		for (int i = 0; i < COUNT; i += 4)
#pragma unroll
			for (int e = 0; e < 2; e++) {
				float x = attention_rows_power_of_two(
					fmaf(s[i + 2 * h + e], base2, -now * base2));

				s[i + 2 * h + e] = x;
				total += x;
			}
		sum[h] = sum[h] * rescale[h] + total;
	}
}

template <int COUNT>
static __device__ __forceinline__ void attention_rows_scale(float (&d)[COUNT],
							    const float (&factor)[2])
{
#pragma unroll
	for (int i = 0; i < COUNT; i++)
		d[i] *= factor[i % 4 / 2];
}

/* Sum of a row over the four threads that share it. */
static __device__ __forceinline__ float attention_rows_total(float x)
{
	x += __shfl_xor_sync(~0u, x, 1);
	return x + __shfl_xor_sync(~0u, x, 2);
}

/*
 * Stores a warp's 16 rows, from `row` on, to a tensor of this layout; only rows within the
 * sequence.
 */
template <typename T, int COUNT>
static __device__ __forceinline__ void
attention_rows_store(const attention_problem &p, const attention_place &at, void *to, uint64_t ld,
		     int row, const float (&d)[COUNT], const float (&factor)[2])
{
	int lane = threadIdx.x % 32, column = lane % 4 * 8;

#pragma unroll
	for (int h = 0; h < 2; h++) {
		int s = row + lane / 4 + h * 8;
		T *line = (T *)to + ((uint64_t)at.batch * p.shape.sequence + s) * ld +
			  (uint64_t)at.head * p.shape.head_size + column;

#pragma unroll
		for (int i = 0; i < COUNT / 4; i += 4) {
			unsigned v[4];

#pragma unroll
			for (int k = 0; k < 4; k++)
				v[k] = i + k < COUNT / 4
					       ? attention_rows_pair_of(
							 T(), d[4 * (i + k) + 2 * h] * factor[h],
							 d[4 * (i + k) + 2 * h + 1] * factor[h])
					       : 0;
			mma_exchange_pairs(v);
			if (s < (int)p.shape.sequence && i * 8 + column < (int)p.shape.head_size)
				*reinterpret_cast<uint4 *>(line + i * 8) =
					make_uint4(v[0], v[1], v[2], v[3]);
		}
	}
}

/* o = sums / sum, and lse; infinity in rows beyond the sequence. */
template <typename T, int COUNT>
static __device__ __forceinline__ void
attention_rows_store_output(const attention_problem &p, const attention_place &at, int row,
			    const float (&o)[COUNT], const float (&most)[2], const float (&sum)[2])
{
	int lane = threadIdx.x % 32;
	float factor[2];

#pragma unroll
	for (int h = 0; h < 2; h++) {
		int s = row + lane / 4 + h * 8;
		float total = attention_rows_total(sum[h]);

		factor[h] = 1 / total;
		if (lane % 4 == 0)
			p.lse[at.row_values + s] = s < (int)p.shape.sequence
							   ? most[h] * p.shape.scale + logf(total)
							   : INFINITY;
	}
	attention_rows_store<T>(p, at, p.out, p.shape.ld_o, row, o, factor);
}

#endif
