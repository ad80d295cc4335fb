#include "suites/training/models/reference/values.h"

#include <math.h>
#include <sched.h>
#include <string.h>

/*
 * Properties of the 16-bit formats: significant bits, smallest exponent of a normal number, largest
 * finite number.
 */
struct format {
	int bits, smallest_exponent, exponent_bits;
	double largest;
};
static const struct format fp16 = { 11, -14, 5, 65504 };
static const struct format bf16 = { 8, -126, 8, 0x1.fep127 };

static double values_round_to(double value, const struct format *format)
{
	int exponent;
	double unit, rounded;

	if (value == 0 || !isfinite(value))
		return value;
	frexp(value, &exponent);
	exponent =
		exponent - 1 < format->smallest_exponent ? format->smallest_exponent : exponent - 1;
	unit = ldexp(1, exponent - (format->bits - 1));
	rounded = nearbyint(value / unit) * unit;
	return fabs(rounded) > format->largest ? copysign(INFINITY, value) : rounded;
}

double value_round(double value, enum precision precision)
{
	switch (precision) {
	case PRECISION_FP16:
		return values_round_to(value, &fp16);
	case PRECISION_BF16:
		return values_round_to(value, &bf16);
	case PRECISION_FP64:
		return value;
	default:
		return (float)value;
	}
}

static void reference_values_decode_16s(double *to, const void *from, const struct format *format,
					uint64_t count)
{
	IN_PARALLEL
	for (uint64_t i = 0; i < count; i++) {
		uint16_t word;
		int fraction_bits, fraction, exponent;
		double magnitude;

		memcpy(&word, (const char *)from + i * sizeof(word), sizeof(word));
		fraction_bits = format->bits - 1;
		fraction = word & ((1 << fraction_bits) - 1);
		exponent = (word & 0x7fff) >> fraction_bits;
		if (exponent == (1 << format->exponent_bits) - 1)
			magnitude = fraction ? NAN : INFINITY;
		else if (exponent == 0)
			magnitude = ldexp(fraction, format->smallest_exponent - fraction_bits);
		else
			magnitude = ldexp(fraction + (1 << fraction_bits),
					  exponent - 1 + format->smallest_exponent - fraction_bits);
		to[i] = word & 0x8000 ? -magnitude : magnitude;
	}
}

void values_decode(double *to, const void *from, enum precision precision, uint64_t count)
{
	const float *singles = from;

	switch (precision) {
	case PRECISION_FP16:
		reference_values_decode_16s(to, from, &fp16, count);
		break;
	case PRECISION_BF16:
		reference_values_decode_16s(to, from, &bf16, count);
		break;
	case PRECISION_FP64:
		memcpy(to, from, count * sizeof(*to));
		break;
	default:
		IN_PARALLEL
		for (uint64_t i = 0; i < count; i++)
			to[i] = singles[i];
	}
}

static int sharing = 1;

void values_share_threads(int ranks)
{
	sharing = ranks;
}

int values_threads(void)
{
	cpu_set_t mine;
	int cores = sched_getaffinity(0, sizeof(mine), &mine) == 0 ? CPU_COUNT(&mine) : 1;

	return cores > sharing ? cores / sharing : 1;
}
