#include "suites/training/models/blocks/transformer.h"

#include <math.h>

#include "kernels/layers/layers.h"
#include "kernels/training/training.h"
#include "suites/training/models/blocks/blocks.h"
#include "suites/training/models/gemm/layer.h"
#include "suites/training/models/mode.h"

enum status transformer_launch(const struct network *n, struct stream *stream, const char *kernel,
			       const void *arguments, struct error *err)
{
	return n->idle ? STATUS_OK : backend_launch(stream, kernel, arguments, err);
}

static enum status transformer_multiply(struct network *n, struct stream *stream, size_t l,
					unsigned pass, struct gemm *gemm, struct error *err)
{
	return n->idle ? STATUS_OK : network_multiply(n, stream, l, pass, gemm, err);
}

static void *transformer_tensor_in(const struct network *n, void *layer_array, size_t l,
				   size_t tensor)
{
	const struct model_layer *layer = &n->local.layer[l];

	return network_element(n, layer_array, layer->tensor[tensor].first - layer->weight);
}

void *transformer_weights(const struct network *n, size_t l, size_t tensor)
{
	return transformer_tensor_in(n, n->layer_weights[l], l, tensor);
}

void *transformer_gradients(const struct network *n, size_t l, size_t tensor)
{
	return transformer_tensor_in(n, n->layer_gradients[l], l, tensor);
}

struct attention_shape transformer_attention(const struct network *n, uint64_t rows)
{
	const struct transformer_shape *t = &n->setup->transformer;
	unsigned head_size = (unsigned)(t->hidden / t->heads);
	uint64_t heads = t->heads / (uint64_t)n->partition.parts, columns = heads * head_size;

	return (struct attention_shape){ .precision = setup_storage(n->setup),
					 .batch = (unsigned)(rows / t->sequence),
					 .heads = (unsigned)heads,
					 .sequence = (unsigned)t->sequence,
					 .head_size = head_size,
					 .ld_qkv = 3 * columns,
					 .ld_o = columns,
					 .scale = 1 / sqrtf((float)head_size),
					 .causal = 1 };
}

struct kept_norm transformer_kept_norm(const struct network *n, const struct kept_norm *norm,
				       uint64_t row)
{
	uint64_t share = row / network_sequence_parallel_size(n, 1);

	return (struct kept_norm){ .mean = norm->mean + share,
				   .rstd = norm->rstd + share,
				   .y = network_element(n, norm->y,
							share * n->setup->transformer.hidden) };
}

enum status transformer_norm(struct network *n, struct stream *stream, size_t l, size_t gamma,
			     const void *x, const struct kept_norm *kept, uint64_t rows,
			     struct error *err)
{
	struct layer_norm_forward_arguments norm = {
		.x = x,
		.gamma = transformer_weights(n, l, gamma),
		.beta = transformer_weights(n, l, gamma + 1),
		.y = kept->y,
		.mean = kept->mean,
		.rstd = kept->rstd,
		.precision = setup_storage(n->setup),
		.rows = rows,
		.columns = n->setup->transformer.hidden,
		.epsilon = (float)BLOCK_NORM_EPSILON,
	};

	return transformer_launch(n, stream, "layer_norm_forward", &norm, err);
}

enum status transformer_norm_backward(struct network *n, struct stream *stream, size_t l,
				      size_t gamma, const void *x, const struct kept_norm *kept,
				      void *dy, uint64_t rows, bool accumulate, struct error *err)
{
	struct layer_norm_backward_arguments norm = {
		.x = x,
		.dy = dy,
		.gamma = transformer_weights(n, l, gamma),
		.mean = kept->mean,
		.rstd = kept->rstd,
		.dx = dy,
		.dgamma = transformer_gradients(n, l, gamma),
		.dbeta = transformer_gradients(n, l, gamma + 1),
		.scratch = n->blocks.norm_sums,
		.precision = setup_storage(n->setup),
		.rows = rows,
		.columns = n->setup->transformer.hidden,
		.keep = accumulate ? 1 : 0,
	};

	return transformer_launch(n, stream, "layer_norm_backward", &norm, err);
}

static enum status transformer_add_bias(struct network *n, struct stream *stream,
					const struct linear *linear, void *y, uint64_t rows,
					struct error *err)
{
	struct bias_relu_arguments bias = {
		.y = y,
		.bias = transformer_weights(n, linear->layer, linear->weight + 1),
		.precision = setup_storage(n->setup),
		.rows = rows,
		.columns = linear->out,
	};

	return transformer_launch(n, stream, "bias_relu", &bias, err);
}

/*
 * Adds the bias in the GEMM's epilogue. Not every library supports this for every precision and
 * shape.
 */
static bool transformer_try_fused(struct network *n, struct stream *stream,
				  const struct linear *linear, struct gemm gemm, struct error *err)
{
	enum fusion *fusion = &n->fusions[linear->layer];
	struct error own = ERROR_NONE;

	if (n->idle)
		return true;
	if (*fusion == FUSION_OFF || n->setup->fusion == FUSION_OFF)
		return false;
	gemm.epilogue = EPILOGUE_BIAS;
	gemm.bias = transformer_weights(n, linear->layer, linear->weight + 1);
	if (transformer_multiply(n, stream, linear->layer, OVERLAP_FORWARD, &gemm, &own) ==
	    STATUS_OK) {
		*fusion = FUSION_ON;
		return true;
	}
	if (own.status == STATUS_UNSUPPORTED && n->setup->fusion == FUSION_AUTO) {
		*fusion = FUSION_OFF;
		return false;
	}
	error_set(err, own.status, "%s", own.message);
	return true;
}

static enum status transformer_start_rows(const struct network *n, enum part_collective collective,
					  void *whole, void *share, uint64_t rows,
					  struct error *err)
{
	return n->links->start(n->links->state, collective, whole, share,
			       rows * n->setup->transformer.hidden, err);
}

const void *transformer_gather(const struct network *n, const void *share, uint64_t rows,
			       struct error *err)
{
	if (!n->partition.sequence || err->status != STATUS_OK)
		return share;
	if (transformer_start_rows(n, PARTS_GATHER, n->blocks.gathered, (void *)share, rows, err) ==
	    STATUS_OK)
		n->links->wait(n->links->state, err);
	return n->blocks.gathered;
}

void *transformer_share(const struct network *n, void *whole, uint64_t rows)
{
	uint64_t shares = network_sequence_parallel_size(n, 1),
		 part = shares > 1 ? (uint64_t)n->partition.part : 0;

	return network_element(n, whole, part * rows / shares * n->setup->transformer.hidden);
}

enum status transformer_sum(struct network *n, void *summands, void *y, uint64_t rows,
			    struct error *err)
{
	if (!n->links)
		return STATUS_OK;
	if (transformer_start_rows(n, n->partition.sequence ? PARTS_SCATTER : PARTS_SUM, summands,
				   y, rows, err) != STATUS_OK)
		return err->status;
	return n->links->wait(n->links->state, err);
}

/* Column-major, C (out x rows) = W^T (in x out, transposed) X (in x rows). */
enum status transformer_linear(struct network *n, struct stream *stream,
			       const struct linear *linear, const void *x, void *y, uint64_t rows,
			       struct error *err)
{
	struct gemm gemm = {
		.precision = n->setup->precision,
		.transpose_a = true,
		.m = (int64_t)linear->out,
		.n = (int64_t)rows,
		.k = (int64_t)linear->in,
		.a = transformer_weights(n, linear->layer, linear->weight),
		.lda = (int64_t)linear->in,
		.b = x,
		.ldb = (int64_t)linear->in,
		.c = y,
		.ldc = (int64_t)linear->out,
		.alpha = 1,
	};

	if (linear->has_bias && transformer_try_fused(n, stream, linear, gemm, err))
		return err->status;
	if (transformer_multiply(n, stream, linear->layer, OVERLAP_FORWARD, &gemm, err) !=
	    STATUS_OK)
		return err->status;
	return linear->has_bias ? transformer_add_bias(n, stream, linear, y, rows, err) : STATUS_OK;
}

/*
 * The same if ranks divide the inputs: each rank computes partial sums of all outputs, and the bias
 * is added after the sum over ranks. With sequence parallelism, only this rank's rows remain.
 */
static enum status transformer_linear_of_parts(struct network *n, struct stream *stream,
					       const struct linear *linear, const void *x, void *y,
					       uint64_t rows, struct error *err)
{
	struct linear product = *linear;
	void *summands = n->partition.sequence ? n->blocks.narrow : y;

	if (!n->links)
		return transformer_linear(n, stream, linear, x, y, rows, err);
	product.has_bias = false;
	if (transformer_linear(n, stream, &product, x, summands, rows, err) != STATUS_OK ||
	    transformer_sum(n, summands, y, rows, err) != STATUS_OK)
		return err->status;
	return transformer_add_bias(n, stream, linear, y,
				    rows / network_sequence_parallel_size(n, 1), err);
}

static enum status transformer_bias_gradient(struct network *n, struct stream *stream,
					     const struct linear *linear, void *dy, uint64_t rows,
					     bool accumulate, struct error *err)
{
	struct output_gradient_arguments pass = {
		.dy = dy,
		.sum = transformer_gradients(n, linear->layer, linear->weight + 1),
		.beta = accumulate ? 1 : 0,
		.scratch = n->blocks.bias_sums,
		.precision = setup_storage(n->setup),
		.rows = rows,
		.columns = linear->out,
	};

	return transformer_launch(n, stream, "output_gradient", &pass, err);
}

static enum status transformer_backward_products(struct network *n, struct stream *stream,
						 const struct linear *linear, const void *x,
						 void *dy, void *dx, bool sums, uint64_t rows,
						 bool accumulate, struct error *err)
{
	int64_t in = (int64_t)linear->in, out = (int64_t)linear->out;
	/* dW = dY^T X */
	struct gemm weights = {
		.precision = n->setup->precision,
		.transpose_b = true,
		.m = in,
		.n = out,
		.k = (int64_t)rows,
		.a = x,
		.lda = in,
		.b = dy,
		.ldb = out,
		.c = transformer_gradients(n, linear->layer, linear->weight),
		.ldc = in,
		.alpha = 1,
		.beta = accumulate ? 1 : 0,
	};
	/* dX = dY W */
	struct gemm inputs = {
		.precision = n->setup->precision,
		.m = in,
		.n = (int64_t)rows,
		.k = out,
		.a = transformer_weights(n, linear->layer, linear->weight),
		.lda = in,
		.b = dy,
		.ldb = out,
		.c = dx,
		.ldc = in,
		.alpha = 1,
	};

	if (linear->has_bias &&
	    transformer_bias_gradient(n, stream, linear, dy, rows, accumulate, err) != STATUS_OK)
		return err->status;
	if (!sums || !n->links) {
		if (transformer_multiply(n, stream, linear->layer, OVERLAP_BACKWARD, &weights,
					 err) != STATUS_OK)
			return err->status;
		return transformer_multiply(n, stream, linear->layer, OVERLAP_BACKWARD, &inputs,
					    err);
	}
	/*
	 * The gradients of the weights, which no other rank waits for, are computed during the sum
	 * over ranks.
	 */
	if (transformer_multiply(n, stream, linear->layer, OVERLAP_BACKWARD, &inputs, err) !=
		    STATUS_OK ||
	    transformer_start_rows(n, n->partition.sequence ? PARTS_SCATTER : PARTS_SUM, dx,
				   transformer_share(n, dx, rows), rows, err) != STATUS_OK ||
	    transformer_multiply(n, stream, linear->layer, OVERLAP_BACKWARD, &weights, err) !=
		    STATUS_OK)
		return err->status;
	return n->links->wait(n->links->state, err);
}

enum status transformer_linear_backward_summed(struct network *n, struct stream *stream,
					       const struct linear *linear, const void *x, void *dy,
					       void *dx, uint64_t rows, bool accumulate,
					       struct error *err)
{
	return transformer_backward_products(n, stream, linear, x, dy, dx, true, rows, accumulate,
					     err);
}

enum status transformer_linear_backward(struct network *n, struct stream *stream,
					const struct linear *linear, const void *x, const void *dy,
					void *dx, uint64_t rows, bool accumulate, struct error *err)
{
	return transformer_backward_products(n, stream, linear, x, (void *)dy, dx, false, rows,
					     accumulate, err);
}

/* The GEMMs of a block. */
enum product { PRODUCT_QKV, PRODUCT_OUT, PRODUCT_UP, PRODUCT_DOWN };
static struct linear transformer_linear_of(const struct network *n, size_t l, enum product product)
{
	uint64_t h = n->setup->transformer.hidden, mine = h / (uint64_t)n->partition.parts;
	const struct linear all[] = {
		[PRODUCT_QKV] = { l, BLOCK_QKV, h, 3 * mine, true },
		[PRODUCT_OUT] = { l, BLOCK_OUT, mine, h, true },
		[PRODUCT_UP] = { l, BLOCK_UP, h, 4 * mine, false },
		[PRODUCT_DOWN] = { l, BLOCK_DOWN, 4 * mine, h, true },
	};

	return all[product];
}

static enum status transformer_add_residual(struct network *n, struct stream *stream, const void *a,
					    const void *b, void *y, uint64_t rows,
					    struct error *err)
{
	struct residual_add_arguments add = {
		.a = a,
		.b = b,
		.y = y,
		.precision = setup_storage(n->setup),
		.count = rows * n->setup->transformer.hidden,
	};

	return transformer_launch(n, stream, "residual_add", &add, err);
}

static enum status transformer_attend(struct network *n, struct stream *stream,
				      const struct kept_block *kept, uint64_t rows,
				      struct error *err)
{
	struct attention_shape shape = transformer_attention(n, rows);
	struct attention_forward_arguments attention = {
		.shape = shape,
		.q = kept->qkv,
		.k = network_element(n, kept->qkv, shape.ld_o),
		.v = network_element(n, kept->qkv, 2 * shape.ld_o),
		.o = kept->o,
		.lse = kept->lse,
	};

	return transformer_launch(n, stream, "attention_forward", &attention, err);
}

/* GELU adds the bias of the up product; with `again` it has already been added. */
static enum status transformer_activate(struct network *n, struct stream *stream, size_t l,
					const struct kept_block *kept, uint64_t rows, bool again,
					struct error *err)
{
	struct activation_forward_arguments gelu = {
		.x = kept->before,
		.bias = again ? NULL : transformer_weights(n, l, BLOCK_UP_BIAS),
		.y = kept->after,
		.activation = ACTIVATION_GELU_TANH,
		.precision = setup_storage(n->setup),
		.rows = rows,
		.columns = transformer_linear_of(n, l, PRODUCT_UP).out,
	};

	return transformer_launch(n, stream, "activation_forward", &gelu, err);
}

/* Kept tensors of the block for the micro-batch that begins with `row`. */
static struct kept_block transformer_kept_of(const struct network *n, size_t l, uint64_t row)
{
	struct kept_block kept = n->blocks.kept[l];
	uint64_t at = setup_recomputes_blocks(n->setup) ? 0 : row % n->partition.kept;
	uint64_t share = at / network_sequence_parallel_size(n, 1),
		 h = n->setup->transformer.hidden, mine = h / (uint64_t)n->partition.parts;
	const struct attention_shape before = transformer_attention(n, at);

	for (int i = 0; i < 2; i++) {
		kept.norm[i] = transformer_kept_norm(n, &kept.norm[i], at);
		if (n->setup->pointwise)
			kept.norm[i].y = n->blocks.norm_output;
	}
	kept.qkv = network_element(n, kept.qkv, at * 3 * mine);
	kept.o = network_element(n, kept.o, at * mine);
	kept.lse += attention_row_values(&before);
	kept.middle = network_element(n, kept.middle, share * h);
	kept.before = network_element(n, kept.before, at * 4 * mine);
	if (!n->setup->pointwise)
		kept.after = network_element(n, kept.after, at * 4 * mine);
	return kept;
}

/* Computes all tensors that backward needs: everything except the last product. */
static enum status transformer_forward_kept(struct network *n, struct stream *stream, size_t l,
					    const void *x, const struct kept_block *kept,
					    uint64_t rows, struct error *err)
{
	const struct linear qkv = transformer_linear_of(n, l, PRODUCT_QKV),
			    out = transformer_linear_of(n, l, PRODUCT_OUT),
			    up = transformer_linear_of(n, l, PRODUCT_UP);
	uint64_t share = rows / network_sequence_parallel_size(n, l);

	if (transformer_norm(n, stream, l, BLOCK_GAMMA1, x, &kept->norm[0], share, err) !=
		    STATUS_OK ||
	    transformer_linear(n, stream, &qkv, transformer_gather(n, kept->norm[0].y, rows, err),
			       kept->qkv, rows, err) != STATUS_OK ||
	    transformer_attend(n, stream, kept, rows, err) != STATUS_OK ||
	    transformer_linear_of_parts(n, stream, &out, kept->o, kept->middle, rows, err) !=
		    STATUS_OK ||
	    transformer_add_residual(n, stream, x, kept->middle, kept->middle, share, err) !=
		    STATUS_OK ||
	    transformer_norm(n, stream, l, BLOCK_GAMMA2, kept->middle, &kept->norm[1], share,
			     err) != STATUS_OK ||
	    transformer_linear(n, stream, &up, transformer_gather(n, kept->norm[1].y, rows, err),
			       kept->before, rows, err) != STATUS_OK)
		return err->status;
	return transformer_activate(n, stream, l, kept, rows, false, err);
}

enum status transformer_forward(struct network *n, struct stream *stream, size_t l, uint64_t row,
				uint64_t rows, struct error *err)
{
	const struct linear down = transformer_linear_of(n, l, PRODUCT_DOWN);
	const struct kept_block kept = transformer_kept_of(n, l, row);
	void *y = network_activation(n, l + 1, row);

	if (transformer_forward_kept(n, stream, l, network_activation(n, l, row), &kept, rows,
				     err) != STATUS_OK ||
	    transformer_linear_of_parts(n, stream, &down, kept.after, y, rows, err) != STATUS_OK)
		return err->status;
	return transformer_add_residual(n, stream, kept.middle, y, y,
					rows / network_sequence_parallel_size(n, l), err);
}

/*
 * Adds the gradient of the MLP branch to dy, which becomes the gradient of the tensor between
 * attention and MLP.
 */
static enum status backward_mlp(struct network *n, struct stream *stream, size_t l,
				const struct kept_block *kept, void *dy, uint64_t rows,
				bool accumulate, struct error *err)
{
	const struct linear down = transformer_linear_of(n, l, PRODUCT_DOWN);
	struct linear up = transformer_linear_of(n, l, PRODUCT_UP);
	uint64_t share = rows / network_sequence_parallel_size(n, l);
	void *inner = transformer_share(n, n->blocks.narrow, rows);
	/* With aliasing, each tensor replaces one that earlier products have already read. */
	void *wide = n->blocks.inner ? n->blocks.inner : kept->after;
	struct activation_backward_arguments gelu = {
		.x = kept->before,
		.dy = wide,
		.dx = wide,
		.activation = ACTIVATION_GELU_TANH,
		.precision = setup_storage(n->setup),
		.count = rows * up.out,
	};

	up.has_bias = true;
	if (n->setup->pointwise &&
	    (transformer_activate(n, stream, l, kept, rows, true, err) != STATUS_OK ||
	     transformer_norm(n, stream, l, BLOCK_GAMMA2, kept->middle, &kept->norm[1], share,
			      err) != STATUS_OK))
		return err->status;
	if (transformer_linear_backward(n, stream, &down, kept->after,
					transformer_gather(n, dy, rows, err), wide, rows,
					accumulate, err) != STATUS_OK ||
	    transformer_launch(n, stream, "activation_backward", &gelu, err) != STATUS_OK ||
	    transformer_linear_backward_summed(n, stream, &up,
					       transformer_gather(n, kept->norm[1].y, rows, err),
					       wide, n->blocks.narrow, rows, accumulate,
					       err) != STATUS_OK ||
	    transformer_norm_backward(n, stream, l, BLOCK_GAMMA2, kept->middle, &kept->norm[1],
				      inner, share, accumulate, err) != STATUS_OK)
		return err->status;
	return transformer_add_residual(n, stream, dy, inner, dy, share, err);
}

/* Gradient of the attention branch, which blocks_input_gradient() adds to dy. */
static enum status transformer_backward_attention(struct network *n, struct stream *stream,
						  size_t l, const void *x,
						  const struct kept_block *kept, void *dy,
						  uint64_t rows, bool accumulate, struct error *err)
{
	const struct linear qkv = transformer_linear_of(n, l, PRODUCT_QKV),
			    out = transformer_linear_of(n, l, PRODUCT_OUT);
	struct attention_shape shape = transformer_attention(n, rows);
	void *dqkv = n->blocks.inner ? n->blocks.inner : kept->after;
	struct attention_backward_arguments attention = {
		.shape = shape,
		.q = kept->qkv,
		.k = network_element(n, kept->qkv, shape.ld_o),
		.v = network_element(n, kept->qkv, 2 * shape.ld_o),
		.o = kept->o,
		.d_o = n->blocks.narrow,
		.lse = kept->lse,
		.dq = dqkv,
		.dk = network_element(n, dqkv, shape.ld_o),
		.dv = network_element(n, dqkv, 2 * shape.ld_o),
		.delta = n->blocks.delta,
	};

	if (n->setup->pointwise &&
	    transformer_norm(n, stream, l, BLOCK_GAMMA1, x, &kept->norm[0],
			     rows / network_sequence_parallel_size(n, l), err) != STATUS_OK)
		return err->status;
	if (transformer_linear_backward(n, stream, &out, kept->o,
					transformer_gather(n, dy, rows, err), n->blocks.narrow,
					rows, accumulate, err) != STATUS_OK ||
	    transformer_launch(n, stream, "attention_backward", &attention, err) != STATUS_OK ||
	    transformer_linear_backward_summed(n, stream, &qkv,
					       transformer_gather(n, kept->norm[0].y, rows, err),
					       dqkv, n->blocks.narrow, rows, accumulate,
					       err) != STATUS_OK)
		return err->status;
	return transformer_norm_backward(n, stream, l, BLOCK_GAMMA1, x, &kept->norm[0],
					 transformer_share(n, n->blocks.narrow, rows),
					 rows / network_sequence_parallel_size(n, l), accumulate,
					 err);
}

enum status transformer_backward(struct network *n, struct stream *stream, size_t l, uint64_t row,
				 uint64_t rows, void *dy, bool accumulate, struct error *err)
{
	const struct kept_block kept = transformer_kept_of(n, l, row);
	const void *x = network_activation(n, l, row);

	if (setup_recomputes_blocks(n->setup) &&
	    transformer_forward_kept(n, stream, l, x, &kept, rows, err) != STATUS_OK)
		return err->status;
	if (n->partition.parts == 1 && !n->setup->no_aliasing)
		n->blocks.narrow = kept.before;
	if (backward_mlp(n, stream, l, &kept, dy, rows, accumulate, err) != STATUS_OK)
		return err->status;
	return transformer_backward_attention(n, stream, l, x, &kept, dy, rows, accumulate, err);
}
