#include "suites/burn/exact_table.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "kernels/soak.h"

/* Depth of a block: its rows of op(B) stay in a core's cache. */
#define DEPTH 64
/* Columns of a row of op(B), padded to whole vectors. */
#define PADDED 248

_Static_assert(SOAK_ROW_PERIOD <= SOAK_ROW_PERIOD_MOST && SOAK_COLUMN_PERIOD <= PADDED,
	       "the check's table and its padding must have room for the periods");

/* Bound of a sum in standard deviations. No sum of a table (60,491) reaches it. */
#define DEVIATIONS 6.5
#define FP8_MOST 0x1p12

/* Largest operand for FP8: two sums below FP8_MOST plus DEPTH products stay below 2^13. */
static uint32_t exact_table_fp8_range(int64_t k)
{
	uint32_t range = 8;

	while (range > 1 && DEVIATIONS * (range * (range + 1.0) / 3) * sqrt((double)k) > FP8_MOST)
		range--;
	return range;
}

struct exact_problem exact_table_problem_of(enum precision precision, int64_t k, uint64_t seed)
{
	/* Largest magnitude at which the format still stores every whole number. */
	static const double stored[PRECISION_GEMM_COUNT] = {
		[PRECISION_FP64] = 0x1p26, [PRECISION_FP32] = 0x1p12, [PRECISION_TF32] = 0x1p11,
		[PRECISION_FP16] = 0x1p11, [PRECISION_BF16] = 0x1p8,  [PRECISION_INT8] = 127,
	};
	struct exact_problem x = { .seed = seed, .exact_most = 0x1p24, .k = k };

	if (precision == PRECISION_FP64)
		x.exact_most = 0x1p53;
	else if (precision == PRECISION_INT8)
		x.exact_most = 0x1p31 - 1;
	x.range = (uint32_t)fmax(1, fmin(floor(sqrt(x.exact_most / (double)k)), stored[precision]));
	if (precision == PRECISION_FP8) {
		x.exact_most = FP8_MOST;
		x.range = exact_table_fp8_range(k);
	}
	/* Tensor cores need this layout for one-byte elements. */
	x.transposed = precision_bytes(precision) == 1;
	return x;
}

struct exact_sums {
	const struct exact_problem *problem;
	double (*rows)[PADDED];
	atomic_bool too_large;
};

/* table[row][...] += a * b[...] over the padded columns; the loop vectorises. */
VECTORISED
static void exact_table_add_rows(double (*restrict table)[PADDED], const double *restrict a,
				 double (*restrict b)[PADDED], int64_t depth)
{
	for (int64_t d = 0; d < depth; d++)
		for (int column = 0; column < PADDED; column++)
			(*table)[column] += a[d] * b[d][column];
}

/* Adds DEPTH products to the sums of these rows. */
static void exact_table_add_block(struct exact_sums *sums, size_t begin, size_t end, int64_t first,
				  int64_t depth)
{
	const struct exact_problem *p = sums->problem;
	double b[DEPTH][PADDED] = { { 0 } }, a[DEPTH], most = 0;

	for (int64_t d = 0; d < depth; d++)
		for (uint32_t column = 0; column < SOAK_COLUMN_PERIOD; column++)
			b[d][column] =
				soak_value(p->seed + 1, (uint32_t)(first + d), column, p->range);
	for (size_t row = begin; row < end; row++) {
		for (int64_t d = 0; d < depth; d++)
			a[d] = p->transposed ? soak_value(p->seed, (uint32_t)(first + d),
							  (uint32_t)row, p->range)
					     : soak_value(p->seed, (uint32_t)row,
							  (uint32_t)(first + d), p->range);
		exact_table_add_rows(&sums->rows[row], a, b, depth);
		for (int column = 0; column < PADDED; column++)
			most = fmax(most, fabs(sums->rows[row][column]));
	}
	if (most > p->exact_most)
		atomic_store(&sums->too_large, true);
}

static void exact_table_add_part(void *context, size_t begin, size_t end)
{
	struct exact_sums *sums = context;
	int64_t k = sums->problem->k;

	for (int64_t first = 0; first < k; first += DEPTH)
		exact_table_add_block(sums, begin, end, first,
				      k - first < DEPTH ? k - first : DEPTH);
}

bool exact_table_fill(double *table, const struct exact_problem *problem)
{
	struct exact_sums sums = { .problem = problem,
				   .rows = xcalloc(SOAK_ROW_PERIOD, sizeof(*sums.rows)) };

	parallel_for(SOAK_ROW_PERIOD, parallel_grain((uint64_t)problem->k * PADDED),
		     exact_table_add_part, &sums);
	for (int column = 0; column < SOAK_COLUMN_PERIOD; column++)
		for (int row = 0; row < SOAK_ROW_PERIOD; row++)
			table[column * SOAK_ROW_PERIOD + row] = sums.rows[row][column];
	free(sums.rows);
	return !atomic_load(&sums.too_large);
}

/* Counts the places among `count` from `offset` on that equal `at` modulo `period`. */
static uint64_t exact_table_count_periodic_places(uint32_t at, uint64_t count, uint32_t offset,
						  uint32_t period)
{
	uint64_t first = (at + period - offset % period) % period;

	return first < count ? 1 + (count - 1 - first) / period : 0;
}

uint64_t exact_table_places(uint32_t entry, uint64_t rows, uint64_t columns, uint32_t row_offset,
			    uint32_t column_offset)
{
	return exact_table_count_periodic_places(entry % SOAK_ROW_PERIOD, rows, row_offset,
						 SOAK_ROW_PERIOD) *
	       exact_table_count_periodic_places(entry / SOAK_ROW_PERIOD, columns, column_offset,
						 SOAK_COLUMN_PERIOD);
}
