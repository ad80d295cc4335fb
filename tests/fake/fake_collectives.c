/* Collectives and messages of the fake backend: the relay's, over the host's pieces. */
#include "device/ranks/relay.h"
#include "fake_device.h"

int fake_nested;

static enum status leave_nested(enum status status)
{
	fake_nested--;
	return status;
}
#define NESTED(call) (fake_nested++, leave_nested(call))

enum status fake_communicator_id(struct communicator_id *out, struct error *err)
{
	CALL("communicator_id");
	return HOST->communicator_id(out, err);
}

void fake_communicator_close(struct communicator *communicator)
{
	HOST->communicator_close(communicator);
}

enum status fake_all_reduce(struct communicator *communicator, struct stream *stream, void *to,
			    const void *from, size_t count, enum precision precision,
			    enum reduction reduction, struct error *err)
{
	CALL("all_reduce");
	pass(stream, (double)(count * precision_bytes(precision)) / FAKE_BANDWIDTH);
	return NESTED(
		relay_all_reduce(communicator, stream, to, from, count, precision, reduction, err));
}

enum status fake_broadcast(struct communicator *communicator, struct stream *stream, void *buffer,
			   size_t bytes, int root, struct error *err)
{
	CALL("broadcast");
	pass(stream, (double)bytes / FAKE_BANDWIDTH);
	return NESTED(relay_broadcast(communicator, stream, buffer, bytes, root, err));
}

enum status fake_send(struct communicator *communicator, struct stream *stream, const void *from,
		      size_t bytes, int peer, struct error *err)
{
	CALL("send");
	pass(stream, (double)bytes / FAKE_BANDWIDTH);
	return NESTED(relay_send(communicator, stream, from, bytes, peer, err));
}

enum status fake_receive(struct communicator *communicator, struct stream *stream, void *to,
			 size_t bytes, int peer, struct error *err)
{
	CALL("receive");
	pass(stream, (double)bytes / FAKE_BANDWIDTH);
	return NESTED(relay_receive(communicator, stream, to, bytes, peer, err));
}

enum status fake_group_begin(struct communicator *communicator, struct error *err)
{
	CALL("group_begin");
	return relay_group_begin(communicator, err);
}

enum status fake_group_end(struct communicator *communicator, struct error *err)
{
	CALL("group_end");
	return NESTED(relay_group_end(communicator, err));
}

/* A rank's part comes from each of the others. */
static void pass_parts(struct communicator *c, struct stream *stream, size_t count,
		       enum precision precision)
{
	pass(stream, (double)(count * precision_bytes(precision)) * c->size / FAKE_BANDWIDTH);
}

enum status fake_all_gather(struct communicator *communicator, struct stream *stream, void *to,
			    const void *from, size_t count_per_rank, enum precision precision,
			    struct error *err)
{
	CALL("all_gather");
	pass_parts(communicator, stream, count_per_rank, precision);
	return NESTED(
		relay_all_gather(communicator, stream, to, from, count_per_rank, precision, err));
}

enum status fake_reduce_scatter(struct communicator *communicator, struct stream *stream, void *to,
				const void *from, size_t count_per_rank, enum precision precision,
				enum reduction reduction, struct error *err)
{
	CALL("reduce_scatter");
	pass_parts(communicator, stream, count_per_rank, precision);
	return NESTED(relay_reduce_scatter(communicator, stream, to, from, count_per_rank,
					   precision, reduction, err));
}

enum status fake_reduce(struct communicator *communicator, struct stream *stream, void *to,
			const void *from, size_t count, enum precision precision,
			enum reduction reduction, int root, struct error *err)
{
	CALL("reduce");
	pass(stream, (double)(count * precision_bytes(precision)) / FAKE_BANDWIDTH);
	return NESTED(relay_reduce(communicator, stream, to, from, count, precision, reduction,
				   root, err));
}

enum status fake_all_to_all(struct communicator *communicator, struct stream *stream, void *to,
			    const void *from, size_t count_per_rank, enum precision precision,
			    struct error *err)
{
	CALL("all_to_all");
	pass_parts(communicator, stream, count_per_rank, precision);
	return NESTED(
		relay_all_to_all(communicator, stream, to, from, count_per_rank, precision, err));
}
