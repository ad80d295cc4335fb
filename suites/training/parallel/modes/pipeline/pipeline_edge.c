#include "suites/training/parallel/modes/pipeline/pipeline_edge.h"

#include <stdlib.h>

#include "base/memory.h"
#include "suites/training/parallel/trainer/timeline.h"

#define GRADIENT_SLOTS 2

static uint64_t edge_bytes(const struct edge *edge, const struct trainer *t)
{
	return edge_rows(t) * partition_width(t->setup, &t->network.partition, edge->boundary) *
	       precision_bytes(t->setup->precision);
}

uint64_t edge_sent_slots(const struct setup *setup)
{
	return setup->microbatches < GRADIENT_SLOTS ? setup->microbatches : GRADIENT_SLOTS;
}

uint64_t edge_received_slots(const struct setup *setup)
{
	uint64_t slots = GRADIENT_SLOTS * setup_wgrad_microbatches(setup);

	return setup->microbatches < slots ? setup->microbatches : slots;
}

void *edge_gradient(const struct edge *edge, const struct trainer *t, uint64_t turn)
{
	return edge->gradients ? (char *)edge->gradients + turn % edge->slots * edge_bytes(edge, t)
			       : NULL;
}

enum status slots_open(struct slots *slots, struct device *device, uint64_t count,
		       struct error *err)
{
	slots->used = xcalloc(count, sizeof(*slots->used));
	for (; slots->count < count; slots->count++)
		if (backend_event_create(device, &slots->used[slots->count], err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

void slots_close(struct slots *slots)
{
	for (uint64_t i = 0; i < slots->count; i++)
		backend_event_destroy(slots->used[i]);
	free(slots->used);
}

struct event *slots_event(const struct slots *slots, uint64_t turn)
{
	return slots->used[turn % slots->count];
}

enum status edge_open(struct edge *edge, struct trainer *t, struct error *err)
{
	uint64_t rows = edge_rows(t);
	struct device *device = t->team->device;

	if (!edge->forward.communicator)
		return STATUS_OK;
	if (backend_event_create(device, &edge->forward.moved, err) != STATUS_OK ||
	    backend_event_create(device, &edge->backward.moved, err) != STATUS_OK ||
	    slots_open(&edge->forward.sent, device, t->network.kept[edge->boundary] / rows, err) !=
		    STATUS_OK ||
	    slots_open(&edge->backward.sent, device, edge_sent_slots(t->setup), err) != STATUS_OK)
		return err->status;
	return arena_alloc(&t->arena, MEMORY_COMMUNICATION, edge->slots * edge_bytes(edge, t),
			   &edge->gradients, err);
}

void edge_close(struct edge *edge)
{
	backend_event_destroy(edge->forward.moved);
	backend_event_destroy(edge->backward.moved);
	slots_close(&edge->forward.sent);
	slots_close(&edge->backward.sent);
}

enum status edge_send(const struct edge *edge, const struct edge_lane *lane, struct trainer *t,
		      struct event *computed, uint64_t turn, const void *from, unsigned parts,
		      struct error *err)
{
	struct stream *stream = t->team->streams[lane->stream];

	if (!lane->communicator || !(parts & STEP_COMMUNICATE))
		return STATUS_OK;
	if (backend_event_record(computed, trainer_stream(t), err) != STATUS_OK ||
	    backend_stream_wait(stream, computed, err) != STATUS_OK)
		return err->status;
	timeline_begin(t, lane->stream, SPAN_SEND, turn);
	backend_send(lane->communicator, stream, from, edge_bytes(edge, t), edge->peer, err);
	timeline_end(t, lane->stream);
	if (err->status != STATUS_OK)
		return err->status;
	return backend_event_record(slots_event(&lane->sent, turn), stream, err);
}

enum status edge_receive(const struct edge *edge, const struct edge_lane *lane, struct trainer *t,
			 const struct slots *used, uint64_t turn, void *to, unsigned parts,
			 struct error *err)
{
	struct stream *stream = t->team->streams[lane->stream];

	if (!lane->communicator || !(parts & STEP_COMMUNICATE))
		return STATUS_OK;
	if (backend_stream_wait(stream, slots_event(used, turn), err) != STATUS_OK)
		return err->status;
	timeline_begin(t, lane->stream, SPAN_RECEIVE, turn);
	backend_receive(lane->communicator, stream, to, edge_bytes(edge, t), edge->peer, err);
	timeline_end(t, lane->stream);
	if (err->status != STATUS_OK || backend_event_record(lane->moved, stream, err) != STATUS_OK)
		return err->status;
	return backend_stream_wait(trainer_stream(t), lane->moved, err);
}

enum status edge_wait_sent(const struct edge_lane *lane, struct trainer *t, uint64_t turn,
			   struct error *err)
{
	if (!lane->communicator)
		return STATUS_OK;
	return backend_stream_wait(trainer_stream(t), slots_event(&lane->sent, turn), err);
}

static enum status pipeline_edge_join_lane(const struct edge_lane *lane, struct trainer *t,
					   struct error *err)
{
	if (!lane->communicator)
		return STATUS_OK;
	if (backend_event_record(lane->moved, t->team->streams[lane->stream], err) != STATUS_OK)
		return err->status;
	return backend_stream_wait(trainer_stream(t), lane->moved, err);
}

enum status edge_join(const struct edge *edge, struct trainer *t, struct error *err)
{
	if (pipeline_edge_join_lane(&edge->forward, t, err) != STATUS_OK)
		return err->status;
	return pipeline_edge_join_lane(&edge->backward, t, err);
}
