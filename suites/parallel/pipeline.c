/*
 * Every edge between neighbours has a communicator and a stream of its own, and when forwards and
 * backwards alternate one for each direction. Each carries micro-batches in the order in which both
 * ends take them, so nothing can dead-lock, and a receive waits for nobody else's send.
 *
 * What is kept for one micro-batch is a slot, micro-batch i in slot i modulo their number. Whoever
 * writes a slot waits for an event behind the last use of what was there: for received gradients and inputs that is
 * the second half of the backward, for sent ones the sending.
 */
#include "suites/parallel/pipeline.h"

#include <stdlib.h>

#include "base/memory.h"
#include "suites/parallel/stage.h"
#include "suites/parallel/timeline.h"
#include "suites/parallel/turns.h"

/* Received or sent gradients of an edge: one is on its way while the other is computed with. */
#define GRADIENT_SLOTS 2

/* Events behind the last use of each slot of something. */
struct slots {
	struct event **used;
	uint64_t count;
};

/* One direction of an edge. */
struct lane {
	struct communicator *communicator; /* the team's; NULL at the ends of the pipeline */
	enum team_stream stream;
	struct event *moved; /* the last transfer, for whoever waits for it */
	struct slots sent;   /* slots whose content has left */
};

struct edge {
	struct lane forward, backward;
	int peer;        /* rank of the neighbour in the communicators */
	size_t boundary; /* activations[boundary] cross it */
	void *gradients; /* GRADIENT_SLOTS of a micro-batch */
};

struct pipeline {
	struct edge up, down;
	uint64_t warmup;
	bool first_last;              /* backwards begin with the last micro-batch */
	struct event *begun;          /* the step before has ended */
	struct event *computed;       /* the last kernel, for whoever sends its result */
	struct slots inputs;          /* received activations that backward has used */
	struct slots gradients;       /* received gradients that backward has used */
	uint64_t forwards, backwards; /* of this step, so far */
};

static uint64_t micro_rows(const struct trainer *t)
{
	return t->network.share.rows / t->setup->microbatches;
}

static uint64_t edge_bytes(const struct trainer *t, const struct edge *edge)
{
	return micro_rows(t) * share_width(t->setup, &t->network.share, edge->boundary) *
	       precision_bytes(t->setup->precision);
}

static enum status open_slots(struct trainer *t, struct slots *slots, uint64_t count,
			      struct error *err)
{
	slots->used = xcalloc(count, sizeof(*slots->used));
	for (; slots->count < count; slots->count++)
		if (backend_event_create(t->team->device, &slots->used[slots->count], err) !=
		    STATUS_OK)
			return err->status;
	return STATUS_OK;
}

static void close_slots(struct slots *slots)
{
	for (uint64_t i = 0; i < slots->count; i++)
		backend_event_destroy(slots->used[i]);
	free(slots->used);
}

static uint64_t gradient_slots(const struct trainer *t)
{
	return t->setup->microbatches < GRADIENT_SLOTS ? t->setup->microbatches : GRADIENT_SLOTS;
}

static enum status open_edge(struct trainer *t, struct edge *edge, struct error *err)
{
	uint64_t slots = gradient_slots(t), micro = micro_rows(t);

	if (!edge->forward.communicator)
		return STATUS_OK;
	if (backend_event_create(t->team->device, &edge->forward.moved, err) != STATUS_OK ||
	    backend_event_create(t->team->device, &edge->backward.moved, err) != STATUS_OK ||
	    open_slots(t, &edge->forward.sent, t->network.kept[edge->boundary] / micro, err) !=
		    STATUS_OK ||
	    open_slots(t, &edge->backward.sent, slots, err) != STATUS_OK)
		return err->status;
	return arena_alloc(&t->arena, MEMORY_COMMUNICATION, slots * edge_bytes(t, edge),
			   &edge->gradients, err);
}

static enum status open_local(struct trainer *t, struct pipeline *p, struct error *err)
{
	uint64_t inputs = t->network.kept[t->network.share.first] / micro_rows(t);

	if (backend_event_create(t->team->device, &p->begun, err) != STATUS_OK ||
	    backend_event_create(t->team->device, &p->computed, err) != STATUS_OK ||
	    open_slots(t, &p->inputs, inputs, err) != STATUS_OK ||
	    open_slots(t, &p->gradients, gradient_slots(t), err) != STATUS_OK ||
	    open_edge(t, &p->up, err) != STATUS_OK)
		return err->status;
	return open_edge(t, &p->down, err);
}

enum status pipeline_open(struct trainer *t, pipeline_warmup *warmup, struct error *err)
{
	struct pipeline *p = t->state = xcalloc(1, sizeof(*p));
	struct team *team = t->team;
	/* Forwards and backwards alternate on some edge unless every stage warms up with all. */
	bool alternate = warmup != pipeline_warmup_all;

	p->warmup = warmup(grid_of(t->setup).pipeline,
			   grid_place(t->setup, team->world->rank).stage, t->setup->microbatches);
	p->first_last = !alternate;
	if (team_open_edges(team, t->setup, alternate, err) != STATUS_OK)
		return err->status;
	p->up = (struct edge){ .forward = { team->up, STREAM_UP, NULL, { 0 } },
			       .backward = { team->up, STREAM_UP, NULL, { 0 } },
			       .peer = 0,
			       .boundary = t->network.share.first };
	p->down = (struct edge){ .forward = { team->down, STREAM_DOWN, NULL, { 0 } },
				 .backward = { team->down, STREAM_DOWN, NULL, { 0 } },
				 .peer = 1,
				 .boundary = t->network.share.last };
	if (alternate) {
		p->up.backward.communicator = team->up_back;
		p->up.backward.stream = STREAM_UP_BACK;
		p->down.backward.communicator = team->down_back;
		p->down.backward.stream = STREAM_DOWN_BACK;
	}
	return world_agree(team->world, open_local(t, p, err), err);
}

static void close_edge(struct edge *edge)
{
	backend_event_destroy(edge->forward.moved);
	backend_event_destroy(edge->backward.moved);
	close_slots(&edge->forward.sent);
	close_slots(&edge->backward.sent);
}

void pipeline_close(struct trainer *t)
{
	struct pipeline *p = t->state;

	if (!p)
		return;
	backend_event_destroy(p->begun);
	backend_event_destroy(p->computed);
	close_slots(&p->inputs);
	close_slots(&p->gradients);
	close_edge(&p->up);
	close_edge(&p->down);
	free(p);
}

void pipeline_settled(struct trainer *t)
{
	turns_settled(&t->network);
}

static struct event *slot_event(const struct slots *slots, uint64_t turn)
{
	return slots->used[turn % slots->count];
}

static struct stream *stream_of(const struct trainer *t, enum team_stream stream)
{
	return t->team->streams[stream];
}

/* Sends what the compute stream has just written, from the slot of turn `turn`. */
static enum status send_over(struct trainer *t, const struct edge *edge, const struct lane *lane,
			     uint64_t turn, const void *from, unsigned parts, struct error *err)
{
	struct pipeline *p = t->state;
	struct stream *stream = stream_of(t, lane->stream);

	if (!lane->communicator || !(parts & STEP_COMMUNICATE))
		return STATUS_OK;
	if (backend_event_record(p->computed, stream_of(t, STREAM_COMPUTE), err) != STATUS_OK ||
	    backend_stream_wait(stream, p->computed, err) != STATUS_OK)
		return err->status;
	timeline_begin(t, lane->stream, SPAN_SEND, turn);
	backend_send(lane->communicator, stream, from, edge_bytes(t, edge), edge->peer, err);
	timeline_end(t, lane->stream);
	if (err->status != STATUS_OK)
		return err->status;
	return backend_event_record(slot_event(&lane->sent, turn), stream, err);
}

/* Receives into the slot of turn `turn` as soon as what was there has been used. */
static enum status receive_over(struct trainer *t, const struct edge *edge, const struct lane *lane,
				const struct slots *slots, uint64_t turn, void *to, unsigned parts,
				struct error *err)
{
	struct stream *stream = stream_of(t, lane->stream);

	if (!lane->communicator || !(parts & STEP_COMMUNICATE))
		return STATUS_OK;
	if (backend_stream_wait(stream, slot_event(slots, turn), err) != STATUS_OK)
		return err->status;
	timeline_begin(t, lane->stream, SPAN_RECEIVE, turn);
	backend_receive(lane->communicator, stream, to, edge_bytes(t, edge), edge->peer, err);
	timeline_end(t, lane->stream);
	if (err->status != STATUS_OK || backend_event_record(lane->moved, stream, err) != STATUS_OK)
		return err->status;
	return backend_stream_wait(stream_of(t, STREAM_COMPUTE), lane->moved, err);
}

/* What the compute stream is about to write must have left before. */
static enum status wait_sent(struct trainer *t, const struct lane *lane, uint64_t turn,
			     struct error *err)
{
	if (!lane->communicator)
		return STATUS_OK;
	return backend_stream_wait(stream_of(t, STREAM_COMPUTE), slot_event(&lane->sent, turn),
				   err);
}

static enum status compute_forward(struct trainer *t, uint64_t row, unsigned parts,
				   struct error *err)
{
	struct stream *stream = stream_of(t, STREAM_COMPUTE);
	struct network *n = &t->network;
	uint64_t rows = micro_rows(t);

	if (stage_forward(t, row, rows, parts, err) != STATUS_OK)
		return err->status;
	return network_has_loss(n) && parts & STEP_COMPUTE
		       ? network_loss(n, stream, row, rows,
				      trainer_gradient_scale(t, t->setup->batch), err)
		       : STATUS_OK;
}

static enum status forward_micro(struct trainer *t, unsigned parts, struct error *err)
{
	struct pipeline *p = t->state;
	struct network *n = &t->network;
	uint64_t micro = p->forwards++, row = micro * micro_rows(t);

	if (receive_over(t, &p->up, &p->up.forward, &p->inputs, micro,
			 network_activation(n, p->up.boundary, row), parts, err) != STATUS_OK ||
	    wait_sent(t, &p->down.forward, micro, err) != STATUS_OK)
		return err->status;
	timeline_begin(t, STREAM_COMPUTE, SPAN_FORWARD, micro);
	if (compute_forward(t, row, parts, err) != STATUS_OK)
		return err->status;
	timeline_end(t, STREAM_COMPUTE);
	return send_over(t, &p->down, &p->down.forward, micro,
			 network_activation(n, p->down.boundary, row), parts, err);
}

static void *gradient_slot(const struct trainer *t, const struct edge *edge, uint64_t turn)
{
	return edge->gradients
		       ? (char *)edge->gradients + turn % gradient_slots(t) * edge_bytes(t, edge)
		       : NULL;
}

static enum status send_gradient(struct trainer *t, const struct micro *m, struct error *err)
{
	struct pipeline *p = t->state;

	return send_over(t, &p->up, &p->up.backward, m->turn, m->dx, m->parts, err);
}

static enum status backward_whole(struct trainer *t, const struct micro *m, struct error *err)
{
	const struct share *share = &t->network.share;

	timeline_begin(t, STREAM_COMPUTE, SPAN_BACKWARD, m->index);
	for (size_t l = share->last; l-- > share->first;)
		if (stage_input_gradients(t, m, l, l + 1, err) != STATUS_OK ||
		    stage_weight_gradients(t, m, l, l + 1, err) != STATUS_OK)
			return err->status;
	timeline_end(t, STREAM_COMPUTE);
	return send_gradient(t, m, err);
}

/* The weights' gradients of the group that ends with the stage's first layer wait until its input's is on its way. */
static enum status backward_apart(struct trainer *t, const struct micro *m, struct error *err)
{
	const struct share *share = &t->network.share;

	for (size_t last = share->last, first; last > share->first; last = first) {
		first = turns_group(&t->network, last);
		timeline_begin(t, STREAM_COMPUTE, SPAN_BACKWARD, m->index);
		if (stage_input_gradients(t, m, first, last, err) != STATUS_OK)
			return err->status;
		timeline_end(t, STREAM_COMPUTE);
		if (first == share->first && send_gradient(t, m, err) != STATUS_OK)
			return err->status;
		timeline_begin(t, STREAM_COMPUTE, SPAN_WEIGHTS, m->index);
		if (stage_weight_gradients(t, m, first, last, err) != STATUS_OK)
			return err->status;
		timeline_end(t, STREAM_COMPUTE);
	}
	return STATUS_OK;
}

static enum status backward_micro(struct trainer *t, unsigned parts, struct error *err)
{
	struct pipeline *p = t->state;
	struct stream *compute = stream_of(t, STREAM_COMPUTE);
	uint64_t turn = p->backwards++, rows = micro_rows(t);
	uint64_t index = p->first_last ? t->setup->microbatches - 1 - turn : turn;
	const struct micro m = { .turn = turn,
				 .index = index,
				 .row = index * rows,
				 .rows = rows,
				 .dy = gradient_slot(t, &p->down, turn),
				 .dx = gradient_slot(t, &p->up, turn),
				 .parts = parts };

	if (receive_over(t, &p->down, &p->down.backward, &p->gradients, turn, m.dy, parts, err) !=
		    STATUS_OK ||
	    wait_sent(t, &p->up.backward, turn, err) != STATUS_OK)
		return err->status;
	if ((turns_inputs_first(&t->network) ? backward_apart(t, &m, err)
					     : backward_whole(t, &m, err)) != STATUS_OK)
		return err->status;
	/* The weights' gradients were the last to use both. */
	if (backend_event_record(slot_event(&p->gradients, turn), compute, err) != STATUS_OK)
		return err->status;
	return backend_event_record(slot_event(&p->inputs, index), compute, err);
}

/*
 * The edges may touch this step's buffers only after the step before, and the next step's after
 * them.
 */
static enum status fork_edges(struct trainer *t, struct error *err)
{
	struct pipeline *p = t->state;

	if (backend_event_record(p->begun, stream_of(t, STREAM_COMPUTE), err) != STATUS_OK)
		return err->status;
	for (int i = STREAM_COMPUTE + 1; i < STREAM_COUNT; i++)
		if (backend_stream_wait(t->team->streams[i], p->begun, err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

static enum status join_lane(struct trainer *t, const struct lane *lane, struct error *err)
{
	if (!lane->communicator)
		return STATUS_OK;
	if (backend_event_record(lane->moved, stream_of(t, lane->stream), err) != STATUS_OK)
		return err->status;
	return backend_stream_wait(stream_of(t, STREAM_COMPUTE), lane->moved, err);
}

static enum status join_edges(struct trainer *t, struct error *err)
{
	struct pipeline *p = t->state;

	if (join_lane(t, &p->up.forward, err) != STATUS_OK ||
	    join_lane(t, &p->up.backward, err) != STATUS_OK ||
	    join_lane(t, &p->down.forward, err) != STATUS_OK)
		return err->status;
	return join_lane(t, &p->down.backward, err);
}

enum status pipeline_enqueue(struct trainer *t, unsigned parts, struct error *err)
{
	struct pipeline *p = t->state;
	uint64_t micro = t->setup->microbatches;

	p->forwards = p->backwards = 0;
	if (fork_edges(t, err) != STATUS_OK)
		return err->status;
	while (p->backwards < micro) {
		bool forward = p->forwards < micro && p->forwards <= p->warmup + p->backwards;

		if ((forward ? forward_micro(t, parts, err) : backward_micro(t, parts, err)) !=
		    STATUS_OK)
			return err->status;
	}
	if (join_edges(t, err) != STATUS_OK || stage_finish(t, parts, err) != STATUS_OK)
		return err->status;
	return trainer_update(t, parts, err);
}

/* Beside the network's: waits and events of every transfer of every micro-batch. */
unsigned pipeline_commands(const struct trainer *t)
{
	uint64_t micro = t->setup->microbatches;

	return network_commands(&t->network, micro) + (unsigned)(10 * micro) + 10;
}
