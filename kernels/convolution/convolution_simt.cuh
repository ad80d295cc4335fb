/*
 * Convolution by ordinary multiply-adds, any shape: each pass is a product C[m][n] = sum over k of
 * A(m, k) B(k, n), whose elements are gathered from the tensors; a block makes 64 x 64 of C, 16
 * deep at a time, a thread 4 x 4.
 */
#ifndef GPUPROOF_KERNELS_CONVOLUTION_SIMT_CUH
#define GPUPROOF_KERNELS_CONVOLUTION_SIMT_CUH

#include "kernels/convolution/convolution_problem.cuh"
#include "kernels/storage.cuh"

#define SIMT_TILE 64
#define SIMT_DEPTH 16
#define SIMT_THREADS 256

template <typename T>
static __device__ __forceinline__ float element(const void *tensor, int64_t at)
{
	float x;

	to_math(&x, ((const T *)tensor)[at]);
	return x;
}

/* Channel c of what tap (r, s) of output pixel `pixel` reads; 0 in the padding. */
template <typename T>
static __device__ __forceinline__ float image_value(const convolution_problem &p, int pixel, int r,
						    int s, int c)
{
	int q = pixel % p.out_width, rest = pixel / p.out_width;
	int h = rest % p.out_height * (int)p.shape.stride + r - (int)p.shape.padding;
	int w = q * (int)p.shape.stride + s - (int)p.shape.padding;

	if (h < 0 || w < 0 || h >= (int)p.shape.height || w >= (int)p.shape.width)
		return 0;
	return element<T>(p.image,
			  (((int64_t)(rest / p.out_height) * p.shape.height + h) * p.shape.width +
			   w) * p.shape.channels +
				  c);
}

/* Filter f of the gradient whose tap (r, s) reads image pixel `pixel`; 0 where none does. */
template <typename T>
static __device__ __forceinline__ float gradient_value(const convolution_problem &p, int pixel,
						       int r, int s, int f)
{
	int rest = pixel / (int)p.shape.width, stride = p.shape.stride;
	int h = rest % (int)p.shape.height + (int)p.shape.padding - r,
	    w = pixel % (int)p.shape.width + (int)p.shape.padding - s;

	if (h < 0 || w < 0 || h % stride || w % stride || h / stride >= p.out_height ||
	    w / stride >= p.out_width)
		return 0;
	return element<T>(p.gradient,
			  (((int64_t)(rest / (int)p.shape.height) * p.out_height + h / stride) *
				   p.out_width +
			   w / stride) * p.shape.filters +
				  f);
}

/* A(m, k) and B(k, n). */
template <typename T, enum convolution_pass PASS>
static __device__ __forceinline__ float left_element(const convolution_problem &p, int m, int k)
{
	int tap, kernel_width = p.shape.kernel_width;

	if (PASS == PASS_WEIGHTS)
		return element<T>(p.gradient, (int64_t)k * p.shape.filters + m);
	if (PASS == PASS_FORWARD) {
		tap = k / (int)p.shape.channels;
		return image_value<T>(p, m, tap / kernel_width, tap % kernel_width,
				      k % (int)p.shape.channels);
	}
	tap = k / (int)p.shape.filters;
	return gradient_value<T>(p, m, tap / kernel_width, tap % kernel_width,
				 k % (int)p.shape.filters);
}

template <typename T, enum convolution_pass PASS>
static __device__ __forceinline__ float right_element(const convolution_problem &p, int k, int n)
{
	int taps = p.shape.kernel_height * p.shape.kernel_width, channels = p.shape.channels, tap;

	if (PASS == PASS_FORWARD)
		return element<T>(p.weights, (int64_t)n * taps * channels + k);
	if (PASS == PASS_DATA) {
		tap = k / (int)p.shape.filters;
		return element<T>(p.weights,
				  ((int64_t)(k % (int)p.shape.filters) * taps + tap) * channels +
					  n);
	}
	tap = n / channels;
	return image_value<T>(p, k, tap / (int)p.shape.kernel_width,
			      tap % (int)p.shape.kernel_width, n % channels);
}

/* `part` of the sum over k, of blockIdx.z. */
template <typename T, enum convolution_pass PASS>
static __global__ void __launch_bounds__(SIMT_THREADS)
	convolution_simt(convolution_problem p, int rows, int columns, int depth, int part)
{
	__shared__ float a[SIMT_DEPTH][SIMT_TILE + 1], b[SIMT_DEPTH][SIMT_TILE + 1];
	int m0 = blockIdx.x * SIMT_TILE, n0 = blockIdx.y * SIMT_TILE;
	int ty = threadIdx.x / 16, tx = threadIdx.x % 16;
	int begin = blockIdx.z * part, end = begin + part < depth ? begin + part : depth;
	float sum[4][4] = { { 0 } };

	for (int k0 = begin; k0 < end; k0 += SIMT_DEPTH) {
#pragma unroll 1
		for (int i = threadIdx.x; i < SIMT_TILE * SIMT_DEPTH; i += SIMT_THREADS) {
			/* Along what lies next to each other. */
			int k = PASS == PASS_WEIGHTS ? i / SIMT_TILE : i % SIMT_DEPTH,
			    m = PASS == PASS_WEIGHTS ? i % SIMT_TILE : i / SIMT_DEPTH;

			a[k][m] = k0 + k < end && m0 + m < rows
					  ? left_element<T, PASS>(p, m0 + m, k0 + k)
					  : 0;
			k = PASS == PASS_FORWARD ? i % SIMT_DEPTH : i / SIMT_TILE;
			m = PASS == PASS_FORWARD ? i / SIMT_DEPTH : i % SIMT_TILE;
			b[k][m] = k0 + k < end && n0 + m < columns
					  ? right_element<T, PASS>(p, k0 + k, n0 + m)
					  : 0;
		}
		__syncthreads();
#pragma unroll
		for (int k = 0; k < SIMT_DEPTH; k++)
#pragma unroll
			for (int i = 0; i < 4; i++)
#pragma unroll
				for (int j = 0; j < 4; j++)
					sum[i][j] = fmaf(a[k][ty + 16 * i], b[k][tx + 16 * j],
							 sum[i][j]);
		__syncthreads();
	}
#pragma unroll
	for (int i = 0; i < 4; i++)
#pragma unroll
		for (int j = 0; j < 4; j++) {
			int m = m0 + ty + 16 * i, n = n0 + tx + 16 * j;
			int64_t at = (int64_t)m * columns + n;

			if (m >= rows || n >= columns)
				continue;
			if (PASS == PASS_WEIGHTS)
				p.parts[(int64_t)blockIdx.z * rows * columns + at] = sum[i][j];
			else
				from_math((T *)p.out + at, sum[i][j]);
		}
}

/* dw from the parts of its sum. */
template <typename T>
static __global__ void convolution_join(convolution_problem p, uint64_t count, int parts,
					float keep)
{
	for (uint64_t i = (uint64_t)blockIdx.x * SIMT_THREADS + threadIdx.x; i < count;
	     i += (uint64_t)gridDim.x * SIMT_THREADS) {
		float sum = 0;

		for (int part = 0; part < parts; part++)
			sum += p.parts[part * count + i];
		if (keep != 0)
			sum += keep * element<T>(p.out, i);
		from_math((T *)p.out + i, sum);
	}
}

#endif
