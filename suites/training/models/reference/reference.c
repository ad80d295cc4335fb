#include "suites/training/models/reference/reference.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/generator.h"
#include "suites/training/models/reference/values.h"

static void model_reference_fill_tensor(struct mlp_reference *ref, size_t l, size_t t)
{
	const struct model_tensor *tensor = &ref->model.layer[l].tensor[t];
	uint64_t seed = model_tensor_seed(ref->setup, l, t);

	IN_PARALLEL
	for (uint64_t i = 0; i < tensor->count; i++) {
		double value = tensor->offset + tensor->scale * generator_uniform(seed, i);

		/*
		 * Values pass through the master precision: fp16 and bf16 are rounded twice, as in
		 * the run.
		 */
		value = value_round(value, setup_master(ref->setup));
		ref->parameters[tensor->first + i] = value_round(value, ref->setup->precision);
	}
}

void model_reference_open(struct mlp_reference *ref, const struct setup *setup)
{
	uint64_t inputs = setup->batch * setup->widths[0];

	*ref = (struct mlp_reference){ .setup = setup };
	model_init(&ref->model, setup);
	ref->parameters = xcalloc(ref->model.elements, sizeof(double));
	ref->gradients = xcalloc(ref->model.elements, sizeof(double));
	for (size_t l = 0; l <= setup->layers; l++)
		ref->activations[l] = xcalloc(setup->batch * setup->widths[l], sizeof(double));
	ref->labels = xcalloc(setup->batch, sizeof(*ref->labels));
	for (size_t l = 0; l < setup->layers; l++)
		for (size_t t = 0; t < ref->model.layer[l].tensors; t++)
			model_reference_fill_tensor(ref, l, t);
	/* A transformer reads its tokens from the setup. */
	if (setup->kind == MODEL_TRANSFORMER)
		inputs = 0;
	IN_PARALLEL
	for (uint64_t i = 0; i < inputs; i++)
		ref->activations[0][i] =
			value_round(setup_scale(setup, TENSOR_INPUT, 0) *
					    generator_uniform(setup_seed(setup, TENSOR_INPUT, 0),
							      i),
				    setup->precision);
	for (uint64_t r = 0; r < setup->batch; r++)
		ref->labels[r] = setup_label(setup, r);
}

void model_reference_close(struct mlp_reference *ref)
{
	free(ref->parameters);
	free(ref->gradients);
	for (size_t l = 0; l <= SETUP_MAX_LAYERS; l++)
		free(ref->activations[l]);
	free(ref->labels);
	*ref = (struct mlp_reference){ 0 };
}

/*
 * Sums of squares of a row's pre-activations: of all, and of those whose sign disagrees with the
 * mask.
 */
struct squares {
	double all, flipped;
};

static void model_reference_forward_row(struct mlp_reference *ref, size_t l, uint64_t row,
					const unsigned char *mask, struct squares *squares)
{
	const struct model_layer *layer = &ref->model.layer[l];
	const double *x = ref->activations[l] + row * layer->in;
	double *y = ref->activations[l + 1] + row * layer->out;

	for (uint64_t o = 0; o < layer->out; o++)
		y[o] = model_reference_parameters(ref, l, LINEAR_BIAS)[o] +
		       values_dot(x, ref->parameters + layer->weight + o * layer->in, layer->in);
	for (uint64_t o = 0; o < layer->out && l + 1 < ref->setup->layers; o++) {
		bool positive = y[o] > 0, passes = mask ? mask[row * layer->out + o] : positive;

		squares->all += y[o] * y[o];
		if (passes != positive)
			squares->flipped += y[o] * y[o];
		if (!passes)
			y[o] = 0;
	}
}

/* Replaces the logits of one row by their gradient and returns the row's loss. */
static double model_reference_loss_row(struct mlp_reference *ref, uint64_t row)
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

/* dx of one row: the gradient of the input of layer l, masked by the ReLU before the layer. */
static void model_reference_gradient_of_input(struct mlp_reference *ref, size_t l, uint64_t row,
					      const double *dz, double *dx,
					      const unsigned char *mask)
{
	const struct model_layer *layer = &ref->model.layer[l];
	const double *x = ref->activations[l] + row * layer->in;

	for (uint64_t o = 0; o < layer->out; o++)
		values_add_scaled(dx + row * layer->in, dz[row * layer->out + o],
				  ref->parameters + layer->weight + o * layer->in, layer->in);
	if (!setup_is_masked(ref->setup, l))
		return;
	for (uint64_t i = 0; i < layer->in; i++)
		if (!(mask ? mask[row * layer->in + i] : x[i] > 0))
			dx[row * layer->in + i] = 0;
}

static void model_reference_backward_layer(struct mlp_reference *ref, size_t l, const double *dz,
					   double *dx, const unsigned char *mask)
{
	IN_PARALLEL
	for (uint64_t o = 0; o < ref->setup->widths[l + 1]; o++) {
		const struct model_layer *layer = &ref->model.layer[l];
		double *dw = ref->gradients + layer->weight + o * layer->in;
		double sum = 0;

		memset(dw, 0, layer->in * sizeof(*dw));
		for (uint64_t r = 0; r < ref->setup->batch; r++) {
			double d = dz[r * layer->out + o];

			sum += d;
			if (d != 0)
				values_add_scaled(dw, d, ref->activations[l] + r * layer->in,
						  layer->in);
		}
		model_reference_gradients(ref, l, LINEAR_BIAS)[o] = sum;
	}
	if (!dx)
		return;
	IN_PARALLEL
	for (uint64_t r = 0; r < ref->setup->batch; r++)
		model_reference_gradient_of_input(ref, l, r, dz, dx, mask);
}

static void model_reference_backward(struct mlp_reference *ref, const unsigned char *const *masks)
{
	const struct setup *s = ref->setup;
	double *dz = ref->activations[s->layers], *owned = NULL;

	for (size_t l = s->layers; l-- > 0;) {
		double *dx = l > 0 ? xcalloc(s->batch * s->widths[l], sizeof(*dx)) : NULL;

		if (ref->model.layer[l].kind == LAYER_CONVOLUTION)
			image_reference_backward(ref, l, dz, dx);
		else if (s->kind == MODEL_TRANSFORMER)
			transformer_reference_backward(ref, l, dz, dx);
		else
			model_reference_backward_layer(ref, l, dz, dx, masks ? masks[l] : NULL);
		free(owned);
		dz = owned = dx;
	}
}

void model_reference_step(struct mlp_reference *ref, const unsigned char *const *masks)
{
	const struct setup *s = ref->setup;
	double loss = 0;

	ref->mask_error = ref->forward_error = 0;
	for (size_t l = 0; l < s->layers; l++)
		if (ref->model.layer[l].kind == LAYER_CONVOLUTION)
			image_reference_forward(ref, l);
		else if (s->kind == MODEL_TRANSFORMER)
			transformer_reference_forward(ref, l);
		else {
			uint64_t rows = ref->setup->batch;
			struct squares *squares = xcalloc(rows, sizeof(*squares)), sum = { 0, 0 };

			for (uint64_t r = 0; r < rows; r++)
				model_reference_forward_row(ref, l, r, masks ? masks[l + 1] : NULL,
							    &squares[r]);
			for (uint64_t r = 0; r < rows; r++) {
				sum.all += squares[r].all;
				sum.flipped += squares[r].flipped;
			}
			free(squares);
			if (sum.flipped > 0)
				ref->mask_error =
					fmax(ref->mask_error, sqrt(sum.flipped / sum.all));
		}
	for (uint64_t r = 0; r < s->batch; r++)
		loss += model_reference_loss_row(ref, r);
	ref->loss = loss / (double)s->batch;
	model_reference_backward(ref, masks);
}
