/* Activations and residual additions: see layers.h. */
#include "kernels/layers/activation.h"

#include "kernels/layers/layers.cuh"

#define THREADS 256

/* One row of threads per matrix row, so that no thread needs a division to find its column. */
template <typename T, int V>
static __global__ void activation_forward(activation_forward_arguments a)
{
	uint64_t column = ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x) * V;
	float b[V] = { 0 }, v[V];

	if (column >= a.columns)
		return;
	if (a.bias)
		storage_load_pack<V>(b, (const T *)a.bias, column, a.columns, true);
	for (uint64_t r = (uint64_t)blockIdx.y * blockDim.y + threadIdx.y; r < a.rows;
	     r += (uint64_t)gridDim.y * blockDim.y) {
		T *x = (T *)a.x + r * a.columns;

		storage_load_pack<V>(v, x, column, a.columns, true);
#pragma unroll
		for (int k = 0; k < V; k++) {
			T stored; /* f of the value that backward reads */

			storage_from_math(&stored, v[k] + b[k]);
			storage_to_math(&v[k], stored);
		}
		if (a.bias && a.x != a.y)
			storage_store_pack<V>(x, v, column, a.columns, true);
#pragma unroll
		for (int k = 0; k < V; k++)
			v[k] = activation_value(a.activation, v[k]);
		storage_store_pack<V>((T *)a.y + r * a.columns, v, column, a.columns, true);
	}
}

template <typename T, int V>
static void activation_launch_forward_packs(const activation_forward_arguments &a,
					    cudaStream_t stream)
{
	const unsigned most = 65535; /* maximum rows of blocks in a grid */
	unsigned lanes = storage_lanes_for(a.columns, V), height = THREADS / lanes;
	uint64_t row_blocks = (a.rows + height - 1) / height;
	dim3 grid(storage_grid_for(a.columns, lanes * V),
		  row_blocks > most ? most : (unsigned)row_blocks);

	activation_forward<T, V><<<grid, dim3(lanes, height), 0, stream>>>(a);
}

template <typename T>
static void activation_launch_forward(const activation_forward_arguments &a, cudaStream_t stream)
{
	const int V = 16 / sizeof(T);

	if (storage_packs_aligned(a.x, a.y, a.bias) && a.columns % V == 0)
		activation_launch_forward_packs<T, V>(a, stream);
	else
		activation_launch_forward_packs<T, 1>(a, stream);
}

extern "C" enum status kernel_cuda_activation_forward(struct stream *stream, const void *arguments,
						      struct error *err)
{
	const activation_forward_arguments *a = (const activation_forward_arguments *)arguments;
	cudaStream_t handle = cuda_stream_handle(stream);

	return layer_launch("activation_forward", a, a->rows > 0 && a->columns > 0, err,
			    [=](auto stored) {
				    activation_launch_forward<decltype(stored)>(*a, handle);
			    });
}

#define FOR_PACKS(i, count)                                                                \
	for (uint64_t i = ((uint64_t)blockIdx.x * THREADS + threadIdx.x) * V; i < (count); \
	     i += (uint64_t)gridDim.x * THREADS * V)

template <typename T>
static __global__ void activation_backward(activation_backward_arguments a, bool aligned)
{
	const int V = 16 / sizeof(T);

	FOR_PACKS(i, a.count)
	{
		float x[V], dy[V];

		storage_load_pack<V>(x, (const T *)a.x, i, a.count, aligned);
		storage_load_pack<V>(dy, (const T *)a.dy, i, a.count, aligned);
#pragma unroll
		for (int k = 0; k < V; k++)
			x[k] = activation_gradient(a.activation, x[k], dy[k]);
		storage_store_pack<V>((T *)a.dx, x, i, a.count, aligned);
	}
}

extern "C" enum status kernel_cuda_activation_backward(struct stream *stream, const void *arguments,
						       struct error *err)
{
	const activation_backward_arguments *a = (const activation_backward_arguments *)arguments;
	cudaStream_t handle = cuda_stream_handle(stream);

	if (layer_check("activation_backward", a->precision, err) != STATUS_OK)
		return err->status;
	if (a->count == 0)
		return STATUS_OK;
#define CALL(T)                                                                                 \
	activation_backward<T>                                                                  \
		<<<storage_grid_for(a->count, THREADS * 16 / sizeof(T)), THREADS, 0, handle>>>( \
			*a, storage_packs_aligned(a->x, a->dy, a->dx))
	FOR_STORED_FLOATS(a->precision, CALL)
#undef CALL
	return cuda_device_check_launch("activation_backward", err);
}

template <typename T>
static __global__ void activation_residual_add(residual_add_arguments a, bool aligned)
{
	const int V = 16 / sizeof(T);

	FOR_PACKS(i, a.count)
	{
		float x[V], y[V];

		storage_load_pack<V>(x, (const T *)a.a, i, a.count, aligned);
		storage_load_pack<V>(y, (const T *)a.b, i, a.count, aligned);
#pragma unroll
		for (int k = 0; k < V; k++)
			x[k] += y[k];
		storage_store_pack<V>((T *)a.y, x, i, a.count, aligned);
	}
}

extern "C" enum status kernel_cuda_residual_add(struct stream *stream, const void *arguments,
						struct error *err)
{
	const residual_add_arguments *a = (const residual_add_arguments *)arguments;
	cudaStream_t handle = cuda_stream_handle(stream);

	if (layer_check("residual_add", a->precision, err) != STATUS_OK)
		return err->status;
	if (a->count == 0)
		return STATUS_OK;
#define CALL(T)                                                                                 \
	activation_residual_add<T>                                                              \
		<<<storage_grid_for(a->count, THREADS * 16 / sizeof(T)), THREADS, 0, handle>>>( \
			*a, storage_packs_aligned(a->a, a->b, a->y))
	FOR_STORED_FLOATS(a->precision, CALL)
#undef CALL
	return cuda_device_check_launch("residual_add", err);
}
