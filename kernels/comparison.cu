/* Checksums and differences on the device: see comparison.h. */
#include "kernels/comparison.h"

#include "device/cuda/cuda_kernel.h"
#include "kernels/storage.cuh"

#define THREADS 256

/* Assembles a word from bytes, for unaligned memory and the last word. */
static __device__ uint64_t comparison_word_of_bytes(const unsigned char *at, uint64_t count)
{
	uint64_t word = 0;

	for (uint64_t i = 0; i < 8 && i < count; i++)
		word |= (uint64_t)at[i] << 8 * i;
	return word;
}

static __global__ void comparison_checksum(const unsigned char *memory, uint64_t bytes,
					   bool aligned, unsigned long long *out)
{
	__shared__ unsigned long long all;
	uint64_t words = (bytes + 7) / 8, stride = (uint64_t)gridDim.x * THREADS;
	unsigned long long sum = 0;

	if (threadIdx.x == 0)
		all = 0;
	__syncthreads();
	for (uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x; i < words; i += stride) {
		bool whole = aligned && 8 * i + 8 <= bytes;

		sum += comparison_checksum_word(whole ? ((const uint64_t *)memory)[i]
						      : comparison_word_of_bytes(memory + 8 * i,
										 bytes - 8 * i),
						i);
	}
	atomicAdd(&all, sum);
	__syncthreads();
	if (threadIdx.x == 0)
		atomicAdd(out, all);
}

extern "C" enum status kernel_cuda_checksum(struct stream *stream, const void *arguments,
					    struct error *err)
{
	const struct checksum_arguments *a = (const struct checksum_arguments *)arguments;
	unsigned most = (unsigned)cuda_stream_multiprocessors(stream) * 16;
	unsigned blocks = storage_grid_for((a->bytes + 7) / 8, THREADS);

	if (a->bytes == 0)
		return STATUS_OK;
	if (blocks > most)
		blocks = most;
	comparison_checksum<<<blocks, THREADS, 0, cuda_stream_handle(stream)>>>(
		(const unsigned char *)a->memory, a->bytes, (uintptr_t)a->memory % 8 == 0,
		(unsigned long long *)a->out);
	return cuda_device_check_launch("checksum", err);
}

/* One block per part; its threads add in a fixed order, so that equal numbers give equal sums. */
template <typename T> static __global__ void comparison_difference(struct difference_arguments a)
{
	__shared__ struct difference_part sums[THREADS];
	const T *x = (const T *)a.x, *y = (const T *)a.y;
	struct difference_part mine = { 0, 0 };

	for (uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x; i < a.count;
	     i += (uint64_t)gridDim.x * THREADS) {
		double got, expected, d;

		storage_to_math(&got, x[i]);
		storage_to_math(&expected, y[i]);
		expected /= a.y_scale;
		d = got / a.x_scale - expected;
		mine.difference += d * d;
		mine.expected += expected * expected;
	}
	sums[threadIdx.x] = mine;
	for (unsigned half = THREADS / 2; half > 0; half /= 2) {
		__syncthreads();
		if (threadIdx.x < half) {
			sums[threadIdx.x].difference += sums[threadIdx.x + half].difference;
			sums[threadIdx.x].expected += sums[threadIdx.x + half].expected;
		}
	}
	if (threadIdx.x == 0)
		a.parts[blockIdx.x] = sums[0];
}

extern "C" enum status kernel_cuda_difference(struct stream *stream, const void *arguments,
					      struct error *err)
{
	const struct difference_arguments a = *(const struct difference_arguments *)arguments;
	cudaStream_t handle = cuda_stream_handle(stream);

#define DIFFERENCE(T) comparison_difference<T><<<DIFFERENCE_PARTS, THREADS, 0, handle>>>(a)
	FOR_STORAGE(a.precision, DIFFERENCE)
#undef DIFFERENCE
	return cuda_device_check_launch("difference", err);
}
