#include "suites/burn/exact_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/soak.h"

/* Depth of a block: its rows of op(B) stay in a core's cache. */
#define DEPTH 64
/* Columns of a row of op(B), padded to whole vectors. */
#define PADDED 248

_Static_assert(SOAK_ROW_PERIOD <= SOAK_ROW_PERIOD_MOST && SOAK_COLUMN_PERIOD <= PADDED,
	       "the check's table and the padding hold the periods");

uint32_t exact_range(enum precision precision, int64_t k)
{
	/* Largest magnitude up to which the format stores every whole number. */
	static const double stored[PRECISION_COUNT] = {
		[PRECISION_FP64] = 0x1p26, [PRECISION_FP32] = 0x1p12, [PRECISION_TF32] = 0x1p11,
		[PRECISION_FP16] = 0x1p11, [PRECISION_BF16] = 0x1p8,
	};
	double sum = precision == PRECISION_FP64 ? 0x1p53 : 0x1p24;
	double range = floor(sqrt(sum / (double)k));

	return (uint32_t)fmax(1, fmin(range, stored[precision]));
}

/* table[row][...] += a * b[...] for the padded columns: a loop that vectorises. */
static void exact_table_add_row(double *restrict table, double a, const double *restrict b)
{
	for (int column = 0; column < PADDED; column++)
		table[column] += a * b[column];
}

static void exact_table_add_block(double (*table)[PADDED], const struct exact_problem *p,
				  int64_t first, int64_t depth)
{
	static const double zero[PADDED];
	double b[DEPTH][PADDED];

	for (int64_t d = 0; d < depth; d++) {
		memcpy(b[d], zero, sizeof(zero));
		for (uint32_t column = 0; column < SOAK_COLUMN_PERIOD; column++)
			b[d][column] =
				soak_value(p->seed + 1, (uint32_t)(first + d), column, p->range);
	}
	for (uint32_t row = 0; row < SOAK_ROW_PERIOD; row++)
		for (int64_t d = 0; d < depth; d++)
			exact_table_add_row(table[row],
					    soak_value(p->seed, row, (uint32_t)(first + d),
						       p->range),
					    b[d]);
}

void exact_table_fill(double *table, const struct exact_problem *problem)
{
	double(*sums)[PADDED] = xcalloc(SOAK_ROW_PERIOD, sizeof(*sums));

	for (int64_t first = 0; first < problem->k; first += DEPTH)
		exact_table_add_block(sums, problem, first,
				      problem->k - first < DEPTH ? problem->k - first : DEPTH);
	for (int column = 0; column < SOAK_COLUMN_PERIOD; column++)
		for (int row = 0; row < SOAK_ROW_PERIOD; row++)
			table[column * SOAK_ROW_PERIOD + row] = sums[row][column];
	free(sums);
}

/* Counts those of `count` places from `offset` on that are `at` modulo `period`. */
static uint64_t count_periodic_places(uint32_t at, uint64_t count, uint32_t offset, uint32_t period)
{
	uint64_t first = (at + period - offset % period) % period;

	return first < count ? 1 + (count - 1 - first) / period : 0;
}

uint64_t exact_places(uint32_t entry, uint64_t rows, uint64_t columns, uint32_t row_offset,
		      uint32_t column_offset)
{
	return count_periodic_places(entry % SOAK_ROW_PERIOD, rows, row_offset, SOAK_ROW_PERIOD) *
	       count_periodic_places(entry / SOAK_ROW_PERIOD, columns, column_offset,
				     SOAK_COLUMN_PERIOD);
}
