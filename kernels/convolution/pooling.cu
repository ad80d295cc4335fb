/*
 * Pooling: see pooling.h. A thread makes V channels of a pixel, neighbours neighbouring channels.
 */
#include "kernels/convolution/pooling.h"

#include <type_traits>

#include "kernels/launch/cuda_kernel.h"
#include "kernels/storage.cuh"

#define THREADS 256

/* A pixel of an image and the first of a thread's V channels; I counts packs. */
template <int V, typename I> struct pooled_pixel {
	int n, h, w, c;

	__device__ __forceinline__ pooled_pixel(I at, const pooling_shape &s, int height, int width)
	{
		I packs = s.channels / V, pixel = at / packs, line = pixel / (I)width;

		c = (int)(at % packs) * V;
		w = (int)(pixel % (I)width);
		h = (int)(line % (I)height);
		n = (int)(line / (I)height);
	}
};

/* The greatest pixels of a window, channel by channel, and where they are first in the image. */
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
			for (int x = w.first; x < w.end; x++) {
				int at = y * (int)s.width + x;
				float v[V];

				load_pack<V>(v, image, (uint64_t)at * s.channels, UINT64_MAX, true);
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

template <typename T, int V, typename I>
static __global__ void pooling_forward(pooling_forward_arguments a, int height, int width,
				       uint64_t count)
{
	const pooling_shape &s = a.shape;

	for (uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x; i < count;
	     i += (uint64_t)gridDim.x * THREADS) {
		pooled_pixel<V, I> p((I)i, s, height, width);
		pooling_range h = pooling_window(&s, p.h, s.height),
			      w = pooling_window(&s, p.w, s.width);
		const T *image =
			(const T *)a.x + (uint64_t)p.n * s.height * s.width * s.channels + p.c;
		float sum[V] = {}, v[V];

		if (!s.average) {
			store_pack<V>((T *)a.y, greatest<V>::of(image, s, h, w).value, i * V,
				      UINT64_MAX, true);
			continue;
		}
		for (int y = h.first; y < h.end; y++)
			for (int x = w.first; x < w.end; x++) {
				load_pack<V>(v, image, ((uint64_t)y * s.width + x) * s.channels,
					     UINT64_MAX, true);
#pragma unroll
				for (int k = 0; k < V; k++)
					sum[k] += v[k];
			}
#pragma unroll
		for (int k = 0; k < V; k++)
			sum[k] /= (h.end - h.first) * (w.end - w.first);
		store_pack<V>((T *)a.y, sum, i * V, UINT64_MAX, true);
	}
}

template <typename T, int V, typename I>
static __global__ void pooling_backward(pooling_backward_arguments a, int height, int width,
					uint64_t count)
{
	const pooling_shape &s = a.shape;

	for (uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x; i < count;
	     i += (uint64_t)gridDim.x * THREADS) {
		pooled_pixel<V, I> at((I)i, s, (int)s.height, (int)s.width);
		pooling_range down = pooling_windows_of(&s, at.h, height),
			      across = pooling_windows_of(&s, at.w, width);
		const T *image =
			(const T *)a.x + (uint64_t)at.n * s.height * s.width * s.channels + at.c;
		const T *gradients =
			(const T *)a.dy + (uint64_t)at.n * height * width * s.channels + at.c;
		float sum[V] = {}, dy[V];

		for (int p = down.first; p < down.end; p++)
			for (int q = across.first; q < across.end; q++) {
				pooling_range h = pooling_window(&s, p, s.height),
					      w = pooling_window(&s, q, s.width);
				greatest<V> g;

				load_pack<V>(dy, gradients, ((uint64_t)p * width + q) * s.channels,
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
		store_pack<V>((T *)a.dx, sum, i * V, UINT64_MAX, true);
	}
}

/* launch(T(), V, I()) with whole packs of 16 bytes where channels and addresses allow. */
template <typename Launch>
static void choose_pack(const pooling_shape &s, bool aligned, uint64_t elements, Launch launch)
{
	bool small = elements <= INT32_MAX;

#define CALL(T)                                                                    \
	{                                                                          \
		std::integral_constant<int, 16 / sizeof(T)> whole;                 \
		std::integral_constant<int, 1> one;                                \
		bool packs = aligned && s.channels % whole == 0;                   \
		if (small)                                                         \
			packs ? launch(T(), whole, 0u) : launch(T(), one, 0u);     \
		else                                                               \
			packs ? launch(T(), whole, 0ull) : launch(T(), one, 0ull); \
	}
	FOR_STORED_FLOATS(s.precision, CALL)
#undef CALL
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
	choose_pack(
		a->shape, packs_aligned(a->x, a->y), count,
		[=](auto stored, auto pack, auto index) {
			pooling_forward<decltype(stored), decltype(pack)::value, decltype(index)>
				<<<grid_for(count / pack, THREADS), THREADS, 0, handle>>>(
					*a, (int)pooling_out(&a->shape, a->shape.height),
					(int)pooling_out(&a->shape, a->shape.width), count / pack);
		});
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
	choose_pack(
		a->shape, packs_aligned(a->x, a->dy, a->dx), count,
		[=](auto stored, auto pack, auto index) {
			pooling_backward<decltype(stored), decltype(pack)::value, decltype(index)>
				<<<grid_for(count / pack, THREADS), THREADS, 0, handle>>>(
					*a, (int)pooling_out(&a->shape, a->shape.height),
					(int)pooling_out(&a->shape, a->shape.width), count / pack);
		});
	return cuda_check_launch("pooling_backward", err);
}
