/*
 * Convolution without tensor cores, in FP32: see convolution_gemm.cuh. A thread computes 8 rows x
 * COLUMNS / 16 columns.
 */
#define GEMM_THREADS 256

#include "kernels/convolution/convolution_gemm.cuh"

#define FMA_STAGES 2
#define FMA_SIDE 16 /* threads along the rows, and along the columns, of a tile */

static __device__ __forceinline__ void convolution_fma_load_four(float *to, const float *from)
{
	float4 x = *reinterpret_cast<const float4 *>(from);

	to[0] = x.x;
	to[1] = x.y;
	to[2] = x.z;
	to[3] = x.w;
}
template <typename T>
static __device__ __forceinline__ void convolution_fma_load_four(float *to, const T *from)
{
	uint2 bits = *reinterpret_cast<const uint2 *>(from);
	const T *x = reinterpret_cast<const T *>(&bits);

#pragma unroll
	for (int i = 0; i < 4; i++)
		storage_to_math(&to[i], x[i]);
}

/* Index of line i of an operand for thread `t` of 16. */
template <bool ALONG> static __device__ __forceinline__ int convolution_fma_line_of(int t, int i)
{
	return ALONG ? t + i * FMA_SIDE : t * 4 + i % 4 + i / 4 * 4 * FMA_SIDE;
}

/* Loads COUNT lines at a depth, from a tile whose lines run across k. */
template <typename T, int WIDTH, int COUNT>
static __device__ __forceinline__ void convolution_fma_load_across(float (&x)[COUNT], const T *tile,
								   int t, int depth)
{
#pragma unroll
	for (int i = 0; i < COUNT; i += 4)
		convolution_fma_load_four(x + i,
					  tile + convolution_gemm_tile_offset<T, false, WIDTH>(
							 depth,
							 convolution_fma_line_of<false>(t, i)));
}

template <typename T, convolution_pass PASS, int COLUMNS> struct fma_products {
	static const bool LEFT_ALONG = PASS != PASS_WEIGHTS, RIGHT_ALONG = PASS == PASS_FORWARD;
	static const int N = COLUMNS / FMA_SIDE, M = GEMM_ROWS / FMA_SIDE;
	float sums[M][N] = {};

	/* A warp has 4 x 8 threads. */
	__device__ __forceinline__ static int left_thread(void)
	{
		return threadIdx.x / 64 * 4 + threadIdx.x % 32 / 8;
	}
	__device__ __forceinline__ static int right_thread(void)
	{
		return threadIdx.x / 32 % 2 * 8 + threadIdx.x % 8;
	}

	/*
	 * Processes 4 of k at a time in one loop body, except for weights in FP32, where that was 8
	 * to 15 % slower. Loads as little of the left operand as possible: 128 columns of FP32
	 * leave no spare registers.
	 */
	__device__ __forceinline__ void add(const T *left, const T *right)
	{
		const int DEPTH = GEMM_DEPTH(T);

#pragma unroll(PASS == PASS_WEIGHTS && sizeof(T) == 4 ? 4 : 1)
		for (int depth = 0; depth < DEPTH; depth += 4) {
			float b[N][4];

#pragma unroll
			for (int j = 0; j < (RIGHT_ALONG ? N : 4); j++) {
				float across[N];

				if (RIGHT_ALONG) {
					int line = convolution_fma_line_of<true>(right_thread(), j);

					convolution_fma_load_four(
						b[j], right + convolution_gemm_tile_offset<
								      T, true, DEPTH>(line, depth));
					continue;
				}
				convolution_fma_load_across<T, COLUMNS>(across, right,
									right_thread(), depth + j);
#pragma unroll
				for (int l = 0; l < N; l++)
					b[l][j] = across[l];
			}
#pragma unroll
			for (int i = 0; i < (LEFT_ALONG ? M : 4); i++) {
				float a[LEFT_ALONG ? 4 : M];

				if constexpr (LEFT_ALONG) {
					int line = convolution_fma_line_of<true>(left_thread(), i);

					convolution_fma_load_four(
						a,
						left + convolution_gemm_tile_offset<T, true, DEPTH>(
							       line, depth));
				} else {
					convolution_fma_load_across<T, GEMM_ROWS>(a, left,
										  left_thread(),
										  depth + i);
				}
#pragma unroll
				for (int k = 0; k < (LEFT_ALONG ? 4 : M); k++)
#pragma unroll
					for (int j = 0; j < N; j++) {
						float &sum = sums[LEFT_ALONG ? i : k][j];

						sum = fmaf(a[k], b[j][LEFT_ALONG ? k : i], sum);
					}
			}
		}
	}

	__device__ __forceinline__ void store(const tile_store<T, PASS> &to) const
	{
		const bool DOWN = PASS == PASS_WEIGHTS; /* lines are columns */
		int end = to.end();

#pragma unroll
		for (int l = 0; l < (DOWN ? N : M); l++) {
			auto line = to.line(
				DOWN ? convolution_fma_line_of<RIGHT_ALONG>(right_thread(), l)
				     : convolution_fma_line_of<LEFT_ALONG>(left_thread(), l));

			if (!line)
				continue;
#pragma unroll
			for (int e = 0; e < (DOWN ? M : N); e++) {
				int at =
					DOWN ? convolution_fma_line_of<LEFT_ALONG>(left_thread(), e)
					     : convolution_fma_line_of<RIGHT_ALONG>(right_thread(),
										    e);

				if (at < end)
					storage_from_math(line + at,
							  DOWN ? sums[e][l] : sums[l][e]);
			}
		}
	}
};

template <typename T, convolution_pass PASS, int PACK, int COLUMNS>
static __global__ void __launch_bounds__(GEMM_THREADS, 2)
	convolution_fma(const convolution_gemm_arguments a)
{
	convolution_gemm_multiply_tile<T, PASS, PACK, PACK, COLUMNS, FMA_STAGES,
				       fma_products<T, PASS, COLUMNS>>(a);
}

template <typename T, int PACK>
static enum status
convolution_fma_launch_columns(struct stream *stream, const convolution_problem &p,
			       enum convolution_pass pass, int columns, struct error *err)
{
	const int WIDE =
		sizeof(T) == 4 && PACK > 1 ? 128 : 64; /* as convolution_problem_fma_wide() */

	return convolution_gemm_for_pass(pass, [&](auto constant) {
		const convolution_pass PASS = decltype(constant)::value;

		return convolution_gemm_launch<PASS>(stream,
						     columns == WIDE
							     ? convolution_fma<T, PASS, PACK, WIDE>
							     : convolution_fma<T, PASS, PACK, 64>,
						     p, columns, GEMM_DEPTH(T), FMA_STAGES, err);
	});
}

enum status convolution_by_fma(struct stream *stream, const convolution_problem &p,
			       enum convolution_pass pass, int columns, struct error *err)
{
#define CALL(T)                                                                             \
	return convolution_problem_packs_whole(p, 16)                                       \
		       ? convolution_fma_launch_columns<T, 16 / sizeof(T)>(stream, p, pass, \
									   columns, err)    \
		       : convolution_fma_launch_columns<T, 1>(stream, p, pass, columns, err)
	FOR_STORED_FLOATS(p.shape.precision, CALL)
#undef CALL
	return kernel_convolution_refuse(&p.shape, err);
}
