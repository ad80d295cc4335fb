/*
 * An edge between neighbouring stages of a pipeline. It has a communicator and a stream of its own,
 * and when forwards and backwards alternate one for each direction. Each carries micro-batches in
 * the order in which both ends take them, so nothing can dead-lock, and a receive waits only for
 * its own send.
 *
 * A slot holds the data of one micro-batch, micro-batch i in slot i modulo their number. The writer
 * of a slot waits for an event after the last use of what was there: for received gradients and
 * inputs that is the second half of the backward, for sent ones the sending.
 */
#ifndef GPUPROOF_SUITES_TRAINING_PARALLEL_MODES_PIPELINE_PIPELINE_EDGE_H
#define GPUPROOF_SUITES_TRAINING_PARALLEL_MODES_PIPELINE_PIPELINE_EDGE_H

#include "suites/training/parallel/trainer/trainer.h"

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
	struct slots sent;   /* slots whose content has left */
};

struct edge {
	struct edge_lane forward, backward;
	int peer;        /* rank of the neighbour in the communicators */
	size_t boundary; /* activations[boundary] cross it */
	void *gradients; /* `slots` of a micro-batch */
	uint64_t slots;
};

/* Rows of a micro-batch. */
static inline uint64_t edge_rows(const struct trainer *t)
{
	return t->network.partition.rows / t->setup->microbatches;
}

/* Sent gradients of an edge: one is in flight while the other is used. */
uint64_t edge_sent_slots(const struct setup *setup);
/* Received ones: the same, of as many as one wgrad product reads. */
uint64_t edge_received_slots(const struct setup *setup);
/* The slot of turn `turn`; NULL at the ends of the pipeline. */
void *edge_gradient(const struct edge *edge, const struct trainer *t, uint64_t turn);

/* After a failure still to be closed. */
enum status slots_open(struct slots *slots, struct device *device, uint64_t count,
		       struct error *err);
void slots_close(struct slots *slots);
struct event *slots_event(const struct slots *slots, uint64_t turn);

/*
 * `edge` has its communicators, streams, peer, boundary and number of slots; at the ends of the
 * pipeline there is nothing to open.
 */
enum status edge_open(struct edge *edge, struct trainer *t, struct error *err);
void edge_close(struct edge *edge);

/*
 * Sends what the compute stream has just written, from the slot of turn `turn`; `computed` is
 * recorded after it.
 */
enum status edge_send(const struct edge *edge, const struct edge_lane *lane, struct trainer *t,
		      struct event *computed, uint64_t turn, const void *from, unsigned parts,
		      struct error *err);
/*
 * Receives into the slot of turn `turn` as soon as what was there has been used; the compute stream
 * waits for it.
 */
enum status edge_receive(const struct edge *edge, const struct edge_lane *lane, struct trainer *t,
			 const struct slots *used, uint64_t turn, void *to, unsigned parts,
			 struct error *err);
/* Waits until the data that the compute stream is about to overwrite have been sent. */
enum status edge_wait_sent(const struct edge_lane *lane, struct trainer *t, uint64_t turn,
			   struct error *err);
/* The compute stream continues after the last transfers. */
enum status edge_join(const struct edge *edge, struct trainer *t, struct error *err);

#endif
