/*
 * Exact values of a soak's GEMM: operands of small integers that repeat (kernels/soak.h), so that
 * the CPU knows every bit of the result, whatever the order in which a library adds.
 */
#ifndef GPUPROOF_BURN_EXACT_TABLE_H
#define GPUPROOF_BURN_EXACT_TABLE_H

#include <stdint.h>

#include "device/backend.h"

/*
 * Periods of op(A)'s rows and op(B)'s columns. Primes, so that each value of the result meets every
 * place within a tile, and an address line that is stuck at a power of two reads another value.
 */
#define SOAK_ROW_PERIOD 251
#define SOAK_COLUMN_PERIOD 241
#define SOAK_TABLE_ENTRIES (SOAK_ROW_PERIOD * SOAK_COLUMN_PERIOD)

/*
 * Largest magnitude of the operands: a whole number that `precision` stores, such that k products
 * of two of them are exact in the accumulator: range^2 * k <= 2^24 (FP64: 2^53).
 */
uint32_t exact_range(enum precision precision, int64_t k);

/* Seed of op(A) is `seed`, of op(B) seed + 1; k below 2^32. */
struct exact_problem {
	uint64_t seed;
	uint32_t range;
	int64_t k;
};

/*
 * Fills table[SOAK_COLUMN_PERIOD][SOAK_ROW_PERIOD]: entry (row, column) of the product of the
 * periods, exact: |value| <= 2^53. Takes some 0.5 s for k = 8192.
 */
void exact_table_fill(double *table, const struct exact_problem *problem);

/* Places of entry `entry` in a result of rows x columns whose corner is at these offsets. */
uint64_t exact_places(uint32_t entry, uint64_t rows, uint64_t columns, uint32_t row_offset,
		      uint32_t column_offset);

#endif
