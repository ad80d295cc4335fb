#include "suites/training/models/setup.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/attention/attention.h"
#include "kernels/generator.h"
#include "plan/config.h"
#include "suites/training/models/buffer_alias.h"
#include "suites/training/models/image_model.h"
#include "suites/training/models/mode.h"
#include "suites/training/models/model.h"
#include "suites/training/models/model_keys.h"

/* A smaller model for a reference keeps at least this many rows per rank and micro-batch ... */
#define SHRINK_ROWS 4
/* ... and layers at least this wide (the number of classes stays if it is smaller). */
#define SHRINK_WIDTH 16

/* ... and uses this fraction of the search time: verification works with any algorithm. */
#define SHRINK_SEARCH 0.1

static const struct {
	const char *name;
	enum precision precision;
	bool storage_only;
} trainings[] = {
	{ "fp64", PRECISION_FP64, false },       { "fp32", PRECISION_FP32, false },
	{ "tf32", PRECISION_TF32, false },       { "fp16_storage", PRECISION_FP16, true },
	{ "fp16_mixed", PRECISION_FP16, false }, { "bf16_mixed", PRECISION_BF16, false },
};

const char *const aliasing_names[] = { "on", "off", NULL };
const char *const batch_modes[] = { "strong", "weak", NULL };
const char *const training_names[] = { "fp64",       "fp32",       "tf32", "fp16_storage",
				       "fp16_mixed", "bf16_mixed", NULL };

void setup_set_training(struct setup *setup, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(trainings); i++)
		if (strcmp(trainings[i].name, name) == 0) {
			setup->precision = trainings[i].precision;
			setup->storage_only = trainings[i].storage_only;
		}
}

const char *setup_training_name(const struct setup *setup)
{
	for (size_t i = 0; i < ARRAY_SIZE(trainings); i++)
		if (trainings[i].precision == setup->precision &&
		    trainings[i].storage_only == setup->storage_only)
			return trainings[i].name;
	return precision_name(setup->precision);
}

const char *const model_kind_names[] = { "mlp", "transformer", "convnet", "resnet", NULL };

void setup_transformer(struct setup *setup, uint64_t blocks, const struct transformer_shape *shape)
{
	setup->kind = MODEL_TRANSFORMER;
	setup->transformer = *shape;
	setup->layers = blocks + 2;
	setup->widths[0] = sizeof(int32_t) / precision_bytes(setup->precision);
	for (size_t l = 1; l < setup->layers; l++)
		setup->widths[l] = shape->hidden;
	setup->widths[setup->layers] = shape->vocabulary;
}

/* Number of ranks that divide the same layers. */
static uint64_t setup_layer_parts(const struct setup *setup)
{
	if (!setup->mode->shares_layers)
		return 1;
	return (uint64_t)(setup->grid.tensor > 0 ? setup->grid.tensor : setup->ranks);
}

/* Number of equal parts of the batch that pass through the layers one after another. */
static uint64_t setup_batch_parts(const struct setup *setup)
{
	if (setup->mode->microbatched)
		return (uint64_t)(setup->grid.data > 0 ? setup->grid.data : 1) *
		       setup->microbatches;
	return (uint64_t)setup->ranks / setup_layer_parts(setup) * setup_accumulate(setup);
}

const char *setup_transformer_refusal(const struct setup *setup, char *text, size_t size)
{
	const struct transformer_shape *t = &setup->transformer;
	uint64_t parts = setup_batch_parts(setup), samples = setup->batch / t->sequence,
		 shares = setup_layer_parts(setup);
	struct attention_shape attention = { .precision = setup_storage(setup),
					     .batch = (unsigned)(samples / parts),
					     .heads = (unsigned)(t->heads / shares),
					     .sequence = (unsigned)t->sequence,
					     .head_size = (unsigned)(t->hidden / t->heads),
					     .scale = 1 };
	struct error err = ERROR_NONE;

	if (!setup->mode->transformers)
		snprintf(text, size, "%s does not support model = transformer", setup->mode->name);
	else if (samples % parts)
		snprintf(text, size, "%llu sequences are not divisible into %llu parts",
			 (unsigned long long)samples, (unsigned long long)parts);
	else if (t->heads % shares)
		snprintf(text, size, "%llu attention heads are not divisible into %llu parts",
			 (unsigned long long)t->heads, (unsigned long long)shares);
	else if (t->vocabulary < shares)
		snprintf(text, size, "a vocabulary of %llu tokens is not divisible into %llu parts",
			 (unsigned long long)t->vocabulary, (unsigned long long)shares);
	else if (setup->mode->sequence && setup->batch / parts % shares)
		snprintf(text, size, "%llu tokens are not divisible into %llu parts",
			 (unsigned long long)(setup->batch / parts), (unsigned long long)shares);
	else if (setup->segments > 0 && setup->segments < setup->layers)
		return "recompute of a transformer must be none or layer";
	else if (kernel_attention_check(&attention, &err) == STATUS_OK)
		return NULL;
	else
		snprintf(text, size, "%s", err.message);
	return text;
}

int32_t setup_token(const struct setup *setup, uint64_t row)
{
	return (int32_t)(generator_bits(setup_seed(setup, TENSOR_INPUT, 0), row) %
			 setup->transformer.vocabulary);
}

bool setup_is_masked(const struct setup *setup, size_t l)
{
	return l > 0 && l < setup->layers && model_layer_kind(setup, l - 1) == LAYER_LINEAR;
}

const char *const optimizer_names[] = { "sgd", "momentum", "adam", NULL };

uint64_t setup_widest(const struct setup *setup)
{
	uint64_t width = 0;

	if (setup_has_images(setup))
		return image_model_longest_sum(setup);
	for (size_t i = 0; i <= setup->layers; i++)
		width = setup->widths[i] > width ? setup->widths[i] : width;
	return width;
}

/*
 * Messages between stages spend most of the time waiting and occupy their multiprocessors
 * meanwhile: on two H200s 1F1B took 62 ms without a limit and 50 ms with one sixteenth. Collectives
 * of data and tensor parallelism finish soon and benefit from all multiprocessors: 43 ms without a
 * limit, 44 to 52 with one.
 */
int setup_collective_multiprocessors(const struct setup *setup, int multiprocessors)
{
	if (setup->ranks == 1)
		return 0;
	if (setup->collective_multiprocessors >= 0)
		return (int)setup->collective_multiprocessors;
	return setup->mode->microbatched ? multiprocessors / 16 : 0;
}

double setup_safe_rate(const struct setup *setup)
{
	double per_width = 1.0 / (double)setup_widest(setup);

	switch (setup->optimizer) {
	case OPTIMIZER_ADAM:
		return 0.1 * per_width;
	case OPTIMIZER_MOMENTUM:
		return 0.1 * per_width / (double)setup->layers;
	default:
		return per_width / (double)setup->layers;
	}
}

/*
 * Keeps parts of a width equal if ranks divide it equally, and tensors without gaps if there were
 * none.
 */
static uint64_t model_setup_divisible_like(const struct setup *setup, size_t i, uint64_t width)
{
	uint64_t ranks = (uint64_t)(setup->grid.tensor > 0 ? setup->grid.tensor : setup->ranks);
	uint64_t whole = MODEL_ALIGN * (uint64_t)setup->ranks;

	if (setup->widths[i] % whole == 0 && width > whole)
		return width - width % whole;
	return setup->widths[i] % ranks == 0 && width > ranks ? width - width % ranks : width;
}

/* Halves a size that is above its minimum; returns true if it did. */
static bool setup_halve(uint64_t *size, uint64_t least)
{
	if (*size / 2 < least)
		return false;
	*size /= 2;
	return true;
}

/*
 * Reduces batch, vocabulary, sequence and number of heads in turn, then blocks; the head size
 * stays. The vocabulary stays large relative to the sequence, so that most tokens of a batch
 * differ.
 */
static void model_setup_shrink_transformer(struct setup *small, double flops)
{
	uint64_t parts = setup_batch_parts(small), shares = setup_layer_parts(small),
		 stages = (uint64_t)(small->grid.pipeline > 0    ? small->grid.pipeline
				     : small->mode->microbatched ? small->ranks
								 : 1),
		 samples = small->batch / small->transformer.sequence / parts,
		 blocks = small->layers - 2,
		 head = small->transformer.hidden / small->transformer.heads;
	bool each = small->segments >= small->layers;
	struct transformer_shape t = small->transformer;

	small->search_seconds *= SHRINK_SEARCH;
	while (model_flops(small) > flops) {
		bool changed = samples > 2 && setup_halve(&samples, 2);

		changed |= setup_halve(&t.vocabulary, 128);
		changed |= setup_halve(&t.sequence, 48);
		changed |= t.heads % (2 * shares) == 0 && setup_halve(&t.heads, 2);
		if (!changed && !setup_halve(&blocks, stages > 2 ? stages : 2))
			break;
		t.hidden = t.heads * head;
		setup_transformer(small, blocks, &t);
		small->batch = samples * parts * t.sequence;
	}
	if (each || small->segments > small->layers)
		small->segments = small->layers;
}

/*
 * Reduces images per part, side and filters in turn; the depth stays. Every batch norm keeps some
 * rows, because the variance of very few rows is dominated by rounding.
 */
static void model_setup_shrink_images(struct setup *small, double flops)
{
	uint64_t parts = (uint64_t)small->ranks * setup_accumulate(small),
		 images = small->batch / parts;
	uint64_t least_image =
		small->kind == MODEL_RESNET ? 32 : (uint64_t)4 << small->images.blocks;
	struct image_shape shape = small->images;

	small->search_seconds *= SHRINK_SEARCH;
	while (model_flops(small) > flops) {
		bool changed = setup_halve(&images, 8);

		changed |= setup_halve(&shape.image, 2 * least_image);
		changed |= setup_halve(&shape.channels, 16);
		changed = changed || setup_halve(&shape.channels, 8) ||
			  setup_halve(&shape.image, least_image) || setup_halve(&images, 4);
		if (!changed)
			break;
		image_model_setup(small, small->kind, &shape);
		small->batch = images * parts;
	}
}

bool setup_shrink(const struct setup *setup, double flops, struct setup *small)
{
	uint64_t part = (uint64_t)setup->ranks * setup->microbatches * setup_accumulate(setup),
		 parts;
	double ratio = flops / model_flops(setup);

	*small = *setup;
	if (ratio >= 1)
		return true;
	if (setup->kind == MODEL_TRANSFORMER) {
		small->loss_chunks = buffer_alias_loss_chunks(setup);
		model_setup_shrink_transformer(small, flops);
		return false;
	}
	if (setup_has_images(setup)) {
		model_setup_shrink_images(small, flops);
		return false;
	}
	small->search_seconds *= SHRINK_SEARCH;
	parts = setup->batch / part;
	small->batch = part * (uint64_t)fmax((double)parts * ratio,
					     parts < SHRINK_ROWS ? (double)parts : SHRINK_ROWS);
	for (ratio = flops / model_flops(small); ratio < 1; ratio = flops / model_flops(small)) {
		bool changed = false;

		for (size_t i = 0; i <= setup->layers; i++) {
			uint64_t w = small->widths[i];

			small->widths[i] = model_setup_divisible_like(
				setup, i,
				(uint64_t)fmax((double)w * sqrt(ratio) * 0.99,
					       w < SHRINK_WIDTH ? (double)w : SHRINK_WIDTH));
			changed |= small->widths[i] != w;
		}
		if (!changed)
			break;
	}
	return false;
}

bool setup_dgrad_first(const struct setup *setup)
{
	return setup->kind == MODEL_MLP && setup->mode->dgrad_first;
}

uint64_t setup_wgrad_microbatches(const struct setup *setup)
{
	return setup_dgrad_first(setup) && setup->wgrad_microbatches > 1 ? setup->wgrad_microbatches
									 : 1;
}

uint64_t setup_usual_wgrad_microbatches(const struct setup *setup)
{
	uint64_t count = 1, rows;

	if (!setup_dgrad_first(setup) || setup->segments > 0)
		return 1;
	/* Rows of a micro-batch on a rank. */
	rows = setup->batch / setup_batch_parts(setup);
	while (count < WGRAD_MICROBATCHES_MOST && count * rows < WGRAD_ROWS &&
	       setup->microbatches % (2 * count) == 0 &&
	       2 * count * WGRAD_PRODUCTS_LEAST <= setup->microbatches)
		count *= 2;
	return count;
}

void setup_fit_mode(struct setup *setup)
{
	if (setup->mode->fit)
		setup->mode->fit(setup);
}

uint64_t setup_data_seed(uint64_t run_seed, const struct setup *setup)
{
	uint64_t seed = generator_bits(run_seed, setup->batch);

	/* The size of a token's id depends on the precision. */
	for (size_t l = setup->kind == MODEL_TRANSFORMER; l <= setup->layers; l++)
		seed = generator_bits(seed, setup->widths[l]);
	if (setup->kind == MODEL_TRANSFORMER)
		seed = generator_bits(generator_bits(seed, setup->transformer.heads),
				      setup->transformer.sequence);
	return seed;
}

uint64_t setup_seed(const struct setup *setup, enum setup_tensor tensor, size_t layer)
{
	return generator_bits(setup->seed, layer * TENSOR_COUNT + tensor);
}

double setup_scale(const struct setup *setup, enum setup_tensor tensor, size_t layer)
{
	if (tensor == TENSOR_WEIGHTS)
		return sqrt(6.0 / (double)setup->widths[layer]);
	if (tensor == TENSOR_BIASES)
		return sqrt(1.0 / (double)setup->widths[layer]);
	return 1;
}

int32_t setup_label(const struct setup *setup, uint64_t row)
{
	uint64_t classes = setup->widths[setup->layers];

	return (int32_t)(generator_bits(setup_seed(setup, TENSOR_LABELS, 0), row) % classes);
}

uint64_t setup_size_or(const struct section *section, const char *name, uint64_t usual)
{
	int64_t value = section_integer(section, name);

	return value > 0 ? (uint64_t)value : usual;
}

enum status setup_widths(struct setup *setup, const struct section *section, struct error *err)
{
	const struct setting *layers = section_setting(section, "layers");

	if (layers->count < 2 || layers->count > SETUP_MAX_LAYERS + 1)
		return error_set(err, STATUS_USAGE, "%s: layers: %zu widths; allowed: 2 to %d",
				 layers->origin, layers->count, SETUP_MAX_LAYERS + 1);
	if (layers->values[layers->count - 1].integer < 2)
		return error_set(err, STATUS_USAGE,
				 "%s: layers: the last width is the number of classes and must be "
				 "at least 2",
				 layers->origin);
	setup->layers = layers->count - 1;
	for (size_t i = 0; i < layers->count; i++)
		setup->widths[i] = (uint64_t)layers->values[i].integer;
	return STATUS_OK;
}

bool setup_is_published_resnet50(const struct setup *setup)
{
	const struct image_shape *i = &setup->images;

	return setup->kind == MODEL_RESNET && i->blocks == 50 && i->image == 224 &&
	       i->channels == 64 && i->classes == 1000 && !i->depthwise;
}

struct grid model_setup_grid_of(const struct setup *setup)
{
	return setup->grid.data > 0 ? setup->grid : (struct grid){ 1, 1, setup->ranks };
}

struct grid_place model_setup_grid_place(const struct setup *setup, int rank)
{
	struct grid g = model_setup_grid_of(setup);

	return (struct grid_place){ .part = rank % g.tensor,
				    .stage = rank / g.tensor % g.pipeline,
				    .data = rank / g.tensor / g.pipeline };
}

int model_setup_grid_rank(const struct setup *setup, struct grid_place place)
{
	struct grid g = model_setup_grid_of(setup);

	return (place.data * g.pipeline + place.stage) * g.tensor + place.part;
}

bool model_setup_grid_parse(const char *text, struct grid *out)
{
	char rest;

	return sscanf(text, "%dx%dx%d%c", &out->data, &out->tensor, &out->pipeline, &rest) == 3 &&
	       out->data > 0 && out->tensor > 0 && out->pipeline > 0 &&
	       out->data <= NODE_DEVICES_MOST && out->tensor <= NODE_DEVICES_MOST &&
	       out->pipeline <= NODE_DEVICES_MOST;
}
