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

static enum status communicator_attach(struct host_communicator *c, const char *name,
				       struct error *err)
{
	enum status status = communicator_map_segment(c, name, err);

	if (status == STATUS_OK)
		counter_add(&communicator_rank(c, c->base.rank)->attached, 1);
	for (int peer = 0; peer < c->base.size && status == STATUS_OK; peer++)
		status = communicator_wait(c, &communicator_rank(c, peer)->attached, 1, peer, err);
	shared_memory_attached(name);
	return status;
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
		status = communicator_attach(c, id->bytes, err);
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
