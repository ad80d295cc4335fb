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

static __device__ void soak_note_wrong(struct seen *f, uint64_t offset, uint64_t address,
				       uint64_t expected, uint64_t got)
{
	if (f->count++ == 0) {
		f->first.offset = offset;
		f->first.address = address;
		f->first.expected = expected;
		f->first.got = got;
	}
	f->flipped |= got ^ expected;
}

static __device__ void soak_look(struct seen *f, uint64_t offset, uint64_t address,
				 uint64_t expected, uint64_t got)
{
	f->compared++;
	if (got != expected)
		soak_note_wrong(f, offset, address, expected, got);
}

/* Called by all threads of a block. Wrong words are rare: what costs time here is never seen. */
static __device__ void soak_report(const struct seen *f, struct wrong_words *out)
{
	__shared__ unsigned long long count, compared;
	unsigned long long words = f->compared;

	if (threadIdx.x == 0)
		count = compared = 0;
	__syncthreads();
	for (int distance = 16; distance; distance /= 2)
		words += __shfl_xor_sync(0xffffffff, words, distance);
	if (threadIdx.x % 32 == 0)
		atomicAdd(&compared, words);
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

			soak_look(&found, 8 * index, address,
				  soak_pattern_word(expected, index, address), got.x);
			soak_look(&found, 8 * index + 8, address + 8,
				  soak_pattern_word(expected, index + 1, address + 8), got.y);
		}
		if (write)
			memory[i] =
				make_ulonglong2(soak_pattern_word(next, index, address),
						soak_pattern_word(next, index + 1, address + 8));
	}
	if (check)
		soak_report(&found, out);
}

template <typename T> static __device__ void soak_store_operand(T *to, int32_t value)
{
	storage_from_math(to, (typename math_of<T>::type)value);
}
static __device__ void soak_store_operand(fixed8 *to, int32_t value)
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

		soak_store_operand(memory + i,
				   soak_value(seed, row_period ? row % row_period : row,
					      column_period ? column % column_period : column,
					      range));
	}
}

/* 16 bytes of a result. */
template <typename T> struct alignas(16) results {
	T v[16 / sizeof(T)];
};

/* Loads of a thread that are in flight together. */
#define LOADS 4
/* Blocks for the columns that have the same entries of the table. */
#define BLOCKS_OF_COLUMNS 8

/* C is read once: it need not stay in the cache in which the next GEMM's operands may be. */
template <typename T> static __device__ __forceinline__ struct results<T> read_once(const T *p) {
	uint4 words = __ldcs(reinterpret_cast<const uint4 *>(p));

	return *reinterpret_cast<struct results<T> *>(&words);
}

template <typename T>
static __device__ __forceinline__ void
soak_look_at_results(struct seen *f, const T *memory, uint64_t index, struct results<T> expected,
		     struct results<T> got)
{
	const unsigned V = 16 / sizeof(T);
	bool same = true;

#pragma unroll
	for (unsigned k = 0; k < V; k++)
		same &= got.v[k] == expected.v[k];
	f->compared += V;
	if (same)
		return;
	for (unsigned k = 0; k < V; k++)
		if (got.v[k] != expected.v[k])
			soak_note_wrong(f, sizeof(T) * (index + k),
					(uint64_t)(uintptr_t)(memory + index + k), expected.v[k],
					got.v[k]);
}

/* A column's entries of the table: V copies, each one element further than the one before. */
template <typename T> struct expected_column {
	static const unsigned V = 16 / sizeof(T);
	struct results<T> copies[V][SOAK_ROW_PERIOD_MOST / V + 1];

	__device__ void fill(const T *entries, uint32_t period, uint32_t canary)
	{
		for (uint32_t i = threadIdx.x; i < period; i += THREADS) {
			T entry = entries[i] ^ (T)(i == canary);

			for (uint32_t copy = 0; copy < V; copy++) {
				uint32_t at = i < copy ? i + period - copy : i - copy;

				copies[copy][at / V].v[at % V] = entry;
				if (at < V) /* the next period begins */
					copies[copy][(at + period) / V].v[(at + period) % V] =
						entry;
			}
		}
		__syncthreads();
	}
	/* Entries from `at` on, in one aligned load. */
	__device__ struct results<T> from(uint32_t at) const {
		return copies[at % V][at / V];
	}
};

/* blockIdx.x says which columns of the table's period, and blockIdx.y which of these. */
template <typename T>
static __global__ void __launch_bounds__(THREADS)
	soak_table(const T *memory, const T *table, uint64_t rows, uint64_t columns,
		   uint32_t row_period, uint32_t column_period, uint32_t row_offset,
		   uint32_t column_offset, uint32_t canary, struct wrong_words *out)
{
	const unsigned V = 16 / sizeof(T);
	__shared__ struct expected_column<T> expected;
	uint32_t step = THREADS * V % row_period;
	struct seen found = {};

	expected.fill(table + (uint64_t)blockIdx.x * row_period, row_period,
		      canary - blockIdx.x * row_period);
	for (uint64_t column =
		     (blockIdx.x + column_period - column_offset % column_period) % column_period +
		     (uint64_t)blockIdx.y * column_period;
	     column < columns; column += (uint64_t)column_period * gridDim.y) {
		uint32_t at = (threadIdx.x * V + row_offset) % row_period;

		for (uint64_t i = threadIdx.x * V; i < rows; i += LOADS * THREADS * V) {
			struct results<T> got[LOADS];

#pragma unroll
			for (unsigned n = 0; n < LOADS; n++)
				if (i + n * THREADS * V < rows)
					got[n] = read_once(memory + column * rows + i +
							   n * THREADS * V);
#pragma unroll
			for (unsigned n = 0; n < LOADS; n++) {
				if (i + n * THREADS * V < rows)
					soak_look_at_results(&found, memory,
							     column * rows + i + n * THREADS * V,
							     expected.from(at), got[n]);
				at += step;
				at -= at >= row_period ? row_period : 0;
			}
		}
	}
	soak_report(&found, out);
}

/* Enough blocks to fill the device; each then does several stretches. */
static unsigned soak_blocks_for(struct stream *stream, uint64_t pairs)
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
	soak_memory<<<soak_blocks_for(stream, a->words / 2), THREADS, 0, handle>>>(
		(ulonglong2 *)a->memory, a->words / 2, a->first, a->expected, a->next, a->check,
		a->write, a->descending, a->out);
	return cuda_device_check_launch("soak_memory", err);
}

template <typename T>
static void soak_fill_operand(struct stream *stream, const struct soak_operand_arguments *a)
{
	uint64_t count = a->rows * a->columns;

	soak_operand<<<soak_blocks_for(stream, count), THREADS, 0, cuda_stream_handle(stream)>>>(
		(T *)a->memory, a->rows, count, a->row_period, a->column_period, a->range, a->seed);
}

extern "C" enum status kernel_cuda_soak_operand(struct stream *stream, const void *arguments,
						struct error *err)
{
	const struct soak_operand_arguments *a = (const struct soak_operand_arguments *)arguments;

	if (a->rows * a->columns == 0)
		return STATUS_OK;
	if (a->precision == PRECISION_FP8)
		soak_fill_operand<fp8_e4m3>(stream, a);
	else if (a->precision == PRECISION_INT8)
		soak_fill_operand<fixed8>(stream, a);
	else if (a->precision >= PRECISION_COUNT)
		return error_set(err, STATUS_INTERNAL, "soak_operand: no operands of %s",
				 precision_name(a->precision));
#define FILL(T) soak_fill_operand<T>(stream, a)
	FOR_STORAGE(a->precision, FILL)
#undef FILL
	return cuda_device_check_launch("soak_operand", err);
}

template <typename T>
static void soak_compare_table(struct stream *stream, const struct soak_table_arguments *a)
{
	dim3 grid(a->column_period, BLOCKS_OF_COLUMNS);

	soak_table<<<grid, THREADS, 0, cuda_stream_handle(stream)>>>(
		(const T *)a->memory, (const T *)a->table, a->rows, a->columns, a->row_period,
		a->column_period, a->row_offset, a->column_offset, a->canary, a->out);
}

extern "C" enum status kernel_cuda_soak_table(struct stream *stream, const void *arguments,
					      struct error *err)
{
	const struct soak_table_arguments *a = (const struct soak_table_arguments *)arguments;

	if (a->rows % 4 || (uintptr_t)a->memory % 16 || a->row_period < 4 ||
	    a->row_period > SOAK_ROW_PERIOD_MOST)
		return error_set(err, STATUS_INTERNAL,
				 "soak_table: rows, alignment or period do not fit");
	if (a->rows * a->columns == 0)
		return STATUS_OK;
	if (a->element_bytes == 8)
		soak_compare_table<unsigned long long>(stream, a);
	else
		soak_compare_table<unsigned int>(stream, a);
	return cuda_device_check_launch("soak_table", err);
}
