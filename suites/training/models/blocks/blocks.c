#include "suites/training/models/blocks/blocks.h"

#include <stdlib.h>

#include "base/memory.h"
#include "kernels/layers/layers.h"
#include "kernels/training/training.h"
#include "suites/training/models/gemm/layer.h"

static uint64_t model_blocks_hidden_size(const struct network *n)
{
	return n->setup->transformer.hidden;
}

static enum status model_blocks_open_tensor(struct network *n, uint64_t rows, uint64_t columns,
					    void **out, struct error *err)
{
	return arena_alloc(n->arena, MEMORY_ACTIVATIONS,
			   rows * columns * precision_bytes(n->setup->precision), out, err);
}

/* `y`: the outputs are kept, not recomputed. */
static size_t model_blocks_norm_kept(const struct network *n, struct kept_norm *norm, uint64_t rows,
				     bool y, struct kept_tensor *out)
{
	uint64_t share = rows / network_row_shares(n, 1);

	out[0] = (struct kept_tensor){ &norm->mean, share * sizeof(*norm->mean) };
	out[1] = (struct kept_tensor){ &norm->rstd, share * sizeof(*norm->rstd) };
	out[2] = (struct kept_tensor){ &norm->y, share * model_blocks_hidden_size(n) *
							 precision_bytes(n->setup->precision) };
	return y ? 3 : 2;
}

static size_t model_blocks_kept_of_one(const struct network *n, struct kept_block *kept,
				       uint64_t rows, struct kept_tensor *out)
{
	const struct attention_shape shape = transformer_attention(n, rows);
	uint64_t bytes = rows * model_blocks_hidden_size(n) * precision_bytes(n->setup->precision),
		 mine = bytes / (uint64_t)n->partition.parts;
	bool all = !n->setup->pointwise;
	size_t count = model_blocks_norm_kept(n, &kept->norm[0], rows, all, out);

	count += model_blocks_norm_kept(n, &kept->norm[1], rows, all, out + count);
	out[count++] = (struct kept_tensor){ &kept->qkv, 3 * mine };
	out[count++] = (struct kept_tensor){ &kept->o, mine };
	out[count++] = (struct kept_tensor){ &kept->lse, kernel_attention_row_values(&shape) *
								 sizeof(*kept->lse) };
	out[count++] = (struct kept_tensor){ &kept->middle, bytes / network_row_shares(n, 1) };
	out[count++] = (struct kept_tensor){ &kept->before, 4 * mine };
	if (all)
		out[count++] = (struct kept_tensor){ &kept->after, 4 * mine };
	return count;
}

size_t model_blocks_kept(struct network *n, size_t l, uint64_t rows, struct kept_tensor *out)
{
	switch (model_layer_kind(n->setup, l)) {
	case LAYER_CONVOLUTION:
		return blocks_images_kept(n, l, rows, out);
	case LAYER_BLOCK:
		return model_blocks_kept_of_one(n, &n->blocks.kept[l], rows, out);
	case LAYER_HEAD:
		return model_blocks_norm_kept(n, &n->blocks.head, rows, true, out);
	default:
		return 0;
	}
}

static enum status model_blocks_open_kept(struct network *n, size_t l, uint64_t rows,
					  struct error *err)
{
	struct kept_tensor kept[LAYER_MAX_KEPT];
	size_t count = model_blocks_kept(n, l, rows, kept);

	for (size_t i = 0; i < count; i++)
		arena_alloc(n->arena, MEMORY_ACTIVATIONS, kept[i].bytes, kept[i].place, err);
	return err->status;
}

/* Memory shared by all blocks that recompute the outputs of norms and GELU. */
static enum status model_blocks_open_pointwise(struct network *n, struct error *err)
{
	struct block_scratch *b = &n->blocks;
	uint64_t before = n->arena->bytes[MEMORY_ACTIVATIONS],
		 mine = model_blocks_hidden_size(n) / (uint64_t)n->partition.parts;

	if (!n->setup->pointwise)
		return err->status;
	model_blocks_open_tensor(n, n->step_rows / network_row_shares(n, 1),
				 model_blocks_hidden_size(n), &b->norm_output, err);
	model_blocks_open_tensor(n, n->step_rows, 4 * mine, &b->gelu_output, err);
	b->kept_bytes += n->arena->bytes[MEMORY_ACTIVATIONS] - before;
	return err->status;
}

/* Elements of the first two tensors of a norm, scale and shift, including the gap between them. */
static uint64_t model_blocks_norm_elements(const struct network *n, size_t l, size_t gamma)
{
	const struct model_tensor *t = n->local.layer[l].tensor;

	return t[gamma + 1].first + t[gamma + 1].count - t[gamma].first;
}

static const size_t block_norms[] = { BLOCK_GAMMA1, BLOCK_GAMMA2 };
static const size_t head_norms[] = { HEAD_GAMMA };

/* Returns the norms of a layer. */
static const size_t *model_blocks_norms_of(const struct network *n, size_t l, size_t *count)
{
	switch (n->local.layer[l].kind) {
	case LAYER_BLOCK:
		*count = 2;
		return block_norms;
	case LAYER_HEAD:
		*count = 1;
		return head_norms;
	default:
		*count = 0;
		return NULL;
	}
}

static uint64_t model_blocks_norm_gradients(const struct network *n)
{
	uint64_t elements = 0;

	for (size_t l = n->partition.first; l < n->partition.last; l++) {
		size_t count;
		const size_t *norms = model_blocks_norms_of(n, l, &count);

		for (size_t i = 0; i < count; i++)
			elements += model_blocks_norm_elements(n, l, norms[i]);
	}
	return elements;
}

/* Copies the gradients of all norms to one buffer, or with `back` from it; returns their number. */
static uint64_t model_blocks_copy_norm_gradients(struct network *n, bool back, struct error *err)
{
	uint64_t at = 0;

	for (size_t l = n->partition.first; l < n->partition.last; l++) {
		size_t count;
		const size_t *norms = model_blocks_norms_of(n, l, &count);

		for (size_t i = 0; i < count; i++) {
			void *own = network_gradients(n, l, norms[i]),
			     *packed = network_element(n, n->blocks.norm_gradients, at);
			uint64_t elements = model_blocks_norm_elements(n, l, norms[i]);

			network_copy(n, back ? own : packed, back ? packed : own,
				     elements * precision_bytes(n->setup->precision), err);
			at += elements;
		}
	}
	return at;
}

enum status model_blocks_sum_norm_gradients(struct network *n, struct error *err)
{
	uint64_t count = model_blocks_copy_norm_gradients(n, false, err);

	n->links->start(n->links->state, PARTS_SUM, n->blocks.norm_gradients, NULL, count, err);
	n->links->wait(n->links->state, err);
	model_blocks_copy_norm_gradients(n, true, err);
	return err->status;
}

static bool model_blocks_has_any(const struct network *n)
{
	for (size_t l = n->partition.first; l < n->partition.last; l++)
		if (n->local.layer[l].kind == LAYER_BLOCK)
			return true;
	return false;
}

/* Allocates a buffer of whole rows if the tensors that one part of a block keeps are too small. */
static enum status model_blocks_open_narrow(struct network *n, struct error *err)
{
	uint64_t bytes =
		n->step_rows * model_blocks_hidden_size(n) * precision_bytes(n->setup->precision);
	struct block_scratch *b = &n->blocks;

	if (n->setup->no_aliasing && model_blocks_has_any(n))
		arena_alloc(n->arena, MEMORY_TRANSIENT, 4 * bytes / (uint64_t)n->partition.parts,
			    &b->inner, err);
	if (err->status != STATUS_OK || (n->partition.parts == 1 && !n->setup->no_aliasing))
		return err->status;
	b->narrow = (char *)n->activations[n->setup->layers] + n->room.narrow_at;
	if (n->room.narrow == 0)
		arena_alloc(n->arena, MEMORY_TRANSIENT, bytes, &b->narrow, err);
	if (n->room.bytes == 0)
		arena_share(n->arena, MEMORY_TRANSIENT, n->room.narrow);
	b->below_head = n->room.narrow > 0 ? n->transient[0] : b->narrow;
	return err->status;
}

/* Places gradients in the kept tensors of layers: see buffer_alias.h. */
static void model_blocks_share_kept(struct network *n)
{
	uint64_t bytes = n->step_rows * model_blocks_hidden_size(n) *
			 precision_bytes(n->setup->precision),
		 parts = (uint64_t)n->partition.parts;

	if (n->setup->no_aliasing)
		return;
	if (model_blocks_has_any(n))
		arena_share(n->arena, MEMORY_TRANSIENT, 4 * bytes / parts);
	if (model_blocks_has_any(n) && parts == 1)
		arena_share(n->arena, MEMORY_TRANSIENT, bytes);
	if (n->room.logits == 0 || parts > 1)
		return;
	n->transient[0] = n->transient[1] = n->blocks.head.y;
	arena_share(n->arena, MEMORY_TRANSIENT, bytes);
}

static enum status model_blocks_open_scratch(struct network *n, struct error *err)
{
	const struct attention_shape shape = transformer_attention(n, n->step_rows);
	size_t bytes = precision_bytes(n->setup->precision);
	uint64_t h = model_blocks_hidden_size(n), table = n->setup->transformer.vocabulary,
		 statistics = n->step_rows * sizeof(struct softmax_statistics);
	struct block_scratch *b = &n->blocks;

	if (n->setup->transformer.sequence > table)
		table = n->setup->transformer.sequence;
	if (n->partition.sequence) {
		arena_alloc(n->arena, MEMORY_COMMUNICATION, n->step_rows * h * bytes, &b->gathered,
			    err);
		arena_alloc(n->arena, MEMORY_COMMUNICATION, model_blocks_norm_gradients(n) * bytes,
			    &b->norm_gradients, err);
	}
	if (n->partition.parts > 1 && network_has_loss(n)) {
		arena_alloc(n->arena, MEMORY_COMMUNICATION, statistics, &b->statistics, err);
		arena_alloc(n->arena, MEMORY_COMMUNICATION,
			    statistics * (uint64_t)n->partition.parts, &b->all_statistics, err);
	}
	model_blocks_open_narrow(n, err);
	arena_alloc(n->arena, MEMORY_WORKSPACE, kernel_attention_row_values(&shape) * sizeof(float),
		    &b->delta, err);
	arena_alloc(n->arena, MEMORY_WORKSPACE, layer_norm_scratch_bytes(h), &b->norm_sums, err);
	arena_alloc(n->arena, MEMORY_WORKSPACE, kernel_training_scratch_bytes(4 * h), &b->bias_sums,
		    err);
	arena_alloc(n->arena, MEMORY_WORKSPACE, layers_embedding_scratch_bytes(n->step_rows, table),
		    &b->counts, err);
	return arena_alloc(n->arena, MEMORY_INPUT, n->step_rows * sizeof(int32_t), &b->positions,
			   err);
}

enum status model_blocks_scratch_open(struct network *n, struct error *err)
{
	if (setup_has_images(n->setup))
		return image_buffers_scratch_open(n, err);
	return n->setup->kind == MODEL_TRANSFORMER ? model_blocks_open_scratch(n, err)
						   : err->status;
}

enum status model_blocks_buffers_open(struct network *n, struct error *err)
{
	struct block_scratch *b = &n->blocks;
	const struct kept_block *shared = NULL; /* by blocks that recompute their tensors */
	bool again = setup_recomputes_blocks(n->setup);
	uint64_t before;

	if (setup_has_images(n->setup))
		return image_buffers_open(n, err);
	if (n->setup->kind != MODEL_TRANSFORMER)
		return STATUS_OK;
	model_blocks_open_scratch(n, err);
	model_blocks_open_pointwise(n, err);
	for (size_t l = n->partition.first; l < n->partition.last; l++) {
		if (n->local.layer[l].kind == LAYER_HEAD)
			model_blocks_open_kept(n, l, n->partition.kept, err);
		if (n->local.layer[l].kind != LAYER_BLOCK)
			continue;
		if (shared) {
			b->kept[l] = *shared;
			continue;
		}
		before = n->arena->bytes[MEMORY_ACTIVATIONS];
		b->kept[l].after = b->gelu_output;
		model_blocks_open_kept(n, l, again ? n->step_rows : n->partition.kept, err);
		b->kept_bytes += n->arena->bytes[MEMORY_ACTIVATIONS] - before;
		shared = again ? &b->kept[l] : NULL;
	}
	if (err->status == STATUS_OK)
		model_blocks_share_kept(n);
	return err->status;
}

enum status model_blocks_fill_tokens(const struct network *n, void *memory, uint64_t row,
				     uint64_t rows, struct error *err)
{
	int32_t *ids = xmalloc(rows * sizeof(*ids));

	for (uint64_t r = 0; r < rows; r++)
		ids[r] = setup_token(n->setup, row + r);
	return network_upload(n, memory, ids, rows * sizeof(*ids), err);
}

enum status model_blocks_fill_positions(struct network *n, struct error *err)
{
	int32_t *ids = xmalloc(n->step_rows * sizeof(*ids));

	for (uint64_t r = 0; r < n->step_rows; r++)
		ids[r] = (int32_t)(r % n->setup->transformer.sequence);
	return network_upload(n, n->blocks.positions, ids, n->step_rows * sizeof(*ids), err);
}

/* With a divided vocabulary, only the first rank adds the positions. */
static enum status model_blocks_embed(const struct pass *p, struct error *err)
{
	struct network *n = p->n;
	void *y = network_activation(n, 1, p->row),
	     *summands = n->partition.sequence ? n->blocks.gathered : y;
	struct embedding_gather_arguments gather = {
		.table = network_weights(n, 0, EMBEDDING_TABLE),
		.position =
			n->partition.part == 0 ? network_weights(n, 0, EMBEDDING_POSITION) : NULL,
		.ids = network_activation(n, 0, p->row),
		.y = summands,
		.precision = setup_storage(n->setup),
		.count = p->rows,
		.columns = model_blocks_hidden_size(n),
		.positions = n->setup->transformer.sequence,
	};

	gather.rows = model_partition_vocabulary(n->setup, &n->partition, &gather.first);
	network_launch(n, "embedding_gather", &gather, err);
	return transformer_sum(p, summands, y, err);
}

static enum status model_blocks_embed_backward(const struct pass *p, void *dy, struct error *err)
{
	struct network *n = p->n;
	struct embedding_scatter_add_arguments scatter = {
		.dy = transformer_gather(p, dy, err),
		.ids = network_activation(n, 0, p->row),
		.dtable = network_gradients(n, 0, EMBEDDING_TABLE),
		.scratch = n->blocks.counts,
		.precision = setup_storage(n->setup),
		.count = p->rows,
		.columns = model_blocks_hidden_size(n),
		.keep = p->accumulate ? 1 : 0,
	};

	scatter.rows = model_partition_vocabulary(n->setup, &n->partition, &scatter.first);
	network_launch(n, "embedding_scatter_add", &scatter, err);
	scatter.ids = n->blocks.positions;
	scatter.dtable = network_gradients(n, 0, EMBEDDING_POSITION);
	scatter.first = 0;
	scatter.rows = n->setup->transformer.sequence;
	return network_launch(n, "embedding_scatter_add", &scatter, err);
}

/* With a divided vocabulary, each rank computes the logits of its part. */
static struct linear model_blocks_head_linear(const struct pass *p)
{
	return (struct linear){ .weight = HEAD_WEIGHT,
				.in = model_blocks_hidden_size(p->n),
				.out = p->n->local.layer[p->layer].out };
}

static struct kept_norm model_blocks_head_norm(const struct pass *p)
{
	return transformer_kept_norm(p->n, &p->n->blocks.head, p->row % p->n->partition.kept);
}

static enum status model_blocks_head(const struct pass *p, struct error *err)
{
	const struct linear logits = model_blocks_head_linear(p);
	const struct kept_norm norm = model_blocks_head_norm(p);

	transformer_norm(p, HEAD_GAMMA, network_activation(p->n, p->layer, p->row), &norm, err);
	if (network_loss_in_chunks(p->n))
		return err->status;
	return transformer_linear(p, &logits, transformer_gather(p, norm.y, err),
				  network_activation(p->n, p->layer + 1, p->row), err);
}

/* The gradient of the head's input may replace `y`, the norm's output, chunk by chunk. */
static enum status model_blocks_head_in_chunks(const struct pass *p, void *y, struct error *err)
{
	struct network *n = p->n;
	const struct linear product = model_blocks_head_linear(p);
	void *logits = n->activations[p->layer + 1];
	struct pass chunk = *p;

	for (uint64_t at = 0; at < p->rows; at += chunk.rows) {
		void *x = network_element(n, y, at * model_blocks_hidden_size(n)),
		     *dx = network_element(n, n->blocks.below_head,
					   at * model_blocks_hidden_size(n));

		chunk.rows = p->rows - at < n->room.rows ? p->rows - at : n->room.rows;
		chunk.accumulate = p->accumulate || at > 0;
		transformer_linear(&chunk, &product, x, logits, err);
		gemm_layer_loss_of(n, logits, p->row + at, chunk.rows, n->gradient_scale, err);
		transformer_linear_backward(&chunk, &product, x, logits, dx, true, err);
	}
	return err->status;
}

static enum status model_blocks_head_backward(const struct pass *p, void *dy, struct error *err)
{
	struct network *n = p->n;
	const struct linear logits = model_blocks_head_linear(p);
	const struct kept_norm norm = model_blocks_head_norm(p);

	if (n->partition.parts == 1 && !n->setup->no_aliasing)
		n->blocks.below_head = norm.y;
	if (network_loss_in_chunks(n))
		model_blocks_head_in_chunks(p, norm.y, err);
	else
		transformer_linear_backward(p, &logits, transformer_gather(p, norm.y, err), dy,
					    n->blocks.below_head, true, err);
	return transformer_norm_backward(p, HEAD_GAMMA, network_activation(n, p->layer, p->row),
					 &norm, transformer_share(p, n->blocks.below_head), err);
}

enum status model_blocks_forward(const struct pass *p, struct error *err)
{
	switch (p->n->local.layer[p->layer].kind) {
	case LAYER_EMBEDDING:
		return model_blocks_embed(p, err);
	case LAYER_HEAD:
		return model_blocks_head(p, err);
	case LAYER_CONVOLUTION:
		return blocks_images_forward(p, err);
	default:
		return transformer_forward(p, err);
	}
}

enum status model_blocks_backward(const struct pass *p, void *dy, struct error *err)
{
	switch (p->n->local.layer[p->layer].kind) {
	case LAYER_EMBEDDING:
		return model_blocks_embed_backward(p, dy, err);
	case LAYER_HEAD:
		return model_blocks_head_backward(p, dy, err);
	case LAYER_CONVOLUTION:
		return blocks_images_backward(p, dy, err);
	default:
		return transformer_backward(p, dy, err);
	}
}

enum status model_blocks_input_gradient(const struct pass *p, const void *dy, void *dx,
					struct error *err)
{
	struct network *n = p->n;
	const void *head;

	if (n->local.layer[p->layer].kind == LAYER_CONVOLUTION)
		return blocks_images_input_gradient(p, dx, err);
	if (n->local.layer[p->layer].kind == LAYER_BLOCK)
		return transformer_add_residual(p, dy, transformer_share(p, n->blocks.narrow), dx,
						err);
	head = transformer_share(p, n->blocks.below_head);
	if (head == dx)
		return err->status;
	return network_copy(n, dx, head,
			    p->rows / network_row_shares(n, p->layer) *
				    model_blocks_hidden_size(n) *
				    precision_bytes(n->setup->precision),
			    err);
}
