/*
 * Exact values of a soak's GEMM: operands of small integers that repeat (kernels/soak.h), so that
 * the CPU knows every bit of the result, whatever the order in which a library adds.
 */
#ifndef GPUPROOF_BURN_EXACT_TABLE_H
#define GPUPROOF_BURN_EXACT_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "device/backend.h"

/*
 * Periods of op(A)'s rows and op(B)'s columns. Primes, so that each value of the result meets every
 * place within a tile, and an address line that is stuck at a power of two reads another value.
 */
#define SOAK_ROW_PERIOD 251
#define SOAK_COLUMN_PERIOD 241
#define SOAK_TABLE_ENTRIES (SOAK_ROW_PERIOD * SOAK_COLUMN_PERIOD)

/* Seed of op(A) is `seed`, of op(B) seed + 1; k below 2^32. */
struct exact_problem {
	uint64_t seed;
	uint32_t range;    /* largest magnitude of the operands */
	double exact_most; /* largest magnitude up to which the accumulator is exact */
	int64_t k;
	bool transposed; /* op(A) is stored as its transpose */
};

/*
 * Operands of `precision`: whole numbers that it stores, such that sums of k products of two of
 * them stay exact in the accumulator, which holds them up to 2^24; FP64: 2^53; INT8: 2^31 - 1. FP8
 * products are added in tensor cores that keep 14 bits of a sum (Hopper): there the range is one
 * whose sums stay below 2^12 by 6.5 standard deviations.
 */
struct exact_problem exact_problem_of(enum precision precision, int64_t k, uint64_t seed);

/*
 * Fills table[SOAK_COLUMN_PERIOD][SOAK_ROW_PERIOD]: entry (row, column) of the product of the
 * periods, exact. False: a sum over the first products exceeds `exact_most`; take another seed.
 * Takes some 0.2 s of a core for k = 8192, on all cores.
 */
bool exact_table_fill(double *table, const struct exact_problem *problem);

/* Places of entry `entry` in a result of rows x columns whose corner is at these offsets. */
uint64_t exact_places(uint32_t entry, uint64_t rows, uint64_t columns, uint32_t row_offset,
		      uint32_t column_offset);

#endif
