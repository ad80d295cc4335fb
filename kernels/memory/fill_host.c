#include "kernels/memory/fill.h"

#include <string.h>

#include "kernels/fp8.h"
#include "kernels/generator.h"
#include "kernels/half.h"
#include "device/host/host_kernel.h"

/* Smaller slices do not justify a second thread. */
#define GRAIN 16384

/* Word `index` of the byte stream, as in memory. */
static inline uint64_t fill_host_stored_word(uint64_t seed, uint64_t index)
{
	uint64_t word = generator_bits(seed, index);

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	word = __builtin_bswap64(word);
#endif
	return word;
}

HOST_VECTORISED
static void fill_host_words(char *to, uint64_t first, uint64_t count, uint64_t seed)
{
	for (uint64_t i = 0; i < count; i++) {
		uint64_t word = fill_host_stored_word(seed, first + i);

		memcpy(to + 8 * i, &word, sizeof(word));
	}
}

/* A slice is counted in words; only the last word of all may be partial. */
static void fill_host_bits_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct fill_arguments *a = context;
	uint64_t whole = a->count / 8, last = end < whole ? end : whole;

	(void)part;
	fill_host_words((char *)a->memory + 8 * begin, a->first / 8 + begin, last - begin, a->seed);
	if (end > whole) {
		uint64_t word = fill_host_stored_word(a->seed, a->first / 8 + whole);

		memcpy((char *)a->memory + 8 * whole, &word, a->count % 8);
	}
}

/* One loop per storage type: `store` converts the exact value, a double, to an element. */
#define FILL_LOOP(name, type, store)                                                       \
	HOST_VECTORISED                                                                    \
	static void fill_##name(type *to, uint64_t first, uint64_t count, uint64_t seed,   \
				double scale)                                              \
	{                                                                                  \
		for (uint64_t i = 0; i < count; i++)                                       \
			to[i] = store(scale * (double)generator_uniform(seed, first + i)); \
	}
FILL_LOOP(fp64, double, (double))
FILL_LOOP(fp32, float, (float))
FILL_LOOP(fp16, uint16_t, half_from_double)
FILL_LOOP(bf16, uint16_t, half_bf16_from_double)

/*
 * Through FP32 rounded to odd, so that the second rounding gives the same as one rounding of the
 * double.
 */
static inline uint8_t fill_host_fp8_from_double(double value)
{
	return fp8_from_float(half_round_to_odd(value));
}

static inline uint8_t fill_host_e5m2_from_double(double value)
{
	return fp8_e5m2_from_float(half_round_to_odd(value));
}

static inline int8_t fill_host_fixed8_from_double(double value)
{
	return fp8_fixed8_from_float(half_round_to_odd(value));
}
FILL_LOOP(fp8, uint8_t, fill_host_fp8_from_double)
FILL_LOOP(e5m2, uint8_t, fill_host_e5m2_from_double)
FILL_LOOP(fixed8, int8_t, fill_host_fixed8_from_double)

static void fill_host_elements_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct fill_arguments *a = context;
	uint64_t first = a->first + begin, count = end - begin;

	(void)part;
	switch (a->kind) {
	case FILL_FP64:
		fill_fp64((double *)a->memory + begin, first, count, a->seed, a->scale);
		break;
	case FILL_FP32:
		fill_fp32((float *)a->memory + begin, first, count, a->seed, a->scale);
		break;
	case FILL_FP16:
		fill_fp16((uint16_t *)a->memory + begin, first, count, a->seed, a->scale);
		break;
	case FILL_FP8:
		fill_fp8((uint8_t *)a->memory + begin, first, count, a->seed, a->scale);
		break;
	case FILL_E5M2:
		fill_e5m2((uint8_t *)a->memory + begin, first, count, a->seed, a->scale);
		break;
	case FILL_FIXED8:
		fill_fixed8((int8_t *)a->memory + begin, first, count, a->seed, a->scale);
		break;
	default:
		fill_bf16((uint16_t *)a->memory + begin, first, count, a->seed, a->scale);
	}
}

static enum status fill_run(struct stream *stream, const void *arguments, struct error *err)
{
	struct fill_arguments a = *(const struct fill_arguments *)arguments;

	if (a.kind == FILL_BITS && a.first % 8 != 0)
		return error_set(err, STATUS_INTERNAL, "fill: first is not a multiple of 8");
	if (a.kind == FILL_BITS)
		host_stream_parallel(stream, (a.count + 7) / 8, GRAIN, fill_host_bits_slice, &a);
	else
		host_stream_parallel(stream, a.count, GRAIN, fill_host_elements_slice, &a);
	return STATUS_OK;
}
HOST_KERNEL(fill)

struct check {
	const struct check_fill_arguments *a;
	struct fill_mismatch found[HOST_PARALLEL_MAX];
};

/*
 * Number of wrong words in a range of whole words: the fast test, which nearly always finds none.
 */
HOST_VECTORISED
static uint64_t fill_host_count_wrong(const char *memory, uint64_t first, uint64_t count,
				      uint64_t seed)
{
	uint64_t wrong = 0;

	for (uint64_t i = 0; i < count; i++) {
		uint64_t got;

		memcpy(&got, memory + 8 * i, sizeof(got));
		wrong += got != fill_host_stored_word(seed, first + i);
	}
	return wrong;
}

/*
 * Word `index` of the range, `bytes` of which count; a partial word is compared and reported padded
 * with zeros.
 */
static void fill_host_check_word(const struct check_fill_arguments *a, uint64_t index, size_t bytes,
				 struct fill_mismatch *found)
{
	uint64_t word = fill_host_stored_word(a->seed, a->first / 8 + index), expected = 0, got = 0;

	memcpy(&expected, &word, bytes);
	memcpy(&got, (const char *)a->memory + 8 * index, bytes);
	if (expected == got)
		return;
	if (found->count++ == 0) {
		found->index = 8 * index;
		found->expected = expected;
		found->got = got;
	}
}

static void fill_host_check_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	struct check *check = context;
	const struct check_fill_arguments *a = check->a;
	struct fill_mismatch *found = &check->found[part];
	uint64_t whole = a->bytes / 8, last = end < whole ? end : whole;

	memset(found, 0, sizeof(*found));
	if (fill_host_count_wrong((const char *)a->memory + 8 * begin, a->first / 8 + begin,
				  last - begin, a->seed) > 0) {
		for (uint64_t i = begin; i < last; i++)
			fill_host_check_word(a, i, 8, found);
	}
	if (end > whole)
		fill_host_check_word(a, whole, a->bytes % 8, found);
}

static enum status check_fill_run(struct stream *stream, const void *arguments, struct error *err)
{
	const struct check_fill_arguments *a = arguments;
	struct check check;
	unsigned parts;

	if (a->first % 8 != 0)
		return error_set(err, STATUS_INTERNAL, "check_fill: first is not a multiple of 8");
	check.a = a;
	parts = host_stream_parallel(stream, (a->bytes + 7) / 8, GRAIN, fill_host_check_slice,
				     &check);
	/*
	 * Merges the parts, in the order of memory, with the findings of earlier launches in `out`.
	 */
	for (unsigned i = 0; i < parts; i++) {
		if (check.found[i].count == 0)
			continue;
		if (check.found[i].index < a->out->index) {
			a->out->index = check.found[i].index;
			a->out->expected = check.found[i].expected;
			a->out->got = check.found[i].got;
		}
		if (__builtin_add_overflow(a->out->count, check.found[i].count, &a->out->count))
			a->out->count = UINT64_MAX;
	}
	return STATUS_OK;
}
HOST_KERNEL(check_fill)
