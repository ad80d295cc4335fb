/*
 * 8-bit numbers for host and device: E4M3 (4 bits of exponent, 3 of fraction, no infinity) and
 * fixed point in units of 1/128. Rounds to nearest even and saturates.
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

FP8_FN uint8_t fp8_from_float(float value)
{
	uint32_t bits = fp8_bits_of(value), sign = bits >> 24 & 0x80u;
	uint32_t magnitude = bits & 0x7fffffffu;
	/* Normal: changes the exponent's bias from 127 to 7 and drops 20 bits of fraction. */
	uint32_t normal = (magnitude - (120u << 23) + 0x7ffffu + (magnitude >> 20 & 1)) >> 20;
	/* Subnormal: the addition rounds to units of 2^-9. */
	uint32_t subnormal = fp8_bits_of(fp8_float_of(magnitude) + 0x1p14f) - fp8_bits_of(0x1p14f);
	uint32_t fp8 = magnitude < (121u << 23) ? subnormal : normal;

	if (magnitude > 0x7f800000u)
		fp8 = 0x7f; /* NaN */
	else if (fp8 > 0x7e)
		fp8 = 0x7e;
	return (uint8_t)(fp8 | sign);
}

FP8_FN float fp8_to_float(uint8_t fp8)
{
	uint32_t sign = (uint32_t)(fp8 & 0x80u) << 24, magnitude = fp8 & 0x7fu;
	uint32_t normal = (magnitude << 20) + (120u << 23);
	uint32_t subnormal = fp8_bits_of((float)(int32_t)magnitude * 0x1p-9f);
	uint32_t bits = magnitude == 0x7f ? 0x7fc00000u : magnitude < 8 ? subnormal : normal;

	return fp8_float_of(bits | sign);
}

FP8_FN int8_t fixed8_from_float(float value)
{
	float units = rintf(value * 128.0f);

	return (int8_t)(units < -128.0f ? -128.0f : units > 127.0f ? 127.0f : units);
}

FP8_FN float fixed8_to_float(int8_t fixed8)
{
	return (float)fixed8 * 0x1p-7f;
}

#endif
