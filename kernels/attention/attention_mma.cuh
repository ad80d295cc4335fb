/*
 * Attention with the tensor cores of compute capability 7.5 and newer (mma.sync). A block of four
 * warps processes 64 rows, 16 per warp, in tiles of 64; a tile of K or V is loaded while the other
 * one is multiplied. Several blocks share a multiprocessor. Heads smaller than HEAD are padded with
 * zeros.
 */
#ifndef GPUPROOF_KERNELS_ATTENTION_MMA_KERNELS_CUH
#define GPUPROOF_KERNELS_ATTENTION_MMA_KERNELS_CUH

#include "kernels/attention/attention_rows.cuh"
#include "kernels/gemm/async_copy.cuh"
#include "kernels/gemm/mma.cuh"

#define MMA_THREADS 128
#define MMA_TILE 64
/* Bytes of `tiles` tiles in shared memory. */
#define MMA_SHARED_BYTES(head, tiles) ((tiles)*MMA_TILE * (head)*2)

/*
 * Loads 64 positions from `row` on of this head; zeros beyond the sequence and beyond the head's
 * elements.
 */
template <typename T, int HEAD>
static __device__ __forceinline__ void
attention_mma_fetch_tile(T *to, const attention_problem &p, const attention_place &at,
			 const void *tensor, uint64_t ld, int row)
{
	const T *from = (const T *)tensor + (uint64_t)at.batch * p.shape.sequence * ld +
			(uint64_t)at.head * p.shape.head_size;

#pragma unroll
	for (int i = threadIdx.x; i < MMA_TILE * HEAD / 8; i += MMA_THREADS) {
		int line = i / (HEAD / 8), piece = i % (HEAD / 8);
		bool in = row + line < (int)p.shape.sequence && piece * 8 < (int)p.shape.head_size;

		copy_async<16>(mma_tile_piece<T, HEAD>(to, line, piece),
			       in ? from + (row + line) * ld + piece * 8 : from, in);
	}
}

/* s = left right^T: 16 lines of `left` from `line` on, the 64 lines of `right`. */
template <typename T, int HEAD>
static __device__ __forceinline__ void
attention_mma_multiply_lines(float (&s)[MMA_TILE / 2], const T *left, int line, const T *right)
{
#pragma unroll
	for (int i = 0; i < MMA_TILE / 2; i++)
		s[i] = 0;
#pragma unroll 1 /* a larger one spills registers */
	for (int k = 0; k < HEAD; k += 16) {
		unsigned a[4], b[4];

		mma_load_left<T, HEAD>(a, left, line, k);
#pragma unroll
		for (int n = 0; n < MMA_TILE; n += 16) {
			mma_load_right_lines<T, HEAD>(b, right, n, k);
			mma_multiply_16(T(), s + n / 2, a, b);
			mma_multiply_16(T(), s + n / 2 + 4, a, b + 2);
		}
	}
}

/* d += packed tile, with k along the lines of the tile. */
template <typename T, int HEAD>
static __device__ __forceinline__ void
attention_mma_multiply_rows(float (&d)[HEAD / 2], const unsigned (&packed)[MMA_TILE / 4],
			    const T *tile)
{
#pragma unroll
	for (int k = 0; k < MMA_TILE; k += 16) {
#pragma unroll
		for (int n = 0; n < HEAD; n += 16) {
			unsigned b[4];

			mma_load_right_columns<T, HEAD>(b, tile, k, n);
			mma_multiply_16(T(), d + n / 2, packed + k / 4, b);
			mma_multiply_16(T(), d + n / 2 + 4, packed + k / 4, b + 2);
		}
	}
}

template <typename T, int HEAD>
static __device__ __forceinline__ void attention_mma_forward(const attention_problem &p)
{
	extern __shared__ __align__(128) char mma_memory[];
	T *q = (T *)mma_memory, *k = q + MMA_TILE * HEAD, *v = k + MMA_TILE * HEAD;
	attention_place at(p, true);
	int first = at.tile * MMA_TILE, row = first + threadIdx.x / 32 * 16;
	int last = p.shape.causal && first + MMA_TILE < (int)p.shape.sequence
			   ? first + MMA_TILE
			   : (int)p.shape.sequence;
	int steps = (last + MMA_TILE - 1) / MMA_TILE;
	float base2 = p.shape.scale * LOG2_E;
	float s[MMA_TILE / 2], o[HEAD / 2];
	float most[2] = { -INFINITY, -INFINITY }, sum[2] = { 0, 0 }, rescale[2];
	unsigned packed[MMA_TILE / 4];

#pragma unroll
	for (int i = 0; i < HEAD / 2; i++)
		o[i] = 0;
	attention_mma_fetch_tile<T, HEAD>(q, p, at, p.q, p.shape.ld_qkv, first);
	attention_mma_fetch_tile<T, HEAD>(k, p, at, p.k, p.shape.ld_qkv, (steps - 1) * MMA_TILE);
	async_copy_commit();
	for (int step = steps - 1; step >= 0; step--) {
		async_copy_wait<0>();
		__syncthreads(); /* K is loaded, and all warps are done with V */
		attention_mma_fetch_tile<T, HEAD>(v, p, at, p.v, p.shape.ld_qkv, step * MMA_TILE);
		async_copy_commit();
		attention_mma_multiply_lines<T, HEAD>(s, q, threadIdx.x / 32 * 16, k);
		if (step == steps - 1)
			attention_rows_hide_keys(s, row, step * MMA_TILE, p.shape.sequence,
						 p.shape.causal, -INFINITY);
		attention_rows_softmax_step(s, most, sum, rescale, base2);
		attention_rows_scale(o, rescale);
		attention_rows_pack<T>(packed, s);
		async_copy_wait<0>();
		__syncthreads(); /* V is loaded, and all warps are done with K */
		if (step > 0)
			attention_mma_fetch_tile<T, HEAD>(k, p, at, p.k, p.shape.ld_qkv,
							  (step - 1) * MMA_TILE);
		async_copy_commit();
		attention_mma_multiply_rows<T, HEAD>(o, packed, v);
	}
	attention_rows_store_output<T>(p, at, row, o, most, sum);
	/* Pads lse to whole tiles of 128. */
	if (at.tile == p.tiles - 1 && p.tiles % 2 && threadIdx.x < MMA_TILE)
		p.lse[at.row_values + first + MMA_TILE + threadIdx.x] = INFINITY;
}

/*
 * dK and dV of 64 keys; rows are keys. Four tiles of heads of 128 fill the 64 KiB of a Turing
 * block, so lse and delta are read from global memory.
 */
template <typename T, int HEAD>
static __device__ __forceinline__ void attention_mma_dkdv(const attention_problem &p)
{
	static_assert(MMA_SHARED_BYTES(HEAD, 4) <= 64 << 10, "Turing");
	extern __shared__ __align__(128) char mma_memory[];
	T *k = (T *)mma_memory, *v = k + MMA_TILE * HEAD, *q = v + MMA_TILE * HEAD,
	  *d_o = q + MMA_TILE * HEAD;
	attention_place at(p, false);
	int line = threadIdx.x / 32 * 16, row = at.tile * MMA_TILE + line, lane = threadIdx.x % 32;
	float base2 = p.shape.scale * LOG2_E;
	float dk[HEAD / 2], dv[HEAD / 2];
	float scale[2] = { p.shape.scale, p.shape.scale }, one[2] = { 1, 1 };

#pragma unroll
	for (int i = 0; i < HEAD / 2; i++)
		dk[i] = dv[i] = 0;
	attention_mma_fetch_tile<T, HEAD>(k, p, at, p.k, p.shape.ld_qkv, at.tile * MMA_TILE);
	attention_mma_fetch_tile<T, HEAD>(v, p, at, p.v, p.shape.ld_qkv, at.tile * MMA_TILE);
	for (int tile = p.shape.causal ? at.tile : 0; tile < p.tiles; tile++) {
		int column = tile * MMA_TILE + lane % 4 * 2;
		int64_t value = at.row_values + column;
		float s[MMA_TILE / 2], dp[MMA_TILE / 2];
		unsigned packed[MMA_TILE / 4];

		attention_mma_fetch_tile<T, HEAD>(q, p, at, p.q, p.shape.ld_qkv, tile * MMA_TILE);
		attention_mma_fetch_tile<T, HEAD>(d_o, p, at, p.d_o, p.shape.ld_o, tile * MMA_TILE);
		async_copy_commit();
		async_copy_wait<0>();
		__syncthreads();
		attention_mma_multiply_lines<T, HEAD>(s, k, line, q);
#pragma unroll
		for (int i = 0; i < MMA_TILE / 2; i++) {
			int query = i / 4 * 8 + i % 2;
			float lse = __ldg(p.lse + value + query);

			s[i] = attention_rows_power_of_two(fmaf(s[i], base2, -lse * LOG2_E));
			if (p.shape.causal && column + query < row + lane / 4 + i % 4 / 2 * 8)
				s[i] = 0;
		}
		attention_rows_pack<T>(packed, s);
		attention_mma_multiply_rows<T, HEAD>(dv, packed, d_o);
		attention_mma_multiply_lines<T, HEAD>(dp, v, line, d_o);
#pragma unroll
		for (int i = 0; i < MMA_TILE / 2; i++)
			s[i] *= dp[i] - __ldg(p.delta + value + i / 4 * 8 + i % 2);
		attention_rows_pack<T>(packed, s);
		attention_mma_multiply_rows<T, HEAD>(dk, packed, q);
		__syncthreads();
	}
	attention_rows_store<T>(p, at, p.dv, p.shape.ld_qkv, row, dv, one);
	attention_rows_store<T>(p, at, p.dk, p.shape.ld_qkv, row, dk, scale);
}

/* dQ of 64 queries; rows are queries. */
template <typename T, int HEAD>
static __device__ __forceinline__ void attention_mma_dq(const attention_problem &p)
{
	extern __shared__ __align__(128) char mma_memory[];
	T *q = (T *)mma_memory, *d_o = q + MMA_TILE * HEAD, *k = d_o + MMA_TILE * HEAD,
	  *v = k + MMA_TILE * HEAD;
	attention_place at(p, true);
	int line = threadIdx.x / 32 * 16, row = at.tile * MMA_TILE + line, lane = threadIdx.x % 32;
	int steps = p.shape.causal ? at.tile + 1 : p.tiles;
	float base2 = p.shape.scale * LOG2_E;
	float dq[HEAD / 2], lse[2], delta[2], scale[2] = { p.shape.scale, p.shape.scale };

#pragma unroll
	for (int h = 0; h < 2; h++) {
		int64_t value = at.row_values + row + lane / 4 + h * 8;

		lse[h] = p.lse[value] * LOG2_E;
		delta[h] = p.delta[value];
	}
#pragma unroll
	for (int i = 0; i < HEAD / 2; i++)
		dq[i] = 0;
	attention_mma_fetch_tile<T, HEAD>(q, p, at, p.q, p.shape.ld_qkv, at.tile * MMA_TILE);
	attention_mma_fetch_tile<T, HEAD>(d_o, p, at, p.d_o, p.shape.ld_o, at.tile * MMA_TILE);
	for (int step = steps - 1; step >= 0; step--) {
		float s[MMA_TILE / 2], dp[MMA_TILE / 2];
		unsigned packed[MMA_TILE / 4];

		attention_mma_fetch_tile<T, HEAD>(k, p, at, p.k, p.shape.ld_qkv, step * MMA_TILE);
		attention_mma_fetch_tile<T, HEAD>(v, p, at, p.v, p.shape.ld_qkv, step * MMA_TILE);
		async_copy_commit();
		async_copy_wait<0>();
		__syncthreads();
		attention_mma_multiply_lines<T, HEAD>(s, q, line, k);
#pragma unroll
		for (int i = 0; i < MMA_TILE / 2; i++)
			s[i] = attention_rows_power_of_two(fmaf(s[i], base2, -lse[i % 4 / 2]));
		if (step == steps - 1)
			attention_rows_hide_keys(s, row, step * MMA_TILE, p.shape.sequence,
						 p.shape.causal, 0);
		attention_mma_multiply_lines<T, HEAD>(dp, d_o, line, v);
#pragma unroll
		for (int i = 0; i < MMA_TILE / 2; i++)
			s[i] *= dp[i] - delta[i % 4 / 2];
		attention_rows_pack<T>(packed, s);
		attention_mma_multiply_rows<T, HEAD>(dq, packed, k);
		__syncthreads();
	}
	attention_rows_store<T>(p, at, p.dq, p.shape.ld_qkv, row, dq, scale);
}

template <typename T> struct mma_since {
	static const int capability = 80;
};
template <> struct mma_since<half> {
	static const int capability = 75;
};

/* Never launched without such tensor cores. */
#define MMA_KERNEL(name, body)                                                                   \
	template <typename T, int HEAD>                                                          \
	static __global__ void __launch_bounds__(MMA_THREADS, 2) name(const attention_problem p) \
	{                                                                                        \
		if constexpr (CODE_CAPABILITY >= mma_since<T>::capability)                       \
			body<T, HEAD>(p);                                                        \
		else                                                                             \
			compat_code_is_absent();                                                 \
	}
MMA_KERNEL(attention_forward_mma, attention_mma_forward)
MMA_KERNEL(attention_dkdv_mma, attention_mma_dkdv)
MMA_KERNEL(attention_dq_mma, attention_mma_dq)

#endif
