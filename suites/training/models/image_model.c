#include "suites/training/models/image_model.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/convolution/convolution.h"
#include "plan/config.h"
#include "suites/training/models/mode.h"
#include "suites/training/models/model_keys.h"

const char *const convolution_names[] = { "plain", "depthwise", NULL };

#define STAGES 4

/* Table 1 of He et al. 2015: number of residual blocks in each stage. */
static const struct depth {
	uint64_t layers;
	unsigned blocks[STAGES];
	bool bottleneck;
} depths[] = {
	{ 18, { 2, 2, 2, 2 }, false },  { 34, { 3, 4, 6, 3 }, false },
	{ 50, { 3, 4, 6, 3 }, true },   { 101, { 3, 4, 23, 3 }, true },
	{ 152, { 3, 8, 36, 3 }, true },
};
/* Channels of a bottleneck's output relative to its inner convolutions. */
#define EXPANSION 4

static const struct depth *image_model_depth_of(uint64_t layers)
{
	for (size_t i = 0; i < ARRAY_SIZE(depths); i++)
		if (depths[i].layers == layers)
			return &depths[i];
	return NULL;
}

size_t image_model_layers(const struct setup *s)
{
	size_t blocks = 1;

	if (s->kind == MODEL_CONVNET)
		return s->images.blocks;
	if (s->kind != MODEL_RESNET)
		return 0;
	for (size_t i = 0; i < STAGES; i++)
		blocks += image_model_depth_of(s->images.blocks)->blocks[i];
	return blocks;
}

/* State while a model is built. */
struct builder {
	struct image_layer *layer;
	unsigned side, channels;
	bool norm, depthwise;
	size_t decisions;
};

static unsigned image_model_out_side(unsigned side, unsigned window, unsigned stride,
				     unsigned padding)
{
	return (side + 2 * padding - window) / stride + 1;
}

static struct image_unit image_model_unit_of(const struct builder *b, unsigned filters,
					     unsigned kernel, unsigned stride)
{
	unsigned padding = kernel / 2;

	return (struct image_unit){ .side = b->side,
				    .out_side =
					    image_model_out_side(b->side, kernel, stride, padding),
				    .channels = b->channels,
				    .filters = filters,
				    .kernel = kernel,
				    .stride = stride,
				    .padding = padding,
				    .norm = b->norm };
}

static size_t image_model_tensors_of(const struct image_unit *u)
{
	return u->norm ? 3 : 2;
}

static void image_model_append_unit(struct builder *b, struct image_unit unit, bool relu)
{
	struct image_layer *layer = b->layer;

	unit.relu = relu;
	if (layer->units > 0)
		unit.tensor = image_model_last(layer)->tensor +
			      image_model_tensors_of(image_model_last(layer));
	if (relu)
		unit.decision = b->decisions++;
	layer->unit[layer->units++] = unit;
	b->side = unit.out_side;
	b->channels = unit.filters;
}

/* Appends a 3 x 3 convolution or its depthwise replacement. */
static void image_model_append_wide(struct builder *b, unsigned filters, unsigned stride, bool relu)
{
	struct image_unit unit;

	if (b->depthwise && b->channels > IMAGE_COLOURS) {
		unit = image_model_unit_of(b, b->channels, 3, stride);
		unit.depthwise = true;
		image_model_append_unit(b, unit, true);
		image_model_append_unit(b, image_model_unit_of(b, filters, 1, 1), relu);
	} else {
		image_model_append_unit(b, image_model_unit_of(b, filters, 3, stride), relu);
	}
}

static void image_model_append_pool(struct builder *b, unsigned window, unsigned stride,
				    unsigned padding, bool average)
{
	b->layer->pool = (struct image_pool){ .window = window,
					      .stride = stride,
					      .padding = padding,
					      .average = average,
					      .out_side = image_model_out_side(b->side, window,
									       stride, padding) };
	b->side = b->layer->pool.out_side;
}

static void image_model_append_residual(struct builder *b, unsigned inner, unsigned stride,
					bool bottleneck)
{
	unsigned out = bottleneck ? EXPANSION * inner : inner;
	struct image_layer *layer = b->layer;

	layer->residual = true;
	layer->projects = stride > 1 || b->channels != out;
	layer->projection = image_model_unit_of(b, out, 1, stride);
	if (bottleneck) {
		image_model_append_unit(b, image_model_unit_of(b, inner, 1, 1), true);
		image_model_append_wide(b, inner, stride, true);
		image_model_append_unit(b, image_model_unit_of(b, out, 1, 1), false);
	} else {
		image_model_append_wide(b, inner, stride, true);
		image_model_append_wide(b, out, 1, false);
	}
	layer->projection.tensor =
		image_model_last(layer)->tensor + image_model_tensors_of(image_model_last(layer));
	layer->decision = b->decisions++;
}

/* Appends residual block `index` of the model, counted from 0. */
static void image_model_resnet_block(struct builder *b, const struct image_shape *shape,
				     size_t index)
{
	const struct depth *depth = image_model_depth_of(shape->blocks);
	size_t stage = 0;

	while (index >= depth->blocks[stage])
		index -= depth->blocks[stage++];
	image_model_append_residual(b, (unsigned)(shape->channels << stage),
				    stage > 0 && index == 0 ? 2 : 1, depth->bottleneck);
	if (stage + 1 == STAGES && index + 1 == depth->blocks[stage])
		image_model_append_pool(b, b->side, b->side, 0, true);
}

static struct builder image_model_builder_of(const struct setup *s, struct image_layer *layer)
{
	return (struct builder){ .layer = layer,
				 .side = (unsigned)s->images.image,
				 .channels = IMAGE_COLOURS,
				 .norm = s->kind == MODEL_RESNET,
				 .depthwise = s->images.depthwise != 0 };
}

static void image_model_build_layer(struct builder *b, const struct setup *s, size_t l)
{
	*b->layer = (struct image_layer){ 0 };
	if (s->kind == MODEL_CONVNET) {
		image_model_append_wide(b, (unsigned)(s->images.channels << l), 1, true);
		image_model_append_pool(b, 2, 2, 0, false);
	} else if (l == 0) {
		image_model_append_unit(b,
					image_model_unit_of(b, (unsigned)s->images.channels, 7, 2),
					true);
		image_model_append_pool(b, 3, 2, 1, false);
	} else {
		image_model_resnet_block(b, &s->images, l - 1);
	}
}

void image_model_layer_of(const struct setup *s, size_t l, struct image_layer *out)
{
	struct builder b = image_model_builder_of(s, out);

	for (size_t i = 0; i <= l; i++)
		image_model_build_layer(&b, s, i);
}

uint64_t image_model_unit_depth(const struct image_unit *u)
{
	return (uint64_t)u->kernel * u->kernel * (u->depthwise ? 1 : u->channels);
}

uint64_t image_model_unit_weights(const struct image_unit *u)
{
	return u->filters * image_model_unit_depth(u);
}

static double image_model_unit_flops(const struct image_unit *u)
{
	return 2 * (double)image_model_unit_width(u) * (double)image_model_unit_depth(u);
}

double image_model_layer_flops(const struct image_layer *layer)
{
	double flops = layer->projects ? image_model_unit_flops(&layer->projection) : 0;

	for (size_t u = 0; u < layer->units; u++)
		flops += image_model_unit_flops(&layer->unit[u]);
	return flops;
}

double image_model_input_flops(const struct image_layer *layer)
{
	return image_model_unit_flops(&layer->unit[0]);
}

size_t image_model_decisions(const struct setup *s)
{
	struct image_layer layer;
	struct builder b = image_model_builder_of(s, &layer);

	for (size_t l = 0; l < image_model_layers(s); l++)
		image_model_build_layer(&b, s, l);
	return b.decisions;
}

uint64_t image_model_decision_width(const struct setup *s, size_t decision)
{
	struct image_layer layer;
	struct builder b = image_model_builder_of(s, &layer);
	uint64_t width = 0;

	for (size_t l = 0; l < image_model_layers(s) && width == 0; l++) {
		image_model_build_layer(&b, s, l);
		if (layer.residual && layer.decision == decision)
			width = image_model_unit_width(image_model_last(&layer));
		for (size_t u = 0; u < layer.units; u++)
			if (layer.unit[u].relu && layer.unit[u].decision == decision)
				width = image_model_unit_width(&layer.unit[u]);
	}
	return width;
}

uint64_t image_model_longest_sum(const struct setup *s)
{
	uint64_t longest = 0;

	for (size_t l = 0; l < s->layers; l++) {
		struct image_layer layer = { 0 };

		if (l < image_model_layers(s))
			image_model_layer_of(s, l, &layer);
		else if (s->widths[l] > longest)
			longest = s->widths[l];
		for (size_t u = 0; u < layer.units; u++)
			if (image_model_unit_depth(&layer.unit[u]) > longest)
				longest = image_model_unit_depth(&layer.unit[u]);
	}
	return longest;
}

void image_model_setup(struct setup *s, enum model_kind kind, const struct image_shape *shape)
{
	struct image_layer layer;
	struct builder b;
	size_t images;

	s->kind = kind;
	s->images = *shape;
	images = image_model_layers(s);
	b = image_model_builder_of(s, &layer);
	s->widths[0] = shape->image * shape->image * IMAGE_COLOURS;
	for (size_t l = 0; l < images; l++) {
		image_model_build_layer(&b, s, l);
		s->widths[l + 1] = (uint64_t)b.side * b.side * b.channels;
	}
	s->layers = images;
	if (kind == MODEL_CONVNET)
		s->widths[++s->layers] = b.channels;
	s->widths[++s->layers] = shape->classes;
}

/* NULL, or the reason why this shape is not valid for the kind: "KEY: value, allowed ...". */
static const char *image_model_shape_refusal(enum model_kind kind, const struct image_shape *shape,
					     char *text, size_t size)
{
	const char *name = model_kind_names[kind];
	unsigned long long least, most = SETUP_MAX_LAYERS - 2 < 12 ? SETUP_MAX_LAYERS - 2 : 12;

	if (shape->classes < 2)
		return strncpy(text, "classes: 1; allowed: at least 2", size);
	if (kind == MODEL_RESNET) {
		if (image_model_depth_of(shape->blocks))
			return NULL;
		snprintf(text, size, "blocks: %llu; allowed for model = %s: 18, 34, 50, 101, 152",
			 (unsigned long long)shape->blocks, name);
		return text;
	}
	/* The number of filters of the last convolution must fit into 32 bits. */
	while (most > 1 && shape->channels > UINT32_MAX >> most)
		most--;
	least = 1ULL << (shape->blocks > most ? most : shape->blocks);
	if (shape->blocks <= most && shape->image >= least)
		return NULL;
	if (shape->blocks > most)
		snprintf(text, size, "blocks: %llu; allowed for model = %s: 1 to %llu",
			 (unsigned long long)shape->blocks, name, most);
	else
		snprintf(text, size,
			 "image: %llu; allowed with model = %s and blocks = %llu: at least %llu, "
			 "because layers halve the image",
			 (unsigned long long)shape->image, name, (unsigned long long)shape->blocks,
			 least);
	return text;
}

/* Shapes as in tutorials for 32 x 32 images, and as for ImageNet. */
static const struct image_shape usual_shapes[MODEL_KIND_COUNT] = {
	[MODEL_CONVNET] = { .image = 32, .channels = 32, .blocks = 3, .classes = 10 },
	[MODEL_RESNET] = { .image = 224, .channels = 64, .blocks = 18, .classes = 1000 },
};

enum status image_model_setup_read(struct setup *setup, const struct section *section,
				   enum model_kind kind, bool depthwise, struct error *err)
{
	const struct image_shape *usual = &usual_shapes[kind];
	const struct image_shape shape = {
		.image = setup_size_or(section, "image", usual->image),
		.channels = setup_size_or(section, "channels", usual->channels),
		.blocks = setup_size_or(section, "blocks", usual->blocks),
		.classes = setup_size_or(section, "classes", usual->classes),
		.depthwise = depthwise,
	};
	char text[200], key[32];

	if (image_model_shape_refusal(kind, &shape, text, sizeof(text))) {
		snprintf(key, sizeof(key), "%.*s", (int)strcspn(text, ":"), text);
		return error_set(err, STATUS_USAGE, "%s: %s", section_setting(section, key)->origin,
				 text);
	}
	image_model_setup(setup, kind, &shape);
	return STATUS_OK;
}

struct convolution_shape image_model_unit_shape(const struct setup *s, const struct image_unit *u,
						uint64_t rows)
{
	return (struct convolution_shape){ .precision = s->precision,
					   .batch = (unsigned)rows,
					   .height = u->side,
					   .width = u->side,
					   .channels = u->channels,
					   .filters = u->filters,
					   .kernel_height = u->kernel,
					   .kernel_width = u->kernel,
					   .stride = u->stride,
					   .padding = u->padding,
					   .depthwise = u->depthwise };
}

const char *image_model_setup_refusal(const struct setup *s, char *text, size_t size)
{
	uint64_t parts = (uint64_t)s->ranks * setup_accumulate(s);
	struct error err = ERROR_NONE;

	if (!s->mode->images) {
		snprintf(text, size, "model = %s works only with single, ddp and zero1 to zero3",
			 model_kind_names[s->kind]);
		return text;
	}
	if (s->batch % parts) {
		snprintf(text, size, "%llu images are not divisible into %llu parts",
			 (unsigned long long)s->batch, (unsigned long long)parts);
		return text;
	}
	if (s->segments > 0 && s->segments < s->layers)
		return "recompute of a convolutional model must be none or layer";
	for (size_t l = 0; l < image_model_layers(s) && err.status == STATUS_OK; l++) {
		struct image_layer layer;

		image_model_layer_of(s, l, &layer);
		for (size_t u = 0; u < layer.units && err.status == STATUS_OK; u++) {
			struct convolution_shape shape =
				image_model_unit_shape(s, &layer.unit[u], s->batch / parts);

			shape.precision = setup_storage(s);
			kernel_convolution_check(&shape, &err);
		}
	}
	if (err.status == STATUS_OK)
		return NULL;
	snprintf(text, size, "%s", err.message);
	return text;
}
