/*
 * Host operations of a relay: pieces through the message channels. This is the transport
 * `host_copy` for devices whose memory is the host's; it tests the relay's collectives on any
 * machine.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "device/host/host_kernel.h"
#include "device/host/ranks/communicator.h"
#include "device/ranks/relay.h"
#include "device/ranks/tcp_mesh.h"
#include "kernels/launch/elements.h"

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

static void add_fp64(const struct relay_sum *sum, const double *slot)
{
	if (sum->larger)
		larger_double(sum->to, slot, sum->own, sum->count);
	else
		mix_double(sum->to, slot, sum->slot_factor, sum->own, sum->own_factor, sum->count);
}

/* Implements the sum of device/ranks/relay.h, in FP32 for narrower types. */
static void reduction_add_elements(const struct relay_sum *sum, const void *slot)
{
	if (sum->precision == PRECISION_FP64) {
		add_fp64(sum, slot);
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

/*
 * Host operations of a relay over TCP, for ranks on several nodes: a piece is a sequence of bytes
 * on the connection of two ranks, in the order of the calls.
 */
/*
 * Two pieces fit into the buffers of a connection, so that no ring of pushes waits for its pulls.
 */
#define PIECE_BYTES ((size_t)128 << 10)

struct tcp_piece {
	struct host_communicator *c;
	uint32_t turn;
	int peer;
	bool sends;
	void *memory;
	size_t bytes;
	struct relay_sum sum; /* count 0: none */
};

static enum status tcp_run_piece(struct stream *stream, const void *arguments, struct error *err)
{
	const struct tcp_piece *p = arguments;
	enum status status = communicator_begin(p->c, p->turn, stream, err);

	if (status == STATUS_OK) {
		int fd = p->c->connections[p->peer];
		void *memory = p->sum.count ? p->c->received_piece : p->memory;

		status = p->sends ? tcp_mesh_send(fd, memory, p->bytes, collective_timeout_seconds,
						  err)
				  : tcp_mesh_receive(fd, memory, p->bytes,
						     collective_timeout_seconds, err);
		if (status == STATUS_OK && p->sum.count)
			reduction_add_elements(&p->sum, memory);
		if (status != STATUS_OK) {
			communicator_give_up(p->c, p->peer);
			error_prefix(err, "rank %d: rank %d", p->c->base.rank, p->peer);
		}
	}
	communicator_end(p->c, p->turn);
	return status;
}

static enum status tcp_enqueue_piece(struct stream *stream, struct tcp_piece piece,
				     struct error *err)
{
	enum status status;

	_Static_assert(sizeof(piece) <= OPERATION_BYTES, "the arguments fit");
	piece.turn = piece.c->issued + 1;
	status = stream_refuse_recording(stream, "transport tcp", err);
	if (status == STATUS_OK)
		status = stream_enqueue_always(stream, tcp_run_piece, &piece, sizeof(piece), err);
	piece.c->issued += status == STATUS_OK;
	return status;
}

static enum status tcp_push(struct communicator *communicator, struct stream *stream, int peer,
			    const void *from, size_t bytes, struct error *err)
{
	return tcp_enqueue_piece(stream,
				 (struct tcp_piece){ .c = host_communicator(communicator),
						     .peer = peer,
						     .sends = true,
						     .memory = (void *)from,
						     .bytes = bytes },
				 err);
}

static enum status tcp_pull(struct communicator *communicator, struct stream *stream, int peer,
			    void *to, size_t bytes, struct error *err)
{
	return tcp_enqueue_piece(stream,
				 (struct tcp_piece){ .c = host_communicator(communicator),
						     .peer = peer,
						     .memory = to,
						     .bytes = bytes },
				 err);
}

static enum status tcp_pull_reduce(struct communicator *communicator, struct stream *stream,
				   int peer, const struct relay_sum *sum, struct error *err)
{
	return tcp_enqueue_piece(stream,
				 (struct tcp_piece){ .c = host_communicator(communicator),
						     .peer = peer,
						     .bytes = sum->count *
							      precision_bytes(sum->precision),
						     .sum = *sum },
				 err);
}

static const struct transport_ops tcp_ops = { .push = tcp_push,
					      .pull = tcp_pull,
					      .pull_reduce = tcp_pull_reduce };

enum status host_tcp_open(struct host_communicator *c, const struct communicator_id *id,
			  struct error *err)
{
	c->connections = xcalloc((size_t)c->base.size, sizeof(*c->connections));
	c->scratch = xcalloc(1, PIECE_BYTES);
	c->received_piece = xcalloc(1, PIECE_BYTES);
	if (tcp_mesh_open(id, c->base.rank, c->base.size, collective_timeout_seconds,
			  c->connections, err) != STATUS_OK ||
	    relay_open(&c->base, &tcp_ops, PIECE_BYTES, c->scratch, err) != STATUS_OK)
		return err->status;
	c->base.transport = TRANSPORT_TCP;
	return STATUS_OK;
}

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
