/*
 * Layer normalization: see layers.h. A block processes a row; the second read comes from the cache.
 */
#include "kernels/layers/layers.cuh"

#define THREADS 128
#define STRIP 32
#define GROUPS 8

/* Sum over a block, for all its threads, in a fixed order. */
static __device__ __forceinline__ float layer_norm_block_sum(float x)
{
	__shared__ float warps[THREADS / 32];
	float total = 0;

#pragma unroll
	for (int lane = 16; lane > 0; lane /= 2)
		x += __shfl_xor_sync(~0u, x, lane);
	__syncthreads(); /* the previous sum has been read */
	if (threadIdx.x % 32 == 0)
		warps[threadIdx.x / 32] = x;
	__syncthreads();
#pragma unroll
	for (int i = 0; i < THREADS / 32; i++)
		total += warps[i];
	return total;
}

/* A row in packs of V: columns [c, c + V) of this thread. */
#define FOR_ROW(c) for (uint64_t c = (uint64_t)threadIdx.x * V; c < columns; c += THREADS * V)

template <typename T, int V>
static __global__ void __launch_bounds__(THREADS) layer_norm_forward(layer_norm_forward_arguments a)
{
	uint64_t columns = a.columns;

	for (uint64_t row = blockIdx.x; row < a.rows; row += gridDim.x) {
		const T *x = (const T *)a.x + row * columns;
		float v[V], g[V], b[V], sum = 0, mean, rstd;

		FOR_ROW(c)
		{
			storage_load_pack<V>(v, x, c, columns, true);
#pragma unroll
			for (int k = 0; k < V; k++)
				sum += v[k];
		}
		mean = layer_norm_block_sum(sum) / columns;
		sum = 0;
		FOR_ROW(c)
		{
			storage_load_pack<V>(v, x, c, columns, true);
#pragma unroll
			for (int k = 0; k < V; k++)
				sum += (v[k] - mean) * (v[k] - mean);
		}
		rstd = rsqrtf(layer_norm_block_sum(sum) / columns + a.epsilon);
		FOR_ROW(c)
		{
			storage_load_pack<V>(v, x, c, columns, true);
			storage_load_pack<V>(g, (const T *)a.gamma, c, columns, true);
			storage_load_pack<V>(b, (const T *)a.beta, c, columns, true);
#pragma unroll
			for (int k = 0; k < V; k++)
				v[k] = (v[k] - mean) * rstd * g[k] + b[k];
			storage_store_pack<V>((T *)a.y + row * columns, v, c, columns, true);
		}
		if (threadIdx.x == 0) {
			a.mean[row] = mean;
			a.rstd[row] = rstd;
		}
	}
}

template <typename T, int V>
static __global__ void __launch_bounds__(THREADS)
	layer_norm_input_gradient(layer_norm_backward_arguments a)
{
	uint64_t columns = a.columns;

	for (uint64_t row = blockIdx.x; row < a.rows; row += gridDim.x) {
		const T *x = (const T *)a.x + row * columns, *dy = (const T *)a.dy + row * columns;
		float mean = a.mean[row], rstd = a.rstd[row], sum = 0, product = 0;
		float v[V], d[V], g[V];

		FOR_ROW(c)
		{
			storage_load_pack<V>(v, x, c, columns, true);
			storage_load_pack<V>(d, dy, c, columns, true);
			storage_load_pack<V>(g, (const T *)a.gamma, c, columns, true);
#pragma unroll
			for (int k = 0; k < V; k++) {
				sum += d[k] * g[k];
				product += d[k] * g[k] * (v[k] - mean) * rstd;
			}
		}
		sum = layer_norm_block_sum(sum) / columns;
		product = layer_norm_block_sum(product) / columns;
		FOR_ROW(c)
		{
			storage_load_pack<V>(v, x, c, columns, true);
			storage_load_pack<V>(d, dy, c, columns, true);
			storage_load_pack<V>(g, (const T *)a.gamma, c, columns, true);
#pragma unroll
			for (int k = 0; k < V; k++)
				v[k] = rstd * (d[k] * g[k] - sum - (v[k] - mean) * rstd * product);
			storage_store_pack<V>((T *)a.dx + row * columns, v, c, columns, true);
		}
	}
}

/* Sums of dy and of dy n over some of the rows, of 32 columns, GROUPS rows at a time. */
template <typename T>
static __global__ void layer_norm_parts(layer_norm_backward_arguments a, uint64_t rows_per_part)
{
	__shared__ float sums[2][GROUPS][STRIP];
	uint64_t column = (uint64_t)blockIdx.x * STRIP + threadIdx.x;
	uint64_t begin = blockIdx.y * rows_per_part, end = begin + rows_per_part;
	float gamma = 0, beta = 0;

	for (uint64_t row = begin + threadIdx.y; row < end && row < a.rows && column < a.columns;
	     row += GROUPS) {
		float x, dy;

		storage_to_math(&x, ((const T *)a.x)[row * a.columns + column]);
		storage_to_math(&dy, ((const T *)a.dy)[row * a.columns + column]);
		gamma += dy * (x - a.mean[row]) * a.rstd[row];
		beta += dy;
	}
	sums[0][threadIdx.y][threadIdx.x] = gamma;
	sums[1][threadIdx.y][threadIdx.x] = beta;
	__syncthreads();
	if (threadIdx.y > 1 || column >= a.columns)
		return;
	gamma = 0;
	for (int g = 0; g < GROUPS; g++)
		gamma += sums[threadIdx.y][g][threadIdx.x];
	a.scratch[(threadIdx.y * LAYER_NORM_PARTS + blockIdx.y) * a.columns + column] = gamma;
}

template <typename T> static __global__ void layer_norm_join(layer_norm_backward_arguments a)
{
	uint64_t column = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
	T *out = (T *)(blockIdx.y == 0 ? a.dgamma : a.dbeta);
	const float *parts = a.scratch + blockIdx.y * LAYER_NORM_PARTS * a.columns;
	float total = 0, old = 0;

	if (column >= a.columns)
		return;
	for (int p = 0; p < LAYER_NORM_PARTS; p++)
		total += parts[p * a.columns + column];
	if (a.keep != 0)
		storage_to_math(&old, out[column]);
	storage_from_math(&out[column], a.keep != 0 ? a.keep * old + total : total);
}

template <typename T>
static void layer_norm_launch_forward(const layer_norm_forward_arguments &a, cudaStream_t stream)
{
	const int V = 16 / sizeof(T);

	if (storage_packs_aligned(a.x, a.y, a.gamma, a.beta) && a.columns % V == 0)
		layer_norm_forward<T, V><<<storage_grid_for(a.rows, 1), THREADS, 0, stream>>>(a);
	else
		layer_norm_forward<T, 1><<<storage_grid_for(a.rows, 1), THREADS, 0, stream>>>(a);
}

template <typename T>
static void layer_norm_launch_backward(const layer_norm_backward_arguments &a, cudaStream_t stream)
{
	const int V = 16 / sizeof(T);
	uint64_t each = (a.rows + LAYER_NORM_PARTS - 1) / LAYER_NORM_PARTS;

	/* The sums first, because dx may be dy. */
	layer_norm_parts<T><<<dim3(storage_grid_for(a.columns, STRIP), LAYER_NORM_PARTS),
			      dim3(STRIP, GROUPS), 0, stream>>>(a, each);
	layer_norm_join<T>
		<<<dim3(storage_grid_for(a.columns, THREADS), 2), THREADS, 0, stream>>>(a);
	if (storage_packs_aligned(a.x, a.dx, a.gamma, a.dy) && a.columns % V == 0)
		layer_norm_input_gradient<T, V>
			<<<storage_grid_for(a.rows, 1), THREADS, 0, stream>>>(a);
	else
		layer_norm_input_gradient<T, 1>
			<<<storage_grid_for(a.rows, 1), THREADS, 0, stream>>>(a);
}

extern "C" enum status kernel_cuda_layer_norm_forward(struct stream *stream, const void *arguments,
						      struct error *err)
{
	const layer_norm_forward_arguments *a = (const layer_norm_forward_arguments *)arguments;
	cudaStream_t handle = cuda_stream_handle(stream);

	return layer_launch("layer_norm_forward", a, a->rows > 0 && a->columns > 0, err,
			    [=](auto stored) {
				    layer_norm_launch_forward<decltype(stored)>(*a, handle);
			    });
}

extern "C" enum status kernel_cuda_layer_norm_backward(struct stream *stream, const void *arguments,
						       struct error *err)
{
	const layer_norm_backward_arguments *a = (const layer_norm_backward_arguments *)arguments;
	cudaStream_t handle = cuda_stream_handle(stream);

	return layer_launch("layer_norm_backward", a, a->rows > 0 && a->columns > 0, err,
			    [=](auto stored) {
				    layer_norm_launch_backward<decltype(stored)>(*a, handle);
			    });
}
