#include "suites/matmul/matmul.h"
#include "suites/shared/gemm_reference.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "suites/shared/gemm_numbers.h"

/*
 * Tolerance of a row's sum, in multiples of that of the norm. Rounding errors are 2 to 5 times
 * below the norm's.
 */
#define ROW_MARGIN 1.5
/*
 * The smallest number that rounds to infinity in FP16, and the distance between its subnormal
 * numbers.
 */
#define FP16_INFINITE 65520.0
#define FP16_SMALLEST 0x1p-24
#define TILE_ROWS 256
/* Operations to check an element. */
#define ELEMENT_OPERATIONS 4

/* Measured sums of C: a sum and a sum of squares per row and block. */
struct observed {
	const struct matmul_reference *r;
	const void *c;
	double *sums, *squares;
};

static void matmul_check_observe_rows(void *context, size_t begin, size_t end)
{
	const struct observed *o = context;
	const struct matmul_reference *r = o->r;
	size_t blocks = (size_t)r->blocks;
	double values[TILE_ROWS];

	for (size_t row = begin; row < end; row += TILE_ROWS) {
		size_t count = end - row < TILE_ROWS ? end - row : TILE_ROWS;

		for (int64_t column = 0; column < r->problem.n; column++) {
			size_t at = row * blocks + (size_t)(column / r->width);
			double sign = gemm_reference_sign(r, column);

			gemm_numbers_decode(r->problem.precision, o->c,
					    (size_t)(column * r->problem.m) + row, count, values);
			for (size_t i = 0; i < count; i++) {
				o->sums[at + i * blocks] += sign * values[i];
				o->squares[at + i * blocks] += values[i] * values[i];
			}
		}
	}
}

/* Names the element of a wrong sum with the largest error; NaN counts as the largest. */
static enum status matmul_check_name_element(const struct matmul_reference *r, const void *c,
					     int64_t at, int64_t wrong, struct error *err)
{
	const struct matmul_problem *p = &r->problem;
	int64_t row = at / r->blocks, first = at % r->blocks * r->width, worst = first;
	int64_t end = first + r->width < r->problem.n ? first + r->width : r->problem.n;
	double expected = 0, got = 0, furthest = -1;

	for (int64_t column = first; column < end; column++) {
		double exact = 0, value, off;

		for (int64_t i = 0; i < p->k; i++)
			exact += gemm_reference_operand(p, p->seed_a,
							p->transpose_a ? row * p->k + i
								       : i * p->m + row) *
				 gemm_reference_operand(p, p->seed_b,
							p->transpose_b ? i * p->n + column
								       : column * p->k + i);
		gemm_numbers_decode(p->precision, c, (size_t)(column * p->m + row), 1, &value);
		off = isnan(value) ? INFINITY : fabs(value - exact);
		if (off > furthest) {
			furthest = off;
			worst = column;
			expected = exact;
			got = value;
		}
	}
	return error_set(err, STATUS_MISMATCH,
			 "wrong result: C[%" PRId64 "][%" PRId64
			 "] should be %.9g, is %.9g (%" PRId64 " of %" PRId64
			 " %s wrong, tolerance %.2g)",
			 row, worst, expected, got, wrong, r->problem.m * r->blocks,
			 r->width == 1 ? "elements" : "partial row sums", r->tolerance);
}

/*
 * True if a sum is wrong: relative to its own scale or, after cancellation, to that of a typical
 * one.
 */
static bool matmul_check_wrong_sum(const struct matmul_reference *r, const struct observed *o,
				   int64_t i)
{
	double scale = fmax(sqrt(o->squares[i]), r->rms * sqrt((double)r->width));

	return !(fabs(o->sums[i] - r->sums[i]) <= ROW_MARGIN * r->tolerance * scale);
}

/*
 * As matmul_check_wrong_sum(), for a single element near the end of the range. FP16 partial sums
 * may overflow although the element does not: if six standard deviations of an element reach the
 * end.
 */
static bool matmul_check_wrong_element(const struct matmul_reference *r, double got, double exact)
{
	bool narrow_sums = r->problem.precision == PRECISION_FP16_ACC16;
	bool narrow = narrow_sums || r->problem.precision == PRECISION_FP16 ||
		      r->problem.precision == PRECISION_FP8;
	double steps = narrow_sums ? sqrt((double)r->problem.k) : 1;
	double slack = ROW_MARGIN * r->tolerance * fmax(fabs(exact), r->rms) +
		       (narrow ? steps * FP16_SMALLEST : 0);

	if (isfinite(got))
		return !(fabs(got - exact) <= slack);
	if (narrow_sums && 6 * r->rms >= FP16_INFINITE)
		return false;
	return isnan(got) || !narrow || fabs(exact) + slack < FP16_INFINITE ||
	       signbit(got) != signbit(exact);
}

/* Computes the norms; with one element per sum, over finite elements. */
static void matmul_check_measure_error(const struct matmul_reference *r, const struct observed *o,
				       struct matmul_error *error)
{
	double stored = 0, total = 0, norm = 0;
	int64_t count = r->problem.m * r->blocks, nonfinite = 0;

	for (int64_t i = 0; i < count; i++) {
		double off = o->sums[i] - r->sums[i];
		double off_total = r->unrounded ? o->sums[i] - r->unrounded[i] : off;

		if (r->problem.scale != 1 && !isfinite(o->sums[i])) {
			nonfinite++;
			continue;
		}
		stored += off * off;
		total += off_total * off_total;
		norm += r->sums[i] * r->sums[i];
	}
	error->stored = sqrt(stored / norm);
	error->total = sqrt(total / norm);
	error->nonfinite = (double)nonfinite / (double)count;
}

static enum status matmul_check_compare_elements(const struct matmul_reference *r,
						 const struct observed *o,
						 struct matmul_error *error, struct error *err)
{
	int64_t count = 0, first = -1;

	matmul_check_measure_error(r, o, error);
	for (int64_t i = 0; i < r->problem.m * r->blocks; i++)
		if ((r->problem.scale == 1
			     ? matmul_check_wrong_sum(r, o, i)
			     : matmul_check_wrong_element(r, o->sums[i], r->sums[i])) &&
		    count++ == 0)
			first = i;
	if (count > 0)
		return matmul_check_name_element(r, o->c, first, count, err);
	if (r->problem.scale == 1 && !(error->stored <= r->tolerance))
		return error_set(err, STATUS_MISMATCH,
				 "wrong result: relative error %.3g, tolerance %.3g", error->stored,
				 r->tolerance);
	return STATUS_OK;
}

enum status matmul_reference_check(const struct matmul_reference *r, const void *c,
				   struct matmul_error *error, struct error *err)
{
	int64_t m = r->problem.m;
	size_t sums = (size_t)(m * r->blocks);
	struct observed o = { r, c, xcalloc(sums, sizeof(double)), xcalloc(sums, sizeof(double)) };
	enum status status;

	parallel_for((size_t)m, gemm_reference_rows_per_thread(r->problem.n, ELEMENT_OPERATIONS),
		     matmul_check_observe_rows, &o);
	status = matmul_check_compare_elements(r, &o, error, err);
	free(o.sums);
	free(o.squares);
	return status;
}
