/*
 * Layer split: each rank has a stage of neighbouring layers; activations go down the stages,
 * gradients back up. With one micro-batch only one stage works at a time (the naive split); with
 * more it is GPipe's schedule: all forwards, then all backwards, gradients added up, one optimizer
 * step.
 *
 * Every edge between neighbours has its own communicator and stream: it carries the activations in
 * order and then the gradients in order, the same on both ends, so nothing can dead-lock, and a
 * receive waits for nobody else's send.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "suites/parallel/stages.h"
#include "suites/parallel/trainer.h"

struct edge {
	struct communicator *communicator; /* the team's; NULL at the ends of the pipeline */
	enum team_stream stream;
	int peer;            /* rank of the neighbour in the communicator */
	size_t boundary;     /* activations[boundary] cross it */
	void *gradients;     /* batch x widths[boundary] */
	struct event *moved; /* everything of a step has crossed */
};

struct pipeline {
	struct edge up, down;
	struct event *begun;
	struct event **turns; /* one event per hand-over of a step, in order */
	size_t turn, turn_count;
};

static const char *layer_split_refusal(const struct setup *setup)
{
	if (setup->ranks < 2)
		return "a layer split needs at least two devices";
	if ((size_t)setup->ranks > setup->layers)
		return "more devices than layers";
	return setup->batch % setup->microbatches
		       ? "the batch does not divide by the number of micro-batches"
		       : NULL;
}

static void layer_split_share(const struct setup *setup, int rank, struct share *share,
			      uint64_t *step_rows)
{
	size_t bounds[SETUP_MAX_RANKS + 1];

	stages_balance(setup, (size_t)setup->ranks, bounds);
	*share = (struct share){ .first = bounds[rank],
				 .last = bounds[rank + 1],
				 .rows = setup->batch };
	*step_rows = setup->batch / setup->microbatches;
}

static enum status open_edge_memory(struct trainer *t, struct edge *edge, struct error *err)
{
	uint64_t bytes = t->setup->batch * t->setup->widths[edge->boundary] *
			 precision_bytes(t->setup->precision);

	if (!edge->communicator)
		return STATUS_OK;
	if (backend_event_create(t->team->device, &edge->moved, err) != STATUS_OK)
		return err->status;
	return arena_alloc(&t->arena, MEMORY_COMMUNICATION, bytes, &edge->gradients, err);
}

static enum status open_local(struct trainer *t, struct pipeline *p, struct error *err)
{
	if (backend_event_create(t->team->device, &p->begun, err) != STATUS_OK ||
	    open_edge_memory(t, &p->up, err) != STATUS_OK ||
	    open_edge_memory(t, &p->down, err) != STATUS_OK)
		return err->status;
	for (size_t i = 0; i < p->turn_count; i++)
		if (backend_event_create(t->team->device, &p->turns[i], err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

static enum status layer_split_open(struct trainer *t, struct error *err)
{
	struct pipeline *p = t->state = xcalloc(1, sizeof(*p));

	p->up = (struct edge){ .stream = STREAM_UP, .peer = 0, .boundary = t->network.share.first };
	p->down = (struct edge){ .stream = STREAM_DOWN,
				 .peer = 1,
				 .boundary = t->network.share.last };
	p->turn_count = 4 * t->setup->microbatches;
	p->turns = xcalloc(p->turn_count, sizeof(struct event *));
	if (team_open_edges(t->team, err) != STATUS_OK)
		return err->status;
	p->up.communicator = t->team->up;
	p->down.communicator = t->team->down;
	return world_agree(t->team->world, open_local(t, p, err), err);
}

static void layer_split_close(struct trainer *t)
{
	struct pipeline *p = t->state;

	if (!p)
		return;
	for (size_t i = 0; i < p->turn_count; i++)
		backend_event_destroy(p->turns[i]);
	backend_event_destroy(p->begun);
	backend_event_destroy(p->up.moved);
	backend_event_destroy(p->down.moved);
	free(p->turns);
	free(p);
}

/* Makes `to` wait for what `from` has been given so far. */
static enum status hand_over(struct trainer *t, enum team_stream from, enum team_stream to,
			     struct error *err)
{
	struct pipeline *p = t->state;
	struct event *turn = p->turns[p->turn++ % p->turn_count];

	if (backend_event_record(turn, t->team->streams[from], err) != STATUS_OK)
		return err->status;
	return backend_stream_wait(t->team->streams[to], turn, err);
}

static uint64_t micro_rows(const struct trainer *t)
{
	return t->setup->batch / t->setup->microbatches;
}

static uint64_t edge_bytes(const struct trainer *t, const struct edge *edge)
{
	return micro_rows(t) * t->setup->widths[edge->boundary] *
	       precision_bytes(t->setup->precision);
}

static void *edge_gradients(const struct trainer *t, const struct edge *edge, uint64_t micro)
{
	return edge->gradients ? (char *)edge->gradients + micro * edge_bytes(t, edge) : NULL;
}

static enum status send_over(struct trainer *t, struct edge *edge, const void *from, unsigned parts,
			     struct error *err)
{
	if (!edge->communicator || !(parts & STEP_COMMUNICATE))
		return STATUS_OK;
	if (hand_over(t, STREAM_COMPUTE, edge->stream, err) != STATUS_OK)
		return err->status;
	return backend_send(edge->communicator, t->team->streams[edge->stream], from,
			    edge_bytes(t, edge), edge->peer, err);
}

static enum status receive_over(struct trainer *t, struct edge *edge, void *to, unsigned parts,
				struct error *err)
{
	if (!edge->communicator || !(parts & STEP_COMMUNICATE))
		return STATUS_OK;
	if (backend_receive(edge->communicator, t->team->streams[edge->stream], to,
			    edge_bytes(t, edge), edge->peer, err) != STATUS_OK)
		return err->status;
	return hand_over(t, edge->stream, STREAM_COMPUTE, err);
}

static enum status forward_micro(struct trainer *t, uint64_t micro, unsigned parts,
				 struct error *err)
{
	struct stream *stream = t->team->streams[STREAM_COMPUTE];
	struct pipeline *p = t->state;
	struct network *n = &t->network;
	uint64_t rows = micro_rows(t), row = micro * rows;

	if (receive_over(t, &p->up, network_activation(n, p->up.boundary, row), parts, err) !=
	    STATUS_OK)
		return err->status;
	if (parts & STEP_COMPUTE && network_forward_all(n, stream, row, rows, err) != STATUS_OK)
		return err->status;
	if (parts & STEP_COMPUTE && network_has_loss(n) &&
	    network_loss(n, stream, row, rows, trainer_gradient_scale(t, t->setup->batch), err) !=
		    STATUS_OK)
		return err->status;
	return send_over(t, &p->down, network_activation(n, p->down.boundary, row), parts, err);
}

static enum status backward_micro(struct trainer *t, uint64_t micro, unsigned parts,
				  struct error *err)
{
	struct pipeline *p = t->state;
	uint64_t rows = micro_rows(t);
	void *dy = edge_gradients(t, &p->down, micro), *dx = edge_gradients(t, &p->up, micro);
	bool accumulate = micro + 1 < t->setup->microbatches;

	if (receive_over(t, &p->down, dy, parts, err) != STATUS_OK)
		return err->status;
	if (parts & STEP_COMPUTE &&
	    network_backward_all(&t->network, t->team->streams[STREAM_COMPUTE], micro * rows, rows,
				 dy, dx, accumulate, err) != STATUS_OK)
		return err->status;
	return send_over(t, &p->up, dx, parts, err);
}

/*
 * The edges may touch this step's buffers only after the step before, and the next step's after
 * them.
 */
static enum status fork_edges(struct trainer *t, struct error *err)
{
	struct pipeline *p = t->state;

	if (backend_event_record(p->begun, t->team->streams[STREAM_COMPUTE], err) != STATUS_OK ||
	    backend_stream_wait(t->team->streams[STREAM_UP], p->begun, err) != STATUS_OK)
		return err->status;
	return backend_stream_wait(t->team->streams[STREAM_DOWN], p->begun, err);
}

static enum status join_edge(struct trainer *t, struct edge *edge, struct error *err)
{
	if (!edge->communicator)
		return STATUS_OK;
	if (backend_event_record(edge->moved, t->team->streams[edge->stream], err) != STATUS_OK)
		return err->status;
	return backend_stream_wait(t->team->streams[STREAM_COMPUTE], edge->moved, err);
}

static enum status layer_split_enqueue(struct trainer *t, unsigned parts, struct error *err)
{
	struct pipeline *p = t->state;

	if (fork_edges(t, err) != STATUS_OK)
		return err->status;
	for (uint64_t i = 0; i < t->setup->microbatches; i++)
		if (forward_micro(t, i, parts, err) != STATUS_OK)
			return err->status;
	for (uint64_t i = t->setup->microbatches; i-- > 0;)
		if (backward_micro(t, i, parts, err) != STATUS_OK)
			return err->status;
	if (join_edge(t, &p->up, err) != STATUS_OK || join_edge(t, &p->down, err) != STATUS_OK)
		return err->status;
	return parts & STEP_UPDATE
		       ? network_update(&t->network, t->team->streams[STREAM_COMPUTE], err)
		       : STATUS_OK;
}

static unsigned layer_split_commands(const struct trainer *t)
{
	const struct pipeline *p = t->state;

	return network_commands(&t->network, t->setup->microbatches) + (unsigned)p->turn_count + 3;
}

static double layer_split_wire_bytes(const struct setup *setup)
{
	double most = 0, bytes = (double)(setup->batch * precision_bytes(setup->precision));

	for (int rank = 0; rank < setup->ranks; rank++) {
		struct share share;
		uint64_t step_rows, width;

		layer_split_share(setup, rank, &share, &step_rows);
		width = (share.first > 0 ? setup->widths[share.first] : 0) +
			(share.last < setup->layers ? setup->widths[share.last] : 0);
		most = bytes * (double)width > most ? bytes * (double)width : most;
	}
	return most;
}

static double layer_split_bubble(const struct setup *setup)
{
	double stages = setup->ranks, micro = (double)setup->microbatches;

	return (stages - 1) / (micro + stages - 1);
}

const struct mode mode_layer_split = {
	.name = "layer_split",
	.summary = "a stage of layers per device; one micro-batch: naive, more: GPipe",
	.microbatched = true,
	.refusal = layer_split_refusal,
	.share = layer_split_share,
	.open = layer_split_open,
	.close = layer_split_close,
	.enqueue = layer_split_enqueue,
	.commands = layer_split_commands,
	.wire_bytes = layer_split_wire_bytes,
	.bubble = layer_split_bubble,
};
