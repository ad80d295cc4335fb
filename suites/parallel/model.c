#include "suites/parallel/model.h"

static uint64_t aligned(uint64_t elements)
{
	return (elements + MODEL_ALIGN - 1) / MODEL_ALIGN * MODEL_ALIGN;
}

void model_init(struct model *model, const struct setup *setup)
{
	*model = (struct model){ .layers = setup->layers };
	for (size_t l = setup->layers; l-- > 0;) {
		struct model_layer *layer = &model->layer[l];

		layer->in = setup->widths[l];
		layer->out = setup->widths[l + 1];
		layer->weight = model->elements;
		layer->bias = layer->weight + aligned(layer->in * layer->out);
		model->elements = layer->bias + aligned(layer->out);
		model->parameters += layer->in * layer->out + layer->out;
	}
}

uint64_t model_first(const struct model *model, size_t last)
{
	return model->layer[last - 1].weight;
}

uint64_t model_elements(const struct model *model, size_t first, size_t last)
{
	return model->layer[first].bias + aligned(model->layer[first].out) -
	       model_first(model, last);
}

double setup_layer_flops(const struct setup *setup, size_t layer, uint64_t rows)
{
	double products = layer == 0 ? 2 : 3;

	return products * 2 * (double)rows * (double)setup->widths[layer] *
	       (double)setup->widths[layer + 1];
}

double setup_flops(const struct setup *setup)
{
	double flops = 0;

	for (size_t l = 0; l < setup->layers; l++)
		flops += setup_layer_flops(setup, l, setup->batch);
	return flops;
}
