/*
 * Pooling: see pooling.h. A thread computes V channels of a pixel, neighbouring threads
 * neighbouring channels.
 */
#include "kernels/convolution/pooling.h"

#include <type_traits>

#include "device/cuda/cuda_kernel.h"
#include "kernels/storage.cuh"

#define THREADS 256

/* A pixel of an image and the first of a thread's V channels. */
template <int V> struct pooled_pixel {
	int n, h, w, c;

	__device__ __forceinline__ pooled_pixel(unsigned pack, const pooling_shape &s, int height,
						int width)
	{
		unsigned packs = s.channels / V, pixel = pack / packs, line = pixel / width;

		c = (int)(pack % packs) * V;
		w = (int)(pixel % width);
		h = (int)(line % height);
		n = (int)(line / height);
	}
};

/* Per-channel maximum of a window, and the position of its first occurrence. */
template <int V> struct greatest {
	float value[V];
	int at[V];

	template <typename T>
	static __device__ __forceinline__ greatest of(const T *image, const pooling_shape &s,
						      pooling_range h, pooling_range w)
	{
		greatest g;

#pragma unroll
		for (int k = 0; k < V; k++)
			g.at[k] = -1;
		for (int y = h.first; y < h.end; y++)
#pragma unroll 1 /* windows are 2 or 3 wide, but the compiler unrolls by 4 */
			for (int x = w.first; x < w.end; x++) {
				int at = y * (int)s.width + x;
				float v[V];

				storage_load_pack<V>(v, image, (uint64_t)at * s.channels,
						     UINT64_MAX, true);
#pragma unroll
				for (int k = 0; k < V; k++)
					if (g.at[k] < 0 || v[k] > g.value[k] ||
					    (v[k] != v[k] && g.value[k] == g.value[k])) {
						g.value[k] = v[k];
						g.at[k] = at;
					}
			}
		return g;
	}
};

template <typename T, int V>
static __global__ void pooling_forward(pooling_forward_arguments a, int height, int width,
				       unsigned count)
{
	const pooling_shape &s = a.shape;

	for (unsigned i = blockIdx.x * THREADS + threadIdx.x; i < count; i += gridDim.x * THREADS) {
		pooled_pixel<V> p(i, s, height, width);
		pooling_range h = pooling_window(&s, p.h, s.height),
			      w = pooling_window(&s, p.w, s.width);
		const T *image =
			(const T *)a.x + (uint64_t)p.n * s.height * s.width * s.channels + p.c;
		float sum[V] = {}, v[V];

		if (!s.average) {
			storage_store_pack<V>((T *)a.y, greatest<V>::of(image, s, h, w).value,
					      (uint64_t)i * V, UINT64_MAX, true);
			continue;
		}
		for (int y = h.first; y < h.end; y++)
#pragma unroll 1
			for (int x = w.first; x < w.end; x++) {
				storage_load_pack<V>(v, image,
						     ((uint64_t)y * s.width + x) * s.channels,
						     UINT64_MAX, true);
#pragma unroll
				for (int k = 0; k < V; k++)
					sum[k] += v[k];
			}
#pragma unroll
		for (int k = 0; k < V; k++)
			sum[k] /= (h.end - h.first) * (w.end - w.first);
		storage_store_pack<V>((T *)a.y, sum, (uint64_t)i * V, UINT64_MAX, true);
	}
}

template <typename T, int V>
static __global__ void pooling_backward(pooling_backward_arguments a, int height, int width,
					unsigned count)
{
	const pooling_shape &s = a.shape;

	for (unsigned i = blockIdx.x * THREADS + threadIdx.x; i < count; i += gridDim.x * THREADS) {
		pooled_pixel<V> at(i, s, (int)s.height, (int)s.width);
		pooling_range down = pooling_windows_of(&s, at.h, height),
			      across = pooling_windows_of(&s, at.w, width);
		const T *image =
			(const T *)a.x + (uint64_t)at.n * s.height * s.width * s.channels + at.c;
		const T *gradients =
			(const T *)a.dy + (uint64_t)at.n * height * width * s.channels + at.c;
		float sum[V] = {}, dy[V];

		for (int p = down.first; p < down.end; p++)
#pragma unroll 1
			for (int q = across.first; q < across.end; q++) {
				pooling_range h = pooling_window(&s, p, s.height),
					      w = pooling_window(&s, q, s.width);
				greatest<V> g;

				storage_load_pack<V>(dy, gradients,
						     ((uint64_t)p * width + q) * s.channels,
						     UINT64_MAX, true);
				if (!s.average)
					g = greatest<V>::of(image, s, h, w);
#pragma unroll
				for (int k = 0; k < V; k++)
					if (s.average)
						sum[k] += dy[k] /
							  ((h.end - h.first) * (w.end - w.first));
					else if (g.at[k] == at.h * (int)s.width + at.w)
						sum[k] += dy[k];
			}
		storage_store_pack<V>((T *)a.dx, sum, (uint64_t)i * V, UINT64_MAX, true);
	}
}

/*
 * Calls launch(T(), V, first image, images) for slices of the batch whose indices fit into 31 bits,
 * with packs of 16 bytes if channels and addresses allow it. `each`: elements per image of the
 * result.
 */
template <typename Launch>
static void pooling_launch_slices(const pooling_shape &s, bool aligned, uint64_t each,
				  Launch launch)
{
	unsigned most = (unsigned)(INT32_MAX / each);

	for (unsigned first = 0; first < s.batch; first += most) {
		unsigned images = s.batch - first < most ? s.batch - first : most;

#define CALL(T)                                                    \
	{                                                          \
		std::integral_constant<int, 16 / sizeof(T)> whole; \
		std::integral_constant<int, 1> one;                \
		if (aligned && s.channels % whole == 0)            \
			launch(T(), whole, first, images);         \
		else                                               \
			launch(T(), one, first, images);           \
	}
		FOR_STORED_FLOATS(s.precision, CALL)
#undef CALL
	}
}

template <typename T>
static const void *pooling_image_of(const void *images, uint64_t first, uint64_t each)
{
	return (const T *)images + first * each;
}

extern "C" enum status kernel_cuda_pooling_forward(struct stream *stream, const void *arguments,
						   struct error *err)
{
	const pooling_forward_arguments *a = (const pooling_forward_arguments *)arguments;
	cudaStream_t handle = cuda_stream_handle(stream);
	uint64_t in, out;

	if (pooling_check(&a->shape, err) != STATUS_OK)
		return err->status;
	if (pooling_out_elements(&a->shape) == 0)
		return STATUS_OK;
	in = pooling_in_elements(&a->shape) / a->shape.batch;
	out = pooling_out_elements(&a->shape) / a->shape.batch;
	pooling_launch_slices(
		a->shape, storage_packs_aligned(a->x, a->y), out,
		[=](auto stored, auto pack, unsigned first, unsigned images) {
			typedef decltype(stored) T;
			unsigned count = (unsigned)(images * out / pack);
			pooling_forward_arguments slice = *a;

			slice.x = pooling_image_of<T>(a->x, first, in);
			slice.y = (void *)pooling_image_of<T>(a->y, first, out);
			pooling_forward<T, decltype(pack)::value>
				<<<storage_grid_for(count, THREADS), THREADS, 0, handle>>>(
					slice, (int)pooling_out(&a->shape, a->shape.height),
					(int)pooling_out(&a->shape, a->shape.width), count);
		});
	return cuda_device_check_launch("pooling_forward", err);
}

extern "C" enum status kernel_cuda_pooling_backward(struct stream *stream, const void *arguments,
						    struct error *err)
{
	const pooling_backward_arguments *a = (const pooling_backward_arguments *)arguments;
	cudaStream_t handle = cuda_stream_handle(stream);
	uint64_t in, out;

	if (pooling_check(&a->shape, err) != STATUS_OK)
		return err->status;
	if (pooling_in_elements(&a->shape) == 0)
		return STATUS_OK;
	in = pooling_in_elements(&a->shape) / a->shape.batch;
	out = pooling_out_elements(&a->shape) / a->shape.batch;
	pooling_launch_slices(
		a->shape, storage_packs_aligned(a->x, a->dy, a->dx), in,
		[=](auto stored, auto pack, unsigned first, unsigned images) {
			typedef decltype(stored) T;
			unsigned count = (unsigned)(images * in / pack);
			pooling_backward_arguments slice = *a;

			slice.x = pooling_image_of<T>(a->x, first, in);
			slice.dy = pooling_image_of<T>(a->dy, first, out);
			slice.dx = (void *)pooling_image_of<T>(a->dx, first, in);
			pooling_backward<T, decltype(pack)::value>
				<<<storage_grid_for(count, THREADS), THREADS, 0, handle>>>(
					slice, (int)pooling_out(&a->shape, a->shape.height),
					(int)pooling_out(&a->shape, a->shape.width), count);
		});
	return cuda_device_check_launch("pooling_backward", err);
}
