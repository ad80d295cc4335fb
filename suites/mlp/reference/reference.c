#include "suites/mlp/reference/reference.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/generator.h"
#include "suites/mlp/reference/threads.h"
#include "suites/mlp/reference/values.h"

static double generated(const struct setup *setup, enum setup_tensor tensor, size_t layer,
			uint64_t index, enum precision precision)
{
	double value = setup_scale(setup, tensor, layer) *
		       generator_uniform(setup_seed(setup, tensor, layer), index);

	return value_round(value, precision);
}

static double parameter(const struct setup *setup, enum setup_tensor tensor, size_t layer,
			uint64_t index)
{
	/* Through the master weights: fp16 and bf16 are rounded twice, as in the run. */
	double master = generated(setup, tensor, layer, index, setup_master(setup));

	return value_round(master, setup->precision);
}

static void fill_layer(struct mlp_reference *ref, size_t l)
{
	const struct model_layer *layer = &ref->model.layer[l];

	IN_PARALLEL
	for (uint64_t i = 0; i < layer->in * layer->out; i++)
		ref->parameters[layer->weight + i] = parameter(ref->setup, TENSOR_WEIGHTS, l, i);
	for (uint64_t i = 0; i < layer->out; i++)
		ref->parameters[layer->bias + i] = parameter(ref->setup, TENSOR_BIASES, l, i);
}

void reference_open(struct mlp_reference *ref, const struct setup *setup)
{
	*ref = (struct mlp_reference){ .setup = setup };
	model_init(&ref->model, setup);
	ref->parameters = xcalloc(ref->model.elements, sizeof(double));
	ref->gradients = xcalloc(ref->model.elements, sizeof(double));
	for (size_t l = 0; l <= setup->layers; l++)
		ref->activations[l] = xcalloc(setup->batch * setup->widths[l], sizeof(double));
	ref->labels = xcalloc(setup->batch, sizeof(*ref->labels));
	for (size_t l = 0; l < setup->layers; l++)
		fill_layer(ref, l);
	IN_PARALLEL
	for (uint64_t i = 0; i < setup->batch * setup->widths[0]; i++)
		ref->activations[0][i] = generated(setup, TENSOR_INPUT, 0, i, setup->precision);
	for (uint64_t r = 0; r < setup->batch; r++)
		ref->labels[r] = setup_label(setup, r);
}

void reference_close(struct mlp_reference *ref)
{
	free(ref->parameters);
	free(ref->gradients);
	for (size_t l = 0; l <= SETUP_MAX_LAYERS; l++)
		free(ref->activations[l]);
	free(ref->labels);
	*ref = (struct mlp_reference){ 0 };
}

/* Four partial sums: the compiler may not reorder a single one. */
static double dot(const double *a, const double *b, uint64_t n)
{
	double sum[4] = { 0 };
	uint64_t i = 0;

	for (; i + 4 <= n; i += 4)
		for (int k = 0; k < 4; k++)
			sum[k] += a[i + (uint64_t)k] * b[i + (uint64_t)k];
	for (; i < n; i++)
		sum[0] += a[i] * b[i];
	return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static void add_scaled(double *to, double factor, const double *from, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		to[i] += factor * from[i];
}

/*
 * Squares of a row's sums: of all, and of those that the mask treats otherwise than their sign
 * says.
 */
struct squares {
	double all, flipped;
};

static void cut_row(double *y, uint64_t width, const unsigned char *mask, struct squares *squares)
{
	for (uint64_t o = 0; o < width; o++) {
		bool positive = y[o] > 0, passes = mask ? mask[o] : positive;

		squares->all += y[o] * y[o];
		if (passes != positive)
			squares->flipped += y[o] * y[o];
		if (!passes)
			y[o] = 0;
	}
}

static void forward_row(struct mlp_reference *ref, size_t l, uint64_t row,
			const unsigned char *mask, struct squares *squares)
{
	const struct model_layer *layer = &ref->model.layer[l];
	const double *x = ref->activations[l] + row * layer->in;
	double *y = ref->activations[l + 1] + row * layer->out;

	for (uint64_t o = 0; o < layer->out; o++)
		y[o] = ref->parameters[layer->bias + o] +
		       dot(x, ref->parameters + layer->weight + o * layer->in, layer->in);
	if (l + 1 < ref->setup->layers)
		cut_row(y, layer->out, mask ? mask + row * layer->out : NULL, squares);
}

static void forward_layer(struct mlp_reference *ref, size_t l, const unsigned char *mask)
{
	uint64_t rows = ref->setup->batch;
	struct squares *squares = xcalloc(rows, sizeof(*squares)), sum = { 0, 0 };

	IN_PARALLEL
	for (uint64_t r = 0; r < rows; r++)
		forward_row(ref, l, r, mask, &squares[r]);
	for (uint64_t r = 0; r < rows; r++) {
		sum.all += squares[r].all;
		sum.flipped += squares[r].flipped;
	}
	free(squares);
	if (sum.flipped > 0)
		ref->mask_error = fmax(ref->mask_error, sqrt(sum.flipped / sum.all));
}

/* Replaces the logits of one row by their gradient and returns the row's loss. */
static double loss_row(struct mlp_reference *ref, uint64_t row)
{
	uint64_t classes = ref->setup->widths[ref->setup->layers];
	double *z = ref->activations[ref->setup->layers] + row * classes;
	double largest = z[0], sum = 0, loss;

	for (uint64_t c = 1; c < classes; c++)
		largest = fmax(largest, z[c]);
	for (uint64_t c = 0; c < classes; c++)
		sum += exp(z[c] - largest);
	loss = log(sum) + largest - z[ref->labels[row]];
	for (uint64_t c = 0; c < classes; c++)
		z[c] = (exp(z[c] - largest) / sum - ((uint64_t)ref->labels[row] == c)) /
		       (double)ref->setup->batch;
	return loss;
}

static void gradient_of_output(struct mlp_reference *ref, size_t l, uint64_t o, const double *dz)
{
	const struct model_layer *layer = &ref->model.layer[l];
	double *dw = ref->gradients + layer->weight + o * layer->in;
	double sum = 0;

	memset(dw, 0, layer->in * sizeof(*dw));
	for (uint64_t r = 0; r < ref->setup->batch; r++) {
		double d = dz[r * layer->out + o];

		sum += d;
		if (d != 0)
			add_scaled(dw, d, ref->activations[l] + r * layer->in, layer->in);
	}
	ref->gradients[layer->bias + o] = sum;
}

/* dx of one row: the gradient of the input of layer l, cut where the ReLU before it was. */
static void gradient_of_input(struct mlp_reference *ref, size_t l, uint64_t row, const double *dz,
			      double *dx, const unsigned char *mask)
{
	const struct model_layer *layer = &ref->model.layer[l];
	const double *x = ref->activations[l] + row * layer->in;

	for (uint64_t o = 0; o < layer->out; o++)
		add_scaled(dx + row * layer->in, dz[row * layer->out + o],
			   ref->parameters + layer->weight + o * layer->in, layer->in);
	for (uint64_t i = 0; i < layer->in; i++)
		if (!(mask ? mask[row * layer->in + i] : x[i] > 0))
			dx[row * layer->in + i] = 0;
}

static void backward(struct mlp_reference *ref, const unsigned char *const *masks)
{
	const struct setup *s = ref->setup;
	double *dz = ref->activations[s->layers], *owned = NULL;

	for (size_t l = s->layers; l-- > 0;) {
		double *dx = l > 0 ? xcalloc(s->batch * s->widths[l], sizeof(*dx)) : NULL;

		IN_PARALLEL
		for (uint64_t o = 0; o < s->widths[l + 1]; o++)
			gradient_of_output(ref, l, o, dz);
		if (dx) {
			IN_PARALLEL
			for (uint64_t r = 0; r < s->batch; r++)
				gradient_of_input(ref, l, r, dz, dx, masks ? masks[l] : NULL);
		}
		free(owned);
		dz = owned = dx;
	}
}

void reference_step(struct mlp_reference *ref, const unsigned char *const *masks)
{
	const struct setup *s = ref->setup;
	double loss = 0;

	ref->mask_error = 0;
	for (size_t l = 0; l < s->layers; l++)
		forward_layer(ref, l, masks ? masks[l + 1] : NULL);
	for (uint64_t r = 0; r < s->batch; r++)
		loss += loss_row(ref, r);
	ref->loss = loss / (double)s->batch;
	backward(ref, masks);
}
