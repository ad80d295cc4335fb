/* Pooling: see pooling.h. A thread makes one element, neighbours neighbouring channels. */
#include "kernels/convolution/pooling.h"

#include "kernels/launch/cuda_kernel.h"
#include "kernels/storage.cuh"

#define THREADS 256

template <typename T> static __device__ __forceinline__ float value_at(const void *p, int64_t at)
{
	float x;

	to_math(&x, ((const T *)p)[at]);
	return x;
}

/* The greatest pixel of a window, and where it is first. */
struct greatest {
	float value;
	int64_t at;

	template <typename T>
	static __device__ __forceinline__ greatest of(const pooling_forward_arguments &a, int n,
						      pooling_range h, pooling_range w, int c)
	{
		greatest g = { 0, -1 };

		for (int y = h.first; y < h.end; y++)
			for (int x = w.first; x < w.end; x++) {
				int64_t at = (((int64_t)n * a.shape.height + y) * a.shape.width +
					      x) * a.shape.channels +
					     c;
				float v = value_at<T>(a.x, at);

				if (g.at < 0 || v > g.value || (v != v && g.value == g.value)) {
					g.value = v;
					g.at = at;
				}
			}
		return g;
	}
};

template <typename T>
static __global__ void pooling_forward(pooling_forward_arguments a, int height, int width,
				       uint64_t count)
{
	const pooling_shape &s = a.shape;

	for (uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x; i < count;
	     i += (uint64_t)gridDim.x * THREADS) {
		int c = (int)(i % s.channels), n = (int)(i / s.channels / width / height);
		pooling_range h = pooling_window(&s, (int)(i / s.channels / width % height),
						 s.height),
			      w = pooling_window(&s, (int)(i / s.channels % width), s.width);
		float sum = 0;

		if (!s.average) {
			from_math((T *)a.y + i, greatest::of<T>(a, n, h, w, c).value);
			continue;
		}
		for (int y = h.first; y < h.end; y++)
			for (int x = w.first; x < w.end; x++)
				sum += value_at<T>(a.x, (((int64_t)n * s.height + y) * s.width +
							 x) * s.channels +
								c);
		from_math((T *)a.y + i, sum / ((h.end - h.first) * (w.end - w.first)));
	}
}

template <typename T>
static __global__ void pooling_backward(pooling_backward_arguments a, int height, int width,
					uint64_t count)
{
	const pooling_shape &s = a.shape;
	pooling_forward_arguments forward = { s, a.x, nullptr };

	for (uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x; i < count;
	     i += (uint64_t)gridDim.x * THREADS) {
		int c = (int)(i % s.channels), n = (int)(i / s.channels / s.width / s.height);
		pooling_range down =
			pooling_windows_of(&s, (int)(i / s.channels / s.width % s.height), height);
		pooling_range across =
			pooling_windows_of(&s, (int)(i / s.channels % s.width), width);
		float sum = 0;

		for (int p = down.first; p < down.end; p++)
			for (int q = across.first; q < across.end; q++) {
				pooling_range h = pooling_window(&s, p, s.height),
					      w = pooling_window(&s, q, s.width);
				float dy = value_at<T>(a.dy, (((int64_t)n * height + p) * width +
							      q) * s.channels +
								     c);

				if (s.average)
					sum += dy / ((h.end - h.first) * (w.end - w.first));
				else if (greatest::of<T>(forward, n, h, w, c).at == (int64_t)i)
					sum += dy;
			}
		from_math((T *)a.dx + i, sum);
	}
}

extern "C" enum status kernel_cuda_pooling_forward(struct stream *stream, const void *arguments,
						   struct error *err)
{
	const pooling_forward_arguments *a = (const pooling_forward_arguments *)arguments;
	cudaStream_t handle = cuda_stream_handle(stream);
	uint64_t count;

	if (pooling_check(&a->shape, err) != STATUS_OK)
		return err->status;
	count = pooling_out_elements(&a->shape);
	if (count == 0)
		return STATUS_OK;
#define CALL(T)                                                               \
	pooling_forward<T><<<grid_for(count, THREADS), THREADS, 0, handle>>>( \
		*a, (int)pooling_out(&a->shape, a->shape.height),             \
		(int)pooling_out(&a->shape, a->shape.width), count)
	FOR_STORED_FLOATS(a->shape.precision, CALL)
#undef CALL
	return cuda_check_launch("pooling_forward", err);
}

extern "C" enum status kernel_cuda_pooling_backward(struct stream *stream, const void *arguments,
						    struct error *err)
{
	const pooling_backward_arguments *a = (const pooling_backward_arguments *)arguments;
	cudaStream_t handle = cuda_stream_handle(stream);
	uint64_t count;

	if (pooling_check(&a->shape, err) != STATUS_OK)
		return err->status;
	count = pooling_in_elements(&a->shape);
	if (count == 0)
		return STATUS_OK;
#define CALL(T)                                                                \
	pooling_backward<T><<<grid_for(count, THREADS), THREADS, 0, handle>>>( \
		*a, (int)pooling_out(&a->shape, a->shape.height),              \
		(int)pooling_out(&a->shape, a->shape.width), count)
	FOR_STORED_FLOATS(a->shape.precision, CALL)
#undef CALL
	return cuda_check_launch("pooling_backward", err);
}
