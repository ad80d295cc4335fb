#include "suites/mlp/model.h"

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
		layer->weight = model->elements;
		layer->bias = layer->weight + aligned(layer->in * layer->out);
		layer->end = layer->bias + aligned(layer->out);
		layer->end = (layer->end + multiple - 1) / multiple * multiple;
		model->elements = layer->end;
		model->parameters += layer->in * layer->out + layer->out;
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
