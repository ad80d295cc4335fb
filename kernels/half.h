/*
 * FP16 and BF16 on the host: conversions with integer and FP32 arithmetic without branches, so that
 * loops over them vectorise. Rounds to nearest even; subnormals, infinities and NaN (made quiet) as
 * in IEEE 754. Equal to F16C and GPUs bit for bit, except for NaN payloads.
 */
#ifndef GPUPROOF_KERNELS_HALF_H
#define GPUPROOF_KERNELS_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t half_bits_of(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline float half_float_of(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline float half_to_float(uint16_t half)
{
	uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
	uint32_t magnitude = half & 0x7fffu;
	/*
	 * Normal: changes the exponent's bias from 15 to 127. Infinity and NaN: exponent 255, NaN
	 * made quiet.
	 */
	uint32_t normal = (magnitude << 13) + (112u << 23);
	uint32_t special = normal + (112u << 23) + (magnitude > 0x7c00u ? 0x400000u & ~normal : 0);
	/* Subnormal: magnitude * 2^-24, exact in FP32. */
	uint32_t subnormal = half_bits_of((float)(int32_t)magnitude * 0x1p-24f);
	uint32_t bits = magnitude < 0x0400u ? subnormal : magnitude >= 0x7c00u ? special : normal;

	return half_float_of(bits | sign);
}

static inline uint16_t half_from_float(float value)
{
	uint32_t bits = half_bits_of(value);
	uint32_t sign = bits >> 16 & 0x8000u;
	uint32_t magnitude = bits & 0x7fffffffu;
	/*
	 * Normal: adds half a unit in the last place minus one, plus the bit that decides a tie.
	 * Overflows to infinity.
	 */
	uint32_t normal = (magnitude - (112u << 23) + 0xfffu + (magnitude >> 13 & 1)) >> 13;
	/* Subnormal: adding 0.5 leaves the value in units of 2^-24, rounded by the addition. */
	uint32_t subnormal = half_bits_of(half_float_of(magnitude) + 0.5f) - half_bits_of(0.5f);
	uint32_t special = magnitude > 0x7f800000u ? 0x7e00u | (magnitude >> 13 & 0x3ffu) : 0x7c00u;
	uint32_t half = magnitude < (113u << 23)   ? subnormal
			: magnitude < (143u << 23) ? normal
						   : special;

	return (uint16_t)(half | sign);
}

static inline float half_bf16_to_float(uint16_t bf16)
{
	return half_float_of((uint32_t)bf16 << 16);
}

static inline uint16_t half_bf16_from_float(float value)
{
	uint32_t bits = half_bits_of(value);
	uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
	uint32_t quiet = bits >> 16 | 0x40u;

	return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}

/*
 * Intermediate step from FP64 to FP16 or BF16: FP32 rounded to odd, so that the second rounding
 * sees no false tie (Boldo and Melquiond, IEEE Trans. Computers 57(4), 2008).
 */
static inline float half_round_to_odd(double value)
{
	float nearest = (float)value;
	uint32_t bits = half_bits_of(nearest);
	double back = (double)nearest;

	if (!(back == value) && value == value) {
		/* Rounds toward zero first if the nearest value is farther out. */
		if ((value < 0 ? -back : back) > (value < 0 ? -value : value))
			bits--;
		bits |= 1;
	}
	return half_float_of(bits);
}

static inline uint16_t half_from_double(double value)
{
	return half_from_float(half_round_to_odd(value));
}

static inline uint16_t half_bf16_from_double(double value)
{
	return half_bf16_from_float(half_round_to_odd(value));
}

#endif
