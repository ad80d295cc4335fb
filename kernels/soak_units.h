/*
 * Arithmetic units, quarter by quarter: one block is pinned to each multiprocessor, and each of its
 * four warps works on a quarter. All compute the same from the same seed, so that each quarter has
 * the same signature, and one that has not is wrong; the CPU knows most signatures too.
 */
#ifndef GPUPROOF_KERNELS_SOAK_UNITS_H
#define GPUPROOF_KERNELS_SOAK_UNITS_H

#include "kernels/generator.h"
#include "kernels/kernel.h"

/* Classes of instructions. UNIT_CLASSES(X): X(enum, name) */
#define UNIT_CLASSES(X)           \
	X(FFMA, "ffma")           \
	X(HFMA2, "hfma2")         \
	X(DFMA, "dfma")           \
	X(IMAD, "imad")           \
	X(LOGIC, "logic")         \
	X(MUFU, "mufu")           \
	X(CONVERT, "convert")     \
	X(SHUFFLE, "shuffle")     \
	X(REGISTERS, "registers") \
	X(SHARED, "shared")       \
	X(MMA_FP16, "mma_fp16")   \
	X(MMA_BF16, "mma_bf16")   \
	X(MMA_TF32, "mma_tf32")   \
	X(MMA_FP8, "mma_fp8")     \
	X(MMA_INT8, "mma_int8")   \
	X(MMA_FP64, "mma_fp64")

enum unit_class {
#define X(symbol, name) UNIT_##symbol,
	UNIT_CLASSES(X)
#undef X
		UNIT_CLASS_COUNT
};

#define UNIT_QUARTERS 4
#define UNIT_LANES 32

/* A quarter's result; in memory of the device. */
struct soak_unit {
	uint64_t signature;
	uint32_t began, ended; /* the multiprocessor's number at either end of the work */
	uint32_t words;        /* of 4 bytes: shared memory of a quarter */
	uint32_t unused;
};

/*
 * "soak_units": out[blocks][UNIT_QUARTERS]. A multiprocessor holds one block at a time.
 * STATUS_UNSUPPORTED: the device has no such instruction. A fault, for tests: on one
 * multiprocessor, a bit of one value of lane 0 of one quarter is turned.
 */
struct soak_units_arguments {
	enum unit_class unit;
	uint32_t blocks, steps;
	uint64_t seed;
	struct soak_unit *out;
	struct {
		bool is;
		uint32_t multiprocessor, quarter, bit; /* bit: below 32 */
	} fault;
};

/*
 * The signature by the CPU; `words`: those of the device. False: the instruction's result is not
 * fixed by a standard (mufu), so that only quarters can be compared.
 */
bool soak_units_host_expected(const struct soak_units_arguments *a, uint32_t words, uint64_t *out);
static inline const char *soak_units_class_name(enum unit_class unit)
{
	static const char *const names[] = {
#define X(symbol, name) name,
		UNIT_CLASSES(X)
#undef X
	};

	return names[unit];
}

/* Independent chains of a lane, so that no instruction waits for the one before. */
#define UNIT_CHAINS 8
/* Registers through which REGISTERS moves its values. */
#define UNIT_REGISTERS_MOVED 128
/* Products added up before the sums are folded: small whole numbers, exact up to 2^24. */
#define UNIT_EXACT_STEPS 4096
/* One product: UNIT_LEFTS x UNIT_RIGHTS tiles of 16 (FP64: 8) rows and 8 columns. */
#define UNIT_LEFTS 2
#define UNIT_RIGHTS 4
/* x = x * x + UNIT_SHIFT neither settles nor grows. */
#define UNIT_SHIFT (-1.875f)

GENERATOR_FN uint64_t soak_units_fold(uint64_t sum, uint64_t bits)
{
	return generator_bits(sum, bits);
}

GENERATOR_FN float soak_units_start(uint64_t seed, uint32_t lane, uint32_t chain)
{
	return generator_uniform(seed, lane * UNIT_CHAINS + chain);
}

GENERATOR_FN uint32_t soak_units_start_bits(uint64_t seed, uint32_t lane, uint32_t chain)
{
	return (uint32_t)(generator_bits(seed, lane * 256 + chain) >> 32);
}

GENERATOR_FN uint32_t soak_units_imad(uint32_t x)
{
	return x * UINT32_C(1664525) + UINT32_C(1013904223);
}

GENERATOR_FN uint32_t soak_units_logic(uint32_t x)
{
	x ^= x << 13;
	x ^= x >> 17;
	return (x ^ x << 5) + UINT32_C(0x9E3779B9);
}

GENERATOR_FN uint32_t soak_units_move(uint32_t x)
{
	return (x << 1 | x >> 31) ^ UINT32_C(0x5A5A5A5A);
}

/* Word `i` of a quarter's shared memory in pass `pass`. */
GENERATOR_FN uint32_t soak_units_pattern(uint64_t seed, uint32_t pass, uint32_t i)
{
	return ((i + 1) * UINT32_C(0x9E3779B9)) ^ ((uint32_t)seed + pass * UINT32_C(0x85EBCA6B));
}

/* Element `k` of line `line` of the left (0) or right (1) operands: -7 to 7. */
GENERATOR_FN int soak_units_element(uint64_t seed, int side, int line, int k)
{
	return (int)(generator_bits(seed + 1 + (uint64_t)side, (uint64_t)(line * 64 + k)) >> 33) %
		       15 -
	       7;
}

#endif
