/* Kernels of semaphores.c. */
#include "device/cuda/ranks/semaphores.h"
#include "kernels/device_clock.cuh"
#include "kernels/storage.cuh"

#define THREADS 256

static __global__ void semaphores_flag_wait(const volatile unsigned *flag, unsigned value)
{
	while ((int)(*flag - value) < 0)
		device_clock_relax();
	__threadfence_system();
}

static __global__ void semaphores_flag_raise(volatile unsigned *flag, unsigned value)
{
	__threadfence_system();
	*flag = value;
	__threadfence_system();
}

extern "C" enum status cuda_semaphore_wait_launch(struct stream *stream, const void *flag,
						  unsigned value, struct error *err)
{
	semaphores_flag_wait<<<1, 1, 0, cuda_stream_handle(stream)>>>(
		(const volatile unsigned *)flag, value);
	return cuda_device_check_path("flag_wait", "waiting kernel", err);
}

extern "C" enum status cuda_semaphore_signal_launch(struct stream *stream, void *flag,
						    unsigned value, struct error *err)
{
	semaphores_flag_raise<<<1, 1, 0, cuda_stream_handle(stream)>>>((volatile unsigned *)flag,
								       value);
	return cuda_device_check_launch("flag_raise", err);
}

/* See struct relay_sum. */
template <typename T>
static __global__ void semaphores_sum_slot(T *to, const T *slot, const T *own, uint64_t count,
					   bool larger, double slot_factor, double own_factor,
					   bool aligned)
{
	typedef typename math_of<T>::type math;
	const int V = 16 / sizeof(T);

	for (uint64_t i = ((uint64_t)blockIdx.x * THREADS + threadIdx.x) * V; i < count;
	     i += (uint64_t)gridDim.x * THREADS * V) {
		math x[V], y[V];

		storage_load_pack<V>(x, slot, i, count, aligned);
		storage_load_pack<V>(y, own, i, count, aligned);
#pragma unroll
		for (int k = 0; k < V; k++)
			x[k] = larger ? (x[k] > y[k] ? x[k] : y[k])
				      : (math)slot_factor * x[k] + (math)own_factor * y[k];
		storage_store_pack<V>(to, x, i, count, aligned);
	}
}

extern "C" enum status semaphores_sum_launch(struct stream *stream, const void *slot,
					     const struct relay_sum *sum, struct error *err)
{
	cudaStream_t handle = cuda_stream_handle(stream);
	bool aligned = storage_packs_aligned(sum->to, slot, sum->own);

#define CALL(T)                                                                                   \
	semaphores_sum_slot<T>                                                                    \
		<<<storage_grid_for(sum->count, THREADS * 16 / sizeof(T)), THREADS, 0, handle>>>( \
			(T *)sum->to, (const T *)slot, (const T *)sum->own, sum->count,           \
			sum->larger, sum->slot_factor, sum->own_factor, aligned)
	FOR_STORAGE(sum->precision, CALL)
#undef CALL
	return cuda_device_check_launch("sum_slot", err);
}
