/*
 * Kernels of a training step that add up rows or columns, each in one fixed order: see
 * training.h.
 */
#include "device/cuda/cuda_kernel.h"
#include "kernels/storage.cuh"
#include "kernels/training.h"

#define THREADS 256

/*
 * column_sum, first pass: block (x, part) adds up the part's rows for the columns of its lanes;
 * its rows of threads take the part's rows in turn and are joined in order. Sums are float for RUN
 * rows and double between, which keeps the error of long columns near one rounding without doing
 * all of it in double.
 */
#define RUN 16

template <typename T, int V>
static __device__ void sum_rows(double *sum, const T *x, uint64_t column, uint64_t columns,
				uint64_t row, uint64_t end)
{
	typedef typename math_of<T>::type math;

	while (row < end) {
		math run[V] = { 0 };

		for (int i = 0; i < RUN && row < end; i++, row += blockDim.y) {
			math v[V];

			load_pack<V>(v, x + row * columns, column, columns, true);
#pragma unroll
			for (int k = 0; k < V; k++)
				run[k] += v[k];
		}
#pragma unroll
		for (int k = 0; k < V; k++)
			sum[k] += run[k];
	}
}

template <typename T, int V>
static __global__ void column_parts(double *parts, const T *x, uint64_t rows, uint64_t columns)
{
	__shared__ double joined[THREADS][V];
	uint64_t column = ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x) * V;
	uint64_t per_part = (rows + COLUMN_SUM_PARTS - 1) / COLUMN_SUM_PARTS;
	uint64_t begin = blockIdx.y * per_part;
	uint64_t end = begin + per_part < rows ? begin + per_part : rows;
	double sum[V] = { 0 };

	if (column < columns)
		sum_rows<T, V>(sum, x, column, columns, begin + threadIdx.y, end);
#pragma unroll
	for (int k = 0; k < V; k++)
		joined[threadIdx.y * blockDim.x + threadIdx.x][k] = sum[k];
	__syncthreads();
	if (threadIdx.y != 0)
		return;
	for (int k = 0; k < V && column + k < columns; k++) {
		double total = 0;

		for (unsigned y = 0; y < blockDim.y; y++)
			total += joined[y * blockDim.x + threadIdx.x][k];
		parts[blockIdx.y * columns + column + k] = total;
	}
}

/* Second pass: one thread per column. */
template <typename T>
static __global__ void column_join(T *out, const double *parts, uint64_t columns, double beta)
{
	uint64_t column = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
	double total = 0, before = 0;

	if (column >= columns)
		return;
	for (int p = 0; p < COLUMN_SUM_PARTS; p++)
		total += parts[p * columns + column];
	if (beta != 0) /* as in BLAS, beta 0 does not read the output */
		to_math(&before, out[column]);
	from_math(&out[column], beta != 0 ? beta * before + total : total);
}

template <typename T, int V>
static void launch_column_parts(const struct column_sum_arguments *a, cudaStream_t stream)
{
	unsigned lanes = lanes_for(a->columns, V);
	dim3 grid(grid_for(a->columns, lanes * V), COLUMN_SUM_PARTS);

	column_parts<T, V><<<grid, dim3(lanes, THREADS / lanes), 0, stream>>>(
		(double *)a->scratch, (const T *)a->x, a->rows, a->columns);
}

template <typename T>
static void launch_column_sum(const struct column_sum_arguments *a, cudaStream_t stream)
{
	const int V = 16 / sizeof(T);

	if (packs_aligned(a->x) && a->columns % V == 0)
		launch_column_parts<T, V>(a, stream);
	else
		launch_column_parts<T, 1>(a, stream);
	column_join<T><<<grid_for(a->columns, 128), 128, 0, stream>>>(
		(T *)a->out, (const double *)a->scratch, a->columns, a->beta);
}

extern "C" enum status kernel_cuda_column_sum(struct stream *stream, const void *arguments,
					      struct error *err)
{
	const struct column_sum_arguments *a = (const struct column_sum_arguments *)arguments;
	cudaStream_t handle = cuda_stream_handle(stream);

	if (a->columns == 0)
		return STATUS_OK;
#define CALL(T) launch_column_sum<T>(a, handle)
	FOR_STORAGE(a->precision, CALL)
#undef CALL
	return cuda_check_launch("column_sum", err);
}

/*
 * softmax_cross_entropy: blockDim.x threads share a row (a warp for short rows, a block for long
 * ones), each with a fixed set of columns; the join is a fixed tree.
 */
#define WARP 32

static __device__ __forceinline__ float math_exp(float x)
{
	return expf(x);
}
static __device__ __forceinline__ double math_exp(double x)
{
	return exp(x);
}
static __device__ __forceinline__ float math_log(float x)
{
	return logf(x);
}
static __device__ __forceinline__ double math_log(double x)
{
	return log(x);
}

struct add {
	template <typename M> static __device__ __forceinline__ M join(M a, M b)
	{
		return a + b;
	}
};
struct larger {
	template <typename M> static __device__ __forceinline__ M join(M a, M b)
	{
		return a > b ? a : b;
	}
};

/* All threads of a row get the same value. */
template <typename Op, typename M> static __device__ M row_join(M mine, M *shared)
{
	for (int offset = WARP / 2; offset; offset /= 2)
		mine = Op::join(mine, __shfl_xor_sync(0xFFFFFFFFu, mine, offset));
	if (blockDim.x == WARP)
		return mine;
	__syncthreads(); /* the previous join's readers are done */
	if (threadIdx.x % WARP == 0)
		shared[threadIdx.x / WARP] = mine;
	__syncthreads();
	mine = shared[0];
	for (unsigned w = 1; w < blockDim.x / WARP; w++)
		mine = Op::join(mine, shared[w]);
	return mine;
}

template <typename T, int V>
static __device__ void softmax_row(T *row, int32_t label, double *loss, uint64_t columns,
				   double gradient_scale, typename math_of<T>::type *shared)
{
	typedef typename math_of<T>::type math;
	uint64_t first = (uint64_t)threadIdx.x * V, stride = (uint64_t)blockDim.x * V;
	math highest = -(math)INFINITY, sum = 0, target, factor;
	math v[V];

	for (uint64_t c = first; c < columns; c += stride) {
		load_pack<V>(v, row, c, columns, true);
		for (int k = 0; k < V && c + k < columns; k++)
			highest = larger::join(v[k], highest);
	}
	highest = row_join<larger>(highest, shared);
	for (uint64_t c = first; c < columns; c += stride) {
		load_pack<V>(v, row, c, columns, true);
		for (int k = 0; k < V && c + k < columns; k++)
			sum += math_exp(v[k] - highest);
	}
	sum = row_join<add>(sum, shared);
	to_math(&target, row[label]);
	if (threadIdx.x == 0)
		*loss = (double)(math_log(sum) + (highest - target));
	factor = (math)1 / sum;
	/* Everyone has read the label's logit before anyone overwrites it. */
	if (blockDim.x == WARP)
		__syncwarp();
	else
		__syncthreads();
	for (uint64_t c = first; c < columns; c += stride) {
		load_pack<V>(v, row, c, columns, true);
#pragma unroll
		for (int k = 0; k < V; k++)
			v[k] = (math_exp(v[k] - highest) * factor -
				(c + k == (uint64_t)label ? (math)1 : (math)0)) *
			       (math)gradient_scale;
		store_pack<V>(row, v, c, columns, true);
	}
}

template <typename T, int V>
static __global__ void softmax_cross_entropy(T *logits, const int32_t *labels, double *row_loss,
					     uint64_t rows, uint64_t columns, double gradient_scale,
					     const struct loss_scale *loss_scale)
{
	__shared__ typename math_of<T>::type shared[THREADS / WARP];

	if (loss_scale)
		gradient_scale *= (double)loss_scale->scale;

	for (uint64_t r = (uint64_t)blockIdx.x * blockDim.y + threadIdx.y; r < rows;
	     r += (uint64_t)gridDim.x * blockDim.y)
		softmax_row<T, V>(logits + r * columns, labels[r], &row_loss[r], columns,
				  gradient_scale, shared);
}

template <typename T, int V>
static void launch_softmax_packs(const struct softmax_cross_entropy_arguments *a,
				 cudaStream_t stream)
{
	dim3 block = a->columns > 1024 ? dim3(THREADS, 1) : dim3(WARP, THREADS / WARP);

	softmax_cross_entropy<T, V><<<grid_for(a->rows, block.y), block, 0, stream>>>(
		(T *)a->logits, a->labels, a->row_loss, a->rows, a->columns, a->gradient_scale,
		a->loss_scale);
}

template <typename T>
static void launch_softmax(const struct softmax_cross_entropy_arguments *a, cudaStream_t stream)
{
	const int V = 16 / sizeof(T);

	if (packs_aligned(a->logits) && a->columns % V == 0)
		launch_softmax_packs<T, V>(a, stream);
	else
		launch_softmax_packs<T, 1>(a, stream);
}

extern "C" enum status kernel_cuda_softmax_cross_entropy(struct stream *stream,
							 const void *arguments, struct error *err)
{
	const struct softmax_cross_entropy_arguments *a =
		(const struct softmax_cross_entropy_arguments *)arguments;
	cudaStream_t handle = cuda_stream_handle(stream);

	if (a->rows == 0 || a->columns == 0)
		return STATUS_OK;
#define CALL(T) launch_softmax<T>(a, handle)
	FOR_STORAGE(a->precision, CALL)
#undef CALL
	return cuda_check_launch("softmax_cross_entropy", err);
}
