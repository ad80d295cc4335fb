/*
 * Memory of convolutional layers. With aliasing, the outputs and kept tensors of all layers are one
 * block in the order of layers, and backward of a layer has its gradients in the memory of later
 * layers, which it no longer needs. Gradients are largest in the first layers, where most of the
 * block is free. Forward uses one of these buffers as well, before it writes the later layers.
 *
 *   block                 outputs and kept tensors of layers 0 .. l | of later layers ..... |
 *   backward of layer l                                             | gradients of layer l  |
 */
#include "kernels/convolution/convolution.h"
#include "kernels/layers/layers.h"
#include "kernels/training/training.h"
#include "suites/training/models/blocks/blocks.h"
#include "suites/training/models/mode.h"

/* Elements of a row that a layer's gradients need: inside, twice; and of the pool's input. */
struct image_sizes {
	uint64_t gradient, pooled;
};

static void image_buffers_raise(uint64_t *most, uint64_t value)
{
	*most = value > *most ? value : *most;
}

static struct image_sizes image_buffers_sizes(const struct setup *s, size_t l)
{
	struct image_sizes sizes = { 0, 0 };
	struct image_layer image;

	image_model_layer_of(s, l, &image);
	if (image.pool.window)
		sizes.pooled = image_model_unit_width(image_model_last(&image));
	for (size_t u = 0; u < image.units && (image.units > 1 || image.residual); u++)
		image_buffers_raise(&sizes.gradient, image_model_unit_width(&image.unit[u]));
	if (image.projects) {
		image_buffers_raise(&sizes.gradient, image_model_unit_width(&image.projection));
		image_buffers_raise(&sizes.gradient, s->widths[l]);
	}
	return sizes;
}

/* Sizes that serve every layer. */
static struct image_sizes image_buffers_largest(const struct setup *s)
{
	struct image_sizes most = { 0, 0 };

	for (size_t l = 0; l < image_model_layers(s); l++) {
		struct image_sizes sizes = image_buffers_sizes(s, l);

		image_buffers_raise(&most.gradient, sizes.gradient);
		image_buffers_raise(&most.pooled, sizes.pooled);
	}
	return most;
}

/* Buffers that all layers share, in their turn. */
static enum status image_buffers_open_gradients(struct network *n, struct error *err)
{
	const struct image_sizes most = image_buffers_largest(n->setup);
	uint64_t row_bytes = n->step_rows * precision_bytes(n->setup->precision);
	void *gradient[2] = { NULL, NULL }, *pooled;

	for (int b = 0; b < 2 && most.gradient > 0; b++)
		arena_alloc(n->arena, MEMORY_TRANSIENT, row_bytes * most.gradient, &gradient[b],
			    err);
	if (arena_alloc(n->arena, MEMORY_TRANSIENT, row_bytes * most.pooled, &pooled, err) !=
	    STATUS_OK)
		return err->status;
	for (size_t l = 0; l < image_model_layers(n->setup); l++) {
		n->images.kept[l].gradient[0] = gradient[0];
		n->images.kept[l].gradient[1] = gradient[1];
		n->images.kept[l].pooled = pooled;
	}
	return STATUS_OK;
}

static void image_buffers_measure_unit(const struct setup *setup, const struct image_unit *u,
				       uint64_t *filters, uint64_t *weight_sums)
{
	const struct convolution_shape shape = image_model_unit_shape(setup, u, 1);

	image_buffers_raise(filters, u->filters);
	image_buffers_raise(weight_sums, kernel_convolution_scratch_bytes(&shape));
}

/* Scratch memory of kernels. */
static enum status image_buffers_open_sums(struct network *n, struct error *err)
{
	struct images *i = &n->images;
	uint64_t filters = 0, weight_sums = 0;

	i->norm_groups = setup_norm_groups(n->setup);
	for (size_t l = 0; l < image_model_layers(n->setup); l++) {
		struct image_layer image;

		image_model_layer_of(n->setup, l, &image);
		for (size_t u = 0; u < image.units; u++)
			image_buffers_measure_unit(n->setup, &image.unit[u], &filters,
						   &weight_sums);
		if (image.projects)
			image_buffers_measure_unit(n->setup, &image.projection, &filters,
						   &weight_sums);
	}
	arena_alloc(n->arena, MEMORY_WORKSPACE, layers_batch_norm_scratch_bytes(filters),
		    &i->norm_sums, err);
	arena_alloc(n->arena, MEMORY_WORKSPACE, kernel_training_scratch_bytes(filters),
		    &i->bias_sums, err);
	i->workspace_bytes = weight_sums;
	return arena_alloc(n->arena, MEMORY_WORKSPACE, weight_sums, &i->workspace, err);
}

enum status image_buffers_scratch_open(struct network *n, struct error *err)
{
	image_buffers_open_gradients(n, err);
	return image_buffers_open_sums(n, err);
}

#define KEPT_ALIGN 256

static uint64_t image_buffers_aligned(uint64_t bytes)
{
	return (bytes + KEPT_ALIGN - 1) / KEPT_ALIGN * KEPT_ALIGN;
}

/* Bytes of the tensors that a layer keeps. With `block`, places them there. */
static uint64_t image_buffers_place_kept(struct network *n, size_t l, char *block)
{
	struct kept_tensor kept[LAYER_MAX_KEPT];
	uint64_t bytes = 0;

	for (size_t i = blocks_images_kept(n, l, n->step_rows, kept); i-- > 0;) {
		if (block)
			model_blocks_kept_place(&kept[i], block + bytes);
		bytes += image_buffers_aligned(kept[i].bytes);
	}
	return bytes;
}

/* Layers that are recomputed share one block of memory. */
static enum status image_buffers_open_in_turn(struct network *n, struct error *err)
{
	uint64_t most = 0;
	char *block;

	for (size_t l = 0; l < image_model_layers(n->setup); l++)
		image_buffers_raise(&most, image_buffers_place_kept(n, l, NULL));
	if (arena_alloc(n->arena, MEMORY_ACTIVATIONS, most, &block, err) != STATUS_OK)
		return err->status;
	for (size_t l = 0; l < image_model_layers(n->setup); l++)
		image_buffers_place_kept(n, l, block);
	return STATUS_OK;
}

/* Bytes of the block at which a buffer is. */
struct image_place {
	uint64_t at, bytes;
};

/* Gradients inside a layer, of its pool's input, and of its input. */
enum { PLACE_GRADIENT, PLACE_POOLED = 2, PLACE_INPUT, PLACES };

/* Offsets in the block: of each layer's output, kept tensors and gradients. */
struct image_block {
	uint64_t output[SETUP_MAX_LAYERS], kept[SETUP_MAX_LAYERS];
	struct image_place gradients[SETUP_MAX_LAYERS][PLACES];
	uint64_t outputs, bytes; /* of outputs and kept tensors; of the whole block */
};

/* The first place from `from` on that overlaps none of these. */
static uint64_t image_buffers_first_fit(const struct image_place *taken, size_t count,
					uint64_t from, uint64_t bytes)
{
	for (size_t i = 0; i < count;) {
		bool overlaps = taken[i].bytes > 0 && from < taken[i].at + taken[i].bytes &&
				taken[i].at < from + bytes;

		if (overlaps)
			from = image_buffers_aligned(taken[i].at + taken[i].bytes);
		i = overlaps ? 0 : i + 1;
	}
	return from;
}

/*
 * Places the gradients of layer `l` at or after `from`. Its backward reads gradients of the layer
 * above: of its own output, and of the shortcut (struct images: addend).
 */
static void image_buffers_place_gradients(const struct network *n, struct image_block *b, size_t l,
					  uint64_t from)
{
	uint64_t row_bytes = n->step_rows * precision_bytes(n->setup->precision);
	struct image_place taken[3 * PLACES];
	size_t count = 0;
	struct image_sizes sizes = { 0, 0 };

	/* All of the layer above, and the gradient of its output, which may be the shortcut's. */
	for (size_t above = l + 1; above <= l + 2 && above < n->setup->layers; above++)
		for (int p = above == l + 1 ? 0 : PLACE_INPUT; p < PLACES; p++)
			taken[count++] = b->gradients[above][p];
	if (l < image_model_layers(n->setup))
		sizes = image_buffers_sizes(n->setup, l);
	for (int p = 0; p < PLACES; p++) {
		uint64_t width = p == PLACE_POOLED  ? sizes.pooled
				 : p == PLACE_INPUT ? (l > 0 ? n->setup->widths[l] : 0)
						    : sizes.gradient;
		struct image_place *place = &b->gradients[l][p];

		place->bytes = row_bytes * width;
		place->at = image_buffers_first_fit(taken, count, from, place->bytes);
		image_buffers_raise(&b->bytes, place->at + place->bytes);
		taken[count++] = *place;
	}
}

static void image_buffers_plan(struct network *n, struct image_block *b)
{
	size_t images = image_model_layers(n->setup), bytes = precision_bytes(n->setup->precision);

	*b = (struct image_block){ 0 };
	for (size_t l = 0; l < images; l++) {
		b->kept[l] = b->outputs;
		b->output[l] = b->outputs + image_buffers_place_kept(n, l, NULL);
		b->outputs = b->output[l] + image_buffers_aligned(n->kept[l + 1] *
								  n->setup->widths[l + 1] * bytes);
	}
	b->bytes = b->outputs;
	for (size_t l = n->setup->layers; l-- > 0;)
		image_buffers_place_gradients(n, b, l,
					      l + 1 < images ? b->kept[l + 1] : b->outputs);
}

/* Bytes of gradients in buffers of their own. */
static uint64_t image_buffers_gradient_bytes(const struct network *n)
{
	const struct image_sizes most = image_buffers_largest(n->setup);

	return n->step_rows * precision_bytes(n->setup->precision) *
	       (2 * most.gradient + most.pooled + 2 * network_max_hidden_width(n));
}

bool image_buffers_alias(struct network *n)
{
	struct image_block b;

	if (!setup_has_images(n->setup) || n->setup->no_aliasing ||
	    !n->setup->mode->aliases_buffers || setup_recomputes_blocks(n->setup))
		return false;
	image_buffers_plan(n, &b);
	return b.bytes < b.outputs + image_buffers_gradient_bytes(n);
}

/* Each class counts what it needs; the gradients share all but the end of the block. */
static enum status image_buffers_open_block(struct network *n, struct error *err)
{
	struct image_block b;
	char *block;

	image_buffers_plan(n, &b);
	if (arena_alloc(n->arena, MEMORY_ACTIVATIONS, b.bytes, &block, err) != STATUS_OK)
		return err->status;
	arena_move(n->arena, MEMORY_ACTIVATIONS, MEMORY_TRANSIENT, b.bytes - b.outputs);
	arena_share(n->arena, MEMORY_TRANSIENT,
		    image_buffers_gradient_bytes(n) - (b.bytes - b.outputs));
	for (size_t l = 0; l < n->setup->layers; l++) {
		const struct image_place *at = b.gradients[l];
		struct kept_image *kept = &n->images.kept[l];

		n->transient[l] = block + at[PLACE_INPUT].at;
		if (l >= image_model_layers(n->setup))
			continue;
		image_buffers_place_kept(n, l, block + b.kept[l]);
		kept->gradient[0] = block + at[PLACE_GRADIENT].at;
		kept->gradient[1] = block + at[PLACE_GRADIENT + 1].at;
		kept->pooled = block + at[PLACE_POOLED].at;
		n->activations[l + 1] = block + b.output[l];
		n->masks[l + 1] = n->activations[l + 1];
		n->overwritten_in_backward[l + 1] = l > 0;
	}
	return image_buffers_open_sums(n, err);
}

enum status image_buffers_open(struct network *n, struct error *err)
{
	struct kept_tensor kept[LAYER_MAX_KEPT];

	if (n->images.aliased)
		return image_buffers_open_block(n, err);
	image_buffers_scratch_open(n, err);
	if (setup_recomputes_blocks(n->setup))
		return image_buffers_open_in_turn(n, err);
	for (size_t l = 0; l < image_model_layers(n->setup); l++)
		for (size_t i = blocks_images_kept(n, l, n->step_rows, kept); i-- > 0;)
			arena_alloc(n->arena, MEMORY_ACTIVATIONS, kept[i].bytes, kept[i].place,
				    err);
	return err->status;
}
