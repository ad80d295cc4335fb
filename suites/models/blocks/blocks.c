#include "suites/models/blocks/blocks.h"

#include <stdlib.h>

#include "base/memory.h"
#include "kernels/layers/layers.h"
#include "kernels/training/training.h"
#include "suites/models/blocks/transformer.h"

static uint64_t hidden_of(const struct network *n)
{
	return n->setup->transformer.hidden;
}

static enum status open_floats(struct network *n, uint64_t count, float **out, struct error *err)
{
	return arena_alloc(n->arena, MEMORY_ACTIVATIONS, count * sizeof(float), out, err);
}

static enum status open_tensor(struct network *n, uint64_t columns, void **out, struct error *err)
{
	return arena_alloc(n->arena, MEMORY_ACTIVATIONS,
			   n->step_rows * columns * precision_bytes(n->setup->precision), out, err);
}

static enum status open_norm(struct network *n, struct kept_norm *norm, struct error *err)
{
	if (open_floats(n, n->step_rows, &norm->mean, err) != STATUS_OK ||
	    open_floats(n, n->step_rows, &norm->rstd, err) != STATUS_OK)
		return err->status;
	return open_tensor(n, hidden_of(n), &norm->y, err);
}

static enum status open_kept(struct network *n, struct kept_block *kept, struct error *err)
{
	const struct attention_shape shape = transformer_attention(n, n->step_rows);
	uint64_t h = hidden_of(n);

	if (open_norm(n, &kept->norm[0], err) != STATUS_OK ||
	    open_tensor(n, 3 * h, &kept->qkv, err) != STATUS_OK ||
	    open_tensor(n, h, &kept->o, err) != STATUS_OK ||
	    open_floats(n, attention_row_values(&shape), &kept->lse, err) != STATUS_OK ||
	    open_tensor(n, h, &kept->middle, err) != STATUS_OK ||
	    open_norm(n, &kept->norm[1], err) != STATUS_OK ||
	    open_tensor(n, 4 * h, &kept->before, err) != STATUS_OK)
		return err->status;
	return open_tensor(n, 4 * h, &kept->after, err);
}

static enum status open_scratch(struct network *n, struct error *err)
{
	const struct attention_shape shape = transformer_attention(n, n->step_rows);
	size_t bytes = precision_bytes(n->setup->precision);
	uint64_t h = hidden_of(n), table = n->setup->transformer.vocabulary;
	struct blocks *b = &n->blocks;

	if (n->setup->transformer.sequence > table)
		table = n->setup->transformer.sequence;
	if (arena_alloc(n->arena, MEMORY_TRANSIENT, n->step_rows * 4 * h * bytes, &b->wide, err) !=
		    STATUS_OK ||
	    arena_alloc(n->arena, MEMORY_TRANSIENT, n->step_rows * h * bytes, &b->narrow, err) !=
		    STATUS_OK ||
	    arena_alloc(n->arena, MEMORY_WORKSPACE, attention_row_values(&shape) * sizeof(float),
			&b->delta, err) != STATUS_OK ||
	    arena_alloc(n->arena, MEMORY_WORKSPACE, layer_norm_scratch_bytes(h), &b->norm_sums,
			err) != STATUS_OK ||
	    arena_alloc(n->arena, MEMORY_WORKSPACE, output_gradient_scratch_bytes(4 * h),
			&b->bias_sums, err) != STATUS_OK ||
	    arena_alloc(n->arena, MEMORY_WORKSPACE, embedding_scratch_bytes(n->step_rows, table),
			&b->counts, err) != STATUS_OK)
		return err->status;
	return arena_alloc(n->arena, MEMORY_INPUT, n->step_rows * sizeof(int32_t), &b->positions,
			   err);
}

enum status block_buffers_open(struct network *n, struct error *err)
{
	struct blocks *b = &n->blocks;
	size_t first = 1, last = n->setup->layers - 1;

	if (n->setup->kind != MODEL_TRANSFORMER)
		return STATUS_OK;
	if (open_scratch(n, err) != STATUS_OK || open_norm(n, &b->head, err) != STATUS_OK)
		return err->status;
	for (size_t l = first; l < last; l++) {
		if (l > first && setup_recomputes_blocks(n->setup))
			b->kept[l] = b->kept[first];
		else if (open_kept(n, &b->kept[l], err) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

static enum status copy_ids(struct stream *stream, void *memory, int32_t *ids, uint64_t count,
			    struct error *err)
{
	enum status status = backend_copy(stream, memory, ids, count * sizeof(*ids), err);

	if (status == STATUS_OK)
		status = backend_stream_synchronize(stream, err);
	free(ids);
	return status;
}

enum status blocks_fill_tokens(const struct network *n, struct stream *stream, void *memory,
			       uint64_t row, uint64_t rows, struct error *err)
{
	int32_t *ids = xmalloc(rows * sizeof(*ids));

	for (uint64_t r = 0; r < rows; r++)
		ids[r] = setup_token(n->setup, row + r);
	return copy_ids(stream, memory, ids, rows, err);
}

enum status blocks_fill_positions(struct network *n, struct stream *stream, struct error *err)
{
	int32_t *ids = xmalloc(n->step_rows * sizeof(*ids));

	for (uint64_t r = 0; r < n->step_rows; r++)
		ids[r] = (int32_t)(r % n->setup->transformer.sequence);
	return copy_ids(stream, n->blocks.positions, ids, n->step_rows, err);
}

static enum status embed(struct network *n, struct stream *stream, uint64_t row, uint64_t rows,
			 struct error *err)
{
	struct embedding_gather_arguments gather = {
		.table = transformer_weights(n, 0, EMBEDDING_TABLE),
		.position = transformer_weights(n, 0, EMBEDDING_POSITION),
		.ids = network_activation(n, 0, row),
		.y = network_activation(n, 1, row),
		.precision = setup_storage(n->setup),
		.count = rows,
		.columns = hidden_of(n),
		.positions = n->setup->transformer.sequence,
	};

	return backend_launch(stream, "embedding_gather", &gather, err);
}

static enum status embed_backward(struct network *n, struct stream *stream, uint64_t row,
				  uint64_t rows, const void *dy, bool accumulate, struct error *err)
{
	struct embedding_scatter_add_arguments scatter = {
		.dy = dy,
		.ids = network_activation(n, 0, row),
		.dtable = transformer_gradients(n, 0, EMBEDDING_TABLE),
		.scratch = n->blocks.counts,
		.precision = setup_storage(n->setup),
		.count = rows,
		.columns = hidden_of(n),
		.rows = n->setup->transformer.vocabulary,
		.keep = accumulate ? 1 : 0,
	};

	if (backend_launch(stream, "embedding_scatter_add", &scatter, err) != STATUS_OK)
		return err->status;
	scatter.ids = n->blocks.positions;
	scatter.dtable = transformer_gradients(n, 0, EMBEDDING_POSITION);
	scatter.rows = n->setup->transformer.sequence;
	return backend_launch(stream, "embedding_scatter_add", &scatter, err);
}

static struct linear head_linear(const struct network *n, size_t l)
{
	return (struct linear){ .layer = l,
				.weight = HEAD_WEIGHT,
				.in = hidden_of(n),
				.out = n->setup->transformer.vocabulary };
}

static enum status head(struct network *n, struct stream *stream, size_t l, uint64_t row,
			uint64_t rows, struct error *err)
{
	const struct linear logits = head_linear(n, l);

	if (transformer_norm(n, stream, l, HEAD_GAMMA, network_activation(n, l, row),
			     &n->blocks.head, rows, err) != STATUS_OK)
		return err->status;
	return transformer_linear(n, stream, &logits, n->blocks.head.y,
				  network_activation(n, l + 1, row), rows, err);
}

static enum status head_backward(struct network *n, struct stream *stream, size_t l, uint64_t row,
				 uint64_t rows, void *dy, bool accumulate, struct error *err)
{
	const struct linear logits = head_linear(n, l);

	if (transformer_linear_backward(n, stream, &logits, n->blocks.head.y, dy, n->blocks.narrow,
					rows, accumulate, err) != STATUS_OK)
		return err->status;
	return transformer_norm_backward(n, stream, l, HEAD_GAMMA, network_activation(n, l, row),
					 &n->blocks.head, n->blocks.narrow, rows, accumulate, err);
}

enum status blocks_forward(struct network *n, struct stream *stream, size_t l, uint64_t row,
			   uint64_t rows, struct error *err)
{
	switch (n->local.layer[l].kind) {
	case LAYER_EMBEDDING:
		return embed(n, stream, row, rows, err);
	case LAYER_HEAD:
		return head(n, stream, l, row, rows, err);
	default:
		return transformer_forward(n, stream, l, row, rows, err);
	}
}

enum status blocks_backward(struct network *n, struct stream *stream, size_t l, uint64_t row,
			    uint64_t rows, void *dy, bool accumulate, struct error *err)
{
	switch (n->local.layer[l].kind) {
	case LAYER_EMBEDDING:
		return embed_backward(n, stream, row, rows, dy, accumulate, err);
	case LAYER_HEAD:
		return head_backward(n, stream, l, row, rows, dy, accumulate, err);
	default:
		return transformer_backward(n, stream, l, row, rows, dy, accumulate, err);
	}
}

enum status blocks_input_gradient(struct network *n, struct stream *stream, size_t l, uint64_t rows,
				  const void *dy, void *dx, struct error *err)
{
	struct residual_add_arguments add = {
		.a = dy,
		.b = n->blocks.narrow,
		.y = dx,
		.precision = setup_storage(n->setup),
		.count = rows * hidden_of(n),
	};

	if (n->local.layer[l].kind == LAYER_BLOCK)
		return backend_launch(stream, "residual_add", &add, err);
	return backend_copy(stream, dx, n->blocks.narrow,
			    add.count * precision_bytes(n->setup->precision), err);
}
