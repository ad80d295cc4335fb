#include "suites/shared/gemm_numbers.h"

#include "base/parallel.h"
#include "kernels/fp8.h"
#include "kernels/half.h"

/* Rounds FP32 numbers in place, and decodes elements of C. */
#define ROUND(name, load, store)                                   \
	VECTORISED                                                 \
	static void round_##name(double *values, size_t count)     \
	{                                                          \
		for (size_t i = 0; i < count; i++)                 \
			values[i] = load(store((float)values[i])); \
	}
#define DECODE(name, type, convert)                                                              \
	VECTORISED                                                                               \
	static void decode_##name(double *out, const void *elements, size_t first, size_t count) \
	{                                                                                        \
		const type *c = (const type *)elements + first;                                  \
                                                                                                 \
		for (size_t i = 0; i < count; i++)                                               \
			out[i] = convert(c[i]);                                                  \
	}
ROUND(fp32, (double), (float))
ROUND(fp16, half_to_float, half_from_float)
ROUND(bf16, half_bf16_to_float, half_bf16_from_float)
ROUND(fp8, fp8_to_float, fp8_from_float)
ROUND(e5m2, fp8_e5m2_to_float, fp8_e5m2_from_float)
ROUND(fixed8, fp8_fixed8_to_float, fp8_fixed8_from_float)
DECODE(fp64, double, (double))
DECODE(fp32, float, (double))
DECODE(fp16, uint16_t, half_to_float)
DECODE(bf16, uint16_t, half_bf16_to_float)
/* Products of two numbers in units of 2^-7. */
DECODE(int32, int32_t, 0x1p-14 * (double))

static const struct number_format {
	void (*round)(double *values, size_t count); /* NULL: all digits are stored */
	/* of results; NULL: a format of operands only */
	void (*decode)(double *out, const void *elements, size_t first, size_t count);
	double smallest_normal; /* of an operand */
} formats[] = {
	[PRECISION_FP64] = { NULL, decode_fp64, 0x1p-126 },
	[PRECISION_FP32] = { round_fp32, decode_fp32, 0x1p-126 },
	[PRECISION_TF32] = { round_fp32, decode_fp32, 0x1p-126 },
	[PRECISION_FP16] = { round_fp16, decode_fp16, 0x1p-14 },
	[PRECISION_BF16] = { round_bf16, decode_bf16, 0x1p-126 },
	[PRECISION_FP16_ACC16] = { round_fp16, decode_fp16, 0x1p-14 },
	[PRECISION_FP8] = { round_fp8, decode_fp16, 0x1p-6 },
	[PRECISION_INT8] = { round_fixed8, decode_int32, 0 },
	[PRECISION_E5M2] = { round_e5m2, NULL, 0x1p-14 },
};

bool gemm_numbers_is_narrow(enum precision precision)
{
	return precision_bytes(precision) < 4;
}

void gemm_numbers_round_to_odd(double *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		values[i] = half_round_to_odd(values[i]);
}

void gemm_numbers_round(enum precision precision, double *values, size_t count)
{
	if (formats[precision].round)
		formats[precision].round(values, count);
}

double gemm_numbers_stored(enum precision precision, double value)
{
	if (precision == PRECISION_E5M2 || gemm_numbers_is_narrow(precision))
		value = half_round_to_odd(value);
	gemm_numbers_round(precision, &value, 1);
	return value;
}

void gemm_numbers_decode(enum precision precision, const void *c, size_t first, size_t count,
			 double *out)
{
	formats[precision].decode(out, c, first, count);
}

double gemm_numbers_smallest_normal(enum precision precision)
{
	return formats[precision].smallest_normal;
}
