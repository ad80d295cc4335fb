/*
 * Communicators of host devices: ranks communicate through POSIX shared memory. The segment is
 * named by the communicator's id, created by the first rank that arrives and unlinked as soon as
 * all have attached, so that nothing remains when ranks die. As with NCCL, operations run in the
 * order of the calls, even on different streams.
 *
 * A rank that waits for another one longer than collective_timeout_seconds without progress returns
 * STATUS_TIMEOUT with its number; the communicator is then unusable for all ranks.
 */
#ifndef GPUPROOF_DEVICE_HOST_RANKS_COMMUNICATOR_H
#define GPUPROOF_DEVICE_HOST_RANKS_COMMUNICATOR_H

#include "device/host/stream.h"

/* Slot size between each pair of ranks. */
#define P2P_SLOT_BYTES ((size_t)128 << 10)
#define P2P_SLOTS 4

#define COMMUNICATOR_RANKS 256 /* at most */

/* Progress of a rank; each counter has a single writer and a separate cache line. */
struct rank_state {
	_Alignas(64) struct counter attached;
	/* incremented for each event in a channel of this rank */
	_Alignas(64) struct counter p2p;
};

struct channel_state {
	_Alignas(64) struct counter written; /* pieces */
	_Alignas(64) struct counter taken;
};

struct segment; /* head of the shared memory */

struct host_communicator {
	struct communicator base;
	struct segment *segment;
	size_t segment_bytes;

	/* Operations take turns in the order of the calls, whatever their streams. */
	uint32_t issued;
	struct counter completed;
	/* operations that may still access this structure after completion */
	_Atomic uint32_t inside;

	uint32_t *sent, *received; /* pieces, per peer */

	bool in_group;
	struct exchange_transfer *group;
	size_t group_count, group_capacity;

	void *scratch; /* scratch slot of the relay */

	int *connections;     /* transport tcp: one per peer; else NULL */
	void *received_piece; /* of it */
};

extern double collective_timeout_seconds;

static inline struct host_communicator *host_communicator(struct communicator *communicator)
{
	return (struct host_communicator *)communicator;
}

/* Parts of the shared memory. */
struct rank_state *communicator_rank(struct host_communicator *c, int rank);
struct channel_state *communicator_channel(struct host_communicator *c, int from, int to);
unsigned char *communicator_p2p_slot(struct host_communicator *c, int from, int to, uint32_t piece);

/*
 * Every operation uses stream_enqueue_always and runs between these two calls. communicator_begin()
 * waits for the operation's turn; it fails if the stream or the communicator has failed before.
 */
enum status communicator_begin(struct host_communicator *c, uint32_t turn, struct stream *stream,
			       struct error *err);
void communicator_end(struct host_communicator *c, uint32_t turn);

/* Waits until `peer` has raised its counter to `value`. */
enum status communicator_wait(struct host_communicator *c, struct counter *counter, uint32_t value,
			      int peer, struct error *err);

/* Marks the communicator as unusable because of rank `peer`. */
void communicator_give_up(struct host_communicator *c, int peer);

/* relay.c */
/* Connects the ranks over TCP, and installs the relay's operations. */
enum status host_tcp_open(struct host_communicator *c, const struct communicator_id *id,
			  struct error *err);

struct transport_ops;
extern const struct transport_ops host_transport_ops;
/* Installs the relay's operations in an open communicator, in place of those of another relay. */
enum status host_relay_open(struct communicator *communicator, const struct transport_ops *ops,
			    struct error *err);

#endif
