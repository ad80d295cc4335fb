/*
 * Host operations of a relay over TCP, for ranks on several nodes: a piece is a sequence of bytes
 * on the connection of two ranks, in the order of the calls.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "device/host/ranks/communicator.h"
#include "device/ranks/relay.h"
#include "device/ranks/tcp_mesh.h"

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

static enum status tcp_move_piece(const struct tcp_piece *p, struct error *err)
{
	int fd = p->c->connections[p->peer];
	void *memory = p->sum.count ? p->c->received_piece : p->memory;
	enum status status =
		p->sends ? tcp_mesh_send(fd, memory, p->bytes, collective_timeout_seconds, err)
			 : tcp_mesh_receive(fd, memory, p->bytes, collective_timeout_seconds, err);

	if (status == STATUS_OK && p->sum.count)
		reduction_add_elements(&p->sum, memory);
	if (status != STATUS_OK) {
		communicator_give_up(p->c, p->peer);
		error_prefix(err, "rank %d: rank %d", p->c->base.rank, p->peer);
	}
	return status;
}

static enum status tcp_run_piece(struct stream *stream, const void *arguments, struct error *err)
{
	const struct tcp_piece *p = arguments;
	enum status status = communicator_begin(p->c, p->turn, stream, err);

	if (status == STATUS_OK)
		status = tcp_move_piece(p, err);
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

static const struct transport_ops ops = { .push = tcp_push,
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
	    relay_open(&c->base, &ops, PIECE_BYTES, c->scratch, err) != STATUS_OK)
		return err->status;
	c->base.transport = TRANSPORT_TCP;
	return STATUS_OK;
}
