#include "suites/training/models/network.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "kernels/generator.h"
#include "kernels/half.h"
#include "kernels/memory/fill.h"
#include "kernels/training/training.h"
#include "suites/training/models/blocks/blocks.h"
#include "suites/training/models/buffer_alias.h"
#include "suites/training/models/gemm/layer.h"

static enum status network_open_parameters(struct network *n, struct error *err)
{
	size_t stored = precision_bytes(n->setup->precision);
	size_t bytes = precision_bytes(setup_moment(n->setup));

	if (n->shard.weights > 0)
		arena_alloc(n->arena, MEMORY_PARAMETERS, n->shard.weights * stored, &n->weights,
			    err);
	if (n->room.bytes > 0)
		buffer_alias_open_gradients(n, err);
	else
		arena_alloc(n->arena, MEMORY_GRADIENTS, n->shard.gradients * stored, &n->gradients,
			    err);
	if (err->status != STATUS_OK)
		return err->status;
	for (size_t l = n->partition.first; l < n->partition.last; l++) {
		uint64_t first = n->local.layer[l].weight;

		/* If this rank has only slices, the mode sets the address of the layers. */
		if (n->shard.weights == n->local.elements)
			n->layer_weights[l] = network_element(n, n->weights, first);
		if (n->shard.gradients == n->local.elements)
			n->layer_gradients[l] = network_element(n, n->gradients, first);
	}
	n->master = n->weights;
	_Static_assert(OPTIMIZER_SGD == 0 && OPTIMIZER_MOMENTUM == 1 && OPTIMIZER_ADAM == 2,
		       "the number of an optimizer is the number of its moments");
	if (setup_has_master(n->setup) && n->shard.master > 0)
		arena_alloc(n->arena, MEMORY_MASTER, n->shard.master * bytes, &n->master, err);
	for (size_t i = 0; i < (size_t)n->setup->optimizer && n->shard.master > 0; i++)
		arena_alloc(n->arena, MEMORY_OPTIMIZER, n->shard.master * bytes, &n->moments[i],
			    err);
	return err->status;
}

static enum status network_open_loss(struct network *n, struct error *err)
{
	if (!network_has_loss(n))
		return err->status;
	arena_alloc(n->arena, MEMORY_INPUT, n->partition.loss_rows * sizeof(*n->labels), &n->labels,
		    err);
	return arena_alloc(n->arena, MEMORY_ACTIVATIONS,
			   n->partition.loss_rows * sizeof(*n->row_loss), &n->row_loss, err);
}

uint64_t network_row_shares(const struct network *n, size_t l)
{
	bool between = l > 0 && l < n->setup->layers;

	return n->partition.sequence && between ? (uint64_t)n->partition.parts : 1;
}

static uint64_t network_activation_bytes(const struct network *n, size_t l)
{
	return n->kept[l] / network_row_shares(n, l) *
	       model_partition_width(n->setup, &n->partition, l) *
	       precision_bytes(n->setup->precision);
}

static enum status network_open_activations(struct network *n, struct error *err)
{
	void *shared[SETUP_MAX_LAYERS] = { NULL };
	uint64_t at[SETUP_MAX_LAYERS + 1];

	/* All segments share the memory of the activations inside a segment. */
	for (size_t i = 1; i < SETUP_MAX_LAYERS; i++) {
		uint64_t width = segments_width(&n->segments, n->setup, &n->partition, i);

		if (width > 0)
			arena_alloc(n->arena, MEMORY_ACTIVATIONS,
				    n->step_rows * width * precision_bytes(n->setup->precision),
				    &shared[i], err);
	}
	if (err->status != STATUS_OK)
		return err->status;
	if (n->room.rows > 0)
		n->kept[n->setup->layers] = n->room.rows;
	buffer_alias_plan(n, at);
	n->images.aliased = image_buffers_alias(n);
	for (size_t l = n->partition.first; l <= n->partition.last; l++) {
		size_t buffer = segments_buffer(&n->segments, l);

		if (n->images.aliased && l > 0 && l <= image_model_layers(n->setup))
			continue;
		if (l == n->setup->layers && n->room.bytes > 0)
			continue;
		n->activations[l] = shared[buffer];
		n->overwritten_in_backward[l] = at[l] != BUFFER_ALIAS_NONE;
		if (shared[buffer])
			n->kept[l] = n->step_rows;
		else if (n->overwritten_in_backward[l])
			buffer_alias_outputs(n, l, at[l], network_activation_bytes(n, l));
		else if ((l == n->setup->layers && buffer_alias_possible(n)
				  ? buffer_alias_logits(n, network_activation_bytes(n, l), err)
				  : arena_alloc(n->arena,
						l == 0 ? MEMORY_INPUT : MEMORY_ACTIVATIONS,
						network_activation_bytes(n, l), &n->activations[l],
						err)) != STATUS_OK)
			return err->status;
		n->masks[l] = n->activations[l];
	}
	return network_open_loss(n, err);
}

static enum status network_open_scratch(struct network *n, struct error *err)
{
	uint64_t out = 0;

	for (size_t l = n->partition.first; l < n->partition.last; l++)
		if (n->local.layer[l].kind != LAYER_CONVOLUTION && n->local.layer[l].out > out)
			out = n->local.layer[l].out;
	return arena_alloc(n->arena, MEMORY_WORKSPACE, kernel_training_scratch_bytes(out),
			   &n->scratch, err);
}

/* Columns of the widest gradient in that buffer; 0: the buffer is unused. */
static uint64_t network_transient_columns(const struct network *n, size_t buffer)
{
	uint64_t widest = 0;

	if (!network_dgrad_first(n))
		return buffer < 2 ? network_max_hidden_width(n) : 0;
	for (size_t l = n->partition.first + 1; l < n->partition.last; l++) {
		uint64_t width = model_partition_width(n->setup, &n->partition, l);

		if (network_transient_buffer(n, l) == buffer && width > widest)
			widest = width;
	}
	/* The first two may later serve all layers: see network_layouts_tuned(). */
	return buffer < 2 && widest > 0 ? network_max_hidden_width(n) : widest;
}

static enum status network_open_transient(struct network *n, struct error *err)
{
	size_t bytes = precision_bytes(n->setup->precision);

	network_open_scratch(n, err);
	for (size_t i = 0; i < NETWORK_MAX_TRANSIENT; i++) {
		uint64_t columns = network_transient_columns(n, i);

		/* Logits of whole blocks, and images: model_blocks_buffers_open(). */
		if (columns == 0 || n->images.aliased ||
		    (n->room.logits > 0 && n->partition.parts == 1))
			continue;
		if (i == 1 && n->room.logits > 0)
			n->transient[1] = n->transient[0];
		else if (buffer_alias_possible(n) && i == n->setup->layers % 2)
			n->transient[i] = n->activations[n->setup->layers];
		else
			arena_alloc(n->arena, MEMORY_TRANSIENT,
				    n->step_rows / network_row_shares(n, 1) * columns * bytes,
				    &n->transient[i], err);
	}
	return err->status;
}

static void network_describe(struct network *n, const struct setup *setup, struct stream *stream,
			     struct arena *arena, int rank)
{
	*n = (struct network){ .setup = setup, .stream = stream, .arena = arena };
	model_parameter_shard_of(setup, rank, &n->partition, &n->shard);
	n->step_rows = n->partition.step_rows;
	model_init(&n->model, setup);
	model_init_partition(&n->local, setup, &n->partition);
	segments_make(&n->segments, setup, &n->partition);
	for (size_t l = n->partition.first; l <= n->partition.last; l++)
		n->kept[l] = l == 0                    ? n->partition.rows
			     : l == n->partition.first ? n->partition.kept_input
						       : n->partition.kept;
}

enum status network_open_state(struct network *n, const struct setup *setup, struct stream *stream,
			       struct arena *arena, struct error *err)
{
	network_describe(n, setup, stream, arena, 0);
	network_open_parameters(n, err);
	network_open_loss(n, err);
	network_open_scratch(n, err);
	model_blocks_scratch_open(n, err);
	return arena_alloc(n->arena, MEMORY_INPUT,
			   n->kept[0] * setup->widths[0] * precision_bytes(setup->precision),
			   &n->activations[0], err);
}

enum status network_open(struct network *n, const struct setup *setup, struct stream *stream,
			 struct arena *arena, int rank, struct error *err)
{
	network_describe(n, setup, stream, arena, rank);
	n->room = buffer_alias_logits_overlap(setup, &n->partition, &n->shard);
	if (network_open_parameters(n, err) != STATUS_OK ||
	    network_open_activations(n, err) != STATUS_OK)
		return err->status;
	/* A dynamic loss scale counts updates; other optimizers do identical work each time. */
	if (setup->dynamic_scale) {
		arena_alloc(n->arena, MEMORY_OPTIMIZER, sizeof(*n->loss_scale), &n->loss_scale,
			    err);
	} else if (setup->graph && setup->optimizer == OPTIMIZER_ADAM) {
		/* Number of updates after which Adam's corrections equal 1 in every bit. */
		n->correction_count = (uint64_t)ceil(log(DBL_EPSILON / 4) /
						     log(fmax(setup->beta1, setup->beta2))) +
				      1;
		arena_alloc(n->arena, MEMORY_OPTIMIZER, sizeof(*n->clock), &n->clock, err);
		arena_alloc(n->arena, MEMORY_OPTIMIZER,
			    2 * n->correction_count * sizeof(*n->corrections), &n->corrections,
			    err);
	}
	return network_open_transient(n, err) == STATUS_OK ? model_blocks_buffers_open(n, err)
							   : err->status;
}

bool network_has_loss(const struct network *n)
{
	return n->partition.loss_rows > 0;
}

uint64_t network_max_hidden_width(const struct network *n)
{
	uint64_t inside = 0;

	for (size_t l = n->partition.first + 1; l < n->partition.last; l++) {
		uint64_t width = model_partition_width(n->setup, &n->partition, l);

		inside = width > inside ? width : inside;
	}
	return inside;
}

enum status network_loss_sum(struct network *n, double *sum, struct error *err)
{
	double *losses;

	*sum = 0;
	/* The parts of a divided layer compute the same loss: it counts once. */
	if (!network_has_loss(n) || n->partition.part > 0)
		return STATUS_OK;
	losses = xcalloc(n->partition.loss_rows, sizeof(*losses));
	if (backend_copy(n->stream, losses, n->row_loss, n->partition.loss_rows * sizeof(*losses),
			 err) == STATUS_OK &&
	    backend_stream_synchronize(n->stream, err) == STATUS_OK)
		for (uint64_t r = 0; r < n->partition.loss_rows; r++)
			*sum += losses[r];
	free(losses);
	return err->status;
}

void *network_activation(const struct network *n, size_t l, uint64_t row)
{
	return network_element(n, n->activations[l],
			       row % n->kept[l] / network_row_shares(n, l) *
				       model_partition_width(n->setup, &n->partition, l));
}

void *network_row(const struct network *n, size_t l, void *gradient, uint64_t row)
{
	return network_element(n, gradient,
			       row * model_partition_width(n->setup, &n->partition, l));
}

static void *network_tensor(const struct network *n, void *layer_array, size_t l, size_t tensor)
{
	const struct model_layer *layer = &n->local.layer[l];

	return network_element(n, layer_array, layer->tensor[tensor].first - layer->weight);
}

void *network_weights(const struct network *n, size_t l, size_t tensor)
{
	return network_tensor(n, n->layer_weights[l], l, tensor);
}

void *network_gradients(const struct network *n, size_t l, size_t tensor)
{
	return network_tensor(n, n->layer_gradients[l], l, tensor);
}

void *network_transposed(const struct network *n, size_t l, uint64_t row)
{
	return network_element(n, n->transposed[network_transposed_buffer(n, l)],
			       row % n->step_rows);
}

void *network_element(const struct network *n, void *array, uint64_t element)
{
	return (char *)array + element * precision_bytes(n->setup->precision);
}

enum status network_launch(const struct network *n, const char *kernel, const void *arguments,
			   struct error *err)
{
	return n->idle || err->status != STATUS_OK
		       ? err->status
		       : backend_launch(n->stream, kernel, arguments, err);
}

enum status network_copy(const struct network *n, void *to, const void *from, uint64_t bytes,
			 struct error *err)
{
	return n->idle || err->status != STATUS_OK ? err->status
						   : backend_copy(n->stream, to, from, bytes, err);
}

/*
 * Initial data of a network; each value depends only on its position in the whole model and batch.
 */

static const enum fill_kind fill_kinds[PRECISION_COUNT] = {
	[PRECISION_FP64] = FILL_FP64, [PRECISION_FP32] = FILL_FP32, [PRECISION_TF32] = FILL_FP32,
	[PRECISION_FP16] = FILL_FP16, [PRECISION_BF16] = FILL_BF16,
};

enum status network_upload(const struct network *n, void *memory, void *values, uint64_t bytes,
			   struct error *err)
{
	if (backend_copy(n->stream, memory, values, bytes, err) == STATUS_OK)
		backend_stream_synchronize(n->stream, err);
	free(values);
	return err->status;
}

/*
 * Fills values around an offset on the host, because the kernel has no offset: only scales of
 * norms, which are few values.
 */
static enum status network_fill_around(struct network *n, const struct fill_arguments *fill,
				       double offset, struct error *err)
{
	enum precision precision = setup_master(n->setup);
	void *values = xmalloc(fill->count * precision_bytes(precision));

	for (uint64_t i = 0; i < fill->count; i++) {
		double value = offset +
			       fill->scale * (double)generator_uniform(fill->seed, fill->first + i);

		if (precision == PRECISION_FP16)
			((uint16_t *)values)[i] = half_from_double(value);
		else if (precision == PRECISION_BF16)
			((uint16_t *)values)[i] = half_bf16_from_double(value);
		else
			((float *)values)[i] = (float)value;
	}
	return network_upload(n, fill->memory, values, fill->count * precision_bytes(precision),
			      err);
}

/*
 * Fills the part of a tensor in elements [first, last) of the flat order, at `memory`: one run at a
 * time that is contiguous in the whole tensor.
 */
static enum status network_fill_part(struct network *n, size_t l, size_t tensor, uint64_t first,
				     uint64_t last, char *memory, struct error *err)
{
	const struct model_tensor *t = &n->local.layer[l].tensor[tensor];
	size_t bytes = precision_bytes(setup_master(n->setup));
	uint64_t begin = t->first > first ? t->first : first,
		 end = t->first + t->count < last ? t->first + t->count : last, run = 0;
	struct fill_arguments fill = {
		.kind = fill_kinds[setup_master(n->setup)],
		.seed = model_tensor_seed(n->setup, l, tensor),
		.scale = t->scale,
	};

	for (; begin < end && err->status == STATUS_OK; begin += fill.count) {
		fill.memory = memory + (begin - first) * bytes;
		fill.first = t->offset == 0 ? model_tensor_place(t, begin - t->first, &run)
					    : begin - t->first;
		fill.count = t->offset == 0 && run < end - begin ? run : end - begin;
		if (t->offset == 0)
			backend_launch(n->stream, "fill", &fill, err);
		else
			network_fill_around(n, &fill, t->offset, err);
	}
	return err->status;
}

/*
 * Fills elements [first, first + count) of the partition's flat order in master precision; gaps are
 * 0.
 */
static enum status network_fill_flat(struct network *n, void *memory, uint64_t first,
				     uint64_t count, struct error *err)
{
	size_t bytes = precision_bytes(setup_master(n->setup));

	if (backend_memory_set(n->stream, memory, 0, count * bytes, err) != STATUS_OK)
		return err->status;
	for (size_t l = n->partition.first; l < n->partition.last; l++)
		for (size_t t = 0; t < n->local.layer[l].tensors; t++)
			network_fill_part(n, l, t, first, first + count, memory, err);
	return err->status;
}

static enum status network_fill_round_weights(struct network *n, uint64_t first, uint64_t count,
					      struct error *err)
{
	struct convert_arguments convert = {
		.to = network_element(n, n->weights, first),
		.from = n->master,
		.to_precision = n->setup->precision,
		.from_precision = PRECISION_FP32,
		.count = count,
	};

	return backend_launch(n->stream, "convert", &convert, err);
}

static enum status network_fill_parameters(struct network *n, struct error *err)
{
	size_t moment = precision_bytes(setup_moment(n->setup));
	size_t stored = precision_bytes(n->setup->precision);
	bool has_master = setup_has_master(n->setup);
	uint64_t all = n->shard.weights, piece = n->shard.master;
	bool whole = all == n->local.elements;

	if (backend_memory_set(n->stream, n->gradients, 0, n->shard.gradients * stored, err) !=
	    STATUS_OK)
		return err->status;
	for (int i = 0; i < 2; i++)
		if (n->moments[i] && backend_memory_set(n->stream, n->moments[i], 0,
							n->shard.master * moment, err) != STATUS_OK)
			return err->status;
	/* Weights start as NaN, so that weights that are never sent are detected. */
	if (n->shard.receives_weights)
		return backend_memory_set(n->stream, n->weights, 0xff, all * stored, err);
	if (whole && !has_master)
		return network_fill_flat(n, n->weights, 0, all, err);
	/* Rounds whole weights from the masters' memory if the masters are slices. */
	for (uint64_t first = 0, count; first < all && whole; first += count) {
		count = all - first < piece ? all - first : piece;
		if (network_fill_flat(n, n->master, first, count, err) != STATUS_OK ||
		    network_fill_round_weights(n, first, count, err) != STATUS_OK)
			return err->status;
	}
	/* The parameters that this rank's optimizer updates. */
	for (size_t i = 0; i < n->shard.count; i++) {
		const struct shard_range *range = &n->shard.ranges[i];
		uint64_t at = has_master ? range->master : range->weights;

		if (network_fill_flat(n,
				      (char *)n->master +
					      at * precision_bytes(setup_master(n->setup)),
				      range->flat, range->count, err) != STATUS_OK)
			return err->status;
	}
	return has_master && !whole && all > 0 ? network_fill_round_weights(n, 0, all, err)
					       : STATUS_OK;
}

enum status network_fill_input(const struct network *n, void *memory, uint64_t row, uint64_t rows,
			       struct error *err)
{
	uint64_t width = n->setup->widths[0];
	struct fill_arguments fill = {
		.memory = memory,
		.kind = fill_kinds[n->setup->precision],
		.first = row * width,
		.count = rows * width,
		.seed = setup_seed(n->setup, TENSOR_INPUT, 0),
		.scale = setup_scale(n->setup, TENSOR_INPUT, 0),
	};

	if (n->setup->kind == MODEL_TRANSFORMER)
		return model_blocks_fill_tokens(n, memory, row, rows, err);
	return backend_launch(n->stream, "fill", &fill, err);
}

/* The same expression as on the host gives the same bits. */
static enum status network_fill_reset_clock(struct network *n, struct error *err)
{
	uint64_t bytes = 2 * n->correction_count * sizeof(double);
	double *pairs;

	if (!n->clock)
		return STATUS_OK;
	pairs = xmalloc(bytes);
	for (uint64_t i = 0; i < n->correction_count; i++) {
		pairs[2 * i] = gemm_layer_correction(n->setup->beta1, i + 1);
		pairs[2 * i + 1] = gemm_layer_correction(n->setup->beta2, i + 1);
	}
	if (network_upload(n, n->corrections, pairs, bytes, err) != STATUS_OK)
		return err->status;
	return backend_memory_set(n->stream, n->clock, 0, sizeof(*n->clock), err);
}

enum status network_reset(struct network *n, struct error *err)
{
	uint64_t rows = n->partition.loss_rows;
	int32_t *labels;

	n->updates = 0;
	if (network_fill_reset_clock(n, err) != STATUS_OK ||
	    network_fill_parameters(n, err) != STATUS_OK ||
	    (n->setup->kind == MODEL_TRANSFORMER &&
	     model_blocks_fill_positions(n, err) != STATUS_OK) ||
	    (n->partition.first == 0 && network_fill_input(n, n->activations[0], n->partition.row,
							   n->partition.rows, err) != STATUS_OK))
		return err->status;
	if (network_has_loss(n)) {
		labels = xmalloc(rows * sizeof(*labels));
		for (uint64_t r = 0; r < rows; r++)
			labels[r] = setup_label(n->setup, n->partition.row + r);
		network_upload(n, n->labels, labels, rows * sizeof(*labels), err);
	}
	if (err->status != STATUS_OK)
		return err->status;
	return backend_stream_synchronize(n->stream, err);
}

bool network_dgrad_first(const struct network *n)
{
	return setup_dgrad_first(n->setup) &&
	       (n->partition.first > 0 || setup_wgrad_microbatches(n->setup) > 1);
}

size_t network_backward_group(const struct network *n, size_t last)
{
	if (!network_dgrad_first(n))
		return last - 1;
	return n->segments.count > 0 ? segments_first(&n->segments, last - 1) : n->partition.first;
}

/*
 * The first two buffers alternate between groups if there are several; the others are selected by
 * the layer's index in its group.
 */
size_t network_transient_buffer(const struct network *n, size_t l)
{
	size_t first = network_backward_group(n, l + 1), between = n->segments.count > 1 ? 2 : 0;

	if (n->images.aliased)
		return l;
	if (!network_dgrad_first(n) || n->alternate_transient)
		return l % 2;
	if (first == l)
		return segments_index(&n->segments, l) % 2;
	return between + l - first - 1;
}

size_t network_transposed_buffer(const struct network *n, size_t l)
{
	if (network_dgrad_first(n))
		return l - network_backward_group(n, l + 1);
	return n->alternate_transposed || n->partition.parts > 1 ? l % 2 : 0;
}

uint64_t network_transposed_columns(const struct network *n, size_t buffer)
{
	uint64_t widest = 0;

	for (size_t l = n->partition.first; l < n->partition.last; l++)
		if (n->local.layer[l].kind == LAYER_LINEAR &&
		    network_transposed_buffer(n, l) == buffer && n->local.layer[l].out > widest)
			widest = n->local.layer[l].out;
	return widest;
}

void network_layouts_tuned(struct network *n)
{
	if (!network_dgrad_first(n) || !n->transient[0] || !n->transient[1])
		return;
	for (size_t l = n->partition.first; l < n->partition.last; l++)
		if (n->wgrad_layouts[l] != WGRAD_TRANSPOSED)
			return;
	n->alternate_transient = true;
	for (size_t i = 2; i < NETWORK_MAX_TRANSIENT; i++) {
		arena_free(n->arena, n->transient[i]);
		n->transient[i] = NULL;
	}
}
