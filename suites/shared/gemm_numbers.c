#include "suites/shared/gemm_numbers.h"

#include "base/parallel.h"
#include "kernels/fp8.h"
#include "kernels/half.h"

double gemm_numbers_stored(enum precision precision, double value)
{
	switch (precision) {
	case PRECISION_FP64:
		return value;
	case PRECISION_FP16:
	case PRECISION_FP16_ACC16:
		return half_to_float(half_from_double(value));
	case PRECISION_BF16:
		return half_bf16_to_float(half_bf16_from_double(value));
	case PRECISION_FP8:
		return fp8_to_float(fp8_from_float(half_round_to_odd(value)));
	case PRECISION_E5M2:
		return fp8_e5m2_to_float(fp8_e5m2_from_float(half_round_to_odd(value)));
	case PRECISION_INT8:
		return fp8_fixed8_to_float(fp8_fixed8_from_float(half_round_to_odd(value)));
	default:
		return (float)value;
	}
}

void gemm_numbers_round_to_odd(double *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		values[i] = half_round_to_odd(values[i]);
}

#define ROUND(name, load, store)                                   \
	VECTORISED                                                 \
	static void round_##name(double *values, size_t count)     \
	{                                                          \
		for (size_t i = 0; i < count; i++)                 \
			values[i] = load(store((float)values[i])); \
	}
ROUND(fp16, half_to_float, half_from_float)
ROUND(bf16, half_bf16_to_float, half_bf16_from_float)
ROUND(fp8, fp8_to_float, fp8_from_float)
ROUND(e5m2, fp8_e5m2_to_float, fp8_e5m2_from_float)
ROUND(fixed8, fp8_fixed8_to_float, fp8_fixed8_from_float)

VECTORISED
static void gemm_numbers_round_fp32(double *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		values[i] = (float)values[i];
}

bool gemm_numbers_is_narrow(enum precision precision)
{
	return precision_bytes(precision) < 4;
}

void gemm_numbers_round(enum precision precision, double *values, size_t count)
{
	switch (precision) {
	case PRECISION_FP64:
		break;
	case PRECISION_FP16:
	case PRECISION_FP16_ACC16:
		round_fp16(values, count);
		break;
	case PRECISION_BF16:
		round_bf16(values, count);
		break;
	case PRECISION_FP8:
		round_fp8(values, count);
		break;
	case PRECISION_E5M2:
		round_e5m2(values, count);
		break;
	case PRECISION_INT8:
		round_fixed8(values, count);
		break;
	default:
		gemm_numbers_round_fp32(values, count);
	}
}

#define DECODE(name, type, convert)                                         \
	VECTORISED                                                          \
	static void decode_##name(double *out, const type *c, size_t count) \
	{                                                                   \
		for (size_t i = 0; i < count; i++)                          \
			out[i] = convert(c[i]);                             \
	}
DECODE(fp64, double, (double))
DECODE(fp32, float, (double))
DECODE(fp16, uint16_t, half_to_float)
DECODE(bf16, uint16_t, half_bf16_to_float)
/* Products of two numbers in units of 2^-7. */
DECODE(int32, int32_t, 0x1p-14 * (double))

void gemm_numbers_decode(enum precision precision, const void *c, size_t first, size_t count,
			 double *out)
{
	switch (precision) {
	case PRECISION_FP64:
		decode_fp64(out, (const double *)c + first, count);
		break;
	case PRECISION_INT8:
		decode_int32(out, (const int32_t *)c + first, count);
		break;
	case PRECISION_FP16:
	case PRECISION_FP16_ACC16:
	case PRECISION_FP8:
		decode_fp16(out, (const uint16_t *)c + first, count);
		break;
	case PRECISION_BF16:
		decode_bf16(out, (const uint16_t *)c + first, count);
		break;
	default:
		decode_fp32(out, (const float *)c + first, count);
	}
}

double gemm_numbers_smallest_normal(enum precision precision)
{
	switch (precision) {
	case PRECISION_FP16:
	case PRECISION_FP16_ACC16:
	case PRECISION_E5M2:
		return 0x1p-14;
	case PRECISION_FP8:
		return 0x1p-6;
	case PRECISION_INT8:
		return 0;
	default:
		return 0x1p-126;
	}
}
