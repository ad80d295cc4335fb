/*
 * Compares results of devices in place: between ranks by checksums, on one device element by
 * element.
 */
#ifndef GPUPROOF_KERNELS_COMPARISON_H
#define GPUPROOF_KERNELS_COMPARISON_H

#include "kernels/generator.h"
#include "kernels/kernel.h"

/*
 * Contribution of word `index` to a checksum. The mapping of values is different and invertible for
 * each index (odd factors and shifted xors), so a single changed word always changes the sum, and
 * several nearly always do.
 */
GENERATOR_FN uint64_t comparison_checksum_word(uint64_t word, uint64_t index)
{
	uint64_t x =
		(word ^ (index + 1) * UINT64_C(0x9E3779B97F4A7C15)) * UINT64_C(0xBF58476D1CE4E5B9);

	x = (x ^ x >> 32) * UINT64_C(0x94D049BB133111EB);
	return x ^ x >> 29;
}

/*
 * "checksum": adds comparison_checksum_word() of every 8-byte word of `memory` to *out, modulo
 * 2^64; the last word is padded with zeros. Equal bytes give equal sums on every device, for any
 * alignment.
 */
struct checksum_arguments {
	const void *memory;
	uint64_t bytes;
	uint64_t *out; /* device memory */
};

/* Number of partial sums of a "difference"; the caller adds them in order. */
#define DIFFERENCE_PARTS 512

struct difference_part {
	double difference, expected;
};

/*
 * "difference": sums over i < count of (x[i] / x_scale - y[i] / y_scale)^2 and of (y[i] /
 * y_scale)^2, in double, as DIFFERENCE_PARTS parts, all of which are written.
 */
struct difference_arguments {
	const void *x, *y;
	enum precision precision;
	uint64_t count;
	double x_scale, y_scale;
	struct difference_part *parts; /* device memory */
};

#endif
