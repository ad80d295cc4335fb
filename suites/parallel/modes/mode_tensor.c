/*
 * Tensor parallel: every rank has a part of the width of every pair of layers. The first layer of a
 * pair is column-parallel, so its inputs are whole and its outputs a part; the second by its
 * inputs, so that it makes a summand of every output, and the ranks add these up. Going back the
 * same holds in the opposite direction. A last layer without partner is computed by every rank.
 *
 * The batch goes through in chunks: while the outputs of one are added up, the next is computed.
 * Going back, gradients of inputs come first and those of parameters, which no other rank waits
 * for, fill the time of the sums. Without overlap the batch is one chunk, and every sum is waited
 * for. A transformer is divided inside its blocks: tensor_blocks.h.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "suites/parallel/modes/data_parallel.h"
#include "suites/parallel/modes/tensor.h"
#include "suites/parallel/modes/tensor_blocks.h"
#include "suites/parallel/trainer/parts.h"
#include "suites/parallel/trainer/timeline.h"

/* A chunk with fewer rows than this costs the products more than it hides. */
#define CHUNK_ROWS 2048

/* Rows of one chunk. */
struct rows {
	uint64_t first, count;
};

static void tensor_fit(struct setup *setup)
{
	uint64_t chunks = setup->no_overlap ? 1 : setup->batch / CHUNK_ROWS;

	setup->chunks = chunks < TENSOR_CHUNKS_MAX ? chunks : TENSOR_CHUNKS_MAX;
	setup->chunks = setup->chunks > 0 ? setup->chunks : 1;
}

static struct rows chunk_rows(const struct trainer *t, uint64_t chunk)
{
	const struct tensor *s = t->state;
	uint64_t first = t->setup->batch * chunk / s->chunks;

	return (struct rows){ first, t->setup->batch * (chunk + 1) / s->chunks - first };
}

static bool has_blocks(const struct setup *setup)
{
	return setup->kind == MODEL_TRANSFORMER;
}

static const char *tensor_refusal(const struct setup *setup)
{
	if (has_blocks(setup))
		return tensor_blocks_refusal(setup);
	if (setup_accumulate(setup) > 1)
		return "accumulation is for single, ddp and zero1; hybrid = 1xNx1 accumulates with "
		       "tensor parallelism";
	if (setup->ranks < 2)
		return "tensor parallel needs at least two devices";
	if (setup->layers < 2)
		return "tensor parallel needs a pair of layers";
	for (size_t l = 1; l < setup->layers; l += 2)
		if (setup->widths[l] % (uint64_t)setup->ranks)
			return "the width between the layers of a pair does not divide by the "
			       "number of devices";
	return NULL;
}

static void tensor_partition(const struct setup *setup, int rank, struct rank_partition *partition,
			     uint64_t *step_rows)
{
	if (has_blocks(setup)) {
		tensor_blocks_partition(setup, rank, partition, step_rows);
		return;
	}
	*partition = (struct rank_partition){
		.last = setup->layers, .rows = setup->batch, .part = rank, .parts = setup->ranks
	};
	*step_rows = setup->batch;
}

static enum status open_local(struct trainer *t, struct tensor *s, struct error *err)
{
	s->chunks = t->setup->chunks < t->setup->batch ? t->setup->chunks : t->setup->batch;
	if (backend_event_create(t->team->device, &s->ready, err) != STATUS_OK)
		return err->status;
	for (uint64_t i = 0; i < s->chunks; i++)
		if (backend_event_create(t->team->device, &s->summed[i], err) != STATUS_OK)
			return err->status;
	return pairs_open(&t->network, &s->pairs, err);
}

static uint64_t tensor_buffers(const struct setup *setup, int rank)
{
	(void)rank;
	if (has_blocks(setup))
		return 0;
	return pairs_part_bytes(setup) + pairs_bias_bytes(setup);
}

static void tensor_tuned(struct trainer *t)
{
	struct tensor *s = t->state;

	if (s)
		pairs_alias_transposed(&t->network, &s->pairs);
}

static enum status tensor_open(struct trainer *t, struct error *err)
{
	struct tensor *s;

	if (has_blocks(t->setup))
		return tensor_blocks_open(t, err);
	s = t->state = xcalloc(1, sizeof(*s));
	return world_agree(t->team->world, open_local(t, s, err), err);
}

static void tensor_close(struct trainer *t)
{
	struct tensor *s = t->state;

	parts_close(t);
	if (!s)
		return;
	backend_event_destroy(s->ready);
	for (int i = 0; i < TENSOR_CHUNKS_MAX; i++)
		backend_event_destroy(s->summed[i]);
	free(s);
}

/* Adds up `count` elements over the ranks, in place, after what was computed so far. */
static enum status sum_up(struct trainer *t, uint64_t chunk, void *summands, uint64_t count,
			  unsigned parts, struct error *err)
{
	struct tensor *s = t->state;
	struct stream *communicate = t->team->streams[STREAM_PREVIOUS];

	if (!(parts & STEP_COMMUNICATE))
		return STATUS_OK;
	if (backend_event_record(s->ready, trainer_stream(t), err) != STATUS_OK ||
	    backend_stream_wait(communicate, s->ready, err) != STATUS_OK)
		return err->status;
	timeline_begin(t, STREAM_PREVIOUS, SPAN_ALL_REDUCE, chunk);
	backend_all_reduce(t->team->all, communicate, summands, summands, count,
			   setup_storage(t->setup), REDUCE_SUM, err);
	timeline_end(t, STREAM_PREVIOUS);
	if (err->status != STATUS_OK)
		return err->status;
	return backend_event_record(s->summed[chunk], communicate, err);
}

static enum status wait_summed(struct trainer *t, uint64_t chunk, unsigned parts, struct error *err)
{
	const struct tensor *s = t->state;

	return parts & STEP_COMMUNICATE
		       ? backend_stream_wait(trainer_stream(t), s->summed[chunk], err)
		       : STATUS_OK;
}

/* The outputs of the pair before, which the ranks have added up: bias and ReLU. */
static enum status finish_pair(struct trainer *t, size_t second, uint64_t chunk, unsigned parts,
			       struct error *err)
{
	struct rows rows = chunk_rows(t, chunk);

	if (wait_summed(t, chunk, parts, err) != STATUS_OK)
		return err->status;
	return parts & STEP_COMPUTE ? network_activate(&t->network, trainer_stream(t), second,
						       rows.first, rows.count, err)
				    : STATUS_OK;
}

static enum status forward_pair(struct trainer *t, size_t first, uint64_t chunk, unsigned parts,
				struct error *err)
{
	struct stream *stream = trainer_stream(t);
	struct network *n = &t->network;
	struct rows rows = chunk_rows(t, chunk);

	if (first > 0 && finish_pair(t, first - 1, chunk, parts, err) != STATUS_OK)
		return err->status;
	timeline_begin(t, STREAM_COMPUTE, SPAN_FORWARD, chunk);
	if (parts & STEP_COMPUTE &&
	    (network_forward(n, stream, first, rows.first, rows.count, err) != STATUS_OK ||
	     network_forward_gemm(n, stream, first + 1, rows.first, rows.count, err) != STATUS_OK))
		return err->status;
	timeline_end(t, STREAM_COMPUTE);
	return sum_up(t, chunk, network_activation(n, first + 2, rows.first),
		      rows.count * n->local.layer[first + 1].out, parts, err);
}

static enum status forward(struct trainer *t, unsigned parts, struct error *err)
{
	const struct tensor *s = t->state;
	struct network *n = &t->network;
	size_t last = t->setup->layers - 1;
	uint64_t rows = t->setup->batch;

	for (size_t l = 0; l < pairs_layers(t->setup); l += 2)
		for (uint64_t c = 0; c < s->chunks; c++)
			if (forward_pair(t, l, c, parts, err) != STATUS_OK)
				return err->status;
	for (uint64_t c = 0; c < s->chunks; c++)
		if (finish_pair(t, pairs_layers(t->setup) - 1, c, parts, err) != STATUS_OK)
			return err->status;
	if (!(parts & STEP_COMPUTE))
		return STATUS_OK;
	timeline_begin(t, STREAM_COMPUTE, SPAN_LOSS, 0);
	if (pairs_layers(t->setup) <= last &&
	    network_forward(n, trainer_stream(t), last, 0, rows, err) != STATUS_OK)
		return err->status;
	network_loss(n, trainer_stream(t), 0, rows, trainer_gradient_scale(t, rows), err);
	timeline_end(t, STREAM_COMPUTE);
	return err->status;
}

/* From the gradient of the outputs of layer `first` + 1 to that of the inputs of layer `first`. */
static enum status input_gradients(struct trainer *t, size_t first, struct rows rows, void *dy,
				   void *dx, struct error *err)
{
	struct stream *stream = trainer_stream(t);
	const struct tensor *s = t->state;
	struct network *n = &t->network;
	void *to = network_row(n, first + 2, dy, rows.first),
	     *part = network_row(n, first + 1, pairs_part(n, &s->pairs, first), rows.first);

	if (network_output_gradient(n, stream, first + 1, rows.first, rows.count, to,
				    rows.first > 0, err) != STATUS_OK ||
	    network_input_gradient(n, stream, first + 1, rows.count, to, part, err) != STATUS_OK ||
	    network_output_gradient(n, stream, first, rows.first, rows.count, part, rows.first > 0,
				    err) != STATUS_OK)
		return err->status;
	return first > 0 ? network_input_gradient(n, stream, first, rows.count, part,
						  network_row(n, first, dx, rows.first), err)
			 : STATUS_OK;
}

/* The bias gradient of layer `l` from its temporary buffer, if it has one. */
static enum status place_bias_sum(struct trainer *t, size_t l, struct error *err)
{
	struct network *n = &t->network;

	if (!n->bias_sums[l])
		return STATUS_OK;
	return backend_copy(trainer_stream(t), network_bias(n, l, n->layer_gradients[l]),
			    n->bias_sums[l],
			    n->local.layer[l].out * precision_bytes(t->setup->precision), err);
}

static enum status backward_pair(struct trainer *t, size_t first, void *dy, void *dx,
				 unsigned parts, struct error *err)
{
	const struct tensor *s = t->state;
	struct network *n = &t->network;
	uint64_t all = t->setup->batch;

	for (uint64_t c = 0; c < s->chunks; c++) {
		struct rows rows = chunk_rows(t, c);

		/* The next pair of layers has left its sum; the loss or a whole layer has none. */
		if (first + 2 < pairs_layers(t->setup) &&
		    wait_summed(t, c, parts, err) != STATUS_OK)
			return err->status;
		timeline_begin(t, STREAM_COMPUTE, SPAN_BACKWARD, c);
		if (parts & STEP_COMPUTE &&
		    input_gradients(t, first, rows, dy, dx, err) != STATUS_OK)
			return err->status;
		timeline_end(t, STREAM_COMPUTE);
		if (first > 0 &&
		    sum_up(t, c, network_row(n, first, dx, rows.first),
			   rows.count * t->setup->widths[first], parts, err) != STATUS_OK)
			return err->status;
		if (first > 0 && t->setup->no_overlap && wait_summed(t, c, parts, err) != STATUS_OK)
			return err->status;
	}
	if (!(parts & STEP_COMPUTE))
		return STATUS_OK;
	timeline_begin(t, STREAM_COMPUTE, SPAN_BACKWARD, s->chunks);
	if (network_weight_gradient(n, trainer_stream(t), first + 1, 0, all, dy, false, err) !=
	    STATUS_OK)
		return err->status;
	if (network_weight_gradient(n, trainer_stream(t), first, 0, all,
				    pairs_part(n, &s->pairs, first), false, err) != STATUS_OK ||
	    place_bias_sum(t, first + 1, err) != STATUS_OK ||
	    place_bias_sum(t, first, err) != STATUS_OK)
		return err->status;
	timeline_end(t, STREAM_COMPUTE);
	return err->status;
}

static enum status backward(struct trainer *t, unsigned parts, struct error *err)
{
	const struct tensor *s = t->state;
	struct network *n = &t->network;
	size_t last = t->setup->layers - 1;
	void *dy = network_activation(n, t->setup->layers, 0);
	/* Not in the logits' place, which has the first of them. */
	size_t turn = t->setup->layers + 1;

	if (pairs_layers(t->setup) <= last) {
		void *dx = n->transient[turn++ % 2];

		if (parts & STEP_COMPUTE &&
		    network_backward(n, trainer_stream(t), last, 0, t->setup->batch, dy, dx, false,
				     err) != STATUS_OK)
			return err->status;
		dy = dx;
	}
	for (size_t first = pairs_layers(t->setup); first > 0; first -= 2) {
		void *dx = s->pairs.in_place ? dy : n->transient[turn++ % 2];

		if (backward_pair(t, first - 2, dy, dx, parts, err) != STATUS_OK)
			return err->status;
		dy = dx;
	}
	return STATUS_OK;
}

static enum status tensor_enqueue(struct trainer *t, unsigned parts, struct error *err)
{
	if (has_blocks(t->setup))
		return tensor_blocks_enqueue(t, parts, err);
	if (forward(t, parts, err) != STATUS_OK || backward(t, parts, err) != STATUS_OK)
		return err->status;
	return trainer_update(t, parts, err);
}

static unsigned tensor_commands(const struct trainer *t)
{
	const struct tensor *s = t->state;

	if (has_blocks(t->setup))
		return tensor_blocks_commands(t);
	return network_commands(&t->network, s->chunks) +
	       (unsigned)((3 * s->chunks + 1) * t->setup->layers);
}

/* Per pair the outputs going forward and, but for the first, the gradients of the inputs. */
static double tensor_wire_bytes(const struct setup *setup)
{
	double t = setup->ranks, columns = 0;

	if (has_blocks(setup))
		return tensor_blocks_wire_bytes(setup);
	for (size_t l = 0; l + 1 < setup->layers; l += 2)
		columns += (double)(setup->widths[l + 2] + (l > 0 ? setup->widths[l] : 0));
	return 2 * (t - 1) / t * (double)setup->batch * columns *
	       (double)precision_bytes(setup->precision);
}

const struct mode mode_tensor = {
	.name = "tensor",
	.summary =
		"tensor parallel: pairs of layers cut by outputs, then by inputs; heads of blocks",
	.overlap = OVERLAP_FORWARD | OVERLAP_BACKWARD,
	.overlaps = true,
	.accumulates = true,
	.transformers = true,
	.shares_layers = true,
	.aliases_buffers = true,
	.refusal = tensor_refusal,
	.fit = tensor_fit,
	.partition = tensor_partition,
	.buffers = tensor_buffers,
	.open = tensor_open,
	.close = tensor_close,
	.tuned = tensor_tuned,
	.enqueue = tensor_enqueue,
	.commands = tensor_commands,
	.wire_bytes = tensor_wire_bytes,
	.bubble = mode_nothing,
};
