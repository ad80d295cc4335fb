/*
 * Attention without tensor cores, for FP32 and for older devices: a block of 256 threads processes
 * 16 rows in tiles of 16. Thread (r, c) computes element (r, c) of S, and elements c, c + 16, ...
 * of a row of the output. Nothing is rounded between the GEMMs.
 */
#ifndef GPUPROOF_KERNELS_ATTENTION_SIMT_CUH
#define GPUPROOF_KERNELS_ATTENTION_SIMT_CUH

#include "kernels/attention/attention_rows.cuh"
#include "kernels/storage.cuh"

#define SIMT_TILE 16
#define SIMT_THREADS (SIMT_TILE * SIMT_TILE)

template <int HEAD> struct simt_tile {
	float at[SIMT_TILE]
		[HEAD + 1]; /* one more: elements of a column in 16 lines are in different banks */
};

/* Loads 16 positions from `row` on; zeros beyond the sequence and beyond the head's elements. */
template <typename T, int HEAD>
static __device__ __forceinline__ void
attention_simt_fetch(simt_tile<HEAD> &to, const attention_problem &p, const attention_place &at,
		     const void *tensor, uint64_t ld, int row)
{
	const T *from = (const T *)tensor + (uint64_t)at.batch * p.shape.sequence * ld +
			(uint64_t)at.head * p.shape.head_size;

	for (int i = threadIdx.x; i < SIMT_TILE * HEAD; i += SIMT_THREADS) {
		int line = i / HEAD, d = i % HEAD;
		float x = 0;

		if (row + line < (int)p.shape.sequence && d < (int)p.shape.head_size)
			storage_to_math(&x, from[(row + line) * ld + d]);
		to.at[line][d] = x;
	}
}

template <int HEAD>
static __device__ __forceinline__ float attention_simt_dot(const simt_tile<HEAD> &a, int r,
							   const simt_tile<HEAD> &b, int c)
{
	float sum = 0;

#pragma unroll 8
	for (int d = 0; d < HEAD; d++)
		sum = fmaf(a.at[r][d], b.at[c][d], sum);
	return sum;
}

/* out += sum over j of weight[j * step] * line j of the tile. */
template <int HEAD>
static __device__ __forceinline__ void attention_simt_add_lines(float (&out)[HEAD / SIMT_TILE],
								const float *weight, int step,
								const simt_tile<HEAD> &tile, int c)
{
#pragma unroll 4
	for (int j = 0; j < SIMT_TILE; j++) {
		float w = weight[j * step];

#pragma unroll
		for (int i = 0; i < HEAD / SIMT_TILE; i++)
			out[i] = fmaf(w, tile.at[j][c + i * SIMT_TILE], out[i]);
	}
}

template <typename T, int HEAD>
static __device__ __forceinline__ void
attention_simt_store(const attention_problem &p, const attention_place &at, void *to, uint64_t ld,
		     int row, int c, const float (&out)[HEAD / SIMT_TILE], float factor)
{
	T *line = (T *)to + ((uint64_t)at.batch * p.shape.sequence + row) * ld +
		  (uint64_t)at.head * p.shape.head_size;

	if (row >= (int)p.shape.sequence)
		return;
#pragma unroll
	for (int i = 0; i < HEAD / SIMT_TILE; i++)
		if (c + i * SIMT_TILE < (int)p.shape.head_size)
			storage_from_math(&line[c + i * SIMT_TILE], out[i] * factor);
}

template <typename T, int HEAD>
static __global__ void __launch_bounds__(SIMT_THREADS, 2)
	attention_forward_simt(attention_problem p)
{
	__shared__ simt_tile<HEAD> q, k, v;
	__shared__ float weight[SIMT_TILE][SIMT_TILE + 1];
	attention_place at(p, true);
	int r = threadIdx.x / SIMT_TILE, c = threadIdx.x % SIMT_TILE, row = at.tile * SIMT_TILE + r;
	int steps = p.shape.causal ? at.tile + 1 : p.tiles;
	float base2 = p.shape.scale * LOG2_E, most = -INFINITY, sum = 0;
	float out[HEAD / SIMT_TILE] = { 0 };

	attention_simt_fetch<T>(q, p, at, p.q, p.shape.ld_qkv, at.tile * SIMT_TILE);
	for (int step = 0; step < steps; step++) {
		int key = step * SIMT_TILE + c;
		float s, now, rescale;

		attention_simt_fetch<T>(k, p, at, p.k, p.shape.ld_qkv, step * SIMT_TILE);
		attention_simt_fetch<T>(v, p, at, p.v, p.shape.ld_qkv, step * SIMT_TILE);
		__syncthreads();
		s = attention_simt_dot(q, r, k, c);
		if (key >= (int)p.shape.sequence || (p.shape.causal && key > row))
			s = -INFINITY;
		now = s;
#pragma unroll
		for (int lane = SIMT_TILE / 2; lane > 0; lane /= 2)
			now = fmaxf(now, __shfl_xor_sync(~0u, now, lane));
		now = fmaxf(now, most);
		rescale = attention_rows_power_of_two((most - now) * base2);
		most = now;
		s = attention_rows_power_of_two((s - now) * base2);
		weight[r][c] = s;
		sum = sum * rescale + s;
#pragma unroll
		for (int i = 0; i < HEAD / SIMT_TILE; i++)
			out[i] *= rescale;
		__syncwarp();
		attention_simt_add_lines(out, weight[r], 1, v, c);
		__syncthreads();
	}
#pragma unroll
	for (int lane = SIMT_TILE / 2; lane > 0; lane /= 2)
		sum += __shfl_xor_sync(~0u, sum, lane);
	attention_simt_store<T, HEAD>(p, at, p.out, p.shape.ld_o, row, c, out, 1 / sum);
	if (c == 0)
		p.lse[at.row_values + row] =
			row < (int)p.shape.sequence ? most * p.shape.scale + logf(sum) : INFINITY;
	/* Pads lse to whole tiles of 128. */
	for (int i = (at.tile + 1) * SIMT_TILE + threadIdx.x;
	     at.tile == p.tiles - 1 &&
	     i < (int)((p.shape.sequence + ATTENTION_TILE - 1) / ATTENTION_TILE * ATTENTION_TILE);
	     i += SIMT_THREADS)
		p.lse[at.row_values + i] = INFINITY;
}

/* P and dS of this thread's query and key. */
struct simt_pair {
	float probability, gradient;

	template <int HEAD>
	__device__ __forceinline__ simt_pair(const attention_problem &p, const attention_place &at,
					     const simt_tile<HEAD> &q, const simt_tile<HEAD> &d_o,
					     int r, const simt_tile<HEAD> &k,
					     const simt_tile<HEAD> &v, int c, int query, int key)
	{
		float lse = p.lse[at.row_values + query], delta = p.delta[at.row_values + query];

		probability = attention_rows_power_of_two(
			(attention_simt_dot(q, r, k, c) * p.shape.scale - lse) * LOG2_E);
		if (key >= (int)p.shape.sequence || (p.shape.causal && key > query))
			probability = 0;
		gradient = probability * (attention_simt_dot(d_o, r, v, c) - delta);
	}
};

template <typename T, int HEAD>
static __global__ void __launch_bounds__(SIMT_THREADS, 2) attention_dkdv_simt(attention_problem p)
{
	__shared__ simt_tile<HEAD> q, k, v, d_o;
	__shared__ float probability[SIMT_TILE][SIMT_TILE + 1], gradient[SIMT_TILE][SIMT_TILE + 1];
	attention_place at(p, false);
	int r = threadIdx.x / SIMT_TILE, c = threadIdx.x % SIMT_TILE;
	int first = at.tile * SIMT_TILE;
	float dk[HEAD / SIMT_TILE] = { 0 }, dv[HEAD / SIMT_TILE] = { 0 };

	attention_simt_fetch<T>(k, p, at, p.k, p.shape.ld_qkv, first);
	attention_simt_fetch<T>(v, p, at, p.v, p.shape.ld_qkv, first);
	for (int tile = p.shape.causal ? at.tile : 0; tile < p.tiles; tile++) {
		attention_simt_fetch<T>(q, p, at, p.q, p.shape.ld_qkv, tile * SIMT_TILE);
		attention_simt_fetch<T>(d_o, p, at, p.d_o, p.shape.ld_o, tile * SIMT_TILE);
		__syncthreads();
		simt_pair pair(p, at, q, d_o, r, k, v, c, tile * SIMT_TILE + r, first + c);
		probability[r][c] = pair.probability;
		gradient[r][c] = pair.gradient;
		__syncthreads();
		attention_simt_add_lines(dv, &probability[0][r], SIMT_TILE + 1, d_o, c);
		attention_simt_add_lines(dk, &gradient[0][r], SIMT_TILE + 1, q, c);
		__syncthreads();
	}
	attention_simt_store<T, HEAD>(p, at, p.dv, p.shape.ld_qkv, first + r, c, dv, 1);
	attention_simt_store<T, HEAD>(p, at, p.dk, p.shape.ld_qkv, first + r, c, dk, p.shape.scale);
}

template <typename T, int HEAD>
static __global__ void __launch_bounds__(SIMT_THREADS, 2) attention_dq_simt(attention_problem p)
{
	__shared__ simt_tile<HEAD> q, k, v, d_o;
	__shared__ float gradient[SIMT_TILE][SIMT_TILE + 1];
	attention_place at(p, true);
	int r = threadIdx.x / SIMT_TILE, c = threadIdx.x % SIMT_TILE;
	int first = at.tile * SIMT_TILE, steps = p.shape.causal ? at.tile + 1 : p.tiles;
	float dq[HEAD / SIMT_TILE] = { 0 };

	attention_simt_fetch<T>(q, p, at, p.q, p.shape.ld_qkv, first);
	attention_simt_fetch<T>(d_o, p, at, p.d_o, p.shape.ld_o, first);
	for (int step = 0; step < steps; step++) {
		attention_simt_fetch<T>(k, p, at, p.k, p.shape.ld_qkv, step * SIMT_TILE);
		attention_simt_fetch<T>(v, p, at, p.v, p.shape.ld_qkv, step * SIMT_TILE);
		__syncthreads();
		gradient[r][c] =
			simt_pair(p, at, q, d_o, r, k, v, c, first + r, step * SIMT_TILE + c)
				.gradient;
		__syncwarp();
		attention_simt_add_lines(dq, gradient[r], 1, k, c);
		__syncthreads();
	}
	attention_simt_store<T, HEAD>(p, at, p.dq, p.shape.ld_qkv, first + r, c, dq, p.shape.scale);
}

/* delta = sum of do o, one warp per position of a head, zero beyond the sequence. */
template <typename T>
static __global__ void attention_simt_delta(attention_problem p, uint64_t padded, uint64_t values)
{
	const attention_shape &s = p.shape;
	uint64_t value = ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x) / 32;
	uint64_t of_all = value / padded, position = value % padded;
	uint64_t at = (of_all / s.heads * s.sequence + position) * s.ld_o +
		      of_all % s.heads * s.head_size;
	float sum = 0;

	if (value >= values)
		return;
	for (unsigned d = threadIdx.x % 32; position < s.sequence && d < s.head_size; d += 32) {
		float x, y;

		storage_to_math(&x, ((const T *)p.o)[at + d]);
		storage_to_math(&y, ((const T *)p.d_o)[at + d]);
		sum = fmaf(x, y, sum);
	}
#pragma unroll
	for (int lane = 16; lane > 0; lane /= 2)
		sum += __shfl_xor_sync(~0u, sum, lane);
	if (threadIdx.x % 32 == 0)
		p.delta[value] = sum;
}

#endif
