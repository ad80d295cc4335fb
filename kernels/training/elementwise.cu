/* Elementwise kernels of a training step: see training.h. */
#include "device/cuda/cuda_kernel.h"
#include "kernels/storage.cuh"
#include "kernels/training/training.h"

#define THREADS 256

#define FIRST_PACK(V) (((uint64_t)blockIdx.x * THREADS + threadIdx.x) * (V))
#define PACK_STRIDE(V) ((uint64_t)gridDim.x * THREADS * (V))

/* Type to which both storage types convert without loss. */
template <typename A, typename B> struct wider {
	typedef float type;
};
template <typename B> struct wider<double, B> {
	typedef double type;
};
template <typename A> struct wider<A, double> {
	typedef double type;
};
template <> struct wider<double, double> {
	typedef double type;
};

template <typename T, typename F>
static __global__ void elementwise_convert(T *to, const F *from, uint64_t count, bool aligned)
{
	const int V = 16 / (sizeof(T) > sizeof(F) ? sizeof(T) : sizeof(F));

	for (uint64_t i = FIRST_PACK(V); i < count; i += PACK_STRIDE(V)) {
		typename wider<T, F>::type x[V];

		storage_load_pack<V>(x, from, i, count, aligned);
		storage_store_pack<V>(to, x, i, count, aligned);
	}
}

template <typename T, typename F>
static void elementwise_launch_convert(const struct convert_arguments *a, cudaStream_t stream)
{
	const unsigned V = 16 / (sizeof(T) > sizeof(F) ? sizeof(T) : sizeof(F));

	elementwise_convert<T, F><<<storage_grid_for(a->count, THREADS * V), THREADS, 0, stream>>>(
		(T *)a->to, (const F *)a->from, a->count, storage_packs_aligned(a->to, a->from));
}

template <typename F>
static void elementwise_launch_convert_from(const struct convert_arguments *a, cudaStream_t stream)
{
#define CALL(T) elementwise_launch_convert<T, F>(a, stream)
	FOR_STORAGE(a->to_precision, CALL)
#undef CALL
}

extern "C" enum status kernel_cuda_convert(struct stream *stream, const void *arguments,
					   struct error *err)
{
	const struct convert_arguments *a = (const struct convert_arguments *)arguments;
	cudaStream_t handle = cuda_stream_handle(stream);

	if (a->count == 0)
		return STATUS_OK;
#define CALL(F) elementwise_launch_convert_from<F>(a, handle)
	FOR_STORAGE(a->from_precision, CALL)
#undef CALL
	return cuda_device_check_launch("convert", err);
}

/* One row of threads per matrix row, so that no thread needs a division to find its column. */
template <typename T, int V>
static __global__ void elementwise_bias_relu(T *y, const T *bias, uint64_t rows, uint64_t columns,
					     bool relu)
{
	typedef typename math_of<T>::type math;
	uint64_t column = ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x) * V;
	uint64_t stride = (uint64_t)gridDim.y * blockDim.y;
	math b[V];

	if (column >= columns)
		return;
	storage_load_pack<V>(b, bias, column, columns, true);
	for (uint64_t r = (uint64_t)blockIdx.y * blockDim.y + threadIdx.y; r < rows; r += stride) {
		T *row = y + r * columns;
		math v[V];

		storage_load_pack<V>(v, row, column, columns, true);
#pragma unroll
		for (int k = 0; k < V; k++) {
			v[k] += b[k];
			if (relu && v[k] < 0) /* keeps NaN, so that it is noticed */
				v[k] = 0;
		}
		storage_store_pack<V>(row, v, column, columns, true);
	}
}

template <typename T, int V>
static void elementwise_launch_bias_relu_packs(const struct bias_relu_arguments *a,
					       cudaStream_t stream)
{
	const unsigned most = 65535; /* maximum rows of blocks in a grid */
	unsigned lanes = storage_lanes_for(a->columns, V), height = THREADS / lanes;
	uint64_t row_blocks = (a->rows + height - 1) / height;
	dim3 grid(storage_grid_for(a->columns, lanes * V),
		  row_blocks > most ? most : (unsigned)row_blocks);

	elementwise_bias_relu<T, V>
		<<<grid, dim3(lanes, height), 0, stream>>>((T *)a->y, (const T *)a->bias, a->rows,
							   a->columns, a->relu != 0);
}

template <typename T>
static void elementwise_launch_bias_relu(const struct bias_relu_arguments *a, cudaStream_t stream)
{
	const int V = 16 / sizeof(T);

	if (storage_packs_aligned(a->y, a->bias) && a->columns % V == 0)
		elementwise_launch_bias_relu_packs<T, V>(a, stream);
	else
		elementwise_launch_bias_relu_packs<T, 1>(a, stream);
}

extern "C" enum status kernel_cuda_bias_relu(struct stream *stream, const void *arguments,
					     struct error *err)
{
	const struct bias_relu_arguments *a = (const struct bias_relu_arguments *)arguments;
	cudaStream_t handle = cuda_stream_handle(stream);

	if (a->rows == 0 || a->columns == 0)
		return STATUS_OK;
#define CALL(T) elementwise_launch_bias_relu<T>(a, handle)
	FOR_STORAGE(a->precision, CALL)
#undef CALL
	return cuda_device_check_launch("bias_relu", err);
}
