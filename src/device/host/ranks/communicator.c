#include "device/host/ranks/communicator.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "device/host/host_kernel.h"
#include "device/host/stream.h"
#include "device/ranks/shared_memory.h"
#include "device/ranks/tcp_mesh.h"
#include "kernels/launch/elements.h"

double collective_timeout_seconds = 60;

/* Interval for checking if another rank has given up. */
#define LOOK_SECONDS 0.1

struct rank_state {
	struct counter attached;
	_Atomic uint32_t looks; /* while it waits for another rank: it is alive */
};

struct segment {
	_Atomic int failed_rank;   /* 1 + rank that made the communicator unusable */
	struct rank_state ranks[]; /* followed by channels and their slots */
};

/* Slots between each two ranks; two fit into the buffers of a TCP connection. */
#define SLOT_BYTES ((size_t)128 << 10)
#define SLOTS 4

#define COMMUNICATOR_RANKS 256 /* at most */

/* Each counter has a single writer and a separate cache line. */
struct channel_state {
	_Alignas(64) struct counter written; /* pieces */
	_Alignas(64) struct counter taken;
};

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

	void *scratch; /* scratch slot of the relay */

	int *connections;     /* transport tcp: one per peer; else NULL */
	void *received_piece; /* of it */
};

static size_t communicator_round_up(size_t bytes)
{
	return (bytes + 4095) / 4096 * 4096;
}

static size_t communicator_channels_at(size_t size)
{
	return communicator_round_up(sizeof(struct segment) + size * sizeof(struct rank_state));
}

static size_t communicator_slots_at(size_t size)
{
	return communicator_channels_at(size) +
	       communicator_round_up(size * size * sizeof(struct channel_state));
}

enum status host_communicator_id(struct communicator_id *out, struct error *err)
{
	return shared_memory_create(out->bytes, sizeof(out->bytes), err);
}

/* A new segment is zero, which is a valid initial state, so every rank opens it the same way. */
static enum status communicator_map_segment(struct host_communicator *c, const char *name,
					    struct error *err)
{
	size_t size = (size_t)c->base.size;
	size_t bytes = communicator_slots_at(size) + size * size * SLOTS * SLOT_BYTES;
	char use[64];
	void *memory;

	snprintf(use, sizeof(use), "collectives of %d ranks", c->base.size);
	if (shared_memory_map(name, bytes, use, &memory, err) != STATUS_OK)
		return err->status;
	c->segment = memory;
	c->segment_bytes = bytes;
	return STATUS_OK;
}

static void free_communicator(struct host_communicator *c)
{
	if (c->connections) {
		tcp_mesh_close(c->connections, c->base.size);
		free(c->segment);
	} else {
		shared_memory_unmap(c->segment, c->segment_bytes);
	}
	free(c->connections);
	free(c->received_piece);
	free(c->sent);
	free(c->received);
	free(c->scratch);
	free(c);
}

/* Marks the communicator as unusable because of rank `peer`. */
static void communicator_give_up(struct host_communicator *c, int rank)
{
	int none = 0;

	atomic_compare_exchange_strong(&c->segment->failed_rank, &none, rank + 1);
}

static enum status communicator_report_failed(struct host_communicator *c, struct error *err)
{
	int rank = atomic_load(&c->segment->failed_rank) - 1;

	return error_set(err, STATUS_TIMEOUT,
			 "rank %d: rank %d failed or stopped responding; the communicator is "
			 "unusable",
			 c->base.rank, rank);
}

/*
 * Every operation uses host_stream_enqueue_always and runs between these two calls.
 * communicator_begin() waits for the operation's turn; it fails if the stream or the communicator
 * has failed before.
 */
static enum status communicator_begin(struct host_communicator *c, uint32_t turn,
				      struct stream *stream, struct error *err)
{
	atomic_fetch_add(&c->inside, 1);
	counter_wait(&c->completed, turn - 1, INFINITY);
	/* Omitting an operation would leave the others waiting for this rank. */
	if (host_stream(stream)->error.status != STATUS_OK)
		communicator_give_up(c, c->base.rank);
	if (atomic_load(&c->segment->failed_rank))
		return communicator_report_failed(c, err);
	return STATUS_OK;
}

/* Waits until `peer` has raised its counter to `value`. */
static enum status communicator_wait(struct host_communicator *c, struct counter *counter,
				     uint32_t value, int peer, struct error *err)
{
	double limit = clock_seconds() + collective_timeout_seconds, now;
	uint32_t looks[COMMUNICATOR_RANKS];

	if (counter_reached(counter, value))
		return STATUS_OK;
	for (int rank = 0; rank < c->base.size; rank++)
		looks[rank] = atomic_load(&c->segment->ranks[rank].looks);
	do {
		now = clock_seconds();
		if (counter_wait(counter, value, fmin(limit, now + LOOK_SECONDS)))
			return STATUS_OK;
		if (atomic_load(&c->segment->failed_rank))
			return communicator_report_failed(c, err);
		atomic_fetch_add(&c->segment->ranks[c->base.rank].looks, 1);
	} while (now < limit);
	/* The rank that does not wait for another one: `peer`, unless that does. */
	for (int rank = 0;
	     rank < c->base.size && atomic_load(&c->segment->ranks[peer].looks) != looks[peer];
	     rank++)
		if (rank != c->base.rank &&
		    atomic_load(&c->segment->ranks[rank].looks) == looks[rank])
			peer = rank;
	communicator_give_up(c, peer);
	return error_set(err, STATUS_TIMEOUT, "rank %d: rank %d made no progress for %g s",
			 c->base.rank, peer, collective_timeout_seconds);
}

/*
 * Collectives and messages of the host: the relay's, whose pieces go through slots of shared memory
 * or over TCP.
 */
/* Adds the ranks' tensors element by element. */
#define REDUCTION_LOOPS(type)                                                           \
	HOST_VECTORISED                                                                 \
	static void mix_##type(type *to, const type *x, type x_factor, const type *y,   \
			       type y_factor, size_t count)                             \
	{                                                                               \
		for (size_t i = 0; i < count; i++)                                      \
			to[i] = x_factor * x[i] + y_factor * y[i];                      \
	}                                                                               \
	HOST_VECTORISED                                                                 \
	static void larger_##type(type *to, const type *x, const type *y, size_t count) \
	{                                                                               \
		for (size_t i = 0; i < count; i++)                                      \
			to[i] = x[i] > y[i] ? x[i] : y[i];                              \
	}
REDUCTION_LOOPS(float)
REDUCTION_LOOPS(double)

/* Implements the sum of device/ranks/relay.h, in FP32 for narrower types. */
static void host_communicator_add_elements(const struct relay_sum *sum, const void *slot)
{
	if (sum->precision == PRECISION_FP64) {
		if (sum->larger)
			larger_double(sum->to, slot, sum->own, sum->count);
		else
			mix_double(sum->to, slot, sum->slot_factor, sum->own, sum->own_factor,
				   sum->count);
		return;
	}
	FOR_BLOCKS (at, length, 0, sum->count) {
		float to[ELEMENTS_BLOCK], theirs[ELEMENTS_BLOCK], mine[ELEMENTS_BLOCK];
		const float *x = elements_open(slot, sum->precision, at, length, theirs),
			    *y = elements_open(sum->own, sum->precision, at, length, mine);

		if (sum->larger)
			larger_float(to, x, y, length);
		else
			mix_float(to, x, (float)sum->slot_factor, y, (float)sum->own_factor,
				  length);
		elements_store(sum->to, sum->precision, at, length, to);
	}
}

/* For ranks on several nodes: a sequence of bytes, in the order of the calls. */
static enum status host_communicator_piece_over_tcp(struct host_communicator *c,
						    const struct relay_piece *p, struct error *err)
{
	int fd = c->connections[p->peer];
	void *memory = p->sum.count ? c->received_piece : p->memory;
	enum status status =
		p->is_push
			? tcp_mesh_send(fd, memory, p->bytes, collective_timeout_seconds, err)
			: tcp_mesh_receive(fd, memory, p->bytes, collective_timeout_seconds, err);

	if (status == STATUS_OK && p->sum.count)
		host_communicator_add_elements(&p->sum, memory);
	if (status == STATUS_OK)
		return STATUS_OK;
	communicator_give_up(c, p->peer);
	error_prefix(err, "rank %d: rank %d", c->base.rank, p->peer);
	return status;
}

/*
 * Moves a piece through the next slot of the segment. A push waits until the slot is free, and
 * copies the piece into it. A pull waits until the slot is full, and copies the piece out, or adds
 * its elements directly from the slot.
 */
static enum status host_communicator_piece_through_slot(struct host_communicator *c,
							const struct relay_piece *p,
							struct error *err)
{
	size_t me = (size_t)c->base.rank, peer = (size_t)p->peer, size = (size_t)c->base.size,
	       index = p->is_push ? me * size + peer : peer * size + me;
	unsigned char *segment = (unsigned char *)c->segment;
	struct channel_state *channel =
		(struct channel_state *)(segment + communicator_channels_at(size)) + index;
	uint32_t *pieces = p->is_push ? &c->sent[peer] : &c->received[peer];
	unsigned char *slot = segment + communicator_slots_at(size) +
			      (index * SLOTS + *pieces % SLOTS) * SLOT_BYTES;
	enum status status =
		communicator_wait(c, p->is_push ? &channel->taken : &channel->written,
				  *pieces + 1 - (p->is_push ? SLOTS : 0), p->peer, err);

	if (status != STATUS_OK)
		return status;
	if (p->sum.count)
		host_communicator_add_elements(&p->sum, slot);
	else
		memcpy(p->is_push ? slot : p->memory, p->is_push ? p->memory : slot, p->bytes);
	counter_raise(p->is_push ? &channel->written : &channel->taken, ++*pieces);
	return STATUS_OK;
}

struct host_piece {
	struct host_communicator *c;
	uint32_t turn;
	struct relay_piece piece;
};

static enum status host_communicator_piece_run(struct stream *stream, const void *arguments,
					       struct error *err)
{
	const struct host_piece *p = arguments;
	enum status status = communicator_begin(p->c, p->turn, stream, err);

	if (status == STATUS_OK)
		status = p->c->connections
				 ? host_communicator_piece_over_tcp(p->c, &p->piece, err)
				 : host_communicator_piece_through_slot(p->c, &p->piece, err);
	counter_raise(&p->c->completed, p->turn);
	atomic_fetch_sub(&p->c->inside, 1);
	return status;
}

enum status host_communicator_move(struct communicator *communicator, struct stream *stream,
				   const struct relay_piece *piece, struct error *err)
{
	struct host_communicator *c = (struct host_communicator *)communicator;
	const struct host_piece p = { .c = c, .turn = c->issued + 1, .piece = *piece };
	enum status status;

	_Static_assert(sizeof(p) <= OPERATION_BYTES, "the arguments fit");
	status =
		host_stream_enqueue_always(stream, host_communicator_piece_run, &p, sizeof(p), err);
	c->issued += status == STATUS_OK;
	return status;
}

enum status host_transport_usable(struct device *device, enum transport transport,
				  const struct device_set *devices, struct error *err)
{
	if (transport == TRANSPORT_SHARED_MEMORY || transport == TRANSPORT_HOST_COPY ||
	    transport == TRANSPORT_TCP)
		return transport_reaches(device, transport, devices, err);
	return error_set(err, STATUS_UNSUPPORTED, "transport %s: %s is not a GPU",
			 transport_names[transport], device->info.id);
}

enum status host_communicator_relay_open(struct communicator *communicator, relay_move_fn *move,
					 struct error *err)
{
	relay_close(communicator);
	return relay_open(communicator, move, SLOT_BYTES,
			  ((struct host_communicator *)communicator)->scratch, err);
}

enum status host_communicator_open(struct device *device,
				   const struct communicator_options *options,
				   const struct communicator_id *id, int rank, int size,
				   struct communicator **out, struct error *err)
{
	bool over_tcp = options->transport == TRANSPORT_TCP;
	bool direct = options->transport == TRANSPORT_AUTO ||
		      options->transport == TRANSPORT_SHARED_MEMORY;
	struct host_communicator *c;
	enum status status;

	if (!direct && host_transport_usable(device, options->transport, NULL, err) != STATUS_OK)
		return err->status;

	if (size < 1 || size > COMMUNICATOR_RANKS || rank < 0 || rank >= size ||
	    (!over_tcp &&
	     (strnlen(id->bytes, sizeof(id->bytes)) == sizeof(id->bytes) || id->bytes[0] != '/')))
		return error_set(err, STATUS_INTERNAL,
				 "communicator_open: invalid rank %d of %d, or invalid id", rank,
				 size);
	c = xcalloc(1, sizeof(*c));
	c->base = (struct communicator){ .device = device,
					 .rank = rank,
					 .size = size,
					 .transport = direct ? TRANSPORT_SHARED_MEMORY
							     : options->transport };
	c->scratch = xcalloc(1, SLOT_BYTES);
	c->sent = xcalloc((size_t)size, sizeof(*c->sent));
	c->received = xcalloc((size_t)size, sizeof(*c->received));
	if (over_tcp) {
		c->segment = xcalloc(1, sizeof(*c->segment));
		c->connections = xcalloc((size_t)size, sizeof(*c->connections));
		c->received_piece = xcalloc(1, SLOT_BYTES);
		status = tcp_mesh_open(id, rank, size, collective_timeout_seconds, c->connections,
				       err);
	} else {
		status = communicator_map_segment(c, id->bytes, err);
		if (status == STATUS_OK)
			counter_add(&c->segment->ranks[rank].attached, 1);
		for (int peer = 0; peer < size && status == STATUS_OK; peer++)
			status = communicator_wait(c, &c->segment->ranks[peer].attached, 1, peer,
						   err);
		shared_memory_attached(id->bytes);
	}
	if (status != STATUS_OK) {
		free_communicator(c);
		error_prefix(err, "communicator of %d ranks", size);
		return status;
	}
	status = host_communicator_relay_open(&c->base, host_communicator_move, err);
	if (direct)
		c->base.operations = NULL; /* the backend's own, which are the relay's as well */
	if (status != STATUS_OK)
		host_communicator_close(&c->base);
	else
		*out = &c->base;
	return status;
}

void host_communicator_close(struct communicator *communicator)
{
	struct host_communicator *c;

	if (!communicator)
		return;
	c = (struct host_communicator *)communicator;
	if (communicator->abandoned)
		communicator_give_up(c, communicator->rank);
	counter_wait(&c->completed, c->issued, INFINITY);
	/* The thread that completed the last operation may still be waking its waiters. */
	while (atomic_load(&c->inside))
		sched_yield();
	relay_close(communicator);
	free_communicator(c);
}
