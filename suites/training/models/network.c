#include "suites/training/models/network.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "kernels/training/training.h"
#include "suites/training/models/backward_schedule.h"
#include "suites/training/models/blocks/blocks.h"
#include "suites/training/models/buffer_alias.h"

static enum status network_open_parameters(struct network *n, struct error *err)
{
	size_t stored = precision_bytes(n->setup->precision);
	size_t moments, bytes;

	if ((n->shard.weights > 0 &&
	     arena_alloc(n->arena, MEMORY_PARAMETERS, n->shard.weights * stored, &n->weights,
			 err) != STATUS_OK) ||
	    (n->room.bytes > 0
		     ? buffer_alias_open_gradients(n, err)
		     : arena_alloc(n->arena, MEMORY_GRADIENTS, n->shard.gradients * stored,
				   &n->gradients, err)) != STATUS_OK)
		return err->status;
	for (size_t l = n->partition.first; l < n->partition.last; l++) {
		uint64_t first = n->local.layer[l].weight;

		/* If this rank has only slices, the mode sets the address of the layers. */
		if (n->shard.weights == n->local.elements)
			n->layer_weights[l] = network_element(n, n->weights, first);
		if (n->shard.gradients == n->local.elements)
			n->layer_gradients[l] = network_element(n, n->gradients, first);
	}
	moments = optimizer_moments(n->setup->optimizer);
	bytes = precision_bytes(setup_moment(n->setup));
	n->master = n->weights;
	if (setup_has_master(n->setup) && n->shard.master > 0 &&
	    arena_alloc(n->arena, MEMORY_MASTER, n->shard.master * bytes, &n->master, err) !=
		    STATUS_OK)
		return err->status;
	for (size_t i = 0; i < moments && n->shard.moments > 0; i++)
		if (arena_alloc(n->arena, MEMORY_OPTIMIZER, n->shard.moments * bytes,
				&n->moments[i], err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

/* All segments share the memory of the activations inside a segment. */
static enum status network_open_shared(struct network *n, void **shared, struct error *err)
{
	size_t bytes = precision_bytes(n->setup->precision);

	for (size_t i = 1; i < SETUP_MAX_LAYERS; i++) {
		uint64_t width = segments_width(&n->segments, n->setup, &n->partition, i);

		if (width > 0 &&
		    arena_alloc(n->arena, MEMORY_ACTIVATIONS, n->step_rows * width * bytes,
				&shared[i], err) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

static enum status network_open_loss(struct network *n, struct error *err)
{
	if (!network_has_loss(n))
		return STATUS_OK;
	if (arena_alloc(n->arena, MEMORY_INPUT, n->partition.loss_rows * sizeof(*n->labels),
			&n->labels, err) != STATUS_OK)
		return err->status;
	return arena_alloc(n->arena, MEMORY_ACTIVATIONS,
			   n->partition.loss_rows * sizeof(*n->row_loss), &n->row_loss, err);
}

static uint64_t network_kept_rows(const struct rank_partition *partition, size_t l)
{
	if (l == 0)
		return partition->rows;
	return l == partition->first ? partition->kept_input : partition->kept;
}

uint64_t network_row_shares(const struct network *n, size_t l)
{
	bool between = l > 0 && l < n->setup->layers;

	return n->partition.sequence && between ? (uint64_t)n->partition.parts : 1;
}

static uint64_t network_activation_bytes(const struct network *n, size_t l)
{
	return n->kept[l] / network_row_shares(n, l) * partition_width(n->setup, &n->partition, l) *
	       precision_bytes(n->setup->precision);
}

static enum status network_open_activations(struct network *n, struct error *err)
{
	void *shared[SETUP_MAX_LAYERS] = { NULL };
	uint64_t at[SETUP_MAX_LAYERS + 1];

	if (network_open_shared(n, shared, err) != STATUS_OK)
		return err->status;
	for (size_t l = n->partition.first; l <= n->partition.last; l++)
		n->kept[l] = network_kept_rows(&n->partition, l);
	if (n->room.rows > 0)
		n->kept[n->setup->layers] = n->room.rows;
	buffer_alias_plan(n, at);
	for (size_t l = n->partition.first; l <= n->partition.last; l++) {
		size_t buffer = segments_buffer(&n->segments, l);

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
	return arena_alloc(n->arena, MEMORY_WORKSPACE, output_gradient_scratch_bytes(out),
			   &n->scratch, err);
}

static enum status open_transient(struct network *n, struct error *err)
{
	size_t bytes = precision_bytes(n->setup->precision);

	if (network_open_scratch(n, err) != STATUS_OK)
		return err->status;
	for (size_t i = 0; i < NETWORK_MAX_TRANSIENT; i++) {
		uint64_t columns = backward_transient_columns(n, i);

		/* Logits of whole blocks: block_buffers_open(). */
		if (columns == 0 || (n->room.logits > 0 && n->partition.parts == 1))
			continue;
		if (i == 1 && n->room.logits > 0)
			n->transient[1] = n->transient[0];
		else if (buffer_alias_possible(n) && i == n->setup->layers % 2)
			n->transient[i] = n->activations[n->setup->layers];
		else if (arena_alloc(n->arena, MEMORY_TRANSIENT,
				     n->step_rows / network_row_shares(n, 1) * columns * bytes,
				     &n->transient[i], err) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

static void network_describe(struct network *n, const struct setup *setup, struct stream *stream,
			     struct arena *arena, int rank)
{
	*n = (struct network){ .setup = setup, .stream = stream, .arena = arena };
	parameter_shard_of(setup, rank, &n->partition, &n->shard);
	n->step_rows = n->partition.step_rows;
	model_init(&n->model, setup);
	model_init_partition(&n->local, setup, &n->partition);
	segments_make(&n->segments, setup, &n->partition);
}

enum status network_open_state(struct network *n, const struct setup *setup, struct stream *stream,
			       struct arena *arena, struct error *err)
{
	network_describe(n, setup, stream, arena, 0);
	for (size_t l = n->partition.first; l <= n->partition.last; l++)
		n->kept[l] = network_kept_rows(&n->partition, l);
	if (network_open_parameters(n, err) != STATUS_OK ||
	    network_open_loss(n, err) != STATUS_OK || network_open_scratch(n, err) != STATUS_OK ||
	    blocks_scratch_open(n, err) != STATUS_OK)
		return err->status;
	return arena_alloc(n->arena, MEMORY_INPUT,
			   n->kept[0] * setup->widths[0] * precision_bytes(setup->precision),
			   &n->activations[0], err);
}

/*
 * A dynamic loss scale counts updates itself, and the other optimizers do the same in every update.
 */
static enum status network_open_clock(struct network *n, struct error *err)
{
	const struct setup *s = n->setup;
	double slowest;

	if (s->optimizer != OPTIMIZER_ADAM || s->dynamic_scale)
		return STATUS_OK;
	/* Number of updates after which Adam's corrections equal 1 in every bit. */
	slowest = fmax(s->beta1, s->beta2);
	n->correction_count = (uint64_t)ceil(log(DBL_EPSILON / 4) / log(slowest)) + 1;
	if (arena_alloc(n->arena, MEMORY_OPTIMIZER, sizeof(*n->clock), &n->clock, err) != STATUS_OK)
		return err->status;
	return arena_alloc(n->arena, MEMORY_OPTIMIZER,
			   2 * n->correction_count * sizeof(*n->corrections), &n->corrections, err);
}

enum status network_open(struct network *n, const struct setup *setup, struct stream *stream,
			 struct arena *arena, int rank, struct error *err)
{
	network_describe(n, setup, stream, arena, rank);
	n->room = buffer_alias_logits_overlap(setup, &n->partition, &n->shard);
	if (network_open_parameters(n, err) != STATUS_OK ||
	    network_open_activations(n, err) != STATUS_OK)
		return err->status;
	if (setup->graph && network_open_clock(n, err) != STATUS_OK)
		return err->status;
	if (setup->dynamic_scale && arena_alloc(n->arena, MEMORY_OPTIMIZER, sizeof(*n->loss_scale),
						&n->loss_scale, err) != STATUS_OK)
		return err->status;
	return open_transient(n, err) == STATUS_OK ? block_buffers_open(n, err) : err->status;
}

bool network_has_loss(const struct network *n)
{
	return n->partition.loss_rows > 0;
}

uint64_t network_max_hidden_width(const struct network *n)
{
	uint64_t inside = 0;

	for (size_t l = n->partition.first + 1; l < n->partition.last; l++) {
		uint64_t width = partition_width(n->setup, &n->partition, l);

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
				       partition_width(n->setup, &n->partition, l));
}

void *network_row(const struct network *n, size_t l, void *gradient, uint64_t row)
{
	return network_element(n, gradient, row * partition_width(n->setup, &n->partition, l));
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
	return network_element(n, n->transposed[backward_transposed_buffer(n, l)],
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
