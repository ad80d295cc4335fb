#include "kernel_checks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

bool kernel_checks_small;

const struct kernel_check kernel_checks[] = {
#define CHECK(name) { #name, check_##name },
#include "kernel_checks.def"
#undef CHECK
	{ NULL, NULL }
};

void bench_open(struct bench *b, struct device *device, struct error *err)
{
	memset(b, 0, sizeof(*b));
	b->device = device;
	b->err = err;
	backend_stream_create(device, false, &b->stream, err);
}

bool bench_ok(const struct bench *b)
{
	return b->err->status == STATUS_OK;
}

void *bench_upload(struct bench *b, const void *data, size_t bytes)
{
	void *memory = NULL;

	if (!bench_ok(b) || b->count == (int)ARRAY_SIZE(b->buffers) ||
	    backend_memory_alloc(b->device, ALLOCATOR_DEVICE, bytes, NULL, &memory, b->err) !=
		    STATUS_OK)
		return NULL;
	b->buffers[b->count].memory = memory;
	b->buffers[b->count++].bytes = bytes;
	if (data)
		backend_copy(b->stream, memory, data, bytes, b->err);
	else
		backend_memory_set(b->stream, memory, 0xee, bytes, b->err);
	backend_stream_synchronize(b->stream, b->err);
	return memory;
}

void bench_launch(struct bench *b, const char *kernel, const void *arguments)
{
	if (bench_ok(b) && backend_launch(b->stream, kernel, arguments, b->err) == STATUS_OK)
		backend_stream_synchronize(b->stream, b->err);
}

void bench_gemm(struct bench *b, const struct gemm *gemm)
{
	if (bench_ok(b) && backend_gemm(b->stream, gemm, b->err) == STATUS_OK)
		backend_stream_synchronize(b->stream, b->err);
}

void bench_download(struct bench *b, void *to, const void *from, size_t bytes)
{
	if (bench_ok(b) && backend_copy(b->stream, to, from, bytes, b->err) == STATUS_OK)
		backend_stream_synchronize(b->stream, b->err);
}

enum status bench_close(struct bench *b)
{
	while (b->count > 0) {
		b->count--;
		backend_memory_free(b->device, ALLOCATOR_DEVICE, b->buffers[b->count].memory,
				    b->buffers[b->count].bytes, NULL, b->err);
	}
	backend_stream_destroy(b->stream);
	return b->err->status;
}

/* Significand bits and the exponent of the smallest normal number. */
static const struct {
	int bits, smallest;
} formats[PRECISION_COUNT] = {
	[PRECISION_FP64] = { 53, -1022 }, [PRECISION_FP32] = { 24, -126 },
	[PRECISION_TF32] = { 24, -126 },  [PRECISION_FP16] = { 11, -14 },
	[PRECISION_BF16] = { 8, -126 },
};

double element_rounding(enum precision precision, double value)
{
	int exponent = formats[precision].smallest;

	if (value != 0 && isfinite(value) && ilogb(value) > exponent)
		exponent = ilogb(value);
	return ldexp(0.5, exponent - formats[precision].bits + 1);
}

/* By arithmetic on the value, not on bits: independent of kernels/half.h. */
static uint16_t encode_16(double value, int exponent_bits, int fraction_bits)
{
	uint16_t sign = signbit(value) ? 0x8000 : 0,
		 infinity = (uint16_t)(((1 << exponent_bits) - 1) << fraction_bits);
	int bias = (1 << (exponent_bits - 1)) - 1, exponent;
	double magnitude = fabs(value), unit;

	if (isnan(value))
		return (uint16_t)(infinity | 1 << (fraction_bits - 1));
	exponent = magnitude > 0 && isfinite(magnitude) ? ilogb(magnitude) : 0;
	if (exponent < 1 - bias || magnitude == 0)
		exponent = 1 - bias;
	unit = ldexp(1, exponent - fraction_bits);
	magnitude = nearbyint(magnitude / unit); /* to even: the default rounding of the host */
	if (!isfinite(magnitude) || magnitude * unit >= ldexp(1, bias + 1))
		return sign | infinity;
	/*
	 * The hidden bit carries into the exponent by itself, for subnormals and after rounding up,
	 * too.
	 */
	return (uint16_t)(sign + ((exponent - 1 + bias) << fraction_bits) + (int)magnitude);
}

static double decode_16(uint16_t bits, int exponent_bits, int fraction_bits)
{
	int bias = (1 << (exponent_bits - 1)) - 1,
	    exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1);
	int fraction = bits & ((1 << fraction_bits) - 1);
	double value;

	if (exponent == (1 << exponent_bits) - 1)
		value = fraction ? NAN : INFINITY;
	else if (exponent == 0)
		value = ldexp(fraction, 1 - bias - fraction_bits);
	else
		value = ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
	return bits & 0x8000 ? -value : value;
}

double element_get(const void *tensor, enum precision precision, size_t index)
{
	switch (precision) {
	case PRECISION_FP64:
		return ((const double *)tensor)[index];
	case PRECISION_FP16:
		return decode_16(((const uint16_t *)tensor)[index], 5, 10);
	case PRECISION_BF16:
		return decode_16(((const uint16_t *)tensor)[index], 8, 7);
	default:
		return (double)((const float *)tensor)[index];
	}
}

void element_set(void *tensor, enum precision precision, size_t index, double value)
{
	switch (precision) {
	case PRECISION_FP64:
		((double *)tensor)[index] = value;
		break;
	case PRECISION_FP16:
		((uint16_t *)tensor)[index] = encode_16(value, 5, 10);
		break;
	case PRECISION_BF16:
		((uint16_t *)tensor)[index] = encode_16(value, 8, 7);
		break;
	default:
		((float *)tensor)[index] = (float)value;
	}
}

/* A generator of the tests' own (xorshift64*). */
double random_uniform(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return (double)((*state * UINT64_C(0x2545F4914F6CDD1D)) >> 11) * 0x1p-52 - 1;
}

void *random_tensor(enum precision precision, size_t count, uint64_t seed, double scale)
{
	void *tensor = xcalloc(count ? count : 1, precision_bytes(precision));
	uint64_t state = seed * 2 + 1;

	for (size_t i = 0; i < count; i++)
		element_set(tensor, precision, i, scale * random_uniform(&state));
	return tensor;
}

/* Elements after the end of every tensor. */
#define MARGIN 9

void tensor_make(struct bench *b, struct tensor *t, enum precision precision, size_t count,
		 uint64_t seed, double scale)
{
	size_t bytes = (count + MARGIN) * precision_bytes(precision);

	t->precision = precision;
	t->count = count;
	t->was = random_tensor(precision, count + MARGIN, seed, scale);
	t->now = xcalloc(1, bytes);
	t->device = bench_upload(b, t->was, bytes);
}

void tensor_restore(struct bench *b, const struct tensor *t)
{
	if (!bench_ok(b))
		return;
	backend_copy(b->stream, t->device, t->was,
		     (t->count + MARGIN) * precision_bytes(t->precision), b->err);
	backend_stream_synchronize(b->stream, b->err);
}

void tensor_fetch(struct bench *b, struct tensor *t, const char *what)
{
	size_t size = precision_bytes(t->precision);

	bench_download(b, t->now, t->device, (t->count + MARGIN) * size);
	if (bench_ok(b) && memcmp((char *)t->now + t->count * size,
				  (char *)t->was + t->count * size, MARGIN * size))
		error_set(b->err, STATUS_MISMATCH, "%s, %s, %zu elements: wrote beyond the end",
			  what, precision_name(t->precision), t->count);
}

void tensor_free(struct tensor *t)
{
	free(t->was);
	free(t->now);
}

double arithmetic_rounding(enum precision precision)
{
	return precision == PRECISION_FP64 ? 0x1p-53 : 0x1p-24;
}

bool compare(struct error *err, const char *what, enum precision precision, size_t index,
	     double got, double expected, double tolerance)
{
	if (fabs(got - expected) <= tolerance || got == expected || (isnan(got) && isnan(expected)))
		return true;
	error_set(err, STATUS_MISMATCH, "%s, %s, element %zu: got %.17g, expected %.17g +- %.3g",
		  what, precision_name(precision), index, got, expected, tolerance);
	return false;
}
