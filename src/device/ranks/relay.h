/*
 * Collectives and messages made of copies, for transports that have no library: rings of ranks,
 * each of which hands pieces of at most one slot to the next. A backend gives the three operations
 * that move a piece between two ranks; all else is the same on every backend.
 *
 * Between each two ranks and in each direction there are RELAY_SLOTS slots. A push waits for a free
 * one, so a rank may be that many pieces ahead of its peer. Everything is enqueued on the caller's
 * stream: a rank pushes before it pulls, and the k-th push needs no more than pulls before the
 * k-th, so no ring can dead-lock. Operations of one communicator on different streams follow each
 * other in the order of the calls.
 *
 * Sums are added up piece by piece on one rank after another in the same order each time, and then
 * copied: all ranks have the same bits.
 */
#ifndef GPUPROOF_DEVICE_RANKS_RELAY_H
#define GPUPROOF_DEVICE_RANKS_RELAY_H

#include "device/backend.h"

#define RELAY_SLOTS 2

/* to[i] = slot_factor * slot[i] op own_factor * own[i]: a sum, or the larger one. */
struct relay_sum {
	void *to;
	const void *own; /* may be `to` */
	size_t count;
	enum precision precision;
	bool larger;
	double own_factor, slot_factor;
};

/* Asynchronous on `stream`; at most one slot's bytes at a time, more than 0. */
struct transport_ops {
	/* Writes the next slot of the channel to `peer`, as soon as it is free. */
	enum status (*push)(struct communicator *communicator, struct stream *stream, int peer,
			    const void *from, size_t bytes, struct error *err);
	/*
	 * Reads what `peer` pushed into the next slot, as soon as it is there; the slot is then
	 * free.
	 */
	enum status (*pull)(struct communicator *communicator, struct stream *stream, int peer,
			    void *to, size_t bytes, struct error *err);
	/* The same, and reduces it with the own elements. */
	enum status (*pull_reduce)(struct communicator *communicator, struct stream *stream,
				   int peer, const struct relay_sum *sum, struct error *err);
};

/*
 * Makes communicator->relay and sets its operations; `scratch` is one slot of memory of the device,
 * the backend's own. Call relay_close() before the communicator is freed; it frees neither.
 */
enum status relay_open(struct communicator *communicator, const struct transport_ops *ops,
		       size_t slot_bytes, void *scratch, struct error *err);
/* Does nothing where there is no relay. */
void relay_close(struct communicator *communicator);

/*
 * All operations so far are done: the stream of the latest, for which the next one would wait, may
 * be destroyed before the communicator. Does nothing for NULL, and where there is no relay.
 */
void relay_settled(struct communicator *communicator);

/* Queued commands per piece, at most: wait, copy, add, signal the semaphore. */
#define RELAY_COMMANDS 4
/* Pushes, pulls and reductions so far. */
uint64_t relay_pieces(const struct communicator *communicator);

/* relay.c: of the table of operations. */
enum status relay_send(struct communicator *communicator, struct stream *stream, const void *from,
		       size_t bytes, int peer, struct error *err);
enum status relay_receive(struct communicator *communicator, struct stream *stream, void *to,
			  size_t bytes, int peer, struct error *err);
enum status relay_group_begin(struct communicator *communicator, struct error *err);
enum status relay_group_end(struct communicator *communicator, struct error *err);

/* relay_collectives.c */
extern const struct communicator_operations relay_operations;

/*
 * For relay_collectives.c. Every operation begins with relay_turn(), which keeps the order of the
 * calls.
 */
enum status relay_turn(struct communicator *communicator, struct stream *stream, struct error *err);
size_t relay_slot_bytes(const struct communicator *communicator);
void *relay_scratch(const struct communicator *communicator);
enum status relay_push(struct communicator *communicator, struct stream *stream, int peer,
		       const void *from, size_t bytes, struct error *err);
enum status relay_pull(struct communicator *communicator, struct stream *stream, int peer, void *to,
		       size_t bytes, struct error *err);
enum status relay_pull_reduce(struct communicator *communicator, struct stream *stream, int peer,
			      const struct relay_sum *sum, struct error *err);

#endif
