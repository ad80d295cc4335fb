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

static void *network_fill_master_at(const struct network *n, uint64_t element)
{
	return (char *)n->master + element * precision_bytes(setup_master(n->setup));
}

static enum fill_kind fill_kind_of(enum precision precision)
{
	static const enum fill_kind kinds[PRECISION_COUNT] = {
		[PRECISION_FP64] = FILL_FP64, [PRECISION_FP32] = FILL_FP32,
		[PRECISION_TF32] = FILL_FP32, [PRECISION_FP16] = FILL_FP16,
		[PRECISION_BF16] = FILL_BF16,
	};

	return kinds[precision];
}

/*
 * Fills `count` elements of the rank's part of a tensor from element `begin`, one contiguous run at
 * a time.
 */
static enum status fill_runs(struct network *n, struct stream *stream,
			     const struct model_tensor *tensor, uint64_t begin, uint64_t count,
			     struct fill_arguments fill, struct error *err)
{
	while (count > 0) {
		uint64_t run;

		fill.first = tensor_place(tensor, begin, &run);
		fill.count = run < count ? run : count;
		if (backend_launch(stream, "fill", &fill, err) != STATUS_OK)
			return err->status;
		fill.memory =
			(char *)fill.memory + fill.count * precision_bytes(setup_master(n->setup));
		begin += fill.count;
		count -= fill.count;
	}
	return STATUS_OK;
}

/*
 * Fills values around an offset on the host, because the kernel has no offset: only scales of
 * norms, which are few values.
 */
static enum status fill_around(struct network *n, struct stream *stream,
			       const struct fill_arguments *fill, double offset, struct error *err)
{
	enum precision precision = setup_master(n->setup);
	void *values = xmalloc(fill->count * precision_bytes(precision));
	enum status status;

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
	status = backend_copy(stream, fill->memory, values,
			      fill->count * precision_bytes(precision), err);
	if (status == STATUS_OK)
		status = backend_stream_synchronize(stream, err);
	free(values);
	return status;
}

static enum status network_fill_tensor(struct network *n, struct stream *stream, size_t l,
				       size_t tensor, uint64_t begin, uint64_t count, void *memory,
				       struct error *err)
{
	const struct model_tensor *t = &n->local.layer[l].tensor[tensor];
	struct fill_arguments fill = {
		.memory = memory,
		.kind = fill_kind_of(setup_master(n->setup)),
		.seed = setup_tensor_seed(n->setup, l, tensor),
		.scale = t->scale,
	};

	if (t->offset == 0)
		return fill_runs(n, stream, t, begin, count, fill, err);
	fill.first = begin;
	fill.count = count;
	return fill_around(n, stream, &fill, t->offset, err);
}

/* Fills the part of a tensor in elements [first, last) of the flat order, at `memory`. */
static enum status fill_part(struct network *n, struct stream *stream, size_t l, size_t tensor,
			     uint64_t first, uint64_t last, char *memory, struct error *err)
{
	const struct model_tensor *t = &n->local.layer[l].tensor[tensor];
	uint64_t from = t->first, to = t->first + t->count;
	uint64_t begin = from > first ? from : first, end = to < last ? to : last;

	if (begin >= end)
		return STATUS_OK;
	return network_fill_tensor(n, stream, l, tensor, begin - from, end - begin,
				   memory + (begin - first) *
						    precision_bytes(setup_master(n->setup)),
				   err);
}

/*
 * Fills elements [first, first + count) of the partition's flat order in master precision; gaps are
 * 0.
 */
static enum status fill_flat(struct network *n, struct stream *stream, void *memory, uint64_t first,
			     uint64_t count, struct error *err)
{
	size_t bytes = precision_bytes(setup_master(n->setup));

	if (backend_memory_set(stream, memory, 0, count * bytes, err) != STATUS_OK)
		return err->status;
	for (size_t l = n->partition.first; l < n->partition.last; l++)
		for (size_t t = 0; t < n->local.layer[l].tensors; t++)
			if (fill_part(n, stream, l, t, first, first + count, memory, err) !=
			    STATUS_OK)
				return err->status;
	return STATUS_OK;
}

static enum status network_fill_round_weights(struct network *n, struct stream *stream,
					      uint64_t first, uint64_t count, struct error *err)
{
	struct convert_arguments convert = {
		.to = network_element(n, n->weights, first),
		.from = n->master,
		.to_precision = n->setup->precision,
		.from_precision = PRECISION_FP32,
		.count = count,
	};

	return backend_launch(stream, "convert", &convert, err);
}

/* Rounds whole weights from the masters' memory if the masters are slices. */
static enum status fill_rounded(struct network *n, struct stream *stream, struct error *err)
{
	uint64_t piece = n->shard.master, all = n->shard.weights;

	for (uint64_t first = 0; first < all; first += piece) {
		uint64_t count = all - first < piece ? all - first : piece;

		if (fill_flat(n, stream, n->master, first, count, err) != STATUS_OK ||
		    network_fill_round_weights(n, stream, first, count, err) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

/* Fills the parameters that this rank's optimizer updates. */
static enum status fill_ranges(struct network *n, struct stream *stream, struct error *err)
{
	for (size_t i = 0; i < n->shard.count; i++) {
		const struct shard_range *range = &n->shard.ranges[i];
		uint64_t at = setup_has_master(n->setup) ? range->master : range->weights;

		if (fill_flat(n, stream, network_fill_master_at(n, at), range->flat, range->count,
			      err) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

static enum status fill_weights_and_masters(struct network *n, struct stream *stream,
					    struct error *err)
{
	bool has_master = setup_has_master(n->setup);
	bool whole = n->shard.weights == n->local.elements;

	/* Weights start as NaN, so that weights that are never sent are detected. */
	if (n->shard.receives_weights)
		return backend_memory_set(stream, n->weights, 0xff,
					  n->shard.weights * precision_bytes(n->setup->precision),
					  err);
	if (whole && !has_master)
		return fill_flat(n, stream, n->weights, 0, n->local.elements, err);
	if (whole && fill_rounded(n, stream, err) != STATUS_OK)
		return err->status;
	if (fill_ranges(n, stream, err) != STATUS_OK)
		return err->status;
	return has_master && !whole && n->shard.weights > 0
		       ? network_fill_round_weights(n, stream, 0, n->shard.weights, err)
		       : STATUS_OK;
}

static enum status fill_parameters(struct network *n, struct stream *stream, struct error *err)
{
	size_t moment = precision_bytes(setup_moment(n->setup));
	size_t stored = precision_bytes(n->setup->precision);

	if (backend_memory_set(stream, n->gradients, 0, n->shard.gradients * stored, err) !=
	    STATUS_OK)
		return err->status;
	for (int i = 0; i < 2; i++)
		if (n->moments[i] &&
		    backend_memory_set(stream, n->moments[i], 0, n->shard.moments * moment, err) !=
			    STATUS_OK)
			return err->status;
	return fill_weights_and_masters(n, stream, err);
}

enum status network_fill_input(const struct network *n, struct stream *stream, void *memory,
			       uint64_t row, uint64_t rows, struct error *err)
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
		return blocks_fill_tokens(n, stream, memory, row, rows, err);
	return backend_launch(stream, "fill", &fill, err);
}

static enum status fill_input(struct network *n, struct stream *stream, struct error *err)
{
	if (n->setup->kind == MODEL_TRANSFORMER &&
	    blocks_fill_positions(n, stream, err) != STATUS_OK)
		return err->status;
	return n->partition.first == 0
		       ? network_fill_input(n, stream, n->activations[0], n->partition.row,
					    n->partition.rows, err)
		       : STATUS_OK;
}

static enum status fill_labels(struct network *n, struct stream *stream, struct error *err)
{
	enum status status;
	int32_t *labels;

	if (!network_has_loss(n))
		return STATUS_OK;
	labels = xmalloc(n->partition.loss_rows * sizeof(*labels));
	for (uint64_t r = 0; r < n->partition.loss_rows; r++)
		labels[r] = setup_label(n->setup, n->partition.row + r);
	status = backend_copy(stream, n->labels, labels, n->partition.loss_rows * sizeof(*labels),
			      err);
	if (status == STATUS_OK)
		status = backend_stream_synchronize(stream, err);
	free(labels);
	return status;
}

/* The same expression as on the host gives the same bits. */
static enum status network_fill_reset_clock(struct network *n, struct stream *stream,
					    struct error *err)
{
	uint64_t bytes = 2 * n->correction_count * sizeof(double);
	enum status status;
	double *pairs;

	if (!n->clock)
		return STATUS_OK;
	pairs = xmalloc(bytes);
	for (uint64_t i = 0; i < n->correction_count; i++) {
		pairs[2 * i] = network_correction(n->setup->beta1, i + 1);
		pairs[2 * i + 1] = network_correction(n->setup->beta2, i + 1);
	}
	status = backend_copy(stream, n->corrections, pairs, bytes, err);
	if (status == STATUS_OK)
		status = backend_memory_set(stream, n->clock, 0, sizeof(*n->clock), err);
	if (status == STATUS_OK)
		status = backend_stream_synchronize(stream, err);
	free(pairs);
	return status;
}

enum status network_reset(struct network *n, struct stream *stream, struct error *err)
{
	n->updates = 0;
	if (network_fill_reset_clock(n, stream, err) != STATUS_OK ||
	    fill_parameters(n, stream, err) != STATUS_OK ||
	    fill_input(n, stream, err) != STATUS_OK || fill_labels(n, stream, err) != STATUS_OK)
		return err->status;
	return backend_stream_synchronize(stream, err);
}
