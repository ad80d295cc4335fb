#include "suites/training/models/model.h"

#include <math.h>

#include "kernels/generator.h"
#include "suites/training/models/image_model.h"
#include "suites/training/models/mode.h"

enum layer_split model_layer_split(const struct setup *setup, size_t layer, int parts)
{
	if (setup->kind != MODEL_MLP || parts == 1 || layer / 2 * 2 + 1 >= setup->layers)
		return SPLIT_NONE;
	return layer % 2 ? ROW_PARALLEL : COLUMN_PARALLEL;
}

/* With 16-bit storage, parts of a large vocabulary begin at multiples of 16 bytes. */
#define VOCABULARY_VECTOR 8

uint64_t model_partition_vocabulary(const struct setup *setup,
				    const struct rank_partition *partition, uint64_t *first)
{
	uint64_t all = setup->transformer.vocabulary, part = (uint64_t)partition->part,
		 parts = (uint64_t)partition->parts,
		 unit = all / VOCABULARY_VECTOR >= VOCABULARY_VECTOR * parts ? VOCABULARY_VECTOR
									     : 1;
	uint64_t end = part + 1 < parts ? all / unit * (part + 1) / parts * unit : all;

	*first = all / unit * part / parts * unit;
	return end - *first;
}

uint64_t model_partition_width(const struct setup *setup, const struct rank_partition *partition,
			       size_t l)
{
	/* The output of a column-parallel layer is the input of a row-parallel layer. */
	bool divided =
		l < setup->layers && model_layer_split(setup, l, partition->parts) == ROW_PARALLEL;
	uint64_t first;

	if (l == setup->layers && setup->kind == MODEL_TRANSFORMER)
		return model_partition_vocabulary(setup, partition, &first);

	return setup->widths[l] / (uint64_t)(divided ? partition->parts : 1);
}

enum layer_kind model_layer_kind(const struct setup *setup, size_t layer)
{
	if (setup->kind == MODEL_MLP)
		return LAYER_LINEAR;
	if (setup_has_images(setup))
		return layer < image_model_layers(setup) ? LAYER_CONVOLUTION : LAYER_LINEAR;
	if (layer == 0)
		return LAYER_EMBEDDING;
	return layer + 1 < setup->layers ? LAYER_BLOCK : LAYER_HEAD;
}

uint64_t model_tensor_seed(const struct setup *setup, size_t layer, size_t tensor)
{
	if (setup->kind == MODEL_MLP)
		return setup_seed(setup, tensor == LINEAR_BIAS ? TENSOR_BIASES : TENSOR_WEIGHTS,
				  layer);
	return generator_bits(setup_seed(setup, TENSOR_WEIGHTS, layer), tensor);
}

uint64_t model_tensor_place(const struct model_tensor *t, uint64_t element, uint64_t *run)
{
	const struct tensor_part *p = &t->part;
	uint64_t row, column, group;

	*run = t->count - element;
	if (p->whole_rows == 0)
		return element;
	row = element / p->columns % p->rows;
	column = element % p->columns;
	group = element / p->columns / p->rows;
	*run = (p->columns == p->whole_columns ? (p->rows - row) * p->columns : p->columns) -
	       column;
	return ((group * p->whole_rows + p->first_row + row) * p->whole_columns) + p->first_column +
	       column;
}

static struct model_tensor *model_add_tensor(struct model_layer *layer, const char *name,
					     uint64_t count, double scale)
{
	struct model_tensor *t = &layer->tensor[layer->tensors++];

	*t = (struct model_tensor){
		.name = name, .first = layer->end, .count = count, .scale = scale
	};
	layer->end += (count + MODEL_ALIGN - 1) / MODEL_ALIGN * MODEL_ALIGN;
	return t;
}

/* Scales vary around 1, so that an omitted scale is detected. */
#define NORM_SPREAD 0.1

static void model_add_norm(struct model_layer *layer, const char *gamma, const char *beta,
			   uint64_t columns)
{
	model_add_tensor(layer, gamma, columns, NORM_SPREAD);
	layer->tensor[layer->tensors - 1].offset = 1;
	model_add_tensor(layer, beta, columns, NORM_SPREAD);
}

/*
 * How ranks divide the weights of a product: by rows of each of `groups` equal groups, or by
 * columns.
 */
struct cut {
	enum layer_split split;
	uint64_t groups, part, parts;
};

static struct cut model_cut_of(const struct rank_partition *partition, enum layer_split split,
			       uint64_t groups)
{
	return (struct cut){ .split = partition->parts > 1 ? split : SPLIT_NONE,
			     .groups = groups,
			     .part = (uint64_t)partition->part,
			     .parts = (uint64_t)partition->parts };
}

/* Adds this rank's part of a matrix with out x in elements. */
static void model_add_matrix_part(struct model_layer *layer, const char *name, uint64_t in,
				  uint64_t out, double scale, const struct cut *cut)
{
	uint64_t rows = out / cut->groups / (cut->split == COLUMN_PARALLEL ? cut->parts : 1),
		 columns = in / (cut->split == ROW_PARALLEL ? cut->parts : 1);
	struct model_tensor *t = model_add_tensor(layer, name, rows * cut->groups * columns, scale);

	if (cut->split == SPLIT_NONE)
		return;
	t->part = (struct tensor_part){
		.rows = rows,
		.columns = columns,
		.whole_rows = out / cut->groups,
		.whole_columns = in,
		.first_row = cut->split == COLUMN_PARALLEL ? cut->part * rows : 0,
		.first_column = cut->split == ROW_PARALLEL ? cut->part * columns : 0,
	};
}

/* Adds this rank's biases: all of them if ranks divide the inputs. */
static void model_add_biases(struct model_layer *layer, const char *name, uint64_t out,
			     double scale, struct cut cut)
{
	if (cut.split == ROW_PARALLEL)
		cut.split = SPLIT_NONE;
	model_add_matrix_part(layer, name, 1, out, scale, &cut);
}

/* Variance is gain^2 / in. */
static void model_add_product(struct model_layer *layer, const char *weight, const char *bias,
			      uint64_t in, uint64_t out, double gain, struct cut cut)
{
	model_add_matrix_part(layer, weight, in, out, gain * sqrt(3.0 / (double)in), &cut);
	model_add_biases(layer, bias, out, sqrt(1.0 / (double)in), cut);
}

/*
 * Residual sums keep their variance if their branches start small (Radford et al. 2019). Ranks
 * divide heads and the inner columns of the MLP (Shoeybi et al. 2019, arXiv:1909.08053).
 */
static void model_add_block(struct model_layer *layer, uint64_t h, size_t blocks,
			    const struct rank_partition *partition)
{
	double residual = sqrt(0.5 / (double)blocks);
	struct cut heads = model_cut_of(partition, COLUMN_PARALLEL, 3),
		   outputs = model_cut_of(partition, COLUMN_PARALLEL, 1),
		   inputs = model_cut_of(partition, ROW_PARALLEL, 1);

	model_add_norm(layer, "first norm's scale", "first norm's shift", h);
	model_add_product(layer, "qkv weights", "qkv bias", h, 3 * h, 1, heads);
	model_add_product(layer, "attention output weights", "attention output bias", h, h,
			  residual, inputs);
	model_add_norm(layer, "second norm's scale", "second norm's shift", h);
	model_add_product(layer, "up weights", "up bias", h, 4 * h, 1, outputs);
	model_add_product(layer, "down weights", "down bias", 4 * h, h, residual, inputs);
}

/* Weights as in He et al. 2015; biases before a ReLU are small, scales of a batch norm around 1. */
static void model_add_image_unit(struct model_layer *layer, const struct image_unit *u,
				 size_t number)
{
	static const char *const names[IMAGE_MAX_UNITS + 1][4] = {
		{ "first convolution's weights", "first convolution's bias", "first norm's scale",
		  "first norm's shift" },
		{ "second convolution's weights", "second convolution's bias",
		  "second norm's scale", "second norm's shift" },
		{ "third convolution's weights", "third convolution's bias", "third norm's scale",
		  "third norm's shift" },
		{ "fourth convolution's weights", "fourth convolution's bias",
		  "fourth norm's scale", "fourth norm's shift" },
		{ "projection's weights", "projection's bias", "projection norm's scale",
		  "projection norm's shift" },
	};
	double depth = (double)image_model_unit_depth(u);

	model_add_tensor(layer, names[number][0], image_model_unit_weights(u), sqrt(6 / depth));
	if (u->norm)
		model_add_norm(layer, names[number][2], names[number][3], u->filters);
	else
		model_add_tensor(layer, names[number][1], u->filters, sqrt(1 / depth));
}

/* Adds this rank's rows of a vocabulary table. */
static void model_add_vocabulary(struct model_layer *layer, const char *name, double scale,
				 const struct setup *setup, const struct rank_partition *partition)
{
	const struct transformer_shape *t = &setup->transformer;
	uint64_t first, rows = model_partition_vocabulary(setup, partition, &first);
	struct model_tensor *tensor = model_add_tensor(layer, name, rows * t->hidden, scale);

	if (partition->parts > 1)
		tensor->part = (struct tensor_part){ .rows = rows,
						     .columns = t->hidden,
						     .whole_rows = t->vocabulary,
						     .whole_columns = t->hidden,
						     .first_row = first };
}

static void model_add_tensors(struct model_layer *layer, const struct setup *setup, size_t l,
			      const struct rank_partition *partition)
{
	const struct transformer_shape *t = &setup->transformer;
	struct cut cut = model_cut_of(partition, model_layer_split(setup, l, partition->parts), 1);
	struct image_layer image;

	switch (layer->kind) {
	case LAYER_LINEAR:
		model_add_matrix_part(layer, "weights", setup->widths[l], setup->widths[l + 1],
				      setup_scale(setup, TENSOR_WEIGHTS, l), &cut);
		model_add_biases(layer, "bias", setup->widths[l + 1],
				 setup_scale(setup, TENSOR_BIASES, l), cut);
		break;
	case LAYER_EMBEDDING:
		model_add_vocabulary(layer, "token embedding", 1, setup, partition);
		model_add_tensor(layer, "position embedding", t->sequence * t->hidden, 0.5);
		break;
	case LAYER_BLOCK:
		model_add_block(layer, t->hidden, setup->layers - 2, partition);
		break;
	case LAYER_HEAD:
		model_add_norm(layer, "last norm's scale", "last norm's shift", t->hidden);
		model_add_vocabulary(layer, "head weights", sqrt(3.0 / (double)t->hidden), setup,
				     partition);
		break;
	case LAYER_CONVOLUTION:
		image_model_layer_of(setup, l, &image);
		for (size_t u = 0; u < image.units; u++)
			model_add_image_unit(layer, &image.unit[u], u);
		if (image.projects)
			model_add_image_unit(layer, &image.projection, IMAGE_MAX_UNITS);
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
		enum layer_split split = model_layer_split(setup, l, partition->parts);
		uint64_t parts = (uint64_t)partition->parts;

		layer->in = setup->widths[l] / (split == ROW_PARALLEL ? parts : 1);
		layer->out = setup->widths[l + 1] / (split == COLUMN_PARALLEL ? parts : 1);
		layer->kind = model_layer_kind(setup, l);
		if (layer->kind == LAYER_HEAD)
			layer->out = model_partition_width(setup, partition, setup->layers);
		layer->weight = layer->end = model->elements;
		model_add_tensors(layer, setup, l, partition);
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

/*
 * FLOP of one block's forward per token: the products, and attention's two products over half of
 * the positions.
 */
static double model_block_flops(const struct setup *setup)
{
	double h = (double)setup->transformer.hidden;

	return 24 * h * h + 2 * (double)setup->transformer.sequence * h;
}

double model_block_recompute_flops(const struct setup *setup, size_t layer, uint64_t rows)
{
	double h = (double)setup->transformer.hidden;
	struct image_layer image;

	switch (model_layer_kind(setup, layer)) {
	case LAYER_BLOCK:
		return (double)rows * (model_block_flops(setup) - 8 * h * h);
	case LAYER_CONVOLUTION:
		image_model_layer_of(setup, layer, &image);
		return (double)rows * image_model_layer_flops(&image);
	default:
		return 0;
	}
}

double model_layer_flops(const struct setup *setup, size_t layer, uint64_t rows)
{
	enum layer_kind kind = model_layer_kind(setup, layer);
	double products = layer == 0 ? 2 : 3;

	if (kind == LAYER_EMBEDDING)
		return 0;
	if (kind == LAYER_CONVOLUTION) {
		struct image_layer image;

		image_model_layer_of(setup, layer, &image);
		return (double)rows * (3 * image_model_layer_flops(&image) -
				       (layer == 0 ? image_model_input_flops(&image) : 0));
	}
	if (kind == LAYER_BLOCK)
		return 3 * (double)rows * model_block_flops(setup);
	return products * 2 * (double)rows * (double)setup->widths[layer] *
	       (double)setup->widths[layer + 1];
}

double model_flops(const struct setup *setup)
{
	double flops = 0;

	for (size_t l = 0; l < setup->layers; l++)
		flops += model_layer_flops(setup, l, setup->batch);
	return flops;
}

void model_parameter_shard_of(const struct setup *setup, int rank, struct rank_partition *partition,
			      struct parameter_shard *shard)
{
	struct model model;

	*partition = (struct rank_partition){ 0 };
	setup->mode->partition(setup, rank, partition);
	if (partition->parts == 0)
		partition->parts = 1;
	if (partition->kept == 0)
		partition->kept = partition->rows;
	if (partition->kept_input == 0)
		partition->kept_input = partition->kept;
	if (partition->step_rows == 0)
		partition->step_rows = partition->kept;
	if (partition->last == setup->layers && partition->loss_rows == 0 && !partition->no_loss)
		partition->loss_rows = partition->rows;
	model_init_partition(&model, setup, partition);
	*shard = (struct parameter_shard){ .elements = model.elements,
					   .weights = model.elements,
					   .gradients = model.elements,
					   .master = model.elements,
					   .ranges = { { .count = model.elements } },
					   .count = 1 };
	if (setup->mode->shard)
		setup->mode->shard(setup, rank, shard);
}

bool model_parameter_shard_is_whole(const struct parameter_shard *h)
{
	return h->count == 1 && h->ranges[0].count == h->elements;
}

bool model_parameter_shard_has_parameters(const struct parameter_shard *h,
					  const struct model *local)
{
	for (size_t i = 0; i < h->count; i++)
		for (size_t l = 0; l < local->layers; l++)
			for (size_t t = 0; t < local->layer[l].tensors; t++) {
				const struct shard_range *range = &h->ranges[i];
				const struct model_tensor *tensor = &local->layer[l].tensor[t];

				if (range->flat < tensor->first + tensor->count &&
				    tensor->first < range->flat + range->count)
					return true;
			}
	return false;
}
