/* Loss of a training step, which sums rows in a fixed order: see training.h. */
#include "device/cuda/cuda_kernel.h"
#include "kernels/storage.cuh"
#include "kernels/training/training.h"

#define THREADS 256

/*
 * softmax_cross_entropy: blockDim.x threads share a row (a warp for short rows, a block for long
 * ones), each with a fixed set of columns, combined in a fixed tree.
 */
#define WARP 32

static __device__ __forceinline__ float reduce_math_exp(float x)
{
	return expf(x);
}
static __device__ __forceinline__ double reduce_math_exp(double x)
{
	return exp(x);
}
static __device__ __forceinline__ float reduce_math_log(float x)
{
	return logf(x);
}
static __device__ __forceinline__ double reduce_math_log(double x)
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

/* Reduces over the threads of a row; all get the same value. */
template <typename Op, typename M> static __device__ M reduce_row_join(M mine, M *shared)
{
	for (int offset = WARP / 2; offset; offset /= 2)
		mine = Op::join(mine, __shfl_xor_sync(0xFFFFFFFFu, mine, offset));
	if (blockDim.x == WARP)
		return mine;
	__syncthreads(); /* the readers of the previous reduction are done */
	if (threadIdx.x % WARP == 0)
		shared[threadIdx.x / WARP] = mine;
	__syncthreads();
	mine = shared[0];
	for (unsigned w = 1; w < blockDim.x / WARP; w++)
		mine = Op::join(mine, shared[w]);
	return mine;
}

/* Packs of a row that one thread keeps in registers; longer rows are read three times. */
template <int V> struct held {
	static const int PACKS = V < 4 ? 4 * V : 32 / V;
};

/* Stores the loss. After it, all threads have read the label's logit and may overwrite it. */
template <typename T, typename M>
static __device__ __forceinline__ void reduce_store_loss(double *loss, const T *row, int32_t label,
							 M highest, M sum)
{
	M target;

	storage_to_math(&target, row[label]);
	if (threadIdx.x == 0)
		*loss = (double)(reduce_math_log(sum) + (highest - target));
	if (blockDim.x == WARP)
		__syncwarp();
	else
		__syncthreads();
}

/* Columns c .. c + V - 1; v: exponentials relative to the highest logit. */
template <int V, typename T, typename M>
static __device__ __forceinline__ void
reduce_store_gradient(T *row, M *v, uint64_t c, int32_t label, M factor, M gradient_scale)
{
#pragma unroll
	for (int k = 0; k < V; k++)
		v[k] = (v[k] * factor - (c + k == (uint64_t)label ? (M)1 : (M)0)) * gradient_scale;
	storage_store_pack<V>(row, v, c, c + V, true);
}

/* For rows of whole packs, like the following functions. */
template <typename T, int V>
static __device__ void reduce_softmax_long(T *row, int32_t label, double *loss, uint64_t columns,
					   typename math_of<T>::type gradient_scale,
					   typename math_of<T>::type *shared)
{
	typedef typename math_of<T>::type math;
	uint64_t first = (uint64_t)threadIdx.x * V, stride = (uint64_t)blockDim.x * V;
	math highest = -(math)INFINITY, sum = 0;
	math v[V];

	for (uint64_t c = first; c < columns; c += stride) {
		storage_load_pack<V>(v, row, c, columns, true);
#pragma unroll
		for (int k = 0; k < V; k++)
			highest = larger::join(v[k], highest);
	}
	highest = reduce_row_join<larger>(highest, shared);
	for (uint64_t c = first; c < columns; c += stride) {
		storage_load_pack<V>(v, row, c, columns, true);
#pragma unroll
		for (int k = 0; k < V; k++)
			sum += reduce_math_exp(v[k] - highest);
	}
	sum = reduce_row_join<add>(sum, shared);
	reduce_store_loss(loss, row, label, highest, sum);
	for (uint64_t c = first; c < columns; c += stride) {
		storage_load_pack<V>(v, row, c, columns, true);
#pragma unroll
		for (int k = 0; k < V; k++)
			v[k] = reduce_math_exp(v[k] - highest);
		reduce_store_gradient<V>(row, v, c, label, (math)1 / sum, gradient_scale);
	}
}

/* As reduce_softmax_long() in the same order, but reads the row once. */
template <typename T, int V>
static __device__ void reduce_softmax_held(T *row, int32_t label, double *loss, uint64_t columns,
					   typename math_of<T>::type gradient_scale,
					   typename math_of<T>::type *shared)
{
	typedef typename math_of<T>::type math;
	const int PACKS = held<V>::PACKS;
	uint64_t first = (uint64_t)threadIdx.x * V, stride = (uint64_t)blockDim.x * V;
	math highest = -(math)INFINITY, sum = 0;
	math v[PACKS][V];
	pack<T, V> x[PACKS];

#pragma unroll
	for (int i = 0; i < PACKS; i++)
		if (first + i * stride < columns)
			x[i] = storage_fetch_pack<V>(row, first + i * stride);
#pragma unroll
	for (int i = 0; i < PACKS; i++) {
		if (first + i * stride >= columns)
			continue;
		storage_unpack<V>(v[i], x[i]);
#pragma unroll
		for (int k = 0; k < V; k++)
			highest = larger::join(v[i][k], highest);
	}
	highest = reduce_row_join<larger>(highest, shared);
#pragma unroll
	for (int i = 0; i < PACKS; i++) {
		if (first + i * stride >= columns)
			continue;
#pragma unroll
		for (int k = 0; k < V; k++) {
			v[i][k] = reduce_math_exp(v[i][k] - highest);
			sum += v[i][k];
		}
	}
	sum = reduce_row_join<add>(sum, shared);
	reduce_store_loss(loss, row, label, highest, sum);
#pragma unroll
	for (int i = 0; i < PACKS; i++)
		if (first + i * stride < columns)
			reduce_store_gradient<V>(row, v[i], first + i * stride, label,
						 (math)1 / sum, gradient_scale);
}

template <typename T, int V, bool HELD>
static __device__ __forceinline__ void
reduce_softmax_rows(T *logits, const int32_t *labels, double *row_loss, uint64_t rows,
		    uint64_t columns, double gradient_scale, const struct loss_scale *loss_scale)
{
	typedef typename math_of<T>::type math;
	__shared__ math shared[THREADS / WARP];

	if (loss_scale)
		gradient_scale *= (double)loss_scale->scale;

	for (uint64_t r = (uint64_t)blockIdx.x * blockDim.y + threadIdx.y; r < rows;
	     r += (uint64_t)gridDim.x * blockDim.y) {
		if (HELD)
			reduce_softmax_held<T, V>(logits + r * columns, labels[r], &row_loss[r],
						  columns, (math)gradient_scale, shared);
		else
			reduce_softmax_long<T, V>(logits + r * columns, labels[r], &row_loss[r],
						  columns, (math)gradient_scale, shared);
	}
}

/* Two kernels, so that the registers of one do not reduce the other's occupancy. */
template <typename T, int V>
static __global__ void __launch_bounds__(THREADS, sizeof(T) == 8 ? 2 : 3)
	reduce_softmax_cross_entropy_held(T *logits, const int32_t *labels, double *row_loss,
					  uint64_t rows, uint64_t columns, double gradient_scale,
					  const struct loss_scale *loss_scale)
{
	reduce_softmax_rows<T, V, true>(logits, labels, row_loss, rows, columns, gradient_scale,
					loss_scale);
}

template <typename T, int V>
static __global__ void __launch_bounds__(THREADS)
	reduce_softmax_cross_entropy_long(T *logits, const int32_t *labels, double *row_loss,
					  uint64_t rows, uint64_t columns, double gradient_scale,
					  const struct loss_scale *loss_scale)
{
	reduce_softmax_rows<T, V, false>(logits, labels, row_loss, rows, columns, gradient_scale,
					 loss_scale);
}

template <typename T, int V>
static void reduce_launch_softmax_packs(const struct softmax_cross_entropy_arguments *a,
					cudaStream_t stream)
{
	dim3 block = a->columns > 1024 ? dim3(THREADS, 1) : dim3(WARP, THREADS / WARP);
	bool fits = a->columns <= (uint64_t)block.x * V * held<V>::PACKS;

	(fits ? reduce_softmax_cross_entropy_held<T, V>
	      : reduce_softmax_cross_entropy_long<
			T, V>)<<<storage_grid_for(a->rows, block.y), block, 0, stream>>>(
		(T *)a->logits, a->labels, a->row_loss, a->rows, a->columns, a->gradient_scale,
		a->loss_scale);
}

template <typename T>
static void reduce_launch_softmax(const struct softmax_cross_entropy_arguments *a,
				  cudaStream_t stream)
{
	const int V = 16 / sizeof(T);

	if (storage_packs_aligned(a->logits) && a->columns % V == 0)
		reduce_launch_softmax_packs<T, V>(a, stream);
	else
		reduce_launch_softmax_packs<T, 1>(a, stream);
}

/* One pass: a thread sums exponentials relative to the highest logit that it has read so far. */
template <typename T, int V>
static __global__ void __launch_bounds__(THREADS)
	reduce_softmax_part_statistics(struct softmax_statistics_arguments a)
{
	typedef typename math_of<T>::type math;
	__shared__ math shared[THREADS / WARP];
	uint64_t first = (uint64_t)threadIdx.x * V, stride = (uint64_t)blockDim.x * V;

	for (uint64_t r = (uint64_t)blockIdx.x * blockDim.y + threadIdx.y; r < a.part.rows;
	     r += (uint64_t)gridDim.x * blockDim.y) {
		const T *row = (const T *)a.part.logits + r * a.part.columns;
		uint64_t label = (uint64_t)a.part.labels[r] - a.part.first;
		math highest = -(math)INFINITY, sum = 0, all;
		math v[V];

		for (uint64_t c = first; c < a.part.columns; c += stride) {
			math most = highest;

			storage_load_pack<V>(v, row, c, a.part.columns, true);
#pragma unroll
			for (int k = 0; k < V; k++)
				most = larger::join(v[k], most);
			sum *= reduce_math_exp(highest - most);
			highest = most;
#pragma unroll
			for (int k = 0; k < V; k++)
				sum += reduce_math_exp(v[k] - highest);
		}
		all = reduce_row_join<larger>(highest, shared);
		sum = reduce_row_join<add>(first < a.part.columns
						   ? sum * reduce_math_exp(highest - all)
						   : (math)0,
					   shared);
		if (threadIdx.x == 0) {
			math target = 0;

			if (label < a.part.columns)
				storage_to_math(&target, row[label]);
			a.statistics[r] = { (double)all, (double)sum, (double)target };
		}
	}
}

template <typename T, int V>
static __global__ void __launch_bounds__(THREADS)
	reduce_softmax_part_gradient(struct softmax_gradient_arguments a)
{
	typedef typename math_of<T>::type math;
	uint64_t first = (uint64_t)threadIdx.x * V, stride = (uint64_t)blockDim.x * V;
	double scale = a.gradient_scale * (a.loss_scale ? (double)a.loss_scale->scale : 1);

	for (uint64_t r = (uint64_t)blockIdx.x * blockDim.y + threadIdx.y; r < a.part.rows;
	     r += (uint64_t)gridDim.x * blockDim.y) {
		T *row = (T *)a.part.logits + r * a.part.columns;
		uint64_t label = (uint64_t)a.part.labels[r] - a.part.first;
		double highest = a.statistics[r].highest, sum = 0, target = 0;
		math v[V];

		for (unsigned p = 1; p < a.parts; p++)
			highest = larger::join(a.statistics[p * a.part.rows + r].highest, highest);
		for (unsigned p = 0; p < a.parts; p++) {
			const struct softmax_statistics *s = &a.statistics[p * a.part.rows + r];

			sum += s->sum * exp(s->highest - highest);
			target += s->target;
		}
		if (threadIdx.x == 0)
			a.row_loss[r] = log(sum) + (highest - target);
		for (uint64_t c = first; c < a.part.columns; c += stride) {
			storage_load_pack<V>(v, row, c, a.part.columns, true);
#pragma unroll
			for (int k = 0; k < V; k++)
				v[k] = (reduce_math_exp(v[k] - (math)highest) * (math)(1 / sum) -
					(c + k == label ? (math)1 : (math)0)) *
				       (math)scale;
			storage_store_pack<V>(row, v, c, c + V, true);
		}
	}
}

template <typename T, int V>
static void reduce_launch_part(const struct softmax_statistics_arguments *a, dim3 grid, dim3 block,
			       cudaStream_t stream)
{
	reduce_softmax_part_statistics<T, V><<<grid, block, 0, stream>>>(*a);
}

template <typename T, int V>
static void reduce_launch_part(const struct softmax_gradient_arguments *a, dim3 grid, dim3 block,
			       cudaStream_t stream)
{
	reduce_softmax_part_gradient<T, V><<<grid, block, 0, stream>>>(*a);
}

template <typename T, typename A> static void reduce_launch_part_of(const A *a, cudaStream_t stream)
{
	const int V = 16 / sizeof(T);
	dim3 block = a->part.columns > 1024 ? dim3(THREADS, 1) : dim3(WARP, THREADS / WARP);
	dim3 grid(storage_grid_for(a->part.rows, block.y));

	if (storage_packs_aligned(a->part.logits) && a->part.columns % V == 0)
		reduce_launch_part<T, V>(a, grid, block, stream);
	else
		reduce_launch_part<T, 1>(a, grid, block, stream);
}

template <typename A>
static enum status reduce_run_part(struct stream *stream, const A *a, const char *name,
				   struct error *err)
{
	cudaStream_t handle = cuda_stream_handle(stream);

	if (a->part.rows == 0 || a->part.columns == 0)
		return STATUS_OK;
#define CALL(T) reduce_launch_part_of<T>(a, handle)
	FOR_STORAGE(a->part.precision, CALL)
#undef CALL
	return cuda_device_check_launch(name, err);
}

extern "C" enum status kernel_cuda_softmax_statistics(struct stream *stream, const void *arguments,
						      struct error *err)
{
	return reduce_run_part(stream, (const struct softmax_statistics_arguments *)arguments,
			       "softmax_statistics", err);
}

extern "C" enum status kernel_cuda_softmax_gradient(struct stream *stream, const void *arguments,
						    struct error *err)
{
	return reduce_run_part(stream, (const struct softmax_gradient_arguments *)arguments,
			       "softmax_gradient", err);
}

extern "C" enum status kernel_cuda_softmax_cross_entropy(struct stream *stream,
							 const void *arguments, struct error *err)
{
	const struct softmax_cross_entropy_arguments *a =
		(const struct softmax_cross_entropy_arguments *)arguments;
	cudaStream_t handle = cuda_stream_handle(stream);

	if (a->rows == 0 || a->columns == 0)
		return STATUS_OK;
#define CALL(T) reduce_launch_softmax<T>(a, handle)
	FOR_STORAGE(a->precision, CALL)
#undef CALL
	return cuda_device_check_launch("softmax_cross_entropy", err);
}
