/* Memory bandwidth kernels, and the check of their results: see stream.h. */
#include "kernels/memory/stream.h"

#include <type_traits>

#include "device/cuda/cuda_kernel.h"
#include "kernels/storage.cuh"

#define MAX_THREADS 1024

template <bool STREAMING, typename P>
static __device__ __forceinline__ P memory_stream_load16(const P *p)
{
	return STREAMING ? __ldcs(p) : *p;
}

template <bool STREAMING, typename P>
static __device__ __forceinline__ void memory_stream_store16(P *p, P value)
{
	if (STREAMING)
		__stcs(p, value);
	else
		*p = value;
}

template <int OP, typename T> static __device__ __forceinline__ T memory_stream_one(T x, T y)
{
	return OP == STREAM_COPY  ? x
	       : OP == STREAM_MUL ? (T)STREAM_SCALAR * x
	       : OP == STREAM_ADD ? x + y
				  : x + (T)STREAM_SCALAR * y;
}

template <int OP>
static __device__ __forceinline__ double2 memory_stream_pack_of(double2 x, double2 y)
{
	return make_double2(memory_stream_one<OP>(x.x, y.x), memory_stream_one<OP>(x.y, y.y));
}

template <int OP> static __device__ __forceinline__ float4 memory_stream_pack_of(float4 x, float4 y)
{
	return make_float4(memory_stream_one<OP>(x.x, y.x), memory_stream_one<OP>(x.y, y.y),
			   memory_stream_one<OP>(x.z, y.z), memory_stream_one<OP>(x.w, y.w));
}

/*
 * A block processes ranges of U * blockDim.x packs of 16 bytes; all loads of a range are issued
 * first.
 */
template <int OP, typename P, int U, bool STREAMING>
static __global__ void __launch_bounds__(MAX_THREADS)
	memory_stream_elementwise(P *out, const P *x, const P *y, uint64_t packs)
{
	const bool two = OP == STREAM_ADD || OP == STREAM_TRIAD;
	uint64_t stretch = (uint64_t)U * blockDim.x, stride = gridDim.x * stretch;
	uint64_t base = blockIdx.x * stretch + threadIdx.x;

	for (; base + (uint64_t)(U - 1) * blockDim.x < packs; base += stride) {
		P a[U], b[U];

#pragma unroll
		for (int j = 0; j < U; j++) {
			a[j] = memory_stream_load16<STREAMING>(x + base + (uint64_t)j * blockDim.x);
			b[j] = two ? memory_stream_load16<STREAMING>(y + base +
								     (uint64_t)j * blockDim.x)
				   : a[j];
		}
#pragma unroll
		for (int j = 0; j < U; j++)
			memory_stream_store16<STREAMING>(out + base + (uint64_t)j * blockDim.x,
							 memory_stream_pack_of<OP>(a[j], b[j]));
	}
	for (int j = 0; j < U; j++, base += blockDim.x)
		if (base < packs)
			out[base] = memory_stream_pack_of<OP>(x[base], two ? y[base] : x[base]);
}

template <int U, bool STREAMING>
static __global__ void __launch_bounds__(MAX_THREADS)
	memory_stream_write_words(ulonglong2 *out, uint64_t seed, uint64_t packs)
{
	uint64_t stretch = (uint64_t)U * blockDim.x, stride = gridDim.x * stretch;

	for (uint64_t base = blockIdx.x * stretch + threadIdx.x; base < packs; base += stride) {
#pragma unroll
		for (int j = 0; j < U; j++) {
			uint64_t i = base + (uint64_t)j * blockDim.x;
			uint64_t word = seed + 2 * i * STREAM_STEP;

			if (i < packs)
				memory_stream_store16<STREAMING>(
					out + i, make_ulonglong2(word, word + STREAM_STEP));
		}
	}
}

static __device__ __forceinline__ double memory_stream_shuffle_down(double x, int by)
{
	return __shfl_down_sync(~0u, x, by);
}
static __device__ __forceinline__ uint64_t memory_stream_shuffle_down(uint64_t x, int by)
{
	return (uint64_t)__shfl_down_sync(~0u, (unsigned long long)x, by);
}

/* Sum over the block, in thread 0. */
template <typename A> static __device__ A memory_stream_block_sum(A mine)
{
	__shared__ A warps[MAX_THREADS / 32];
	unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;

	for (int by = 16; by; by /= 2)
		mine += memory_stream_shuffle_down(mine, by);
	__syncthreads(); /* an earlier sum may still use `warps` */
	if (lane == 0)
		warps[warp] = mine;
	__syncthreads();
	if (warp == 0) {
		mine = lane < blockDim.x / 32 ? warps[lane] : A(0);
		for (int by = 16; by; by /= 2)
			mine += memory_stream_shuffle_down(mine, by);
	}
	return mine;
}

/* The number or the words of a sum or part. */
template <typename A, typename VALUE>
static __device__ __forceinline__ auto &memory_stream_value_of(VALUE &value)
{
	if constexpr (std::is_same<A, double>::value)
		return value.number;
	else
		return value.words;
}

/* Sum over the grid: the last block to finish adds the parts in a fixed order. */
template <typename A> static __device__ void memory_stream_grid_sum(struct stream_sum *s, A mine)
{
	__shared__ bool last;
	A total = memory_stream_block_sum(mine);

	if (threadIdx.x == 0) {
		memory_stream_value_of<A>(s->parts[blockIdx.x]) = total;
		__threadfence();
		last = atomicAdd((unsigned long long *)&s->finished, 1ull) == gridDim.x - 1;
	}
	__syncthreads();
	if (!last)
		return;
	__threadfence();
	mine = 0;
	for (unsigned i = threadIdx.x; i < gridDim.x; i += blockDim.x)
		mine += memory_stream_value_of<A>(
			const_cast<const volatile struct stream_sum *>(s)->parts[i]);
	total = memory_stream_block_sum(mine);
	if (threadIdx.x == 0) {
		memory_stream_value_of<A>(s->sum) = total;
		s->finished = 0;
	}
}

static __device__ __forceinline__ double memory_stream_term(double2 x, double2 y)
{
	return x.x * y.x + x.y * y.y;
}
static __device__ __forceinline__ double memory_stream_term(float4 x, float4 y)
{
	return ((double)x.x * y.x + (double)x.y * y.y) + ((double)x.z * y.z + (double)x.w * y.w);
}
static __device__ __forceinline__ uint64_t memory_stream_term(ulonglong2 x, ulonglong2)
{
	return (uint64_t)x.x + (uint64_t)x.y;
}

/* STREAM_DOT and, over words, STREAM_READ. */
template <typename P, typename A, int U>
static __global__ void __launch_bounds__(MAX_THREADS)
	memory_stream_sum_packs(struct stream_sum *s, const P *x, const P *y, uint64_t packs)
{
	uint64_t stretch = (uint64_t)U * blockDim.x, stride = gridDim.x * stretch;
	uint64_t base = blockIdx.x * stretch + threadIdx.x;
	A mine = 0;

	for (; base + (uint64_t)(U - 1) * blockDim.x < packs; base += stride) {
		P a[U], b[U];

#pragma unroll
		for (int j = 0; j < U; j++) {
			a[j] = x[base + (uint64_t)j * blockDim.x];
			b[j] = y ? y[base + (uint64_t)j * blockDim.x] : a[j];
		}
#pragma unroll
		for (int j = 0; j < U; j++)
			mine += memory_stream_term(a[j], b[j]);
	}
	for (int j = 0; j < U; j++, base += blockDim.x)
		if (base < packs)
			mine += memory_stream_term(x[base], y ? y[base] : x[base]);
	memory_stream_grid_sum(s, mine);
}

static __global__ void __launch_bounds__(MAX_THREADS)
	memory_stream_strided(struct stream_sum *s, const uint64_t *x, uint64_t rows,
			      uint64_t stride)
{
	uint64_t step = (uint64_t)gridDim.x * blockDim.x, mine = 0;

	for (uint64_t pass = 0; pass < stride; pass++) {
#pragma unroll 8
		for (uint64_t row = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; row < rows;
		     row += step)
			mine += x[row * stride + pass];
	}
	memory_stream_grid_sum(s, mine);
}

static __global__ void __launch_bounds__(MAX_THREADS)
	memory_stream_gather(struct stream_sum *s, const uint64_t *x, uint64_t words,
			     uint64_t accesses, uint64_t seed)
{
	uint64_t step = (uint64_t)gridDim.x * blockDim.x, mine = 0;

#pragma unroll 8
	for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < accesses; i += step)
		mine += x[memory_stream_random(seed, i, words)];
	memory_stream_grid_sum(s, mine);
}

struct launch {
	const struct stream_arguments *a;
	cudaStream_t stream;
	unsigned multiprocessors;
	uint64_t packs;
};

/* Blocks for `stretches` ranges: one each, or as many as the variant sets for the device. */
static unsigned memory_stream_blocks_for(const struct launch *l, uint64_t stretches)
{
	uint64_t blocks = stretches ? stretches : 1;
	uint64_t most = (uint64_t)l->a->variant.blocks * l->multiprocessors;

	if (most && blocks > most)
		blocks = most;
	return blocks > 0x7FFFFFFF ? 0x7FFFFFFF : (unsigned)blocks;
}

/* A sum has few blocks, because each leaves a part. */
static unsigned memory_stream_sum_blocks(const struct launch *l, uint64_t stretches)
{
	unsigned blocks = memory_stream_blocks_for(l, stretches);

	return blocks > STREAM_PARTS ? STREAM_PARTS : blocks;
}

static uint64_t memory_stream_stretches(const struct launch *l, unsigned unroll)
{
	uint64_t packs = (uint64_t)unroll * l->a->variant.threads;

	return (l->packs + packs - 1) / packs;
}

template <int OP, typename P, int U, bool STREAMING>
static void memory_stream_launch_elementwise(const struct launch *l)
{
	const struct stream_arguments *a = l->a;

	memory_stream_elementwise<OP, P, U, STREAMING>
		<<<memory_stream_blocks_for(l, memory_stream_stretches(l, U)), a->variant.threads,
		   0, l->stream>>>((P *)a->out, (const P *)a->x, (const P *)a->y, l->packs);
}

template <int OP, typename P> static void memory_stream_choose_elementwise(const struct launch *l)
{
	bool streaming = l->a->variant.streaming;

	if (l->a->variant.unroll >= 4)
		streaming ? memory_stream_launch_elementwise<OP, P, 4, true>(l)
			  : memory_stream_launch_elementwise<OP, P, 4, false>(l);
	else if (l->a->variant.unroll >= 2)
		streaming ? memory_stream_launch_elementwise<OP, P, 2, true>(l)
			  : memory_stream_launch_elementwise<OP, P, 2, false>(l);
	else
		streaming ? memory_stream_launch_elementwise<OP, P, 1, true>(l)
			  : memory_stream_launch_elementwise<OP, P, 1, false>(l);
}

template <typename P> static void memory_stream_launch_numbers(const struct launch *l)
{
	if (l->a->operation == STREAM_MUL)
		memory_stream_choose_elementwise<STREAM_MUL, P>(l);
	else if (l->a->operation == STREAM_ADD)
		memory_stream_choose_elementwise<STREAM_ADD, P>(l);
	else
		memory_stream_choose_elementwise<STREAM_TRIAD, P>(l);
}

template <typename P, typename A, int U>
static void memory_stream_launch_sum(const struct launch *l)
{
	const struct stream_arguments *a = l->a;

	memory_stream_sum_packs<P, A, U>
		<<<memory_stream_sum_blocks(l, memory_stream_stretches(l, U)), a->variant.threads,
		   0, l->stream>>>(a->sum, (const P *)a->x,
				   a->operation == STREAM_DOT ? (const P *)a->y : nullptr,
				   l->packs);
}

template <typename P, typename A> static void memory_stream_choose_sum(const struct launch *l)
{
	if (l->a->variant.unroll >= 8)
		memory_stream_launch_sum<P, A, 8>(l);
	else if (l->a->variant.unroll >= 4)
		memory_stream_launch_sum<P, A, 4>(l);
	else if (l->a->variant.unroll >= 2)
		memory_stream_launch_sum<P, A, 2>(l);
	else
		memory_stream_launch_sum<P, A, 1>(l);
}

template <int U> static void memory_stream_launch_write(const struct launch *l)
{
	const struct stream_arguments *a = l->a;
	unsigned blocks = memory_stream_blocks_for(l, memory_stream_stretches(l, U));

	if (a->variant.streaming)
		memory_stream_write_words<U, true>
			<<<blocks, a->variant.threads, 0, l->stream>>>((ulonglong2 *)a->out,
								       a->seed, l->packs);
	else
		memory_stream_write_words<U, false>
			<<<blocks, a->variant.threads, 0, l->stream>>>((ulonglong2 *)a->out,
								       a->seed, l->packs);
}

/* Independent accesses of a thread in one block's share of the work. */
#define SCATTERED 8

static void memory_stream_launch_scattered(const struct launch *l)
{
	const struct stream_arguments *a = l->a;
	uint64_t stride = a->stride / 8;
	uint64_t items = a->operation == STREAM_RANDOM ? a->accesses : a->bytes / a->stride;
	unsigned blocks = memory_stream_sum_blocks(l, storage_grid_for(items, a->variant.threads *
										      SCATTERED));

	if (a->operation == STREAM_RANDOM)
		memory_stream_gather<<<blocks, a->variant.threads, 0, l->stream>>>(
			a->sum, (const uint64_t *)a->x, a->bytes / 8, a->accesses, a->seed);
	else
		memory_stream_strided<<<blocks, a->variant.threads, 0, l->stream>>>(
			a->sum, (const uint64_t *)a->x, items, stride);
}

extern "C" enum status kernel_cuda_stream(struct stream *stream, const void *arguments,
					  struct error *err)
{
	const struct stream_arguments *a = (const struct stream_arguments *)arguments;
	struct launch l = { a, cuda_stream_handle(stream),
			    (unsigned)cuda_stream_multiprocessors(stream), a->bytes / 16 };
	bool fp32 = a->precision == PRECISION_FP32;

	switch (a->operation) {
	case STREAM_COPY:
		memory_stream_choose_elementwise<STREAM_COPY, double2>(&l);
		break;
	case STREAM_MUL:
	case STREAM_ADD:
	case STREAM_TRIAD:
		fp32 ? memory_stream_launch_numbers<float4>(&l)
		     : memory_stream_launch_numbers<double2>(&l);
		break;
	case STREAM_DOT:
		fp32 ? memory_stream_choose_sum<float4, double>(&l)
		     : memory_stream_choose_sum<double2, double>(&l);
		break;
	case STREAM_READ:
		memory_stream_choose_sum<ulonglong2, uint64_t>(&l);
		break;
	case STREAM_WRITE:
		a->variant.unroll >= 4   ? memory_stream_launch_write<4>(&l)
		: a->variant.unroll >= 2 ? memory_stream_launch_write<2>(&l)
					 : memory_stream_launch_write<1>(&l);
		break;
	case STREAM_STRIDED:
	case STREAM_RANDOM:
		memory_stream_launch_scattered(&l);
		break;
	}
	return cuda_device_check_launch("stream", err);
}

/* Expected bits of element i after `operation`. */
template <typename T>
static __device__ uint64_t memory_stream_check_expected_bits(const struct check_stream_arguments &a,
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
static __device__ uint64_t memory_stream_check_bits_at(const void *memory, uint64_t i)
{
	return sizeof(T) == 4 ? ((const uint32_t *)memory)[i] : ((const uint64_t *)memory)[i];
}

template <typename T>
static __global__ void memory_stream_check_all_elements(struct check_stream_arguments a)
{
	uint64_t step = (uint64_t)gridDim.x * blockDim.x, count = a.bytes / sizeof(T);
	unsigned long long wrong = 0, lowest = ~0ull;

	for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
		if (memory_stream_check_bits_at<T>(a.out, i) ==
		    memory_stream_check_expected_bits<T>(a, i))
			continue;
		lowest = wrong++ ? lowest : i * sizeof(T);
	}
	if (wrong) {
		atomicAdd((unsigned long long *)&a.found->count, wrong);
		atomicMin((unsigned long long *)&a.found->index, lowest);
	}
}

template <typename T>
static __global__ void memory_stream_check_report_element(struct check_stream_arguments a)
{
	uint64_t i = a.found->index / sizeof(T);

	if (a.found->count == 0)
		return;
	a.found->expected = memory_stream_check_expected_bits<T>(a, i);
	a.found->got = memory_stream_check_bits_at<T>(a.out, i);
}

template <typename T>
static void memory_stream_check_launch(const struct check_stream_arguments *a, cudaStream_t stream,
				       unsigned most)
{
	unsigned blocks = storage_grid_for(a->bytes / sizeof(T), 256 * 4);

	blocks = blocks > most ? most : blocks;
	memory_stream_check_all_elements<T><<<blocks, 256, 0, stream>>>(*a);
	memory_stream_check_report_element<T><<<1, 1, 0, stream>>>(*a);
}

extern "C" enum status kernel_cuda_check_stream(struct stream *stream, const void *arguments,
						struct error *err)
{
	const struct check_stream_arguments *a = (const struct check_stream_arguments *)arguments;
	cudaStream_t handle = cuda_stream_handle(stream);
	unsigned most = (unsigned)cuda_stream_multiprocessors(stream) * 16;

	if (a->precision == PRECISION_FP32 && a->operation != STREAM_WRITE)
		memory_stream_check_launch<float>(a, handle, most);
	else
		memory_stream_check_launch<double>(a, handle, most);
	return cuda_device_check_launch("check_stream", err);
}
