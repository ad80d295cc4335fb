/* Fills and verifies memory on the device: see fill.h. */
#include "kernels/memory/fill.h"

#include "kernels/generator.h"
#include "device/cuda/cuda_kernel.h"
#include "kernels/storage.cuh"

#define THREADS 256

/* 16 bytes per thread; the last thread writes the rest byte by byte. */
static __global__ void fill_bits(unsigned char *memory, uint64_t bytes, uint64_t first_word,
				 uint64_t seed)
{
	uint64_t stride = (uint64_t)gridDim.x * THREADS * 16;

	for (uint64_t at = ((uint64_t)blockIdx.x * THREADS + threadIdx.x) * 16; at < bytes;
	     at += stride) {
		uint64_t word = first_word + at / 8;
		ulonglong2 x =
			make_ulonglong2(generator_bits(seed, word), generator_bits(seed, word + 1));

		if (at + 16 <= bytes) {
			*reinterpret_cast<ulonglong2 *>(memory + at) = x;
		} else {
			for (unsigned k = 0; at + k < bytes; k++)
				memory[at + k] =
					(unsigned char)((k < 8 ? x.x : x.y) >> (k % 8 * 8));
		}
	}
}

template <typename T>
static __global__ void fill_numbers(T *memory, uint64_t count, uint64_t first, uint64_t seed,
				    double scale, bool aligned)
{
	const int V = 16 / sizeof(T);
	uint64_t stride = (uint64_t)gridDim.x * THREADS * V;

	for (uint64_t i = ((uint64_t)blockIdx.x * THREADS + threadIdx.x) * V; i < count;
	     i += stride) {
		double x[V];

#pragma unroll
		for (int k = 0; k < V; k++)
			x[k] = scale * (double)generator_uniform(seed, first + i + k);
		storage_store_pack<V>(memory, x, i, count, aligned);
	}
}

template <typename T>
static void fill_launch_numbers(const struct fill_arguments *a, cudaStream_t stream)
{
	fill_numbers<T>
		<<<storage_grid_for(a->count, THREADS * 16 / sizeof(T)), THREADS, 0, stream>>>(
			(T *)a->memory, a->count, a->first, a->seed, a->scale,
			storage_packs_aligned(a->memory));
}

extern "C" enum status kernel_cuda_fill(struct stream *stream, const void *arguments,
					struct error *err)
{
	const struct fill_arguments *a = (const struct fill_arguments *)arguments;
	cudaStream_t handle = cuda_stream_handle(stream);

	if (a->count == 0)
		return STATUS_OK;
	switch (a->kind) {
	case FILL_BITS:
		if (a->first % 8 || !storage_packs_aligned(a->memory))
			return error_set(err, STATUS_INTERNAL,
					 "fill: memory must be aligned to 16 and first to 8 bytes");
		fill_bits<<<storage_grid_for(a->count, THREADS * 16), THREADS, 0, handle>>>(
			(unsigned char *)a->memory, a->count, a->first / 8, a->seed);
		break;
	case FILL_FP64:
		fill_launch_numbers<double>(a, handle);
		break;
	case FILL_FP32:
		fill_launch_numbers<float>(a, handle);
		break;
	case FILL_FP16:
		fill_launch_numbers<half>(a, handle);
		break;
	case FILL_BF16:
		fill_launch_numbers<bfloat16>(a, handle);
		break;
	case FILL_FP8:
		fill_launch_numbers<fp8_e4m3>(a, handle);
		break;
	case FILL_E5M2:
		fill_launch_numbers<fp8_e5m2>(a, handle);
		break;
	case FILL_FIXED8:
		fill_launch_numbers<fixed8>(a, handle);
		break;
	}
	return cuda_device_check_launch("fill", err);
}

/*
 * The 8-byte word at `at`, using only bytes below `bytes`; the same bytes of `expected` in
 * *expected.
 */
static __device__ uint64_t fill_word_at(const unsigned char *memory, uint64_t at, uint64_t bytes,
					uint64_t *expected)
{
	uint64_t got = 0;

	if (at + 8 <= bytes && (uintptr_t)(memory + at) % 8 == 0)
		return *reinterpret_cast<const uint64_t *>(memory + at);
	for (unsigned k = 0; k < 8 && at + k < bytes; k++)
		got |= (uint64_t)memory[at + k] << (k * 8);
	if (at + 8 > bytes)
		*expected &= (UINT64_C(1) << ((bytes - at) * 8)) - 1;
	return got;
}

/* Wrong words are rare: a block that found some adds them with two atomics. */
static __global__ void check_fill(const unsigned char *memory, uint64_t bytes, uint64_t first_word,
				  uint64_t seed, bool aligned, struct fill_mismatch *out)
{
	__shared__ unsigned long long wrong, lowest;
	unsigned long long mine = 0, where = ~0ull;
	uint64_t stride = (uint64_t)gridDim.x * THREADS * 16;

	if (threadIdx.x == 0) {
		wrong = 0;
		lowest = ~0ull;
	}
	__syncthreads();
	for (uint64_t at = ((uint64_t)blockIdx.x * THREADS + threadIdx.x) * 16; at < bytes;
	     at += stride) {
		if (aligned && at + 16 <= bytes) {
			ulonglong2 x = *reinterpret_cast<const ulonglong2 *>(memory + at);
			uint64_t word = first_word + at / 8;
			bool bad[2] = { x.x != generator_bits(seed, word),
					x.y != generator_bits(seed, word + 1) };

			mine += bad[0] + bad[1];
			if (where == ~0ull && (bad[0] || bad[1]))
				where = at + (bad[0] ? 0 : 8);
			continue;
		}
		for (uint64_t w = at; w < at + 16 && w < bytes; w += 8) {
			uint64_t expected = generator_bits(seed, first_word + w / 8);

			if (fill_word_at(memory, w, bytes, &expected) != expected) {
				mine++;
				where = w < where ? w : where;
			}
		}
	}
	if (mine) {
		atomicAdd(&wrong, mine);
		atomicMin(&lowest, where);
	}
	__syncthreads();
	if (threadIdx.x == 0 && wrong) {
		atomicAdd((unsigned long long *)&out->count, wrong);
		atomicMin((unsigned long long *)&out->index, lowest);
	}
}

/* Runs after all blocks: reads the words at the lowest index. */
static __global__ void check_fill_report(const unsigned char *memory, uint64_t bytes,
					 uint64_t first_word, uint64_t seed,
					 struct fill_mismatch *out)
{
	uint64_t expected, got;

	if (out->count == 0 || out->index >= bytes)
		return;
	expected = generator_bits(seed, first_word + out->index / 8);
	got = fill_word_at(memory, out->index, bytes, &expected);
	if (got == expected)
		return; /* from an earlier launch, in other memory */
	out->got = got;
	out->expected = expected;
}

extern "C" enum status kernel_cuda_check_fill(struct stream *stream, const void *arguments,
					      struct error *err)
{
	const struct check_fill_arguments *a = (const struct check_fill_arguments *)arguments;
	const unsigned char *memory = (const unsigned char *)a->memory;
	cudaStream_t handle = cuda_stream_handle(stream);
	uint64_t most = (uint64_t)cuda_stream_multiprocessors(stream) * 32;
	uint64_t blocks = storage_grid_for(a->bytes, THREADS * 16);

	if (blocks > most) /* enough to fill the device; each block then processes several ranges */
		blocks = most;
	if (a->first % 8)
		return error_set(err, STATUS_INTERNAL,
				 "check_fill: first must be a multiple of 8 bytes");
	if (a->bytes == 0)
		return STATUS_OK;
	check_fill<<<(unsigned)blocks, THREADS, 0, handle>>>(memory, a->bytes, a->first / 8,
							     a->seed, storage_packs_aligned(memory),
							     a->out);
	check_fill_report<<<1, 1, 0, handle>>>(memory, a->bytes, a->first / 8, a->seed, a->out);
	return cuda_device_check_launch("check_fill", err);
}
