
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "kernels/generator.h"
#include "suites/attention/operands.h"
#include "suites/training/models/reference/values.h"

/* Attention in double precision, row by row, from the stored operands. */
/* One head of one batch element; in double precision, only the rows that the samples need. */
struct head {
	const struct attention *a;
	uint64_t b, h;
	double *values[4];   /* rows of queries, keys, values, gradients of outputs */
	double *lse, *delta; /* of every row, from the device's forward results */
	double *outputs;     /* the device's */
	double *expected[3]; /* of one row: see attention_check_expected_row() */
	double *weights;     /* of one row of scores */
};

/* A head's values in a row of INPUTS or OUTPUT_GRADIENTS, as stored. */
static void attention_check_input_row(const struct attention *a, enum tensor tensor, uint64_t first,
				      double *row)
{
	for (unsigned d = 0; d < a->shape.head_size; d++)
		row[d] = value_round((double)(SPREAD * generator_uniform(a->seed + (uint64_t)tensor,
									 first + d)),
				     a->shape.precision);
}

/* Dot product of `count` elements. */
static double attention_check_dot(const double *x, const double *y, unsigned count)
{
	double sum = 0;

	for (unsigned d = 0; d < count; d++)
		sum += x[d] * y[d];
	return sum;
}

static void attention_check_add_scaled_row(double *sum, double factor, const double *x,
					   unsigned count)
{
	for (unsigned d = 0; d < count; d++)
		sum[d] += factor * x[d];
}

static double attention_check_score(const struct head *e, uint64_t i, uint64_t j)
{
	unsigned d = e->a->shape.head_size;

	return (double)e->a->shape.scale *
	       attention_check_dot(e->values[QUERY] + i * d, e->values[KEY] + j * d, d);
}

/* Row i: output in expected[0], gradient of the query in [1]; returns its lse. */
static double attention_check_expected_row(const struct head *e, uint64_t i)
{
	const struct attention_shape *s = &e->a->shape;
	unsigned d = s->head_size;
	uint64_t end = s->causal ? i + 1 : s->sequence;
	double most = -INFINITY, sum = 0, delta;

	for (uint64_t j = 0; j < end; j++)
		most = fmax(most, e->weights[j] = attention_check_score(e, i, j));
	for (uint64_t j = 0; j < end; j++)
		sum += e->weights[j] = exp(e->weights[j] - most);
	for (int k = 0; k < 2; k++)
		for (unsigned x = 0; x < d; x++)
			e->expected[k][x] = 0;
	for (uint64_t j = 0; j < end; j++)
		attention_check_add_scaled_row(e->expected[0], e->weights[j] / sum,
					       e->values[VALUE] + j * d, d);
	if (e->a->pass == FORWARD)
		return most + log(sum);
	delta = attention_check_dot(e->expected[0], e->values[3] + i * d, d);
	for (uint64_t j = 0; j < end; j++)
		attention_check_add_scaled_row(
			e->expected[1],
			(double)s->scale * e->weights[j] / sum *
				(attention_check_dot(e->values[3] + i * d, e->values[VALUE] + j * d,
						     d) -
				 delta),
			e->values[KEY] + j * d, d);
	return most + log(sum);
}

/* Gradients of key j in expected[1] and of value j in [2], from lse and delta of the rows. */
static void attention_check_expected_column(const struct head *e, uint64_t j)
{
	const struct attention_shape *s = &e->a->shape;
	unsigned d = s->head_size;

	for (int k = 1; k < 3; k++)
		for (unsigned x = 0; x < d; x++)
			e->expected[k][x] = 0;
	for (uint64_t i = s->causal ? j : 0; i < s->sequence; i++) {
		const double *d_o = e->values[3] + i * d;
		double p = exp(attention_check_score(e, i, j) - e->lse[i]);

		attention_check_add_scaled_row(e->expected[2], p, d_o, d);
		attention_check_add_scaled_row(
			e->expected[1],
			(double)s->scale * p *
				(attention_check_dot(d_o, e->values[VALUE] + j * d, d) -
				 e->delta[i]),
			e->values[QUERY] + i * d, d);
	}
}

/*
 * A row or column of the GEMM variant: sums with other weights, by the same formula with `x` and
 * `y`.
 */
static void attention_check_expected_product(const struct head *e, uint64_t i, bool column,
					     const double *q, const double *k, const double *x,
					     double *out)
{
	unsigned d = e->a->shape.head_size;

	for (unsigned c = 0; c < d; c++)
		out[c] = 0;
	for (uint64_t j = 0; j < e->a->shape.sequence; j++) {
		double weight =
			attention_check_dot(q + (column ? j : i) * d, k + (column ? i : j) * d, d);

		attention_check_add_scaled_row(out,
					       value_round(attention_operands_score_factor(e->a) *
								   weight,
							   e->a->shape.precision) *
						       attention_operands_sum_factor(e->a),
					       x + j * d, d);
	}
}

/* Fills values[] with rows of queries, keys, values and output gradients of the head. */
static void attention_check_head_values(struct head *e)
{
	const struct attention *a = e->a;
	unsigned d = a->shape.head_size;

	for (uint64_t i = 0; i < a->shape.sequence; i++) {
		for (int part = QUERY; part <= VALUE; part++)
			attention_check_input_row(a, INPUTS,
						  attention_operands_place(a, (enum part)part, e->b,
									   i, e->h),
						  e->values[part] + i * d);
		if (a->pass == BACKWARD)
			attention_check_input_row(a, OUTPUT_GRADIENTS,
						  attention_operands_place_out(a, e->b, i, e->h),
						  e->values[3] + i * d);
	}
}

/* Errors per tensor: OUTPUTS, gradients of queries, keys, values. */
struct errors {
	double difference[4], square[4], lse;
};

/* Reads `rows` rows of a head, `ld` elements apart. */
static enum status attention_check_found_row(const struct attention *a, enum tensor tensor,
					     uint64_t first, uint64_t rows, uint64_t ld,
					     double *out, struct error *err)
{
	size_t bytes = attention_operands_element_bytes(a, tensor),
	       width = a->shape.head_size * bytes;
	void *raw = xmalloc(rows * width), *packed = attention_operands_at(a, HEAD, 0);

	if (backend_copy_rows(a->stream, packed, width, attention_operands_at(a, tensor, first),
			      ld * bytes, width, rows, err) == STATUS_OK &&
	    backend_copy(a->stream, raw, packed, rows * width, err) == STATUS_OK &&
	    backend_stream_synchronize(a->stream, err) == STATUS_OK)
		values_decode(out, raw, a->shape.precision, rows * a->shape.head_size);
	free(raw);
	return err->status;
}

static enum status attention_check_compare_row(const struct head *e, enum tensor tensor,
					       uint64_t first, const double *expected, int which,
					       struct errors *errors, struct error *err)
{
	unsigned d = e->a->shape.head_size;
	double found[ATTENTION_HEAD_MAX];

	if (attention_check_found_row(e->a, tensor, first, 1, d, found, err) != STATUS_OK)
		return err->status;
	for (unsigned x = 0; x < d; x++) {
		errors->difference[which] += pow(found[x] - expected[x], 2);
		errors->square[which] += expected[x] * expected[x];
	}
	return STATUS_OK;
}

static enum status attention_check_fused(const struct head *e, uint64_t i, struct errors *errors,
					 struct error *err)
{
	const struct attention *a = e->a;
	double lse = attention_check_expected_row(e, i);

	errors->lse = fmax(errors->lse, fabs(e->lse[i] - lse) / (1 + fabs(lse)));
	if (isnan(e->lse[i]))
		errors->lse = NAN;
	if (attention_check_compare_row(e, OUTPUTS, attention_operands_place_out(a, e->b, i, e->h),
					e->expected[0], 0, errors, err) != STATUS_OK ||
	    a->pass == FORWARD)
		return err->status;
	if (attention_check_compare_row(e, RESULTS,
					attention_operands_place(a, QUERY, e->b, i, e->h),
					e->expected[1], 1, errors, err) != STATUS_OK)
		return err->status;
	attention_check_expected_column(e, i);
	if (attention_check_compare_row(e, RESULTS, attention_operands_place(a, KEY, e->b, i, e->h),
					e->expected[1], 2, errors, err) != STATUS_OK)
		return err->status;
	return attention_check_compare_row(e, RESULTS,
					   attention_operands_place(a, VALUE, e->b, i, e->h),
					   e->expected[2], 3, errors, err);
}

static enum status attention_check_gemms(const struct head *e, uint64_t i, struct errors *errors,
					 struct error *err)
{
	const struct attention *a = e->a;
	const double *q = e->values[QUERY], *k = e->values[KEY], *v = e->values[VALUE],
		     *d_o = e->values[3];
	double *out = e->expected[0];

	if (a->pass == FORWARD) {
		attention_check_expected_product(e, i, false, q, k, v, out);
		return attention_check_compare_row(e, OUTPUTS,
						   attention_operands_place_out(a, e->b, i, e->h),
						   out, 0, errors, err);
	}
	attention_check_expected_product(e, i, false, d_o, v, k, out);
	if (attention_check_compare_row(e, RESULTS,
					attention_operands_place(a, QUERY, e->b, i, e->h), out, 1,
					errors, err) != STATUS_OK)
		return err->status;
	attention_check_expected_product(e, i, true, d_o, v, q, out);
	if (attention_check_compare_row(e, RESULTS, attention_operands_place(a, KEY, e->b, i, e->h),
					out, 2, errors, err) != STATUS_OK)
		return err->status;
	attention_check_expected_product(e, i, true, d_o, v, d_o, out);
	return attention_check_compare_row(e, RESULTS,
					   attention_operands_place(a, VALUE, e->b, i, e->h), out,
					   3, errors, err);
}

/* Reads the forward results of the head, from which gradients are computed. */
static enum status attention_check_fetch_forward(struct head *e, struct error *err)
{
	const struct attention *a = e->a;
	unsigned n = a->shape.sequence, d = a->shape.head_size;
	float *lse = xmalloc(n * sizeof(*lse));
	uint64_t row = (e->b * a->shape.heads + e->h) * kernel_attention_padded(n);

	if (attention_check_found_row(a, OUTPUTS, attention_operands_place_out(a, e->b, 0, e->h), n,
				      a->shape.ld_o, e->outputs, err) == STATUS_OK &&
	    backend_copy(a->stream, lse, attention_operands_at(a, LSE, row), n * sizeof(*lse),
			 err) == STATUS_OK)
		backend_stream_synchronize(a->stream, err);
	for (unsigned i = 0; i < n && err->status == STATUS_OK; i++) {
		e->lse[i] = (double)lse[i];
		e->delta[i] = a->pass == BACKWARD
				      ? attention_check_dot(e->outputs + (uint64_t)i * d,
							    e->values[3] + (uint64_t)i * d, d)
				      : 0;
	}
	free(lse);
	return err->status;
}

static enum status attention_check_head(struct head *e, struct errors *errors, struct error *err)
{
	const struct attention *a = e->a;
	uint64_t n = a->shape.sequence;

	attention_check_head_values(e);
	if (a->implementation == FUSED && attention_check_fetch_forward(e, err) != STATUS_OK)
		return err->status;
	for (uint64_t k = 0; k < ROWS; k++) {
		uint64_t i = k == 0 ? 0 : k == 1 ? n - 1 : generator_bits(a->seed, k) % n;

		if ((a->implementation == FUSED
			     ? attention_check_fused(e, i, errors, err)
			     : attention_check_gemms(e, i, errors, err)) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

static enum status attention_check_heads(struct attention *a, struct errors *errors,
					 struct error *err)
{
	uint64_t n = a->shape.sequence, row = a->shape.head_size;
	double *memory = xcalloc(5 * n * row + 3 * n + 3 * row, sizeof(*memory)),
	       *rest = memory + 5 * n * row;
	struct head e = { .a = a,
			  .outputs = memory + 4 * n * row,
			  .lse = rest,
			  .delta = rest + n,
			  .weights = rest + 2 * n };

	for (int i = 0; i < 4; i++)
		e.values[i] = memory + (uint64_t)i * n * row;
	for (int i = 0; i < 3; i++)
		e.expected[i] = rest + 3 * n + (uint64_t)i * row;
	for (uint64_t k = 0; k < HEADS && err->status == STATUS_OK; k++) {
		e.b = k * (a->shape.batch - 1);
		e.h = k * (a->shape.heads - 1);
		attention_check_head(&e, errors, err);
	}
	free(memory);
	return err->status;
}

enum status attention_check_verify(struct run *run, struct attention *a, struct error *err)
{
	double tolerance = a->shape.precision == PRECISION_FP32   ? 2e-5
			   : a->shape.precision == PRECISION_FP16 ? 3e-3
								  : 2e-2,
	       error;
	struct errors errors = { .lse = 0 };
	char method[80];

	if ((a->implementation == FUSED && a->pass == BACKWARD &&
	     attention_operands_launch_fused(a, FORWARD, err) != STATUS_OK) ||
	    attention_operands_launch(a, err) != STATUS_OK ||
	    attention_check_heads(a, &errors, err) != STATUS_OK)
		return err->status;
	error = errors.lse;
	for (int t = 0; t < 4; t++) {
		double norm = sqrt(errors.difference[t] / errors.square[t]);

		/* NaN in a compared tensor counts as a difference. */
		if (errors.square[t] > 0 && !(norm <= error))
			error = norm;
	}
	run_value(run, "attention.error", error);
	if (!(error <= tolerance))
		return error_set(err, STATUS_MISMATCH,
				 "%d rows of %d heads differ from double precision by %.3g "
				 "(relative L2); tolerance %.3g",
				 ROWS, HEADS, error, tolerance);
	snprintf(method, sizeof(method), "sampled %d rows of %d heads against double precision",
		 ROWS, HEADS);
	run_verified(run, method, error, tolerance);
	return STATUS_OK;
}
