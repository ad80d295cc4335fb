/*
 * Messages between two ranks, in pieces through the channel of the pair. The sends and receives of
 * a group advance alternately, a piece at a time, so that none waits for the end of another.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "device/host/ranks/communicator.h"

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
