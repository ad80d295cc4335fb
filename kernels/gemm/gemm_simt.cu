/*
 * "gemm_simt" (gemm.h): C = alpha A B + beta C in column-major FP32 without tensor cores.
 *
 * A block computes a BM x BN tile of C, BK deep at a time. Tiles of A and B are copied to shared
 * memory (asynchronously if supported), STAGES - 1 of them ahead: A as in memory, B transposed, so
 * that both are rows of one k. Each thread accumulates TM x TN sums; while it multiplies the
 * elements of one k it loads those of the next, even across two tiles.
 */
#include "kernels/gemm/gemm.h"

#include "device/cuda/cuda_kernel.h"
#include "kernels/gemm/gemm_problem.cuh"

typedef gemm_problem<float> simt_problem;

template <int BM_, int BN_, int BK_, int TM_, int TN_, int LANES_M_, int STAGES_, int BLOCKS_ = 1>
struct simt_shape {
	static const int BM = BM_, BN = BN_, BK = BK_, TM = TM_, TN = TN_, STAGES = STAGES_;
	static const int LANES_M = LANES_M_, LANES_N = 32 / LANES_M_, BLOCKS = BLOCKS_;
	static const int WARP_M = LANES_M * TM, WARP_N = LANES_N * TN;
	static const int WARPS_M = BM / WARP_M, WARPS_N = BN / WARP_N;
	static const int THREADS = 32 * WARPS_M * WARPS_N;
	/* Row length of B's tile, padded so that transposing B uses different banks. */
	static const int LINE = BN + 4;
	static const int STAGE_FLOATS = BK * (BM + LINE);
	static const int SHARED_BYTES = STAGES * STAGE_FLOATS * 4;
	/*
	 * Pieces of a tile that a thread copies, and the distance to the next one in k (A) or
	 * columns (B).
	 */
	static const int A_PIECES = BK * BM / 4 / THREADS, A_STEP = THREADS / (BM / 4);
	static const int B_PIECES = BK * BN / THREADS, B_STEP = THREADS / BK;
};

/* Loads one stage; elements beyond the matrices become 0. WIDE: 16 bytes of A at a time, else 4. */
template <typename S, bool WIDE>
static __device__ __forceinline__ void gemm_simt_load(const simt_problem &p, float *stage, int row,
						      int column, int depth)
{
	const int piece = WIDE ? 4 : 1;
	float *b = stage + S::BK * S::BM;

#pragma unroll
	for (int i = 0; i < S::BK * S::BM / piece; i += S::THREADS) {
		int at = i + threadIdx.x, l = at / (S::BM / piece),
		    m = at % (S::BM / piece) * piece;
		bool in = row + m < p.m && depth + l < p.k;

		copy_async<4 * piece>(stage + l * S::BM + m,
				      in ? p.a + (depth + l) * p.lda + row + m : p.a, in);
	}
#pragma unroll
	for (int i = 0; i < S::BK * S::BN; i += S::THREADS) {
		int at = i + threadIdx.x, n = at / S::BK, l = at % S::BK;
		bool in = column + n < p.n && depth + l < p.k;

		copy_async<4>(b + l * S::LINE + n,
			      in ? p.b + (column + n) * p.ldb + depth + l : p.b, in);
	}
}

/* Addresses of a thread's pieces if every tile is whole: no bounds checks, constant distance. */
struct simt_source {
	const float *a, *b;
	int64_t step_a, step_b;
	int to_a, to_b; /* floats from the start of the stage */
};

template <typename S>
static __device__ __forceinline__ simt_source gemm_simt_source_of(const simt_problem &p, int row,
								  int column)
{
	int t = threadIdx.x, l = t / (S::BM / 4), m = t % (S::BM / 4) * 4, n = t / S::BK,
	    depth = t % S::BK;
	simt_source source = { p.a + l * p.lda + row + m,
			       p.b + (column + n) * p.ldb + depth,
			       S::A_STEP * p.lda,
			       S::B_STEP * p.ldb,
			       l * S::BM + m,
			       S::BK * S::BM + depth * S::LINE + n };

	return source;
}

/* Advances to the next stage. */
template <typename S>
static __device__ __forceinline__ void gemm_simt_load_whole(simt_source *source, float *stage)
{
	const float *b = source->b;

#pragma unroll
	for (int i = 0; i < S::A_PIECES; i++) {
		copy_async<16>(stage + source->to_a + i * S::A_STEP * S::BM, source->a);
		source->a += source->step_a;
	}
#pragma unroll
	for (int i = 0; i < S::B_PIECES; i++) {
		copy_async<4>(stage + source->to_b + i * S::B_STEP, b);
		b += source->step_b;
	}
	source->b += S::BK;
}

/* Operands of a thread for one k: TM elements of A, TN of B, in pieces of four. */
template <typename S> struct simt_pieces {
	float4 left[S::TM / 4], right[S::TN / 4];
};

template <typename S>
static __device__ __forceinline__ void gemm_simt_read(simt_pieces<S> *x, const float *stage, int l,
						      int m, int n)
{
	const float *a = stage + l * S::BM + m, *b = stage + S::BK * S::BM + l * S::LINE + n;

#pragma unroll
	for (int i = 0; i < S::TM / 4; i++)
		x->left[i] = *reinterpret_cast<const float4 *>(a + i * S::LANES_M * 4);
#pragma unroll
	for (int j = 0; j < S::TN / 4; j++)
		x->right[j] = *reinterpret_cast<const float4 *>(b + j * S::LANES_N * 4);
}

static __device__ __forceinline__ float gemm_simt_part(float4 x, int i)
{
	return i == 0 ? x.x : i == 1 ? x.y : i == 2 ? x.z : x.w;
}

/*
 * Zigzag order: the element of A at a turn is read from the register file once for two
 * multiply-adds.
 */
template <typename S>
static __device__ __forceinline__ void gemm_simt_multiply(const simt_pieces<S> &x,
							  float sums[S::TM][S::TN])
{
#pragma unroll
	for (int j = 0; j < S::TN; j++)
#pragma unroll
		for (int turn = 0; turn < S::TM; turn++) {
			int i = j % 2 ? S::TM - 1 - turn : turn;

			sums[i][j] = fmaf(gemm_simt_part(x.left[i / 4], i % 4),
					  gemm_simt_part(x.right[j / 4], j % 4), sums[i][j]);
		}
}

template <typename S>
static __device__ __forceinline__ void gemm_simt_store(const simt_problem &p, int row, int column,
						       bool wide, const float sums[S::TM][S::TN])
{
#pragma unroll
	for (int j = 0; j < S::TN; j++) {
		int n = column + j / 4 * S::LANES_N * 4 + j % 4;

		if (n >= p.n)
			continue;
#pragma unroll
		for (int i = 0; i < S::TM; i += 4) {
			int m = row + i * S::LANES_M;
			float *c = p.c + n * p.ldc + m;

			if (wide && p.beta == 0 && m < p.m) {
				*reinterpret_cast<float4 *>(c) =
					make_float4(p.alpha * sums[i][j], p.alpha * sums[i + 1][j],
						    p.alpha * sums[i + 2][j],
						    p.alpha * sums[i + 3][j]);
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

/* WHOLE: m, n and k are multiples of the tile's, and A may be read 16 bytes at a time. */
template <typename S, bool WIDE, bool WHOLE>
static __global__ void __launch_bounds__(S::THREADS, S::BLOCKS) gemm_simt(simt_problem p)
{
	extern __shared__ __align__(16) float simt_memory[];
	int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	int m = warp % S::WARPS_M * S::WARP_M + lane % S::LANES_M * 4;
	int n = warp / S::WARPS_M * S::WARP_N + lane / S::LANES_M * 4;
	int steps = (p.k + S::BK - 1) / S::BK, current = 0, next = S::STAGES - 1;
	float sums[S::TM][S::TN];
	simt_pieces<S> pieces[2];
	int row, column;

#if CODE_CAPABILITY && !CODE_HAS_ASYNC_COPY
	if (S::STAGES > 2)
		/*
		 * never launched on such devices, where waiting for stages has no benefit; saves
		 * minutes of compile time
		 */
		return;
#endif
	gemm_problem_tile<float>(&p, S::BM, S::BN, &row, &column);
	simt_source source = gemm_simt_source_of<S>(p, row, column);
#pragma unroll
	for (int i = 0; i < S::TM; i++)
#pragma unroll
		for (int j = 0; j < S::TN; j++)
			sums[i][j] = 0;
#pragma unroll
	for (int s = 0; s < S::STAGES - 1; s++) {
		if (s < steps && WHOLE)
			gemm_simt_load_whole<S>(&source, simt_memory + s * S::STAGE_FLOATS);
		else if (s < steps)
			gemm_simt_load<S, WIDE>(p, simt_memory + s * S::STAGE_FLOATS, row, column,
						s * S::BK);
		async_copy_commit();
	}
	async_copy_wait<S::STAGES - 2>();
	__syncthreads();
	gemm_simt_read<S>(&pieces[0], simt_memory, 0, m, n);
#pragma unroll 1
	for (int step = 0; step < steps; step++) {
		const float *stage = simt_memory + current * S::STAGE_FLOATS;

		if (step + S::STAGES - 1 < steps && WHOLE)
			gemm_simt_load_whole<S>(&source, simt_memory + next * S::STAGE_FLOATS);
		else if (step + S::STAGES - 1 < steps)
			gemm_simt_load<S, WIDE>(p, simt_memory + next * S::STAGE_FLOATS, row,
						column, (step + S::STAGES - 1) * S::BK);
		async_copy_commit();
		next = next + 1 == S::STAGES ? 0 : next + 1;
		current = current + 1 == S::STAGES ? 0 : current + 1;
#pragma unroll
		for (int l = 0; l < S::BK; l++) {
			if (l == S::BK - 1) {
				async_copy_wait<S::STAGES - 2>();
				__syncthreads();
				stage = simt_memory + current * S::STAGE_FLOATS;
			}
			gemm_simt_read<S>(&pieces[(l + 1) % 2], stage, (l + 1) % S::BK, m, n);
			gemm_simt_multiply<S>(pieces[l % 2], sums);
		}
	}
	gemm_simt_store<S>(p, row + m, column + n,
			   WIDE && p.ldc % 4 == 0 && (uintptr_t)p.c % 16 == 0, sums);
}

/*
 * Tiles for devices with asynchronous copies and large shared memory, for GEMMs too small to fill
 * such a device once, and for older devices. On an H200 at 8192^3, where cuBLAS reaches 50.9 to
 * 51.3 TFLOP/s, the large tiles without bounds checks reach 50.2 to 50.5; rereading each element of
 * A 48.0; sixteen rows by eight columns per thread 47.7; bounds checks 43.9; two blocks of half the
 * tile 50.0.
 */
#define LARGE "large tiles, asynchronous copies"
typedef simt_shape<256, 128, 16, 8, 16, 8, 3> large_tiles;
typedef simt_shape<128, 128, 16, 8, 8, 4, 3, 2> small_tiles;
typedef simt_shape<128, 128, 8, 8, 8, 8, 2> plain_tiles;

template <typename S, bool WIDE, bool WHOLE>
static enum status gemm_simt_launch_shape(struct stream *stream, const struct gemm *g,
					  const char *path, struct error *err)
{
	cudaStream_t handle = cuda_stream_handle(stream);

	if (cuda_stream_shared_memory(stream, (const void *)gemm_simt<S, WIDE, WHOLE>,
				      S::SHARED_BYTES, err) != STATUS_OK)
		return err->status;
	gemm_simt<S, WIDE, WHOLE>
		<<<gemm_problem_grid(g, S::BM, S::BN), S::THREADS, S::SHARED_BYTES, handle>>>(
			gemm_problem_of<float>(g));
	return cuda_device_check_path("gemm_simt", path, err);
}

/* True if no tile extends beyond the matrices. */
template <typename S> static bool gemm_simt_fits(const struct gemm *g)
{
	return g->m % S::BM == 0 && g->n % S::BN == 0 && g->k % S::BK == 0;
}

extern "C" enum status kernel_cuda_gemm_simt(struct stream *stream, const void *arguments,
					     struct error *err)
{
	const struct gemm *g = (const struct gemm *)arguments;
	const struct device_info *info = &stream->device->info;
	dim3 tiles = gemm_problem_grid(g, large_tiles::BM, large_tiles::BN);

	if (gemm_kernel_check("gemm_simt", g, 1u << PRECISION_FP32, err) != STATUS_OK)
		return err->status;
	if (gemm_problem_is_empty(g))
		return STATUS_OK;
	if (!gemm_kernel_aligned(g, 4))
		return gemm_simt_launch_shape<plain_tiles, false, false>(
			stream, g, "plain tiles, narrow loads", err);
	if (info->capability_major < 8)
		return gemm_simt_launch_shape<plain_tiles, true, false>(stream, g, "plain tiles",
									err);
	if (10 * (uint64_t)tiles.x * tiles.z < 9 * (uint64_t)info->multiprocessors)
		return gemm_simt_launch_shape<small_tiles, true, false>(
			stream, g, "small tiles, asynchronous copies", err);
	return gemm_simt_fits<large_tiles>(g)
		       ? gemm_simt_launch_shape<large_tiles, true, true>(stream, g, LARGE, err)
		       : gemm_simt_launch_shape<large_tiles, true, false>(stream, g, LARGE, err);
}
