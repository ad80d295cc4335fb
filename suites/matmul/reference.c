#include "suites/matmul/reference.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "base/vectorised.h"
#include "kernels/fp8.h"
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
/* What rounds to infinity in FP16, and the distance of its subnormal numbers. */
#define FP16_INFINITE 65520.0
#define FP16_SMALLEST 0x1p-24
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
} rounding[PRECISION_GEMM_COUNT] = {
	[PRECISION_FP64] = { 0x1p-53, 0, 0x1p-53 },
	[PRECISION_FP32] = { 0x1p-24, 0, 0x1p-24 },
	/* Tensor cores cut off rather than round when they align products. */
	[PRECISION_TF32] = { 0x1p-24, 0x1p-11, 0x1p-23 },
	[PRECISION_FP16] = { 0x1p-11, 0, 0x1p-23 },
	[PRECISION_BF16] = { 0x1p-8, 0, 0x1p-23 },
	[PRECISION_FP16_ACC16] = { 0x1p-11, 0, 0x1p-12 },
	/* Hopper's tensor cores keep some 14 bits of a sum of FP8 products. */
	[PRECISION_FP8] = { 0x1p-11, 0, 0x1p-14 },
	[PRECISION_INT8] = { 0, 0, 0 },
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

/* A generated number as it is stored. */
static double stored_value(enum precision precision, double value)
{
	switch (precision) {
	case PRECISION_FP64:
		return value;
	case PRECISION_FP16:
	case PRECISION_FP16_ACC16:
		return half_to_float(half_from_double(value));
	case PRECISION_BF16:
		return bf16_to_float(bf16_from_double(value));
	case PRECISION_FP8:
		return fp8_to_float(fp8_from_float(half_round_to_odd(value)));
	case PRECISION_INT8:
		return fixed8_to_float(fixed8_from_float(half_round_to_odd(value)));
	default:
		return (float)value;
	}
}

static double sign_of(const struct matmul_reference *r, int64_t column)
{
	return generator_bits(r->problem.seed_b ^ SIGN_SEED, (uint64_t)column) >> 63 ? -1 : 1;
}

/* One product of a generated matrix, rows x columns, with a matrix of right-hand sides. */
struct product {
	const struct matmul_reference *r;
	uint64_t seed;
	int64_t rows, columns;
	bool transposed;     /* stored column after row */
	int64_t per_row;     /* sums of a row */
	const double *right; /* columns x per_row; NULL: signs in their blocks */
	bool rounded;        /* of the values as stored, not as generated */
	double *out;         /* rows x per_row */
};

/* `count` elements of a generated matrix, `stride` apart. */
VECTORISED
static void generate(double *out, uint64_t seed, uint64_t first, uint64_t stride, size_t count)
{
	for (size_t i = 0; i < count; i++)
		out[i] = (double)generator_uniform(seed, first + i * stride);
}

VECTORISED
static void multiply_all(double *values, size_t count, double scale)
{
	for (size_t i = 0; i < count; i++)
		values[i] *= scale;
}

/* To FP32 on the way to a narrower format. */
static void round_to_odd(double *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		values[i] = half_round_to_odd(values[i]);
}

#define ROUND(name, load, store)                                                                   \
	VECTORISED                                                                                 \
	static void round_##name(double *values, size_t count)                                     \
	{                                                                                          \
		for (size_t i = 0; i < count; i++)                                                 \
			values[i] = load(store((float)values[i]));                                 \
	}
ROUND(fp16, half_to_float, half_from_float)
ROUND(bf16, bf16_to_float, bf16_from_float)
ROUND(fp8, fp8_to_float, fp8_from_float)
ROUND(fixed8, fixed8_to_float, fixed8_from_float)

VECTORISED
static void round_fp32(double *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		values[i] = (float)values[i];
}

/* The generator's numbers are FP32: the wide formats round only what a scale has changed. */
static bool rounds(enum precision precision)
{
	return precision_bytes(precision) < 4;
}

static void round_all(enum precision precision, double *values, size_t count)
{
	switch (precision) {
	case PRECISION_FP64:
		break;
	case PRECISION_FP16:
	case PRECISION_FP16_ACC16:
		round_fp16(values, count);
		break;
	case PRECISION_BF16:
		round_bf16(values, count);
		break;
	case PRECISION_FP8:
		round_fp8(values, count);
		break;
	case PRECISION_INT8:
		round_fixed8(values, count);
		break;
	default:
		round_fp32(values, count);
	}
}

/* Elements of one column, from `row` on. */
static void values_of(const struct product *p, uint64_t row, uint64_t column, size_t count,
		      double *out)
{
	const struct matmul_problem *problem = &p->r->problem;
	uint64_t rows = (uint64_t)p->rows, columns = (uint64_t)p->columns;

	generate(out, p->seed, p->transposed ? row * columns + column : column * rows + row,
		 p->transposed ? columns : 1, count);
	if (problem->scale != 1)
		multiply_all(out, count, problem->scale);
	if (problem->scale != 1 && p->rounded && rounds(problem->precision))
		round_to_odd(out, count);
	if (p->rounded)
		round_all(problem->precision, out, count);
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
			values_of(p, row, (uint64_t)column, count, values);
			add_column(p, column, values, count, p->out + row * (size_t)p->per_row);
		}
	}
}

static double *zeros(int64_t rows, int64_t columns)
{
	return xcalloc((size_t)(rows * columns), sizeof(double));
}

static bool is_small(const struct matmul_problem *p)
{
	if (p->scale != 1)
		return true;
	return p->m * p->n <= FULL_ELEMENTS && p->k * p->n <= FULL_ELEMENTS &&
	       p->m * p->n <= FULL_OPERATIONS / p->k;
}

/* A (B r): of the operands as stored, or of those before rounding. */
static double *expected_sums(const struct matmul_reference *r, bool rounded)
{
	const struct matmul_problem *p = &r->problem;
	double *right = zeros(p->k, r->blocks), *sums = zeros(p->m, r->blocks);

	parallel_for((size_t)p->k, ROWS_PER_THREAD, multiply_rows,
		     &(struct product){ .r = r,
					.seed = p->seed_b,
					.rows = p->k,
					.columns = p->n,
					.transposed = p->transpose_b,
					.per_row = r->blocks,
					.rounded = rounded,
					.out = right });
	parallel_for((size_t)p->m, ROWS_PER_THREAD, multiply_rows,
		     &(struct product){ .r = r,
					.seed = p->seed_a,
					.rows = p->m,
					.columns = p->k,
					.transposed = p->transpose_a,
					.per_row = r->blocks,
					.rounded = rounded,
					.right = right,
					.out = sums });
	free(right);
	return sums;
}

void matmul_reference_init(struct matmul_reference *r, const struct matmul_problem *problem)
{
	int64_t n = problem->n;
	bool full = n <= SUMS_PER_ROW || is_small(problem);
	double squares = 0;

	*r = (struct matmul_reference){
		.problem = *problem,
		.tolerance = matmul_tolerance(problem->precision, problem->k),
	};
	r->width = full ? 1 : (n + SUMS_PER_ROW - 1) / SUMS_PER_ROW;
	r->blocks = (n + r->width - 1) / r->width;
	r->sums = expected_sums(r, true);
	r->unrounded = rounds(problem->precision) ? expected_sums(r, false) : NULL;
	for (int64_t i = 0; i < problem->m * r->blocks; i++)
		squares += r->sums[i] * r->sums[i];
	r->rms = sqrt(squares / ((double)problem->m * (double)n));
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
/* Products of two numbers in units of 2^-7. */
DECODE(int32, int32_t, 0x1p-14 * (double))

static void decode(enum precision precision, const void *c, size_t first, size_t count, double *out)
{
	switch (precision) {
	case PRECISION_FP64:
		decode_fp64(out, (const double *)c + first, count);
		break;
	case PRECISION_INT8:
		decode_int32(out, (const int32_t *)c + first, count);
		break;
	case PRECISION_FP16:
	case PRECISION_FP16_ACC16:
	case PRECISION_FP8:
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

		for (int64_t column = 0; column < r->problem.n; column++) {
			size_t at = row * blocks + (size_t)(column / r->width);
			double sign = sign_of(r, column);

			decode(r->problem.precision, o->c, (size_t)(column * r->problem.m) + row,
			       count, values);
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

	decode(r->problem.precision, c, (size_t)index, 1, &value);
	return value;
}

static double operand(const struct matmul_problem *p, uint64_t seed, int64_t index)
{
	return stored_value(p->precision,
			    p->scale * (double)generator_uniform(seed, (uint64_t)index));
}

static double exact_element(const struct matmul_reference *r, int64_t row, int64_t column)
{
	const struct matmul_problem *p = &r->problem;
	double sum = 0;

	for (int64_t i = 0; i < p->k; i++)
		sum += operand(p, p->seed_a, p->transpose_a ? row * p->k + i : i * p->m + row) *
		       operand(p, p->seed_b,
			       p->transpose_b ? i * p->n + column : column * p->k + i);
	return sum;
}

/* The element of a wrong sum that is furthest off; a NaN is further than anything. */
static enum status name_element(const struct matmul_reference *r, const void *c, int64_t at,
				int64_t wrong, struct error *err)
{
	int64_t row = at / r->blocks, first = at % r->blocks * r->width, worst = first;
	int64_t end = first + r->width < r->problem.n ? first + r->width : r->problem.n;
	double expected = 0, got = 0, furthest = -1;

	for (int64_t column = first; column < end; column++) {
		double exact = exact_element(r, row, column);
		double value = element_at(r, c, column * r->problem.m + row);
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
			 row, worst, expected, got, wrong, r->problem.m * r->blocks,
			 r->width == 1 ? "elements" : "partial row sums", r->tolerance);
}

/* A sum's own scale; where cancellation left little of it, that of a typical one. */
static bool wrong_sum(const struct matmul_reference *r, const struct observed *o, int64_t i)
{
	double scale = fmax(sqrt(o->squares[i]), r->rms * sqrt((double)r->width));

	return !(fabs(o->sums[i] - r->sums[i]) <= ROW_MARGIN * r->tolerance * scale);
}

/*
 * The same for a single element where the range matters. FP16 sums may leave the range on the way
 * to an element that is within it: when six standard deviations of an element reach its end.
 */
static bool wrong_element(const struct matmul_reference *r, double got, double exact)
{
	bool narrow_sums = r->problem.precision == PRECISION_FP16_ACC16;
	bool narrow = narrow_sums || r->problem.precision == PRECISION_FP16;
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

static bool wrong(const struct matmul_reference *r, const struct observed *o, int64_t i)
{
	return r->problem.scale == 1 ? wrong_sum(r, o, i)
				     : wrong_element(r, o->sums[i], r->sums[i]);
}

/* The norms; with one element to a sum, of those that are finite. */
static void measure_error(const struct matmul_reference *r, const struct observed *o,
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

static enum status compare(const struct matmul_reference *r, const struct observed *o,
			   struct matmul_error *error, struct error *err)
{
	int64_t count = 0, first = -1;

	measure_error(r, o, error);
	for (int64_t i = 0; i < r->problem.m * r->blocks; i++)
		if (wrong(r, o, i) && count++ == 0)
			first = i;
	if (count > 0)
		return name_element(r, o->c, first, count, err);
	if (r->problem.scale == 1 && !(error->stored <= r->tolerance))
		return error_set(err, STATUS_MISMATCH,
				 "wrong product: relative error %.3g, tolerance %.3g",
				 error->stored, r->tolerance);
	return STATUS_OK;
}

enum status matmul_reference_check(const struct matmul_reference *r, const void *c,
				   struct matmul_error *error, struct error *err)
{
	int64_t m = r->problem.m;
	struct observed o = { r, c, zeros(m, r->blocks), zeros(m, r->blocks) };
	enum status status;

	parallel_for((size_t)m, ROWS_PER_THREAD, observe_rows, &o);
	status = compare(r, &o, error, err);
	free(o.sums);
	free(o.squares);
	return status;
}

/* The smallest normal number; 0: no format of which some are left out. */
static double smallest_normal(enum precision precision)
{
	switch (precision) {
	case PRECISION_FP16:
	case PRECISION_FP16_ACC16:
		return 0x1p-14;
	case PRECISION_FP8:
		return 0x1p-6;
	case PRECISION_INT8:
		return 0;
	default:
		return 0x1p-126;
	}
}

double matmul_subnormal_share(const struct matmul_problem *p)
{
	const int64_t most = 1 << 20, counts[2] = { p->m * p->k, p->k * p->n };
	double smallest = smallest_normal(p->precision);
	int64_t looked = 0, subnormal = 0;

	for (int which = 0; which < 2; which++) {
		int64_t count = counts[which] < most ? counts[which] : most;
		uint64_t seed = which == 0 ? p->seed_a : p->seed_b;

		for (int64_t i = 0; i < count; i++)
			subnormal += fabs(operand(p, seed, i)) < smallest;
		looked += count;
	}
	return (double)subnormal / (double)looked;
}
