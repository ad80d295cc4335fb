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

/* Copies DEPTH vectors of a thread at a time; vector by vector at the end. */
static __device__ void memory_copy_move(uint4 *to, const uint4 *from, uint64_t count)
{
	for (uint64_t at = (uint64_t)blockIdx.x * THREADS * DEPTH + threadIdx.x; at < count;
	     at += (uint64_t)gridDim.x * THREADS * DEPTH) {
		uint4 x[DEPTH];

		if (at + (DEPTH - 1) * THREADS < count) {
#pragma unroll
			for (int k = 0; k < DEPTH; k++)
				x[k] = from[at + k * THREADS];
#pragma unroll
			for (int k = 0; k < DEPTH; k++)
				to[at + k * THREADS] = x[k];
			continue;
		}
		for (uint64_t k = at; k < count && k < at + DEPTH * THREADS; k += THREADS)
			to[k] = from[k];
	}
}

/* Copies the bytes after the last whole vector. */
static __device__ void memory_copy_move_rest(char *to, const char *from, uint64_t bytes)
{
	if (blockIdx.x == 0 && threadIdx.x < bytes % 16)
		to[bytes / 16 * 16 + threadIdx.x] = from[bytes / 16 * 16 + threadIdx.x];
}

/* Each block copies neighbouring lines, blocks side by side. */
static __global__ void __launch_bounds__(THREADS, 2)
	memory_copy_kernel(char *to, const char *from, uint64_t bytes, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		memory_copy_move((uint4 *)to, (const uint4 *)from, bytes / 16);
		memory_copy_move_rest(to, from, bytes);
	}
}

/*
 * Warps alternate: an even one copies a vector per thread forth, the next odd one the same vectors
 * back.
 */
static __global__ void memory_copy_both(char *to, const char *from, char *back_to,
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
	if (!a->back_to)
		memory_copy_kernel<<<blocks, THREADS, 0, handle>>>((char *)a->to,
								   (const char *)a->from, a->bytes,
								   a->count);
	for (uint64_t i = 0; i < a->count && a->back_to; i++)
		memory_copy_both<<<storage_grid_for(a->bytes, THREADS * 8), THREADS, 0, handle>>>(
			(char *)a->to, (const char *)a->from, (char *)a->back_to,
			(const char *)a->back_from, a->bytes);
	return cuda_device_check_launch("copy", err);
}
