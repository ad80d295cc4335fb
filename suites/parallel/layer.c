/*
 * The operations of one training step on a network: row-major tensors, column-major matrix
 * products.
 */
#include "suites/parallel/network.h"

#include <math.h>

#include "kernels/training.h"

static void *weight_at(const struct network *n, uint64_t element)
{
	return (char *)n->weights + (element - n->offset) * precision_bytes(n->setup->precision);
}

/* Y = X W^T: column-major, C (out x rows) = W^T (in x out, transposed) X (in x rows). */
static enum status product_forward(struct network *n, struct stream *stream,
				   const struct model_layer *layer, const void *x, void *y,
				   uint64_t rows, struct error *err)
{
	struct gemm gemm = {
		.precision = n->setup->precision,
		.transpose_a = true,
		.m = (int64_t)layer->out,
		.n = (int64_t)rows,
		.k = (int64_t)layer->in,
		.a = weight_at(n, layer->weight),
		.lda = (int64_t)layer->in,
		.b = x,
		.ldb = (int64_t)layer->in,
		.c = y,
		.ldc = (int64_t)layer->out,
		.alpha = 1,
	};

	return backend_gemm(stream, &gemm, err);
}

/* dX = dY W. */
static enum status product_input(struct network *n, struct stream *stream,
				 const struct model_layer *layer, const void *dy, void *dx,
				 uint64_t rows, struct error *err)
{
	struct gemm gemm = {
		.precision = n->setup->precision,
		.m = (int64_t)layer->in,
		.n = (int64_t)rows,
		.k = (int64_t)layer->out,
		.a = weight_at(n, layer->weight),
		.lda = (int64_t)layer->in,
		.b = dy,
		.ldb = (int64_t)layer->out,
		.c = dx,
		.ldc = (int64_t)layer->in,
		.alpha = 1,
	};

	return backend_gemm(stream, &gemm, err);
}

/* dW = dY^T X (+ dW). */
static enum status product_weight(struct network *n, struct stream *stream,
				  const struct model_layer *layer, const void *dy, const void *x,
				  uint64_t rows, double beta, struct error *err)
{
	struct gemm gemm = {
		.precision = n->setup->precision,
		.transpose_b = true,
		.m = (int64_t)layer->in,
		.n = (int64_t)layer->out,
		.k = (int64_t)rows,
		.a = x,
		.lda = (int64_t)layer->in,
		.b = dy,
		.ldb = (int64_t)layer->out,
		.c = network_gradient(n, layer->weight),
		.ldc = (int64_t)layer->in,
		.alpha = 1,
		.beta = beta,
	};

	return backend_gemm(stream, &gemm, err);
}

enum status network_forward(struct network *n, struct stream *stream, size_t l, uint64_t row,
			    uint64_t rows, struct error *err)
{
	const struct model_layer *layer = &n->model.layer[l];
	struct bias_relu_arguments bias = {
		.y = network_activation(n, l + 1, row),
		.bias = weight_at(n, layer->bias),
		.precision = setup_storage(n->setup),
		.rows = rows,
		.columns = layer->out,
		.relu = l + 1 < n->setup->layers,
	};

	if (product_forward(n, stream, layer, network_activation(n, l, row), bias.y, rows, err) !=
	    STATUS_OK)
		return err->status;
	return backend_launch(stream, "bias_relu", &bias, err);
}

enum status network_loss(struct network *n, struct stream *stream, uint64_t row, uint64_t rows,
			 double gradient_scale, struct error *err)
{
	struct softmax_cross_entropy_arguments loss = {
		.logits = network_activation(n, n->setup->layers, row),
		.labels = n->labels + row,
		.row_loss = n->row_loss + row,
		.precision = setup_storage(n->setup),
		.rows = rows,
		.columns = n->setup->widths[n->setup->layers],
		.gradient_scale = gradient_scale,
	};

	return backend_launch(stream, "softmax_cross_entropy", &loss, err);
}

static enum status mask_gradient(struct network *n, struct stream *stream, size_t l, uint64_t row,
				 uint64_t rows, void *dy, struct error *err)
{
	uint64_t width = n->setup->widths[l];
	struct relu_backward_arguments relu = {
		.dy = dy,
		.y = (const char *)n->masks[l] + row * width * precision_bytes(n->setup->precision),
		.precision = setup_storage(n->setup),
		.count = rows * width,
	};

	return backend_launch(stream, "relu_backward", &relu, err);
}

enum status network_backward(struct network *n, struct stream *stream, size_t l, uint64_t row,
			     uint64_t rows, void *dy, void *dx, bool accumulate, struct error *err)
{
	const struct model_layer *layer = &n->model.layer[l];
	struct column_sum_arguments sum = {
		.out = network_gradient(n, layer->bias),
		.x = dy,
		.precision = setup_storage(n->setup),
		.rows = rows,
		.columns = layer->out,
		.beta = accumulate ? 1 : 0,
		.scratch = n->scratch,
	};

	if (l + 1 < n->setup->layers &&
	    mask_gradient(n, stream, l + 1, row, rows, dy, err) != STATUS_OK)
		return err->status;
	if (backend_launch(stream, "column_sum", &sum, err) != STATUS_OK ||
	    product_weight(n, stream, layer, dy, network_activation(n, l, row), rows, sum.beta,
			   err) != STATUS_OK)
		return err->status;
	return dx ? product_input(n, stream, layer, dy, dx, rows, err) : STATUS_OK;
}

enum status network_forward_all(struct network *n, struct stream *stream, uint64_t row,
				uint64_t rows, struct error *err)
{
	for (size_t l = n->share.first; l < n->share.last; l++)
		if (network_forward(n, stream, l, row, rows, err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

enum status network_backward_all(struct network *n, struct stream *stream, uint64_t row,
				 uint64_t rows, void *dy, void *dx, bool accumulate,
				 struct error *err)
{
	void *gradient = dy ? dy : network_activation(n, n->setup->layers, row);

	for (size_t l = n->share.last; l-- > n->share.first;) {
		void *to = l > n->share.first ? n->transient[l % 2] : dx;

		if (network_backward(n, stream, l, row, rows, gradient, to, accumulate, err) !=
		    STATUS_OK)
			return err->status;
		gradient = to;
	}
	return STATUS_OK;
}

static enum status update_sgd(struct network *n, struct stream *stream, struct error *err)
{
	struct optimizer_sgd_arguments sgd = {
		.weights = n->master,
		.velocity = n->moments[0],
		.gradient = n->gradients,
		.copy = setup_has_master(n->setup) ? n->weights : NULL,
		.precision = setup_storage(n->setup),
		.count = n->elements,
		.rate = n->setup->rate,
		.momentum = n->setup->momentum,
		.gradient_scale = 1 / n->setup->loss_scale,
	};

	return backend_launch(stream, "optimizer_sgd", &sgd, err);
}

static enum status update_adam(struct network *n, struct stream *stream, struct error *err)
{
	const struct setup *s = n->setup;
	double step = (double)n->updates;
	struct optimizer_adam_arguments adam = {
		.weights = n->master,
		.m = n->moments[0],
		.v = n->moments[1],
		.gradient = n->gradients,
		.copy = setup_has_master(s) ? n->weights : NULL,
		.precision = setup_storage(s),
		.count = n->elements,
		.rate = s->rate,
		.beta1 = s->beta1,
		.beta2 = s->beta2,
		.epsilon = s->epsilon,
		.correction1 = 1 - pow(s->beta1, step),
		.correction2 = 1 - pow(s->beta2, step),
		.gradient_scale = 1 / s->loss_scale,
	};

	return backend_launch(stream, "optimizer_adam", &adam, err);
}

enum status network_update(struct network *n, struct stream *stream, struct error *err)
{
	n->updates++;
	return n->setup->optimizer == OPTIMIZER_ADAM ? update_adam(n, stream, err)
						     : update_sgd(n, stream, err);
}

/*
 * Forward: a product and a kernel; backward: two products, a mask, a two-stage sum; the loss, the
 * optimizer.
 */
unsigned network_commands(const struct network *n, uint64_t microbatches)
{
	return (unsigned)(microbatches * (7 * (n->share.last - n->share.first) + 1) + 1);
}
