/* The loss of a training step, which adds up rows in one fixed order: see training.h. */
#include "kernels/launch/cuda_kernel.h"
#include "kernels/storage.cuh"
#include "kernels/training/training.h"

#define THREADS 256

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

/* Packs of a row that one thread keeps in registers; longer rows are read three times. */
template <int V> struct held {
	static const int PACKS = V < 4 ? 4 * V : 32 / V;
};

/* The loss; everyone has read the label's logit when it returns, and may overwrite it. */
template <typename T, typename M>
static __device__ __forceinline__ void store_loss(double *loss, const T *row, int32_t label,
						  M highest, M sum)
{
	M target;

	to_math(&target, row[label]);
	if (threadIdx.x == 0)
		*loss = (double)(math_log(sum) + (highest - target));
	if (blockDim.x == WARP)
		__syncwarp();
	else
		__syncthreads();
}

/* Columns c .. c + V - 1; v: the exponentials less the highest logit. */
template <int V, typename T, typename M>
static __device__ __forceinline__ void store_gradient(T *row, M *v, uint64_t c, int32_t label,
						      M factor, M gradient_scale)
{
#pragma unroll
	for (int k = 0; k < V; k++)
		v[k] = (v[k] * factor - (c + k == (uint64_t)label ? (M)1 : (M)0)) * gradient_scale;
	store_pack<V>(row, v, c, c + V, true);
}

/* For rows of whole packs, as the following ones. */
template <typename T, int V>
static __device__ void softmax_long(T *row, int32_t label, double *loss, uint64_t columns,
				    typename math_of<T>::type gradient_scale,
				    typename math_of<T>::type *shared)
{
	typedef typename math_of<T>::type math;
	uint64_t first = (uint64_t)threadIdx.x * V, stride = (uint64_t)blockDim.x * V;
	math highest = -(math)INFINITY, sum = 0;
	math v[V];

	for (uint64_t c = first; c < columns; c += stride) {
		load_pack<V>(v, row, c, columns, true);
#pragma unroll
		for (int k = 0; k < V; k++)
			highest = larger::join(v[k], highest);
	}
	highest = row_join<larger>(highest, shared);
	for (uint64_t c = first; c < columns; c += stride) {
		load_pack<V>(v, row, c, columns, true);
#pragma unroll
		for (int k = 0; k < V; k++)
			sum += math_exp(v[k] - highest);
	}
	sum = row_join<add>(sum, shared);
	store_loss(loss, row, label, highest, sum);
	for (uint64_t c = first; c < columns; c += stride) {
		load_pack<V>(v, row, c, columns, true);
#pragma unroll
		for (int k = 0; k < V; k++)
			v[k] = math_exp(v[k] - highest);
		store_gradient<V>(row, v, c, label, (math)1 / sum, gradient_scale);
	}
}

/* The same in the same order, but read once. */
template <typename T, int V>
static __device__ void softmax_held(T *row, int32_t label, double *loss, uint64_t columns,
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
			x[i] = fetch_pack<V>(row, first + i * stride);
#pragma unroll
	for (int i = 0; i < PACKS; i++) {
		if (first + i * stride >= columns)
			continue;
		unpack<V>(v[i], x[i]);
#pragma unroll
		for (int k = 0; k < V; k++)
			highest = larger::join(v[i][k], highest);
	}
	highest = row_join<larger>(highest, shared);
#pragma unroll
	for (int i = 0; i < PACKS; i++) {
		if (first + i * stride >= columns)
			continue;
#pragma unroll
		for (int k = 0; k < V; k++) {
			v[i][k] = math_exp(v[i][k] - highest);
			sum += v[i][k];
		}
	}
	sum = row_join<add>(sum, shared);
	store_loss(loss, row, label, highest, sum);
#pragma unroll
	for (int i = 0; i < PACKS; i++)
		if (first + i * stride < columns)
			store_gradient<V>(row, v[i], first + i * stride, label, (math)1 / sum,
					  gradient_scale);
}

template <typename T, int V, bool HELD>
static __device__ __forceinline__ void
softmax_rows(T *logits, const int32_t *labels, double *row_loss, uint64_t rows, uint64_t columns,
	     double gradient_scale, const struct loss_scale *loss_scale)
{
	typedef typename math_of<T>::type math;
	__shared__ math shared[THREADS / WARP];

	if (loss_scale)
		gradient_scale *= (double)loss_scale->scale;

	for (uint64_t r = (uint64_t)blockIdx.x * blockDim.y + threadIdx.y; r < rows;
	     r += (uint64_t)gridDim.x * blockDim.y) {
		if (HELD)
			softmax_held<T, V>(logits + r * columns, labels[r], &row_loss[r], columns,
					   (math)gradient_scale, shared);
		else
			softmax_long<T, V>(logits + r * columns, labels[r], &row_loss[r], columns,
					   (math)gradient_scale, shared);
	}
}

/* Two kernels, so that the registers of the one do not cost the other its threads. */
template <typename T, int V>
static __global__ void __launch_bounds__(THREADS, sizeof(T) == 8 ? 2 : 3)
	softmax_cross_entropy_held(T *logits, const int32_t *labels, double *row_loss,
				   uint64_t rows, uint64_t columns, double gradient_scale,
				   const struct loss_scale *loss_scale)
{
	softmax_rows<T, V, true>(logits, labels, row_loss, rows, columns, gradient_scale,
				 loss_scale);
}

template <typename T, int V>
static __global__ void __launch_bounds__(THREADS)
	softmax_cross_entropy_long(T *logits, const int32_t *labels, double *row_loss,
				   uint64_t rows, uint64_t columns, double gradient_scale,
				   const struct loss_scale *loss_scale)
{
	softmax_rows<T, V, false>(logits, labels, row_loss, rows, columns, gradient_scale,
				  loss_scale);
}

template <typename T, int V>
static void launch_softmax_packs(const struct softmax_cross_entropy_arguments *a,
				 cudaStream_t stream)
{
	dim3 block = a->columns > 1024 ? dim3(THREADS, 1) : dim3(WARP, THREADS / WARP);
	bool fits = a->columns <= (uint64_t)block.x * V * held<V>::PACKS;

	(fits ? softmax_cross_entropy_held<T, V>
	      : softmax_cross_entropy_long<T, V>)<<<grid_for(a->rows, block.y), block, 0, stream>>>(
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
