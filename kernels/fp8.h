/*
 * 8-bit numbers for host and device: E4M3 (4 bits of exponent, 3 of fraction, no infinity; named
 * fp8), E5M2, and fixed point in units of 1/128. Rounds to nearest even and saturates.
 */
#ifndef GPUPROOF_KERNELS_FP8_H
#define GPUPROOF_KERNELS_FP8_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define FP8_FN static inline __host__ __device__
#else
#define FP8_FN static inline
#endif

FP8_FN uint32_t fp8_bits_of(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

FP8_FN float fp8_float_of(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/*
 * A format of `fraction` bits after an exponent of `bias`, whose largest number is `most`; what is
 * beyond it, infinity too, becomes it.
 */
FP8_FN uint8_t fp8_encode(float value, unsigned fraction, unsigned bias, uint32_t most)
{
	uint32_t bits = fp8_bits_of(value), sign = bits >> 24 & 0x80u;
	uint32_t magnitude = bits & 0x7fffffffu;
	/* Normal: changes the exponent's bias from 127 and drops bits of the fraction. */
	unsigned drop = 23 - fraction;
	uint32_t rebias = (127 - bias) << 23;
	uint32_t normal =
		(magnitude - rebias + (1u << (drop - 1)) - 1 + (magnitude >> drop & 1)) >> drop;
	/* Subnormal: the addition rounds to units of 2^(1 - bias - fraction). */
	uint32_t unit = (127 + 24 - bias - fraction) << 23;
	uint32_t subnormal = fp8_bits_of(fp8_float_of(magnitude) + fp8_float_of(unit)) - unit;
	uint32_t fp8 = magnitude < rebias + (1u << 23) ? subnormal : normal;

	if (magnitude > 0x7f800000u)
		fp8 = 0x7f; /* NaN */
	else if (fp8 > most)
		fp8 = most;
	return (uint8_t)(fp8 | sign);
}

/* A finite number of such a format. */
FP8_FN float fp8_decode(uint32_t magnitude, unsigned fraction, unsigned bias)
{
	uint32_t unit = (127 + 1 - bias - fraction) << 23;

	if (magnitude < 1u << fraction)
		return (float)(int32_t)magnitude * fp8_float_of(unit);
	return fp8_float_of((magnitude << (23 - fraction)) + ((127 - bias) << 23));
}

#define FP8_MOST 448.0f
FP8_FN uint8_t fp8_from_float(float value)
{
	return fp8_encode(value, 3, 7, 0x7e);
}

FP8_FN float fp8_to_float(uint8_t fp8)
{
	uint32_t magnitude = fp8 & 0x7fu;
	uint32_t bits = magnitude == 0x7f ? 0x7fc00000u : fp8_bits_of(fp8_decode(magnitude, 3, 7));

	return fp8_float_of(bits | (uint32_t)(fp8 & 0x80u) << 24);
}

#define E5M2_MOST 57344.0f
FP8_FN uint8_t fp8_e5m2_from_float(float value)
{
	return fp8_encode(value, 2, 15, 0x7b);
}

FP8_FN float fp8_e5m2_to_float(uint8_t e5m2)
{
	uint32_t magnitude = e5m2 & 0x7fu;
	uint32_t bits = magnitude > 0x7c    ? 0x7fc00000u
			: magnitude == 0x7c ? 0x7f800000u
					    : fp8_bits_of(fp8_decode(magnitude, 2, 15));

	return fp8_float_of(bits | (uint32_t)(e5m2 & 0x80u) << 24);
}

FP8_FN int8_t fp8_fixed8_from_float(float value)
{
	float units = rintf(value * 128.0f);

	return (int8_t)(units < -128.0f ? -128.0f : units > 127.0f ? 127.0f : units);
}

FP8_FN float fp8_fixed8_to_float(int8_t fixed8)
{
	return (float)fixed8 * 0x1p-7f;
}

#endif
