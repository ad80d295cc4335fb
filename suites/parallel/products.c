#include "suites/parallel/products.h"

/* Column-major, C (out x rows) = W^T (in x out, transposed) X (in x rows). */
enum status product_forward(struct network *n, struct stream *stream, size_t l, const void *x,
			    void *y, uint64_t rows, struct error *err)
{
	const struct model_layer *layer = &n->local.layer[l];
	struct gemm gemm = {
		.precision = n->setup->precision,
		.transpose_a = true,
		.m = (int64_t)layer->out,
		.n = (int64_t)rows,
		.k = (int64_t)layer->in,
		.a = n->layer_weights[l],
		.lda = (int64_t)layer->in,
		.b = x,
		.ldb = (int64_t)layer->in,
		.c = y,
		.ldc = (int64_t)layer->out,
		.alpha = 1,
	};

	return backend_gemm(stream, &gemm, err);
}

enum status product_input(struct network *n, struct stream *stream, size_t l, const void *dy,
			  void *dx, uint64_t rows, struct error *err)
{
	const struct model_layer *layer = &n->local.layer[l];
	struct gemm gemm = {
		.precision = n->setup->precision,
		.m = (int64_t)layer->in,
		.n = (int64_t)rows,
		.k = (int64_t)layer->out,
		.a = n->layer_weights[l],
		.lda = (int64_t)layer->in,
		.b = dy,
		.ldb = (int64_t)layer->out,
		.c = dx,
		.ldc = (int64_t)layer->in,
		.alpha = 1,
	};

	return backend_gemm(stream, &gemm, err);
}

enum status product_weight(struct network *n, struct stream *stream, size_t l, const void *dy,
			   const void *x, uint64_t rows, double beta, struct error *err)
{
	const struct model_layer *layer = &n->local.layer[l];
	bool transposed = n->routes[l] == ROUTE_TRANSPOSED;
	struct gemm gemm = {
		.precision = n->setup->precision,
		.transpose_b = !transposed,
		.m = (int64_t)layer->in,
		.n = (int64_t)layer->out,
		.k = (int64_t)rows,
		.a = x,
		.lda = (int64_t)layer->in,
		.b = transposed ? network_transposed(n, l, 0) : dy,
		.ldb = (int64_t)(transposed ? n->step_rows : layer->out),
		.c = n->layer_gradients[l],
		.ldc = (int64_t)layer->in,
		.alpha = 1,
		.beta = beta,
	};

	return backend_gemm(stream, &gemm, err);
}
