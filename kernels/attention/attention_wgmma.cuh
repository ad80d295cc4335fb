/*
 * Attention with the tensor cores of compute capability 9.0 (wgmma), only for machine code sm_90a.
 * In each kernel one thread copies tiles into shared memory with TMA, STAGES ahead, and two groups
 * of four warps compute, each on 64 of the block's 128 rows.
 *
 * A tile in shared memory consists of blocks of lines of 64 elements, padded with zeros by TMA;
 * HEAD of them are multiplied: a multiple of 16 from 64 to 128. Read along its lines, k is the
 * head's elements (Q K^T); read across them, k is its rows (P V). No tile is ever transposed.
 */
#ifndef GPUPROOF_KERNELS_ATTENTION_WGMMA_CUH
#define GPUPROOF_KERNELS_ATTENTION_WGMMA_CUH

#include "kernels/attention/attention_problem.cuh"

#include "kernels/attention/attention_rows.cuh"
#include "kernels/gemm/tma.cuh"
#include "kernels/gemm/wgmma.cuh"

#define ATTENTION_THREADS 384
#define CONSUMER_THREADS 256
#define ATTENTION_LINE 64
/* Rows of a block, and of a group of four warps. */
#define ATTENTION_ROWS 128
#define ATTENTION_GROUP_ROWS 64

struct attention_maps {
	CUtensorMap q, k, v, d_o;
};

/* Bytes of `rows` lines of 64 elements, and of a tile: whole lines, zero-padded beyond the head. */
#define LINES_BYTES(rows) ((rows)*ATTENTION_LINE * 2)
#define HEAD_LINES(head) (((head) + ATTENTION_LINE - 1) / ATTENTION_LINE)
#define TILE_BYTES(head, rows) (HEAD_LINES(head) * LINES_BYTES(rows))

template <int HEAD, int ROWS>
static __device__ __forceinline__ void attention_wgmma_copy_tile(char *to, const CUtensorMap *map,
								 const attention_place &at, int row,
								 uint64_t *barrier)
{
#pragma unroll
	for (int i = 0; i < HEAD_LINES(HEAD); i++)
		tma_load(to + i * LINES_BYTES(ROWS), map, i * ATTENTION_LINE, at.head, row,
			 at.batch, barrier);
}

/* s = left right^T over the head's elements; the tiles have LEFT and RIGHT rows. */
template <typename T, int HEAD, int LEFT, int RIGHT, int COUNT>
static __device__ __forceinline__ void
attention_wgmma_multiply_lines(float (&s)[COUNT], const char *left, const char *right)
{
	uint64_t a = wgmma_operand_descriptor(left, 16, 1024),
		 b = wgmma_operand_descriptor(right, 16, 1024);

#pragma unroll
	for (int i = 0; i < HEAD / 16; i++)
		multiply_kk(T(), s, a + (i / 4 * LINES_BYTES(LEFT) + i % 4 * 32 >> 4),
			    b + (i / 4 * LINES_BYTES(RIGHT) + i % 4 * 32 >> 4), i > 0);
}

/* d = d * keep + packed tile, with k along the rows of the tile. */
template <typename T, int ROWS, int COUNT>
static __device__ __forceinline__ void
attention_wgmma_multiply_rows(float (&d)[COUNT], const unsigned (&packed)[ROWS / 4],
			      const char *tile, bool keep = true)
{
	uint64_t b = wgmma_operand_descriptor(tile, LINES_BYTES(ROWS), 1024);

#pragma unroll
	for (int i = 0; i < ROWS / 16; i++)
		multiply_held(T(), d, packed + 4 * i, b + (i * 16 * 128 >> 4), keep || i > 0);
}

/* Aligns to 1,024 bytes, from which the swizzle counts lines. */
static __device__ __forceinline__ char *attention_wgmma_aligned_memory(void)
{
	extern __shared__ char attention_memory[];

	return attention_memory + (1024 - wgmma_shared_address(attention_memory) % 1024) % 1024;
}

/* Barriers of a block: for its own tile, and for two rings. */
template <int STAGES> struct attention_barriers {
	uint64_t own, full[2][STAGES], empty[2][STAGES];

	/* `arrivals` make a stage empty. */
	__device__ __forceinline__ void init(unsigned arrivals = CONSUMER_THREADS / 32)
	{
		if (threadIdx.x == 0) {
			tma_mbarrier_init(&own, 1);
			for (int i = 0; i < 2 * STAGES; i++) {
				tma_mbarrier_init(&full[0][i], 1);
				tma_mbarrier_init(&empty[0][i], arrivals);
			}
			tma_mbarriers_publish();
		}
		__syncthreads();
	}
};

/*
 * The two groups issue their GEMMs alternately: while the tensor cores work for one, the other
 * computes its softmax (Shah et al., FlashAttention-3, 2024, 3.1).
 */
static __device__ __forceinline__ void attention_wgmma_turn_wait(int group)
{
	asm volatile("bar.sync %0, 256;" ::"r"(1 + group) : "memory");
}
static __device__ __forceinline__ void attention_wgmma_turn_pass(int group)
{
	asm volatile("bar.arrive %0, 256;" ::"r"(2 - group) : "memory");
}

#define FORWARD_KEYS 128
#define FORWARD_STAGES 2
template <int HEAD> struct forward_memory {
	static const int TILE = TILE_BYTES(HEAD, ATTENTION_ROWS);
	static const int BYTES = (1 + 2 * FORWARD_STAGES) * TILE + 1024;
};

template <int HEAD>
static __device__ __forceinline__ void
attention_wgmma_forward_produce(const attention_maps &maps, const attention_place &at, char *memory,
				attention_barriers<FORWARD_STAGES> *b, int steps)
{
	const int TILE = forward_memory<HEAD>::TILE;
	pipeline_state<FORWARD_STAGES> r;

	tma_mbarrier_expect_tx(&b->own, TILE);
	attention_wgmma_copy_tile<HEAD, ATTENTION_ROWS>(memory, &maps.q, at,
							at.tile * ATTENTION_ROWS, &b->own);
	for (int step = steps - 1; step >= 0; step--) {
		char *k = memory + (1 + 2 * r.stage) * TILE;

		tma_mbarrier_wait(&b->empty[0][r.stage], r.phase ^ 1);
		tma_mbarrier_expect_tx(&b->full[0][r.stage], TILE);
		attention_wgmma_copy_tile<HEAD, FORWARD_KEYS>(k, &maps.k, at, step * FORWARD_KEYS,
							      &b->full[0][r.stage]);
		tma_mbarrier_wait(&b->empty[1][r.stage], r.phase ^ 1);
		tma_mbarrier_expect_tx(&b->full[1][r.stage], TILE);
		attention_wgmma_copy_tile<HEAD, FORWARD_KEYS>(k + TILE, &maps.v, at,
							      step * FORWARD_KEYS,
							      &b->full[1][r.stage]);
		r.advance();
	}
}

/*
 * Starts with the last tile of keys, the only one with masked keys. While the softmax of one tile
 * is computed, the tensor cores multiply the probabilities of the previous one.
 */
template <typename T, int HEAD>
static __device__ __forceinline__ void
attention_wgmma_forward_consume(const attention_problem &p, const attention_place &at, char *memory,
				attention_barriers<FORWARD_STAGES> *b, int steps)
{
	const int TILE = forward_memory<HEAD>::TILE;
	const bool TURNS = HEAD < 128; /* then the softmax takes as long as the GEMMs */
	int group = threadIdx.x / 128 - 1, warp = threadIdx.x % 128 / 32;
	int row = at.tile * ATTENTION_ROWS + group * ATTENTION_GROUP_ROWS + warp * 16;
	const char *q = memory + group * LINES_BYTES(ATTENTION_GROUP_ROWS);
	float base2 = p.shape.scale * LOG2_E;
	float first[FORWARD_KEYS / 2], o[HEAD / 2];
	float most[2] = { -INFINITY, -INFINITY }, sum[2] = { 0, 0 }, rescale[2];
	unsigned packed[FORWARD_KEYS / 4];
	pipeline_state<FORWARD_STAGES> keys, values;

#pragma unroll
	for (int i = 0; i < HEAD / 2; i++)
		o[i] = 0;
	tma_mbarrier_wait(&b->own, 0);
	tma_mbarrier_wait(&b->full[0][0], 0);
	wgmma_begin();
	attention_wgmma_multiply_lines<T, HEAD, ATTENTION_ROWS, FORWARD_KEYS>(first, q,
									      memory + TILE);
	wgmma_commit();
	wgmma_wait<0>();
	accumulators_fence(first);
	tma_consumer_release(&b->empty[0][0]);
	keys.advance();
	attention_rows_hide_keys(first, row, (steps - 1) * FORWARD_KEYS, p.shape.sequence,
				 p.shape.causal, -INFINITY);
	attention_rows_softmax_step(first, most, sum, rescale, base2);
	attention_rows_pack<T>(packed, first);
	if (TURNS && group == 1 && steps > 1)
		attention_wgmma_turn_pass(group);
	for (int step = 1; step < steps; step++) {
		float s[FORWARD_KEYS /
			2]; /* does not depend on the old values: the tensor cores need not wait */

		if (TURNS)
			attention_wgmma_turn_wait(group);
		tma_mbarrier_wait(&b->full[0][keys.stage], keys.phase);
		wgmma_begin();
		attention_wgmma_multiply_lines<T, HEAD, ATTENTION_ROWS, FORWARD_KEYS>(
			s, q, memory + (1 + 2 * keys.stage) * TILE);
		wgmma_commit();
		tma_mbarrier_wait(&b->full[1][values.stage], values.phase);
		wgmma_begin();
		attention_wgmma_multiply_rows<T, FORWARD_KEYS>(o, packed,
							       memory + (2 + 2 * values.stage) *
										TILE);
		wgmma_commit();
		if (TURNS && (group == 0 || step + 1 < steps))
			attention_wgmma_turn_pass(group);
		wgmma_wait<1>();
		accumulators_fence(s);
		tma_consumer_release(&b->empty[0][keys.stage]);
		keys.advance();
		attention_rows_softmax_step(s, most, sum, rescale, base2);
		wgmma_wait<0>();
		accumulators_fence(o);
		tma_consumer_release(&b->empty[1][values.stage]);
		values.advance();
		attention_rows_pack<T>(packed, s);
		attention_rows_scale(o, rescale);
	}
	tma_mbarrier_wait(&b->full[1][values.stage], values.phase);
	wgmma_begin();
	attention_wgmma_multiply_rows<T, FORWARD_KEYS>(o, packed,
						       memory + (2 + 2 * values.stage) * TILE);
	wgmma_commit();
	wgmma_wait<0>();
	accumulators_fence(o);
	attention_rows_store_output<T>(p, at, row, o, most, sum);
}

/* Number of tiles of `keys` that queries up to `end` may see. */
static __device__ __forceinline__ int attention_wgmma_key_tiles(const attention_problem &p, int end,
								int keys)
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
	char *memory = attention_wgmma_aligned_memory();
	attention_place at(p, true);
	int steps = attention_wgmma_key_tiles(p, (at.tile + 1) * ATTENTION_ROWS, FORWARD_KEYS);

	barriers.init();
	if (threadIdx.x < 128) {
		asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
		if (threadIdx.x == 0)
			attention_wgmma_forward_produce<HEAD>(maps, at, memory, &barriers, steps);
	} else {
		asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
		attention_wgmma_forward_consume<T, HEAD>(p, at, memory, &barriers, steps);
	}
}

/*
 * Queries, or keys, per step of the gradients: limited by the registers that the accumulators
 * leave.
 */
#define BACKWARD_TILE(head) ((head) == 64 ? 128 : 64)

/*
 * dK and dV of 128 keys, over tiles of queries. Rows are keys: S^T = K Q^T and dP^T = V dO^T, so
 * that P^T and dS^T can be left operands directly. A stage contains Q, dO, lse and delta of its
 * queries.
 */
#define DKDV_STAGES 3
template <int HEAD> struct dkdv_memory {
	static const int OWN = TILE_BYTES(HEAD, ATTENTION_ROWS),
			 TILE = TILE_BYTES(HEAD, BACKWARD_TILE(HEAD));
	static const int VALUES = 2 * OWN + 2 * DKDV_STAGES * TILE; /* offset of lse and delta */
	static const int BYTES =
		VALUES + DKDV_STAGES * 2 * BACKWARD_TILE(HEAD) * (int)sizeof(float) + 1024;
};

template <int HEAD>
static __device__ __forceinline__ void
attention_wgmma_dkdv_produce(const attention_problem &p, const attention_maps &maps,
			     const attention_place &at, char *memory,
			     attention_barriers<DKDV_STAGES> *b, int first, int end)
{
	typedef dkdv_memory<HEAD> M;
	pipeline_state<DKDV_STAGES> r;

	tma_mbarrier_expect_tx(&b->own, 2 * M::OWN);
	attention_wgmma_copy_tile<HEAD, ATTENTION_ROWS>(memory, &maps.k, at,
							at.tile * ATTENTION_ROWS, &b->own);
	attention_wgmma_copy_tile<HEAD, ATTENTION_ROWS>(memory + M::OWN, &maps.v, at,
							at.tile * ATTENTION_ROWS, &b->own);
	for (int tile = first; tile < end; tile++) {
		char *q = memory + 2 * M::OWN + 2 * r.stage * M::TILE;
		float *values = (float *)(memory + M::VALUES) + r.stage * 2 * BACKWARD_TILE(HEAD);
		int64_t row = at.row_values + tile * BACKWARD_TILE(HEAD);
		uint64_t *full = &b->full[0][r.stage];

		tma_mbarrier_wait(&b->empty[0][r.stage], r.phase ^ 1);
		tma_mbarrier_expect_tx(full, 2 * M::TILE + 2 * BACKWARD_TILE(HEAD) * sizeof(float));
		attention_wgmma_copy_tile<HEAD, BACKWARD_TILE(HEAD)>(q, &maps.q, at,
								     tile * BACKWARD_TILE(HEAD),
								     full);
		attention_wgmma_copy_tile<HEAD, BACKWARD_TILE(HEAD)>(q + M::TILE, &maps.d_o, at,
								     tile * BACKWARD_TILE(HEAD),
								     full);
		tma_bulk_load(values, p.lse + row, BACKWARD_TILE(HEAD) * sizeof(float), full);
		tma_bulk_load(values + BACKWARD_TILE(HEAD), p.delta + row,
			      BACKWARD_TILE(HEAD) * sizeof(float), full);
		r.advance();
	}
}

/* s = P^T from S^T, with each column's lse. */
template <int COUNT>
static __device__ __forceinline__ void attention_wgmma_probabilities(float (&s)[COUNT],
								     const float *lse, float base2)
{
#pragma unroll
	for (int i = 0; i < COUNT; i += 4) {
		float2 c = *(const float2 *)(lse + i / 4 * 8 + threadIdx.x % 4 * 2);

#pragma unroll
		for (int e = 0; e < 4; e++)
			s[i + e] = attention_rows_power_of_two(
				fmaf(s[i + e], base2, -(e % 2 ? c.y : c.x) * LOG2_E));
	}
}

template <typename T, int HEAD>
static __device__ __forceinline__ void
attention_wgmma_dkdv_consume(const attention_problem &p, const attention_place &at, char *memory,
			     attention_barriers<DKDV_STAGES> *b, int first, int end)
{
	typedef dkdv_memory<HEAD> M;
	int group = threadIdx.x / 128 - 1, lane = threadIdx.x % 32;
	int row = at.tile * ATTENTION_ROWS + group * ATTENTION_GROUP_ROWS +
		  threadIdx.x % 128 / 32 * 16;
	const char *k = memory + group * LINES_BYTES(ATTENTION_GROUP_ROWS), *v = k + M::OWN;
	float base2 = p.shape.scale * LOG2_E;
	float dk[HEAD / 2], dv[HEAD / 2];
	float scale[2] = { p.shape.scale, p.shape.scale }, one[2] = { 1, 1 };
	pipeline_state<DKDV_STAGES> r;

	tma_mbarrier_wait(&b->own, 0);
	for (int tile = first; tile < end; tile++) {
		const char *q = memory + 2 * M::OWN + 2 * r.stage * M::TILE, *d_o = q + M::TILE;
		const float *lse = (const float *)(memory + M::VALUES) +
				   r.stage * 2 * BACKWARD_TILE(HEAD),
			    *delta = lse + BACKWARD_TILE(HEAD);
		float s[BACKWARD_TILE(HEAD) / 2], dp[BACKWARD_TILE(HEAD) / 2];
		unsigned probability[BACKWARD_TILE(HEAD) / 4], gradient[BACKWARD_TILE(HEAD) / 4];

		tma_mbarrier_wait(&b->full[0][r.stage], r.phase);
		wgmma_begin();
		attention_wgmma_multiply_lines<T, HEAD, ATTENTION_ROWS, BACKWARD_TILE(HEAD)>(s, k,
											     q);
		wgmma_commit();
		attention_wgmma_multiply_lines<T, HEAD, ATTENTION_ROWS, BACKWARD_TILE(HEAD)>(dp, v,
											     d_o);
		wgmma_commit();
		wgmma_wait<1>();
		accumulators_fence(s);
		attention_wgmma_probabilities(s, lse, base2);
		if (p.shape.causal && tile * BACKWARD_TILE(HEAD) < row + 15) {
#pragma unroll
			for (int i = 0; i < BACKWARD_TILE(HEAD) / 2; i++)
				if (tile * BACKWARD_TILE(HEAD) + i / 4 * 8 + lane % 4 * 2 + i % 2 <
				    row + lane / 4 + i % 4 / 2 * 8)
					s[i] = 0;
		}
		attention_rows_pack<T>(probability, s);
		wgmma_begin();
		attention_wgmma_multiply_rows<T, BACKWARD_TILE(HEAD)>(dv, probability, d_o,
								      tile > first);
		wgmma_commit();
		wgmma_wait<1>();
		accumulators_fence(dp);
#pragma unroll
		for (int i = 0; i < BACKWARD_TILE(HEAD) / 2; i += 4) {
			float2 c = *(const float2 *)(delta + i / 4 * 8 + lane % 4 * 2);

#pragma unroll
			for (int e = 0; e < 4; e++)
				s[i + e] *= dp[i + e] - (e % 2 ? c.y : c.x);
		}
		attention_rows_pack<T>(gradient, s);
		wgmma_begin();
		attention_wgmma_multiply_rows<T, BACKWARD_TILE(HEAD)>(dk, gradient, q,
								      tile > first);
		wgmma_commit();
		wgmma_wait<0>();
		accumulators_fence(dk);
		accumulators_fence(dv);
		/*
		 * Every lane arrives, not one per warp, because each has loaded lse and delta
		 * itself.
		 */
		tma_mbarrier_arrive(&b->empty[0][r.stage]);
		r.advance();
	}
	attention_rows_store<T>(p, at, p.dv, p.shape.ld_qkv, row, dv, one);
	attention_rows_store<T>(p, at, p.dk, p.shape.ld_qkv, row, dk, scale);
}

template <typename T, int HEAD>
static __global__ void __launch_bounds__(ATTENTION_THREADS, 1)
	attention_dkdv_wgmma(const __grid_constant__ attention_problem p,
			     const __grid_constant__ attention_maps maps)
{
	__shared__ attention_barriers<DKDV_STAGES> barriers;
	char *memory = attention_wgmma_aligned_memory();
	attention_place at(p, false);
	int first = p.shape.causal ? at.tile * (ATTENTION_ROWS / BACKWARD_TILE(HEAD)) : 0;
	int end = (p.shape.sequence + BACKWARD_TILE(HEAD) - 1) / BACKWARD_TILE(HEAD);

	barriers.init(CONSUMER_THREADS);
	if (threadIdx.x < 128) {
		asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
		if (threadIdx.x == 0)
			attention_wgmma_dkdv_produce<HEAD>(p, maps, at, memory, &barriers, first,
							   end);
	} else {
		asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
		attention_wgmma_dkdv_consume<T, HEAD>(p, at, memory, &barriers, first, end);
	}
}

/* dQ of 128 queries, over tiles of 64 keys; rows are queries. A stage contains K and V. */
#define DQ_STAGES 3
template <int HEAD> struct dq_memory {
	static const int OWN = TILE_BYTES(HEAD, ATTENTION_ROWS),
			 TILE = TILE_BYTES(HEAD, BACKWARD_TILE(HEAD));
	static const int BYTES = 2 * OWN + 2 * DQ_STAGES * TILE + 1024;
};

template <int HEAD>
static __device__ __forceinline__ void
attention_wgmma_dq_produce(const attention_maps &maps, const attention_place &at, char *memory,
			   attention_barriers<DQ_STAGES> *b, int steps)
{
	typedef dq_memory<HEAD> M;
	pipeline_state<DQ_STAGES> r;

	tma_mbarrier_expect_tx(&b->own, 2 * M::OWN);
	attention_wgmma_copy_tile<HEAD, ATTENTION_ROWS>(memory, &maps.q, at,
							at.tile * ATTENTION_ROWS, &b->own);
	attention_wgmma_copy_tile<HEAD, ATTENTION_ROWS>(memory + M::OWN, &maps.d_o, at,
							at.tile * ATTENTION_ROWS, &b->own);
	for (int step = steps - 1; step >= 0; step--) {
		char *k = memory + 2 * M::OWN + 2 * r.stage * M::TILE;
		uint64_t *full = &b->full[0][r.stage];

		tma_mbarrier_wait(&b->empty[0][r.stage], r.phase ^ 1);
		tma_mbarrier_expect_tx(full, 2 * M::TILE);
		attention_wgmma_copy_tile<HEAD, BACKWARD_TILE(HEAD)>(k, &maps.k, at,
								     step * BACKWARD_TILE(HEAD),
								     full);
		attention_wgmma_copy_tile<HEAD, BACKWARD_TILE(HEAD)>(k + M::TILE, &maps.v, at,
								     step * BACKWARD_TILE(HEAD),
								     full);
		r.advance();
	}
}

template <typename T, int HEAD>
static __device__ __forceinline__ void
attention_wgmma_dq_consume(const attention_problem &p, const attention_place &at, char *memory,
			   attention_barriers<DQ_STAGES> *b, int steps)
{
	typedef dq_memory<HEAD> M;
	/* If registers are left, the last GEMM of a step is awaited in the next one. */
	const bool OVERLAP = HEAD == 64;
	int group = threadIdx.x / 128 - 1, lane = threadIdx.x % 32;
	int row = at.tile * ATTENTION_ROWS + group * ATTENTION_GROUP_ROWS +
		  threadIdx.x % 128 / 32 * 16;
	const char *q = memory + group * LINES_BYTES(ATTENTION_GROUP_ROWS), *d_o = q + M::OWN;
	float base2 = p.shape.scale * LOG2_E;
	float dq[HEAD / 2];
	float lse[2], delta[2], scale[2] = { p.shape.scale, p.shape.scale };
	pipeline_state<DQ_STAGES> r;
	int last = 0; /* stage */

#pragma unroll
	for (int h = 0; h < 2; h++) {
		int64_t at_row = at.row_values + row + lane / 4 + h * 8;

		lse[h] = p.lse[at_row] * LOG2_E;
		delta[h] = p.delta[at_row];
	}
	tma_mbarrier_wait(&b->own, 0);
	for (int step = steps - 1; step >= 0; step--) {
		const char *k = memory + 2 * M::OWN + 2 * r.stage * M::TILE, *v = k + M::TILE;
		int column = step * BACKWARD_TILE(HEAD);
		float s[BACKWARD_TILE(HEAD) / 2], dp[BACKWARD_TILE(HEAD) / 2];
		unsigned gradient[BACKWARD_TILE(HEAD) / 4];

		tma_mbarrier_wait(&b->full[0][r.stage], r.phase);
		wgmma_begin();
		attention_wgmma_multiply_lines<T, HEAD, ATTENTION_ROWS, BACKWARD_TILE(HEAD)>(s, q,
											     k);
		wgmma_commit();
		attention_wgmma_multiply_lines<T, HEAD, ATTENTION_ROWS, BACKWARD_TILE(HEAD)>(dp,
											     d_o,
											     v);
		wgmma_commit();
		wgmma_wait<1>();
		accumulators_fence(s);
		if (OVERLAP && step < steps - 1)
			tma_consumer_release(&b->empty[0][last]);
#pragma unroll
		for (int i = 0; i < BACKWARD_TILE(HEAD) / 2; i++)
			s[i] = attention_rows_power_of_two(fmaf(s[i], base2, -lse[i % 4 / 2]));
		if ((p.shape.causal && column + BACKWARD_TILE(HEAD) > row) ||
		    column + BACKWARD_TILE(HEAD) > (int)p.shape.sequence)
			attention_rows_hide_keys(s, row, column, p.shape.sequence, p.shape.causal,
						 0);
		wgmma_wait<0>();
		accumulators_fence(dp);
#pragma unroll
		for (int i = 0; i < BACKWARD_TILE(HEAD) / 2; i++)
			s[i] *= dp[i] - delta[i % 4 / 2];
		attention_rows_pack<T>(gradient, s);
		wgmma_begin();
		attention_wgmma_multiply_rows<T, BACKWARD_TILE(HEAD)>(dq, gradient, k,
								      step < steps - 1);
		wgmma_commit();
		if (OVERLAP) {
			last = r.stage;
		} else {
			wgmma_wait<0>();
			accumulators_fence(dq);
			tma_consumer_release(&b->empty[0][r.stage]);
		}
		r.advance();
	}
	wgmma_wait<0>();
	accumulators_fence(dq);
	attention_rows_store<T>(p, at, p.dq, p.shape.ld_qkv, row, dq, scale);
}

template <typename T, int HEAD>
static __global__ void __launch_bounds__(ATTENTION_THREADS, 1)
	attention_dq_wgmma(const __grid_constant__ attention_problem p,
			   const __grid_constant__ attention_maps maps)
{
	__shared__ attention_barriers<DQ_STAGES> barriers;
	char *memory = attention_wgmma_aligned_memory();
	attention_place at(p, true);
	int steps =
		attention_wgmma_key_tiles(p, (at.tile + 1) * ATTENTION_ROWS, BACKWARD_TILE(HEAD));

	barriers.init();
	if (threadIdx.x < 128) {
		asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
		if (threadIdx.x == 0)
			attention_wgmma_dq_produce<HEAD>(maps, at, memory, &barriers, steps);
	} else {
		asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
		attention_wgmma_dq_consume<T, HEAD>(p, at, memory, &barriers, steps);
	}
}

#endif
