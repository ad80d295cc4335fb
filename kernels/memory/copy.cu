/*
 * Copy kernel: see copy.h. On an H200 the better half of 31 variants (threads, blocks, requests in
 * flight, cache hints, bulk copies through shared memory) were within a few percent of each other
 * on every link; few blocks, and both ends in one warp, were far slower. That 128-byte packets are
 * the limit is an assumption, not measured.
 */
#include "kernels/memory/copy.h"

#include "device/cuda/cuda_kernel.h"
#include "kernels/storage.cuh"

#define THREADS 512
/* Vectors in flight per thread. */
#define DEPTH 4

/*
 * Copies DEPTH vectors, `lane` apart, from vector `first` on, then advances by `step`, within
 * `count`; vector by vector at the end.
 */
static __device__ void memory_copy_move(uint4 *to, const uint4 *from, uint64_t count,
					uint64_t first, uint64_t lane, uint64_t step)
{
	for (uint64_t at = first; at < count; at += step) {
		uint4 x[DEPTH];

		if (at + (DEPTH - 1) * lane < count) {
#pragma unroll
			for (int k = 0; k < DEPTH; k++)
				x[k] = from[at + k * lane];
#pragma unroll
			for (int k = 0; k < DEPTH; k++)
				to[at + k * lane] = x[k];
			continue;
		}
		for (uint64_t k = at; k < count && k < at + DEPTH * lane; k += lane)
			to[k] = from[k];
	}
}

/* Copies the bytes after the last whole vector. */
static __device__ void memory_copy_move_rest(char *to, const char *from, uint64_t bytes)
{
	if (blockIdx.x == 0 && threadIdx.x < bytes % 16)
		to[bytes / 16 * 16 + threadIdx.x] = from[bytes / 16 * 16 + threadIdx.x];
}

static __global__ void __launch_bounds__(THREADS, 2)
	memory_copy_kernel(char *to, const char *from, uint64_t bytes, uint64_t count, bool blocked)
{
	uint64_t width = blocked ? THREADS : (uint64_t)gridDim.x * THREADS;
	uint64_t first = (uint64_t)blockIdx.x * THREADS * (blocked ? DEPTH : 1) + threadIdx.x;

	for (uint64_t i = 0; i < count; i++) {
		memory_copy_move((uint4 *)to, (const uint4 *)from, bytes / 16, first, width,
				 (uint64_t)gridDim.x * THREADS * DEPTH);
		memory_copy_move_rest(to, from, bytes);
	}
}

/*
 * Warps alternate: an even one copies a vector per thread forth, the next odd one the same vectors
 * back.
 */
static __global__ void memory_copy_both_by_warps(char *to, const char *from, char *back_to,
						 const char *back_from, uint64_t bytes)
{
	uint64_t thread = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
	uint64_t at = thread / 64 * 32 + thread % 32;

	if (thread / 32 % 2) {
		to = back_to;
		from = back_from;
	}
	if (at < bytes / 16)
		((uint4 *)to)[at] = ((const uint4 *)from)[at];
	if (blockIdx.x == 0 && thread < 64 && at < bytes % 16)
		to[bytes / 16 * 16 + at] = from[bytes / 16 * 16 + at];
}

/* Every thread copies in both directions, so that neither can run ahead. */
static __global__ void __launch_bounds__(THREADS, 2)
	memory_copy_both_by_threads(char *to, const char *from, char *back_to,
				    const char *back_from, uint64_t bytes)
{
	uint64_t step = (uint64_t)gridDim.x * THREADS;

	for (uint64_t at = (uint64_t)blockIdx.x * THREADS + threadIdx.x; at < bytes / 16;
	     at += step) {
		uint4 forth = ((const uint4 *)from)[at], back = ((const uint4 *)back_from)[at];

		((uint4 *)to)[at] = forth;
		((uint4 *)back_to)[at] = back;
	}
	memory_copy_move_rest(to, from, bytes);
	memory_copy_move_rest(back_to, back_from, bytes);
}

static void memory_copy_launch_both(const struct copy_arguments *a, unsigned most,
				    cudaStream_t stream)
{
	char *to = (char *)a->to, *back_to = (char *)a->back_to;
	const char *from = (const char *)a->from, *back_from = (const char *)a->back_from;

	for (uint64_t i = 0; i < a->count; i++) {
		if (a->method == COPY_STRIDED)
			memory_copy_both_by_threads<<<most, THREADS, 0, stream>>>(to, from, back_to,
										  back_from,
										  a->bytes);
		else
			memory_copy_both_by_warps<<<storage_grid_for(a->bytes, THREADS * 8),
						    THREADS, 0, stream>>>(to, from, back_to,
									  back_from, a->bytes);
	}
}

extern "C" enum status kernel_cuda_copy(struct stream *stream, const void *arguments,
					struct error *err)
{
	const struct copy_arguments *a = (const struct copy_arguments *)arguments;
	cudaStream_t handle = cuda_stream_handle(stream);
	uint64_t wanted = storage_grid_for(a->bytes, THREADS * 16);
	unsigned most = (unsigned)cuda_stream_multiprocessors(stream);
	unsigned blocks = wanted < most ? (unsigned)wanted : most;

	if (!storage_packs_aligned(a->to) || !storage_packs_aligned(a->from) ||
	    (a->back_to &&
	     !(storage_packs_aligned(a->back_to) && storage_packs_aligned(a->back_from))))
		return error_set(err, STATUS_INTERNAL, "copy: memory must be aligned to 16 bytes");
	if (a->bytes == 0)
		return STATUS_OK;
	if (a->back_to)
		memory_copy_launch_both(a, blocks, handle);
	else
		memory_copy_kernel<<<blocks, THREADS, 0, handle>>>((char *)a->to,
								   (const char *)a->from, a->bytes,
								   a->count,
								   a->method != COPY_STRIDED);
	return cuda_device_check_launch("copy", err);
}
