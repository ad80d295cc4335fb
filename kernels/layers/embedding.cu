/*
 * Embeddings: see layers.h. The gradient adds in the order of the positions of the ids. Positions
 * are first sorted by id (counting sort); then a block adds the lines of one row of the table.
 */
#include "device/cuda/cuda_kernel.h"
#include "kernels/layers/layers.h"
#include "kernels/storage.cuh"

#define THREADS 128
#define SCAN_THREADS 1024
#define SORT_THREADS 256

template <typename T> static __global__ void embedding_gather(embedding_gather_arguments a)
{
	for (uint64_t i = blockIdx.x; i < a.count; i += gridDim.x) {
		uint64_t id = (uint64_t)a.ids[i] - a.first;
		bool there = a.rows == 0 || id < a.rows;
		const T *row = (const T *)a.table + id * a.columns;
		const T *position = (const T *)a.position;

		for (uint64_t c = threadIdx.x; c < a.columns; c += THREADS) {
			float x = 0, p = 0;

			if (there)
				storage_to_math(&x, row[c]);
			if (position)
				storage_to_math(&p, position[i % a.positions * a.columns + c]);
			storage_from_math((T *)a.y + i * a.columns + c, x + p);
		}
	}
}

static __global__ void embedding_count_ids(const int32_t *ids, uint64_t count, uint32_t *counts,
					   uint64_t first, uint64_t rows)
{
	for (uint64_t i = (uint64_t)blockIdx.x * SORT_THREADS + threadIdx.x; i < count;
	     i += (uint64_t)gridDim.x * SORT_THREADS)
		if ((uint64_t)ids[i] - first < rows)
			atomicAdd(&counts[ids[i] - first], 1u);
}

/*
 * Exclusive prefix sum: counts[v] becomes the sum of those before it, counts[rows] that of all.
 * Runs in one block, range by range.
 */
static __global__ void __launch_bounds__(SCAN_THREADS)
	embedding_scan_counts(uint32_t *counts, uint64_t rows)
{
	__shared__ uint32_t sums[SCAN_THREADS];
	uint64_t each = (rows + SCAN_THREADS - 1) / SCAN_THREADS;
	uint64_t begin = threadIdx.x * each, end = begin + each < rows ? begin + each : rows;
	uint32_t sum = 0;

	for (uint64_t i = begin; i < end; i++)
		sum += counts[i];
	sums[threadIdx.x] = sum;
	for (unsigned step = 1; step < SCAN_THREADS; step *= 2) {
		uint32_t before;

		__syncthreads();
		before = threadIdx.x >= step ? sums[threadIdx.x - step] : 0;
		__syncthreads();
		sums[threadIdx.x] += before;
	}
	sum = sums[threadIdx.x] - sum;
	for (uint64_t i = begin; i < end; i++) {
		uint32_t own = counts[i];

		counts[i] = sum;
		sum += own;
	}
	if (threadIdx.x == SCAN_THREADS - 1)
		counts[rows] = sum;
}

static __global__ void __launch_bounds__(SORT_THREADS)
	embedding_sort_places(const int32_t *ids, uint64_t count, const uint32_t *firsts,
			      uint32_t *places, uint64_t row, uint64_t rows)
{
	__shared__ int32_t near[SORT_THREADS];
	uint64_t i = (uint64_t)blockIdx.x * SORT_THREADS + threadIdx.x;
	int32_t id = i < count ? ids[i] : -1;
	uint32_t before = 0;

	for (uint64_t first = 0; first <= (uint64_t)blockIdx.x * SORT_THREADS;
	     first += SORT_THREADS) {
		__syncthreads();
		near[threadIdx.x] = first + threadIdx.x < count ? ids[first + threadIdx.x] : -2;
		__syncthreads();
#pragma unroll 16
		for (unsigned k = 0; k < SORT_THREADS; k++)
			before += near[k] == id && first + k < i;
	}
	if (i < count && (uint64_t)id - row < rows)
		places[firsts[id - row] + before] = (uint32_t)i;
}

template <typename T> static __global__ void embedding_scatter(embedding_scatter_add_arguments a)
{
	const uint32_t *firsts = (const uint32_t *)a.scratch, *places = firsts + a.rows + 1;

	for (uint64_t row = blockIdx.x; row < a.rows; row += gridDim.x) {
		uint32_t begin = firsts[row], end = firsts[row + 1];
		T *out = (T *)a.dtable + row * a.columns;

		for (uint64_t c = threadIdx.x; c < a.columns; c += THREADS) {
			float sum = 0, old = 0;

#pragma unroll 4
			for (uint32_t p = begin; p < end; p++) {
				float x;

				storage_to_math(&x, ((const T *)a.dy)[places[p] * a.columns + c]);
				sum += x;
			}
			if (a.keep != 0)
				storage_to_math(&old, out[c]);
			storage_from_math(&out[c], a.keep != 0 ? a.keep * old + sum : sum);
		}
	}
}

extern "C" enum status kernel_cuda_embedding_gather(struct stream *stream, const void *arguments,
						    struct error *err)
{
	const embedding_gather_arguments *a = (const embedding_gather_arguments *)arguments;
	cudaStream_t handle = cuda_stream_handle(stream);

	if (layer_check("embedding_gather", a->precision, err) != STATUS_OK)
		return err->status;
	if (a->count == 0)
		return STATUS_OK;
#define CALL(T) embedding_gather<T><<<storage_grid_for(a->count, 1), THREADS, 0, handle>>>(*a)
	FOR_STORED_FLOATS(a->precision, CALL)
#undef CALL
	return cuda_device_check_launch("embedding_gather", err);
}

extern "C" enum status kernel_cuda_embedding_scatter_add(struct stream *stream,
							 const void *arguments, struct error *err)
{
	const embedding_scatter_add_arguments *a =
		(const embedding_scatter_add_arguments *)arguments;
	cudaStream_t handle = cuda_stream_handle(stream);
	uint32_t *firsts = (uint32_t *)a->scratch;

	if (layer_check("embedding_scatter_add", a->precision, err) != STATUS_OK)
		return err->status;
	if (a->rows == 0)
		return STATUS_OK;
	cudaMemsetAsync(firsts, 0, (a->rows + 1) * sizeof(*firsts), handle);
	if (a->count > 0)
		embedding_count_ids<<<storage_grid_for(a->count, SORT_THREADS), SORT_THREADS, 0,
				      handle>>>(a->ids, a->count, firsts, a->first, a->rows);
	embedding_scan_counts<<<1, SCAN_THREADS, 0, handle>>>(firsts, a->rows);
	if (a->count > 0)
		embedding_sort_places<<<storage_grid_for(a->count, SORT_THREADS), SORT_THREADS, 0,
					handle>>>(a->ids, a->count, firsts, firsts + a->rows + 1,
						  a->first, a->rows);
#define CALL(T) embedding_scatter<T><<<storage_grid_for(a->rows, 1), THREADS, 0, handle>>>(*a)
	FOR_STORED_FLOATS(a->precision, CALL)
#undef CALL
	return cuda_device_check_launch("embedding_scatter_add", err);
}
