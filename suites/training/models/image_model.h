/*
 * The convolutional models, as lists of layers; a row is an image, height x width x channels:
 * - convnet, as in introductions to Keras: `blocks` times a 3 x 3 convolution with bias and ReLU,
 *   whose number of filters doubles from `channels` on, and 2 x 2 max pooling; then a linear layer
 *   with ReLU, as wide as the last convolution has filters, and one to the classes;
 * - resnet (He et al. 2015, with the stride of a bottleneck in its 3 x 3 convolution as in
 *   torchvision): a 7 x 7 convolution and max pooling; residual blocks in four stages; the average
 *   of each channel; a linear layer. Every convolution has a batch norm.
 * With `depthwise`, a 3 x 3 convolution of more than the image's colours is one per channel and
 * then a 1 x 1 convolution (Howard et al. 2017).
 *
 * Batch norm takes its statistics over the rows of one forward on one device: ranks and parts that
 * accumulate have their own, as with PyTorch's DDP. Averages for inference are not kept.
 */
#ifndef GPUPROOF_SUITES_TRAINING_MODELS_IMAGE_MODEL_H
#define GPUPROOF_SUITES_TRAINING_MODELS_IMAGE_MODEL_H

#include "kernels/convolution/convolution.h"
#include "suites/training/models/setup.h"

#define IMAGE_COLOURS 3
#define IMAGE_MAX_UNITS 4
/* epsilon of all batch norms */
#define IMAGE_NORM_EPSILON 1e-5

/* A convolution and the operations after it: a bias or a batch norm, then an optional ReLU. */
struct image_unit {
	unsigned side, out_side; /* images are square */
	unsigned channels, filters, kernel, stride, padding;
	bool depthwise, norm, relu;
	size_t tensor;   /* in the layer: weights; then bias, or scale and shift */
	size_t decision; /* index of the ReLU, if any: see image_model_decisions() */
};

struct image_pool {
	unsigned window, stride, padding, out_side; /* window 0: there is no pool */
	bool average;
};

/*
 * Units in order; in a residual block then the sum with the input or its projection, and a ReLU;
 * then a pool.
 */
struct image_layer {
	struct image_unit unit[IMAGE_MAX_UNITS], projection;
	size_t units;
	bool residual, projects;
	size_t decision; /* index of the ReLU after the sum of a residual block */
	struct image_pool pool;
};

/* Number of layers before the linear ones. */
size_t image_model_layers(const struct setup *setup);
void image_model_layer_of(const struct setup *setup, size_t layer, struct image_layer *out);
/* The layer's last unit, whose output the pool reads. */
static inline const struct image_unit *image_model_last(const struct image_layer *layer)
{
	return &layer->unit[layer->units - 1];
}
/* Index of the ReLU whose output the pool reads. */
static inline size_t image_model_last_decision(const struct image_layer *layer)
{
	return layer->residual ? layer->decision : image_model_last(layer)->decision;
}
/* Values of a unit's output for one row. */
static inline uint64_t image_model_unit_width(const struct image_unit *unit)
{
	return (uint64_t)unit->out_side * unit->out_side * unit->filters;
}
/* The convolution of a unit over `rows` images. */
struct convolution_shape image_model_unit_shape(const struct setup *setup,
						const struct image_unit *unit, uint64_t rows);
/* Number of weights of a unit, and number of products in each of its sums. */
uint64_t image_model_unit_weights(const struct image_unit *unit);
uint64_t image_model_unit_depth(const struct image_unit *unit);
/* Floating-point operations of the convolutions of a unit or a layer for one row and one pass. */
double image_model_layer_flops(const struct image_layer *layer);
/*
 * Floating-point operations of the gradient of the first convolution's input, which the first layer
 * does not compute.
 */
double image_model_input_flops(const struct image_layer *layer);

/*
 * ReLUs inside convolutional layers, numbered through the model. In a comparison (verify.h), the
 * run's ReLUs decide which values pass, and their outputs also decide the choices of max pooling.
 */
#define IMAGE_MAX_DECISIONS (SETUP_MAX_LAYERS * IMAGE_MAX_UNITS)
size_t image_model_decisions(const struct setup *setup);
/* Values of one row. */
uint64_t image_model_decision_width(const struct setup *setup, size_t decision);

/* Number of products in the longest sum of forward: the fan-in of a filter. */
uint64_t image_model_longest_sum(const struct setup *setup);

/* Sets layers and widths of a model of `kind`; every number must be set. */
void image_model_setup(struct setup *setup, enum model_kind kind, const struct image_shape *shape);
/*
 * The same from the keys image, channels, blocks and classes, of which 0 is the model's usual
 * value; an error names the line that set the wrong value.
 */
enum status image_model_setup_read(struct setup *setup, const struct section *section,
				   enum model_kind kind, bool depthwise, struct error *err);
/* NULL, or the reason why this model cannot be computed with this setup; `text` stores it. */
const char *image_model_setup_refusal(const struct setup *setup, char *text, size_t size);

#endif
