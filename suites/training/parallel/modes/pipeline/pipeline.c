/*
 * Forward and backward of one micro-batch in a pipeline stage, on the compute stream; which
 * micro-batch runs next, and its dependencies. The layers may be whole or tensor-parallel; replicas
 * of the stage (data parallelism) reduce their gradients.
 */
#include "suites/training/parallel/modes/pipeline/pipeline.h"

#include <stdlib.h>

#include "base/memory.h"
#include "suites/training/models/network.h"
#include "suites/training/models/gemm/layer.h"
#include "suites/training/parallel/trainer/timeline.h"

#define GRADIENT_SLOTS 2

/*
 * An edge between neighbouring stages of a pipeline. It has its own communicator and stream, or one
 * for each direction if forwards and backwards alternate. Each carries micro-batches in the order
 * in which both ends process them, so nothing can deadlock, and a receive waits only for its own
 * send.
 *
 * A slot stores the data of one micro-batch, micro-batch i in slot i modulo their number. The
 * writer of a slot waits for an event after the last use of the previous content: for received
 * gradients and inputs that is the second half of backward, for sent ones the end of the send.
 */

/* Events after the last use of each slot. */
struct slots {
	struct event **used;
	uint64_t count;
};

/* One direction of an edge. */
struct edge_lane {
	struct communicator *communicator; /* the team's; NULL at the ends of the pipeline */
	enum team_stream stream;
	struct event *moved; /* the last transfer */
	struct slots sent;   /* slots whose content has been sent */
};

struct edge {
	struct edge_lane forward, backward;
	int peer;        /* rank of the neighbour in the communicators */
	size_t boundary; /* activations[boundary] cross it */
	void *gradients; /* `slots` buffers, one per micro-batch */
	uint64_t slots;
};

struct pipeline {
	struct edge up, down;
	uint64_t warmup;
	bool first_last;              /* backwards begin with the last micro-batch */
	struct event *begun;          /* the step before has ended */
	struct event *computed;       /* the last kernel; sending its result waits for it */
	struct slots inputs;          /* received activations that backward has used */
	struct slots gradients;       /* received gradients that backward has used */
	uint64_t forwards, backwards; /* in this step so far */
};

/* Rows of a micro-batch. */
static uint64_t pipeline_edge_rows(const struct trainer *t)
{
	return t->network.partition.rows / t->setup->microbatches;
}

static uint64_t pipeline_edge_bytes(const struct edge *edge, const struct trainer *t)
{
	return pipeline_edge_rows(t) *
	       model_partition_width(t->setup, &t->network.partition, edge->boundary) *
	       precision_bytes(t->setup->precision);
}

/* Slots for sent gradients of an edge: one is being sent while the other is used. */
static uint64_t pipeline_edge_sent_slots(const struct setup *setup)
{
	return setup->microbatches < GRADIENT_SLOTS ? setup->microbatches : GRADIENT_SLOTS;
}

/* Slots for received gradients: the same, times the number that one wgrad product reads. */
static uint64_t pipeline_edge_received_slots(const struct setup *setup)
{
	uint64_t slots = GRADIENT_SLOTS * setup_wgrad_microbatches(setup);

	return setup->microbatches < slots ? setup->microbatches : slots;
}

/* Slot of turn `turn`; NULL at the ends of the pipeline. */
static void *pipeline_edge_gradient(const struct edge *edge, const struct trainer *t, uint64_t turn)
{
	return edge->gradients
		       ? (char *)edge->gradients + turn % edge->slots * pipeline_edge_bytes(edge, t)
		       : NULL;
}

static enum status pipeline_slots_open(struct slots *slots, struct rank_team *team, uint64_t count,
				       struct error *err)
{
	slots->used = xcalloc(count, sizeof(*slots->used));
	slots->count = count;
	return rank_team_open_events(team, slots->used, count, err);
}

static void pipeline_slots_close(struct slots *slots)
{
	rank_team_close_events(slots->used, slots->count);
	free(slots->used);
}

static struct event *pipeline_slots_event(const struct slots *slots, uint64_t turn)
{
	return slots->used[turn % slots->count];
}

/* The ends of the pipeline have nothing to open. */
static enum status pipeline_edge_open(struct edge *edge, struct trainer *t, struct error *err)
{
	if (err->status != STATUS_OK || !edge->forward.communicator)
		return err->status;
	if (rank_team_open_events(t->team, &edge->forward.moved, 1, err) != STATUS_OK ||
	    rank_team_open_events(t->team, &edge->backward.moved, 1, err) != STATUS_OK ||
	    pipeline_slots_open(&edge->forward.sent, t->team,
				t->network.kept[edge->boundary] / pipeline_edge_rows(t),
				err) != STATUS_OK ||
	    pipeline_slots_open(&edge->backward.sent, t->team, pipeline_edge_sent_slots(t->setup),
				err) != STATUS_OK)
		return err->status;
	return arena_alloc(&t->arena, MEMORY_COMMUNICATION,
			   edge->slots * pipeline_edge_bytes(edge, t), &edge->gradients, err);
}

static void pipeline_edge_close(struct edge *edge)
{
	rank_team_close_events(&edge->forward.moved, 1);
	rank_team_close_events(&edge->backward.moved, 1);
	pipeline_slots_close(&edge->forward.sent);
	pipeline_slots_close(&edge->backward.sent);
}

/* Sends the latest output of the compute stream from the slot of turn `turn`. */
static enum status pipeline_edge_send(struct trainer *t, const struct edge *edge,
				      const struct edge_lane *lane, uint64_t turn, const void *from,
				      struct error *err)
{
	const struct pipeline *p = t->state;
	struct stream *stream = t->team->streams[lane->stream];

	if (!lane->communicator || !trainer_does(t, STEP_COMMUNICATE) ||
	    rank_team_follow(trainer_stream(t), p->computed, stream, err) != STATUS_OK)
		return err->status;
	timeline_begin(t, lane->stream, SPAN_SEND, turn);
	backend_send(lane->communicator, stream, from, pipeline_edge_bytes(edge, t), edge->peer,
		     err);
	timeline_end(t, lane->stream);
	if (err->status != STATUS_OK)
		return err->status;
	return backend_event_record(pipeline_slots_event(&lane->sent, turn), stream, err);
}

/*
 * Receives into the slot of turn `turn` as soon as its previous content has been used; the compute
 * stream waits for it.
 */
static enum status pipeline_edge_receive(struct trainer *t, const struct edge *edge,
					 const struct edge_lane *lane, const struct slots *used,
					 uint64_t turn, void *to, struct error *err)
{
	struct stream *stream = t->team->streams[lane->stream];

	if (!lane->communicator || !trainer_does(t, STEP_COMMUNICATE) || err->status != STATUS_OK ||
	    backend_stream_wait(stream, pipeline_slots_event(used, turn), err) != STATUS_OK)
		return err->status;
	timeline_begin(t, lane->stream, SPAN_RECEIVE, turn);
	backend_receive(lane->communicator, stream, to, pipeline_edge_bytes(edge, t), edge->peer,
			err);
	timeline_end(t, lane->stream);
	return rank_team_follow(stream, lane->moved, trainer_stream(t), err);
}

/* Waits until the data that the compute stream will overwrite have been sent. */
static enum status pipeline_edge_wait_sent(struct trainer *t, const struct edge_lane *lane,
					   uint64_t turn, struct error *err)
{
	return lane->communicator ? trainer_wait(t, pipeline_slots_event(&lane->sent, turn), err)
				  : err->status;
}

/* The compute stream continues after the last transfers. */
static void pipeline_edge_join(struct trainer *t, const struct edge *edge, struct error *err)
{
	const struct edge_lane *lanes[] = { &edge->forward, &edge->backward };

	for (int i = 0; i < 2; i++)
		if (lanes[i]->communicator)
			rank_team_follow(t->team->streams[lanes[i]->stream], lanes[i]->moved,
					 trainer_stream(t), err);
}

/* One backward pass, or several that share wgrad products: rows [row, row + rows) of this rank. */
struct micro {
	/* numbers of the first and the last backward pass in the step */
	uint64_t since, turn;
	uint64_t index;
	uint64_t row, rows;
	/*
	 * Gradients of the stage's output (NULL: written by the loss) and input (NULL: not needed).
	 */
	void *dy, *dx;
};

static enum layer_split pipeline_split_of(const struct trainer *t, size_t l)
{
	return model_layer_split(t->setup, l, t->network.partition.parts);
}

/* Sums the ranks' partial results of rows x columns in place. All later operations need the sum. */
static enum status pipeline_add_parts(struct trainer *t, void *summands, uint64_t rows,
				      uint64_t columns, struct error *err)
{
	const struct step_collective c = { .kind = SPAN_ALL_REDUCE,
					   .stream = STREAM_COMPUTE,
					   .communicator = t->team->tensor,
					   .to = summands,
					   .from = summands,
					   .count = rows * columns,
					   .reduction = REDUCE_SUM };

	return trainer_does(t, STEP_COMMUNICATE) ? timeline_collective(t, &c, err) : err->status;
}

static enum status pipeline_forward_layer(struct trainer *t, size_t l, uint64_t row, uint64_t rows,
					  struct error *err)
{
	struct network *n = &t->network;

	if (n->local.layer[l].kind != LAYER_LINEAR || pipeline_split_of(t, l) != ROW_PARALLEL)
		return gemm_layer_forward(n, l, row, rows, err);
	gemm_layer_forward_product(n, l, row, rows, err);
	pipeline_add_parts(t, network_activation(n, l + 1, row), rows, n->local.layer[l].out, err);
	return gemm_layer_activate(n, l, row, rows, err);
}

/* The buffer with the gradient of activations[l]. */
static void *pipeline_gradient_of(const struct trainer *t, const struct micro *m, size_t l)
{
	const struct network *n = &t->network;

	if (l == n->partition.first)
		return m->dx;
	if (l < n->partition.last)
		return network_row(n, l, n->transient[network_transient_buffer(n, l)],
				   m->row % n->step_rows);
	return m->dy ? m->dy : network_activation(n, t->setup->layers, m->row);
}

/*
 * The two halves of backward of layers [first, last); `last` is the `first` of the previous call
 * (network.h). First dgrad, with recomputation of activations that were not kept; then
 * wgrad, followed in the step's last backward pass by the reduction over all replicas.
 */
static void pipeline_stage_input_gradients(struct trainer *t, const struct micro *m, size_t first,
					   size_t last, struct error *err)
{
	struct network *n = &t->network;

	for (size_t l = last; l-- > first;) {
		void *dy = pipeline_gradient_of(t, m, l + 1), *dx = pipeline_gradient_of(t, m, l);

		for (size_t r = segments_recompute_from(&n->segments, l); r < l; r++)
			pipeline_forward_layer(t, r, m->row, m->rows, err);
		gemm_layer_output_gradient(n, l, m->row, m->rows, dy, m->turn > 0, err);
		if (dx)
			gemm_layer_input_gradient(n, l, m->rows, dy, dx, err);
		if (dx && pipeline_split_of(t, l) == COLUMN_PARALLEL)
			pipeline_add_parts(t, dx, m->rows, n->local.layer[l].in, err);
	}
}

static void pipeline_stage_weight_gradients(struct trainer *t, const struct micro *m, size_t first,
					    size_t last, struct error *err)
{
	struct network *n = &t->network;
	/* The layer's gradients are then complete, to be summed over the replicas. */
	bool reduces = m->turn + 1 == t->setup->microbatches && t->team->data &&
		       trainer_does(t, STEP_COMMUNICATE);

	for (size_t l = last; l-- > first;) {
		const struct model_layer *layer = &n->local.layer[l];
		void *gradients = network_element(n, n->gradients, layer->weight);
		const struct step_collective c = { .kind = SPAN_ALL_REDUCE,
						   .stream = STREAM_DATA,
						   .index = l,
						   .communicator = t->team->data,
						   .to = gradients,
						   .from = gradients,
						   .count = layer->end - layer->weight,
						   .reduction = REDUCE_SUM,
						   .ready = t->layer_done };

		/* The step's first product writes the gradients, the others add to them. */
		gemm_layer_weight_gradient(n, l, m->row, m->rows, pipeline_gradient_of(t, m, l + 1),
					   m->since > 0, err);
		if (reduces)
			timeline_collective(t, &c, err);
	}
}

uint64_t pipeline_buffers(const struct setup *setup, int rank)
{
	struct rank_partition partition;
	struct parameter_shard shard;
	uint64_t columns = 0;

	model_parameter_shard_of(setup, rank, &partition, &shard);
	if (partition.first > 0)
		columns += pipeline_edge_sent_slots(setup) *
			   model_partition_width(setup, &partition, partition.first);
	if (partition.last < setup->layers)
		columns += pipeline_edge_received_slots(setup) *
			   model_partition_width(setup, &partition, partition.last);
	return partition.rows / setup->microbatches * columns * precision_bytes(setup->precision);
}

enum status pipeline_open(struct trainer *t, struct error *err)
{
	struct pipeline *p = t->state = xcalloc(1, sizeof(*p));
	struct rank_team *team = t->team;
	uint64_t inputs = t->network.kept[t->network.partition.first] / pipeline_edge_rows(t);
	/* Forwards and backwards alternate on some edge unless every stage warms up with all. */
	bool alternate = t->mode->warmup != pipeline_plan_warmup_all;

	p->warmup = t->mode->warmup(model_setup_grid_of(t->setup).pipeline,
				    model_setup_grid_place(t->setup, team->world->rank).stage,
				    t->setup->microbatches);
	p->first_last = !alternate;
	if (rank_team_open_edges(team, t->setup, alternate, err) != STATUS_OK)
		return err->status;
	p->up = (struct edge){
		.forward = { .communicator = team->previous, .stream = STREAM_PREVIOUS },
		.backward = { .communicator = team->previous, .stream = STREAM_PREVIOUS },
		.peer = 0,
		.boundary = t->network.partition.first,
		.slots = pipeline_edge_sent_slots(t->setup)
	};
	p->down = (struct edge){ .forward = { .communicator = team->next, .stream = STREAM_NEXT },
				 .backward = { .communicator = team->next, .stream = STREAM_NEXT },
				 .peer = 1,
				 .boundary = t->network.partition.last,
				 .slots = pipeline_edge_received_slots(t->setup) };
	if (alternate) {
		p->up.backward.communicator = team->previous_gradients;
		p->up.backward.stream = STREAM_PREVIOUS_GRADIENTS;
		p->down.backward.communicator = team->next_gradients;
		p->down.backward.stream = STREAM_NEXT_GRADIENTS;
	}
	if (rank_team_open_events(team, &p->begun, 1, err) == STATUS_OK &&
	    rank_team_open_events(team, &p->computed, 1, err) == STATUS_OK &&
	    pipeline_slots_open(&p->inputs, team, inputs, err) == STATUS_OK)
		pipeline_slots_open(&p->gradients, team, pipeline_edge_received_slots(t->setup),
				    err);
	pipeline_edge_open(&p->up, t, err);
	pipeline_edge_open(&p->down, t, err);
	return world_agree(team->world, err->status, err);
}

void pipeline_close(struct trainer *t)
{
	struct pipeline *p = t->state;

	if (!p)
		return;
	rank_team_close_events(&p->begun, 1);
	rank_team_close_events(&p->computed, 1);
	pipeline_slots_close(&p->inputs);
	pipeline_slots_close(&p->gradients);
	pipeline_edge_close(&p->up);
	pipeline_edge_close(&p->down);
	free(p);
}

void pipeline_tuned(struct trainer *t)
{
	network_layouts_tuned(&t->network);
}

static enum status pipeline_forward_micro(struct trainer *t, struct error *err)
{
	struct pipeline *p = t->state;
	struct network *n = &t->network;
	uint64_t micro = p->forwards++, rows = pipeline_edge_rows(t), row = micro * rows;

	pipeline_edge_receive(t, &p->up, &p->up.forward, &p->inputs, micro,
			      network_activation(n, p->up.boundary, row), err);
	pipeline_edge_wait_sent(t, &p->down.forward, micro, err);
	timeline_begin(t, STREAM_COMPUTE, SPAN_FORWARD, micro);
	for (size_t l = n->partition.first; l < n->partition.last; l++)
		pipeline_forward_layer(t, l, row, rows, err);
	if (network_has_loss(n))
		gemm_layer_loss(n, row, rows, trainer_gradient_scale(t, t->setup->batch), err);
	timeline_end(t, STREAM_COMPUTE);
	return pipeline_edge_send(t, &p->down, &p->down.forward, micro,
				  network_activation(n, p->down.boundary, row), err);
}

/* Joins the `count` micro-batches that share a wgrad product; `m` is the last of them. */
static struct micro pipeline_joined_micro(const struct trainer *t, const struct micro *m,
					  uint64_t count)
{
	const struct pipeline *p = t->state;
	struct micro all = *m;

	all.since = m->turn + 1 - count;
	all.index = p->first_last ? m->index : m->index + 1 - count;
	all.row = all.index * m->rows;
	all.rows = count * m->rows;
	all.dy = pipeline_edge_gradient(&p->down, t, all.index);
	return all;
}

/*
 * Backward of a group of layers after the other (network.h). The weight gradients of the
 * group that ends with the stage's first layer wait until the gradient of its input is being sent,
 * and until the last of the micro-batches that share a product. Without dgrad first, a layer is a
 * group, and both halves of it are one span.
 */
static void pipeline_backward(struct trainer *t, const struct micro *m, uint64_t count,
			      struct error *err)
{
	struct pipeline *p = t->state;
	const struct rank_partition *partition = &t->network.partition;
	bool apart = network_dgrad_first(&t->network);

	if (!apart)
		timeline_begin(t, STREAM_COMPUTE, SPAN_BACKWARD, m->index);
	for (size_t last = partition->last, first; last > partition->first; last = first) {
		struct micro all;

		first = network_backward_group(&t->network, last);
		if (apart)
			timeline_begin(t, STREAM_COMPUTE, SPAN_BACKWARD, m->index);
		pipeline_stage_input_gradients(t, m, first, last, err);
		if (apart)
			timeline_end(t, STREAM_COMPUTE);
		if (apart && first == partition->first)
			pipeline_edge_send(t, &p->up, &p->up.backward, m->turn, m->dx, err);
		if (count == 0)
			continue;
		all = pipeline_joined_micro(t, m, count);
		if (apart)
			timeline_begin(t, STREAM_COMPUTE, SPAN_WEIGHTS, m->index);
		pipeline_stage_weight_gradients(t, &all, first, last, err);
		if (apart)
			timeline_end(t, STREAM_COMPUTE);
	}
	if (apart)
		return;
	timeline_end(t, STREAM_COMPUTE);
	pipeline_edge_send(t, &p->up, &p->up.backward, m->turn, m->dx, err);
}

static enum status pipeline_backward_micro(struct trainer *t, struct error *err)
{
	struct pipeline *p = t->state;
	uint64_t turn = p->backwards++, rows = pipeline_edge_rows(t), first;
	uint64_t index = p->first_last ? t->setup->microbatches - 1 - turn : turn;
	uint64_t count = pipeline_plan_product(t->setup, network_has_loss(&t->network), turn);
	const struct micro m = { .since = turn,
				 .turn = turn,
				 .index = index,
				 .row = index * rows,
				 .rows = rows,
				 .dy = pipeline_edge_gradient(&p->down, t, index),
				 .dx = pipeline_edge_gradient(&p->up, t, turn) };

	pipeline_edge_receive(t, &p->down, &p->down.backward, &p->gradients, index, m.dy, err);
	pipeline_edge_wait_sent(t, &p->up.backward, turn, err);
	pipeline_backward(t, &m, count, err);
	/*
	 * The weight gradients are the last use of the data received for backward of these
	 * micro-batches.
	 */
	first = pipeline_joined_micro(t, &m, count).index;
	for (uint64_t i = first; i < first + count && err->status == STATUS_OK; i++)
		if (backend_event_record(pipeline_slots_event(&p->gradients, i), trainer_stream(t),
					 err) == STATUS_OK)
			backend_event_record(pipeline_slots_event(&p->inputs, i), trainer_stream(t),
					     err);
	return err->status;
}

enum status pipeline_enqueue(struct trainer *t, struct error *err)
{
	struct pipeline *p = t->state;
	uint64_t micro = t->setup->microbatches;

	p->forwards = p->backwards = 0;
	/*
	 * The edges may access this step's buffers only after the previous step, and the next step
	 * only after the edges.
	 */
	if (backend_event_record(p->begun, trainer_stream(t), err) != STATUS_OK)
		return err->status;
	for (int i = STREAM_COMPUTE + 1; i < STREAM_COUNT; i++)
		if (backend_stream_wait(t->team->streams[i], p->begun, err) != STATUS_OK)
			return err->status;
	while (p->backwards < micro && err->status == STATUS_OK)
		if (p->forwards < micro && p->forwards <= p->warmup + p->backwards)
			pipeline_forward_micro(t, err);
		else
			pipeline_backward_micro(t, err);
	pipeline_edge_join(t, &p->up, err);
	pipeline_edge_join(t, &p->down, err);
	/* After the sums over replicas the update may begin. */
	if (t->team->data && trainer_does(t, STEP_COMMUNICATE))
		rank_team_follow(t->team->streams[STREAM_DATA], t->layer_done, trainer_stream(t),
				 err);
	return trainer_update(t, err);
}

/*
 * In addition to the network's commands: waits and events of every transfer of every micro-batch.
 */
unsigned pipeline_commands(const struct trainer *t)
{
	uint64_t micro = t->setup->microbatches;

	return gemm_layer_commands(&t->network, micro) + (unsigned)(10 * micro) + 10;
}
