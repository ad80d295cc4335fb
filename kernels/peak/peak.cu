/* Peak-rate kernels for multiply-add units: see peak.h. */
#include "kernels/peak/peak.h"

#include <cuda_fp16.h>

#include "kernels/gemm/half2_path.h"
#include "kernels/launch/compat.h"
#include "device/cuda/cuda_kernel.h"

#define THREADS 256

static __device__ __forceinline__ float kernel_peak_step(float x)
{
	return fmaf(x, x, PEAK_SHIFT);
}
static __device__ __forceinline__ double kernel_peak_step(double x)
{
	return fma(x, x, (double)PEAK_SHIFT);
}
static __device__ __forceinline__ half2 kernel_peak_step(half2 x)
{
#if CODE_HAS_HALF_ARITHMETIC
	return __hfma2(x, x, __float2half2_rn(PEAK_SHIFT));
#else
	return x; /* never launched on such devices */
#endif
}

static __device__ __forceinline__ void kernel_peak_begin(float *x, uint64_t lane, int chain)
{
	*x = kernel_peak_start(lane, chain, PEAK_CHAINS);
}
static __device__ __forceinline__ void kernel_peak_begin(double *x, uint64_t lane, int chain)
{
	*x = kernel_peak_start(lane, chain, PEAK_CHAINS);
}
static __device__ __forceinline__ void kernel_peak_begin(half2 *x, uint64_t lane, int chain)
{
	*x = __floats2half2_rn(kernel_peak_start(lane, 2 * chain, 2 * PEAK_CHAINS),
			       kernel_peak_start(lane, 2 * chain + 1, 2 * PEAK_CHAINS));
}

static __device__ __forceinline__ uint64_t kernel_peak_bits(float x)
{
	return __float_as_uint(x);
}
static __device__ __forceinline__ uint64_t kernel_peak_bits(double x)
{
	return (uint64_t)__double_as_longlong(x);
}
static __device__ __forceinline__ uint64_t kernel_peak_bits(half2 x)
{
	return *reinterpret_cast<unsigned *>(&x);
}

template <typename T>
static __global__ void __launch_bounds__(THREADS) kernel_peak_fma(uint64_t steps, uint64_t *out)
{
	uint64_t lane = (uint64_t)blockIdx.x * THREADS + threadIdx.x, bits = 0;
	T x[PEAK_CHAINS];

#pragma unroll
	for (int c = 0; c < PEAK_CHAINS; c++)
		kernel_peak_begin(&x[c], lane, c);
#pragma unroll 16
	for (unsigned step = 0; step < (unsigned)steps; step++)
#pragma unroll
		for (int c = 0; c < PEAK_CHAINS; c++)
			x[c] = kernel_peak_step(x[c]);
#pragma unroll
	for (int c = 0; c < PEAK_CHAINS; c++)
		bits ^= kernel_peak_bits(x[c]);
	out[lane] = bits;
}

extern "C" enum status kernel_cuda_peak_fma(struct stream *stream, const void *arguments,
					    struct error *err)
{
	const struct peak_fma_arguments *a = (const struct peak_fma_arguments *)arguments;
	cudaStream_t handle = cuda_stream_handle(stream);
	unsigned blocks = (unsigned)(a->lanes / THREADS);

	if (a->precision == PRECISION_FP16_ACC16 &&
	    !(stream->device->info.capabilities & DEVICE_HAS_FP16_ACC16))
		return error_set(err, STATUS_UNSUPPORTED, "%s does not support FP16",
				 stream->device->info.id);
	if (a->precision == PRECISION_FP16_ACC16) {
		kernel_peak_fma<half2><<<blocks, THREADS, 0, handle>>>(a->steps, a->out);
		return cuda_device_check_path("peak_fma", half2_path(&stream->device->info), err);
	}
	if (a->precision == PRECISION_FP64)
		kernel_peak_fma<double><<<blocks, THREADS, 0, handle>>>(a->steps, a->out);
	else
		kernel_peak_fma<float><<<blocks, THREADS, 0, handle>>>(a->steps, a->out);
	return cuda_device_check_launch("peak_fma", err);
}

/* 16 bytes per thread at a time, two of them in flight. */
template <typename T, int V>
static __global__ void __launch_bounds__(THREADS)
	kernel_peak_stream(const T *in, T *out, uint64_t count, unsigned steps)
{
	struct alignas(16) piece {
		T v[V];
	};
	const piece *from = (const piece *)in;
	piece *to = (piece *)out;
	uint64_t pieces = count / V, stride = (uint64_t)gridDim.x * THREADS;

	for (uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x; i < pieces;
	     i += 2 * stride) {
		bool second = i + stride < pieces;
		piece x = from[i], y = second ? from[i + stride] : x;

#pragma unroll 4
		for (unsigned step = 0; step < steps; step++) {
#pragma unroll
			for (int k = 0; k < V; k++) {
				x.v[k] = kernel_peak_step(x.v[k]);
				y.v[k] = kernel_peak_step(y.v[k]);
			}
		}
		to[i] = x;
		if (second)
			to[i + stride] = y;
	}
}

extern "C" enum status kernel_cuda_peak_stream(struct stream *stream, const void *arguments,
					       struct error *err)
{
	const struct peak_stream_arguments *a = (const struct peak_stream_arguments *)arguments;
	cudaStream_t handle = cuda_stream_handle(stream);
	unsigned blocks = (unsigned)cuda_stream_multiprocessors(stream) * 16;

	if (a->precision == PRECISION_FP64)
		kernel_peak_stream<double, 2>
			<<<blocks, THREADS, 0, handle>>>((const double *)a->in, (double *)a->out,
							 a->count, (unsigned)a->steps);
	else
		kernel_peak_stream<float, 4>
			<<<blocks, THREADS, 0, handle>>>((const float *)a->in, (float *)a->out,
							 a->count, (unsigned)a->steps);
	return cuda_device_check_launch("peak_stream", err);
}
