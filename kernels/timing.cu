/* Kernels for timing or preparation: see timing.h. */
#include "kernels/timing.h"

#include "kernels/device_clock.cuh"
#include "device/cuda/cuda_kernel.h"
#include "kernels/storage.cuh"

#define THREADS 256

static __global__ void timing_spin(unsigned long long nanoseconds)
{
	unsigned long long start = device_clock_ns();

	while (device_clock_ns() - start < nanoseconds)
		;
}

extern "C" enum status kernel_cuda_spin(struct stream *stream, const void *arguments,
					struct error *err)
{
	const struct spin_arguments *a = (const struct spin_arguments *)arguments;

	timing_spin<<<1, 1, 0, cuda_stream_handle(stream)>>>(
		(unsigned long long)(a->seconds * 1e9));
	return cuda_device_check_launch("spin", err);
}

static __global__ void timing_empty()
{
}

static __global__ void timing_count_launch(uint64_t *counter)
{
	++*counter;
}

extern "C" enum status kernel_cuda_empty(struct stream *stream, const void *arguments,
					 struct error *err)
{
	const struct empty_arguments *a = (const struct empty_arguments *)arguments;

	if (a->counter)
		timing_count_launch<<<1, 1, 0, cuda_stream_handle(stream)>>>(a->counter);
	else
		timing_empty<<<1, 1, 0, cuda_stream_handle(stream)>>>();
	return cuda_device_check_launch("empty", err);
}

static __global__ void timing_flush_cache(unsigned char *scratch, uint64_t bytes, bool aligned)
{
	uint64_t stride = (uint64_t)gridDim.x * THREADS * 16;

	for (uint64_t at = ((uint64_t)blockIdx.x * THREADS + threadIdx.x) * 16; at < bytes;
	     at += stride) {
		if (aligned && at + 16 <= bytes) {
			*reinterpret_cast<uint4 *>(scratch + at) = make_uint4(0, 0, 0, 0);
		} else {
			for (uint64_t k = at; k < at + 16 && k < bytes; k++)
				scratch[k] = 0;
		}
	}
}

extern "C" enum status kernel_cuda_flush_cache(struct stream *stream, const void *arguments,
					       struct error *err)
{
	const struct flush_cache_arguments *a = (const struct flush_cache_arguments *)arguments;

	if (a->bytes == 0)
		return STATUS_OK;
	timing_flush_cache<<<storage_grid_for(a->bytes, THREADS * 16), THREADS, 0,
			     cuda_stream_handle(stream)>>>((unsigned char *)a->scratch, a->bytes,
							   storage_packs_aligned(a->scratch));
	return cuda_device_check_launch("flush_cache", err);
}
