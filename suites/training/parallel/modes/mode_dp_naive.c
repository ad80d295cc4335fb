/*
 * The simplest form of data parallelism: the first device is a server. In every step it sends the
 * parameters and a part of the batch to each of the others, sums their gradients, and updates
 * alone. The loss is computed by the server, which needs all logits for it, or by each device
 * (loss_on). Nothing overlaps: one stream does everything in order. Labels are on every device that
 * needs them from the start; they are a few bytes per row.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "suites/training/models/gemm/layer.h"
#include "suites/training/parallel/modes/data_parallel.h"
#include "suites/training/parallel/trainer/timeline.h"

/* Memory of the server only: the whole batch, and all logits if it computes the loss. */
struct server {
	void *input, *logits;
};

static bool dp_naive_is_server(const struct trainer *t)
{
	return t->team->world->rank == 0;
}

static void dp_naive_partition(const struct setup *setup, int rank,
			       struct rank_partition *partition)
{
	data_parallel_partition(setup, rank, partition);
	if (!setup->loss_on_server)
		return;
	partition->loss_rows = rank == 0 ? setup->batch : 0;
	partition->no_loss = rank > 0;
}

static void dp_naive_hold(const struct setup *setup, int rank, struct parameter_shard *h)
{
	(void)setup;
	if (rank == 0)
		return;
	h->master = 0;
	h->count = 0;
	h->receives_weights = true;
}

static uint64_t dp_naive_row_bytes(const struct setup *setup, size_t l, uint64_t rows)
{
	return rows * setup->widths[l] * precision_bytes(setup->precision);
}

/* Bytes on the server: all inputs, and all outputs if it computes the loss. */
static uint64_t dp_naive_buffers(const struct setup *setup, int rank)
{
	uint64_t logits =
		setup->loss_on_server ? dp_naive_row_bytes(setup, setup->layers, setup->batch) : 0;

	return rank == 0 ? dp_naive_row_bytes(setup, 0, setup->batch) + logits : 0;
}

static enum status dp_naive_open(struct trainer *t, struct error *err)
{
	struct server *s = t->state = xcalloc(1, sizeof(*s));
	const struct setup *setup = t->setup;

	if (dp_naive_is_server(t) && setup->loss_on_server)
		arena_alloc(&t->arena, MEMORY_ACTIVATIONS,
			    dp_naive_row_bytes(setup, setup->layers, setup->batch), &s->logits,
			    err);
	if (dp_naive_is_server(t))
		arena_alloc(&t->arena, MEMORY_INPUT, dp_naive_row_bytes(setup, 0, setup->batch),
			    &s->input, err);
	return world_agree(t->team->world, err->status, err);
}

static void dp_naive_close(struct trainer *t)
{
	free(t->state);
}

/* The server has the batch; the others have NaN until it sends them their part. */
static enum status dp_naive_reset(struct trainer *t, struct error *err)
{
	const struct server *s = t->state;
	struct network *n = &t->network;

	if (backend_memory_set(trainer_stream(t), n->activations[0], 0xff,
			       dp_naive_row_bytes(t->setup, 0, n->partition.rows),
			       err) != STATUS_OK)
		return err->status;
	if (dp_naive_is_server(t) &&
	    network_fill_input(n, s->input, 0, t->setup->batch, err) != STATUS_OK)
		return err->status;
	return backend_stream_synchronize(trainer_stream(t), err);
}

/* Copies rows of activations[l] between `whole` on the server and the `part` of every rank. */
static enum status dp_naive_exchange_rows(struct trainer *t, size_t l, void *whole, void *part,
					  bool scatter, struct error *err)
{
	struct communicator *all = t->team->all;
	struct stream *stream = trainer_stream(t);
	uint64_t bytes = dp_naive_row_bytes(t->setup, l, t->network.partition.rows);
	int ranks = dp_naive_is_server(t) ? t->setup->ranks : 2;

	if (err->status != STATUS_OK || backend_group_begin(all, err) != STATUS_OK)
		return err->status;
	for (int rank = 1; rank < ranks && err->status == STATUS_OK; rank++) {
		bool server = dp_naive_is_server(t);
		char *rows = server ? (char *)whole + (uint64_t)rank * bytes : part;

		if (server == scatter)
			backend_send(all, stream, rows, bytes, server ? rank : 0, err);
		else
			backend_receive(all, stream, rows, bytes, server ? rank : 0, err);
	}
	if (backend_group_end(all, err) != STATUS_OK || err->status != STATUS_OK ||
	    !dp_naive_is_server(t))
		return err->status;
	return backend_copy(stream, scatter ? part : whole, scatter ? whole : part, bytes, err);
}

/* The loss of all rows on the server, or of each rank's rows on the rank. */
static void dp_naive_loss(struct trainer *t, struct error *err)
{
	const struct server *s = t->state;
	struct network *n = &t->network;
	bool on_server = t->setup->loss_on_server;
	size_t last = t->setup->layers;
	void *mine = n->activations[last], *logits = on_server ? s->logits : mine;
	bool gathers = on_server && trainer_does(t, STEP_COMMUNICATE);

	timeline_begin(t, STREAM_COMPUTE, on_server ? SPAN_EXCHANGE : SPAN_LOSS, 0);
	if (gathers)
		dp_naive_exchange_rows(t, last, logits, mine, false, err);
	if (network_has_loss(n))
		gemm_layer_loss_of(n, logits, 0, n->partition.loss_rows,
				   trainer_gradient_scale(t, t->setup->batch), err);
	if (gathers)
		dp_naive_exchange_rows(t, last, logits, mine, true, err);
	timeline_end(t, STREAM_COMPUTE);
}

static enum status dp_naive_enqueue(struct trainer *t, struct error *err)
{
	const struct server *s = t->state;
	struct network *n = &t->network;
	uint64_t rows = n->partition.rows;

	if (trainer_does(t, STEP_COMMUNICATE)) {
		timeline_begin(t, STREAM_COMPUTE, SPAN_BROADCAST, 0);
		backend_broadcast(t->team->all, trainer_stream(t), n->weights,
				  n->shard.weights * precision_bytes(t->setup->precision), 0, err);
		dp_naive_exchange_rows(t, 0, s->input, n->activations[0], true, err);
		timeline_end(t, STREAM_COMPUTE);
	}
	timeline_begin(t, STREAM_COMPUTE, SPAN_FORWARD, 0);
	gemm_layer_forward_all(n, 0, rows, err);
	timeline_end(t, STREAM_COMPUTE);
	dp_naive_loss(t, err);
	data_parallel_backward(t, 0, err);
	if (trainer_does(t, STEP_COMMUNICATE) && err->status == STATUS_OK) {
		timeline_begin(t, STREAM_COMPUTE, SPAN_REDUCE, 0);
		backend_reduce(t->team->all, trainer_stream(t), n->gradients, n->gradients,
			       n->local.elements, setup_storage(t->setup), REDUCE_SUM, 0, err);
		timeline_end(t, STREAM_COMPUTE);
	}
	return trainer_update(t, err);
}

static unsigned dp_naive_commands(const struct trainer *t)
{
	return gemm_layer_commands(&t->network, 1) + 8 + 3 * (unsigned)t->setup->ranks;
}

/* The server sends the parameters along a chain or tree, and parts of the batch and of the loss. */
static double dp_naive_wire_bytes(const struct setup *setup)
{
	struct model model;
	double n = setup->ranks, columns = (double)setup->widths[0];

	model_init(&model, setup);
	if (setup->loss_on_server)
		columns += (double)setup->widths[setup->layers];
	return ((double)model.elements + (n - 1) / n * (double)setup->batch * columns) *
	       (double)precision_bytes(setup->precision);
}

const struct mode mode_dp_naive = {
	.name = "dp_naive",
	.summary = "data parallel with one server: in every step, the first device sends the "
		   "weights, sums the gradients and updates the weights",
	.recomputes = true,
	.refusal = data_parallel_refusal,
	.partition = dp_naive_partition,
	.shard = dp_naive_hold,
	.buffers = dp_naive_buffers,
	.open = dp_naive_open,
	.close = dp_naive_close,
	.reset = dp_naive_reset,
	.enqueue = dp_naive_enqueue,
	.commands = dp_naive_commands,
	.wire_bytes = dp_naive_wire_bytes,
	.bubble = data_parallel_mode_nothing,
};
