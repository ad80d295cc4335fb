/*
 * Tensor cores at peak rate: see peak.h. Compute capability 9.0 has its own code (peak_wgmma.cu).
 */
#include "kernels/peak/peak.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include "kernels/launch/compat.h"
#include "device/cuda/cuda_kernel.h"

#define THREADS 256
#define LEFTS 2
#define RIGHTS 4

/*
 * Types of fragments and sums for T, depth of a step, and the first compute capability with them.
 */
template <typename T> struct peak_fragments {
	typedef T element;
	typedef float sum;
	static const int depth = 16, since = 80;
};
template <> struct peak_fragments<half> {
	typedef half element;
	typedef float sum;
	static const int depth = 16, since = 70;
};
template <> struct peak_fragments<signed char> {
	typedef signed char element;
	typedef int sum;
	static const int depth = 16, since = 72;
};
struct tf32_number;
template <> struct peak_fragments<tf32_number> {
	typedef float element;
	typedef float sum;
	static const int depth = 8, since = 80;
};

#if CODE_HAS_TENSOR_CORES
template <typename T> struct peak_type {
	typedef T name;
};
#if CODE_HAS_TF32
template <> struct peak_type<tf32_number> {
	typedef nvcuda::wmma::precision::tf32 name;
};
#endif

template <typename T>
static __device__ __forceinline__ void peak_tensor_warp(uint64_t steps, int64_t *out)
{
	using namespace nvcuda::wmma;
	typedef peak_fragments<T> F;
	typedef typename peak_type<T>::name type;
	__shared__ __align__(32) typename F::element numbers[LEFTS + RIGHTS][16 * F::depth];
	fragment<matrix_a, 16, 16, F::depth, type, row_major> left[LEFTS];
	fragment<matrix_b, 16, 16, F::depth, type, col_major> right[RIGHTS];
	fragment<accumulator, 16, 16, F::depth, typename F::sum> sums[LEFTS][RIGHTS];
	double total = 0;

	for (int i = threadIdx.x; i < (LEFTS + RIGHTS) * 16 * F::depth; i += THREADS) {
		int matrix = i / (16 * F::depth), line = i / F::depth % 16, k = i % F::depth;
		int side = matrix >= LEFTS;

		numbers[matrix][i % (16 * F::depth)] = (typename F::element)(
			float)kernel_peak_element(side,
						  (side ? matrix - LEFTS : matrix) * 16 + line, k);
	}
	__syncthreads();
	for (int i = 0; i < LEFTS; i++)
		load_matrix_sync(left[i], numbers[i], F::depth);
	for (int j = 0; j < RIGHTS; j++)
		load_matrix_sync(right[j], numbers[LEFTS + j], F::depth);
	for (int i = 0; i < LEFTS; i++)
		for (int j = 0; j < RIGHTS; j++)
			fill_fragment(sums[i][j], (typename F::sum)0);
#pragma unroll 4
	for (unsigned step = 0; step < (unsigned)steps; step++)
#pragma unroll
		for (int i = 0; i < LEFTS; i++)
#pragma unroll
			for (int j = 0; j < RIGHTS; j++)
				mma_sync(sums[i][j], left[i], right[j], sums[i][j]);
	for (int i = 0; i < LEFTS; i++)
		for (int j = 0; j < RIGHTS; j++)
			for (int e = 0; e < sums[i][j].num_elements; e++)
				total += (double)sums[i][j].x[e];
	for (int lanes = 16; lanes; lanes /= 2)
		total += __shfl_xor_sync(0xffffffff, total, lanes);
	if (threadIdx.x % 32 == 0)
		out[(blockIdx.x * THREADS + threadIdx.x) / 32] = (int64_t)total;
}
#endif

/* Never launched without such tensor cores. */
template <typename T>
static __global__ void __launch_bounds__(THREADS) peak_tensor(uint64_t steps, int64_t *out)
{
#if CODE_HAS_TENSOR_CORES
	if constexpr (CODE_CAPABILITY >= peak_fragments<T>::since)
		peak_tensor_warp<T>(steps, out);
	else
#endif
		compat_code_is_absent();
}

extern "C" enum status kernel_cuda_peak_tensor(struct stream *stream, const void *arguments,
					       struct error *err)
{
	const struct peak_tensor_arguments *a = (const struct peak_tensor_arguments *)arguments;
	struct peak_tensor_shape shape =
		kernel_peak_tensor_shape(&stream->device->info, a->precision);
	unsigned blocks = (unsigned)(a->groups * 32 / THREADS);
	cudaStream_t handle = cuda_stream_handle(stream);

	if (shape.m == 0)
		return error_set(err, STATUS_UNSUPPORTED,
				 "%s has no tensor cores for this precision",
				 stream->device->info.id);
	if (CUDA_HAS_WGMMA && shape.m == 64)
		return peak_wgmma_launch(stream, a, err);
	if (a->precision == PRECISION_FP16)
		peak_tensor<half><<<blocks, THREADS, 0, handle>>>(a->steps, a->out);
	else if (a->precision == PRECISION_BF16)
		peak_tensor<__nv_bfloat16><<<blocks, THREADS, 0, handle>>>(a->steps, a->out);
	else if (a->precision == PRECISION_TF32)
		peak_tensor<tf32_number><<<blocks, THREADS, 0, handle>>>(a->steps, a->out);
	else
		peak_tensor<signed char><<<blocks, THREADS, 0, handle>>>(a->steps, a->out);
	return cuda_device_check_path("peak_tensor", "WMMA", err);
}
