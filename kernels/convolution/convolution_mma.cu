/*
 * Convolution with the tensor cores of compute capability 7.5 and newer (mma.sync): see
 * convolution_gemm.cuh. Each of four warps computes half of the rows and columns of a block's tile;
 * a step is two instructions deep.
 */
#define GEMM_THREADS 128

#include "kernels/convolution/convolution_gemm.cuh"
#include "kernels/gemm/mma.cuh"

#define MMA_STAGES 3
#define MMA_DEPTH(T) (32 / (int)sizeof(T)) /* depth of an mma instruction */

/* mma instruction for a storage type, and the first capability with it. */
template <typename T> struct mma_of;
template <> struct mma_of<half> {
	static const int since = 75;
	static __device__ __forceinline__ void multiply(float *d, const unsigned *a,
							const unsigned *b)
	{
		mma_multiply_16(half(), d, a, b);
	}
};
template <> struct mma_of<bfloat16> {
	static const int since = 80;
	static __device__ __forceinline__ void multiply(float *d, const unsigned *a,
							const unsigned *b)
	{
		mma_multiply_16(__nv_bfloat16(), d, a, b);
	}
};
template <> struct mma_of<float> {
	static const int since = 80;
	static __device__ __forceinline__ void multiply(float *d, const unsigned *a,
							const unsigned *b)
	{
		mma_multiply_8(d, a, b);
	}
};

/*
 * Loads 16 lines from `line` on and the k of an instruction from `depth` on, as four matrices of 8
 * lines x 16 bytes along k. Left: the two of 8 lines first; right: the two of 8 lines' k first.
 */
template <typename T, bool ALONG, bool LEFT, int WIDTH>
static __device__ __forceinline__ void
convolution_mma_load_fragments(unsigned (&r)[4], const T *tile, int line, int depth)
{
	const int V = 16 / sizeof(T);
	int lane = threadIdx.x % 32, of_lines = LEFT ? lane / 8 % 2 : lane / 16,
	    of_depth = LEFT ? lane / 16 : lane / 8 % 2;

	if (ALONG)
		mma_load_matrices<false>(
			r, tile + convolution_gemm_tile_offset<T, true, GEMM_DEPTH(T)>(
					  line + of_lines * 8 + lane % 8, depth + of_depth * V));
	else if (sizeof(T) == 2)
		mma_load_matrices<true>(r, tile + convolution_gemm_tile_offset<T, false, WIDTH>(
							  depth + of_depth * 8 + lane % 8,
							  line + of_lines * 8));
	else {
		/*
		 * No instruction transposes these. Equals convolution_gemm_tile_offset() with
		 * constants except for the lane's part; a call would take two instructions per
		 * register.
		 */
		const T *of_lane = tile + lane % 4 * WIDTH + lane / 4;

#pragma unroll
		for (int i = 0; i < 4; i++) {
			int k = LEFT ? i / 2 : i % 2, at = line + (LEFT ? i % 2 : i / 2) * 8;

			r[i] = *reinterpret_cast<const unsigned *>(
				of_lane + (at % 32 ^ lane % 4 * 8 % WIDTH) + at / 32 * 32 +
				(depth + k * 4) * WIDTH);
		}
	}
	if (sizeof(T) == 4)
		mma_round_to_tf32<4>(r);
}

template <typename T, convolution_pass PASS, int COLUMNS> struct mma_products {
	static const bool LEFT_ALONG = PASS != PASS_WEIGHTS, RIGHT_ALONG = PASS == PASS_FORWARD;
	static const int ACROSS = COLUMNS < 32 ? 1 : 2; /* warps */
	/* columns and rows of a warp */
	static const int N = COLUMNS / ACROSS, M = GEMM_ROWS / (4 / ACROSS);
	float sums[M / 16][N / 8][4] = {};

	__device__ __forceinline__ static int row(void)
	{
		return threadIdx.x / 32 / ACROSS * M;
	}
	__device__ __forceinline__ static int column(void)
	{
		return threadIdx.x / 32 % ACROSS * N;
	}

	__device__ __forceinline__ void add(const T *left, const T *right)
	{
#pragma unroll
		for (int depth = 0; depth < GEMM_DEPTH(T); depth += MMA_DEPTH(T)) {
			unsigned a[M / 16][4], b[N / 16][4];

#pragma unroll
			for (int i = 0; i < M / 16; i++)
				convolution_mma_load_fragments<T, LEFT_ALONG, true, GEMM_ROWS>(
					a[i], left, row() + i * 16, depth);
#pragma unroll
			for (int j = 0; j < N / 16; j++)
				convolution_mma_load_fragments<T, RIGHT_ALONG, false, COLUMNS>(
					b[j], right, column() + j * 16, depth);
#pragma unroll
			for (int i = 0; i < M / 16; i++)
#pragma unroll
				for (int j = 0; j < N / 8; j++)
					mma_of<T>::multiply(sums[i][j], a[i], b[j / 2] + j % 2 * 2);
		}
	}

	/* Sum of row i * 8 and column j * 8 + k, relative to this thread's first. */
	__device__ __forceinline__ float sum(int i, int j, int k) const
	{
		return sums[i / 2][j][i % 2 * 2 + k];
	}

	__device__ __forceinline__ void store(const tile_store<T, PASS> &to) const
	{
		int lane = threadIdx.x % 32, r = row() + lane / 4, c = column() + lane % 4 * 2;
		int end = to.end();

		if constexpr (PASS == PASS_WEIGHTS) {
#pragma unroll
			for (int j = 0; j < N / 4; j++) {
				float *line = to.line(c + j / 2 * 8 + j % 2);

#pragma unroll
				for (int i = 0; i < M / 8; i++)
					if (line && r + i * 8 < end)
						line[r + i * 8] = sum(i, j / 2, j % 2);
			}
			return;
		}
		bool pairs = to.pairs();

#pragma unroll
		for (int i = 0; i < M / 8; i++) {
			auto line = to.line(r + i * 8);

			if (!line)
				continue;
			if (pairs)
#pragma unroll
				for (int j = 0; j < N / 8; j++)
					if (c + j * 8 < end)
						convolution_gemm_store_two(line + c + j * 8,
									   sum(i, j, 0),
									   sum(i, j, 1));
			if (!pairs)
#pragma unroll
				for (int j = 0; j < N / 4; j++)
					if (c + j / 2 * 8 + j % 2 < end)
						storage_from_math(line + c + j / 2 * 8 + j % 2,
								  sum(i, j / 2, j % 2));
		}
	}
};

/* Never launched without such tensor cores. */
template <typename T, convolution_pass PASS, int PACK, int RIGHT, int COLUMNS>
static __global__ void __launch_bounds__(GEMM_THREADS, 2)
	convolution_mma(const convolution_gemm_arguments a)
{
	if constexpr (CODE_CAPABILITY >= mma_of<T>::since)
		convolution_gemm_multiply_tile<T, PASS, PACK, RIGHT, COLUMNS, MMA_STAGES,
					       mma_products<T, PASS, COLUMNS>>(a);
	else
		compat_code_is_absent();
}

template <typename T, int PACK>
static enum status
convolution_mma_launch_columns(struct stream *stream, const convolution_problem &p,
			       enum convolution_pass pass, int columns, struct error *err)
{
	const int WIDE = PACK > 1 ? 128 : 64; /* as convolution_problem_mma_wide() */

	return convolution_gemm_for_pass(pass, [&](auto constant) {
		const convolution_pass PASS = decltype(constant)::value;
		/* Images of 3 channels with filters in whole packs: first layers. */
		const int RIGHT = PASS == PASS_WEIGHTS && PACK == 1 ? 16 / sizeof(T) : PACK;
		bool whole = RIGHT != PACK && p.shape.filters % RIGHT == 0 &&
			     storage_packs_aligned(p.gradient);

		return convolution_gemm_launch<PASS>(
			stream,
			columns == WIDE ? (whole ? convolution_mma<T, PASS, PACK, RIGHT, WIDE>
						 : convolution_mma<T, PASS, PACK, PACK, WIDE>)
					: convolution_mma<T, PASS, PACK, PACK, 64>,
			p, columns, GEMM_DEPTH(T), MMA_STAGES, err);
	});
}

/* Gradient of images with few channels: dy in whole packs, the weights by elements. */
template <typename T, int COLUMNS>
static enum status convolution_mma_launch_image_gradient(struct stream *stream,
							 const convolution_problem &p,
							 struct error *err)
{
	return convolution_gemm_launch<PASS_DATA>(
		stream, convolution_mma<T, PASS_DATA, 16 / sizeof(T), 1, COLUMNS>, p, COLUMNS,
		GEMM_DEPTH(T), MMA_STAGES, err);
}

template <typename T>
static enum status convolution_mma_launch_packs(struct stream *stream, const convolution_problem &p,
						enum convolution_pass pass, int columns,
						struct error *err)
{
	const unsigned WHOLE = 16 / sizeof(T);

	if (convolution_problem_packs_whole(p, 16))
		return convolution_mma_launch_columns<T, WHOLE>(stream, p, pass, columns, err);
	if (pass == PASS_DATA && p.shape.channels <= 32 && p.shape.filters % WHOLE == 0 &&
	    storage_packs_aligned(p.gradient))
		return p.shape.channels <= 16
			       ? convolution_mma_launch_image_gradient<T, 16>(stream, p, err)
			       : convolution_mma_launch_image_gradient<T, 32>(stream, p, err);
	if (convolution_problem_packs_whole(p, 4))
		return convolution_mma_launch_columns<T, 4 / sizeof(T)>(stream, p, pass, columns,
									err);
	return convolution_mma_launch_columns<T, 1>(stream, p, pass, columns, err);
}

enum status convolution_by_mma(struct stream *stream, const convolution_problem &p,
			       enum convolution_pass pass, int columns, struct error *err)
{
#define CALL(T) return convolution_mma_launch_packs<T>(stream, p, pass, columns, err)
	FOR_STORED_FLOATS(p.shape.precision, CALL)
#undef CALL
	return kernel_convolution_refuse(&p.shape, err);
}
