/* Fills memory with generated data, and verifies it without a copy. */
#ifndef GPUPROOF_KERNELS_MEMORY_FILL_H
#define GPUPROOF_KERNELS_MEMORY_FILL_H

#include "kernels/kernel.h"

enum fill_kind {
	FILL_BITS, /* raw bytes: byte i is byte i%8 (little-endian) of generator_bits(seed, i/8) */
	/* scale * generator_uniform(seed, first + i), rounded to nearest even */
	FILL_FP64,
	FILL_FP32,
	FILL_FP16,
	FILL_BF16,
	FILL_FP8,   /* E4M3; saturates at 448 */
	FILL_E5M2,  /* saturates at 57344 */
	FILL_FIXED8 /* in units of 1/128; saturates */
};

/* "fill": writes `count` elements (FILL_BITS: bytes; `memory` 16-byte aligned). */
struct fill_arguments {
	void *memory;
	enum fill_kind kind;
	uint64_t count, first; /* `first`: index of the first element; FILL_BITS: multiple of 8 */
	uint64_t seed;
	double scale;
};

/* Result of "check_fill", in device memory, or pinned memory that the device can write. */
struct fill_mismatch {
	uint64_t count;         /* wrong 8-byte words (the last may be partial), saturating */
	uint64_t index;         /* byte offset of the first wrong word; valid if count > 0 */
	uint64_t expected, got; /* of that word */
};

/*
 * "check_fill": compares `bytes` bytes at `memory` with FILL_BITS data of `seed` from byte offset
 * `first`. Set `out` to { 0, UINT64_MAX, 0, 0 } before. Deterministic: always reports the lowest
 * index.
 */
struct check_fill_arguments {
	const void *memory;
	uint64_t bytes, first;
	uint64_t seed;
	struct fill_mismatch *out;
};

#endif
