/*
 * Fused FP16 attention with WMMA (16 x 16 x 16), for compute capability 7.0; portable to later
 * ones. A block of four warps processes 64 rows, 16 per warp, in tiles of 64. The fragment layout
 * is opaque, so each warp finds it by loading a matrix of row numbers. Scores pass through shared
 * memory to become FP16 operands.
 */
#ifndef GPUPROOF_KERNELS_ATTENTION_WMMA_CUH
#define GPUPROOF_KERNELS_ATTENTION_WMMA_CUH

#include <mma.h>

#include "kernels/attention/attention_rows.cuh"
#include "kernels/launch/compat.h"

#define WMMA_THREADS 128
#define WMMA_TILE 64
#define WMMA_SIDE 16
/* Elements of a line in shared memory, padded so that lines start in different banks. */
#define WMMA_LINE(head) ((head) + 8)
#define WMMA_SCORES (WMMA_TILE + 4)
#define WMMA_SHARED_BYTES(head, tiles) \
	((tiles)*WMMA_TILE * WMMA_LINE(head) * 2 + WMMA_TILE * WMMA_SCORES * 4)

#if CODE_HAS_TENSOR_CORES
namespace wmma = nvcuda::wmma;
typedef wmma::fragment<wmma::accumulator, WMMA_SIDE, WMMA_SIDE, WMMA_SIDE, float> wmma_sums;
typedef wmma::fragment<wmma::matrix_a, WMMA_SIDE, WMMA_SIDE, WMMA_SIDE, half, wmma::row_major>
	wmma_left;

/*
 * Loads 64 positions from `row` on of this head; zeros beyond the sequence and the head's elements.
 */
template <int HEAD>
static __device__ __forceinline__ void
attention_wmma_load_tile(half *to, const attention_problem &p, const attention_place &at,
			 const void *tensor, uint64_t ld, int row)
{
	const half *from = (const half *)tensor + (uint64_t)at.batch * p.shape.sequence * ld +
			   (uint64_t)at.head * p.shape.head_size;

	for (int i = threadIdx.x; i < WMMA_TILE * HEAD / 8; i += WMMA_THREADS) {
		int line = i / (HEAD / 8), d = i % (HEAD / 8) * 8;
		bool in = row + line < (int)p.shape.sequence && d < (int)p.shape.head_size;

		*(uint4 *)(to + line * WMMA_LINE(HEAD) + d) =
			in ? *(const uint4 *)(from + (row + line) * ld + d)
			   : make_uint4(0, 0, 0, 0);
	}
}

template <int COUNT>
static __device__ __forceinline__ void attention_wmma_clear(wmma_sums (&sums)[COUNT])
{
#pragma unroll
	for (int i = 0; i < COUNT; i++)
		wmma::fill_fragment(sums[i], 0.0f);
}

/* s = left right^T: the warp's 16 lines of `left`, the 64 lines of `right`. */
template <int HEAD>
static __device__ __forceinline__ void
attention_wmma_multiply_lines(wmma_sums (&s)[WMMA_TILE / WMMA_SIDE], const half *left,
			      const half *right)
{
	wmma::fragment<wmma::matrix_b, WMMA_SIDE, WMMA_SIDE, WMMA_SIDE, half, wmma::col_major> b;
	wmma_left a;

	attention_wmma_clear(s);
#pragma unroll 1
	for (int k = 0; k < HEAD; k += WMMA_SIDE) {
		wmma::load_matrix_sync(a, left + k, WMMA_LINE(HEAD));
#pragma unroll
		for (int n = 0; n < WMMA_TILE / WMMA_SIDE; n++) {
			wmma::load_matrix_sync(b, right + n * WMMA_SIDE * WMMA_LINE(HEAD) + k,
					       WMMA_LINE(HEAD));
			wmma::mma_sync(s[n], a, b, s[n]);
		}
	}
}

/* sums += left tile: 16 lines of 64 elements, as long as lines of the scores. */
template <int HEAD>
static __device__ __forceinline__ void
attention_wmma_multiply_rows(wmma_sums (&sums)[HEAD / WMMA_SIDE], const half *left,
			     const half *tile)
{
	wmma::fragment<wmma::matrix_b, WMMA_SIDE, WMMA_SIDE, WMMA_SIDE, half, wmma::row_major> b;
	wmma_left a;

#pragma unroll 1
	for (int k = 0; k < WMMA_TILE; k += WMMA_SIDE) {
		wmma::load_matrix_sync(a, left + k, 2 * WMMA_SCORES);
#pragma unroll
		for (int n = 0; n < HEAD / WMMA_SIDE; n++) {
			wmma::load_matrix_sync(b, tile + k * WMMA_LINE(HEAD) + n * WMMA_SIDE,
					       WMMA_LINE(HEAD));
			wmma::mma_sync(sums[n], a, b, sums[n]);
		}
	}
}

/* Row of each element that a thread has in a fragment. */
struct fragment_rows {
	unsigned char row[8];

	/* `scores`: memory of the warp, which is overwritten. */
	__device__ __forceinline__ void find(float *scores)
	{
		wmma_sums places;

		for (int i = threadIdx.x % 32; i < WMMA_SIDE * WMMA_SIDE; i += 32)
			scores[i / WMMA_SIDE * WMMA_SCORES + i % WMMA_SIDE] =
				(float)(i / WMMA_SIDE);
		__syncwarp();
		wmma::load_matrix_sync(places, scores, WMMA_SCORES, wmma::mem_row_major);
		__syncwarp();
#pragma unroll
		for (int e = 0; e < 8; e++)
			row[e] = (unsigned char)places.x[e];
	}
};

/*
 * A warp's scores in shared memory, 16 lines: a thread has every second one of the 32 elements of a
 * line. FP16 values overwrite the line from its start.
 */
struct score_line {
	float *line;
	int first; /* first of its columns */
	float x[WMMA_TILE / 2];

	__device__ __forceinline__ score_line(float *scores)
	    : line(scores + threadIdx.x % 32 / 2 * WMMA_SCORES), first(threadIdx.x % 2)
	{
	}
	/* Stores fragments, collectively over the warp. */
	__device__ __forceinline__ void take(float *scores,
					     const wmma_sums (&s)[WMMA_TILE / WMMA_SIDE])
	{
#pragma unroll
		for (int n = 0; n < WMMA_TILE / WMMA_SIDE; n++)
			wmma::store_matrix_sync(scores + n * WMMA_SIDE, s[n], WMMA_SCORES,
						wmma::mem_row_major);
		__syncwarp();
#pragma unroll
		for (int i = 0; i < WMMA_TILE / 2; i++)
			x[i] = line[2 * i + first];
		__syncwarp();
	}
	__device__ __forceinline__ void put(void)
	{
#pragma unroll
		for (int i = 0; i < WMMA_TILE / 2; i++)
			((half *)line)[2 * i + first] = __float2half_rn(x[i]);
		__syncwarp();
	}
};

/* Stores a warp's 16 rows, from `row` on, to a tensor, through the memory of its scores. */
template <int HEAD>
static __device__ __forceinline__ void
attention_wmma_store_sums(const attention_problem &p, const attention_place &at, void *to,
			  uint64_t ld, int row, const wmma_sums (&sums)[HEAD / WMMA_SIDE],
			  float *scores, float factor)
{
	int line = threadIdx.x % 32 / 2, s = row + line;
	half *out = (half *)to + ((uint64_t)at.batch * p.shape.sequence + s) * ld +
		    (uint64_t)at.head * p.shape.head_size;

#pragma unroll
	for (int n = 0; n < HEAD / WMMA_SIDE; n++) {
		__syncwarp();
		wmma::store_matrix_sync(scores, sums[n], WMMA_SCORES, wmma::mem_row_major);
		__syncwarp();
#pragma unroll
		for (int i = 0; i < WMMA_SIDE / 2; i++) {
			int d = threadIdx.x % 2 * (WMMA_SIDE / 2) + i;

			if (s < (int)p.shape.sequence && n * WMMA_SIDE + d < (int)p.shape.head_size)
				out[n * WMMA_SIDE + d] =
					__float2half_rn(scores[line * WMMA_SCORES + d] * factor);
		}
	}
}

template <int HEAD>
static __device__ __forceinline__ void attention_wmma_forward(const attention_problem &p)
{
	extern __shared__ __align__(128) char wmma_memory[];
	__shared__ float factors[WMMA_TILE]; /* of the rows, in one step */
	half *q = (half *)wmma_memory, *k = q + WMMA_TILE * WMMA_LINE(HEAD),
	     *v = k + WMMA_TILE * WMMA_LINE(HEAD);
	int warp = threadIdx.x / 32, line = warp * WMMA_SIDE + threadIdx.x % 32 / 2;
	float *scores = (float *)(v + WMMA_TILE * WMMA_LINE(HEAD)) + warp * WMMA_SIDE * WMMA_SCORES;
	attention_place at(p, true);
	int first = at.tile * WMMA_TILE, query = first + line;
	int last = p.shape.causal && first + WMMA_TILE < (int)p.shape.sequence
			   ? first + WMMA_TILE
			   : (int)p.shape.sequence;
	float base2 = p.shape.scale * LOG2_E, most = -INFINITY, sum = 0;
	wmma_sums o[HEAD / WMMA_SIDE], s[WMMA_TILE / WMMA_SIDE];
	fragment_rows rows;
	score_line x(scores);

	attention_wmma_clear(o);
	rows.find(scores);
	attention_wmma_load_tile<HEAD>(q, p, at, p.q, p.shape.ld_qkv, first);
	for (int key = 0; key < last; key += WMMA_TILE) {
		float before = most, total = 0, rescale;

		__syncthreads(); /* all warps are done with K and V */
		attention_wmma_load_tile<HEAD>(k, p, at, p.k, p.shape.ld_qkv, key);
		attention_wmma_load_tile<HEAD>(v, p, at, p.v, p.shape.ld_qkv, key);
		__syncthreads();
		attention_wmma_multiply_lines<HEAD>(s, q + warp * WMMA_SIDE * WMMA_LINE(HEAD), k);
		x.take(scores, s);
#pragma unroll
		for (int i = 0; i < WMMA_TILE / 2; i++) {
			int column = key + 2 * i + x.first;

			if (column >= (int)p.shape.sequence || (p.shape.causal && column > query))
				x.x[i] = -INFINITY;
			most = fmaxf(most, x.x[i]);
		}
		most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
		rescale = attention_rows_power_of_two((before - most) * base2);
#pragma unroll
		for (int i = 0; i < WMMA_TILE / 2; i++) {
			x.x[i] = attention_rows_power_of_two(fmaf(x.x[i], base2, -most * base2));
			total += x.x[i];
		}
		sum = sum * rescale + total;
		factors[line] = rescale; /* both threads of a row store the same value */
		x.put();
#pragma unroll
		for (int n = 0; n < HEAD / WMMA_SIDE; n++)
#pragma unroll
			for (int e = 0; e < 8; e++)
				o[n].x[e] *= factors[warp * WMMA_SIDE + rows.row[e]];
		attention_wmma_multiply_rows<HEAD>(o, (const half *)scores, v);
		__syncwarp();
	}
	sum += __shfl_xor_sync(~0u, sum, 1);
	attention_wmma_store_sums<HEAD>(p, at, p.out, p.shape.ld_o, first + warp * WMMA_SIDE, o,
					scores, 1 / sum);
	p.lse[at.row_values + query] =
		query < (int)p.shape.sequence ? most * p.shape.scale + logf(sum) : INFINITY;
	/* Pads lse to whole tiles of 128. */
	if (at.tile == p.tiles - 1 && p.tiles % 2 && threadIdx.x < WMMA_TILE)
		p.lse[at.row_values + first + WMMA_TILE + threadIdx.x] = INFINITY;
}

/* dK and dV of 64 keys; rows are keys. */
template <int HEAD>
static __device__ __forceinline__ void attention_wmma_dkdv(const attention_problem &p)
{
	extern __shared__ __align__(128) char wmma_memory[];
	__shared__ float values[2][WMMA_TILE]; /* lse and delta of a tile's queries */
	half *k = (half *)wmma_memory, *v = k + WMMA_TILE * WMMA_LINE(HEAD),
	     *q = v + WMMA_TILE * WMMA_LINE(HEAD), *d_o = q + WMMA_TILE * WMMA_LINE(HEAD);
	int warp = threadIdx.x / 32, own = warp * WMMA_SIDE * WMMA_LINE(HEAD);
	float *scores =
		(float *)(d_o + WMMA_TILE * WMMA_LINE(HEAD)) + warp * WMMA_SIDE * WMMA_SCORES;
	attention_place at(p, false);
	int first = at.tile * WMMA_TILE, key = first + warp * WMMA_SIDE + threadIdx.x % 32 / 2;
	float base2 = p.shape.scale * LOG2_E;
	wmma_sums dk[HEAD / WMMA_SIDE], dv[HEAD / WMMA_SIDE], s[WMMA_TILE / WMMA_SIDE];
	score_line x(scores), dp(scores);

	attention_wmma_clear(dk);
	attention_wmma_clear(dv);
	attention_wmma_load_tile<HEAD>(k, p, at, p.k, p.shape.ld_qkv, first);
	attention_wmma_load_tile<HEAD>(v, p, at, p.v, p.shape.ld_qkv, first);
	for (int tile = p.shape.causal ? at.tile : 0; tile < p.tiles; tile++) {
		int query = tile * WMMA_TILE;

		__syncthreads(); /* all warps are done with Q and dO */
		attention_wmma_load_tile<HEAD>(q, p, at, p.q, p.shape.ld_qkv, query);
		attention_wmma_load_tile<HEAD>(d_o, p, at, p.d_o, p.shape.ld_o, query);
		values[threadIdx.x / WMMA_TILE][threadIdx.x % WMMA_TILE] =
			(threadIdx.x < WMMA_TILE
				 ? p.lse
				 : p.delta)[at.row_values + query + threadIdx.x % WMMA_TILE];
		__syncthreads();
		attention_wmma_multiply_lines<HEAD>(s, k + own, q);
		x.take(scores, s);
#pragma unroll
		for (int i = 0; i < WMMA_TILE / 2; i++) {
			int column = 2 * i + x.first;

			x.x[i] = attention_rows_power_of_two(
				fmaf(x.x[i], base2, -values[0][column] * LOG2_E));
			if (p.shape.causal && query + column < key)
				x.x[i] = 0;
		}
		x.put();
		attention_wmma_multiply_rows<HEAD>(dv, (const half *)scores, d_o);
		__syncwarp();
		attention_wmma_multiply_lines<HEAD>(s, v + own, d_o);
		dp.take(scores, s);
#pragma unroll
		for (int i = 0; i < WMMA_TILE / 2; i++)
			x.x[i] *= dp.x[i] - values[1][2 * i + x.first];
		x.put();
		attention_wmma_multiply_rows<HEAD>(dk, (const half *)scores, q);
		__syncwarp();
	}
	attention_wmma_store_sums<HEAD>(p, at, p.dv, p.shape.ld_qkv, first + warp * WMMA_SIDE, dv,
					scores, 1);
	attention_wmma_store_sums<HEAD>(p, at, p.dk, p.shape.ld_qkv, first + warp * WMMA_SIDE, dk,
					scores, p.shape.scale);
}

/* dQ of 64 queries; rows are queries. */
template <int HEAD>
static __device__ __forceinline__ void attention_wmma_dq(const attention_problem &p)
{
	extern __shared__ __align__(128) char wmma_memory[];
	half *q = (half *)wmma_memory, *d_o = q + WMMA_TILE * WMMA_LINE(HEAD),
	     *k = d_o + WMMA_TILE * WMMA_LINE(HEAD), *v = k + WMMA_TILE * WMMA_LINE(HEAD);
	int warp = threadIdx.x / 32, own = warp * WMMA_SIDE * WMMA_LINE(HEAD);
	float *scores = (float *)(v + WMMA_TILE * WMMA_LINE(HEAD)) + warp * WMMA_SIDE * WMMA_SCORES;
	attention_place at(p, true);
	int first = at.tile * WMMA_TILE, query = first + warp * WMMA_SIDE + threadIdx.x % 32 / 2;
	int last = p.shape.causal ? first + WMMA_TILE : (int)p.shape.sequence;
	float base2 = p.shape.scale * LOG2_E, lse = p.lse[at.row_values + query] * LOG2_E,
	      delta = p.delta[at.row_values + query];
	wmma_sums dq[HEAD / WMMA_SIDE], s[WMMA_TILE / WMMA_SIDE];
	score_line x(scores), dp(scores);

	attention_wmma_clear(dq);
	attention_wmma_load_tile<HEAD>(q, p, at, p.q, p.shape.ld_qkv, first);
	attention_wmma_load_tile<HEAD>(d_o, p, at, p.d_o, p.shape.ld_o, first);
	for (int key = 0; key < last && key < (int)p.shape.sequence; key += WMMA_TILE) {
		__syncthreads(); /* all warps are done with K and V */
		attention_wmma_load_tile<HEAD>(k, p, at, p.k, p.shape.ld_qkv, key);
		attention_wmma_load_tile<HEAD>(v, p, at, p.v, p.shape.ld_qkv, key);
		__syncthreads();
		attention_wmma_multiply_lines<HEAD>(s, q + own, k);
		x.take(scores, s);
		attention_wmma_multiply_lines<HEAD>(s, d_o + own, v);
		dp.take(scores, s);
#pragma unroll
		for (int i = 0; i < WMMA_TILE / 2; i++) {
			int column = key + 2 * i + x.first;

			x.x[i] = column >= (int)p.shape.sequence ||
						 (p.shape.causal && column > query)
					 ? 0
					 : attention_rows_power_of_two(fmaf(x.x[i], base2, -lse)) *
						   (dp.x[i] - delta);
		}
		x.put();
		attention_wmma_multiply_rows<HEAD>(dq, (const half *)scores, k);
		__syncwarp();
	}
	attention_wmma_store_sums<HEAD>(p, at, p.dq, p.shape.ld_qkv, first + warp * WMMA_SIDE, dq,
					scores, p.shape.scale);
}

#endif

/* Never launched without tensor cores. */
template <int HEAD>
static __global__ void __launch_bounds__(WMMA_THREADS)
	attention_forward_wmma(const attention_problem p)
{
#if CODE_HAS_TENSOR_CORES
	attention_wmma_forward<HEAD>(p);
#else
	compat_code_is_absent();
#endif
}

template <int HEAD>
static __global__ void __launch_bounds__(WMMA_THREADS)
	attention_dkdv_wmma(const attention_problem p)
{
#if CODE_HAS_TENSOR_CORES
	attention_wmma_dkdv<HEAD>(p);
#else
	compat_code_is_absent();
#endif
}

template <int HEAD>
static __global__ void __launch_bounds__(WMMA_THREADS) attention_dq_wmma(const attention_problem p)
{
#if CODE_HAS_TENSOR_CORES
	attention_wmma_dq<HEAD>(p);
#else
	compat_code_is_absent();
#endif
}

#endif
