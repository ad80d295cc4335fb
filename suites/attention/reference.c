#include "suites/attention/reference.h"

#include <math.h>

#include "kernels/generator.h"
#include "suites/attention/launch.h"
#include "suites/training/models/reference/values.h"

/* A head's values in a row of INPUTS or OUTPUT_GRADIENTS, as stored. */
static void attention_input_row(const struct attention *a, enum tensor tensor, uint64_t first,
				double *row)
{
	for (unsigned d = 0; d < a->shape.head_size; d++)
		row[d] = value_round((double)(SPREAD * generator_uniform(a->seed + (uint64_t)tensor,
									 first + d)),
				     a->shape.precision);
}

double attention_dot(const double *x, const double *y, unsigned count)
{
	double sum = 0;

	for (unsigned d = 0; d < count; d++)
		sum += x[d] * y[d];
	return sum;
}

static void add_scaled_row(double *sum, double factor, const double *x, unsigned count)
{
	for (unsigned d = 0; d < count; d++)
		sum[d] += factor * x[d];
}

static double attention_score(const struct head *e, uint64_t i, uint64_t j)
{
	unsigned d = e->a->shape.head_size;

	return (double)e->a->shape.scale *
	       attention_dot(e->values[QUERY] + i * d, e->values[KEY] + j * d, d);
}

double attention_expected_row(const struct head *e, uint64_t i)
{
	const struct attention_shape *s = &e->a->shape;
	unsigned d = s->head_size;
	uint64_t end = s->causal ? i + 1 : s->sequence;
	double most = -INFINITY, sum = 0, delta;

	for (uint64_t j = 0; j < end; j++)
		most = fmax(most, e->weights[j] = attention_score(e, i, j));
	for (uint64_t j = 0; j < end; j++)
		sum += e->weights[j] = exp(e->weights[j] - most);
	for (int k = 0; k < 2; k++)
		for (unsigned x = 0; x < d; x++)
			e->expected[k][x] = 0;
	for (uint64_t j = 0; j < end; j++)
		add_scaled_row(e->expected[0], e->weights[j] / sum, e->values[VALUE] + j * d, d);
	if (e->a->pass == FORWARD)
		return most + log(sum);
	delta = attention_dot(e->expected[0], e->values[3] + i * d, d);
	for (uint64_t j = 0; j < end; j++)
		add_scaled_row(e->expected[1],
			       (double)s->scale * e->weights[j] / sum *
				       (attention_dot(e->values[3] + i * d,
						      e->values[VALUE] + j * d, d) -
					delta),
			       e->values[KEY] + j * d, d);
	return most + log(sum);
}

void attention_expected_column(const struct head *e, uint64_t j)
{
	const struct attention_shape *s = &e->a->shape;
	unsigned d = s->head_size;

	for (int k = 1; k < 3; k++)
		for (unsigned x = 0; x < d; x++)
			e->expected[k][x] = 0;
	for (uint64_t i = s->causal ? j : 0; i < s->sequence; i++) {
		const double *d_o = e->values[3] + i * d;
		double p = exp(attention_score(e, i, j) - e->lse[i]);

		add_scaled_row(e->expected[2], p, d_o, d);
		add_scaled_row(e->expected[1],
			       (double)s->scale * p *
				       (attention_dot(d_o, e->values[VALUE] + j * d, d) -
					e->delta[i]),
			       e->values[QUERY] + i * d, d);
	}
}

void attention_expected_product(const struct head *e, uint64_t i, bool column, const double *q,
				const double *k, const double *x, double *out)
{
	unsigned d = e->a->shape.head_size;

	for (unsigned c = 0; c < d; c++)
		out[c] = 0;
	for (uint64_t j = 0; j < e->a->shape.sequence; j++) {
		double weight =
			attention_dot(q + (column ? j : i) * d, k + (column ? i : j) * d, d);

		add_scaled_row(out,
			       value_round(attention_score_factor(e->a) * weight,
					   e->a->shape.precision) *
				       attention_sum_factor(e->a),
			       x + j * d, d);
	}
}

void attention_head_values(struct head *e)
{
	const struct attention *a = e->a;
	unsigned d = a->shape.head_size;

	for (uint64_t i = 0; i < a->shape.sequence; i++) {
		for (int part = QUERY; part <= VALUE; part++)
			attention_input_row(a, INPUTS,
					    attention_place(a, (enum part)part, e->b, i, e->h),
					    e->values[part] + i * d);
		if (a->pass == BACKWARD)
			attention_input_row(a, OUTPUT_GRADIENTS,
					    attention_place_out(a, e->b, i, e->h),
					    e->values[3] + i * d);
	}
}
