#include "suites/models/model.h"

#include <math.h>

#include "kernels/generator.h"

static uint64_t aligned(uint64_t elements)
{
	return (elements + MODEL_ALIGN - 1) / MODEL_ALIGN * MODEL_ALIGN;
}

enum layer_split setup_layer_split(const struct setup *setup, size_t layer, int parts)
{
	if (parts == 1 || layer / 2 * 2 + 1 >= setup->layers)
		return SPLIT_NONE;
	return layer % 2 ? ROW_PARALLEL : COLUMN_PARALLEL;
}

uint64_t partition_width(const struct setup *setup, const struct rank_partition *partition,
			 size_t l)
{
	/* The output of a column-parallel layer is the input of a row-parallel one. */
	bool divided =
		l < setup->layers && setup_layer_split(setup, l, partition->parts) == ROW_PARALLEL;

	return setup->widths[l] / (uint64_t)(divided ? partition->parts : 1);
}

enum layer_kind setup_layer_kind(const struct setup *setup, size_t layer)
{
	if (setup->kind == MODEL_MLP)
		return LAYER_LINEAR;
	if (layer == 0)
		return LAYER_EMBEDDING;
	return layer + 1 < setup->layers ? LAYER_BLOCK : LAYER_HEAD;
}

uint64_t setup_tensor_seed(const struct setup *setup, size_t layer, size_t tensor)
{
	if (setup->kind == MODEL_MLP)
		return setup_seed(setup, tensor == LINEAR_BIAS ? TENSOR_BIASES : TENSOR_WEIGHTS,
				  layer);
	return generator_bits(setup_seed(setup, TENSOR_WEIGHTS, layer), tensor);
}

static void add_tensor(struct model_layer *layer, const char *name, uint64_t count, double scale)
{
	layer->tensor[layer->tensors++] = (struct model_tensor){
		.name = name, .first = layer->end, .count = count, .scale = scale
	};
	layer->end += aligned(count);
}

/* Scales around 1, so that one that is not applied shows. */
#define NORM_SPREAD 0.1

static void add_norm(struct model_layer *layer, const char *gamma, const char *beta,
		     uint64_t columns)
{
	add_tensor(layer, gamma, columns, NORM_SPREAD);
	layer->tensor[layer->tensors - 1].offset = 1;
	add_tensor(layer, beta, columns, NORM_SPREAD);
}

/* Variance 1 / in, times `gain` squared. */
static void add_product(struct model_layer *layer, const char *weight, const char *bias,
			uint64_t in, uint64_t out, double gain)
{
	add_tensor(layer, weight, in * out, gain * sqrt(3.0 / (double)in));
	if (bias)
		add_tensor(layer, bias, out, sqrt(1.0 / (double)in));
}

/* Sums of residuals keep their variance when their branches begin small (Radford et al. 2019). */
static void add_block(struct model_layer *layer, uint64_t h, size_t blocks)
{
	double residual = sqrt(0.5 / (double)blocks);

	add_norm(layer, "first norm's scale", "first norm's shift", h);
	add_product(layer, "qkv weights", "qkv bias", h, 3 * h, 1);
	add_product(layer, "attention output weights", "attention output bias", h, h, residual);
	add_norm(layer, "second norm's scale", "second norm's shift", h);
	add_product(layer, "up weights", "up bias", h, 4 * h, 1);
	add_product(layer, "down weights", "down bias", 4 * h, h, residual);
}

static void add_tensors(struct model_layer *layer, const struct setup *setup, size_t l)
{
	const struct transformer_shape *t = &setup->transformer;

	switch (layer->kind) {
	case LAYER_LINEAR:
		add_tensor(layer, "weights", layer->in * layer->out,
			   setup_scale(setup, TENSOR_WEIGHTS, l));
		add_tensor(layer, "bias", layer->out, setup_scale(setup, TENSOR_BIASES, l));
		layer->bias = layer->tensor[LINEAR_BIAS].first;
		break;
	case LAYER_EMBEDDING:
		add_tensor(layer, "token table", t->vocabulary * t->hidden, 1);
		add_tensor(layer, "position table", t->sequence * t->hidden, 0.5);
		break;
	case LAYER_BLOCK:
		add_block(layer, t->hidden, setup->layers - 2);
		break;
	case LAYER_HEAD:
		add_norm(layer, "last norm's scale", "last norm's shift", t->hidden);
		add_product(layer, "head weights", NULL, t->hidden, t->vocabulary, 1);
		break;
	}
}

void model_init_partition(struct model *model, const struct setup *setup,
			  const struct rank_partition *partition)
{
	uint64_t multiple = MODEL_ALIGN * (setup->shards ? setup->shards : 1);

	*model = (struct model){ .layers = setup->layers };
	for (size_t l = partition->last; l-- > partition->first;) {
		struct model_layer *layer = &model->layer[l];
		enum layer_split split = setup_layer_split(setup, l, partition->parts);
		uint64_t parts = (uint64_t)partition->parts;

		layer->in = setup->widths[l] / (split == ROW_PARALLEL ? parts : 1);
		layer->out = setup->widths[l + 1] / (split == COLUMN_PARALLEL ? parts : 1);
		layer->kind = setup_layer_kind(setup, l);
		layer->weight = layer->bias = layer->end = model->elements;
		add_tensors(layer, setup, l);
		layer->end = (layer->end + multiple - 1) / multiple * multiple;
		model->elements = layer->end;
		for (size_t t = 0; t < layer->tensors; t++)
			model->parameters += layer->tensor[t].count;
	}
}

void model_init(struct model *model, const struct setup *setup)
{
	struct rank_partition whole = { .last = setup->layers, .parts = 1 };

	model_init_partition(model, setup, &whole);
}

uint64_t model_first(const struct model *model, size_t last)
{
	return model->layer[last - 1].weight;
}

uint64_t model_elements(const struct model *model, size_t first, size_t last)
{
	return model->layer[first].end - model_first(model, last);
}

/* One token's forward by one block: products, and attention's two over half of the positions. */
static double block_flops(const struct setup *setup)
{
	double h = (double)setup->transformer.hidden;

	return 24 * h * h + 2 * (double)setup->transformer.sequence * h;
}

double setup_block_recompute_flops(const struct setup *setup, uint64_t rows)
{
	double h = (double)setup->transformer.hidden;

	return (double)rows * (block_flops(setup) - 8 * h * h);
}

double setup_layer_flops(const struct setup *setup, size_t layer, uint64_t rows)
{
	enum layer_kind kind = setup_layer_kind(setup, layer);
	double products = layer == 0 ? 2 : 3;

	if (kind == LAYER_EMBEDDING)
		return 0;
	if (kind == LAYER_BLOCK)
		return 3 * (double)rows * block_flops(setup);
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
