/*
 * Collectives and messages built from copies, for transports without a library: rings of ranks,
 * each of which passes pieces of at most one slot to the next. A backend implements the three
 * operations that move a piece between two ranks; the rest is common to all backends.
 *
 * Between each two ranks there are RELAY_SLOTS slots per direction. A push waits for a free slot,
 * so a rank may be that many pieces ahead of its peer. Everything is enqueued on the caller's
 * stream. A rank pushes before it pulls, and the k-th push depends only on pulls before the k-th,
 * so no ring can deadlock. Operations of one communicator on different streams run in the order of
 * the calls.
 *
 * Sums are added piece by piece on one rank after another, always in the same order, and then
 * copied: all ranks have the same bits.
 */
#ifndef GPUPROOF_DEVICE_RANKS_RELAY_H
#define GPUPROOF_DEVICE_RANKS_RELAY_H

#include "device/backend.h"

#define RELAY_SLOTS 2

/* to[i] = slot_factor * slot[i] op own_factor * own[i]: a sum, or the maximum. */
struct relay_sum {
	void *to;
	const void *own; /* may equal `to` */
	size_t count;
	enum precision precision;
	bool larger;
	double own_factor, slot_factor;
};

/* Asynchronous on `stream`; more than 0 and at most one slot's bytes per call. */
struct transport_ops {
	/* Writes the next slot of the channel to `peer` as soon as it is free. */
	enum status (*push)(struct communicator *communicator, struct stream *stream, int peer,
			    const void *from, size_t bytes, struct error *err);
	/* Reads the next slot from `peer` as soon as it is full, and frees it. */
	enum status (*pull)(struct communicator *communicator, struct stream *stream, int peer,
			    void *to, size_t bytes, struct error *err);
	/* As pull(), reducing the data with the rank's own elements. */
	enum status (*pull_reduce)(struct communicator *communicator, struct stream *stream,
				   int peer, const struct relay_sum *sum, struct error *err);
};

/*
 * Creates communicator->relay and sets its operations; `scratch` is one slot of device memory,
 * owned by the backend. Call relay_close() before freeing the communicator; it frees neither.
 */
enum status relay_open(struct communicator *communicator, const struct transport_ops *ops,
		       size_t slot_bytes, void *scratch, struct error *err);
/* Does nothing without a relay. */
void relay_close(struct communicator *communicator);

/*
 * Tells the relay that all operations are done: the stream of the latest, for which the next one
 * would wait, may then be destroyed before the communicator. Does nothing for NULL or without a
 * relay.
 */
void relay_settled(struct communicator *communicator);

/* Maximum queued commands per piece: wait, copy, add, signal the semaphore. */
#define RELAY_COMMANDS 4
/* Number of pushes, pulls and reductions so far. */
uint64_t relay_pieces(const struct communicator *communicator);

/* The collectives, messages and groups, and a table of them. */
#define OPERATION(device, name, parameters, arguments)
#define COLLECTIVE(name, parameters, arguments) enum status relay_##name parameters;
#include "device/backend.def"
extern const struct communicator_operations relay_operations;

#endif
