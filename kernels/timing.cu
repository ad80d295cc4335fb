/* Kernels for timing or preparation: see timing.h. */
#include "kernels/timing.h"

#include "kernels/device_clock.cuh"
#include "device/cuda/cuda_kernel.h"

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
