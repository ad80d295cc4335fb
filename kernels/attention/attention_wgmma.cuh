/*
 * Attention by the tensor cores of compute capability 9.0 (wgmma), for machine code sm_90a alone.
 * In each kernel one thread copies tiles into shared memory with the copy engine, STAGES ahead, and
 * two groups of four warps compute, each with 64 rows of the block's 128.
 *
 * A tile in shared memory is HEAD / 64 blocks of lines of 64 elements. Read along its lines it is
 * an operand whose k is the head's elements (Q K^T), read across them one whose k is its rows (P
 * V): no tile is ever transposed.
 */
#ifndef GPUPROOF_KERNELS_ATTENTION_WGMMA_CUH
#define GPUPROOF_KERNELS_ATTENTION_WGMMA_CUH

#include "kernels/attention/attention_wgmma.h"

#include "kernels/attention/attention_rows.cuh"
#include "kernels/gemm/copy_engine.cuh"
#include "kernels/gemm/wgmma.cuh"

#define ATTENTION_THREADS 384
#define ATTENTION_LINE 64
/* Rows of a block, and of a group of four warps. */
#define ATTENTION_ROWS 128
#define ATTENTION_GROUP_ROWS 64

struct attention_maps {
	CUtensorMap q, k, v, d_o;
};

/* Bytes of `rows` lines of 64 elements. */
#define LINES_BYTES(rows) ((rows)*ATTENTION_LINE * 2)

template <int HEAD, int ROWS>
static __device__ __forceinline__ void
copy_tile(char *to, const CUtensorMap *map, const attention_place &at, int row, uint64_t *barrier)
{
#pragma unroll
	for (int i = 0; i < HEAD / ATTENTION_LINE; i++)
		tensor_copy(to + i * LINES_BYTES(ROWS), map, at.head * HEAD + i * ATTENTION_LINE,
			    row, at.batch, barrier);
}

/* s = left right^T over the head's elements; the tiles have LEFT and RIGHT rows. */
template <typename T, int HEAD, int LEFT, int RIGHT, int COUNT>
static __device__ __forceinline__ void multiply_lines(float (&s)[COUNT], const char *left,
						      const char *right)
{
	uint64_t a = operand_descriptor(left, 16, 1024), b = operand_descriptor(right, 16, 1024);

#pragma unroll
	for (int i = 0; i < HEAD / 16; i++)
		multiply_kk(T(), s, a + (i / 4 * LINES_BYTES(LEFT) + i % 4 * 32 >> 4),
			    b + (i / 4 * LINES_BYTES(RIGHT) + i % 4 * 32 >> 4), i > 0);
}

/* d += packed tile: the rows of the tile are k. */
template <typename T, int ROWS, int COUNT>
static __device__ __forceinline__ void
multiply_rows(float (&d)[COUNT], const unsigned (&packed)[ROWS / 4], const char *tile)
{
	uint64_t b = operand_descriptor(tile, LINES_BYTES(ROWS), 1024);

#pragma unroll
	for (int i = 0; i < ROWS / 16; i++)
		multiply_held(T(), d, packed + 4 * i, b + (i * 16 * 128 >> 4));
}

/* The first multiple of 1,024 bytes, from which the swizzle counts lines. */
static __device__ __forceinline__ char *aligned_memory(void)
{
	extern __shared__ char attention_memory[];

	return attention_memory + (1024 - shared_address(attention_memory) % 1024) % 1024;
}

/* The barriers of a block: its own tile, and two rings. */
template <int STAGES> struct attention_barriers {
	uint64_t own, full[2][STAGES], empty[2][STAGES];

	__device__ __forceinline__ void init(void)
	{
		if (threadIdx.x == 0) {
			barrier_init(&own, 1);
			for (int i = 0; i < 2 * STAGES; i++) {
				barrier_init(&full[0][i], 1);
				barrier_init(&empty[0][i], 8); /* each warp that computes */
			}
			barriers_publish();
		}
		__syncthreads();
	}
};

static __device__ __forceinline__ void release(uint64_t *barrier)
{
	if (threadIdx.x % 32 == 0)
		barrier_arrive(barrier);
}

#define FORWARD_KEYS 128
#define FORWARD_STAGES 2
template <int HEAD> struct forward_memory {
	static const int TILE = ATTENTION_ROWS * HEAD * 2;
	static const int BYTES = (1 + 2 * FORWARD_STAGES) * TILE + 1024;
};

template <int HEAD>
static __device__ __forceinline__ void
forward_produce(const attention_maps &maps, const attention_place &at, char *memory,
		attention_barriers<FORWARD_STAGES> *b, int steps)
{
	const int TILE = forward_memory<HEAD>::TILE;
	ring<FORWARD_STAGES> r;

	barrier_expect(&b->own, TILE);
	copy_tile<HEAD, ATTENTION_ROWS>(memory, &maps.q, at, at.tile * ATTENTION_ROWS, &b->own);
	for (int step = steps - 1; step >= 0; step--) {
		char *k = memory + (1 + 2 * r.stage) * TILE;

		barrier_wait(&b->empty[0][r.stage], r.phase ^ 1);
		barrier_expect(&b->full[0][r.stage], TILE);
		copy_tile<HEAD, FORWARD_KEYS>(k, &maps.k, at, step * FORWARD_KEYS,
					      &b->full[0][r.stage]);
		barrier_wait(&b->empty[1][r.stage], r.phase ^ 1);
		barrier_expect(&b->full[1][r.stage], TILE);
		copy_tile<HEAD, FORWARD_KEYS>(k + TILE, &maps.v, at, step * FORWARD_KEYS,
					      &b->full[1][r.stage]);
		r.advance();
	}
}

/*
 * The last tile of keys first, the only one that has hidden ones. While the softmax of one tile is
 * computed, the tensor cores multiply the probabilities of the one before.
 */
template <typename T, int HEAD>
static __device__ __forceinline__ void
forward_consume(const attention_problem &p, const attention_place &at, char *memory,
		attention_barriers<FORWARD_STAGES> *b, int steps)
{
	const int TILE = forward_memory<HEAD>::TILE;
	int group = threadIdx.x / 128 - 1, warp = threadIdx.x % 128 / 32;
	int row = at.tile * ATTENTION_ROWS + group * ATTENTION_GROUP_ROWS + warp * 16;
	const char *q = memory + group * LINES_BYTES(ATTENTION_GROUP_ROWS);
	float base2 = p.shape.scale * LOG2_E;
	float first[FORWARD_KEYS / 2], o[HEAD / 2];
	float most[2] = { -INFINITY, -INFINITY }, sum[2] = { 0, 0 }, rescale[2];
	unsigned packed[FORWARD_KEYS / 4];
	ring<FORWARD_STAGES> keys, values;

#pragma unroll
	for (int i = 0; i < HEAD / 2; i++)
		o[i] = 0;
	barrier_wait(&b->own, 0);
	barrier_wait(&b->full[0][0], 0);
	wgmma_begin();
	multiply_lines<T, HEAD, ATTENTION_ROWS, FORWARD_KEYS>(first, q, memory + TILE);
	wgmma_commit();
	wgmma_wait<0>();
	sums_ready(first);
	release(&b->empty[0][0]);
	keys.advance();
	hide_keys(first, row, (steps - 1) * FORWARD_KEYS, p.shape.sequence, p.shape.causal,
		  -INFINITY);
	softmax_step(first, most, sum, rescale, base2);
	pack_rows<T>(packed, first);
	for (int step = 1; step < steps; step++) {
		float s[FORWARD_KEYS /
			2]; /* nothing of the old ones: the tensor cores are not to wait for it */

		barrier_wait(&b->full[0][keys.stage], keys.phase);
		wgmma_begin();
		multiply_lines<T, HEAD, ATTENTION_ROWS, FORWARD_KEYS>(
			s, q, memory + (1 + 2 * keys.stage) * TILE);
		wgmma_commit();
		barrier_wait(&b->full[1][values.stage], values.phase);
		wgmma_begin();
		multiply_rows<T, FORWARD_KEYS>(o, packed, memory + (2 + 2 * values.stage) * TILE);
		wgmma_commit();
		wgmma_wait<1>();
		sums_ready(s);
		release(&b->empty[0][keys.stage]);
		keys.advance();
		softmax_step(s, most, sum, rescale, base2);
		wgmma_wait<0>();
		sums_ready(o);
		release(&b->empty[1][values.stage]);
		values.advance();
		pack_rows<T>(packed, s);
		scale_rows(o, rescale);
	}
	barrier_wait(&b->full[1][values.stage], values.phase);
	wgmma_begin();
	multiply_rows<T, FORWARD_KEYS>(o, packed, memory + (2 + 2 * values.stage) * TILE);
	wgmma_commit();
	wgmma_wait<0>();
	sums_ready(o);
	store_output<T>(p, at, row, o, most, sum);
}

/* Tiles of `keys` that queries up to `end` may see. */
static __device__ __forceinline__ int key_tiles(const attention_problem &p, int end, int keys)
{
	int last = p.shape.causal && end < (int)p.shape.sequence ? end : (int)p.shape.sequence;

	return (last + keys - 1) / keys;
}

template <typename T, int HEAD>
static __global__ void __launch_bounds__(ATTENTION_THREADS, 1)
	attention_forward_wgmma(const __grid_constant__ attention_problem p,
				const __grid_constant__ attention_maps maps)
{
	__shared__ attention_barriers<FORWARD_STAGES> barriers;
	char *memory = aligned_memory();
	attention_place at(p, true);
	int steps = key_tiles(p, (at.tile + 1) * ATTENTION_ROWS, FORWARD_KEYS);

	barriers.init();
	if (threadIdx.x < 128) {
		asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
		if (threadIdx.x == 0)
			forward_produce<HEAD>(maps, at, memory, &barriers, steps);
	} else {
		asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
		forward_consume<T, HEAD>(p, at, memory, &barriers, steps);
	}
}

/*
 * dK and dV of 128 keys, over tiles of 64 queries. Rows are keys: S^T = K Q^T and dP^T = V dO^T, so
 * that P^T and dS^T are left operands as they are. A stage holds Q, dO, lse and delta of its
 * queries.
 */
#define BACKWARD_TILE 64
#define KEYS_STAGES 3
template <int HEAD> struct keys_memory {
	static const int OWN = ATTENTION_ROWS * HEAD * 2, TILE = BACKWARD_TILE * HEAD * 2;
	static const int VALUES = 2 * OWN + 2 * KEYS_STAGES * TILE; /* where lse and delta are */
	static const int BYTES =
		VALUES + KEYS_STAGES * 2 * BACKWARD_TILE * (int)sizeof(float) + 1024;
};

template <int HEAD>
static __device__ __forceinline__ void
keys_produce(const attention_problem &p, const attention_maps &maps, const attention_place &at,
	     char *memory, attention_barriers<KEYS_STAGES> *b, int first, int end)
{
	typedef keys_memory<HEAD> M;
	ring<KEYS_STAGES> r;

	barrier_expect(&b->own, 2 * M::OWN);
	copy_tile<HEAD, ATTENTION_ROWS>(memory, &maps.k, at, at.tile * ATTENTION_ROWS, &b->own);
	copy_tile<HEAD, ATTENTION_ROWS>(memory + M::OWN, &maps.v, at, at.tile * ATTENTION_ROWS,
					&b->own);
	for (int tile = first; tile < end; tile++) {
		char *q = memory + 2 * M::OWN + 2 * r.stage * M::TILE;
		float *values = (float *)(memory + M::VALUES) + r.stage * 2 * BACKWARD_TILE;
		int64_t row = at.row_values + tile * BACKWARD_TILE;
		uint64_t *full = &b->full[0][r.stage];

		barrier_wait(&b->empty[0][r.stage], r.phase ^ 1);
		barrier_expect(full, 2 * M::TILE + 2 * BACKWARD_TILE * sizeof(float));
		copy_tile<HEAD, BACKWARD_TILE>(q, &maps.q, at, tile * BACKWARD_TILE, full);
		copy_tile<HEAD, BACKWARD_TILE>(q + M::TILE, &maps.d_o, at, tile * BACKWARD_TILE,
					       full);
		plain_copy(values, p.lse + row, BACKWARD_TILE * sizeof(float), full);
		plain_copy(values + BACKWARD_TILE, p.delta + row, BACKWARD_TILE * sizeof(float),
			   full);
		r.advance();
	}
}

/* s = P^T from S^T, by each column's lse. */
static __device__ __forceinline__ void probabilities(float (&s)[BACKWARD_TILE / 2],
						     const float *lse, float base2)
{
#pragma unroll
	for (int i = 0; i < BACKWARD_TILE / 2; i += 4) {
		float2 c = *(const float2 *)(lse + i / 4 * 8 + threadIdx.x % 4 * 2);

#pragma unroll
		for (int e = 0; e < 4; e++)
			s[i + e] =
				power_of_two(fmaf(s[i + e], base2, -(e % 2 ? c.y : c.x) * LOG2_E));
	}
}

template <typename T, int HEAD>
static __device__ __forceinline__ void
keys_consume(const attention_problem &p, const attention_place &at, char *memory,
	     attention_barriers<KEYS_STAGES> *b, int first, int end)
{
	typedef keys_memory<HEAD> M;
	int group = threadIdx.x / 128 - 1, lane = threadIdx.x % 32;
	int row = at.tile * ATTENTION_ROWS + group * ATTENTION_GROUP_ROWS +
		  threadIdx.x % 128 / 32 * 16;
	const char *k = memory + group * LINES_BYTES(ATTENTION_GROUP_ROWS), *v = k + M::OWN;
	float base2 = p.shape.scale * LOG2_E;
	float dk[HEAD / 2], dv[HEAD / 2];
	float scale[2] = { p.shape.scale, p.shape.scale }, one[2] = { 1, 1 };
	ring<KEYS_STAGES> r;

#pragma unroll
	for (int i = 0; i < HEAD / 2; i++)
		dk[i] = dv[i] = 0;
	barrier_wait(&b->own, 0);
	for (int tile = first; tile < end; tile++) {
		const char *q = memory + 2 * M::OWN + 2 * r.stage * M::TILE, *d_o = q + M::TILE;
		const float *lse = (const float *)(memory + M::VALUES) +
				   r.stage * 2 * BACKWARD_TILE,
			    *delta = lse + BACKWARD_TILE;
		float s[BACKWARD_TILE / 2], dp[BACKWARD_TILE / 2];
		unsigned probability[BACKWARD_TILE / 4], gradient[BACKWARD_TILE / 4];

		barrier_wait(&b->full[0][r.stage], r.phase);
		wgmma_begin();
		multiply_lines<T, HEAD, ATTENTION_ROWS, BACKWARD_TILE>(s, k, q);
		wgmma_commit();
		multiply_lines<T, HEAD, ATTENTION_ROWS, BACKWARD_TILE>(dp, v, d_o);
		wgmma_commit();
		wgmma_wait<1>();
		sums_ready(s);
		probabilities(s, lse, base2);
		if (p.shape.causal && tile * BACKWARD_TILE < row + 15) {
#pragma unroll
			for (int i = 0; i < BACKWARD_TILE / 2; i++)
				if (tile * BACKWARD_TILE + i / 4 * 8 + lane % 4 * 2 + i % 2 <
				    row + lane / 4 + i % 4 / 2 * 8)
					s[i] = 0;
		}
		pack_rows<T>(probability, s);
		wgmma_begin();
		multiply_rows<T, BACKWARD_TILE>(dv, probability, d_o);
		wgmma_commit();
		wgmma_wait<1>();
		sums_ready(dp);
#pragma unroll
		for (int i = 0; i < BACKWARD_TILE / 2; i += 4) {
			float2 c = *(const float2 *)(delta + i / 4 * 8 + lane % 4 * 2);

#pragma unroll
			for (int e = 0; e < 4; e++)
				s[i + e] *= dp[i + e] - (e % 2 ? c.y : c.x);
		}
		pack_rows<T>(gradient, s);
		wgmma_begin();
		multiply_rows<T, BACKWARD_TILE>(dk, gradient, q);
		wgmma_commit();
		wgmma_wait<0>();
		sums_ready(dk);
		sums_ready(dv);
		release(&b->empty[0][r.stage]);
		r.advance();
	}
	store_rows<T>(p, at, p.dv, p.shape.ld_qkv, row, dv, one);
	store_rows<T>(p, at, p.dk, p.shape.ld_qkv, row, dk, scale);
}

template <typename T, int HEAD>
static __global__ void __launch_bounds__(ATTENTION_THREADS, 1)
	attention_keys_wgmma(const __grid_constant__ attention_problem p,
			     const __grid_constant__ attention_maps maps)
{
	__shared__ attention_barriers<KEYS_STAGES> barriers;
	char *memory = aligned_memory();
	attention_place at(p, false);
	int first = p.shape.causal ? at.tile * (ATTENTION_ROWS / BACKWARD_TILE) : 0;
	int end = (p.shape.sequence + BACKWARD_TILE - 1) / BACKWARD_TILE;

	barriers.init();
	if (threadIdx.x < 128) {
		asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
		if (threadIdx.x == 0)
			keys_produce<HEAD>(p, maps, at, memory, &barriers, first, end);
	} else {
		asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
		keys_consume<T, HEAD>(p, at, memory, &barriers, first, end);
	}
}

/* dQ of 128 queries, over tiles of 64 keys: rows are queries. A stage holds K and V. */
#define QUERIES_STAGES 3
template <int HEAD> struct queries_memory {
	static const int OWN = ATTENTION_ROWS * HEAD * 2, TILE = BACKWARD_TILE * HEAD * 2;
	static const int BYTES = 2 * OWN + 2 * QUERIES_STAGES * TILE + 1024;
};

template <int HEAD>
static __device__ __forceinline__ void
queries_produce(const attention_maps &maps, const attention_place &at, char *memory,
		attention_barriers<QUERIES_STAGES> *b, int steps)
{
	typedef queries_memory<HEAD> M;
	ring<QUERIES_STAGES> r;

	barrier_expect(&b->own, 2 * M::OWN);
	copy_tile<HEAD, ATTENTION_ROWS>(memory, &maps.q, at, at.tile * ATTENTION_ROWS, &b->own);
	copy_tile<HEAD, ATTENTION_ROWS>(memory + M::OWN, &maps.d_o, at, at.tile * ATTENTION_ROWS,
					&b->own);
	for (int step = steps - 1; step >= 0; step--) {
		char *k = memory + 2 * M::OWN + 2 * r.stage * M::TILE;
		uint64_t *full = &b->full[0][r.stage];

		barrier_wait(&b->empty[0][r.stage], r.phase ^ 1);
		barrier_expect(full, 2 * M::TILE);
		copy_tile<HEAD, BACKWARD_TILE>(k, &maps.k, at, step * BACKWARD_TILE, full);
		copy_tile<HEAD, BACKWARD_TILE>(k + M::TILE, &maps.v, at, step * BACKWARD_TILE,
					       full);
		r.advance();
	}
}

template <typename T, int HEAD>
static __device__ __forceinline__ void
queries_consume(const attention_problem &p, const attention_place &at, char *memory,
		attention_barriers<QUERIES_STAGES> *b, int steps)
{
	typedef queries_memory<HEAD> M;
	int group = threadIdx.x / 128 - 1, lane = threadIdx.x % 32;
	int row = at.tile * ATTENTION_ROWS + group * ATTENTION_GROUP_ROWS +
		  threadIdx.x % 128 / 32 * 16;
	const char *q = memory + group * LINES_BYTES(ATTENTION_GROUP_ROWS), *d_o = q + M::OWN;
	float base2 = p.shape.scale * LOG2_E;
	float dq[HEAD / 2];
	float lse[2], delta[2], scale[2] = { p.shape.scale, p.shape.scale };
	ring<QUERIES_STAGES> r;

#pragma unroll
	for (int h = 0; h < 2; h++) {
		int64_t at_row = at.row_values + row + lane / 4 + h * 8;

		lse[h] = p.lse[at_row] * LOG2_E;
		delta[h] = p.delta[at_row];
	}
#pragma unroll
	for (int i = 0; i < HEAD / 2; i++)
		dq[i] = 0;
	barrier_wait(&b->own, 0);
	for (int step = steps - 1; step >= 0; step--) {
		const char *k = memory + 2 * M::OWN + 2 * r.stage * M::TILE, *v = k + M::TILE;
		int column = step * BACKWARD_TILE;
		float s[BACKWARD_TILE / 2], dp[BACKWARD_TILE / 2];
		unsigned gradient[BACKWARD_TILE / 4];

		barrier_wait(&b->full[0][r.stage], r.phase);
		wgmma_begin();
		multiply_lines<T, HEAD, ATTENTION_ROWS, BACKWARD_TILE>(s, q, k);
		wgmma_commit();
		multiply_lines<T, HEAD, ATTENTION_ROWS, BACKWARD_TILE>(dp, d_o, v);
		wgmma_commit();
		wgmma_wait<1>();
		sums_ready(s);
#pragma unroll
		for (int i = 0; i < BACKWARD_TILE / 2; i++)
			s[i] = power_of_two(fmaf(s[i], base2, -lse[i % 4 / 2]));
		if ((p.shape.causal && column + BACKWARD_TILE > row) ||
		    column + BACKWARD_TILE > (int)p.shape.sequence)
			hide_keys(s, row, column, p.shape.sequence, p.shape.causal, 0);
		wgmma_wait<0>();
		sums_ready(dp);
#pragma unroll
		for (int i = 0; i < BACKWARD_TILE / 2; i++)
			s[i] *= dp[i] - delta[i % 4 / 2];
		pack_rows<T>(gradient, s);
		wgmma_begin();
		multiply_rows<T, BACKWARD_TILE>(dq, gradient, k);
		wgmma_commit();
		wgmma_wait<0>();
		sums_ready(dq);
		release(&b->empty[0][r.stage]);
		r.advance();
	}
	store_rows<T>(p, at, p.dq, p.shape.ld_qkv, row, dq, scale);
}

template <typename T, int HEAD>
static __global__ void __launch_bounds__(ATTENTION_THREADS, 1)
	attention_queries_wgmma(const __grid_constant__ attention_problem p,
				const __grid_constant__ attention_maps maps)
{
	__shared__ attention_barriers<QUERIES_STAGES> barriers;
	char *memory = aligned_memory();
	attention_place at(p, true);
	int steps = key_tiles(p, (at.tile + 1) * ATTENTION_ROWS, BACKWARD_TILE);

	barriers.init();
	if (threadIdx.x < 128) {
		asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
		if (threadIdx.x == 0)
			queries_produce<HEAD>(maps, at, memory, &barriers, steps);
	} else {
		asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
		queries_consume<T, HEAD>(p, at, memory, &barriers, steps);
	}
}

#endif
