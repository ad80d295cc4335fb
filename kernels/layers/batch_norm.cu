/*
 * Batch normalization: see layers.h. A block sums some columns over a part of the rows, and the
 * parts are combined in a fixed order. Mean and variance need only one pass over x: a thread sums
 * distances to its first value and their squares, which avoids cancellation; the results of threads
 * and parts are combined by their means (Chan, Golub and LeVeque 1979). The scratch holds two
 * arrays of parts, then the two sums of each column.
 */
#include "kernels/layers/layers.cuh"

#define PARTS_THREADS 512
#define STRIP 32
#define GROUPS 32
#define THREADS 256

/*
 * Operands of the sums. `dy` is set only for gradients; gamma and beta, if a ReLU follows the norm;
 * y, other and sum, if a ReLU follows a residual sum.
 */
struct batch_columns {
	const void *x, *dy, *gamma, *beta, *y, *other;
	void *sum;
	const float *mean, *rstd;
	float *scratch;
	uint64_t rows, columns, rows_per_part;
};

/* Number of rows in part `part`. */
static __device__ __forceinline__ float batch_norm_part_rows(const batch_columns &a, unsigned part)
{
	uint64_t begin = part * a.rows_per_part;

	if (begin >= a.rows)
		return 0;
	return (float)(a.rows - begin < a.rows_per_part ? a.rows - begin : a.rows_per_part);
}

/* Number of rows in [begin, end) for the threads with threadIdx.y = y. */
static __device__ __forceinline__ float batch_norm_thread_rows(uint64_t begin, uint64_t end,
							       unsigned y)
{
	return begin + y < end ? (float)((end - begin - y - 1) / blockDim.y + 1) : 0;
}

/* Count, mean, and sum of squared distances to the mean of some rows of a column. */
struct moments {
	float count, mean, squares;

	__device__ __forceinline__ void add(const moments &other)
	{
		float total = count + other.count, distance = other.mean - mean;

		if (other.count == 0)
			return;
		mean += distance * (other.count / total);
		squares += other.squares + distance * distance * (count * (other.count / total));
		count = total;
	}
};

/* gamma * rstd and beta of some columns: the norm is (x - mean) * factor + offset. */
template <typename T, int V>
static __device__ __forceinline__ void
batch_norm_load_affine(float (&factor)[V], float (&offset)[V], const void *gamma, const void *beta,
		       const float *rstd, uint64_t column, uint64_t columns)
{
	storage_load_pack<V>(factor, (const T *)gamma, column, columns, true);
	storage_load_pack<V>(offset, (const T *)beta, column, columns, true);
#pragma unroll
	for (int k = 0; k < V; k++)
		factor[k] *= rstd[column + k];
}

/* dy + other where y is positive, as stored at `sum`, of V columns from element `at` on. */
template <typename T, int V>
static __device__ __forceinline__ void
batch_norm_sum_gradients(float (&dy)[V], const pack<T, V> &y_pack, const pack<T, V> &other_pack,
			 const batch_columns &a, uint64_t at)
{
	float y[V], other[V];
	T stored[V];

	storage_unpack(y, y_pack);
	storage_unpack(other, other_pack);
#pragma unroll
	for (int k = 0; k < V; k++) {
		dy[k] = y[k] > 0 ? dy[k] + (a.other ? other[k] : 0) : 0;
		storage_from_math(&stored[k], dy[k]);
		storage_to_math(&dy[k], stored[k]);
	}
	storage_store_pack<V>((T *)a.sum, dy, at, UINT64_MAX, true);
}

/*
 * Part blockIdx.y of the two sums of a block's columns: mean and squared distances of x; with
 * GRADIENTS those of dy and dy n, with RESIDUAL of the sum of gradients, which it stores. Threads
 * are lanes of V columns x rows.
 */
template <typename T, bool GRADIENTS, bool RESIDUAL, int V>
static __global__ void __launch_bounds__(PARTS_THREADS) batch_norm_parts(batch_columns a)
{
	const int ROWS = RESIDUAL ? 2 : 4; /* that are loaded at a time */
	__shared__ float sums[2][PARTS_THREADS * V];
	unsigned width = blockDim.x * V;
	uint64_t column = ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x) * V;
	uint64_t begin = blockIdx.y * a.rows_per_part, end = begin + a.rows_per_part;
	float first[V] = {}, second[V] = {}, mean[V] = {}, rstd[V] = {}, factor[V], offset[V];
	bool in = column < a.columns, relu = GRADIENTS && !RESIDUAL && a.beta && in;

	if (relu)
		batch_norm_load_affine<T, V>(factor, offset, a.gamma, a.beta, a.rstd, column,
					     a.columns);
	end = end < a.rows ? end : a.rows;
#pragma unroll
	for (int k = 0; k < V; k++)
		if (GRADIENTS && in) {
			mean[k] = a.mean[column + k];
			rstd[k] = a.rstd[column + k];
		}
	if (!GRADIENTS && in && begin + threadIdx.y < end)
		storage_load_pack<V>(mean, (const T *)a.x + (begin + threadIdx.y) * a.columns,
				     column, a.columns, true);
	for (uint64_t row = begin + threadIdx.y; row < end && in; row += ROWS * blockDim.y) {
		pack<T, V> x_pack[ROWS], dy_pack[ROWS], y_pack[ROWS], other_pack[ROWS];

#pragma unroll
		for (int i = 0; i < ROWS; i++) {
			uint64_t own = row + i * blockDim.y,
				 at = (own < end ? own : row) * a.columns + column;

			x_pack[i] = storage_fetch_pack<V>((const T *)a.x, at);
			if (GRADIENTS)
				dy_pack[i] = storage_fetch_pack<V>((const T *)a.dy, at);
			if (RESIDUAL)
				y_pack[i] = storage_fetch_pack<V>((const T *)a.y, at);
			if (RESIDUAL && a.other)
				other_pack[i] = storage_fetch_pack<V>((const T *)a.other, at);
		}
#pragma unroll
		for (int i = 0; i < ROWS; i++) {
			float x[V], dy[V];

			if (row + i * blockDim.y >= end)
				continue;
			storage_unpack(x, x_pack[i]);
			if (GRADIENTS)
				storage_unpack(dy, dy_pack[i]);
			if (RESIDUAL)
				batch_norm_sum_gradients<T, V>(dy, y_pack[i], other_pack[i], a,
							       (row + i * blockDim.y) * a.columns +
								       column);
#pragma unroll
			for (int k = 0; k < V; k++) {
				float distance = x[k] - mean[k];

				if (relu && !(distance * factor[k] + offset[k] > 0))
					dy[k] = 0;
				first[k] += GRADIENTS ? dy[k] : distance;
				second[k] += GRADIENTS ? dy[k] * distance * rstd[k]
						       : distance * distance;
			}
		}
	}
#pragma unroll
	for (int k = 0; k < V; k++) {
		float count = fmaxf(batch_norm_thread_rows(begin, end, threadIdx.y), 1);
		unsigned at = threadIdx.y * width + threadIdx.x * V + k;

		sums[0][at] = GRADIENTS ? first[k] : mean[k] + first[k] / count;
		sums[1][at] = GRADIENTS ? second[k] : second[k] - first[k] * (first[k] / count);
	}
	__syncthreads();
	for (unsigned c = threadIdx.y * blockDim.x + threadIdx.x; c < width; c += PARTS_THREADS) {
		uint64_t at = (uint64_t)blockIdx.x * width + c;
		moments all = {};

		if (at >= a.columns)
			continue;
		for (unsigned y = 0; y < blockDim.y; y++) {
			float one = sums[0][y * width + c], two = sums[1][y * width + c];

			if (GRADIENTS) {
				all.mean += one;
				all.squares += two;
			} else {
				all.add({ batch_norm_thread_rows(begin, end, y), one, two });
			}
		}
		a.scratch[blockIdx.y * a.columns + at] = all.mean;
		a.scratch[(BATCH_NORM_PARTS + blockIdx.y) * a.columns + at] = all.squares;
	}
}

/*
 * Combines the parts of a column: each of GROUPS threads every GROUPS-th part, then the first
 * thread their results; threads are STRIP columns x GROUPS. True for the thread with the result.
 */
template <bool GRADIENTS>
static __device__ __forceinline__ bool batch_norm_join_parts(const batch_columns &a,
							     uint64_t column, moments *all)
{
	__shared__ moments groups[GROUPS][STRIP];
	const float *parts = a.scratch + column;

	*all = {};
	for (unsigned p = threadIdx.y; p < BATCH_NORM_PARTS && column < a.columns; p += GROUPS) {
		moments part = { batch_norm_part_rows(a, p), parts[p * a.columns],
				 parts[(BATCH_NORM_PARTS + p) * a.columns] };

		if (GRADIENTS) {
			all->mean += part.mean;
			all->squares += part.squares;
		} else {
			all->add(part);
		}
	}
	groups[threadIdx.y][threadIdx.x] = *all;
	__syncthreads();
	if (threadIdx.y > 0 || column >= a.columns)
		return false;
	for (int g = 1; g < GROUPS; g++) {
		moments other = groups[g][threadIdx.x];

		if (GRADIENTS) {
			all->mean += other.mean;
			all->squares += other.squares;
		} else {
			all->add(other);
		}
	}
	return true;
}

static __global__ void batch_norm_moments(batch_norm_forward_arguments a, batch_columns columns)
{
	uint64_t column = (uint64_t)blockIdx.x * STRIP + threadIdx.x;
	moments all;

	if (!batch_norm_join_parts<false>(columns, column, &all))
		return;
	a.mean[column] = all.mean;
	a.rstd[column] = rsqrtf(all.squares / a.rows + a.epsilon);
}

template <typename T>
static __global__ void batch_norm_gradients(batch_norm_backward_arguments a, batch_columns columns)
{
	uint64_t column = (uint64_t)blockIdx.x * STRIP + threadIdx.x;
	float *sums = a.scratch + 2 * BATCH_NORM_PARTS * a.columns;
	moments all;

	if (!batch_norm_join_parts<true>(columns, column, &all))
		return;
	for (int i = 0; i < 2; i++) {
		float total = i == 0 ? all.mean : all.squares, old = 0;
		T *out = (T *)(i == 0 ? a.dbeta : a.dgamma) + column;

		sums[i * a.columns + column] = total;
		if (a.keep != 0)
			storage_to_math(&old, *out);
		storage_from_math(out, a.keep != 0 ? a.keep * old + total : total);
	}
}

/*
 * Two rows at a time for a thread, whose columns stay; the second is the first again at the end.
 * Few blocks with many rows each: loading what belongs to the columns costs as much as some rows.
 */
#define FOR_PAIRS_OF_ROWS(r, next)                                         \
	for (uint64_t r = (uint64_t)blockIdx.y * blockDim.y + threadIdx.y, \
		      step = (uint64_t)gridDim.y * blockDim.y, next;       \
	     next = r + step < a.rows ? r + step : r, r < a.rows; r += 2 * step)

template <typename T, int V>
static __global__ void __launch_bounds__(THREADS) batch_norm_apply(batch_norm_forward_arguments a)
{
	uint64_t column = ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x) * V;
	float factor[V], offset[V], mean[V];

	if (column >= a.columns)
		return;
	batch_norm_load_affine<T, V>(factor, offset, a.gamma, a.beta, a.rstd, column, a.columns);
#pragma unroll
	for (int k = 0; k < V; k++)
		mean[k] = a.mean[column + k];
	FOR_PAIRS_OF_ROWS(r, next)
	{
		uint64_t at[2] = { r * a.columns + column, next * a.columns + column };
		pack<T, V> x[2], residual[2];

#pragma unroll
		for (int i = 0; i < 2; i++) {
			x[i] = storage_fetch_pack<V>((const T *)a.x, at[i]);
			if (a.residual)
				residual[i] = storage_fetch_pack<V>((const T *)a.residual, at[i]);
		}
#pragma unroll
		for (int i = 0; i < 2; i++) {
			float v[V], other[V];

			storage_unpack(v, x[i]);
			storage_unpack(other, residual[i]);
#pragma unroll
			for (int k = 0; k < V; k++) {
				v[k] = (v[k] - mean[k]) * factor[k] + offset[k];
				v[k] += a.residual ? other[k] : 0;
				v[k] = a.relu && v[k] <= 0 ? 0 : v[k];
			}
			storage_store_pack<V>((T *)a.y, v, at[i], UINT64_MAX, true);
		}
	}
}

template <typename T, int V>
static __global__ void __launch_bounds__(THREADS, 3)
	batch_norm_input_gradient(batch_norm_backward_arguments a)
{
	uint64_t column = ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x) * V;
	const float *sums = a.scratch + 2 * BATCH_NORM_PARTS * a.columns;
	float factor[V], offset[V], mean[V], of_dy[V], of_distance[V];

	if (column >= a.columns)
		return;
	batch_norm_load_affine<T, V>(factor, offset, a.gamma, a.beta ? a.beta : a.gamma, a.rstd,
				     column, a.columns);
#pragma unroll
	for (int k = 0; k < V; k++) {
		mean[k] = a.mean[column + k];
		of_dy[k] = sums[column + k] / a.rows;
		of_distance[k] = a.rstd[column + k] * (sums[a.columns + column + k] / a.rows);
	}
	FOR_PAIRS_OF_ROWS(r, next)
	{
		uint64_t at[2] = { r * a.columns + column, next * a.columns + column };
		pack<T, V> x[2], gradient[2];

#pragma unroll
		for (int i = 0; i < 2; i++) {
			x[i] = storage_fetch_pack<V>((const T *)a.x, at[i]);
			gradient[i] = storage_fetch_pack<V>((const T *)a.dy, at[i]);
		}
#pragma unroll
		for (int i = 0; i < 2; i++) {
			float v[V], dy[V];

			storage_unpack(v, x[i]);
			storage_unpack(dy, gradient[i]);
#pragma unroll
			for (int k = 0; k < V; k++) {
				float distance = v[k] - mean[k];

				if (a.beta && !(distance * factor[k] + offset[k] > 0))
					dy[k] = 0;
				v[k] = factor[k] * (dy[k] - of_dy[k] - distance * of_distance[k]);
			}
			storage_store_pack<V>((T *)a.dx, v, at[i], UINT64_MAX, true);
		}
	}
}

static uint64_t batch_norm_rows_per_part(uint64_t rows)
{
	return (rows + BATCH_NORM_PARTS - 1) / BATCH_NORM_PARTS;
}

/* Four rounds of the blocks that multiprocessors run at a time. */
#define BLOCKS_EACH 12

struct batch_grid {
	dim3 blocks, threads;

	batch_grid(const struct stream *stream, uint64_t rows, uint64_t columns, unsigned V)
	{
		unsigned lanes = storage_lanes_for(columns, V), height = THREADS / lanes;
		unsigned across = storage_grid_for(columns, lanes * V);
		uint64_t down = (rows + height - 1) / height,
			 most = BLOCKS_EACH * (uint64_t)cuda_stream_multiprocessors(stream) /
				across;

		threads = dim3(lanes, height);
		most = most < 1 ? 1 : most > 65535 ? 65535 : most;
		blocks = dim3(across, (unsigned)(down < most ? down : most));
	}
};

/* Sums of parts: of x, or of dy and dy n. */
template <typename T, bool GRADIENTS, bool RESIDUAL>
static void batch_norm_launch_parts(const batch_columns &a, cudaStream_t stream)
{
	const int V = 16 / sizeof(T);
	bool packs = storage_packs_aligned(a.x, a.dy, a.gamma, a.beta) &&
		     storage_packs_aligned(a.y, a.other, a.sum) && a.columns % V == 0;
	unsigned lanes = storage_lanes_for(a.columns, packs ? V : 1);
	dim3 blocks(storage_grid_for(a.columns, lanes * (packs ? V : 1)), BATCH_NORM_PARTS),
		threads(lanes, PARTS_THREADS / lanes);

	if (packs)
		batch_norm_parts<T, GRADIENTS, RESIDUAL, V><<<blocks, threads, 0, stream>>>(a);
	else
		batch_norm_parts<T, GRADIENTS, RESIDUAL, 1><<<blocks, threads, 0, stream>>>(a);
}

template <typename T>
static void batch_norm_launch_forward(const batch_norm_forward_arguments &a, struct stream *stream)
{
	cudaStream_t handle = cuda_stream_handle(stream);
	const int V = 16 / sizeof(T);
	batch_columns columns = {};
	bool packs =
		storage_packs_aligned(a.x, a.y, a.gamma, a.beta, a.residual) && a.columns % V == 0;
	batch_grid grid(stream, a.rows, a.columns, packs ? V : 1);

	columns.x = a.x;
	columns.scratch = a.scratch;
	columns.rows = a.rows;
	columns.columns = a.columns;
	columns.rows_per_part = batch_norm_rows_per_part(a.rows);
	batch_norm_launch_parts<T, false, false>(columns, handle);
	batch_norm_moments<<<storage_grid_for(a.columns, STRIP), dim3(STRIP, GROUPS), 0, handle>>>(
		a, columns);
	if (packs)
		batch_norm_apply<T, V><<<grid.blocks, grid.threads, 0, handle>>>(a);
	else
		batch_norm_apply<T, 1><<<grid.blocks, grid.threads, 0, handle>>>(a);
}

template <typename T>
static void batch_norm_launch_backward(batch_norm_backward_arguments a, struct stream *stream)
{
	cudaStream_t handle = cuda_stream_handle(stream);
	const int V = 16 / sizeof(T);
	batch_columns columns = { a.x,
				  a.dy,
				  a.gamma,
				  a.beta,
				  a.y,
				  a.other,
				  a.sum,
				  a.mean,
				  a.rstd,
				  a.scratch,
				  a.rows,
				  a.columns,
				  batch_norm_rows_per_part(a.rows) };
	bool packs = storage_packs_aligned(a.x, a.y ? a.sum : a.dy, a.dx, a.gamma, a.beta) &&
		     a.columns % V == 0;
	batch_grid grid(stream, a.rows, a.columns, packs ? V : 1);

	if (a.y)
		batch_norm_launch_parts<T, true, true>(columns, handle);
	else
		batch_norm_launch_parts<T, true, false>(columns, handle);
	batch_norm_gradients<T>
		<<<storage_grid_for(a.columns, STRIP), dim3(STRIP, GROUPS), 0, handle>>>(a,
											 columns);
	if (a.y)
		a.dy = a.sum;
	if (packs)
		batch_norm_input_gradient<T, V><<<grid.blocks, grid.threads, 0, handle>>>(a);
	else
		batch_norm_input_gradient<T, 1><<<grid.blocks, grid.threads, 0, handle>>>(a);
}

extern "C" enum status kernel_cuda_batch_norm_forward(struct stream *stream, const void *arguments,
						      struct error *err)
{
	const batch_norm_forward_arguments *a = (const batch_norm_forward_arguments *)arguments;

	return layer_launch("batch_norm_forward", a, a->rows > 0 && a->columns > 0, err,
			    [=](auto stored) {
				    batch_norm_launch_forward<decltype(stored)>(*a, stream);
			    });
}

extern "C" enum status kernel_cuda_batch_norm_backward(struct stream *stream, const void *arguments,
						       struct error *err)
{
	const batch_norm_backward_arguments *a = (const batch_norm_backward_arguments *)arguments;

	return layer_launch("batch_norm_backward", a, a->rows > 0 && a->columns > 0, err,
			    [=](auto stored) {
				    batch_norm_launch_backward<decltype(stored)>(*a, stream);
			    });
}
