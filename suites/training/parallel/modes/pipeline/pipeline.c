/*
 * The order of work in a stage: which micro-batch runs forward or backward next, and its
 * dependencies.
 */
#include "suites/training/parallel/modes/pipeline/pipeline.h"

#include <stdlib.h>

#include "base/memory.h"
#include "suites/training/models/backward_schedule.h"
#include "suites/training/models/gemm/layer.h"
#include "suites/training/parallel/modes/pipeline/pipeline_edge.h"
#include "suites/training/parallel/trainer/parts.h"
#include "suites/training/parallel/trainer/timeline.h"
#include "suites/training/parallel/trainer/trainer.h"

/*
 * Forward and backward of one micro-batch in a pipeline stage, on the compute stream. The layers
 * may be whole or tensor-parallel; replicas of the stage (data parallelism) reduce their gradients.
 */

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
	unsigned parts; /* enum step_part */
};

static enum layer_split pipeline_split_of(const struct trainer *t, size_t l)
{
	return setup_layer_split(t->setup, l, t->network.partition.parts);
}

/* Sums the ranks' partial results of rows x columns in place. All later operations need the sum. */
static enum status pipeline_add_parts(struct trainer *t, void *summands, uint64_t rows,
				      uint64_t columns, unsigned parts, struct error *err)
{
	if (!(parts & STEP_COMMUNICATE))
		return STATUS_OK;
	timeline_begin(t, STREAM_COMPUTE, SPAN_ALL_REDUCE, 0);
	backend_all_reduce(t->team->tensor, trainer_stream(t), summands, summands, rows * columns,
			   setup_storage(t->setup), REDUCE_SUM, err);
	timeline_end(t, STREAM_COMPUTE);
	return err->status;
}

static enum status pipeline_forward_layer(struct trainer *t, size_t l, uint64_t row, uint64_t rows,
					  unsigned parts, struct error *err)
{
	struct stream *stream = trainer_stream(t);
	struct network *n = &t->network;
	bool computes = parts & STEP_COMPUTE;

	/* Computes and communicates inside, as set by parts_begin(). */
	if (n->local.layer[l].kind != LAYER_LINEAR)
		return network_forward(n, stream, l, row, rows, err);
	if (pipeline_split_of(t, l) != ROW_PARALLEL)
		return computes ? network_forward(n, stream, l, row, rows, err) : STATUS_OK;
	if (computes && network_forward_gemm(n, stream, l, row, rows, err) != STATUS_OK)
		return err->status;
	if (pipeline_add_parts(t, network_activation(n, l + 1, row), rows, n->local.layer[l].out,
			       parts, err) != STATUS_OK)
		return err->status;
	return computes ? network_activate(n, stream, l, row, rows, err) : STATUS_OK;
}

static enum status pipeline_stage_forward(struct trainer *t, uint64_t row, uint64_t rows,
					  unsigned parts, struct error *err)
{
	for (size_t l = t->network.partition.first; l < t->network.partition.last; l++)
		if (pipeline_forward_layer(t, l, row, rows, parts, err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

/* The buffer with the gradient of activations[l]. */
static void *pipeline_gradient_of(const struct trainer *t, const struct micro *m, size_t l)
{
	const struct network *n = &t->network;

	if (l == n->partition.first)
		return m->dx;
	if (l < n->partition.last)
		return network_row(n, l, n->transient[backward_transient_buffer(n, l)],
				   m->row % n->step_rows);
	return m->dy ? m->dy : network_activation(n, t->setup->layers, m->row);
}

static enum status pipeline_input_gradient(struct trainer *t, const struct micro *m, size_t l,
					   struct error *err)
{
	struct stream *stream = trainer_stream(t);
	struct network *n = &t->network;
	void *dy = pipeline_gradient_of(t, m, l + 1), *dx = pipeline_gradient_of(t, m, l);
	bool computes = m->parts & STEP_COMPUTE || n->local.layer[l].kind != LAYER_LINEAR;

	if (computes && network_output_gradient(n, stream, l, m->row, m->rows, dy, m->turn > 0,
						err) != STATUS_OK)
		return err->status;
	if (!dx)
		return STATUS_OK;
	if (computes && network_input_gradient(n, stream, l, m->rows, dy, dx, err) != STATUS_OK)
		return err->status;
	return pipeline_split_of(t, l) == COLUMN_PARALLEL
		       ? pipeline_add_parts(t, dx, m->rows, n->local.layer[l].in, m->parts, err)
		       : STATUS_OK;
}

/*
 * The two halves of backward of layers [first, last); `last` is the `first` of the previous call
 * (backward_schedule.h). First dgrad, with recomputation of activations that were not kept; then
 * wgrad, followed in the step's last backward pass by the reduction over all replicas.
 */
static enum status pipeline_stage_input_gradients(struct trainer *t, const struct micro *m,
						  size_t first, size_t last, struct error *err)
{
	for (size_t l = last; l-- > first;) {
		for (size_t r = segments_recompute_from(&t->network.segments, l); r < l; r++)
			if (pipeline_forward_layer(t, r, m->row, m->rows, m->parts, err) !=
			    STATUS_OK)
				return err->status;
		if (pipeline_input_gradient(t, m, l, err) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

/* The layer's gradients are complete here; now they are summed over the replicas. */
static enum status add_replicas(struct trainer *t, size_t l, unsigned parts, struct error *err)
{
	struct stream *stream = t->team->streams[STREAM_DATA];
	const struct model_layer *layer = &t->network.local.layer[l];
	void *gradients = network_element(&t->network, t->network.gradients, layer->weight);

	if (!t->team->data || !(parts & STEP_COMMUNICATE))
		return STATUS_OK;
	if (backend_event_record(t->layer_done, trainer_stream(t), err) != STATUS_OK ||
	    backend_stream_wait(stream, t->layer_done, err) != STATUS_OK)
		return err->status;
	timeline_begin(t, STREAM_DATA, SPAN_ALL_REDUCE, l);
	backend_all_reduce(t->team->data, stream, gradients, gradients, layer->end - layer->weight,
			   setup_storage(t->setup), REDUCE_SUM, err);
	timeline_end(t, STREAM_DATA);
	return err->status;
}

static enum status pipeline_stage_weight_gradients(struct trainer *t, const struct micro *m,
						   size_t first, size_t last, struct error *err)
{
	bool complete = m->turn + 1 == t->setup->microbatches;
	/* The step's first product writes the gradients, the others add to them. */
	bool adds = m->since > 0;

	for (size_t l = last; l-- > first;) {
		if (m->parts & STEP_COMPUTE &&
		    network_weight_gradient(&t->network, trainer_stream(t), l, m->row, m->rows,
					    pipeline_gradient_of(t, m, l + 1), adds,
					    err) != STATUS_OK)
			return err->status;
		if (complete && add_replicas(t, l, m->parts, err) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

/* Call after the last backward pass: the update may begin. */
static enum status pipeline_stage_finish(struct trainer *t, unsigned parts, struct error *err)
{
	if (!t->team->data || !(parts & STEP_COMMUNICATE))
		return STATUS_OK;
	if (backend_event_record(t->layer_done, t->team->streams[STREAM_DATA], err) != STATUS_OK)
		return err->status;
	return backend_stream_wait(trainer_stream(t), t->layer_done, err);
}

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

static enum status pipeline_open_local(struct trainer *t, struct pipeline *p, struct error *err)
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
	return world_agree(team->world, pipeline_open_local(t, p, err), err);
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

static enum status pipeline_compute_forward(struct trainer *t, uint64_t row, unsigned parts,
					    struct error *err)
{
	struct stream *stream = trainer_stream(t);
	struct network *n = &t->network;
	uint64_t rows = edge_rows(t);

	if (pipeline_stage_forward(t, row, rows, parts, err) != STATUS_OK)
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
	if (pipeline_compute_forward(t, row, parts, err) != STATUS_OK)
		return err->status;
	timeline_end(t, STREAM_COMPUTE);
	return edge_send(&p->down, &p->down.forward, t, p->computed, micro,
			 network_activation(n, p->down.boundary, row), parts, err);
}

/* See pipeline_product(). */
static uint64_t pipeline_product_after(const struct trainer *t, const struct micro *m)
{
	return pipeline_product(t->setup, network_has_loss(&t->network), m->turn);
}

static enum status pipeline_send_gradient(struct trainer *t, const struct micro *m,
					  struct error *err)
{
	struct pipeline *p = t->state;

	return edge_send(&p->up, &p->up.backward, t, p->computed, m->turn, m->dx, m->parts, err);
}

static enum status pipeline_backward_whole(struct trainer *t, const struct micro *m,
					   struct error *err)
{
	const struct rank_partition *partition = &t->network.partition;

	timeline_begin(t, STREAM_COMPUTE, SPAN_BACKWARD, m->index);
	for (size_t l = partition->last; l-- > partition->first;)
		if (pipeline_stage_input_gradients(t, m, l, l + 1, err) != STATUS_OK ||
		    pipeline_stage_weight_gradients(t, m, l, l + 1, err) != STATUS_OK)
			return err->status;
	timeline_end(t, STREAM_COMPUTE);
	return pipeline_send_gradient(t, m, err);
}

/* Joins the `count` micro-batches that share a wgrad product; `m` is the last of them. */
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
 * The weight gradients of the group that ends with the stage's first layer wait until the gradient
 * of its input is being sent, and until the last of the micro-batches that share a product.
 */
static enum status pipeline_backward_apart(struct trainer *t, const struct micro *m,
					   struct error *err)
{
	const struct rank_partition *partition = &t->network.partition;
	uint64_t count = pipeline_product_after(t, m);
	struct micro all;

	for (size_t last = partition->last, first; last > partition->first; last = first) {
		first = backward_group(&t->network, last);
		timeline_begin(t, STREAM_COMPUTE, SPAN_BACKWARD, m->index);
		if (pipeline_stage_input_gradients(t, m, first, last, err) != STATUS_OK)
			return err->status;
		timeline_end(t, STREAM_COMPUTE);
		if (first == partition->first && pipeline_send_gradient(t, m, err) != STATUS_OK)
			return err->status;
		if (count == 0)
			continue;
		all = joined_micro(t, m, count);
		timeline_begin(t, STREAM_COMPUTE, SPAN_WEIGHTS, m->index);
		if (pipeline_stage_weight_gradients(t, &all, first, last, err) != STATUS_OK)
			return err->status;
		timeline_end(t, STREAM_COMPUTE);
	}
	return STATUS_OK;
}

/*
 * The weight gradients are the last use of the data received for backward of these micro-batches.
 */
static enum status pipeline_release_slots(struct trainer *t, const struct micro *m,
					  struct error *err)
{
	const struct pipeline *p = t->state;
	uint64_t count = pipeline_product_after(t, m), first;

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
	if ((backward_dgrad_first(&t->network) ? pipeline_backward_apart(t, &m, err)
					       : pipeline_backward_whole(t, &m, err)) != STATUS_OK)
		return err->status;
	return pipeline_release_slots(t, &m, err);
}

/*
 * The edges may access this step's buffers only after the previous step, and the next step only
 * after the edges.
 */
static enum status pipeline_fork_edges(struct trainer *t, struct error *err)
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
	if (pipeline_fork_edges(t, err) != STATUS_OK)
		return err->status;
	while (p->backwards < micro) {
		bool forward = p->forwards < micro && p->forwards <= p->warmup + p->backwards;

		if ((forward ? forward_micro(t, parts, err) : backward_micro(t, parts, err)) !=
		    STATUS_OK)
			return err->status;
	}
	if (edge_join(&p->up, t, err) != STATUS_OK || edge_join(&p->down, t, err) != STATUS_OK ||
	    pipeline_stage_finish(t, parts, err) != STATUS_OK)
		return err->status;
	return trainer_update(t, parts, err);
}

/*
 * In addition to the network's commands: waits and events of every transfer of every micro-batch.
 */
unsigned pipeline_commands(const struct trainer *t)
{
	uint64_t micro = t->setup->microbatches;

	return network_commands(&t->network, micro) + (unsigned)(10 * micro) + 10;
}
