/*
 * Collectives and messages built from copies, for transports without a library. The ranks form
 * rings. Each rank passes pieces of at most one slot to the next rank. A backend implements the
 * operation that moves a piece between two ranks; the rest is common to all backends.
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

/*
 * More than 0 and at most one slot's bytes. A push writes the next slot of the channel to `peer` as
 * soon as it is free; a pull reads the next slot from `peer` as soon as it is full, and frees it.
 */
struct relay_piece {
	int peer;
	bool is_push;
	void *memory; /* of this rank; not used if there is a sum */
	size_t bytes;
	struct relay_sum sum; /* of a pull: reduces the data with own elements; count 0: none */
};

/* How a transport moves a piece: asynchronously on `stream`. */
typedef enum status relay_move_fn(struct communicator *communicator, struct stream *stream,
				  const struct relay_piece *piece, struct error *err);

/*
 * Creates communicator->relay and sets its operations; `scratch` is one slot of device memory,
 * owned by the backend. Call relay_close() before freeing the communicator; it frees neither.
 */
enum status relay_open(struct communicator *communicator, relay_move_fn *move, size_t slot_bytes,
		       void *scratch, struct error *err);
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
