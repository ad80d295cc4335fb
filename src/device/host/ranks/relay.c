/*
 * Host operations of a relay: pieces through the message channels. This is the transport
 * `host_copy` for devices whose memory is the host's; it tests the relay's collectives on any
 * machine.
 */
#include <stdio.h>
#include <stdlib.h>

#include "device/host/ranks/communicator.h"
#include "device/ranks/relay.h"

struct add_arguments {
	struct host_communicator *c;
	uint32_t turn;
	int peer;
	struct relay_sum sum;
};

/* Adds the piece directly from its slot, then releases the slot. */
static enum status host_relay_add_piece(const struct add_arguments *a, struct error *err)
{
	struct host_communicator *c = a->c;
	uint32_t *received = &c->received[a->peer];
	struct channel_state *channel = communicator_channel(c, a->peer, c->base.rank);
	enum status status = communicator_wait(c, &channel->written, *received + 1, a->peer, err);

	if (status != STATUS_OK)
		return status;
	reduction_add_elements(&a->sum, communicator_p2p_slot(c, a->peer, c->base.rank, *received));
	counter_raise(&channel->taken, ++*received);
	counter_add(&communicator_rank(c, a->peer)->p2p, 1);
	return STATUS_OK;
}

static enum status relay_add_run(struct stream *stream, const void *arguments, struct error *err)
{
	const struct add_arguments *a = arguments;
	enum status status = communicator_begin(a->c, a->turn, stream, err);

	if (status == STATUS_OK)
		status = host_relay_add_piece(a, err);
	communicator_end(a->c, a->turn);
	return status;
}

static enum status host_pull_reduce(struct communicator *communicator, struct stream *stream,
				    int peer, const struct relay_sum *sum, struct error *err)
{
	struct host_communicator *c = host_communicator(communicator);
	struct add_arguments a = { .c = c, .turn = c->issued + 1, .peer = peer, .sum = *sum };
	enum status status;

	_Static_assert(sizeof(a) <= OPERATION_BYTES, "the arguments fit");
	status = stream_refuse_recording(stream, "a sum of ranks", err);
	if (status == STATUS_OK)
		status = stream_enqueue_always(stream, relay_add_run, &a, sizeof(a), err);
	c->issued += status == STATUS_OK;
	return status;
}

static enum status host_push(struct communicator *communicator, struct stream *stream, int peer,
			     const void *from, size_t bytes, struct error *err)
{
	return host_send(communicator, stream, from, bytes, peer, err);
}

static enum status host_pull(struct communicator *communicator, struct stream *stream, int peer,
			     void *to, size_t bytes, struct error *err)
{
	return host_receive(communicator, stream, to, bytes, peer, err);
}

const struct transport_ops host_transport_ops = { .push = host_push,
						  .pull = host_pull,
						  .pull_reduce = host_pull_reduce };

enum status host_transport_usable(struct device *device, enum transport transport,
				  const struct device_set *devices, struct error *err)
{
	if (transport == TRANSPORT_SHARED_MEMORY || transport == TRANSPORT_HOST_COPY ||
	    transport == TRANSPORT_TCP)
		return transport_reaches(device, transport, devices, err);
	return error_set(err, STATUS_UNSUPPORTED, "transport %s: %s is not a GPU",
			 transport_names[transport], device->info.id);
}

enum status host_relay_open(struct communicator *communicator, const struct transport_ops *ops,
			    struct error *err)
{
	struct host_communicator *c = host_communicator(communicator);
	enum status status;

	relay_close(communicator);
	c->scratch = c->scratch ? c->scratch : malloc(P2P_SLOT_BYTES);
	if (!c->scratch)
		return error_set(err, STATUS_NO_MEMORY, "malloc of %zu bytes", P2P_SLOT_BYTES);
	status = relay_open(&c->base, ops, P2P_SLOT_BYTES, c->scratch, err);
	if (status == STATUS_OK)
		c->base.transport = TRANSPORT_HOST_COPY;
	return status;
}
