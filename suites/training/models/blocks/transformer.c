#include "suites/training/models/blocks/blocks.h"

#include <math.h>

#include "kernels/layers/layers.h"
#include "kernels/training/training.h"
#include "suites/training/models/gemm/layer.h"
#include "suites/training/models/mode.h"

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
	uint64_t share = row / network_row_shares(n, 1);

	return (struct kept_norm){ .mean = norm->mean + share,
				   .rstd = norm->rstd + share,
				   .y = network_element(n, norm->y,
							share * n->setup->transformer.hidden) };
}

/* This rank's rows of the tensors between products. */
static uint64_t transformer_share_rows(const struct pass *p)
{
	return p->rows / network_row_shares(p->n, 1);
}

enum status transformer_norm(const struct pass *p, size_t gamma, const void *x,
			     const struct kept_norm *kept, struct error *err)
{
	const struct network *n = p->n;
	struct layer_norm_forward_arguments norm = {
		.x = x,
		.gamma = network_weights(n, p->layer, gamma),
		.beta = network_weights(n, p->layer, gamma + 1),
		.y = kept->y,
		.mean = kept->mean,
		.rstd = kept->rstd,
		.precision = setup_storage(n->setup),
		.rows = transformer_share_rows(p),
		.columns = n->setup->transformer.hidden,
		.epsilon = (float)BLOCK_NORM_EPSILON,
	};

	return network_launch(n, "layer_norm_forward", &norm, err);
}

enum status transformer_norm_backward(const struct pass *p, size_t gamma, const void *x,
				      const struct kept_norm *kept, void *dy, struct error *err)
{
	const struct network *n = p->n;
	struct layer_norm_backward_arguments norm = {
		.x = x,
		.dy = dy,
		.gamma = network_weights(n, p->layer, gamma),
		.mean = kept->mean,
		.rstd = kept->rstd,
		.dx = dy,
		.dgamma = network_gradients(n, p->layer, gamma),
		.dbeta = network_gradients(n, p->layer, gamma + 1),
		.scratch = n->blocks.norm_sums,
		.precision = setup_storage(n->setup),
		.rows = transformer_share_rows(p),
		.columns = n->setup->transformer.hidden,
		.keep = p->accumulate ? 1 : 0,
	};

	return network_launch(n, "layer_norm_backward", &norm, err);
}

static enum status transformer_add_bias(const struct pass *p, const struct linear *linear, void *y,
					uint64_t rows, struct error *err)
{
	struct bias_relu_arguments bias = {
		.y = y,
		.bias = network_weights(p->n, p->layer, linear->weight + 1),
		.precision = setup_storage(p->n->setup),
		.rows = rows,
		.columns = linear->out,
	};

	return network_launch(p->n, "bias_relu", &bias, err);
}

/*
 * Adds the bias in the GEMM's epilogue. Not every library supports this for every precision and
 * shape.
 */
static bool transformer_try_fused(const struct pass *p, const struct linear *linear,
				  struct gemm gemm, struct error *err)
{
	enum fusion *fusion = &p->n->fusions[p->layer];
	struct error own = ERROR_NONE;

	if (p->n->idle || err->status != STATUS_OK)
		return true;
	if (*fusion == FUSION_OFF || p->n->setup->fusion == FUSION_OFF)
		return false;
	gemm.epilogue = EPILOGUE_BIAS;
	gemm.bias = network_weights(p->n, p->layer, linear->weight + 1);
	if (gemm_tuning_multiply(p->n, p->layer, OVERLAP_FORWARD, &gemm, &own) == STATUS_OK) {
		*fusion = FUSION_ON;
		return true;
	}
	if (own.status == STATUS_UNSUPPORTED && p->n->setup->fusion == FUSION_AUTO) {
		*fusion = FUSION_OFF;
		return false;
	}
	error_set(err, own.status, "%s", own.message);
	return true;
}

static enum status transformer_start_rows(const struct pass *p, enum part_collective collective,
					  void *whole, void *share, struct error *err)
{
	return p->n->links->start(p->n->links->state, collective, whole, share,
				  p->rows * p->n->setup->transformer.hidden, err);
}

void *transformer_gather(const struct pass *p, void *share, struct error *err)
{
	if (!p->n->partition.sequence || err->status != STATUS_OK)
		return share;
	transformer_start_rows(p, PARTS_GATHER, p->n->blocks.gathered, share, err);
	p->n->links->wait(p->n->links->state, err);
	return p->n->blocks.gathered;
}

void *transformer_share(const struct pass *p, void *whole)
{
	const struct network *n = p->n;
	uint64_t part = network_row_shares(n, 1) > 1 ? (uint64_t)n->partition.part : 0;

	return network_element(n, whole,
			       part * transformer_share_rows(p) * n->setup->transformer.hidden);
}

enum status transformer_sum(const struct pass *p, void *summands, void *y, struct error *err)
{
	if (!p->n->links)
		return err->status;
	transformer_start_rows(p, p->n->partition.sequence ? PARTS_SCATTER : PARTS_SUM, summands, y,
			       err);
	return p->n->links->wait(p->n->links->state, err);
}

enum status transformer_linear(const struct pass *p, const struct linear *linear, const void *x,
			       void *y, struct error *err)
{
	struct gemm gemm =
		gemm_tuning_product(p->n, PRODUCT_OUTPUTS,
				    (struct linear_size){ linear->in, linear->out, p->rows },
				    network_weights(p->n, p->layer, linear->weight), x, y);

	if (linear->has_bias && transformer_try_fused(p, linear, gemm, err))
		return err->status;
	gemm_tuning_multiply(p->n, p->layer, OVERLAP_FORWARD, &gemm, err);
	return linear->has_bias ? transformer_add_bias(p, linear, y, p->rows, err) : err->status;
}

/*
 * The same if ranks divide the inputs: each rank computes partial sums of all outputs, and the bias
 * is added after the sum over ranks. With sequence parallelism, only this rank's rows remain.
 */
static enum status transformer_linear_of_parts(const struct pass *p, const struct linear *linear,
					       const void *x, void *y, struct error *err)
{
	struct linear product = *linear;
	void *summands = p->n->partition.sequence ? p->n->blocks.narrow : y;

	if (!p->n->links)
		return transformer_linear(p, linear, x, y, err);
	product.has_bias = false;
	transformer_linear(p, &product, x, summands, err);
	transformer_sum(p, summands, y, err);
	return transformer_add_bias(p, linear, y, transformer_share_rows(p), err);
}

enum status transformer_linear_backward(const struct pass *p, const struct linear *linear,
					const void *x, void *dy, void *dx, bool sums,
					struct error *err)
{
	struct network *n = p->n;
	const struct linear_size size = { linear->in, linear->out, p->rows };
	struct gemm weights = gemm_tuning_product(n, PRODUCT_WEIGHTS, size, x, dy,
						  network_gradients(n, p->layer, linear->weight));
	struct gemm inputs =
		gemm_tuning_product(n, PRODUCT_INPUTS, size,
				    network_weights(n, p->layer, linear->weight), dy, dx);
	struct output_gradient_arguments bias = {
		.dy = dy,
		.beta = p->accumulate ? 1 : 0,
		.scratch = n->blocks.bias_sums,
		.precision = setup_storage(n->setup),
		.rows = p->rows,
		.columns = linear->out,
	};

	weights.beta = p->accumulate ? 1 : 0;
	if (linear->has_bias) {
		bias.sum = network_gradients(n, p->layer, linear->weight + 1);
		network_launch(n, "output_gradient", &bias, err);
	}
	if (!sums || !n->links) {
		gemm_tuning_multiply(n, p->layer, OVERLAP_BACKWARD, &weights, err);
		return gemm_tuning_multiply(n, p->layer, OVERLAP_BACKWARD, &inputs, err);
	}
	/*
	 * The gradients of the weights, which no other rank waits for, are computed during the sum
	 * over ranks.
	 */
	gemm_tuning_multiply(n, p->layer, OVERLAP_BACKWARD, &inputs, err);
	transformer_start_rows(p, n->partition.sequence ? PARTS_SCATTER : PARTS_SUM, dx,
			       transformer_share(p, dx), err);
	gemm_tuning_multiply(n, p->layer, OVERLAP_BACKWARD, &weights, err);
	return n->links->wait(n->links->state, err);
}

/* The GEMMs of a block. */
enum product { PRODUCT_QKV, PRODUCT_OUT, PRODUCT_UP, PRODUCT_DOWN };
static struct linear transformer_linear_of(const struct network *n, enum product product)
{
	uint64_t h = n->setup->transformer.hidden, mine = h / (uint64_t)n->partition.parts;
	const struct linear all[] = {
		[PRODUCT_QKV] = { BLOCK_QKV, h, 3 * mine, true },
		[PRODUCT_OUT] = { BLOCK_OUT, mine, h, true },
		[PRODUCT_UP] = { BLOCK_UP, h, 4 * mine, false },
		[PRODUCT_DOWN] = { BLOCK_DOWN, 4 * mine, h, true },
	};

	return all[product];
}

enum status transformer_add_residual(const struct pass *p, const void *a, const void *b, void *y,
				     struct error *err)
{
	struct residual_add_arguments add = {
		.a = a,
		.b = b,
		.y = y,
		.precision = setup_storage(p->n->setup),
		.count = transformer_share_rows(p) * p->n->setup->transformer.hidden,
	};

	return network_launch(p->n, "residual_add", &add, err);
}

/* GELU adds the bias of the up product; with `again` it has already been added. */
static enum status transformer_activate(const struct pass *p, const struct kept_block *kept,
					bool again, struct error *err)
{
	struct activation_forward_arguments gelu = {
		.x = kept->before,
		.bias = again ? NULL : network_weights(p->n, p->layer, BLOCK_UP_BIAS),
		.y = kept->after,
		.activation = ACTIVATION_GELU_TANH,
		.precision = setup_storage(p->n->setup),
		.rows = p->rows,
		.columns = transformer_linear_of(p->n, PRODUCT_UP).out,
	};

	return network_launch(p->n, "activation_forward", &gelu, err);
}

/* Kept tensors of the block for the micro-batch of the pass. */
static struct kept_block transformer_kept_of(const struct pass *p)
{
	const struct network *n = p->n;
	struct kept_block kept = n->blocks.kept[p->layer];
	uint64_t at = setup_recomputes_blocks(n->setup) ? 0 : p->row % n->partition.kept;
	uint64_t share = at / network_row_shares(n, 1), h = n->setup->transformer.hidden,
		 mine = h / (uint64_t)n->partition.parts;
	const struct attention_shape before = transformer_attention(n, at);

	for (int i = 0; i < 2; i++) {
		kept.norm[i] = transformer_kept_norm(n, &kept.norm[i], at);
		if (n->setup->pointwise)
			kept.norm[i].y = n->blocks.norm_output;
	}
	kept.qkv = network_element(n, kept.qkv, at * 3 * mine);
	kept.o = network_element(n, kept.o, at * mine);
	kept.lse += kernel_attention_row_values(&before);
	kept.middle = network_element(n, kept.middle, share * h);
	kept.before = network_element(n, kept.before, at * 4 * mine);
	if (!n->setup->pointwise)
		kept.after = network_element(n, kept.after, at * 4 * mine);
	return kept;
}

/* Computes all tensors that backward needs: everything except the last product. */
static enum status transformer_forward_kept(const struct pass *p, const void *x,
					    const struct kept_block *kept, struct error *err)
{
	const struct linear qkv = transformer_linear_of(p->n, PRODUCT_QKV),
			    out = transformer_linear_of(p->n, PRODUCT_OUT),
			    up = transformer_linear_of(p->n, PRODUCT_UP);
	struct attention_shape shape = transformer_attention(p->n, p->rows);
	struct attention_forward_arguments attention = {
		.shape = shape,
		.q = kept->qkv,
		.k = network_element(p->n, kept->qkv, shape.ld_o),
		.v = network_element(p->n, kept->qkv, 2 * shape.ld_o),
		.o = kept->o,
		.lse = kept->lse,
	};

	transformer_norm(p, BLOCK_GAMMA1, x, &kept->norm[0], err);
	transformer_linear(p, &qkv, transformer_gather(p, kept->norm[0].y, err), kept->qkv, err);
	network_launch(p->n, "attention_forward", &attention, err);
	transformer_linear_of_parts(p, &out, kept->o, kept->middle, err);
	transformer_add_residual(p, x, kept->middle, kept->middle, err);
	transformer_norm(p, BLOCK_GAMMA2, kept->middle, &kept->norm[1], err);
	transformer_linear(p, &up, transformer_gather(p, kept->norm[1].y, err), kept->before, err);
	return transformer_activate(p, kept, false, err);
}

enum status transformer_forward(const struct pass *p, struct error *err)
{
	const struct linear down = transformer_linear_of(p->n, PRODUCT_DOWN);
	const struct kept_block kept = transformer_kept_of(p);
	void *y = network_activation(p->n, p->layer + 1, p->row);

	transformer_forward_kept(p, network_activation(p->n, p->layer, p->row), &kept, err);
	transformer_linear_of_parts(p, &down, kept.after, y, err);
	return transformer_add_residual(p, kept.middle, y, y, err);
}

/*
 * Adds the gradient of the MLP branch to dy, which becomes the gradient of the tensor between
 * attention and MLP.
 */
static enum status transformer_backward_mlp(const struct pass *p, const struct kept_block *kept,
					    void *dy, struct error *err)
{
	struct network *n = p->n;
	const struct linear down = transformer_linear_of(n, PRODUCT_DOWN);
	struct linear up = transformer_linear_of(n, PRODUCT_UP);
	void *inner = transformer_share(p, n->blocks.narrow);
	/* With aliasing, each tensor replaces one that earlier products have already read. */
	void *wide = n->blocks.inner ? n->blocks.inner : kept->after;
	struct activation_backward_arguments gelu = {
		.x = kept->before,
		.dy = wide,
		.dx = wide,
		.activation = ACTIVATION_GELU_TANH,
		.precision = setup_storage(n->setup),
		.count = p->rows * up.out,
	};

	up.has_bias = true;
	if (n->setup->pointwise) {
		transformer_activate(p, kept, true, err);
		transformer_norm(p, BLOCK_GAMMA2, kept->middle, &kept->norm[1], err);
	}
	transformer_linear_backward(p, &down, kept->after, transformer_gather(p, dy, err), wide,
				    false, err);
	network_launch(n, "activation_backward", &gelu, err);
	transformer_linear_backward(p, &up, transformer_gather(p, kept->norm[1].y, err), wide,
				    n->blocks.narrow, true, err);
	transformer_norm_backward(p, BLOCK_GAMMA2, kept->middle, &kept->norm[1], inner, err);
	return transformer_add_residual(p, dy, inner, dy, err);
}

/* Gradient of the attention branch, which model_blocks_input_gradient() adds to dy. */
static enum status transformer_backward_attention(const struct pass *p, const void *x,
						  const struct kept_block *kept, void *dy,
						  struct error *err)
{
	struct network *n = p->n;
	const struct linear qkv = transformer_linear_of(n, PRODUCT_QKV),
			    out = transformer_linear_of(n, PRODUCT_OUT);
	struct attention_shape shape = transformer_attention(n, p->rows);
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

	if (n->setup->pointwise)
		transformer_norm(p, BLOCK_GAMMA1, x, &kept->norm[0], err);
	transformer_linear_backward(p, &out, kept->o, transformer_gather(p, dy, err),
				    n->blocks.narrow, false, err);
	network_launch(n, "attention_backward", &attention, err);
	transformer_linear_backward(p, &qkv, transformer_gather(p, kept->norm[0].y, err), dqkv,
				    n->blocks.narrow, true, err);
	return transformer_norm_backward(p, BLOCK_GAMMA1, x, &kept->norm[0],
					 transformer_share(p, n->blocks.narrow), err);
}

enum status transformer_backward(const struct pass *p, void *dy, struct error *err)
{
	const struct kept_block kept = transformer_kept_of(p);
	const void *x = network_activation(p->n, p->layer, p->row);

	if (setup_recomputes_blocks(p->n->setup))
		transformer_forward_kept(p, x, &kept, err);
	if (p->n->partition.parts == 1 && !p->n->setup->no_aliasing)
		p->n->blocks.narrow = kept.before;
	transformer_backward_mlp(p, &kept, dy, err);
	return transformer_backward_attention(p, x, &kept, dy, err);
}
