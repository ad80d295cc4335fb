/* Arithmetic units, quarter by quarter: see soak_units.h. */
#include "kernels/soak_units.h"

#include <type_traits>

#include "device/cuda/cuda_kernel.h"
#include "kernels/gemm/mma.cuh"
#include "kernels/storage.cuh"

#define THREADS (UNIT_QUARTERS * UNIT_LANES)

/* Sum of what a lane has folded, and the bit that it turns in its next value. */
struct lane_sum {
	uint64_t sum, fault;
};

static __device__ __forceinline__ void soak_units_fold_value(struct lane_sum *lane, uint64_t bits)
{
	lane->sum = soak_units_fold(lane->sum, bits ^ lane->fault);
	lane->fault = 0;
}

static __device__ __forceinline__ uint64_t soak_units_value_bits(float x)
{
	return __float_as_uint(x);
}
static __device__ __forceinline__ uint64_t soak_units_value_bits(double x)
{
	return (uint64_t)__double_as_longlong(x);
}
static __device__ __forceinline__ uint64_t soak_units_value_bits(half2 x)
{
	return *reinterpret_cast<unsigned *>(&x);
}
/* uint32_t or int */
template <typename T> static __device__ __forceinline__ uint64_t soak_units_value_bits(T x)
{
	return (uint32_t)x;
}

/* The first of these types whose condition holds. */
template <bool CONDITION, typename THEN, typename ELSE>
using choose = typename std::conditional<CONDITION, THEN, ELSE>::type;

/* The value of a lane's chain, and its next one. */
template <int UNIT>
using unit_value =
	choose<UNIT == UNIT_FFMA || UNIT == UNIT_MUFU, float,
	       choose<UNIT == UNIT_DFMA, double, choose<UNIT == UNIT_HFMA2, half2, uint32_t>>>;

/* float or double */
template <typename T>
static __device__ __forceinline__ void soak_units_begin_value(T *x, uint64_t seed, uint32_t lane,
							      uint32_t chain)
{
	*x = soak_units_start(seed, lane, chain);
}
static __device__ __forceinline__ void soak_units_begin_value(half2 *x, uint64_t seed,
							      uint32_t lane, uint32_t chain)
{
	float start = soak_units_start(seed, lane, chain);

	*x = __floats2half2_rn(start, 0.5f * start);
}
static __device__ __forceinline__ void soak_units_begin_value(uint32_t *x, uint64_t seed,
							      uint32_t lane, uint32_t chain)
{
	*x = soak_units_start_bits(seed, lane, chain);
}

/* The special functions' approximations, which differ between architectures. */
static __device__ __forceinline__ float soak_units_mufu_step(float x)
{
	float power, logarithm, root, sine;

	asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
	asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(logarithm) : "f"(power + 1.5f));
	asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(logarithm));
	asm("sin.approx.ftz.f32 %0, %1;" : "=f"(sine) : "f"(root * 40.0f + x * 3.0f));
	return sine;
}

static __device__ __forceinline__ uint32_t soak_units_convert_step(uint32_t x)
{
	float single = __int2float_rn((int)x);
	double wide = (double)(x >> 4);
	half narrow = __float2half_rn(single * 0x1p-20f);

	return soak_units_imad(x ^ __float_as_uint(__half2float(narrow)) ^ __float_as_uint(single) ^
			       __float_as_uint(__double2float_rn(wide)) ^
			       (uint32_t)__float2int_rz(single * 0.25f));
}

template <int UNIT>
static __device__ __forceinline__ unit_value<UNIT> soak_units_next_value(unit_value<UNIT> x)
{
	if constexpr (UNIT == UNIT_FFMA)
		return fmaf(x, x, UNIT_SHIFT);
	else if constexpr (UNIT == UNIT_DFMA)
		return fma(x, x, (double)UNIT_SHIFT);
	else if constexpr (UNIT == UNIT_MUFU)
		return soak_units_mufu_step(x);
	else if constexpr (UNIT == UNIT_IMAD)
		return soak_units_imad(x);
	else if constexpr (UNIT == UNIT_LOGIC)
		return soak_units_logic(x);
	else if constexpr (UNIT == UNIT_CONVERT)
		return soak_units_convert_step(x);
#if CODE_HAS_HALF_ARITHMETIC
	else
		return __hfma2(x, x, __float2half2_rn(UNIT_SHIFT));
#else
	compat_code_is_absent();
	return x;
#endif
}

template <int UNIT>
static __device__ __forceinline__ void soak_units_run_chains(struct lane_sum *lane, uint32_t steps,
							     uint64_t seed)
{
	unit_value<UNIT> x[UNIT_CHAINS];

#pragma unroll
	for (uint32_t c = 0; c < UNIT_CHAINS; c++)
		soak_units_begin_value(&x[c], seed, threadIdx.x % UNIT_LANES, c);
#pragma unroll 8
	for (uint32_t step = 0; step < steps; step++)
#pragma unroll
		for (uint32_t c = 0; c < UNIT_CHAINS; c++)
			x[c] = soak_units_next_value<UNIT>(x[c]);
#pragma unroll
	for (uint32_t c = 0; c < UNIT_CHAINS; c++)
		soak_units_fold_value(lane, soak_units_value_bits(x[c]));
}

static __device__ void soak_units_run_shuffle(struct lane_sum *lane, uint32_t steps, uint64_t seed)
{
	uint32_t x[UNIT_CHAINS], self = threadIdx.x % UNIT_LANES;

#pragma unroll
	for (uint32_t c = 0; c < UNIT_CHAINS; c++)
		x[c] = soak_units_start_bits(seed, self, c);
	for (uint32_t step = 0; step < steps; step++)
#pragma unroll
		for (uint32_t c = 0; c < UNIT_CHAINS; c++)
			x[c] = soak_units_imad(x[c]) +
			       __shfl_xor_sync(0xffffffff, x[c], step % 31 + 1) +
			       __shfl_sync(0xffffffff, x[c], (self + 5 + step) % UNIT_LANES);
#pragma unroll
	for (uint32_t c = 0; c < UNIT_CHAINS; c++)
		soak_units_fold_value(lane, x[c]);
}

static __device__ void soak_units_run_registers(struct lane_sum *lane, uint32_t steps,
						uint64_t seed)
{
	uint32_t r[UNIT_REGISTERS_MOVED];

#pragma unroll
	for (uint32_t i = 0; i < UNIT_REGISTERS_MOVED; i++)
		r[i] = soak_units_start_bits(seed, threadIdx.x % UNIT_LANES, i);
#pragma unroll 1
	for (uint32_t step = 0; step < steps; step++) {
		uint32_t first = r[0];

#pragma unroll
		for (uint32_t i = 0; i + 1 < UNIT_REGISTERS_MOVED; i++)
			r[i] = soak_units_move(r[i + 1]);
		r[UNIT_REGISTERS_MOVED - 1] = soak_units_move(first);
	}
#pragma unroll
	for (uint32_t i = 0; i < UNIT_REGISTERS_MOVED; i++)
		soak_units_fold_value(lane, r[i]);
}

/* One element of March C-: reads each word, adds it up, and writes its inverse. */
static __device__ void soak_units_march(volatile uint32_t *memory, uint32_t words, uint64_t seed,
					uint32_t pass, uint32_t turned, bool down, bool write,
					uint32_t *sum)
{
	uint32_t lane = threadIdx.x % UNIT_LANES;

#pragma unroll 8
	for (uint32_t n = lane; n < words; n += UNIT_LANES) {
		uint32_t i = down ? words - UNIT_LANES + 2 * lane - n : n;

		*sum = soak_units_imad(*sum) + memory[i];
		if (write)
			memory[i] = ~(soak_units_pattern(seed, pass, i) ^ turned);
	}
}

static __device__ void soak_units_run_shared(struct lane_sum *lane, uint32_t steps, uint64_t seed,
					     volatile uint32_t *memory, uint32_t words)
{
	uint32_t sum = 0;

	for (uint32_t pass = 0; pass < steps; pass++) {
		for (uint32_t i = threadIdx.x % UNIT_LANES; i < words; i += UNIT_LANES)
			memory[i] = soak_units_pattern(seed, pass, i);
		soak_units_march(memory, words, seed, pass, 0, false, true, &sum);
		soak_units_march(memory, words, seed, pass, UINT32_MAX, false, true, &sum);
		soak_units_march(memory, words, seed, pass, 0, true, true, &sum);
		soak_units_march(memory, words, seed, pass, UINT32_MAX, true, true, &sum);
		soak_units_march(memory, words, seed, pass, 0, false, false, &sum);
	}
	soak_units_fold_value(lane, sum);
}

/* Elements in a register of an operand. */
template <int UNIT> static __device__ constexpr int soak_units_packed(void)
{
	return UNIT == UNIT_MMA_TF32 ? 1 : UNIT == UNIT_MMA_FP16 || UNIT == UNIT_MMA_BF16 ? 2 : 4;
}

template <int UNIT>
static __device__ unsigned soak_units_mma_register(uint64_t seed, int side, int line, int first)
{
	const int count = soak_units_packed<UNIT>();
	unsigned bits = 0;

	for (int i = 0; i < count; i++) {
		int element = soak_units_element(seed, side, line, first + i);
		float value = (float)element;
		unsigned stored = UNIT == UNIT_MMA_TF32 ? __float_as_uint(value)
				  : UNIT == UNIT_MMA_FP16
					  ? (unsigned)__half_as_ushort(__float2half_rn(value))
				  : UNIT == UNIT_MMA_BF16 ? __float_as_uint(value) >> 16
				  : UNIT == UNIT_MMA_FP8  ? (unsigned)fp8_from_float(value)
							  : (unsigned)element & 0xFF;

		bits |= stored << (32 / count * i);
	}
	return bits;
}

static __device__ __forceinline__ void soak_units_multiply_fp8(float *d, const unsigned *a,
							       const unsigned *b)
{
#if CODE_HAS_FP8_MMA
	float c[4];

	/* Each begins at 0: some tensor cores keep few bits of a sum of FP8 products. */
	asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, {%4, "
		     "%5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
		     : "=f"(c[0]), "=f"(c[1]), "=f"(c[2]), "=f"(c[3])
		     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(0.0f));
#pragma unroll
	for (int i = 0; i < 4; i++)
		d[i] += c[i];
#else
	compat_code_is_absent();
#endif
}

static __device__ __forceinline__ void soak_units_multiply_int8(int *d, const unsigned *a,
								const unsigned *b)
{
#if CODE_HAS_ASYNC_COPY
	asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, "
		     "%6, %7}, {%8, %9}, {%0, %1, %2, %3};"
		     : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
		     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
	compat_code_is_absent();
#endif
}

static __device__ __forceinline__ void soak_units_multiply_fp64(double *d, double a, double b)
{
#if CODE_HAS_ASYNC_COPY
	asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, "
		     "%1};"
		     : "+d"(d[0]), "+d"(d[1])
		     : "d"(a), "d"(b));
#else
	compat_code_is_absent();
#endif
}

template <int UNIT> struct mma_operands {
	unsigned a[UNIT_LEFTS][4], b[UNIT_RIGHTS][2];
	double wide_a[UNIT_LEFTS], wide_b[UNIT_RIGHTS];
};

template <int UNIT>
static __device__ __forceinline__ void soak_units_mma_begin(struct mma_operands<UNIT> *o,
							    uint64_t seed)
{
	const int E = soak_units_packed<UNIT>();
	int lane = threadIdx.x % UNIT_LANES, group = lane / 4, place = lane % 4;

#pragma unroll
	for (int i = 0; i < UNIT_LEFTS; i++) {
		o->wide_a[i] = soak_units_element(seed, 0, 16 * i + group, place);
#pragma unroll
		for (int r = 0; r < 4; r++)
			o->a[i][r] =
				soak_units_mma_register<UNIT>(seed, 0, 16 * i + group + r % 2 * 8,
							      E * (place + r / 2 * 4));
	}
#pragma unroll
	for (int j = 0; j < UNIT_RIGHTS; j++) {
		o->wide_b[j] = soak_units_element(seed, 1, 8 * j + group, place);
#pragma unroll
		for (int r = 0; r < 2; r++)
			o->b[j][r] = soak_units_mma_register<UNIT>(seed, 1, 8 * j + group,
								   E * (place + r * 4));
	}
}

template <int UNIT, typename SUM>
static __device__ __forceinline__ void soak_units_mma_step(const struct mma_operands<UNIT> &o,
							   int i, int j, SUM *sum)
{
	if constexpr (UNIT == UNIT_MMA_FP16)
		mma_multiply_16(half(), sum, o.a[i], o.b[j]);
	else if constexpr (UNIT == UNIT_MMA_BF16)
		mma_multiply_16(__nv_bfloat16(), sum, o.a[i], o.b[j]);
	else if constexpr (UNIT == UNIT_MMA_TF32)
		mma_multiply_8(sum, o.a[i], o.b[j]);
	else if constexpr (UNIT == UNIT_MMA_FP8)
		soak_units_multiply_fp8(sum, o.a[i], o.b[j]);
	else if constexpr (UNIT == UNIT_MMA_INT8)
		soak_units_multiply_int8(sum, o.a[i], o.b[j]);
	else
		soak_units_multiply_fp64(sum, o.wide_a[i], o.wide_b[j]);
}

template <int UNIT>
static __device__ void soak_units_run_mma(struct lane_sum *lane, uint32_t steps, uint64_t seed)
{
	/* Sums of a class, SUMS for each tile of a lane. */
	typedef choose<UNIT == UNIT_MMA_INT8, int, choose<UNIT == UNIT_MMA_FP64, double, float>>
		SUM;
	const int SUMS = UNIT == UNIT_MMA_FP64 ? 2 : 4;
	struct mma_operands<UNIT> o;

	soak_units_mma_begin<UNIT>(&o, seed);
	for (uint32_t done = 0; done < steps; done += UNIT_EXACT_STEPS) {
		uint32_t count = min(steps - done, (uint32_t)UNIT_EXACT_STEPS);
		SUM sums[UNIT_LEFTS * UNIT_RIGHTS][4] = {};

		for (uint32_t step = 0; step < count; step++)
#pragma unroll
			for (int t = 0; t < UNIT_LEFTS * UNIT_RIGHTS; t++)
				soak_units_mma_step<UNIT>(o, t / UNIT_RIGHTS, t % UNIT_RIGHTS,
							  sums[t]);
				/* Without -0. */
#pragma unroll
		for (int t = 0; t < UNIT_LEFTS * UNIT_RIGHTS; t++)
#pragma unroll
			for (int e = 0; e < SUMS; e++)
				soak_units_fold_value(lane,
						      soak_units_value_bits(sums[t][e] + (SUM)0));
	}
}

static __device__ __forceinline__ uint32_t soak_units_multiprocessor(void)
{
	uint32_t number;

	asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
	return number;
}

template <int UNIT>
static __global__ void __launch_bounds__(THREADS)
	soak_units(struct soak_units_arguments a, uint32_t words)
{
	extern __shared__ uint32_t memory[];
	uint32_t began = soak_units_multiprocessor(), quarter = threadIdx.x / UNIT_LANES;
	bool faulty = a.fault.is && a.fault.multiprocessor == began && a.fault.quarter == quarter &&
		      threadIdx.x % UNIT_LANES == 0;
	struct lane_sum lane = { 0, faulty ? UINT64_C(1) << a.fault.bit : 0 };
	unsigned long long signature;

	if constexpr (UNIT >= UNIT_MMA_FP16)
		soak_units_run_mma<UNIT>(&lane, a.steps, a.seed);
	else if constexpr (UNIT == UNIT_SHUFFLE)
		soak_units_run_shuffle(&lane, a.steps, a.seed);
	else if constexpr (UNIT == UNIT_REGISTERS)
		soak_units_run_registers(&lane, a.steps, a.seed);
	else if constexpr (UNIT == UNIT_SHARED)
		soak_units_run_shared(&lane, a.steps, a.seed, memory + quarter * words, words);
	else
		soak_units_run_chains<UNIT>(&lane, a.steps, a.seed);
	signature = soak_units_fold(lane.sum, threadIdx.x % UNIT_LANES);
	for (int distance = 16; distance; distance /= 2)
		signature += __shfl_xor_sync(0xffffffff, signature, distance);
	if (threadIdx.x % UNIT_LANES == 0) {
		struct soak_unit *out = a.out + blockIdx.x * UNIT_QUARTERS + quarter;

		out->signature = signature;
		out->began = began;
		out->ended = soak_units_multiprocessor();
		out->words = words;
		out->unused = 0;
	}
}

static bool soak_units_device_has_unit(const struct device_info *info, enum unit_class unit)
{
	int capability = info->capability_major * 10 + info->capability_minor;

	if (unit == UNIT_HFMA2)
		return info->capabilities & DEVICE_HAS_FP16_ACC16;
	if (unit == UNIT_MMA_FP8)
		return CUDA_HAS_FP8_MMA && capability >= 90;
	return unit < UNIT_MMA_FP16 || capability >= 80;
}

template <int UNIT>
static enum status soak_units_launch(struct stream *stream, const struct soak_units_arguments *a,
				     struct error *err)
{
	/* All of a multiprocessor's shared memory that a block may have: a second has no room. */
	size_t bytes = (size_t)cuda_stream_block_memory(stream) / (4 * THREADS) * (4 * THREADS);

	if (cuda_stream_shared_memory(stream, (const void *)soak_units<UNIT>, bytes, err) !=
	    STATUS_OK)
		return err->status;
	soak_units<UNIT><<<a->blocks, THREADS, bytes, cuda_stream_handle(stream)>>>(
		*a, (uint32_t)(bytes / 4 / UNIT_QUARTERS));
	return cuda_device_check_launch("soak_units", err);
}

extern "C" enum status kernel_cuda_soak_units(struct stream *stream, const void *arguments,
					      struct error *err)
{
	static enum status (*const launches[])(struct stream *, const struct soak_units_arguments *,
					       struct error *) = {
#define X(symbol, name) soak_units_launch<UNIT_##symbol>,
		UNIT_CLASSES(X)
#undef X
	};
	const struct soak_units_arguments *a = (const struct soak_units_arguments *)arguments;

	if (!soak_units_device_has_unit(&stream->device->info, a->unit))
		return error_set(err, STATUS_UNSUPPORTED, "soak_units: %s has no %s",
				 stream->device->info.id, soak_units_class_name(a->unit));
	return launches[a->unit](stream, a, err);
}
