#include "device/host/ranks/communicator.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "device/ranks/relay.h"
#include "device/ranks/shared_memory.h"
#include "device/ranks/tcp_mesh.h"

/*
 * Messages between two ranks, in pieces through the channel of the pair. The sends and receives of
 * a group advance alternately, a piece at a time, so that none waits for the end of another.
 */
struct exchange_transfer {
	struct stream *stream;
	bool is_send;
	int peer;
	unsigned char *memory;
	size_t bytes, done;
};

struct exchange_group {
	struct host_communicator *c;
	uint32_t turn;
	size_t count;
	struct exchange_transfer transfers[];
};

/* Moves one piece if there is room, or one is waiting; true if it did. */
static bool exchange_move_piece(struct host_communicator *c, struct exchange_transfer *t)
{
	int me = c->base.rank, from = t->is_send ? me : t->peer, to = t->is_send ? t->peer : me;
	struct channel_state *channel = communicator_channel(c, from, to);
	uint32_t *pieces = t->is_send ? &c->sent[t->peer] : &c->received[t->peer];
	unsigned char *slot = communicator_p2p_slot(c, from, to, *pieces);
	size_t left = t->bytes - t->done, bytes = left < P2P_SLOT_BYTES ? left : P2P_SLOT_BYTES;

	if (t->is_send) {
		if (!counter_reached(&channel->taken, *pieces + 1 - P2P_SLOTS))
			return false;
		memcpy(slot, t->memory + t->done, bytes);
		counter_raise(&channel->written, ++*pieces);
	} else {
		if (!counter_reached(&channel->written, *pieces + 1))
			return false;
		memcpy(t->memory + t->done, slot, bytes);
		counter_raise(&channel->taken, ++*pieces);
	}
	t->done += bytes;
	counter_add(&communicator_rank(c, t->peer)->p2p, 1);
	return true;
}

/* Messages between the same two ranks arrive in order. */
static bool transfer_waits_for_earlier(const struct exchange_group *x, size_t index)
{
	const struct exchange_transfer *t = &x->transfers[index];

	for (size_t i = 0; i < index; i++) {
		const struct exchange_transfer *earlier = &x->transfers[i];

		if (earlier->peer == t->peer && earlier->is_send == t->is_send &&
		    earlier->done < earlier->bytes)
			return true;
	}
	return false;
}

static enum status exchange_pieces(struct exchange_group *x, struct error *err)
{
	struct counter *news = &communicator_rank(x->c, x->c->base.rank)->p2p;
	enum status status = STATUS_OK;
	int waiting = 0;

	while (waiting >= 0 && status == STATUS_OK) {
		uint32_t seen = atomic_load(&news->value);
		bool moved = false;

		/* One round over all transfers; `waiting`: peer of an unfinished one, or -1. */
		waiting = -1;
		for (size_t i = 0; i < x->count; i++) {
			struct exchange_transfer *t = &x->transfers[i];

			if (t->done < t->bytes && !transfer_waits_for_earlier(x, i) &&
			    exchange_move_piece(x->c, t))
				moved = true;
			if (t->done < t->bytes)
				waiting = t->peer;
		}
		if (!moved && waiting >= 0)
			status = communicator_wait(x->c, news, seen + 1, waiting, err);
	}
	return status;
}

static enum status exchange_run(struct stream *stream, const void *arguments, struct error *err)
{
	struct exchange_group *x = *(struct exchange_group *const *)arguments;
	enum status status = communicator_begin(x->c, x->turn, stream, err);

	if (status == STATUS_OK)
		status = exchange_pieces(x, err);
	communicator_end(x->c, x->turn);
	free(x);
	return status;
}

/* Makes `stream` wait for all work enqueued on `ahead` so far. */
static enum status exchange_stream_join(struct stream *stream, struct stream *ahead,
					struct error *err)
{
	struct event *event;
	enum status status;

	if (stream == ahead)
		return STATUS_OK;
	status = host_event_create(ahead->device, &event, err);
	if (status == STATUS_OK)
		status = host_event_record(event, ahead, err);
	if (status == STATUS_OK)
		status = host_stream_wait(stream, event, err);
	host_event_destroy(event);
	return status;
}

/*
 * All transfers form one operation on the stream of the first, even if they were called on several
 * streams: those wait for it, and it waits for them.
 */
static enum status enqueue_exchange(struct host_communicator *c,
				    const struct exchange_transfer *transfers, size_t count,
				    struct error *err)
{
	struct exchange_group *x = xcalloc(1, sizeof(*x) + count * sizeof(*transfers));
	struct stream *stream = transfers[0].stream;
	enum status status = STATUS_OK;

	x->c = c;
	x->turn = c->issued + 1;
	x->count = count;
	memcpy(x->transfers, transfers, count * sizeof(*transfers));
	for (size_t i = 1; i < count && status == STATUS_OK; i++)
		status = exchange_stream_join(stream, transfers[i].stream, err);
	if (status == STATUS_OK)
		status = stream_enqueue_always(stream, exchange_run, &x, sizeof(x), err);
	if (status != STATUS_OK) {
		free(x);
		return status;
	}
	c->issued++;
	for (size_t i = 1; i < count && status == STATUS_OK; i++)
		status = exchange_stream_join(transfers[i].stream, stream, err);
	return status;
}

static enum status exchange_add_transfer(struct communicator *communicator,
					 struct exchange_transfer transfer, struct error *err)
{
	struct host_communicator *c = host_communicator(communicator);

	if (transfer.peer < 0 || transfer.peer >= c->base.size)
		return error_set(err, STATUS_INTERNAL, "send or receive: there is no rank %d",
				 transfer.peer);
	if (transfer.bytes == 0)
		return STATUS_OK;
	if (!c->in_group)
		return enqueue_exchange(c, &transfer, 1, err);
	ARRAY_GROW(c->group, c->group_count, c->group_capacity);
	c->group[c->group_count++] = transfer;
	return STATUS_OK;
}

enum status host_send(struct communicator *communicator, struct stream *stream, const void *from,
		      size_t bytes, int peer, struct error *err)
{
	struct exchange_transfer transfer = { stream, true, peer, (unsigned char *)from, bytes, 0 };

	return exchange_add_transfer(communicator, transfer, err);
}

enum status host_receive(struct communicator *communicator, struct stream *stream, void *to,
			 size_t bytes, int peer, struct error *err)
{
	struct exchange_transfer transfer = { stream, false, peer, to, bytes, 0 };

	return exchange_add_transfer(communicator, transfer, err);
}

enum status host_group_begin(struct communicator *communicator, struct error *err)
{
	struct host_communicator *c = host_communicator(communicator);

	if (c->in_group)
		return error_set(err, STATUS_INTERNAL, "group_begin inside a group");
	c->in_group = true;
	return STATUS_OK;
}

enum status host_group_end(struct communicator *communicator, struct error *err)
{
	struct host_communicator *c = host_communicator(communicator);
	enum status status = STATUS_OK;

	if (!c->in_group)
		return error_set(err, STATUS_INTERNAL, "group_end without group_begin");
	c->in_group = false;
	if (c->group_count > 0)
		status = enqueue_exchange(c, c->group, c->group_count, err);
	c->group_count = 0;
	return status;
}

double collective_timeout_seconds = 60;

/* Interval for checking if another rank has given up. */
#define LOOK_SECONDS 0.1

struct segment {
	_Atomic int failed_rank;   /* 1 + rank that made the communicator unusable */
	struct rank_state ranks[]; /* followed by channels and their slots */
};

static size_t communicator_round_up(size_t bytes)
{
	return (bytes + 4095) / 4096 * 4096;
}

static size_t communicator_channels_at(size_t size)
{
	return communicator_round_up(sizeof(struct segment) + size * sizeof(struct rank_state));
}

static size_t p2p_at(size_t size)
{
	return communicator_channels_at(size) +
	       communicator_round_up(size * size * sizeof(struct channel_state));
}

struct rank_state *communicator_rank(struct host_communicator *c, int rank)
{
	return &c->segment->ranks[rank];
}

struct channel_state *communicator_channel(struct host_communicator *c, int from, int to)
{
	struct channel_state *channels =
		(struct channel_state *)((unsigned char *)c->segment +
					 communicator_channels_at((size_t)c->base.size));

	return &channels[from * c->base.size + to];
}

unsigned char *communicator_p2p_slot(struct host_communicator *c, int from, int to, uint32_t piece)
{
	size_t channel = (size_t)from * (size_t)c->base.size + (size_t)to;

	return (unsigned char *)c->segment + p2p_at((size_t)c->base.size) +
	       (channel * P2P_SLOTS + piece % P2P_SLOTS) * P2P_SLOT_BYTES;
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
	size_t bytes = p2p_at(size) + size * size * P2P_SLOTS * P2P_SLOT_BYTES;
	char use[64];
	void *memory;

	snprintf(use, sizeof(use), "the collectives of %d ranks", c->base.size);
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
	free(c->group);
	free(c->scratch);
	free(c);
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
				 "communicator_open: rank %d of %d, or a bad id", rank, size);
	c = xcalloc(1, sizeof(*c));
	c->base = (struct communicator){
		.device = device, .rank = rank, .size = size, .transport = TRANSPORT_SHARED_MEMORY
	};
	c->sent = xcalloc((size_t)size, sizeof(*c->sent));
	c->received = xcalloc((size_t)size, sizeof(*c->received));
	if (over_tcp) {
		c->segment = xcalloc_aligned(_Alignof(struct segment), sizeof(*c->segment));
		status = host_tcp_open(c, id, err);
	} else {
		status = communicator_map_segment(c, id->bytes, err);
		if (status == STATUS_OK)
			counter_add(&communicator_rank(c, c->base.rank)->attached, 1);
		for (int peer = 0; peer < c->base.size && status == STATUS_OK; peer++)
			status = communicator_wait(c, &communicator_rank(c, peer)->attached, 1,
						   peer, err);
		shared_memory_attached(id->bytes);
	}
	if (status != STATUS_OK) {
		free_communicator(c);
		error_prefix(err, "communicator of %d ranks", size);
		return status;
	}
	if (!over_tcp)
		status = host_relay_open(&c->base, &host_transport_ops, err);
	if (direct && status == STATUS_OK) {
		/* Messages are the backend's own, in fewer operations. */
		c->base.operations = NULL;
		c->base.transport = TRANSPORT_SHARED_MEMORY;
	}
	if (status != STATUS_OK)
		host_communicator_close(&c->base);
	else
		*out = &c->base;
	return status;
}

void communicator_give_up(struct host_communicator *c, int rank)
{
	int none = 0;

	atomic_compare_exchange_strong(&c->segment->failed_rank, &none, rank + 1);
}

void host_communicator_close(struct communicator *communicator)
{
	struct host_communicator *c;

	if (!communicator)
		return;
	c = host_communicator(communicator);
	if (communicator->abandoned)
		communicator_give_up(c, communicator->rank);
	counter_wait(&c->completed, c->issued, INFINITY);
	/* The thread that completed the last operation may still be waking its waiters. */
	while (atomic_load(&c->inside))
		sched_yield();
	relay_close(communicator);
	free_communicator(c);
}

static enum status communicator_report_failed(struct host_communicator *c, struct error *err)
{
	int rank = atomic_load(&c->segment->failed_rank) - 1;

	return error_set(err, STATUS_TIMEOUT,
			 "rank %d: rank %d failed or stopped answering; the communicator is "
			 "unusable",
			 c->base.rank, rank);
}

enum status communicator_begin(struct host_communicator *c, uint32_t turn, struct stream *stream,
			       struct error *err)
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

void communicator_end(struct host_communicator *c, uint32_t turn)
{
	counter_raise(&c->completed, turn);
	atomic_fetch_sub(&c->inside, 1);
}

enum status communicator_wait(struct host_communicator *c, struct counter *counter, uint32_t value,
			      int peer, struct error *err)
{
	double limit = clock_seconds() + collective_timeout_seconds;

	if (counter_reached(counter, value))
		return STATUS_OK;
	for (;;) {
		double now = clock_seconds();

		if (counter_wait(counter, value, fmin(limit, now + LOOK_SECONDS)))
			return STATUS_OK;
		if (atomic_load(&c->segment->failed_rank))
			return communicator_report_failed(c, err);
		if (now < limit)
			continue;
		communicator_give_up(c, peer);
		return error_set(err, STATUS_TIMEOUT, "rank %d: no progress of rank %d for %g s",
				 c->base.rank, peer, collective_timeout_seconds);
	}
}
