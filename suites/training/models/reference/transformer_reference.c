#include "suites/training/models/reference/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "suites/training/models/reference/values.h"

#define EPSILON 1e-5

/* All tensors between x and y of one block, in one allocation that begins with `norm1`. */
struct block_inner {
	double *norm1, *qkv, *p, *o, *middle, *norm2, *before, *after;
};

static uint64_t transformer_reference_hidden_size(const struct mlp_reference *ref)
{
	return ref->setup->transformer.hidden;
}

static double *transformer_reference_rows_of(const struct mlp_reference *ref, uint64_t columns)
{
	return xcalloc(ref->setup->batch * columns, sizeof(double));
}

struct moments {
	double mean, rstd;
};

static struct moments transformer_reference_moments_of(const double *x, uint64_t columns)
{
	double mean = 0, square = 0;

	for (uint64_t c = 0; c < columns; c++)
		mean += x[c] / (double)columns;
	for (uint64_t c = 0; c < columns; c++)
		square += (x[c] - mean) * (x[c] - mean) / (double)columns;
	return (struct moments){ mean, 1 / sqrt(square + EPSILON) };
}

static void transformer_reference_norm(const struct mlp_reference *ref, size_t l, size_t gamma,
				       const double *x, double *y)
{
	const double *scale = model_reference_parameters(ref, l, gamma),
		     *shift = model_reference_parameters(ref, l, gamma + 1);
	uint64_t h = transformer_reference_hidden_size(ref);

	IN_PARALLEL
	for (uint64_t r = 0; r < ref->setup->batch; r++) {
		struct moments m = transformer_reference_moments_of(x + r * h, h);

		for (uint64_t c = 0; c < h; c++)
			y[r * h + c] = (x[r * h + c] - m.mean) * m.rstd * scale[c] + shift[c];
	}
}

/* dx += gradient through the norm. */
static void transformer_reference_norm_backward(const struct mlp_reference *ref, size_t l,
						size_t gamma, const double *x, const double *dy,
						double *dx)
{
	double *dscale = model_reference_gradients(ref, l, gamma),
	       *dshift = model_reference_gradients(ref, l, gamma + 1);
	const double *scale = model_reference_parameters(ref, l, gamma);
	uint64_t h = transformer_reference_hidden_size(ref);

	memset(dscale, 0, h * sizeof(*dscale));
	memset(dshift, 0, h * sizeof(*dshift));
	for (uint64_t r = 0; r < ref->setup->batch; r++) {
		const double *row = x + r * h, *d = dy + r * h;
		struct moments m = transformer_reference_moments_of(row, h);
		double sum = 0, product = 0;

		for (uint64_t c = 0; c < h; c++) {
			double n = (row[c] - m.mean) * m.rstd, g = d[c] * scale[c];

			dscale[c] += d[c] * n;
			dshift[c] += d[c];
			sum += g / (double)h;
			product += g * n / (double)h;
		}
		for (uint64_t c = 0; c < h; c++) {
			double n = (row[c] - m.mean) * m.rstd;

			dx[r * h + c] += m.rstd * (d[c] * scale[c] - sum - n * product);
		}
	}
}

/* y = x W^T (+ b, if any: the tensor after the weights). */
static void transformer_reference_linear(const struct mlp_reference *ref, size_t l, size_t weight,
					 bool has_bias, const double *x, double *y, uint64_t in,
					 uint64_t out)
{
	const double *w = model_reference_parameters(ref, l, weight);
	const double *b = has_bias ? model_reference_parameters(ref, l, weight + 1) : NULL;

	IN_PARALLEL
	for (uint64_t r = 0; r < ref->setup->batch; r++)
		for (uint64_t o = 0; o < out; o++)
			y[r * out + o] = (b ? b[o] : 0) + values_dot(x + r * in, w + o * in, in);
}

/* dx = dy W. */
static void transformer_reference_linear_backward(const struct mlp_reference *ref, size_t l,
						  size_t weight, bool has_bias, const double *x,
						  const double *dy, double *dx, uint64_t in,
						  uint64_t out)
{
	double *dw = model_reference_gradients(ref, l, weight),
	       *db = has_bias ? model_reference_gradients(ref, l, weight + 1) : NULL;
	const double *w = model_reference_parameters(ref, l, weight);
	uint64_t rows = ref->setup->batch;

	IN_PARALLEL
	for (uint64_t o = 0; o < out; o++) {
		double sum = 0;

		memset(dw + o * in, 0, in * sizeof(*dw));
		for (uint64_t r = 0; r < rows; r++) {
			sum += dy[r * out + o];
			values_add_scaled(dw + o * in, dy[r * out + o], x + r * in, in);
		}
		if (db)
			db[o] = sum;
	}
	IN_PARALLEL
	for (uint64_t r = 0; r < rows; r++) {
		memset(dx + r * in, 0, in * sizeof(*dx));
		for (uint64_t o = 0; o < out; o++)
			values_add_scaled(dx + r * in, dy[r * out + o], w + o * in, in);
	}
}

/* One head of one sequence: addresses of its rows in the tensors. */
struct reference_head {
	uint64_t sequence, size, hidden;
	const double *q, *k, *v; /* rows 3 * hidden apart */
	double *p;               /* sequence x sequence, lower triangle */
	uint64_t at;             /* offset in o and its gradient, rows `hidden` apart */
	uint64_t qkv;            /* offset of q in a tensor such as qkv */
};

static struct reference_head transformer_reference_head_of(const struct mlp_reference *ref,
							   const struct block_inner *in,
							   uint64_t index)
{
	const struct transformer_shape *t = &ref->setup->transformer;
	uint64_t first = index / t->heads * t->sequence, size = t->hidden / t->heads,
		 column = index % t->heads * size;
	struct reference_head head = { .sequence = t->sequence, .size = size, .hidden = t->hidden };

	head.qkv = first * 3 * t->hidden + column;
	head.q = in->qkv + head.qkv;
	head.k = head.q + t->hidden;
	head.v = head.k + t->hidden;
	head.p = in->p + index * t->sequence * t->sequence;
	head.at = first * t->hidden + column;
	return head;
}

static uint64_t transformer_reference_heads_of(const struct mlp_reference *ref)
{
	return ref->setup->batch / ref->setup->transformer.sequence * ref->setup->transformer.heads;
}

static void transformer_reference_attend(const struct mlp_reference *ref,
					 const struct block_inner *in)
{
	IN_PARALLEL
	for (uint64_t index = 0; index < transformer_reference_heads_of(ref); index++) {
		struct reference_head a = transformer_reference_head_of(ref, in, index);

		for (uint64_t i = 0; i < a.sequence; i++) {
			double *o = in->o + a.at + i * a.hidden;
			double *p = a.p + i * a.sequence, largest = -INFINITY, sum = 0;
			uint64_t apart = 3 * a.hidden;

			/* Softmax of the scores of position i with positions 0 to i. */
			for (uint64_t j = 0; j <= i; j++) {
				p[j] = values_dot(a.q + i * apart, a.k + j * apart, a.size) /
				       sqrt((double)a.size);
				largest = fmax(largest, p[j]);
			}
			for (uint64_t j = 0; j <= i; j++)
				sum += p[j] = exp(p[j] - largest);
			for (uint64_t j = 0; j <= i; j++)
				p[j] /= sum;
			memset(o, 0, a.size * sizeof(*o));
			for (uint64_t j = 0; j <= i; j++)
				values_add_scaled(o, a.p[i * a.sequence + j],
						  a.v + j * 3 * a.hidden, a.size);
		}
	}
}

/* dqkv must be zero on entry. */
static void transformer_reference_attend_backward(const struct mlp_reference *ref,
						  const struct block_inner *in, const double *d_o,
						  double *dqkv)
{
	IN_PARALLEL
	for (uint64_t index = 0; index < transformer_reference_heads_of(ref); index++) {
		struct reference_head a = transformer_reference_head_of(ref, in, index);
		double *dq = dqkv + a.qkv, *dk = dq + a.hidden, *dv = dk + a.hidden;
		uint64_t apart = 3 * a.hidden;

		for (uint64_t i = 0; i < a.sequence; i++) {
			const double *p = a.p + i * a.sequence, *d = d_o + a.at + i * a.hidden;
			double delta = values_dot(d, in->o + a.at + i * a.hidden, a.size);

			for (uint64_t j = 0; j <= i; j++) {
				double ds = p[j] *
					    (values_dot(d, a.v + j * apart, a.size) - delta) /
					    sqrt((double)a.size);

				values_add_scaled(dv + j * apart, p[j], d, a.size);
				values_add_scaled(dq + i * apart, ds, a.k + j * apart, a.size);
				values_add_scaled(dk + j * apart, ds, a.q + i * apart, a.size);
			}
		}
	}
}

static const double gelu_factor = 0.79788456080286535588; /* sqrt(2 / pi) */

static double transformer_reference_gelu(double x)
{
	return 0.5 * x * (1 + tanh(gelu_factor * (x + 0.044715 * x * x * x)));
}

static double transformer_reference_gelu_derivative(double x)
{
	double t = tanh(gelu_factor * (x + 0.044715 * x * x * x));

	return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * gelu_factor * (1 + 3 * 0.044715 * x * x);
}

/* Computes the tensors between x and y of a block; the caller frees in.norm1. */
static struct block_inner transformer_reference_compute_inner(const struct mlp_reference *ref,
							      size_t l, const double *x)
{
	uint64_t h = transformer_reference_hidden_size(ref), count = ref->setup->batch * h,
		 scores = ref->setup->batch * ref->setup->transformer.sequence *
			  ref->setup->transformer.heads;
	struct block_inner in = { .norm1 = xcalloc(15 * count + scores, sizeof(double)) };

	in.qkv = in.norm1 + count;
	in.o = in.qkv + 3 * count;
	in.middle = in.o + count;
	in.norm2 = in.middle + count;
	in.before = in.norm2 + count;
	in.after = in.before + 4 * count;
	in.p = in.after + 4 * count;
	transformer_reference_norm(ref, l, BLOCK_GAMMA1, x, in.norm1);
	transformer_reference_linear(ref, l, BLOCK_QKV, true, in.norm1, in.qkv, h, 3 * h);
	transformer_reference_attend(ref, &in);
	transformer_reference_linear(ref, l, BLOCK_OUT, true, in.o, in.middle, h, h);
	values_add_scaled(in.middle, 1, x, count);
	transformer_reference_norm(ref, l, BLOCK_GAMMA2, in.middle, in.norm2);
	transformer_reference_linear(ref, l, BLOCK_UP, true, in.norm2, in.before, h, 4 * h);
	IN_PARALLEL
	for (uint64_t i = 0; i < 4 * count; i++)
		in.after[i] = transformer_reference_gelu(in.before[i]);
	return in;
}

static void transformer_reference_backward_block(const struct mlp_reference *ref, size_t l,
						 const double *x, const double *dy, double *dx)
{
	uint64_t h = transformer_reference_hidden_size(ref), count = ref->setup->batch * h;
	double *wide = transformer_reference_rows_of(ref, 4 * h),
	       *narrow = transformer_reference_rows_of(ref, h),
	       *dqkv = transformer_reference_rows_of(ref, 3 * h),
	       *middle = transformer_reference_rows_of(ref, h);
	struct block_inner in = transformer_reference_compute_inner(ref, l, x);

	transformer_reference_linear_backward(ref, l, BLOCK_DOWN, true, in.after, dy, wide, 4 * h,
					      h);
	for (uint64_t i = 0; i < 4 * count; i++)
		wide[i] *= transformer_reference_gelu_derivative(in.before[i]);
	transformer_reference_linear_backward(ref, l, BLOCK_UP, true, in.norm2, wide, narrow, h,
					      4 * h);
	memcpy(middle, dy, count * sizeof(*middle));
	transformer_reference_norm_backward(ref, l, BLOCK_GAMMA2, in.middle, narrow, middle);
	transformer_reference_linear_backward(ref, l, BLOCK_OUT, true, in.o, middle, narrow, h, h);
	transformer_reference_attend_backward(ref, &in, narrow, dqkv);
	transformer_reference_linear_backward(ref, l, BLOCK_QKV, true, in.norm1, dqkv, narrow, h,
					      3 * h);
	memcpy(dx, middle, count * sizeof(*dx));
	transformer_reference_norm_backward(ref, l, BLOCK_GAMMA1, x, narrow, dx);
	free(in.norm1);
	free(wide);
	free(narrow);
	free(dqkv);
	free(middle);
}

void transformer_reference_forward(struct mlp_reference *ref, size_t l)
{
	double *x = ref->activations[l], *y = ref->activations[l + 1], *normed;
	uint64_t h = transformer_reference_hidden_size(ref);
	struct block_inner in;

	switch (ref->model.layer[l].kind) {
	case LAYER_EMBEDDING:
		for (uint64_t r = 0; r < ref->setup->batch; r++) {
			uint64_t token = (uint64_t)setup_token(ref->setup, r),
				 position = r % ref->setup->transformer.sequence;

			memcpy(y + r * h,
			       model_reference_parameters(ref, l, EMBEDDING_TABLE) + token * h,
			       h * sizeof(*y));
			values_add_scaled(y + r * h, 1,
					  model_reference_parameters(ref, l, EMBEDDING_POSITION) +
						  position * h,
					  h);
		}
		break;
	case LAYER_HEAD:
		normed = transformer_reference_rows_of(ref, h);
		transformer_reference_norm(ref, l, HEAD_GAMMA, x, normed);
		transformer_reference_linear(ref, l, HEAD_WEIGHT, false, normed, y, h,
					     ref->setup->transformer.vocabulary);
		free(normed);
		break;
	default:
		in = transformer_reference_compute_inner(ref, l, x);
		transformer_reference_linear(ref, l, BLOCK_DOWN, true, in.after, y, 4 * h, h);
		values_add_scaled(y, 1, in.middle, ref->setup->batch * h);
		free(in.norm1);
	}
}

void transformer_reference_backward(struct mlp_reference *ref, size_t l, const double *dy,
				    double *dx)
{
	const struct model_layer *layer = &ref->model.layer[l];
	uint64_t h = transformer_reference_hidden_size(ref);
	const double *x = ref->activations[l];
	double *normed, *narrow;

	switch (layer->kind) {
	case LAYER_EMBEDDING:
		for (size_t t = 0; t < layer->tensors; t++)
			memset(model_reference_gradients(ref, l, t), 0,
			       layer->tensor[t].count * sizeof(double));
		for (uint64_t r = 0; r < ref->setup->batch; r++) {
			uint64_t token = (uint64_t)setup_token(ref->setup, r),
				 position = r % ref->setup->transformer.sequence;

			values_add_scaled(model_reference_gradients(ref, l, EMBEDDING_TABLE) +
						  token * h,
					  1, dy + r * h, h);
			values_add_scaled(model_reference_gradients(ref, l, EMBEDDING_POSITION) +
						  position * h,
					  1, dy + r * h, h);
		}
		break;
	case LAYER_HEAD:
		normed = transformer_reference_rows_of(ref, h);
		narrow = transformer_reference_rows_of(ref, h);
		transformer_reference_norm(ref, l, HEAD_GAMMA, x, normed);
		transformer_reference_linear_backward(ref, l, HEAD_WEIGHT, false, normed, dy,
						      narrow, h,
						      ref->setup->transformer.vocabulary);
		transformer_reference_norm_backward(ref, l, HEAD_GAMMA, x, narrow, dx);
		free(normed);
		free(narrow);
		break;
	default:
		transformer_reference_backward_block(ref, l, x, dy, dx);
	}
}
