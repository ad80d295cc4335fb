#include "suites/matmul/reference.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "base/vectorised.h"
#include "kernels/generator.h"
#include "kernels/half.h"

/*
 * Up to this many multiplications every element has its own reference; beyond, a row has this many
 * sums.
 */
#define FULL_OPERATIONS (INT64_C(1) << 24)
#define FULL_ELEMENTS (INT64_C(1) << 20)
#define SUMS_PER_ROW 8
/*
 * A row's sum may be off by this many times the tolerance of the norm. Rounding errors are 2 to 5
 * times below the norm's.
 */
#define ROW_MARGIN 1.5
/* Rows for which another thread pays. */
#define ROWS_PER_THREAD 16
#define TILE_ROWS 256
#define SIGN_SEED UINT64_C(0x5369676e73)

/*
 * Units of the last place, relative: of the stored result, of what the multiplier sees, of
 * accumulation.
 */
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

/*
 * Errors of accumulation grow like a random walk; 8 covers every order of summation seen, and
 * biased ones.
 */
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

static double sign_of(const struct matmul_reference *r, int64_t column)
{
	return generator_bits(r->seed_b ^ SIGN_SEED, (uint64_t)column) >> 63 ? -1 : 1;
}

/* One product of a generated matrix, rows x columns, with a matrix of right-hand sides. */
struct product {
	const struct matmul_reference *r;
	uint64_t seed;
	int64_t rows, columns;
	int64_t per_row;     /* sums of a row */
	const double *right; /* columns x per_row; NULL: signs in their blocks */
	bool rounded;        /* of the values as stored, not as generated */
	double *out;         /* rows x per_row */
};

/* Elements first to first + count - 1 of a generated matrix. */
VECTORISED
static void generate(double *out, uint64_t seed, uint64_t first, size_t count)
{
	for (size_t i = 0; i < count; i++)
		out[i] = (double)generator_uniform(seed, first + i);
}

VECTORISED
static void round_fp16(double *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		values[i] = half_to_float(half_from_float((float)values[i]));
}

VECTORISED
static void round_bf16(double *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		values[i] = bf16_to_float(bf16_from_float((float)values[i]));
}

static bool rounds(enum precision precision)
{
	return precision == PRECISION_FP16 || precision == PRECISION_BF16;
}

static void values_of(const struct product *p, uint64_t first, size_t count, double *out)
{
	generate(out, p->seed, first, count);
	if (p->rounded && p->r->precision == PRECISION_FP16)
		round_fp16(out, count);
	if (p->rounded && p->r->precision == PRECISION_BF16)
		round_bf16(out, count);
}

/* sums[i][*] += values[i] * right[*] */
VECTORISED
static void add_scaled(double *sums, size_t per_row, const double *values, size_t count,
		       const double *right)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < per_row; j++)
			sums[i * per_row + j] += values[i] * right[j];
}

/* The usual number of sums, which the compiler can then keep in one or two registers. */
VECTORISED
static void add_scaled_8(double *sums, const double *values, size_t count, const double *right)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < SUMS_PER_ROW; j++)
			sums[i * SUMS_PER_ROW + j] += values[i] * right[j];
}

static void add_column(const struct product *p, int64_t column, const double *values, size_t count,
		       double *sums)
{
	size_t per_row = (size_t)p->per_row;

	if (!p->right) {
		double sign = sign_of(p->r, column);

		sums += column / p->r->width;
		for (size_t i = 0; i < count; i++)
			sums[i * per_row] += sign * values[i];
	} else if (per_row == SUMS_PER_ROW) {
		add_scaled_8(sums, values, count, p->right + (size_t)column * per_row);
	} else {
		add_scaled(sums, per_row, values, count, p->right + (size_t)column * per_row);
	}
}

/* A tile of rows at a time, whose sums stay in the first-level cache. */
static void multiply_rows(void *context, size_t begin, size_t end)
{
	const struct product *p = context;
	double values[TILE_ROWS];

	for (size_t row = begin; row < end; row += TILE_ROWS) {
		size_t count = end - row < TILE_ROWS ? end - row : TILE_ROWS;

		for (int64_t column = 0; column < p->columns; column++) {
			values_of(p, (uint64_t)column * (uint64_t)p->rows + row, count, values);
			add_column(p, column, values, count, p->out + row * (size_t)p->per_row);
		}
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

/* A (B r): of the operands as stored, or of those before rounding. */
static double *expected_sums(const struct matmul_reference *r, bool rounded)
{
	double *right = zeros(r->k, r->blocks), *sums = zeros(r->m, r->blocks);

	parallel_for((size_t)r->k, ROWS_PER_THREAD, multiply_rows,
		     &(struct product){ .r = r,
					.seed = r->seed_b,
					.rows = r->k,
					.columns = r->n,
					.per_row = r->blocks,
					.rounded = rounded,
					.out = right });
	parallel_for((size_t)r->m, ROWS_PER_THREAD, multiply_rows,
		     &(struct product){ .r = r,
					.seed = r->seed_a,
					.rows = r->m,
					.columns = r->k,
					.per_row = r->blocks,
					.rounded = rounded,
					.right = right,
					.out = sums });
	free(right);
	return sums;
}

void matmul_reference_init(struct matmul_reference *r, enum precision precision,
			   const int64_t shape[3], uint64_t seed_a, uint64_t seed_b)
{
	int64_t m = shape[0], n = shape[1], k = shape[2];
	bool full = n <= SUMS_PER_ROW || is_small(m, n, k);
	double squares = 0;

	*r = (struct matmul_reference){ .precision = precision,
					.m = m,
					.n = n,
					.k = k,
					.seed_a = seed_a,
					.seed_b = seed_b,
					.tolerance = matmul_tolerance(precision, k) };
	r->width = full ? 1 : (n + SUMS_PER_ROW - 1) / SUMS_PER_ROW;
	r->blocks = (n + r->width - 1) / r->width;
	r->sums = expected_sums(r, true);
	r->unrounded = rounds(precision) ? expected_sums(r, false) : NULL;
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

#define DECODE(name, type, convert)                                                                \
	VECTORISED                                                                                 \
	static void decode_##name(double *out, const type *c, size_t count)                        \
	{                                                                                          \
		for (size_t i = 0; i < count; i++)                                                 \
			out[i] = convert(c[i]);                                                    \
	}
DECODE(fp64, double, (double))
DECODE(fp32, float, (double))
DECODE(fp16, uint16_t, half_to_float)
DECODE(bf16, uint16_t, bf16_to_float)

static void decode(enum precision precision, const void *c, size_t first, size_t count, double *out)
{
	switch (precision) {
	case PRECISION_FP64:
		decode_fp64(out, (const double *)c + first, count);
		break;
	case PRECISION_FP16:
		decode_fp16(out, (const uint16_t *)c + first, count);
		break;
	case PRECISION_BF16:
		decode_bf16(out, (const uint16_t *)c + first, count);
		break;
	default:
		decode_fp32(out, (const float *)c + first, count);
	}
}

static void observe_rows(void *context, size_t begin, size_t end)
{
	const struct observed *o = context;
	const struct matmul_reference *r = o->r;
	size_t blocks = (size_t)r->blocks;
	double values[TILE_ROWS];

	for (size_t row = begin; row < end; row += TILE_ROWS) {
		size_t count = end - row < TILE_ROWS ? end - row : TILE_ROWS;

		for (int64_t column = 0; column < r->n; column++) {
			size_t at = row * blocks + (size_t)(column / r->width);
			double sign = sign_of(r, column);

			decode(r->precision, o->c, (size_t)(column * r->m) + row, count, values);
			for (size_t i = 0; i < count; i++) {
				o->sums[at + i * blocks] += sign * values[i];
				o->squares[at + i * blocks] += values[i] * values[i];
			}
		}
	}
}

static double element_at(const struct matmul_reference *r, const void *c, int64_t index)
{
	double value;

	decode(r->precision, c, (size_t)index, 1, &value);
	return value;
}

static double exact_element(const struct matmul_reference *r, int64_t row, int64_t column)
{
	double sum = 0;

	for (int64_t i = 0; i < r->k; i++)
		sum += stored_value(r->precision,
				    generator_uniform(r->seed_a, (uint64_t)(i * r->m + row))) *
		       stored_value(r->precision,
				    generator_uniform(r->seed_b, (uint64_t)(column * r->k + i)));
	return sum;
}

/* The element of a wrong sum that is furthest off; a NaN is further than anything. */
static enum status name_element(const struct matmul_reference *r, const void *c, int64_t at,
				int64_t wrong, struct error *err)
{
	int64_t row = at / r->blocks, first = at % r->blocks * r->width, worst = first;
	int64_t end = first + r->width < r->n ? first + r->width : r->n;
	double expected = 0, got = 0, furthest = -1;

	for (int64_t column = first; column < end; column++) {
		double exact = exact_element(r, row, column);
		double value = element_at(r, c, column * r->m + row);
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

static enum status compare(const struct matmul_reference *r, const struct observed *o,
			   struct matmul_error *error, struct error *err)
{
	double stored = 0, total = 0, norm = 0;
	int64_t wrong = 0, first = -1;

	for (int64_t i = 0; i < r->m * r->blocks; i++) {
		double off = o->sums[i] - r->sums[i];
		double off_total = r->unrounded ? o->sums[i] - r->unrounded[i] : off;

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
		return error_set(err, STATUS_MISMATCH,
				 "wrong product: relative error %.3g, tolerance %.3g",
				 error->stored, r->tolerance);
	return STATUS_OK;
}

enum status matmul_reference_check(const struct matmul_reference *r, const void *c,
				   struct matmul_error *error, struct error *err)
{
	struct observed o = { r, c, zeros(r->m, r->blocks), zeros(r->m, r->blocks) };
	enum status status;

	parallel_for((size_t)r->m, ROWS_PER_THREAD, observe_rows, &o);
	status = compare(r, &o, error, err);
	free(o.sums);
	free(o.squares);
	return status;
}
