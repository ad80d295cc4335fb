/*
 * Search for wrong bits in memory that was written, and in GEMMs with periodic integer operands.
 *
 * Each checking kernel adds to a struct wrong_words, which was zero before the first of them;
 * offsets are bytes.
 */
#ifndef GPUPROOF_KERNELS_SOAK_H
#define GPUPROOF_KERNELS_SOAK_H

#include <stdbool.h>

#include "kernels/generator.h"
#include "kernels/kernel.h"

/* Wrong words recorded with their places, at most; the others are counted. */
#define WRONG_WORDS 16

struct wrong_word {
	uint64_t offset, address, expected, got;
};

/* In memory of the device. Words are of 8 bytes, in a GEMM's result elements of 4 or 8. */
struct wrong_words {
	uint64_t compared; /* words that were looked at: a check that skips some is noticed */
	uint64_t count;    /* words that were wrong */
	uint64_t flipped;  /* every bit that was wrong in any of them */
	uint64_t recorded; /* may exceed WRONG_WORDS, the capacity of `words`; in no order */
	struct wrong_word words[WRONG_WORDS];
};

/* Pattern of a memory's 8-byte words; each is a function of its index or its address. */
enum pattern_kind {
	PATTERN_SOLID,   /* `value` */
	PATTERN_WALKING, /* one bit, a place higher in each word; `value` places further */
	PATTERN_ADDRESS, /* the word's own address: finds address lines that are stuck or crossed */
	PATTERN_RANDOM   /* generator_bits(value, index) */
};
struct pattern {
	enum pattern_kind kind;
	uint64_t value;
	uint64_t inverted; /* ~0: all bits turned; 0: as they are */
};

GENERATOR_FN uint64_t pattern_word(struct pattern p, uint64_t index, uint64_t address)
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
 * "soak_memory": in one sweep over `words` 8-byte words (an even number, `memory` 16-byte aligned)
 * compares each with `expected` (if `check`) and then writes `next` (if `write`), from the lowest
 * to the highest address or `descending`: the moving inversions of memory tests. `first` is the
 * index of the first word; offsets count from index 0.
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
 * of them at many places, so on many multiprocessors. Sums of such integers are exact in any order
 * while `range`^2 * k fits the accumulator, so the CPU knows every bit of C.
 */
GENERATOR_FN int32_t soak_value(uint64_t seed, uint32_t row, uint32_t column, uint32_t range)
{
	uint64_t bits = generator_bits(seed, (uint64_t)column << 32 | row);

	return (int32_t)((bits >> 33) % (2 * range + 1)) - (int32_t)range;
}

/*
 * "soak_operand": fills a dense column-major matrix with soak_value(), rounded to nothing: `range`
 * is exact in `precision`: any but FP16_ACC16; INT8 stores the integers themselves. Rows repeat
 * after `row_period`, columns after `column_period`; 0: they do not repeat.
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
 * "soak_table": compares a dense column-major result, bit by bit, with
 * table[(column + column_offset) mod column_period][(row + row_offset) mod row_period]. Elements
 * have 4 or 8 bytes; `rows` is a multiple of 4, `memory` is 16-byte aligned. `canary`: the index of
 * a table entry whose lowest bit is turned for this check, so that each of its places must be found
 * wrong.
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
