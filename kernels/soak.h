/*
 * Searches memory and GEMM results for wrong bits. Operands of the GEMMs are periodic integers.
 * Each checking kernel adds to a struct wrong_words, which the caller zeroes first. Offsets are
 * bytes.
 */
#ifndef GPUPROOF_KERNELS_SOAK_H
#define GPUPROOF_KERNELS_SOAK_H

#include <stdbool.h>

#include "kernels/generator.h"
#include "kernels/kernel.h"

/* Most wrong words recorded with their offsets; further ones are only counted. */
#define WRONG_WORDS 16

struct wrong_word {
	uint64_t offset, address, expected, got;
};

/* In device memory. Words have 8 bytes; in a GEMM's result, elements of 4 or 8. */
struct wrong_words {
	uint64_t compared; /* words read by the check, to notice a check that skips some */
	uint64_t count;    /* wrong words */
	uint64_t flipped;  /* union of the wrong bits of all words */
	uint64_t recorded; /* may exceed WRONG_WORDS, the capacity of `words`; unordered */
	struct wrong_word words[WRONG_WORDS];
};

/* Patterns of 8-byte words, each a function of the word's index or address. */
enum pattern_kind {
	PATTERN_SOLID,   /* `value` */
	PATTERN_WALKING, /* one bit, shifted by one in each word; starts at `value` */
	PATTERN_ADDRESS, /* the word's own address: finds stuck or crossed address lines */
	PATTERN_RANDOM   /* generator_bits(value, index) */
};
struct pattern {
	enum pattern_kind kind;
	uint64_t value;
	uint64_t inverted; /* ~0: all bits inverted; 0: unchanged */
};

GENERATOR_FN uint64_t soak_pattern_word(struct pattern p, uint64_t index, uint64_t address)
{
	switch (p.kind) {
	case PATTERN_WALKING:
		return (UINT64_C(1) << ((index + p.value) & 63)) ^ p.inverted;
	case PATTERN_ADDRESS:
		return address ^ p.inverted;
	case PATTERN_RANDOM:
		return generator_bits(p.value, index) ^ p.inverted;
	default:
		return p.value ^ p.inverted;
	}
}

/*
 * "soak_memory": sweeps once over `words` 8-byte words (an even number, `memory` 16-byte aligned).
 * If `check`, compares each word with `expected`; then, if `write`, writes `next`. Goes from the
 * lowest to the highest address, or `descending`: the moving inversions of memory tests. `first` is
 * the index of the first word; offsets count from index 0.
 */
struct soak_memory_arguments {
	void *memory;
	uint64_t words, first;
	struct pattern expected, next;
	bool check, write, descending;
	struct wrong_words *out;
};

/*
 * Operands of a soak's GEMM are integers that repeat: op(A) has `row_period` different rows, op(B)
 * `column_period` different columns. C then has row_period * column_period different values, each
 * at many places and so on many multiprocessors. Sums of such integers are exact in any order while
 * `range`^2 * k fits the accumulator, so the CPU knows every bit of C.
 */
GENERATOR_FN int32_t soak_value(uint64_t seed, uint32_t row, uint32_t column, uint32_t range)
{
	uint64_t bits = generator_bits(seed, (uint64_t)column << 32 | row);

	return (int32_t)((bits >> 33) % (2 * range + 1)) - (int32_t)range;
}

/*
 * "soak_operand": fills a dense column-major matrix with soak_value(). Nothing is rounded, because
 * `range` is exact in `precision` (any but FP16_ACC16; INT8 stores the integers themselves). Rows
 * repeat after `row_period`, columns after `column_period`; 0: no repetition.
 */
struct soak_operand_arguments {
	void *memory;
	enum precision precision;
	uint64_t rows, columns; /* below 2^32 */
	uint32_t row_period, column_period, range;
	uint64_t seed;
};

#define SOAK_NO_CANARY UINT32_MAX

/*
 * "soak_table": compares a dense column-major result, bit by bit, with table[(column +
 * column_offset) mod column_period][(row + row_offset) mod row_period]. Elements have 4 or 8 bytes;
 * `rows` is a multiple of 4, `memory` is 16-byte aligned. `canary` is the index of a table entry
 * whose lowest bit is flipped for this check; the check must find every place of it.
 */
struct soak_table_arguments {
	const void *memory, *table;
	uint32_t element_bytes;
	uint64_t rows, columns;
	uint32_t row_period, column_period; /* row_period: 4 to SOAK_ROW_PERIOD_MOST */
	uint32_t row_offset, column_offset;
	uint32_t canary;
	struct wrong_words *out;
};
#define SOAK_ROW_PERIOD_MOST 256

#endif
