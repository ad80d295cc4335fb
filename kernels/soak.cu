/* Sweeps over memory, periodic operands and the check of GEMMs on the device: see soak.h. */
#include "kernels/soak.h"

#include "device/cuda/cuda_kernel.h"
#include "kernels/storage.cuh"

#define THREADS 256

/* A thread's finding: its first wrong word, and the numbers of words compared and wrong. */
struct seen {
	unsigned long long compared, count, flipped;
	struct wrong_word first;
};

static __device__ void look(struct seen *f, uint64_t offset, uint64_t address, uint64_t expected,
			    uint64_t got)
{
	f->compared++;
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
	__shared__ unsigned long long count, compared;

	if (threadIdx.x == 0)
		count = compared = 0;
	__syncthreads();
	atomicAdd(&compared, f->compared);
	if (f->count) {
		unsigned long long slot = atomicAdd((unsigned long long *)&out->recorded, 1ull);

		if (slot < WRONG_WORDS)
			out->words[slot] = f->first;
		atomicOr((unsigned long long *)&out->flipped, f->flipped);
		atomicAdd(&count, f->count);
	}
	__syncthreads();
	if (threadIdx.x == 0) {
		atomicAdd((unsigned long long *)&out->compared, compared);
		if (count)
			atomicAdd((unsigned long long *)&out->count, count);
	}
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

template <typename T> static __device__ void store_operand(T *to, int32_t value)
{
	from_math(to, (typename math_of<T>::type)value);
}
static __device__ void store_operand(fixed8 *to, int32_t value)
{
	to->units = (int8_t)value;
}

template <typename T>
static __global__ void soak_operand(T *memory, uint64_t rows, uint64_t count, uint32_t row_period,
				    uint32_t column_period, uint32_t range, uint64_t seed)
{
	uint64_t stride = (uint64_t)gridDim.x * THREADS;

	for (uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x; i < count; i += stride) {
		uint32_t row = (uint32_t)(i % rows), column = (uint32_t)(i / rows);

		store_operand(memory + i,
			      soak_value(seed, row_period ? row % row_period : row,
					 column_period ? column % column_period : column, range));
	}
}

/* 16 bytes of a result. */
template <typename T> struct alignas(16) results {
	T v[16 / sizeof(T)];
};

/* A block for each column, whose entries of the table lie in shared memory. */
template <typename T>
static __global__ void soak_table(const T *memory, const T *table, uint64_t rows,
				  uint32_t row_period, uint32_t column_period, uint32_t row_offset,
				  uint32_t column_offset, uint32_t canary, struct wrong_words *out)
{
	const unsigned V = 16 / sizeof(T);
	__shared__ T expected[SOAK_ROW_PERIOD_MOST];
	uint32_t kind = (uint32_t)((blockIdx.x + (uint64_t)column_offset) % column_period);
	const T *column = memory + (uint64_t)blockIdx.x * rows;
	struct seen found = {};

	for (uint32_t i = threadIdx.x; i < row_period; i += THREADS) {
		uint32_t entry = kind * row_period + i;

		expected[i] = table[entry] ^ (T)(entry == canary);
	}
	__syncthreads();
	for (uint64_t i = (uint64_t)threadIdx.x * V; i < rows; i += THREADS * V) {
		struct results<T> got = *reinterpret_cast<const struct results<T> *>(column + i);
		uint32_t at = (uint32_t)((i + row_offset) % row_period);

#pragma unroll
		for (unsigned k = 0; k < V; k++) {
			look(&found, sizeof(T) * ((uint64_t)blockIdx.x * rows + i + k),
			     (uint64_t)(uintptr_t)(column + i + k), expected[at], got.v[k]);
			at = at + 1 == row_period ? 0 : at + 1;
		}
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

template <typename T>
static void fill_operand(struct stream *stream, const struct soak_operand_arguments *a)
{
	uint64_t count = a->rows * a->columns;

	soak_operand<<<blocks_for(stream, count), THREADS, 0, cuda_stream_handle(stream)>>>(
		(T *)a->memory, a->rows, count, a->row_period, a->column_period, a->range, a->seed);
}

extern "C" enum status kernel_cuda_soak_operand(struct stream *stream, const void *arguments,
						struct error *err)
{
	const struct soak_operand_arguments *a = (const struct soak_operand_arguments *)arguments;

	if (a->rows * a->columns == 0)
		return STATUS_OK;
	switch (a->precision) {
	case PRECISION_FP64:
		fill_operand<double>(stream, a);
		break;
	case PRECISION_FP32:
	case PRECISION_TF32:
		fill_operand<float>(stream, a);
		break;
	case PRECISION_FP16:
		fill_operand<half>(stream, a);
		break;
	case PRECISION_BF16:
		fill_operand<bfloat16>(stream, a);
		break;
	case PRECISION_FP8:
		fill_operand<fp8_e4m3>(stream, a);
		break;
	case PRECISION_INT8:
		fill_operand<fixed8>(stream, a);
		break;
	default:
		return error_set(err, STATUS_INTERNAL, "soak_operand: no operands of %s",
				 precision_name(a->precision));
	}
	return cuda_check_launch("soak_operand", err);
}

template <typename T>
static void compare_table(struct stream *stream, const struct soak_table_arguments *a)
{
	soak_table<<<(unsigned)a->columns, THREADS, 0, cuda_stream_handle(stream)>>>(
		(const T *)a->memory, (const T *)a->table, a->rows, a->row_period, a->column_period,
		a->row_offset, a->column_offset, a->canary, a->out);
}

extern "C" enum status kernel_cuda_soak_table(struct stream *stream, const void *arguments,
					      struct error *err)
{
	const struct soak_table_arguments *a = (const struct soak_table_arguments *)arguments;

	if (a->rows % 4 || (uintptr_t)a->memory % 16 || a->row_period > SOAK_ROW_PERIOD_MOST)
		return error_set(err, STATUS_INTERNAL,
				 "soak_table: rows, alignment or period do not fit");
	if (a->rows * a->columns == 0)
		return STATUS_OK;
	if (a->element_bytes == 8)
		compare_table<unsigned long long>(stream, a);
	else
		compare_table<unsigned int>(stream, a);
	return cuda_check_launch("soak_table", err);
}
