/* Verifies the output of the kernels of stream.cu: see stream.h. */
#include "kernels/memory/stream.h"

#include "device/cuda/cuda_kernel.h"
#include "kernels/storage.cuh"

/* Expected bits of element i after `operation`. */
template <typename T>
static __device__ uint64_t stream_check_expected_bits(const struct check_stream_arguments &a,
						      uint64_t i)
{
	double x = (double)generator_uniform(a.seeds[0], i);
	double y = (double)generator_uniform(a.seeds[1], i);
	T value = (T)(memory_stream_weight(a.operation, 0) * x +
		      memory_stream_weight(a.operation, 1) * y);

	if (a.operation == STREAM_WRITE)
		return a.seeds[0] + i * STREAM_STEP;
	return sizeof(T) == 4 ? __float_as_uint((float)value)
			      : (uint64_t)__double_as_longlong((double)value);
}

template <typename T>
static __device__ uint64_t stream_check_bits_at(const void *memory, uint64_t i)
{
	return sizeof(T) == 4 ? ((const uint32_t *)memory)[i] : ((const uint64_t *)memory)[i];
}

template <typename T>
static __global__ void stream_check_all_elements(struct check_stream_arguments a)
{
	uint64_t step = (uint64_t)gridDim.x * blockDim.x, count = a.bytes / sizeof(T);
	unsigned long long wrong = 0, lowest = ~0ull;

	for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
		if (stream_check_bits_at<T>(a.out, i) == stream_check_expected_bits<T>(a, i))
			continue;
		lowest = wrong++ ? lowest : i * sizeof(T);
	}
	if (wrong) {
		atomicAdd((unsigned long long *)&a.found->count, wrong);
		atomicMin((unsigned long long *)&a.found->index, lowest);
	}
}

template <typename T>
static __global__ void stream_check_report_element(struct check_stream_arguments a)
{
	uint64_t i = a.found->index / sizeof(T);

	if (a.found->count == 0)
		return;
	a.found->expected = stream_check_expected_bits<T>(a, i);
	a.found->got = stream_check_bits_at<T>(a.out, i);
}

template <typename T>
static void stream_check_launch(const struct check_stream_arguments *a, cudaStream_t stream,
				unsigned most)
{
	unsigned blocks = storage_grid_for(a->bytes / sizeof(T), 256 * 4);

	blocks = blocks > most ? most : blocks;
	stream_check_all_elements<T><<<blocks, 256, 0, stream>>>(*a);
	stream_check_report_element<T><<<1, 1, 0, stream>>>(*a);
}

extern "C" enum status kernel_cuda_check_stream(struct stream *stream, const void *arguments,
						struct error *err)
{
	const struct check_stream_arguments *a = (const struct check_stream_arguments *)arguments;
	cudaStream_t handle = cuda_stream_handle(stream);
	unsigned most = (unsigned)cuda_stream_multiprocessors(stream) * 16;

	if (a->precision == PRECISION_FP32 && a->operation != STREAM_WRITE)
		stream_check_launch<float>(a, handle, most);
	else
		stream_check_launch<double>(a, handle, most);
	return cuda_device_check_launch("check_stream", err);
}
