/*
 * Exact values of a soak's GEMM. The operands are small integers that repeat (kernels/soak.h), so
 * the CPU knows every bit of the result, in whatever order a library adds.
 */
#ifndef GPUPROOF_BURN_EXACT_TABLE_H
#define GPUPROOF_BURN_EXACT_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "device/backend.h"

/*
 * Periods of op(A)'s rows and op(B)'s columns. They are primes, so each value of the result occurs
 * at every place within a tile, and a stuck address line reads another value.
 */
#define SOAK_ROW_PERIOD 251
#define SOAK_COLUMN_PERIOD 241
#define SOAK_TABLE_ENTRIES (SOAK_ROW_PERIOD * SOAK_COLUMN_PERIOD)

/* op(A) is generated from `seed`, op(B) from seed + 1; k is below 2^32. */
struct exact_problem {
	uint64_t seed;
	uint32_t range;    /* largest magnitude of the operands */
	double exact_most; /* largest magnitude up to which the accumulator is exact */
	int64_t k;
	bool transposed; /* op(A) is stored as its transpose */
};

/*
 * Selects whole numbers that `precision` stores, so small that sums of k products stay exact in the
 * accumulator: up to 2^24, FP64: 2^53, INT8: 2^31 - 1. For FP8, tensor cores keep only 14 bits of a
 * sum (Hopper), so sums stay below 2^12 by 6.5 standard deviations.
 */
struct exact_problem exact_table_problem_of(enum precision precision, int64_t k, uint64_t seed);

/*
 * Fills table[SOAK_COLUMN_PERIOD][SOAK_ROW_PERIOD] with the exact results for each pair of a column
 * and a row. False: a partial sum exceeds `exact_most`; try another seed. Takes about 0.2 s for k =
 * 8192, on all cores.
 */
bool exact_table_fill(double *table, const struct exact_problem *problem);

/* Number of elements equal to entry `entry` in a rows x columns result at these offsets. */
uint64_t exact_table_places(uint32_t entry, uint64_t rows, uint64_t columns, uint32_t row_offset,
			    uint32_t column_offset);

#endif
