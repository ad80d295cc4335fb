/*
 * Initial data of a network; each value depends only on its position in the whole model and batch.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "kernels/generator.h"
#include "kernels/half.h"
#include "kernels/memory/fill.h"
#include "kernels/training/training.h"
#include "suites/training/models/blocks/blocks.h"
#include "suites/training/models/gemm/layer.h"
#include "suites/training/models/network.h"

static enum fill_kind fill_kind_of(enum precision precision)
{
	static const enum fill_kind kinds[PRECISION_COUNT] = {
		[PRECISION_FP64] = FILL_FP64, [PRECISION_FP32] = FILL_FP32,
		[PRECISION_TF32] = FILL_FP32, [PRECISION_FP16] = FILL_FP16,
		[PRECISION_BF16] = FILL_BF16,
	};

	return kinds[precision];
}

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
static enum status fill_around(struct network *n, const struct fill_arguments *fill, double offset,
			       struct error *err)
{
	enum precision precision = setup_master(n->setup);
	void *values = xmalloc(fill->count * precision_bytes(precision));

	for (uint64_t i = 0; i < fill->count; i++) {
		double value = offset +
			       fill->scale * (double)generator_uniform(fill->seed, fill->first + i);

		if (precision == PRECISION_FP16)
			((uint16_t *)values)[i] = half_from_double(value);
		else if (precision == PRECISION_BF16)
			((uint16_t *)values)[i] = bf16_from_double(value);
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
static enum status fill_part(struct network *n, size_t l, size_t tensor, uint64_t first,
			     uint64_t last, char *memory, struct error *err)
{
	const struct model_tensor *t = &n->local.layer[l].tensor[tensor];
	size_t bytes = precision_bytes(setup_master(n->setup));
	uint64_t begin = t->first > first ? t->first : first,
		 end = t->first + t->count < last ? t->first + t->count : last, run = 0;
	struct fill_arguments fill = {
		.kind = fill_kind_of(setup_master(n->setup)),
		.seed = setup_tensor_seed(n->setup, l, tensor),
		.scale = t->scale,
	};

	for (; begin < end && err->status == STATUS_OK; begin += fill.count) {
		fill.memory = memory + (begin - first) * bytes;
		fill.first =
			t->offset == 0 ? tensor_place(t, begin - t->first, &run) : begin - t->first;
		fill.count = t->offset == 0 && run < end - begin ? run : end - begin;
		if (t->offset == 0)
			backend_launch(n->stream, "fill", &fill, err);
		else
			fill_around(n, &fill, t->offset, err);
	}
	return err->status;
}

/*
 * Fills elements [first, first + count) of the partition's flat order in master precision; gaps are
 * 0.
 */
static enum status fill_flat(struct network *n, void *memory, uint64_t first, uint64_t count,
			     struct error *err)
{
	size_t bytes = precision_bytes(setup_master(n->setup));

	if (backend_memory_set(n->stream, memory, 0, count * bytes, err) != STATUS_OK)
		return err->status;
	for (size_t l = n->partition.first; l < n->partition.last; l++)
		for (size_t t = 0; t < n->local.layer[l].tensors; t++)
			fill_part(n, l, t, first, first + count, memory, err);
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

static enum status fill_weights_and_masters(struct network *n, struct error *err)
{
	bool has_master = setup_has_master(n->setup);
	uint64_t all = n->shard.weights, piece = n->shard.master;
	bool whole = all == n->local.elements;

	/* Weights start as NaN, so that weights that are never sent are detected. */
	if (n->shard.receives_weights)
		return backend_memory_set(n->stream, n->weights, 0xff,
					  all * precision_bytes(n->setup->precision), err);
	if (whole && !has_master)
		return fill_flat(n, n->weights, 0, all, err);
	/* Rounds whole weights from the masters' memory if the masters are slices. */
	for (uint64_t first = 0, count; first < all && whole; first += count) {
		count = all - first < piece ? all - first : piece;
		if (fill_flat(n, n->master, first, count, err) != STATUS_OK ||
		    network_fill_round_weights(n, first, count, err) != STATUS_OK)
			return err->status;
	}
	/* The parameters that this rank's optimizer updates. */
	for (size_t i = 0; i < n->shard.count; i++) {
		const struct shard_range *range = &n->shard.ranges[i];
		uint64_t at = has_master ? range->master : range->weights;

		if (fill_flat(n, (char *)n->master + at * precision_bytes(setup_master(n->setup)),
			      range->flat, range->count, err) != STATUS_OK)
			return err->status;
	}
	return has_master && !whole && all > 0 ? network_fill_round_weights(n, 0, all, err)
					       : STATUS_OK;
}

static enum status fill_parameters(struct network *n, struct error *err)
{
	size_t moment = precision_bytes(setup_moment(n->setup));
	size_t stored = precision_bytes(n->setup->precision);

	if (backend_memory_set(n->stream, n->gradients, 0, n->shard.gradients * stored, err) !=
	    STATUS_OK)
		return err->status;
	for (int i = 0; i < 2; i++)
		if (n->moments[i] &&
		    backend_memory_set(n->stream, n->moments[i], 0, n->shard.moments * moment,
				       err) != STATUS_OK)
			return err->status;
	return fill_weights_and_masters(n, err);
}

enum status network_fill_input(const struct network *n, void *memory, uint64_t row, uint64_t rows,
			       struct error *err)
{
	uint64_t width = n->setup->widths[0];
	struct fill_arguments fill = {
		.memory = memory,
		.kind = fill_kind_of(n->setup->precision),
		.first = row * width,
		.count = rows * width,
		.seed = setup_seed(n->setup, TENSOR_INPUT, 0),
		.scale = setup_scale(n->setup, TENSOR_INPUT, 0),
	};

	if (n->setup->kind == MODEL_TRANSFORMER)
		return blocks_fill_tokens(n, memory, row, rows, err);
	return backend_launch(n->stream, "fill", &fill, err);
}

static enum status fill_labels(struct network *n, struct error *err)
{
	uint64_t rows = n->partition.loss_rows;
	int32_t *labels;

	if (!network_has_loss(n))
		return STATUS_OK;
	labels = xmalloc(rows * sizeof(*labels));
	for (uint64_t r = 0; r < rows; r++)
		labels[r] = setup_label(n->setup, n->partition.row + r);
	return network_upload(n, n->labels, labels, rows * sizeof(*labels), err);
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
		pairs[2 * i] = network_correction(n->setup->beta1, i + 1);
		pairs[2 * i + 1] = network_correction(n->setup->beta2, i + 1);
	}
	if (network_upload(n, n->corrections, pairs, bytes, err) != STATUS_OK)
		return err->status;
	return backend_memory_set(n->stream, n->clock, 0, sizeof(*n->clock), err);
}

enum status network_reset(struct network *n, struct error *err)
{
	n->updates = 0;
	if (network_fill_reset_clock(n, err) != STATUS_OK || fill_parameters(n, err) != STATUS_OK ||
	    (n->setup->kind == MODEL_TRANSFORMER && blocks_fill_positions(n, err) != STATUS_OK) ||
	    (n->partition.first == 0 && network_fill_input(n, n->activations[0], n->partition.row,
							   n->partition.rows, err) != STATUS_OK) ||
	    fill_labels(n, err) != STATUS_OK)
		return err->status;
	return backend_stream_synchronize(n->stream, err);
}
