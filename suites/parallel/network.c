#include "suites/parallel/network.h"

#include <stdlib.h>

#include "base/memory.h"
#include "kernels/fill.h"
#include "kernels/training.h"

static enum status open_parameters(struct network *n, struct error *err)
{
	size_t moments = optimizer_moments(n->setup->optimizer);
	uint64_t stored = n->elements * precision_bytes(n->setup->precision);
	uint64_t mastered = n->elements * precision_bytes(setup_master(n->setup));

	if (arena_alloc(n->arena, MEMORY_PARAMETERS, stored, &n->weights, err) != STATUS_OK ||
	    arena_alloc(n->arena, MEMORY_GRADIENTS, stored, &n->gradients, err) != STATUS_OK)
		return err->status;
	n->master = n->weights;
	if (setup_has_master(n->setup) &&
	    arena_alloc(n->arena, MEMORY_OPTIMIZER, mastered, &n->master, err) != STATUS_OK)
		return err->status;
	for (size_t i = 0; i < moments; i++)
		if (arena_alloc(n->arena, MEMORY_OPTIMIZER, mastered, &n->moments[i], err) !=
		    STATUS_OK)
			return err->status;
	return STATUS_OK;
}

static enum status open_activations(struct network *n, struct error *err)
{
	size_t bytes = precision_bytes(n->setup->precision);

	for (size_t l = n->share.first; l <= n->share.last; l++) {
		enum memory_class tag = l == 0 ? MEMORY_INPUT : MEMORY_ACTIVATIONS;

		if (arena_alloc(n->arena, tag, n->share.rows * n->setup->widths[l] * bytes,
				&n->activations[l], err) != STATUS_OK)
			return err->status;
		n->masks[l] = n->activations[l];
	}
	if (!network_has_loss(n))
		return STATUS_OK;
	if (arena_alloc(n->arena, MEMORY_INPUT, n->share.rows * sizeof(*n->labels), &n->labels,
			err) != STATUS_OK)
		return err->status;
	return arena_alloc(n->arena, MEMORY_ACTIVATIONS, n->share.rows * sizeof(*n->row_loss),
			   &n->row_loss, err);
}

static enum status open_transient(struct network *n, struct error *err)
{
	size_t bytes = precision_bytes(n->setup->precision);
	uint64_t inside = 0, out = 0;

	for (size_t l = n->share.first; l < n->share.last; l++) {
		if (l > n->share.first && n->setup->widths[l] > inside)
			inside = n->setup->widths[l];
		if (n->setup->widths[l + 1] > out)
			out = n->setup->widths[l + 1];
	}
	if (arena_alloc(n->arena, MEMORY_WORKSPACE, column_sum_scratch_bytes(out), &n->scratch,
			err) != STATUS_OK)
		return err->status;
	for (int i = 0; i < 2 && inside > 0; i++)
		if (arena_alloc(n->arena, MEMORY_TRANSIENT, n->step_rows * inside * bytes,
				&n->transient[i], err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

enum status network_open(struct network *n, const struct setup *setup, struct device *device,
			 struct arena *arena, const struct share *share, uint64_t step_rows,
			 struct error *err)
{
	*n = (struct network){ .setup = setup,
			       .share = *share,
			       .device = device,
			       .arena = arena,
			       .step_rows = step_rows };
	model_init(&n->model, setup);
	n->offset = model_first(&n->model, share->last);
	n->elements = model_elements(&n->model, share->first, share->last);
	if (open_parameters(n, err) != STATUS_OK || open_activations(n, err) != STATUS_OK)
		return err->status;
	return open_transient(n, err);
}

bool network_has_loss(const struct network *n)
{
	return n->share.last == n->setup->layers;
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

static void *master_at(const struct network *n, uint64_t element)
{
	return (char *)n->master + (element - n->offset) * precision_bytes(setup_master(n->setup));
}

static enum status fill_tensor(struct network *n, struct stream *stream, enum setup_tensor tensor,
			       size_t layer, uint64_t element, uint64_t count, struct error *err)
{
	struct fill_arguments fill = {
		.memory = master_at(n, element),
		.kind = fill_kind_of(setup_master(n->setup)),
		.count = count,
		.seed = setup_seed(n->setup, tensor, layer),
		.scale = setup_scale(n->setup, tensor, layer),
	};

	return backend_launch(stream, "fill", &fill, err);
}

static enum status fill_parameters(struct network *n, struct stream *stream, struct error *err)
{
	size_t master = precision_bytes(setup_master(n->setup));
	size_t stored = precision_bytes(n->setup->precision);
	struct convert_arguments convert = {
		.to = n->weights,
		.from = n->master,
		.to_precision = n->setup->precision,
		.from_precision = PRECISION_FP32,
		.count = n->elements,
	};

	if (backend_memory_set(stream, n->master, 0, n->elements * master, err) != STATUS_OK ||
	    backend_memory_set(stream, n->gradients, 0, n->elements * stored, err) != STATUS_OK)
		return err->status;
	for (int i = 0; i < 2; i++)
		if (n->moments[i] && backend_memory_set(stream, n->moments[i], 0,
							n->elements * master, err) != STATUS_OK)
			return err->status;
	for (size_t l = n->share.first; l < n->share.last; l++) {
		const struct model_layer *layer = &n->model.layer[l];

		if (fill_tensor(n, stream, TENSOR_WEIGHTS, l, layer->weight, layer->in * layer->out,
				err) != STATUS_OK ||
		    fill_tensor(n, stream, TENSOR_BIASES, l, layer->bias, layer->out, err) !=
			    STATUS_OK)
			return err->status;
	}
	return setup_has_master(n->setup) ? backend_launch(stream, "convert", &convert, err)
					  : STATUS_OK;
}

static enum status fill_input(struct network *n, struct stream *stream, struct error *err)
{
	uint64_t width = n->setup->widths[0];
	struct fill_arguments fill = {
		.memory = n->activations[0],
		.kind = fill_kind_of(n->setup->precision),
		.first = n->share.row * width,
		.count = n->share.rows * width,
		.seed = setup_seed(n->setup, TENSOR_INPUT, 0),
		.scale = setup_scale(n->setup, TENSOR_INPUT, 0),
	};

	return n->share.first == 0 ? backend_launch(stream, "fill", &fill, err) : STATUS_OK;
}

static enum status fill_labels(struct network *n, struct stream *stream, struct error *err)
{
	enum status status;
	int32_t *labels;

	if (!network_has_loss(n))
		return STATUS_OK;
	labels = xmalloc(n->share.rows * sizeof(*labels));
	for (uint64_t r = 0; r < n->share.rows; r++)
		labels[r] = setup_label(n->setup, n->share.row + r);
	status = backend_copy(stream, n->labels, labels, n->share.rows * sizeof(*labels), err);
	if (status == STATUS_OK)
		status = backend_stream_synchronize(stream, err);
	free(labels);
	return status;
}

enum status network_reset(struct network *n, struct stream *stream, struct error *err)
{
	n->updates = 0;
	if (fill_parameters(n, stream, err) != STATUS_OK ||
	    fill_input(n, stream, err) != STATUS_OK || fill_labels(n, stream, err) != STATUS_OK)
		return err->status;
	return backend_stream_synchronize(stream, err);
}

enum status network_loss_sum(struct network *n, struct stream *stream, double *sum,
			     struct error *err)
{
	double *losses;

	*sum = 0;
	if (!network_has_loss(n))
		return STATUS_OK;
	losses = xcalloc(n->share.rows, sizeof(*losses));
	if (backend_copy(stream, losses, n->row_loss, n->share.rows * sizeof(*losses), err) ==
		    STATUS_OK &&
	    backend_stream_synchronize(stream, err) == STATUS_OK)
		for (uint64_t r = 0; r < n->share.rows; r++)
			*sum += losses[r];
	free(losses);
	return err->status;
}

void *network_activation(const struct network *n, size_t l, uint64_t row)
{
	return (char *)n->activations[l] +
	       row * n->setup->widths[l] * precision_bytes(n->setup->precision);
}

void *network_gradient(const struct network *n, uint64_t element)
{
	return (char *)n->gradients + (element - n->offset) * precision_bytes(n->setup->precision);
}
