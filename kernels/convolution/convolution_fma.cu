/*
 * Convolution by ordinary multiply-adds in FP32: see convolution_gemm.cuh. A thread makes 8 rows x
 * COLUMNS / 16 columns.
 */
#define GEMM_THREADS 256

#include "kernels/convolution/convolution_gemm.cuh"

#define FMA_STAGES 2
#define FMA_SIDE 16 /* threads along the rows, and along the columns, of a tile */

static __device__ __forceinline__ void load_four(float *to, const float *from)
{
	float4 x = *reinterpret_cast<const float4 *>(from);

	to[0] = x.x;
	to[1] = x.y;
	to[2] = x.z;
	to[3] = x.w;
}
template <typename T> static __device__ __forceinline__ void load_four(float *to, const T *from)
{
	uint2 bits = *reinterpret_cast<const uint2 *>(from);
	const T *x = reinterpret_cast<const T *>(&bits);

#pragma unroll
	for (int i = 0; i < 4; i++)
		to_math(&to[i], x[i]);
}

/* Line i of a thread's lines of an operand, of which it is the `t`-th of 16 threads. */
template <bool ALONG> static __device__ __forceinline__ int line_of(int t, int i)
{
	return ALONG ? t + i * FMA_SIDE : t * 4 + i % 4 + i / 4 * 4 * FMA_SIDE;
}

/* COUNT lines, 4 deep from `depth` on. */
template <typename T, bool ALONG, int WIDTH, int COUNT>
static __device__ __forceinline__ void load_lines(float (&x)[COUNT][4], const T *tile, int t,
						  int depth)
{
#pragma unroll
	for (int i = 0; i < (ALONG ? COUNT : COUNT / 4); i++)
#pragma unroll
		for (int k = 0; k < (ALONG ? 1 : 4); k++) {
			float four[4];
			int line = line_of<ALONG>(t, ALONG ? i : 4 * i);

			load_four(four,
				  tile + (ALONG ? tile_offset<T, true, GEMM_DEPTH(T)>(line, depth)
						: tile_offset<T, false, WIDTH>(depth + k, line)));
#pragma unroll
			for (int e = 0; e < 4; e++)
				x[ALONG ? i : 4 * i + e][ALONG ? e : k] = four[e];
		}
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

	__device__ __forceinline__ void add(const T *left, const T *right)
	{
#pragma unroll
		for (int depth = 0; depth < GEMM_DEPTH(T); depth += 4) {
			float a[M][4], b[N][4];

			load_lines<T, LEFT_ALONG, GEMM_ROWS>(a, left, left_thread(), depth);
			load_lines<T, RIGHT_ALONG, COLUMNS>(b, right, right_thread(), depth);
#pragma unroll
			for (int k = 0; k < 4; k++)
#pragma unroll
				for (int i = 0; i < M; i++)
#pragma unroll
					for (int j = 0; j < N; j++)
						sums[i][j] = fmaf(a[i][k], b[j][k], sums[i][j]);
		}
	}

	__device__ __forceinline__ void store(const tile_store<T, PASS> &to) const
	{
#pragma unroll
		for (int i = 0; i < M; i++)
#pragma unroll
			for (int j = 0; j < N; j++)
				to.one(line_of<LEFT_ALONG>(left_thread(), i),
				       line_of<RIGHT_ALONG>(right_thread(), j), sums[i][j]);
	}
};

template <typename T, convolution_pass PASS, int PACK, int COLUMNS>
static __global__ void __launch_bounds__(GEMM_THREADS, 2)
	convolution_fma(const convolution_gemm_arguments a)
{
	multiply_tile<T, PASS, PACK, COLUMNS, FMA_STAGES, fma_products<T, PASS, COLUMNS>>(a);
}

/* 16-bit elements: 128 columns would spill registers. */
template <typename T, int PACK>
static void launch_columns(const convolution_problem &p, enum convolution_pass pass, int columns,
			   cudaStream_t stream)
{
	const int WIDE = sizeof(T) == 2 ? 64 : 128;

	for_pass(pass, [&](auto constant) {
		const convolution_pass PASS = decltype(constant)::value;

		launch_gemm<PASS>(columns == WIDE ? convolution_fma<T, PASS, PACK, WIDE>
						  : convolution_fma<T, PASS, PACK, 64>,
				  p, columns, GEMM_DEPTH(T), FMA_STAGES, stream);
	});
}

void convolution_by_fma(const convolution_problem &p, enum convolution_pass pass, int columns,
			cudaStream_t stream)
{
#define CALL(T)                                                                          \
	packs_whole(p, 16) ? launch_columns<T, 16 / sizeof(T)>(p, pass, columns, stream) \
			   : launch_columns<T, 1>(p, pass, columns, stream)
	FOR_STORED_FLOATS(p.shape.precision, CALL)
#undef CALL
}
