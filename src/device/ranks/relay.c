/* Pieces, messages and groups of messages. */
#include "device/ranks/relay.h"

#include <stdlib.h>

#include "base/memory.h"

struct relay_message {
	struct stream *stream;
	bool is_send, is_due;
	int peer;
	char *memory;
	size_t bytes, done;
};

struct relay {
	const struct transport_ops *ops;
	size_t slot_bytes;
	void *scratch;
	uint64_t pieces;
	struct stream *latest; /* stream of the previous operation */
	struct event *order;   /* event that the next stream waits for */
	bool in_group;
	struct relay_message *group;
	size_t group_count, group_capacity;
};

enum status relay_open(struct communicator *c, const struct transport_ops *ops, size_t slot_bytes,
		       void *scratch, struct error *err)
{
	struct relay *relay = xcalloc(1, sizeof(*relay));
	enum status status = backend_event_create(c->device, &relay->order, err);

	if (status != STATUS_OK) {
		free(relay);
		return status;
	}
	relay->ops = ops;
	relay->slot_bytes = slot_bytes;
	relay->scratch = scratch;
	c->relay = relay;
	c->operations = &relay_operations;
	return STATUS_OK;
}

void relay_close(struct communicator *c)
{
	if (!c->relay)
		return;
	backend_event_destroy(c->relay->order);
	free(c->relay->group);
	free(c->relay);
	c->relay = NULL;
	c->operations = NULL;
}

void relay_settled(struct communicator *c)
{
	if (c && c->relay)
		c->relay->latest = NULL;
}

uint64_t relay_pieces(const struct communicator *c)
{
	return c->relay ? c->relay->pieces : 0;
}

size_t relay_slot_bytes(const struct communicator *c)
{
	return c->relay->slot_bytes;
}

void *relay_scratch(const struct communicator *c)
{
	return c->relay->scratch;
}

/* Makes `stream` wait for all work enqueued on `ahead` so far. */
static enum status stream_follow(struct communicator *c, struct stream *stream,
				 struct stream *ahead, struct error *err)
{
	enum status status;

	if (stream == ahead)
		return STATUS_OK;
	status = backend_event_record(c->relay->order, ahead, err);
	return status == STATUS_OK ? backend_stream_wait(stream, c->relay->order, err) : status;
}

enum status relay_turn(struct communicator *c, struct stream *stream, struct error *err)
{
	struct stream *ahead = c->relay->latest;

	c->relay->latest = stream;
	return ahead ? stream_follow(c, stream, ahead, err) : STATUS_OK;
}

enum status relay_push(struct communicator *c, struct stream *stream, int peer, const void *from,
		       size_t bytes, struct error *err)
{
	if (bytes == 0)
		return STATUS_OK;
	c->relay->pieces++;
	return c->relay->ops->push(c, stream, peer, from, bytes, err);
}

enum status relay_pull(struct communicator *c, struct stream *stream, int peer, void *to,
		       size_t bytes, struct error *err)
{
	if (bytes == 0)
		return STATUS_OK;
	c->relay->pieces++;
	return c->relay->ops->pull(c, stream, peer, to, bytes, err);
}

enum status relay_pull_reduce(struct communicator *c, struct stream *stream, int peer,
			      const struct relay_sum *sum, struct error *err)
{
	if (sum->count == 0)
		return STATUS_OK;
	c->relay->pieces++;
	return c->relay->ops->pull_reduce(c, stream, peer, sum, err);
}

/* Messages between the same two ranks arrive in order. */
static bool message_waits_for_earlier(const struct relay_message *messages, size_t index)
{
	const struct relay_message *m = &messages[index];

	for (size_t i = 0; i < index; i++)
		if (messages[i].peer == m->peer && messages[i].is_send == m->is_send &&
		    messages[i].done < messages[i].bytes)
			return true;
	return false;
}

static enum status relay_move_piece(struct communicator *c, struct stream *stream,
				    struct relay_message *m, struct error *err)
{
	size_t left = m->bytes - m->done,
	       bytes = left < c->relay->slot_bytes ? left : c->relay->slot_bytes;
	char *at = m->memory + m->done;

	m->done += bytes;
	return m->is_send ? relay_push(c, stream, m->peer, at, bytes, err)
			  : relay_pull(c, stream, m->peer, at, bytes, err);
}

/* Moves one piece of each unfinished message: all sends before any receive. */
static enum status relay_move_round(struct communicator *c, struct relay_message *messages,
				    size_t count, bool *moved, struct error *err)
{
	enum status status = STATUS_OK;

	*moved = false;
	for (size_t i = 0; i < count; i++) {
		messages[i].is_due = messages[i].done < messages[i].bytes &&
				     !message_waits_for_earlier(messages, i);
		*moved |= messages[i].is_due;
	}
	for (int sends = 1; sends >= 0; sends--)
		for (size_t i = 0; i < count && status == STATUS_OK; i++)
			if (messages[i].is_due && messages[i].is_send == (sends == 1))
				status = relay_move_piece(c, messages[0].stream, &messages[i], err);
	return status;
}

/*
 * All messages form one operation on the stream of the first: it waits for the other streams, and
 * they for it.
 */
static enum status relay_exchange_messages(struct communicator *c, struct relay_message *messages,
					   size_t count, struct error *err)
{
	struct stream *stream = messages[0].stream;
	enum status status = relay_turn(c, stream, err);
	bool moved = true;

	for (size_t i = 1; i < count && status == STATUS_OK; i++)
		status = stream_follow(c, stream, messages[i].stream, err);
	while (moved && status == STATUS_OK)
		status = relay_move_round(c, messages, count, &moved, err);
	for (size_t i = 1; i < count && status == STATUS_OK; i++)
		status = stream_follow(c, messages[i].stream, stream, err);
	return status;
}

static enum status relay_add_message(struct communicator *c, struct relay_message message,
				     struct error *err)
{
	struct relay *relay = c->relay;

	if (message.peer < 0 || message.peer >= c->size || message.peer == c->rank)
		return error_set(err, STATUS_INTERNAL, "send or receive: rank %d has no peer %d",
				 c->rank, message.peer);
	if (message.bytes == 0)
		return STATUS_OK;
	if (!relay->in_group)
		return relay_exchange_messages(c, &message, 1, err);
	ARRAY_GROW(relay->group, relay->group_count, relay->group_capacity);
	relay->group[relay->group_count++] = message;
	return STATUS_OK;
}

enum status relay_send(struct communicator *c, struct stream *stream, const void *from,
		       size_t bytes, int peer, struct error *err)
{
	struct relay_message message = { .stream = stream,
					 .is_send = true,
					 .peer = peer,
					 .memory = (char *)from,
					 .bytes = bytes };

	return relay_add_message(c, message, err);
}

enum status relay_receive(struct communicator *c, struct stream *stream, void *to, size_t bytes,
			  int peer, struct error *err)
{
	struct relay_message message = {
		.stream = stream, .peer = peer, .memory = to, .bytes = bytes
	};

	return relay_add_message(c, message, err);
}

enum status relay_group_begin(struct communicator *c, struct error *err)
{
	if (c->relay->in_group)
		return error_set(err, STATUS_INTERNAL, "group_begin inside a group");
	c->relay->in_group = true;
	return STATUS_OK;
}

enum status relay_group_end(struct communicator *c, struct error *err)
{
	struct relay *relay = c->relay;
	enum status status = STATUS_OK;

	if (!relay->in_group)
		return error_set(err, STATUS_INTERNAL, "group_end without group_begin");
	relay->in_group = false;
	if (relay->group_count > 0)
		status = relay_exchange_messages(c, relay->group, relay->group_count, err);
	relay->group_count = 0;
	return status;
}
