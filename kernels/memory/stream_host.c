#include "kernels/memory/stream.h"

#include <string.h>

#include "device/host/host_kernel.h"

/* Slices are counted in packs of 16 bytes. */
#define PACK 16
#define GRAIN 4096

typedef double pack_fp64 __attribute__((vector_size(PACK)));
typedef float pack_fp32 __attribute__((vector_size(PACK)));
typedef uint64_t pack_words __attribute__((vector_size(PACK)));

/*
 * Non-temporal stores avoid reading what is overwritten, if the processor has them. Stored data
 * must be visible to other threads at the end of a slice.
 */
#ifdef __SSE2__
#include <emmintrin.h>
#define STREAM_PACK(to, pack) _mm_stream_si128((__m128i *)(to), (__m128i)(pack))
#define STREAM_FENCE() _mm_sfence()
#else
#define STREAM_PACK(to, pack) (*(to) = (pack))
#define STREAM_FENCE() ((void)0)
#endif

/*
 * name(out, x, y, n): plain loops over n packs that the compiler optimises, and loops with
 * non-temporal stores.
 */
#define ELEMENTWISE(name, type, expression)                                                     \
	VECTORISED                                                                              \
	static void name##_##type(type *restrict out, const type *restrict x,                   \
				  const type *restrict y, uint64_t packs)                       \
	{                                                                                       \
		(void)y;                                                                        \
		for (uint64_t i = 0; i < packs * (PACK / sizeof(type)); i++)                    \
			out[i] = expression(type);                                              \
	}                                                                                       \
	VECTORISED                                                                              \
	static void name##_##type##_streaming(pack_of_##type *restrict out,                     \
					      const pack_of_##type *restrict x,                 \
					      const pack_of_##type *restrict y, uint64_t packs) \
	{                                                                                       \
		(void)y;                                                                        \
		for (uint64_t i = 0; i < packs; i++)                                            \
			STREAM_PACK(&out[i], expression(type));                                 \
		STREAM_FENCE();                                                                 \
	}
#define pack_of_double pack_fp64
#define pack_of_float pack_fp32
#define COPY(type) x[i]
#define MUL(type) ((type)STREAM_SCALAR * x[i])
#define ADD(type) (x[i] + y[i])
#define TRIAD(type) (x[i] + (type)STREAM_SCALAR * y[i])
ELEMENTWISE(copy, double, COPY)
ELEMENTWISE(mul, double, MUL)
ELEMENTWISE(mul, float, MUL)
ELEMENTWISE(add, double, ADD)
ELEMENTWISE(add, float, ADD)
ELEMENTWISE(triad, double, TRIAD)
ELEMENTWISE(triad, float, TRIAD)

VECTORISED
static void stream_host_write_words(uint64_t *out, uint64_t first, uint64_t packs, uint64_t seed)
{
	for (uint64_t i = 0; i < 2 * packs; i++)
		out[i] = seed + (first + i) * STREAM_STEP;
}

VECTORISED
static void stream_host_write_words_past_cache(pack_words *out, uint64_t first, uint64_t packs,
					       uint64_t seed)
{
	for (uint64_t i = 0; i < packs; i++) {
		uint64_t word = seed + (first + 2 * i) * STREAM_STEP;
		pack_words pack = { word, word + STREAM_STEP };

		STREAM_PACK(&out[i], pack);
	}
	STREAM_FENCE();
}

/* Accumulates in twice as many lanes as the widest register has. */
#define LANES 16

#define DOT(type)                                                                                \
	VECTORISED                                                                               \
	static double dot_##type(const type *restrict x, const type *restrict y, uint64_t count) \
	{                                                                                        \
		double lanes[LANES] = { 0 }, sum = 0;                                            \
		uint64_t i = 0;                                                                  \
                                                                                                 \
		for (; i + LANES <= count; i += LANES)                                           \
			for (int k = 0; k < LANES; k++)                                          \
				lanes[k] += (double)x[i + k] * (double)y[i + k];                 \
		for (; i < count; i++)                                                           \
			sum += (double)x[i] * (double)y[i];                                      \
		for (int k = 0; k < LANES; k++)                                                  \
			sum += lanes[k];                                                         \
		return sum;                                                                      \
	}
DOT(double)
DOT(float)

VECTORISED
static uint64_t stream_host_read_words(const uint64_t *x, uint64_t words)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < words; i++)
		sum += x[i];
	return sum;
}

/* Rows begin to end-1 of each pass. */
static uint64_t stream_host_read_strided(const uint64_t *x, uint64_t begin, uint64_t end,
					 uint64_t stride)
{
	uint64_t sum = 0;

	for (uint64_t pass = 0; pass < stride; pass++)
		for (uint64_t row = begin; row < end; row++)
			sum += x[row * stride + pass];
	return sum;
}

static uint64_t stream_host_read_random(const struct stream_arguments *a, uint64_t begin,
					uint64_t end)
{
	const uint64_t *x = a->x;
	uint64_t words = a->bytes / 8, sum = 0;

	for (uint64_t i = begin; i < end; i++)
		sum += x[memory_stream_random(a->seed, i, words)];
	return sum;
}

#define AT(pointer, type, pack) ((type *)(pointer) + (pack) * (PACK / sizeof(type)))
#define CALL(name, type)                                                                     \
	do {                                                                                 \
		if (a->variant.streaming)                                                    \
			name##_##type##_streaming((void *)AT(a->out, type, begin),           \
						  (const void *)AT(a->x, const type, begin), \
						  (const void *)AT(a->y, const type, begin), \
						  end - begin);                              \
		else                                                                         \
			name##_##type(AT(a->out, type, begin), AT(a->x, const type, begin),  \
				      AT(a->y, const type, begin), end - begin);             \
	} while (0)
#define CALL_NUMBERS(name)                          \
	do {                                        \
		if (a->precision == PRECISION_FP32) \
			CALL(name, float);          \
		else                                \
			CALL(name, double);         \
	} while (0)

static void stream_host_array_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct stream_arguments *a = context;

	(void)part;
	switch (a->operation) {
	case STREAM_COPY: /* copies words: equal for both precisions */
		CALL(copy, double);
		break;
	case STREAM_MUL:
		CALL_NUMBERS(mul);
		break;
	case STREAM_ADD:
		CALL_NUMBERS(add);
		break;
	case STREAM_TRIAD:
		CALL_NUMBERS(triad);
		break;
	default:
		if (a->variant.streaming)
			stream_host_write_words_past_cache((pack_words *)a->out + begin, 2 * begin,
							   end - begin, a->seed);
		else
			stream_host_write_words((uint64_t *)a->out + 2 * begin, 2 * begin,
						end - begin, a->seed);
	}
}

static void stream_host_sum_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct stream_arguments *a = context;

	switch (a->operation) {
	case STREAM_DOT:
		a->sum->parts[part].number =
			a->precision == PRECISION_FP32
				? dot_float((const float *)a->x + 4 * begin,
					    (const float *)a->y + 4 * begin, 4 * (end - begin))
				: dot_double((const double *)a->x + 2 * begin,
					     (const double *)a->y + 2 * begin, 2 * (end - begin));
		break;
	case STREAM_READ:
		a->sum->parts[part].words =
			stream_host_read_words((const uint64_t *)a->x + 2 * begin,
					       2 * (end - begin));
		break;
	case STREAM_STRIDED:
		a->sum->parts[part].words =
			stream_host_read_strided(a->x, begin, end, a->stride / 8);
		break;
	default:
		a->sum->parts[part].words = stream_host_read_random(a, begin, end);
	}
}

static uint64_t stream_host_items_of(const struct stream_arguments *a)
{
	switch (a->operation) {
	case STREAM_STRIDED:
		return a->bytes / a->stride;
	case STREAM_RANDOM:
		return a->accesses;
	default:
		return a->bytes / PACK;
	}
}

_Static_assert(HOST_PARALLEL_MAX <= STREAM_PARTS, "every thread has its part of a sum");

static enum status stream_run(struct stream *stream, const void *arguments, struct error *err)
{
	struct stream_arguments a = *(const struct stream_arguments *)arguments;
	bool sums = a.operation == STREAM_DOT || a.operation == STREAM_READ ||
		    a.operation == STREAM_STRIDED || a.operation == STREAM_RANDOM;
	unsigned parts =
		host_stream_parallel(stream, stream_host_items_of(&a), GRAIN,
				     sums ? stream_host_sum_slice : stream_host_array_slice, &a);
	double number = 0;
	uint64_t words = 0;

	(void)err;
	if (!sums)
		return STATUS_OK;
	for (unsigned i = 0; i < parts; i++) {
		if (a.operation == STREAM_DOT)
			number += a.sum->parts[i].number;
		else
			words += a.sum->parts[i].words;
	}
	if (a.operation == STREAM_DOT)
		a.sum->sum.number = number;
	else
		a.sum->sum.words = words;
	return STATUS_OK;
}
HOST_KERNEL(stream)

struct check {
	const struct check_stream_arguments *a;
	struct fill_mismatch found[HOST_PARALLEL_MAX];
};

/* Expected bits of element i after the operation. */
static inline uint64_t stream_host_expected_bits(const struct check_stream_arguments *a, bool fp32,
						 uint64_t i)
{
	double value =
		memory_stream_weight(a->operation, 0) * (double)generator_uniform(a->seeds[0], i) +
		memory_stream_weight(a->operation, 1) * (double)generator_uniform(a->seeds[1], i);
	float rounded = (float)value;
	uint64_t bits = 0;

	if (a->operation == STREAM_WRITE)
		return a->seeds[0] + i * STREAM_STEP;
	if (fp32)
		memcpy(&bits, &rounded, sizeof(rounded));
	else
		memcpy(&bits, &value, sizeof(value));
	return bits;
}

static bool stream_host_is_fp32(const struct check_stream_arguments *a)
{
	return a->precision == PRECISION_FP32 && a->operation != STREAM_WRITE;
}

static void stream_host_check_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	struct check *check = context;
	const struct check_stream_arguments *a = check->a;
	struct fill_mismatch *found = &check->found[part];
	bool fp32 = stream_host_is_fp32(a);

	memset(found, 0, sizeof(*found));
	for (uint64_t i = begin; i < end; i++) {
		uint64_t got = fp32 ? ((const uint32_t *)a->out)[i] : ((const uint64_t *)a->out)[i],
			 expected = stream_host_expected_bits(a, fp32, i);

		if (got == expected || found->count++ > 0)
			continue;
		found->index = i * (fp32 ? 4 : 8);
		found->expected = expected;
		found->got = got;
	}
}

static enum status check_stream_run(struct stream *stream, const void *arguments, struct error *err)
{
	const struct check_stream_arguments *a = arguments;
	struct check check = { .a = a };
	unsigned parts = host_stream_parallel(stream, a->bytes / (stream_host_is_fp32(a) ? 4 : 8),
					      GRAIN, stream_host_check_slice, &check);

	(void)err;
	for (unsigned i = 0; i < parts; i++) {
		uint64_t count = a->found->count + check.found[i].count;

		if (check.found[i].count > 0 && check.found[i].index < a->found->index)
			*a->found = check.found[i];
		a->found->count = count;
	}
	return STATUS_OK;
}
HOST_KERNEL(check_stream)
