/* The turns of a stage: which micro-batch goes forward or back next, and what it waits for. */
#include "suites/parallel/modes/pipeline/pipeline.h"

#include <stdlib.h>

#include "base/memory.h"
#include "suites/models/backward_schedule.h"
#include "suites/parallel/modes/pipeline/pipeline_edge.h"
#include "suites/parallel/modes/pipeline/stage.h"
#include "suites/parallel/trainer/parts.h"
#include "suites/parallel/trainer/timeline.h"

struct pipeline {
	struct edge up, down;
	uint64_t warmup;
	bool first_last;              /* backwards begin with the last micro-batch */
	struct event *begun;          /* the step before has ended */
	struct event *computed;       /* the last kernel; the send of its result waits for it */
	struct slots inputs;          /* received activations that backward has used */
	struct slots gradients;       /* received gradients that backward has used */
	uint64_t forwards, backwards; /* of this step, so far */
};

static enum status open_local(struct trainer *t, struct pipeline *p, struct error *err)
{
	struct device *device = t->team->device;
	uint64_t inputs = t->network.kept[t->network.partition.first] / edge_rows(t);

	if (backend_event_create(device, &p->begun, err) != STATUS_OK ||
	    backend_event_create(device, &p->computed, err) != STATUS_OK ||
	    slots_open(&p->inputs, device, inputs, err) != STATUS_OK ||
	    slots_open(&p->gradients, device, edge_received_slots(t->setup), err) != STATUS_OK ||
	    edge_open(&p->up, t, err) != STATUS_OK)
		return err->status;
	return edge_open(&p->down, t, err);
}

uint64_t pipeline_buffers(const struct setup *setup, int rank)
{
	struct rank_partition partition;
	struct parameter_shard shard;
	uint64_t columns = 0, unused;

	parameter_shard_of(setup, rank, &partition, &unused, &shard);
	if (partition.first > 0)
		columns += edge_sent_slots(setup) *
			   partition_width(setup, &partition, partition.first);
	if (partition.last < setup->layers)
		columns += edge_received_slots(setup) *
			   partition_width(setup, &partition, partition.last);
	return partition.rows / setup->microbatches * columns * precision_bytes(setup->precision);
}

enum status pipeline_open(struct trainer *t, pipeline_warmup *warmup, struct error *err)
{
	struct pipeline *p = t->state = xcalloc(1, sizeof(*p));
	struct rank_team *team = t->team;
	/* Forwards and backwards alternate on some edge unless every stage warms up with all. */
	bool alternate = warmup != pipeline_warmup_all;

	p->warmup = warmup(grid_of(t->setup).pipeline,
			   grid_place(t->setup, team->world->rank).stage, t->setup->microbatches);
	p->first_last = !alternate;
	if (team_open_edges(team, t->setup, alternate, err) != STATUS_OK)
		return err->status;
	p->up = (struct edge){ .forward = { team->previous, STREAM_PREVIOUS, NULL, { 0 } },
			       .backward = { team->previous, STREAM_PREVIOUS, NULL, { 0 } },
			       .peer = 0,
			       .boundary = t->network.partition.first,
			       .slots = edge_sent_slots(t->setup) };
	p->down = (struct edge){ .forward = { team->next, STREAM_NEXT, NULL, { 0 } },
				 .backward = { team->next, STREAM_NEXT, NULL, { 0 } },
				 .peer = 1,
				 .boundary = t->network.partition.last,
				 .slots = edge_received_slots(t->setup) };
	if (alternate) {
		p->up.backward.communicator = team->previous_gradients;
		p->up.backward.stream = STREAM_PREVIOUS_GRADIENTS;
		p->down.backward.communicator = team->next_gradients;
		p->down.backward.stream = STREAM_NEXT_GRADIENTS;
	}
	return world_agree(team->world, open_local(t, p, err), err);
}

void pipeline_close(struct trainer *t)
{
	struct pipeline *p = t->state;

	if (!p)
		return;
	backend_event_destroy(p->begun);
	backend_event_destroy(p->computed);
	slots_close(&p->inputs);
	slots_close(&p->gradients);
	edge_close(&p->up);
	edge_close(&p->down);
	free(p);
}

void pipeline_tuned(struct trainer *t)
{
	backward_layouts_tuned(&t->network);
}

static enum status compute_forward(struct trainer *t, uint64_t row, unsigned parts,
				   struct error *err)
{
	struct stream *stream = trainer_stream(t);
	struct network *n = &t->network;
	uint64_t rows = edge_rows(t);

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
	uint64_t micro = p->forwards++, row = micro * edge_rows(t);

	if (edge_receive(&p->up, &p->up.forward, t, &p->inputs, micro,
			 network_activation(n, p->up.boundary, row), parts, err) != STATUS_OK ||
	    edge_wait_sent(&p->down.forward, t, micro, err) != STATUS_OK)
		return err->status;
	timeline_begin(t, STREAM_COMPUTE, SPAN_FORWARD, micro);
	if (compute_forward(t, row, parts, err) != STATUS_OK)
		return err->status;
	timeline_end(t, STREAM_COMPUTE);
	return edge_send(&p->down, &p->down.forward, t, p->computed, micro,
			 network_activation(n, p->down.boundary, row), parts, err);
}

/* See pipeline_product(). */
static uint64_t product_after(const struct trainer *t, const struct micro *m)
{
	return pipeline_product(t->setup, network_has_loss(&t->network), m->turn);
}

static enum status send_gradient(struct trainer *t, const struct micro *m, struct error *err)
{
	struct pipeline *p = t->state;

	return edge_send(&p->up, &p->up.backward, t, p->computed, m->turn, m->dx, m->parts, err);
}

static enum status backward_whole(struct trainer *t, const struct micro *m, struct error *err)
{
	const struct rank_partition *partition = &t->network.partition;

	timeline_begin(t, STREAM_COMPUTE, SPAN_BACKWARD, m->index);
	for (size_t l = partition->last; l-- > partition->first;)
		if (stage_input_gradients(t, m, l, l + 1, err) != STATUS_OK ||
		    stage_weight_gradients(t, m, l, l + 1, err) != STATUS_OK)
			return err->status;
	timeline_end(t, STREAM_COMPUTE);
	return send_gradient(t, m, err);
}

/* The `count` micro-batches whose weights' gradients are one product, of which `m` comes last. */
static struct micro joined_micro(const struct trainer *t, const struct micro *m, uint64_t count)
{
	const struct pipeline *p = t->state;
	struct micro all = *m;

	all.since = m->turn + 1 - count;
	all.index = p->first_last ? m->index : m->index + 1 - count;
	all.row = all.index * m->rows;
	all.rows = count * m->rows;
	all.dy = edge_gradient(&p->down, t, all.index);
	return all;
}

/*
 * The weights' gradients of the group that ends with the stage's first layer wait until its input's
 * is being sent, and until the last of the micro-batches that share a product.
 */
static enum status backward_apart(struct trainer *t, const struct micro *m, struct error *err)
{
	const struct rank_partition *partition = &t->network.partition;
	uint64_t count = product_after(t, m);
	struct micro all;

	for (size_t last = partition->last, first; last > partition->first; last = first) {
		first = backward_group(&t->network, last);
		timeline_begin(t, STREAM_COMPUTE, SPAN_BACKWARD, m->index);
		if (stage_input_gradients(t, m, first, last, err) != STATUS_OK)
			return err->status;
		timeline_end(t, STREAM_COMPUTE);
		if (first == partition->first && send_gradient(t, m, err) != STATUS_OK)
			return err->status;
		if (count == 0)
			continue;
		all = joined_micro(t, m, count);
		timeline_begin(t, STREAM_COMPUTE, SPAN_WEIGHTS, m->index);
		if (stage_weight_gradients(t, &all, first, last, err) != STATUS_OK)
			return err->status;
		timeline_end(t, STREAM_COMPUTE);
	}
	return STATUS_OK;
}

/* The weights' gradients were the last to use what backward of these micro-batches received. */
static enum status release_slots(struct trainer *t, const struct micro *m, struct error *err)
{
	const struct pipeline *p = t->state;
	uint64_t count = product_after(t, m), first;

	if (count == 0)
		return STATUS_OK;
	first = joined_micro(t, m, count).index;
	for (uint64_t i = first; i < first + count; i++)
		if (backend_event_record(slots_event(&p->gradients, i), trainer_stream(t), err) !=
			    STATUS_OK ||
		    backend_event_record(slots_event(&p->inputs, i), trainer_stream(t), err) !=
			    STATUS_OK)
			return err->status;
	return STATUS_OK;
}

static enum status backward_micro(struct trainer *t, unsigned parts, struct error *err)
{
	struct pipeline *p = t->state;
	uint64_t turn = p->backwards++, rows = edge_rows(t);
	uint64_t index = p->first_last ? t->setup->microbatches - 1 - turn : turn;
	const struct micro m = { .since = turn,
				 .turn = turn,
				 .index = index,
				 .row = index * rows,
				 .rows = rows,
				 .dy = edge_gradient(&p->down, t, index),
				 .dx = edge_gradient(&p->up, t, turn),
				 .parts = parts };

	if (edge_receive(&p->down, &p->down.backward, t, &p->gradients, index, m.dy, parts, err) !=
		    STATUS_OK ||
	    edge_wait_sent(&p->up.backward, t, turn, err) != STATUS_OK)
		return err->status;
	if ((backward_dgrad_first(&t->network) ? backward_apart(t, &m, err)
					       : backward_whole(t, &m, err)) != STATUS_OK)
		return err->status;
	return release_slots(t, &m, err);
}

/*
 * The edges may touch this step's buffers only after the step before, and the next step's after
 * them.
 */
static enum status fork_edges(struct trainer *t, struct error *err)
{
	struct pipeline *p = t->state;

	if (backend_event_record(p->begun, trainer_stream(t), err) != STATUS_OK)
		return err->status;
	for (int i = STREAM_COMPUTE + 1; i < STREAM_COUNT; i++)
		if (backend_stream_wait(t->team->streams[i], p->begun, err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

enum status pipeline_enqueue(struct trainer *t, unsigned parts, struct error *err)
{
	struct pipeline *p = t->state;
	uint64_t micro = t->setup->microbatches;

	parts_begin(t, parts);
	p->forwards = p->backwards = 0;
	if (fork_edges(t, err) != STATUS_OK)
		return err->status;
	while (p->backwards < micro) {
		bool forward = p->forwards < micro && p->forwards <= p->warmup + p->backwards;

		if ((forward ? forward_micro(t, parts, err) : backward_micro(t, parts, err)) !=
		    STATUS_OK)
			return err->status;
	}
	if (edge_join(&p->up, t, err) != STATUS_OK || edge_join(&p->down, t, err) != STATUS_OK ||
	    stage_finish(t, parts, err) != STATUS_OK)
		return err->status;
	return trainer_update(t, parts, err);
}

/* In addition to the network's: waits and events of every transfer of every micro-batch. */
unsigned pipeline_commands(const struct trainer *t)
{
	uint64_t micro = t->setup->microbatches;

	return network_commands(&t->network, micro) + (unsigned)(10 * micro) + 10;
}
