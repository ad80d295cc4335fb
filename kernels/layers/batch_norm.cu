/*
 * Batch normalization: see layers.h. Sums over rows are made in parts, a block for 32 columns and a
 * part of the rows, and joined in a fixed order; the mean comes first and the variance from the
 * distances to it. The scratch holds two arrays of parts, then the two sums of each column.
 */
#include "kernels/layers/layers.cuh"

#define STRIP 32
#define GROUPS 8
#define THREADS 256

enum batch_sum { SUM_VALUES, SUM_SQUARES, SUM_GRADIENTS };

/* Operands of the sums; `dy` for SUM_GRADIENTS alone. */
struct batch_columns {
	const void *x, *dy;
	const float *mean, *rstd;
	float *scratch;
	uint64_t rows, columns;
};

/* Part blockIdx.y of the sums: x; (x - mean)^2; dy and, in the second array, dy n. */
template <typename T, enum batch_sum SUM>
static __global__ void batch_norm_parts(batch_columns a, uint64_t rows_per_part)
{
	__shared__ float sums[2][GROUPS][STRIP];
	uint64_t column = (uint64_t)blockIdx.x * STRIP + threadIdx.x;
	uint64_t begin = blockIdx.y * rows_per_part, end = begin + rows_per_part;
	bool in = column < a.columns;
	float mean = in && SUM != SUM_VALUES ? a.mean[column] : 0;
	float rstd = in && SUM == SUM_GRADIENTS ? a.rstd[column] : 0;
	float first = 0, second = 0;

	for (uint64_t row = begin + threadIdx.y; row < end && row < a.rows && in; row += GROUPS) {
		float x, dy;

		to_math(&x, ((const T *)a.x)[row * a.columns + column]);
		if (SUM == SUM_VALUES)
			first += x;
		if (SUM == SUM_SQUARES)
			first += (x - mean) * (x - mean);
		if (SUM == SUM_GRADIENTS) {
			to_math(&dy, ((const T *)a.dy)[row * a.columns + column]);
			first += dy;
			second += dy * (x - mean) * rstd;
		}
	}
	sums[0][threadIdx.y][threadIdx.x] = first;
	sums[1][threadIdx.y][threadIdx.x] = second;
	__syncthreads();
	if (threadIdx.y > (SUM == SUM_GRADIENTS) || !in)
		return;
	first = 0;
	for (int g = 0; g < GROUPS; g++)
		first += sums[threadIdx.y][g][threadIdx.x];
	a.scratch[(threadIdx.y * BATCH_NORM_PARTS + blockIdx.y) * a.columns + column] = first;
}

static __device__ __forceinline__ float joined(const float *parts, uint64_t columns,
					       uint64_t column)
{
	float total = 0;

	for (int p = 0; p < BATCH_NORM_PARTS; p++)
		total += parts[p * columns + column];
	return total;
}

static __global__ void batch_norm_moment(batch_norm_forward_arguments a, bool variance)
{
	uint64_t column = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
	float moment;

	if (column >= a.columns)
		return;
	moment = joined(a.scratch, a.columns, column) / a.rows;
	if (variance)
		a.rstd[column] = rsqrtf(moment + a.epsilon);
	else
		a.mean[column] = moment;
}

template <typename T> static __global__ void batch_norm_gradients(batch_norm_backward_arguments a)
{
	uint64_t column = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
	T *out = (T *)(blockIdx.y == 0 ? a.dbeta : a.dgamma);
	float *sums = a.scratch + 2 * BATCH_NORM_PARTS * a.columns, old = 0, total;

	if (column >= a.columns)
		return;
	total = joined(a.scratch + blockIdx.y * BATCH_NORM_PARTS * a.columns, a.columns, column);
	sums[blockIdx.y * a.columns + column] = total;
	if (a.keep != 0)
		to_math(&old, out[column]);
	from_math(&out[column], a.keep != 0 ? a.keep * old + total : total);
}

/* Rows of threads along the columns, as in the kernels for bias and activation. */
#define FOR_ROWS(r)                                                                    \
	for (uint64_t r = (uint64_t)blockIdx.y * blockDim.y + threadIdx.y; r < a.rows; \
	     r += (uint64_t)gridDim.y * blockDim.y)

template <typename T, int V> static __global__ void batch_norm_apply(batch_norm_forward_arguments a)
{
	uint64_t column = ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x) * V;
	float factor[V], offset[V], mean[V], v[V];

	if (column >= a.columns)
		return;
	load_pack<V>(factor, (const T *)a.gamma, column, a.columns, true);
	load_pack<V>(offset, (const T *)a.beta, column, a.columns, true);
#pragma unroll
	for (int k = 0; k < V; k++) {
		factor[k] *= a.rstd[column + k];
		mean[k] = a.mean[column + k];
	}
	FOR_ROWS(r)
	{
		load_pack<V>(v, (const T *)a.x + r * a.columns, column, a.columns, true);
#pragma unroll
		for (int k = 0; k < V; k++)
			v[k] = (v[k] - mean[k]) * factor[k] + offset[k];
		store_pack<V>((T *)a.y + r * a.columns, v, column, a.columns, true);
	}
}

template <typename T, int V>
static __global__ void batch_norm_input_gradient(batch_norm_backward_arguments a)
{
	uint64_t column = ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x) * V;
	const float *sums = a.scratch + 2 * BATCH_NORM_PARTS * a.columns;
	float factor[V], mean[V], rstd[V], beta[V], gamma[V], v[V], dy[V];

	if (column >= a.columns)
		return;
	load_pack<V>(factor, (const T *)a.gamma, column, a.columns, true);
#pragma unroll
	for (int k = 0; k < V; k++) {
		mean[k] = a.mean[column + k];
		rstd[k] = a.rstd[column + k];
		beta[k] = sums[column + k] / a.rows;
		gamma[k] = sums[a.columns + column + k] / a.rows;
	}
	FOR_ROWS(r)
	{
		load_pack<V>(v, (const T *)a.x + r * a.columns, column, a.columns, true);
		load_pack<V>(dy, (const T *)a.dy + r * a.columns, column, a.columns, true);
#pragma unroll
		for (int k = 0; k < V; k++)
			v[k] = factor[k] * rstd[k] *
			       (dy[k] - beta[k] - (v[k] - mean[k]) * rstd[k] * gamma[k]);
		store_pack<V>((T *)a.dx + r * a.columns, v, column, a.columns, true);
	}
}

template <typename T, enum batch_sum SUM>
static void launch_sums(const batch_columns &a, cudaStream_t stream)
{
	batch_norm_parts<T, SUM>
		<<<dim3(grid_for(a.columns, STRIP), BATCH_NORM_PARTS), dim3(STRIP, GROUPS), 0,
		   stream>>>(a, (a.rows + BATCH_NORM_PARTS - 1) / BATCH_NORM_PARTS);
}

struct batch_grid {
	dim3 blocks, threads;

	batch_grid(uint64_t rows, uint64_t columns, unsigned V)
	{
		const unsigned most = 65535; /* rows of blocks in a grid */
		unsigned lanes = lanes_for(columns, V), height = THREADS / lanes;
		uint64_t row_blocks = (rows + height - 1) / height;

		threads = dim3(lanes, height);
		blocks = dim3(grid_for(columns, lanes * V),
			      row_blocks > most ? most : (unsigned)row_blocks);
	}
};

template <typename T>
static void launch_forward(const batch_norm_forward_arguments &a, cudaStream_t stream)
{
	const int V = 16 / sizeof(T);
	batch_columns columns = { a.x, nullptr, a.mean, a.rstd, a.scratch, a.rows, a.columns };
	bool packs = packs_aligned(a.x, a.y, a.gamma, a.beta) && a.columns % V == 0;
	batch_grid grid(a.rows, a.columns, packs ? V : 1);

	launch_sums<T, SUM_VALUES>(columns, stream);
	batch_norm_moment<<<grid_for(a.columns, THREADS), THREADS, 0, stream>>>(a, false);
	launch_sums<T, SUM_SQUARES>(columns, stream);
	batch_norm_moment<<<grid_for(a.columns, THREADS), THREADS, 0, stream>>>(a, true);
	if (packs)
		batch_norm_apply<T, V><<<grid.blocks, grid.threads, 0, stream>>>(a);
	else
		batch_norm_apply<T, 1><<<grid.blocks, grid.threads, 0, stream>>>(a);
}

template <typename T>
static void launch_backward(const batch_norm_backward_arguments &a, cudaStream_t stream)
{
	const int V = 16 / sizeof(T);
	batch_columns columns = { a.x, a.dy, a.mean, a.rstd, a.scratch, a.rows, a.columns };
	bool packs = packs_aligned(a.x, a.dy, a.dx, a.gamma) && a.columns % V == 0;
	batch_grid grid(a.rows, a.columns, packs ? V : 1);

	launch_sums<T, SUM_GRADIENTS>(columns, stream);
	batch_norm_gradients<T><<<dim3(grid_for(a.columns, THREADS), 2), THREADS, 0, stream>>>(a);
	if (packs)
		batch_norm_input_gradient<T, V><<<grid.blocks, grid.threads, 0, stream>>>(a);
	else
		batch_norm_input_gradient<T, 1><<<grid.blocks, grid.threads, 0, stream>>>(a);
}

extern "C" enum status kernel_cuda_batch_norm_forward(struct stream *stream, const void *arguments,
						      struct error *err)
{
	const batch_norm_forward_arguments *a = (const batch_norm_forward_arguments *)arguments;
	cudaStream_t handle = cuda_stream_handle(stream);

	return layer_launch("batch_norm_forward", a, a->rows > 0 && a->columns > 0, err,
			    [=](auto stored) { launch_forward<decltype(stored)>(*a, handle); });
}

extern "C" enum status kernel_cuda_batch_norm_backward(struct stream *stream, const void *arguments,
						       struct error *err)
{
	const batch_norm_backward_arguments *a = (const batch_norm_backward_arguments *)arguments;
	cudaStream_t handle = cuda_stream_handle(stream);

	return layer_launch("batch_norm_backward", a, a->rows > 0 && a->columns > 0, err,
			    [=](auto stored) { launch_backward<decltype(stored)>(*a, handle); });
}
