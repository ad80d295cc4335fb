#include "suites/matmul_check.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "kernels/generator.h"
#include "kernels/half.h"

/* Up to this many multiplications every element has its own reference; beyond, a row has this many sums. */
#define FULL_OPERATIONS (INT64_C(1) << 24)
#define FULL_ELEMENTS (INT64_C(1) << 20)
#define SUMS_PER_ROW 8
/* A row's sum may be off by this many times the tolerance of the norm. Rounding errors are 2 to 5 times below the norm's. */
#define ROW_MARGIN 1.5
/* Rows for which another thread pays. */
#define ROWS_PER_THREAD 16
#define SIGN_SEED UINT64_C(0x5369676e73)

/* Units of the last place, relative: of the stored result, of what the multiplier sees, of accumulation. */
static const struct {
	double stored, multiplied, accumulated;
} rounding[PRECISION_COUNT] = {
	[PRECISION_FP64] = { 0x1p-53, 0, 0x1p-53 },
	[PRECISION_FP32] = { 0x1p-24, 0, 0x1p-24 },
	/* Tensor cores cut off rather than round when they align products. */
	[PRECISION_TF32] = { 0x1p-24, 0x1p-11, 0x1p-23 },
	[PRECISION_FP16] = { 0x1p-11, 0, 0x1p-23 },
	[PRECISION_BF16] = { 0x1p-8, 0, 0x1p-23 },
};

/* Errors of accumulation grow like a random walk; 8 covers every order of summation seen, and biased ones. */
double matmul_tolerance(enum precision precision, int64_t k)
{
	return 2 * rounding[precision].stored + 4 * rounding[precision].multiplied +
	       8 * rounding[precision].accumulated * sqrt((double)k);
}

static double stored_value(enum precision precision, float value)
{
	switch (precision) {
	case PRECISION_FP16:
		return half_to_float(half_from_float(value));
	case PRECISION_BF16:
		return bf16_to_float(bf16_from_float(value));
	default:
		return value;
	}
}

static double element_at(enum precision precision, const void *c, int64_t index)
{
	switch (precision) {
	case PRECISION_FP64:
		return ((const double *)c)[index];
	case PRECISION_FP16:
		return half_to_float(((const uint16_t *)c)[index]);
	case PRECISION_BF16:
		return bf16_to_float(((const uint16_t *)c)[index]);
	default:
		return ((const float *)c)[index];
	}
}

static double sign_of(const struct matmul_reference *r, int64_t column)
{
	return generator_bits(r->seed_b ^ SIGN_SEED, (uint64_t)column) >> 63 ? -1 : 1;
}

/* One product of a generated matrix, rows x columns, with a matrix of right-hand sides. */
struct product {
	const struct matmul_reference *r;
	uint64_t seed;
	int64_t rows, columns;
	int64_t per_row; /* sums of a row */
	const double *stored, *unrounded; /* right-hand sides, columns x per_row; NULL: signs in their blocks */
	double *stored_out, *unrounded_out; /* rows x per_row */
};

static void add_signed(const struct product *p, int64_t column, size_t begin, size_t end)
{
	uint64_t first = (uint64_t)column * (uint64_t)p->rows;
	size_t per_row = (size_t)p->per_row, block = (size_t)(column / p->r->width);
	double sign = sign_of(p->r, column);

	for (size_t row = begin; row < end; row++) {
		float value = generator_uniform(p->seed, first + row);

		p->stored_out[row * per_row + block] += sign * stored_value(p->r->precision, value);
		p->unrounded_out[row * per_row + block] += sign * (double)value;
	}
}

static void add_scaled(const struct product *p, int64_t column, size_t begin, size_t end)
{
	uint64_t first = (uint64_t)column * (uint64_t)p->rows;
	size_t per_row = (size_t)p->per_row;
	const double *x = p->stored + (size_t)column * per_row, *u = p->unrounded + (size_t)column * per_row;

	for (size_t row = begin; row < end; row++) {
		float value = generator_uniform(p->seed, first + row);
		double stored = stored_value(p->r->precision, value);
		double *y = p->stored_out + row * per_row, *v = p->unrounded_out + row * per_row;

		for (size_t i = 0; i < per_row; i++)
			y[i] += stored * x[i];
		for (size_t i = 0; i < per_row; i++)
			v[i] += (double)value * u[i];
	}
}

static void multiply_rows(void *context, size_t begin, size_t end)
{
	const struct product *p = context;

	for (int64_t column = 0; column < p->columns; column++) {
		if (p->stored)
			add_scaled(p, column, begin, end);
		else
			add_signed(p, column, begin, end);
	}
}

static double *zeros(int64_t rows, int64_t columns)
{
	return xcalloc((size_t)(rows * columns), sizeof(double));
}

static bool is_small(int64_t m, int64_t n, int64_t k)
{
	return m * n <= FULL_ELEMENTS && k * n <= FULL_ELEMENTS && m * n <= FULL_OPERATIONS / k;
}

void matmul_reference_init(struct matmul_reference *r, enum precision precision, const int64_t shape[3],
			   uint64_t seed_a, uint64_t seed_b)
{
	int64_t m = shape[0], n = shape[1], k = shape[2];
	bool full = n <= SUMS_PER_ROW || is_small(m, n, k);
	double *stored, *unrounded, squares = 0;

	*r = (struct matmul_reference){ .precision = precision, .m = m, .n = n, .k = k, .seed_a = seed_a,
					.seed_b = seed_b, .tolerance = matmul_tolerance(precision, k) };
	r->width = full ? 1 : (n + SUMS_PER_ROW - 1) / SUMS_PER_ROW;
	r->blocks = (n + r->width - 1) / r->width;
	stored = zeros(k, r->blocks);
	unrounded = zeros(k, r->blocks);
	r->sums = zeros(m, r->blocks);
	r->unrounded = zeros(m, r->blocks);
	parallel_for((size_t)k, ROWS_PER_THREAD, multiply_rows,
		     &(struct product){ .r = r, .seed = seed_b, .rows = k, .columns = n, .per_row = r->blocks,
					.stored_out = stored, .unrounded_out = unrounded });
	parallel_for((size_t)m, ROWS_PER_THREAD, multiply_rows,
		     &(struct product){ .r = r, .seed = seed_a, .rows = m, .columns = k, .per_row = r->blocks,
					.stored = stored, .unrounded = unrounded, .stored_out = r->sums,
					.unrounded_out = r->unrounded });
	free(stored);
	free(unrounded);
	for (int64_t i = 0; i < m * r->blocks; i++)
		squares += r->sums[i] * r->sums[i];
	r->rms = sqrt(squares / ((double)m * (double)n));
}

void matmul_reference_release(struct matmul_reference *r)
{
	free(r->sums);
	free(r->unrounded);
	memset(r, 0, sizeof(*r));
}

/* What is found in C, a sum and a sum of squares for each row and block. */
struct observed {
	const struct matmul_reference *r;
	const void *c;
	double *sums, *squares;
};

static void observe_rows(void *context, size_t begin, size_t end)
{
	const struct observed *o = context;
	const struct matmul_reference *r = o->r;

	for (int64_t column = 0; column < r->n; column++) {
		double sign = sign_of(r, column);
		size_t block = (size_t)(column / r->width);

		for (size_t row = begin; row < end; row++) {
			double value = element_at(r->precision, o->c, column * r->m + (int64_t)row);
			size_t at = row * (size_t)r->blocks + block;

			o->sums[at] += sign * value;
			o->squares[at] += value * value;
		}
	}
}

static double exact_element(const struct matmul_reference *r, int64_t row, int64_t column)
{
	double sum = 0;

	for (int64_t i = 0; i < r->k; i++)
		sum += stored_value(r->precision, generator_uniform(r->seed_a, (uint64_t)(i * r->m + row))) *
		       stored_value(r->precision, generator_uniform(r->seed_b, (uint64_t)(column * r->k + i)));
	return sum;
}

/* The element of a wrong sum that is furthest off; a NaN is further than anything. */
static enum status name_element(const struct matmul_reference *r, const void *c, int64_t at, int64_t wrong,
				struct error *err)
{
	int64_t row = at / r->blocks, first = at % r->blocks * r->width, worst = first;
	int64_t end = first + r->width < r->n ? first + r->width : r->n;
	double expected = 0, got = 0, furthest = -1;

	for (int64_t column = first; column < end; column++) {
		double exact = exact_element(r, row, column);
		double value = element_at(r->precision, c, column * r->m + row);
		double off = isnan(value) ? INFINITY : fabs(value - exact);

		if (off > furthest) {
			furthest = off;
			worst = column;
			expected = exact;
			got = value;
		}
	}
	return error_set(err, STATUS_MISMATCH,
			 "wrong product: C[%" PRId64 "][%" PRId64 "] should be %.9g, is %.9g "
			 "(%" PRId64 " of %" PRId64 " %s wrong, tolerance %.2g)",
			 row, worst, expected, got, wrong, r->m * r->blocks,
			 r->width == 1 ? "elements" : "partial row sums", r->tolerance);
}

/* A sum's own scale; where cancellation left little of it, that of a typical one. */
static bool wrong_sum(const struct matmul_reference *r, const struct observed *o, int64_t i)
{
	double scale = fmax(sqrt(o->squares[i]), r->rms * sqrt((double)r->width));

	return !(fabs(o->sums[i] - r->sums[i]) <= ROW_MARGIN * r->tolerance * scale);
}

static enum status compare(const struct matmul_reference *r, const struct observed *o, struct matmul_error *error,
			   struct error *err)
{
	double stored = 0, total = 0, norm = 0;
	int64_t wrong = 0, first = -1;

	for (int64_t i = 0; i < r->m * r->blocks; i++) {
		double off = o->sums[i] - r->sums[i], off_total = o->sums[i] - r->unrounded[i];

		stored += off * off;
		total += off_total * off_total;
		norm += r->sums[i] * r->sums[i];
		if (wrong_sum(r, o, i) && wrong++ == 0)
			first = i;
	}
	error->stored = sqrt(stored / norm);
	error->total = sqrt(total / norm);
	if (wrong > 0)
		return name_element(r, o->c, first, wrong, err);
	if (!(error->stored <= r->tolerance))
		return error_set(err, STATUS_MISMATCH, "wrong product: relative error %.3g, tolerance %.3g",
				 error->stored, r->tolerance);
	return STATUS_OK;
}

enum status matmul_reference_check(const struct matmul_reference *r, const void *c, struct matmul_error *error,
				   struct error *err)
{
	struct observed o = { r, c, zeros(r->m, r->blocks), zeros(r->m, r->blocks) };
	enum status status;

	parallel_for((size_t)r->m, ROWS_PER_THREAD, observe_rows, &o);
	status = compare(r, &o, error, err);
	free(o.sums);
	free(o.squares);
	return status;
}
