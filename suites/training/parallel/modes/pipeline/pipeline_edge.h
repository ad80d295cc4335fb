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
	struct slots sent;   /* slots whose content has been sent */
};

struct edge {
	struct edge_lane forward, backward;
	int peer;        /* rank of the neighbour in the communicators */
	size_t boundary; /* activations[boundary] cross it */
	void *gradients; /* `slots` buffers, one per micro-batch */
	uint64_t slots;
};

/* Rows of a micro-batch. */
static inline uint64_t edge_rows(const struct trainer *t)
{
	return t->network.partition.rows / t->setup->microbatches;
}

/* Slots for sent gradients of an edge: one is being sent while the other is used. */
uint64_t edge_sent_slots(const struct setup *setup);
/* Slots for received gradients: the same, times the number that one wgrad product reads. */
uint64_t edge_received_slots(const struct setup *setup);
/* Slot of turn `turn`; NULL at the ends of the pipeline. */
void *edge_gradient(const struct edge *edge, const struct trainer *t, uint64_t turn);

/* Must be closed even after a failure. */
enum status slots_open(struct slots *slots, struct device *device, uint64_t count,
		       struct error *err);
void slots_close(struct slots *slots);
struct event *slots_event(const struct slots *slots, uint64_t turn);

/*
 * `edge` has its communicators, streams, peer, boundary and number of slots; the ends of the
 * pipeline have nothing to open.
 */
enum status edge_open(struct edge *edge, struct trainer *t, struct error *err);
void edge_close(struct edge *edge);

/*
 * Sends the latest output of the compute stream from the slot of turn `turn`; `computed` is
 * recorded after it.
 */
enum status edge_send(const struct edge *edge, const struct edge_lane *lane, struct trainer *t,
		      struct event *computed, uint64_t turn, const void *from, unsigned parts,
		      struct error *err);
/*
 * Receives into the slot of turn `turn` as soon as its previous content has been used; the compute
 * stream waits for it.
 */
enum status edge_receive(const struct edge *edge, const struct edge_lane *lane, struct trainer *t,
			 const struct slots *used, uint64_t turn, void *to, unsigned parts,
			 struct error *err);
/* Waits until the data that the compute stream will overwrite have been sent. */
enum status edge_wait_sent(const struct edge_lane *lane, struct trainer *t, uint64_t turn,
			   struct error *err);
/* The compute stream continues after the last transfers. */
enum status edge_join(const struct edge *edge, struct trainer *t, struct error *err);

#endif
