/* Verifies sums over ranks on the device: see reduction.h. */
#include "kernels/reduction.h"

#include "kernels/generator.h"
#include "device/cuda/cuda_kernel.h"
#include "kernels/storage.cuh"

#define THREADS 256

/* Sum of element `index` over the ranks; sum of the magnitudes in *magnitude. */
template <typename T>
static __device__ double reduction_expected_sum(const struct check_reduction_arguments &a,
						uint64_t index, double *magnitude)
{
	double sum = 0;

	*magnitude = 0;
	for (int rank = 0; rank < a.ranks; rank++) {
		T stored;
		double x;

		storage_from_math(&stored,
				  a.scale * (double)generator_uniform(a.seed + (uint64_t)rank,
								      index));
		storage_to_math(&x, stored);
		sum += x;
		*magnitude += fabs(x);
	}
	return sum;
}

/* Wrong elements are rare: a block adds its findings with few atomics. */
template <typename T>
static __global__ void reduction_check_sums(struct check_reduction_arguments a)
{
	__shared__ unsigned long long wrong, lowest, worst;
	const T *memory = (const T *)a.memory;
	unsigned long long mine = 0, where = ~0ull;
	double most = 0;

	if (threadIdx.x == 0) {
		wrong = worst = 0;
		lowest = ~0ull;
	}
	__syncthreads();
	for (uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x; i < a.count;
	     i += (uint64_t)gridDim.x * THREADS) {
		double got, magnitude, sum = reduction_expected_sum<T>(a, a.first + i, &magnitude),
				       error;

		storage_to_math(&got, memory[i]);
		error = fabs(got - sum);
		if (!(error <= a.tolerance * magnitude)) {
			mine++;
			where = where < i ? where : i;
		}
		/* Written so that NaN counts as infinity. */
		error = error <= 0 ? 0 : error < magnitude * 1e300 ? error / magnitude : INFINITY;
		most = most > error ? most : error;
	}
	if (mine) {
		atomicAdd(&wrong, mine);
		atomicMin(&lowest, where);
	}
	/* Non-negative doubles compare like their bits. */
	atomicMax(&worst, (unsigned long long)__double_as_longlong(most));
	__syncthreads();
	if (threadIdx.x == 0) {
		atomicMax((unsigned long long *)&a.out->error, worst);
		if (wrong) {
			atomicAdd((unsigned long long *)&a.out->count, wrong);
			atomicMin((unsigned long long *)&a.out->index, lowest);
		}
	}
}

/* Runs after all blocks: reads the element at the lowest index. */
template <typename T>
static __global__ void reduction_report_sum(struct check_reduction_arguments a)
{
	double magnitude;

	if (a.out->count == 0 || a.out->index >= a.count)
		return;
	a.out->expected = reduction_expected_sum<T>(a, a.first + a.out->index, &magnitude);
	storage_to_math(&a.out->got, ((const T *)a.memory)[a.out->index]);
}

extern "C" enum status kernel_cuda_check_reduction(struct stream *stream, const void *arguments,
						   struct error *err)
{
	const struct check_reduction_arguments a =
		*(const struct check_reduction_arguments *)arguments;
	cudaStream_t handle = cuda_stream_handle(stream);
	unsigned most = (unsigned)cuda_stream_multiprocessors(stream) * 32;
	unsigned blocks = storage_grid_for(a.count, THREADS);

	if (a.count == 0)
		return STATUS_OK;
	if (blocks > most) /* enough to fill the device */
		blocks = most;
#define CHECK(T)                                                    \
	reduction_check_sums<T><<<blocks, THREADS, 0, handle>>>(a); \
	reduction_report_sum<T><<<1, 1, 0, handle>>>(a)
	FOR_STORAGE(a.precision, CHECK)
#undef CHECK
	return cuda_device_check_launch("check_reduction", err);
}
