#include "suites/shared/gemm_reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "kernels/fp8.h"
#include "kernels/generator.h"
#include "suites/shared/gemm_numbers.h"

/*
 * Up to this many multiplications every element has its own reference; beyond, a row has this many
 * sums.
 */
#define FULL_OPERATIONS (INT64_C(1) << 24)
#define FULL_ELEMENTS (INT64_C(1) << 20)
#define SUMS_PER_ROW 8
/* Cost of generating an element, in multiplications. */
#define GENERATION 8
/* Fewer rows would share cache lines: matrices are column-major. */
#define LEAST_ROWS 16
#define TILE_ROWS 256
#define SIGN_SEED UINT64_C(0x5369676e73)

/*
 * Relative rounding units: of the stored result, of the multiplier's inputs, of the accumulation.
 */
static const struct {
	double stored, multiplied, accumulated;
} rounding[PRECISION_GEMM_COUNT] = {
	[PRECISION_FP64] = { 0x1p-53, 0, 0x1p-53 },
	[PRECISION_FP32] = { 0x1p-24, 0, 0x1p-24 },
	/* Tensor cores truncate rather than round when they align products. */
	[PRECISION_TF32] = { 0x1p-24, 0x1p-11, 0x1p-23 },
	[PRECISION_FP16] = { 0x1p-11, 0, 0x1p-23 },
	[PRECISION_BF16] = { 0x1p-8, 0, 0x1p-23 },
	[PRECISION_FP16_ACC16] = { 0x1p-11, 0, 0x1p-12 },
	/* Hopper's tensor cores keep about 14 bits of a sum of FP8 products. */
	[PRECISION_FP8] = { 0x1p-11, 0, 0x1p-14 },
	[PRECISION_INT8] = { 0, 0, 0 },
};

/*
 * FP16 sums of 65,536 terms and more: the random walk of their rounding errors reaches 0.15 at 2^20
 * (0.14 on an H200), and a result of zeros has an error of 1, which must not pass.
 */
#define TOLERANCE_MOST 0.5

/*
 * Accumulation errors grow like a random walk; a factor of 8 covers every observed order of
 * summation, and biased ones.
 */
static double gemm_reference_tolerance(enum precision precision, int64_t k)
{
	double bound = 2 * rounding[precision].stored + 4 * rounding[precision].multiplied +
		       8 * rounding[precision].accumulated * sqrt((double)k);

	return bound < TOLERANCE_MOST ? bound : TOLERANCE_MOST;
}

double gemm_reference_sign(const struct matmul_reference *r, int64_t column)
{
	return generator_bits(r->problem.seed_b ^ SIGN_SEED, (uint64_t)column) >> 63 ? -1 : 1;
}

#define UNIT_SEED UINT64_C(0x556e697473)
/* Elements along k, and along the other dimension, that share a unit. */
#define GROUP 128

static double gemm_reference_format_most(const struct matmul_problem *p, uint64_t seed)
{
	return (seed == p->seed_a ? p->fp8.e5m2_a : p->fp8.e5m2_b) ? E5M2_MOST : FP8_MOST;
}

static enum fp8_scaling gemm_reference_scaling(const struct matmul_problem *p, uint64_t seed)
{
	return (enum fp8_scaling)(seed == p->seed_a ? p->fp8.scaling_a : p->fp8.scaling_b);
}

bool gemm_reference_has_units(const struct matmul_problem *p)
{
	return p->precision == PRECISION_FP8 &&
	       (p->scale != 1 || p->fp8.scaling_a || p->fp8.scaling_b);
}

struct matmul_storage gemm_reference_storage_of(const struct matmul_problem *p, uint64_t seed)
{
	bool e5m2 = seed == p->seed_a ? p->fp8.e5m2_a : p->fp8.e5m2_b;

	return (struct matmul_storage){ e5m2 ? PRECISION_E5M2 : p->precision,
					gemm_reference_has_units(p)
						? gemm_reference_format_most(p, seed)
						: p->scale };
}

/*
 * Unit of the elements in row `outer` of op(A), or column `outer` of op(B), and place `inner` of k.
 * Parts of an operand have units between 0.25 and 1.75 times that of a tensor.
 */
static double gemm_reference_unit(const struct matmul_problem *p, uint64_t seed, int64_t outer,
				  int64_t inner)
{
	enum fp8_scaling scaling = gemm_reference_scaling(p, seed);
	uint64_t part = (uint64_t)(scaling == FP8_SCALE_BLOCKS ? outer / GROUP : outer) << 32,
		 group = scaling == FP8_SCALE_OUTER ? 0 : (uint64_t)(inner / GROUP);
	double unit = p->scale / gemm_reference_format_most(p, seed);

	if (!gemm_reference_has_units(p))
		return 1;
	if (scaling != FP8_SCALE_TENSOR)
		unit *= 1 + 0.75 * (double)generator_uniform(seed ^ UNIT_SEED, part | group);
	return (float)unit;
}

static uint64_t gemm_reference_groups(const struct matmul_problem *p)
{
	return (uint64_t)(p->k + GROUP - 1) / GROUP;
}

/* Groups of a row of blocks, padded. */
static uint64_t gemm_reference_padded_groups(const struct matmul_problem *p)
{
	return (gemm_reference_groups(p) + 3) / 4 * 4;
}

size_t gemm_reference_unit_count(const struct matmul_problem *p, uint64_t seed)
{
	uint64_t outer = (uint64_t)(seed == p->seed_a ? p->m : p->n);

	switch (gemm_reference_scaling(p, seed)) {
	case FP8_SCALE_TENSOR:
		return 1;
	case FP8_SCALE_OUTER:
		return outer;
	case FP8_SCALE_GROUPS:
		return outer * gemm_reference_groups(p);
	default:
		return (outer + GROUP - 1) / GROUP * gemm_reference_padded_groups(p);
	}
}

/* Index in gemm_reference_units() of the unit at `outer` and place `inner` of k. */
static uint64_t gemm_reference_unit_index(const struct matmul_problem *p, uint64_t seed,
					  uint64_t outer, uint64_t inner)
{
	switch (gemm_reference_scaling(p, seed)) {
	case FP8_SCALE_TENSOR:
		return 0;
	case FP8_SCALE_OUTER:
		return outer;
	case FP8_SCALE_GROUPS:
		return inner / GROUP * (uint64_t)(seed == p->seed_a ? p->m : p->n) + outer;
	default:
		return outer / GROUP * gemm_reference_padded_groups(p) + inner / GROUP;
	}
}

void gemm_reference_units(const struct matmul_problem *p, uint64_t seed, float *out)
{
	size_t count = gemm_reference_unit_count(p, seed);
	uint64_t outer = (uint64_t)(seed == p->seed_a ? p->m : p->n),
		 groups = gemm_reference_padded_groups(p);

	for (uint64_t i = 0; i < count; i++) {
		bool blocks = gemm_reference_scaling(p, seed) == FP8_SCALE_BLOCKS;
		uint64_t at = blocks ? i / groups * GROUP : i % outer,
			 group = blocks ? i % groups : i / outer;

		out[i] = (float)gemm_reference_unit(p, seed, (int64_t)at, (int64_t)(group * GROUP));
	}
}

double gemm_reference_operand(const struct matmul_problem *p, uint64_t seed, int64_t index)
{
	struct matmul_storage s = gemm_reference_storage_of(p, seed);
	bool a = seed == p->seed_a, along_k = a ? p->transpose_a : !p->transpose_b;
	int64_t outer = along_k ? index / p->k : index % (a ? p->m : p->n),
		inner = along_k ? index % p->k : index / (a ? p->m : p->n);

	return gemm_reference_unit(p, seed, outer, inner) *
	       gemm_numbers_stored(s.format,
				   s.fill * (double)generator_uniform(seed, (uint64_t)index));
}

/* Multiplication of a generated matrix, rows x columns, by a matrix of right-hand sides. */
struct product {
	const struct matmul_reference *r;
	uint64_t seed;
	int64_t rows, columns;
	bool transposed;     /* stored in row-major order */
	int64_t per_row;     /* sums per row */
	const double *right; /* columns x per_row; NULL: signs in their blocks */
	bool rounded;        /* of the values as stored, not as generated */
	const float *units;  /* gemm_reference_units(); NULL: all are 1 */
	double *out;         /* rows x per_row */
};

/*
 * Elements of one column, from `row` on. The rows of op(A) are its outer dimension, those of op(B)
 * are places of k.
 */
VECTORISED
static void gemm_reference_values_of(const struct product *p, uint64_t row, uint64_t column,
				     size_t count, double *out)
{
	const struct matmul_problem *problem = &p->r->problem;
	const struct matmul_storage s = gemm_reference_storage_of(problem, p->seed);
	uint64_t rows = (uint64_t)p->rows, columns = (uint64_t)p->columns;
	uint64_t first = p->transposed ? row * columns + column : column * rows + row,
		 stride = p->transposed ? columns : 1;

	for (size_t i = 0; i < count; i++)
		out[i] = s.fill * (double)generator_uniform(p->seed, first + i * stride);
	if (s.fill != 1 && p->rounded && gemm_numbers_is_narrow(problem->precision))
		gemm_numbers_round_to_odd(out, count);
	if (p->rounded)
		gemm_numbers_round(s.format, out, count);
	for (size_t i = 0; p->units && i < count; i++) {
		bool a = p->seed == problem->seed_a;

		out[i] *= p->units[gemm_reference_unit_index(problem, p->seed, a ? row + i : column,
							     a ? column : row + i)];
	}
}

/*
 * sums[i][*] += values[i] * right[*], specialised for the usual number of sums, which fit into one
 * or two registers.
 */
VECTORISED
static void gemm_reference_add_column(const struct product *p, int64_t column, const double *values,
				      size_t count, double *sums)
{
	size_t per_row = (size_t)p->per_row;

	if (!p->right) {
		double sign = gemm_reference_sign(p->r, column);

		sums += column / p->r->width;
		for (size_t i = 0; i < count; i++)
			sums[i * per_row] += sign * values[i];
	} else if (per_row == SUMS_PER_ROW) {
		for (size_t i = 0; i < count; i++)
			for (size_t j = 0; j < SUMS_PER_ROW; j++)
				sums[i * SUMS_PER_ROW + j] +=
					values[i] * (p->right + (size_t)column * per_row)[j];
	} else {
		for (size_t i = 0; i < count; i++)
			for (size_t j = 0; j < per_row; j++)
				sums[i * per_row + j] +=
					values[i] * (p->right + (size_t)column * per_row)[j];
	}
}

/* One tile of rows at a time, whose sums stay in the L1 cache. */
static void gemm_reference_multiply_rows(void *context, size_t begin, size_t end)
{
	const struct product *p = context;
	double values[TILE_ROWS];

	for (size_t row = begin; row < end; row += TILE_ROWS) {
		size_t count = end - row < TILE_ROWS ? end - row : TILE_ROWS;

		for (int64_t column = 0; column < p->columns; column++) {
			gemm_reference_values_of(p, row, (uint64_t)column, count, values);
			gemm_reference_add_column(p, column, values, count,
						  p->out + row * (size_t)p->per_row);
		}
	}
}

size_t gemm_reference_rows_per_thread(int64_t columns, int64_t operations)
{
	size_t rows = parallel_grain((uint64_t)(columns * operations));

	return rows > LEAST_ROWS ? rows : LEAST_ROWS;
}

static void gemm_reference_multiply(struct product *p)
{
	const struct matmul_problem *problem = &p->r->problem;
	float *units = NULL;

	p->per_row = p->r->blocks;
	p->out = xcalloc((size_t)(p->rows * p->per_row), sizeof(*p->out));
	if (gemm_reference_has_units(problem)) {
		units = xcalloc(gemm_reference_unit_count(problem, p->seed), sizeof(*units));
		gemm_reference_units(problem, p->seed, units);
		p->units = units;
	}
	parallel_for((size_t)p->rows,
		     gemm_reference_rows_per_thread(p->columns, GENERATION + p->per_row),
		     gemm_reference_multiply_rows, p);
	free(units);
}

/* A (B r): of the operands as stored, or before rounding. */
static double *gemm_reference_expected_sums(const struct matmul_reference *r, bool rounded)
{
	const struct matmul_problem *p = &r->problem;
	struct product right = { .r = r,
				 .seed = p->seed_b,
				 .rows = p->k,
				 .columns = p->n,
				 .transposed = p->transpose_b,
				 .rounded = rounded },
		       sums = { .r = r,
				.seed = p->seed_a,
				.rows = p->m,
				.columns = p->k,
				.transposed = p->transpose_a,
				.rounded = rounded };

	gemm_reference_multiply(&right);
	sums.right = right.out;
	gemm_reference_multiply(&sums);
	free(right.out);
	return sums.out;
}

void gemm_reference_init(struct matmul_reference *r, const struct matmul_problem *problem)
{
	int64_t n = problem->n;
	bool full = n <= SUMS_PER_ROW || problem->scale != 1 ||
		    (problem->m * n <= FULL_ELEMENTS && problem->k * n <= FULL_ELEMENTS &&
		     problem->m * n <= FULL_OPERATIONS / problem->k);
	double squares = 0;

	*r = (struct matmul_reference){
		.problem = *problem,
		.tolerance = gemm_reference_tolerance(problem->precision, problem->k),
	};
	r->width = full ? 1 : (n + SUMS_PER_ROW - 1) / SUMS_PER_ROW;
	r->blocks = (n + r->width - 1) / r->width;
	r->sums = gemm_reference_expected_sums(r, true);
	r->unrounded = gemm_numbers_is_narrow(problem->precision)
			       ? gemm_reference_expected_sums(r, false)
			       : NULL;
	for (int64_t i = 0; i < problem->m * r->blocks; i++)
		squares += r->sums[i] * r->sums[i];
	r->rms = sqrt(squares / ((double)problem->m * (double)n));
}

void gemm_reference_release(struct matmul_reference *r)
{
	free(r->sums);
	free(r->unrounded);
	memset(r, 0, sizeof(*r));
}

double gemm_reference_subnormal_share(const struct matmul_problem *p)
{
	const int64_t most = 1 << 20, counts[2] = { p->m * p->k, p->k * p->n };
	int64_t looked = 0, subnormal = 0;

	for (int which = 0; which < 2; which++) {
		int64_t count = counts[which] < most ? counts[which] : most;
		uint64_t seed = which == 0 ? p->seed_a : p->seed_b;
		struct matmul_storage s = gemm_reference_storage_of(p, seed);
		double smallest = gemm_numbers_smallest_normal(s.format);

		for (int64_t i = 0; i < count; i++)
			subnormal +=
				fabs(gemm_numbers_stored(
					s.format,
					s.fill * (double)generator_uniform(seed, (uint64_t)i))) <
				smallest;
		looked += count;
	}
	return (double)subnormal / (double)looked;
}
