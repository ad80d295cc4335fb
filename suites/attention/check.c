#include "suites/attention/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "kernels/generator.h"
#include "suites/attention/launch.h"
#include "suites/attention/reference.h"
#include "suites/training/models/reference/values.h"

/* Errors per tensor: OUTPUTS, gradients of queries, keys, values. */
struct errors {
	double difference[4], square[4], lse;
};

/* Reads `rows` rows of a head, `ld` elements apart. */
static enum status attention_found_row(const struct attention *a, enum tensor tensor,
				       uint64_t first, uint64_t rows, uint64_t ld, double *out,
				       struct error *err)
{
	size_t bytes = attention_element_bytes(a, tensor), width = a->shape.head_size * bytes;
	void *raw = xmalloc(rows * width), *packed = attention_at(a, HEAD, 0);

	if (backend_copy_rows(a->stream, packed, width, attention_at(a, tensor, first), ld * bytes,
			      width, rows, err) == STATUS_OK &&
	    backend_copy(a->stream, raw, packed, rows * width, err) == STATUS_OK &&
	    backend_stream_synchronize(a->stream, err) == STATUS_OK)
		values_decode(out, raw, a->shape.precision, rows * a->shape.head_size);
	free(raw);
	return err->status;
}

static enum status attention_compare_row(const struct head *e, enum tensor tensor, uint64_t first,
					 const double *expected, int which, struct errors *errors,
					 struct error *err)
{
	unsigned d = e->a->shape.head_size;
	double found[ATTENTION_HEAD_MAX];

	if (attention_found_row(e->a, tensor, first, 1, d, found, err) != STATUS_OK)
		return err->status;
	for (unsigned x = 0; x < d; x++) {
		errors->difference[which] += pow(found[x] - expected[x], 2);
		errors->square[which] += expected[x] * expected[x];
	}
	return STATUS_OK;
}

static enum status check_fused(const struct head *e, uint64_t i, struct errors *errors,
			       struct error *err)
{
	const struct attention *a = e->a;
	double lse = attention_expected_row(e, i);

	errors->lse = fmax(errors->lse, fabs(e->lse[i] - lse) / (1 + fabs(lse)));
	if (isnan(e->lse[i]))
		errors->lse = NAN;
	if (attention_compare_row(e, OUTPUTS, attention_place_out(a, e->b, i, e->h), e->expected[0],
				  0, errors, err) != STATUS_OK ||
	    a->pass == FORWARD)
		return err->status;
	if (attention_compare_row(e, RESULTS, attention_place(a, QUERY, e->b, i, e->h),
				  e->expected[1], 1, errors, err) != STATUS_OK)
		return err->status;
	attention_expected_column(e, i);
	if (attention_compare_row(e, RESULTS, attention_place(a, KEY, e->b, i, e->h),
				  e->expected[1], 2, errors, err) != STATUS_OK)
		return err->status;
	return attention_compare_row(e, RESULTS, attention_place(a, VALUE, e->b, i, e->h),
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
		attention_expected_product(e, i, false, q, k, v, out);
		return attention_compare_row(e, OUTPUTS, attention_place_out(a, e->b, i, e->h), out,
					     0, errors, err);
	}
	attention_expected_product(e, i, false, d_o, v, k, out);
	if (attention_compare_row(e, RESULTS, attention_place(a, QUERY, e->b, i, e->h), out, 1,
				  errors, err) != STATUS_OK)
		return err->status;
	attention_expected_product(e, i, true, d_o, v, q, out);
	if (attention_compare_row(e, RESULTS, attention_place(a, KEY, e->b, i, e->h), out, 2,
				  errors, err) != STATUS_OK)
		return err->status;
	attention_expected_product(e, i, true, d_o, v, d_o, out);
	return attention_compare_row(e, RESULTS, attention_place(a, VALUE, e->b, i, e->h), out, 3,
				     errors, err);
}

/* Reads the forward results of the head, from which gradients are computed. */
static enum status attention_fetch_forward(struct head *e, struct error *err)
{
	const struct attention *a = e->a;
	unsigned n = a->shape.sequence, d = a->shape.head_size;
	float *lse = xmalloc(n * sizeof(*lse));
	uint64_t row = (e->b * a->shape.heads + e->h) * attention_padded(n);

	if (attention_found_row(a, OUTPUTS, attention_place_out(a, e->b, 0, e->h), n, a->shape.ld_o,
				e->outputs, err) == STATUS_OK &&
	    backend_copy(a->stream, lse, attention_at(a, LSE, row), n * sizeof(*lse), err) ==
		    STATUS_OK)
		backend_stream_synchronize(a->stream, err);
	for (unsigned i = 0; i < n && err->status == STATUS_OK; i++) {
		e->lse[i] = (double)lse[i];
		e->delta[i] = a->pass == BACKWARD ? attention_dot(e->outputs + (uint64_t)i * d,
								  e->values[3] + (uint64_t)i * d, d)
						  : 0;
	}
	free(lse);
	return err->status;
}

static enum status check_head(struct head *e, struct errors *errors, struct error *err)
{
	const struct attention *a = e->a;
	uint64_t n = a->shape.sequence;

	attention_head_values(e);
	if (a->implementation == FUSED && attention_fetch_forward(e, err) != STATUS_OK)
		return err->status;
	for (uint64_t k = 0; k < ROWS; k++) {
		uint64_t i = k == 0 ? 0 : k == 1 ? n - 1 : generator_bits(a->seed, k) % n;

		if ((a->implementation == FUSED
			     ? check_fused(e, i, errors, err)
			     : attention_check_gemms(e, i, errors, err)) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

static double attention_tolerance(enum precision precision)
{
	return precision == PRECISION_FP32 ? 2e-5 : precision == PRECISION_FP16 ? 3e-3 : 2e-2;
}

static double attention_worst_of(const struct errors *errors)
{
	double worst = errors->lse;

	for (int t = 0; t < 4; t++) {
		double error = sqrt(errors->difference[t] / errors->square[t]);

		/* NaN in a compared tensor counts as a difference. */
		if (errors->square[t] > 0 && !(error <= worst))
			worst = error;
	}
	return worst;
}

static enum status check_heads(struct attention *a, struct errors *errors, struct error *err)
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
		check_head(&e, errors, err);
	}
	free(memory);
	return err->status;
}

enum status attention_verify(struct run *run, struct attention *a, struct error *err)
{
	double tolerance = attention_tolerance(a->shape.precision), error;
	struct errors errors = { .lse = 0 };
	char method[80];

	if ((a->implementation == FUSED && a->pass == BACKWARD &&
	     attention_launch_fused(a, FORWARD, err) != STATUS_OK) ||
	    attention_launch(a, err) != STATUS_OK || check_heads(a, &errors, err) != STATUS_OK)
		return err->status;
	error = attention_worst_of(&errors);
	run_value(run, "attention.error", error);
	if (!(error <= tolerance))
		return error_set(err, STATUS_MISMATCH,
				 "%d rows of %d heads differ by %.3g from double precision; "
				 "tolerance %.3g",
				 ROWS, HEADS, error, tolerance);
	snprintf(method, sizeof(method), "%d rows of %d heads against double precision", ROWS,
		 HEADS);
	run_verified(run, method, error, tolerance);
	return STATUS_OK;
}
