/*
 * Depthwise convolutions: a thread processes the V channels of one 16-byte access, a block LANES
 * such neighbours and 32 pixels at a time, so that a pixel's channels are read contiguously; the
 * taps' neighbours come from the cache. V = 1 if the channels are not a multiple of V.
 */
#ifndef GPUPROOF_KERNELS_CONVOLUTION_DEPTHWISE_CUH
#define GPUPROOF_KERNELS_CONVOLUTION_DEPTHWISE_CUH

#include "kernels/convolution/convolution_problem.cuh"
#include "kernels/storage.cuh"

#define DEPTHWISE_LANES 8
#define DEPTHWISE_ROWS 32 /* pixels at a time */
#define DEPTHWISE_THREADS (DEPTHWISE_LANES * DEPTHWISE_ROWS)
/* Pixels per block, which reads the weights once. */
#define DEPTHWISE_PIXELS 128

/* A pixel of y (forward, weights) or of dx (data). */
struct depthwise_pixel {
	int n, h, w;

	__device__ __forceinline__ depthwise_pixel(int index, int height, int width)
	{
		w = index % width;
		h = index / width % height;
		n = index / width / height;
	}
};

/* The pixel of x that tap (r, s) of a pixel of y reads; -1 in the padding. */
static __device__ __forceinline__ int64_t depthwise_read_pixel(const convolution_problem &p,
							       const depthwise_pixel &at, int r,
							       int s)
{
	int h = at.h * (int)p.shape.stride + r - (int)p.shape.padding,
	    w = at.w * (int)p.shape.stride + s - (int)p.shape.padding;

	if (h < 0 || w < 0 || h >= (int)p.shape.height || w >= (int)p.shape.width)
		return -1;
	return ((int64_t)at.n * p.shape.height + h) * p.shape.width + w;
}

/* The pixel of dy whose tap (r, s) reads a pixel of x; -1: none. */
static __device__ __forceinline__ int64_t depthwise_reading_pixel(const convolution_problem &p,
								  const depthwise_pixel &at, int r,
								  int s)
{
	int stride = p.shape.stride, h = at.h + (int)p.shape.padding - r,
	    w = at.w + (int)p.shape.padding - s;

	if (h < 0 || w < 0 || (stride > 1 && (h % stride || w % stride)))
		return -1;
	if (stride > 1) {
		h /= stride;
		w /= stride;
	}
	if (h >= p.out_height || w >= p.out_width)
		return -1;
	return ((int64_t)at.n * p.out_height + h) * p.out_width + w;
}

template <typename T, enum convolution_pass PASS, int V>
static __global__ void __launch_bounds__(DEPTHWISE_THREADS, 2)
	convolution_depthwise(convolution_problem p, int pixels)
{
	__shared__ __align__(16) T weights[CONVOLUTION_DEPTHWISE_TAPS][DEPTHWISE_LANES * V];
	int channels = p.shape.channels, taps = p.shape.kernel_height * p.shape.kernel_width;
	int lane = threadIdx.x % DEPTHWISE_LANES, first = blockIdx.y * DEPTHWISE_LANES * V;
	int c = first + lane * V, begin = blockIdx.x * DEPTHWISE_PIXELS;
	const void *from = PASS == PASS_FORWARD ? p.image : p.gradient;

	for (int i = threadIdx.x; i < taps * DEPTHWISE_LANES * V; i += DEPTHWISE_THREADS)
		if (first + i / taps < channels)
			weights[i % taps][i / taps] =
				((const T *)p.weights)[(int64_t)first * taps + i];
	__syncthreads();
	if (c >= channels)
		return;
	for (int i = begin + threadIdx.x / DEPTHWISE_LANES;
	     i < begin + DEPTHWISE_PIXELS && i < pixels; i += DEPTHWISE_ROWS) {
		depthwise_pixel at(i, PASS == PASS_FORWARD ? p.out_height : (int)p.shape.height,
				   PASS == PASS_FORWARD ? p.out_width : (int)p.shape.width);
		float sum[V] = { 0 };

		for (int r = 0; r < (int)p.shape.kernel_height; r++)
#pragma unroll 1 /* most filters are 3 wide, but the compiler unrolls by 4 */
			for (int s = 0; s < (int)p.shape.kernel_width; s++) {
				int64_t pixel = PASS == PASS_FORWARD
							? depthwise_read_pixel(p, at, r, s)
							: depthwise_reading_pixel(p, at, r, s);
				float x[V], w[V];

				if (pixel < 0)
					continue;
				storage_load_pack<V>(x, (const T *)from, pixel * channels + c,
						     UINT64_MAX, true);
				storage_load_pack<V>(w,
						     &weights[r * (int)p.shape.kernel_width + s][0],
						     lane * V, UINT64_MAX, true);
#pragma unroll
				for (int k = 0; k < V; k++)
					sum[k] = fmaf(x[k], w[k], sum[k]);
			}
		storage_store_pack<V>((T *)p.out, sum, (int64_t)i * channels + c, UINT64_MAX, true);
	}
}

/*
 * Part blockIdx.z of the gradient of WIDTH neighbouring taps, group blockIdx.y: a thread adds every
 * 32nd pixel of the part, then the block adds its threads' sums, in a fixed order.
 */
template <typename T, int V, int WIDTH>
static __global__ void __launch_bounds__(DEPTHWISE_THREADS, 2)
	convolution_depthwise_weights(convolution_problem p, int pixels, int part)
{
	__shared__ float joined[DEPTHWISE_ROWS][DEPTHWISE_LANES * V + 1];
	int channels = p.shape.channels, width = p.shape.kernel_width;
	int taps = p.shape.kernel_height * width, groups = width / WIDTH;
	int lane = threadIdx.x % DEPTHWISE_LANES, row = threadIdx.x / DEPTHWISE_LANES;
	int first = blockIdx.x * DEPTHWISE_LANES * V, c = first + lane * V;
	int r = blockIdx.y / groups, s0 = blockIdx.y % groups * WIDTH;
	int begin = blockIdx.z * part, end = begin + part < pixels ? begin + part : pixels;
	float sum[WIDTH][V];

#pragma unroll
	for (int s = 0; s < WIDTH; s++)
#pragma unroll
		for (int k = 0; k < V; k++)
			sum[s][k] = 0;
	for (int i = begin + row; i < end && c < channels; i += DEPTHWISE_ROWS) {
		depthwise_pixel at(i, p.out_height, p.out_width);
		float dy[V], x[V];

		storage_load_pack<V>(dy, (const T *)p.gradient, (int64_t)i * channels + c,
				     UINT64_MAX, true);
#pragma unroll
		for (int s = 0; s < WIDTH; s++) {
			int64_t pixel = depthwise_read_pixel(p, at, r, s0 + s);

			if (pixel < 0)
				continue;
			storage_load_pack<V>(x, (const T *)p.image, pixel * channels + c,
					     UINT64_MAX, true);
#pragma unroll
			for (int k = 0; k < V; k++)
				sum[s][k] = fmaf(dy[k], x[k], sum[s][k]);
		}
	}
#pragma unroll
	for (int s = 0; s < WIDTH; s++) {
		int channel = first + threadIdx.x;
		float total = 0;

		__syncthreads();
#pragma unroll
		for (int k = 0; k < V; k++)
			joined[row][lane * V + k] = sum[s][k];
		__syncthreads();
		if (threadIdx.x >= DEPTHWISE_LANES * V || channel >= channels)
			continue;
		for (int i = 0; i < DEPTHWISE_ROWS; i++)
			total += joined[i][threadIdx.x];
		p.parts[((int64_t)blockIdx.z * channels + channel) * taps + r * width + s0 + s] =
			total;
	}
}

#endif
