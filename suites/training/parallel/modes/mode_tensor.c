/*
 * Tensor parallel: the ranks divide the width of every pair of layers. The first layer of a pair is
 * column-parallel: its inputs are whole, and each rank computes a part of its outputs. The second
 * is row-parallel: each rank computes partial sums of all outputs, which are then summed over the
 * ranks. In backward the same holds in the opposite direction. A last layer without a partner is
 * computed by every rank.
 *
 * The batch is processed in chunks: while the outputs of one chunk are summed, the next is
 * computed. In backward, gradients of inputs come first, and the gradients of parameters, which no
 * other rank waits for, are computed during the sums. Without overlap the batch is one chunk, and
 * every sum is waited for. A transformer is divided inside its blocks: tensor_blocks_*().
 */
#include <stdlib.h>

#include "base/memory.h"
#include "suites/training/models/buffer_alias.h"
#include "suites/training/models/gemm/layer.h"
#include "suites/training/parallel/modes/data_parallel.h"
#include "suites/training/parallel/trainer/trainer.h"
#include "suites/training/parallel/trainer/timeline.h"

#define TENSOR_CHUNKS_MAX 2

/* State of the mode `tensor` in addition to the network. */
struct tensor {
	struct pair_buffers pairs;
	struct event *ready; /* partial sums that the communication stream may sum */
	struct event *summed[TENSOR_CHUNKS_MAX];
	uint64_t chunks;
};

/*
 * Tensor parallelism of a transformer (Shoeybi et al. 2019, arXiv:1909.08053): every rank has some
 * heads of each block's attention and some inner columns of its MLP; the sums after both products,
 * and in backward of the gradients of their inputs, are over all ranks. Each rank has some tokens
 * of the vocabulary: rows of the embedding table and outputs of the head, whose loss combines the
 * ranks' maxima and sums of each row. With sequence parallelism (Korthikanti et al. 2022,
 * arXiv:2205.05198), the tensors between the products are divided by rows instead of computed and
 * kept by every rank.
 */

/* Members of struct mode, for a transformer. */
static const char *mode_tensor_blocks_refusal(const struct setup *setup)
{
	if (setup->kind != MODEL_TRANSFORMER)
		return "sequence parallelism works only with model = transformer";
	return setup->ranks < 2 ? "tensor parallelism needs at least two devices"
				: data_parallel_accumulation_refusal(setup, setup->batch);
}

static void mode_tensor_blocks_partition(const struct setup *setup, int rank,
					 struct rank_partition *partition)
{
	*partition = (struct rank_partition){ .last = setup->layers,
					      .rows = setup->batch,
					      .part = rank,
					      .parts = setup->ranks,
					      .sequence = setup->mode->sequence,
					      .kept = setup->batch / setup_accumulate(setup) };
}

static enum status mode_tensor_blocks_open(struct trainer *t, struct error *err)
{
	return trainer_parts_open(t, t->team->all,
				  t->setup->no_overlap ? STREAM_COMPUTE : STREAM_PREVIOUS, err);
}

static enum status mode_tensor_blocks_enqueue(struct trainer *t, struct error *err)
{
	for (uint64_t i = 0; i < setup_accumulate(t->setup); i++) {
		data_parallel_forward(t, i, err);
		data_parallel_backward(t, i, err);
	}
	gemm_layer_backward_end(&t->network, err);
	return trainer_update(t, err);
}

/* A collective is a wait, an event and another wait. */
static unsigned mode_tensor_blocks_commands(const struct trainer *t)
{
	uint64_t collectives = setup_accumulate(t->setup) * (t->setup->mode->sequence ? 13 : 5);

	return gemm_layer_commands(&t->network, setup_accumulate(t->setup)) +
	       (unsigned)(4 * (collectives + 2) * t->setup->layers);
}

static double mode_tensor_blocks_wire_bytes(const struct setup *setup)
{
	double bytes = 0;

	for (size_t l = 0; l < setup->layers; l++)
		bytes += trainer_parts_sent_bytes(setup, l, setup->ranks);
	return (double)setup->batch * bytes;
}

const struct mode mode_tensor_sequence = {
	.name = "tensor_sequence",
	.aliases_buffers = true,
	.summary =
		"tensor and sequence parallel transformer: norms and residuals are split by rows",
	.overlap = OVERLAP_BACKWARD,
	.overlaps = true,
	.accumulates = true,
	.transformers = true,
	.shares_layers = true,
	.sequence = true,
	.refusal = mode_tensor_blocks_refusal,
	.partition = mode_tensor_blocks_partition,
	.open = mode_tensor_blocks_open,
	.close = trainer_parts_close,
	.enqueue = mode_tensor_blocks_enqueue,
	.commands = mode_tensor_blocks_commands,
	.wire_bytes = mode_tensor_blocks_wire_bytes,
	.bubble = data_parallel_mode_nothing,
};

/* A chunk with fewer rows than this slows the products down by more than it hides. */
#define CHUNK_ROWS 2048

/* Rows of one chunk. */
struct tensor_rows {
	uint64_t first, count;
};

static void mode_tensor_fit(struct setup *setup)
{
	uint64_t chunks = setup->no_overlap ? 1 : setup->batch / CHUNK_ROWS;

	setup->chunks = chunks < TENSOR_CHUNKS_MAX ? chunks : TENSOR_CHUNKS_MAX;
	setup->chunks = setup->chunks > 0 ? setup->chunks : 1;
}

static struct tensor_rows mode_tensor_chunk_rows(const struct trainer *t, uint64_t chunk)
{
	const struct tensor *s = t->state;
	uint64_t first = t->setup->batch * chunk / s->chunks;

	return (struct tensor_rows){ first, t->setup->batch * (chunk + 1) / s->chunks - first };
}

static bool mode_tensor_has_blocks(const struct setup *setup)
{
	return setup->kind == MODEL_TRANSFORMER;
}

static const char *mode_tensor_refusal(const struct setup *setup)
{
	if (mode_tensor_has_blocks(setup))
		return mode_tensor_blocks_refusal(setup);
	if (setup_accumulate(setup) > 1)
		return "accumulate works with single, ddp and zero1; for tensor parallelism use "
		       "hybrid = 1xNx1";
	if (setup->ranks < 2)
		return "tensor parallelism needs at least two devices";
	if (setup->layers < 2)
		return "tensor parallelism needs at least two layers";
	for (size_t l = 1; l < setup->layers; l += 2)
		if (setup->widths[l] % (uint64_t)setup->ranks)
			return "the inner width of a pair of layers is not divisible by the number "
			       "of devices";
	return NULL;
}

static void mode_tensor_partition(const struct setup *setup, int rank,
				  struct rank_partition *partition)
{
	if (mode_tensor_has_blocks(setup))
		mode_tensor_blocks_partition(setup, rank, partition);
	else
		*partition = (struct rank_partition){ .last = setup->layers,
						      .rows = setup->batch,
						      .part = rank,
						      .parts = setup->ranks };
}

static uint64_t mode_tensor_buffers(const struct setup *setup, int rank)
{
	(void)rank;
	if (mode_tensor_has_blocks(setup))
		return 0;
	return buffer_alias_pairs_part_bytes(setup) + buffer_alias_pairs_bias_bytes(setup);
}

static void mode_tensor_tuned(struct trainer *t)
{
	struct tensor *s = t->state;

	if (s)
		buffer_alias_pairs_transposed(&t->network, &s->pairs);
}

static enum status mode_tensor_open(struct trainer *t, struct error *err)
{
	struct tensor *s;

	if (mode_tensor_has_blocks(t->setup))
		return mode_tensor_blocks_open(t, err);
	s = t->state = xcalloc(1, sizeof(*s));
	s->chunks = t->setup->chunks < t->setup->batch ? t->setup->chunks : t->setup->batch;
	if (rank_team_open_events(t->team, &s->ready, 1, err) == STATUS_OK &&
	    rank_team_open_events(t->team, s->summed, s->chunks, err) == STATUS_OK)
		buffer_alias_pairs_open(&t->network, &s->pairs, err);
	return world_agree(t->team->world, err->status, err);
}

static void mode_tensor_close(struct trainer *t)
{
	struct tensor *s = t->state;

	trainer_parts_close(t);
	if (!s)
		return;
	rank_team_close_events(&s->ready, 1);
	rank_team_close_events(s->summed, TENSOR_CHUNKS_MAX);
	free(s);
}

/* Sums `count` elements over the ranks, in place, after the preceding work. */
static enum status mode_tensor_sum_over_ranks(struct trainer *t, uint64_t chunk, void *summands,
					      uint64_t count, struct error *err)
{
	const struct tensor *s = t->state;
	const struct step_collective c = { .kind = SPAN_ALL_REDUCE,
					   .stream = STREAM_PREVIOUS,
					   .index = chunk,
					   .communicator = t->team->all,
					   .to = summands,
					   .from = summands,
					   .count = count,
					   .reduction = REDUCE_SUM,
					   .ready = s->ready,
					   .done = s->summed[chunk] };

	return trainer_does(t, STEP_COMMUNICATE) ? timeline_collective(t, &c, err) : err->status;
}

static enum status mode_tensor_wait_summed(struct trainer *t, uint64_t chunk, struct error *err)
{
	const struct tensor *s = t->state;

	return trainer_does(t, STEP_COMMUNICATE) ? trainer_wait(t, s->summed[chunk], err)
						 : err->status;
}

/* Completes the outputs of the pair before, after the sum over ranks: bias and ReLU. */
static enum status mode_tensor_finish_pair(struct trainer *t, size_t second, uint64_t chunk,
					   struct error *err)
{
	struct tensor_rows rows = mode_tensor_chunk_rows(t, chunk);

	mode_tensor_wait_summed(t, chunk, err);
	return gemm_layer_activate(&t->network, second, rows.first, rows.count, err);
}

static void mode_tensor_forward(struct trainer *t, struct error *err)
{
	const struct tensor *s = t->state;
	struct network *n = &t->network;
	size_t paired = buffer_alias_pairs_layers(t->setup), last = t->setup->layers - 1;
	uint64_t all = t->setup->batch;

	for (size_t l = 0; l < paired; l += 2)
		for (uint64_t c = 0; c < s->chunks; c++) {
			struct tensor_rows rows = mode_tensor_chunk_rows(t, c);

			if (l > 0)
				mode_tensor_finish_pair(t, l - 1, c, err);
			timeline_begin(t, STREAM_COMPUTE, SPAN_FORWARD, c);
			gemm_layer_forward(n, l, rows.first, rows.count, err);
			gemm_layer_forward_product(n, l + 1, rows.first, rows.count, err);
			timeline_end(t, STREAM_COMPUTE);
			mode_tensor_sum_over_ranks(t, c, network_activation(n, l + 2, rows.first),
						   rows.count * n->local.layer[l + 1].out, err);
		}
	for (uint64_t c = 0; c < s->chunks; c++)
		mode_tensor_finish_pair(t, paired - 1, c, err);
	timeline_begin(t, STREAM_COMPUTE, SPAN_LOSS, 0);
	if (paired <= last)
		gemm_layer_forward(n, last, 0, all, err);
	gemm_layer_loss(n, 0, all, trainer_gradient_scale(t, all), err);
	timeline_end(t, STREAM_COMPUTE);
}

/*
 * From the gradient of the outputs of layer `first` + 1 to the gradient of the inputs of layer
 * `first`.
 */
static void mode_tensor_input_gradients(struct trainer *t, size_t first, struct tensor_rows rows,
					void *dy, void *dx, struct error *err)
{
	const struct tensor *s = t->state;
	struct network *n = &t->network;
	void *to = network_row(n, first + 2, dy, rows.first),
	     *part = network_row(n, first + 1, buffer_alias_pairs_part(n, &s->pairs, first),
				 rows.first);
	bool adds = rows.first > 0;

	gemm_layer_output_gradient(n, first + 1, rows.first, rows.count, to, adds, err);
	gemm_layer_input_gradient(n, first + 1, rows.count, to, part, err);
	gemm_layer_output_gradient(n, first, rows.first, rows.count, part, adds, err);
	if (first > 0)
		gemm_layer_input_gradient(n, first, rows.count, part,
					  network_row(n, first, dx, rows.first), err);
}

/* Copies the bias gradient of layer `l` from its temporary buffer, if it has one. */
static void mode_tensor_place_bias_sum(struct network *n, size_t l, struct error *err)
{
	if (n->bias_sums[l])
		network_copy(n, network_gradients(n, l, LINEAR_BIAS), n->bias_sums[l],
			     n->local.layer[l].out * precision_bytes(n->setup->precision), err);
}

static void mode_tensor_backward_pair(struct trainer *t, size_t first, void *dy, void *dx,
				      struct error *err)
{
	const struct tensor *s = t->state;
	struct network *n = &t->network;
	uint64_t all = t->setup->batch;

	for (uint64_t c = 0; c < s->chunks; c++) {
		struct tensor_rows rows = mode_tensor_chunk_rows(t, c);

		/* The next pair of layers has started a sum; the loss or a whole layer has not. */
		if (first + 2 < buffer_alias_pairs_layers(t->setup))
			mode_tensor_wait_summed(t, c, err);
		timeline_begin(t, STREAM_COMPUTE, SPAN_BACKWARD, c);
		mode_tensor_input_gradients(t, first, rows, dy, dx, err);
		timeline_end(t, STREAM_COMPUTE);
		if (first == 0)
			continue;
		mode_tensor_sum_over_ranks(t, c, network_row(n, first, dx, rows.first),
					   rows.count * t->setup->widths[first], err);
		if (t->setup->no_overlap)
			mode_tensor_wait_summed(t, c, err);
	}
	timeline_begin(t, STREAM_COMPUTE, SPAN_BACKWARD, s->chunks);
	gemm_layer_weight_gradient(n, first + 1, 0, all, dy, false, err);
	gemm_layer_weight_gradient(n, first, 0, all, buffer_alias_pairs_part(n, &s->pairs, first),
				   false, err);
	mode_tensor_place_bias_sum(n, first + 1, err);
	mode_tensor_place_bias_sum(n, first, err);
	timeline_end(t, STREAM_COMPUTE);
}

static enum status mode_tensor_enqueue(struct trainer *t, struct error *err)
{
	const struct tensor *s = t->state;
	struct network *n = &t->network;
	size_t last = t->setup->layers - 1, paired = buffer_alias_pairs_layers(t->setup);
	/* Not in place of the logits, which contain the first gradient. */
	size_t turn = t->setup->layers + 1;
	void *dy;

	if (mode_tensor_has_blocks(t->setup))
		return mode_tensor_blocks_enqueue(t, err);
	mode_tensor_forward(t, err);
	dy = network_activation(n, t->setup->layers, 0);
	if (paired <= last) {
		void *dx = n->transient[turn++ % 2];

		gemm_layer_backward(n, last, 0, t->setup->batch, dy, dx, false, err);
		dy = dx;
	}
	for (size_t first = paired; first > 0; first -= 2) {
		void *dx = s->pairs.in_place ? dy : n->transient[turn++ % 2];

		mode_tensor_backward_pair(t, first - 2, dy, dx, err);
		dy = dx;
	}
	return trainer_update(t, err);
}

static unsigned mode_tensor_commands(const struct trainer *t)
{
	const struct tensor *s = t->state;

	if (mode_tensor_has_blocks(t->setup))
		return mode_tensor_blocks_commands(t);
	return gemm_layer_commands(&t->network, s->chunks) +
	       (unsigned)((3 * s->chunks + 1) * t->setup->layers);
}

/* Per pair: the outputs in forward and, except for the first pair, the gradients of the inputs. */
static double mode_tensor_wire_bytes(const struct setup *setup)
{
	double t = setup->ranks, columns = 0;

	if (mode_tensor_has_blocks(setup))
		return mode_tensor_blocks_wire_bytes(setup);
	for (size_t l = 0; l + 1 < setup->layers; l += 2)
		columns += (double)(setup->widths[l + 2] + (l > 0 ? setup->widths[l] : 0));
	return 2 * (t - 1) / t * (double)setup->batch * columns *
	       (double)precision_bytes(setup->precision);
}

const struct mode mode_tensor = {
	.name = "tensor",
	.summary = "tensor parallel: pairs of layers split by columns, then by rows; attention "
		   "split by heads",
	.overlap = OVERLAP_FORWARD | OVERLAP_BACKWARD,
	.overlaps = true,
	.accumulates = true,
	.transformers = true,
	.shares_layers = true,
	.aliases_buffers = true,
	.refusal = mode_tensor_refusal,
	.fit = mode_tensor_fit,
	.partition = mode_tensor_partition,
	.buffers = mode_tensor_buffers,
	.open = mode_tensor_open,
	.close = mode_tensor_close,
	.tuned = mode_tensor_tuned,
	.enqueue = mode_tensor_enqueue,
	.commands = mode_tensor_commands,
	.wire_bytes = mode_tensor_wire_bytes,
	.bubble = data_parallel_mode_nothing,
};
