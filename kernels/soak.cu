/* Sweeps over memory and products on the device: see soak.h. */
#include "kernels/soak.h"

#include "kernels/launch/cuda_kernel.h"

#define THREADS 256

/* A thread's finding: its first wrong word, and the number of wrong words. */
struct seen {
	unsigned long long count, flipped;
	struct wrong_word first;
};

static __device__ void look(struct seen *f, uint64_t offset, uint64_t address, uint64_t expected,
			    uint64_t got)
{
	if (got == expected)
		return;
	if (f->count++ == 0) {
		f->first.offset = offset;
		f->first.address = address;
		f->first.expected = expected;
		f->first.got = got;
	}
	f->flipped |= got ^ expected;
}

/* Called by all threads of a block. Wrong words are rare: what costs time here is never seen. */
static __device__ void report(const struct seen *f, struct wrong_words *out)
{
	__shared__ unsigned long long count;

	if (threadIdx.x == 0)
		count = 0;
	__syncthreads();
	if (f->count) {
		unsigned long long slot = atomicAdd((unsigned long long *)&out->recorded, 1ull);

		if (slot < WRONG_WORDS)
			out->words[slot] = f->first;
		atomicOr((unsigned long long *)&out->flipped, f->flipped);
		atomicAdd(&count, f->count);
	}
	__syncthreads();
	if (threadIdx.x == 0 && count)
		atomicAdd((unsigned long long *)&out->count, count);
}

/* Two words a thread; `flags` are the same for all threads, so they cost no divergence. */
static __global__ void soak_memory(ulonglong2 *memory, uint64_t pairs, uint64_t first,
				   struct pattern expected, struct pattern next, bool check,
				   bool write, bool descending, struct wrong_words *out)
{
	uint64_t stride = (uint64_t)gridDim.x * THREADS;
	struct seen found = {};

	for (uint64_t n = (uint64_t)blockIdx.x * THREADS + threadIdx.x; n < pairs; n += stride) {
		uint64_t i = descending ? pairs - 1 - n : n, index = first + 2 * i;
		uint64_t address = (uint64_t)(uintptr_t)(memory + i);

		if (check) {
			ulonglong2 got = memory[i];

			look(&found, 8 * index, address, pattern_word(expected, index, address),
			     got.x);
			look(&found, 8 * index + 8, address + 8,
			     pattern_word(expected, index + 1, address + 8), got.y);
		}
		if (write)
			memory[i] = make_ulonglong2(pattern_word(next, index, address),
						    pattern_word(next, index + 1, address + 8));
	}
	if (check)
		report(&found, out);
}

static __global__ void soak_compare(ulonglong2 *memory, const ulonglong2 *reference, uint64_t pairs,
				    struct wrong_words *out)
{
	uint64_t stride = (uint64_t)gridDim.x * THREADS;
	struct seen found = {};

	for (uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x; i < pairs; i += stride) {
		ulonglong2 got = memory[i], expected = reference[i];
		uint64_t address = (uint64_t)(uintptr_t)(memory + i);

		memory[i] = make_ulonglong2(~0ull, ~0ull);
		look(&found, 16 * i, address, expected.x, got.x);
		look(&found, 16 * i + 8, address + 8, expected.y, got.y);
	}
	report(&found, out);
}

/* Enough blocks to fill the device; each then does several stretches. */
static unsigned blocks_for(struct stream *stream, uint64_t pairs)
{
	uint64_t most = (uint64_t)cuda_stream_multiprocessors(stream) * 16;
	uint64_t blocks = (pairs + THREADS - 1) / THREADS;

	return (unsigned)(blocks < most ? blocks : most);
}

extern "C" enum status kernel_cuda_soak_memory(struct stream *stream, const void *arguments,
					       struct error *err)
{
	const struct soak_memory_arguments *a = (const struct soak_memory_arguments *)arguments;
	cudaStream_t handle = cuda_stream_handle(stream);

	if (a->words % 2 || (uintptr_t)a->memory % 16)
		return error_set(err, STATUS_INTERNAL,
				 "soak_memory: memory must be aligned to 16 bytes, and as long");
	if (a->words == 0)
		return STATUS_OK;
	soak_memory<<<blocks_for(stream, a->words / 2), THREADS, 0, handle>>>(
		(ulonglong2 *)a->memory, a->words / 2, a->first, a->expected, a->next, a->check,
		a->write, a->descending, a->out);
	return cuda_check_launch("soak_memory", err);
}

extern "C" enum status kernel_cuda_soak_compare(struct stream *stream, const void *arguments,
						struct error *err)
{
	const struct soak_compare_arguments *a = (const struct soak_compare_arguments *)arguments;
	cudaStream_t handle = cuda_stream_handle(stream);

	if (a->bytes % 16 || (uintptr_t)a->memory % 16 || (uintptr_t)a->reference % 16)
		return error_set(err, STATUS_INTERNAL,
				 "soak_compare: memory must be aligned to 16 bytes, and as long");
	if (a->bytes == 0)
		return STATUS_OK;
	soak_compare<<<blocks_for(stream, a->bytes / 16), THREADS, 0, handle>>>(
		(ulonglong2 *)a->memory, (const ulonglong2 *)a->reference, a->bytes / 16, a->out);
	return cuda_check_launch("soak_compare", err);
}
