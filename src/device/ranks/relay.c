/*
 * Pieces, messages and groups of messages, and collectives. In a ring each rank pushes to the next
 * and pulls from the previous; the volume per rank is that of ring algorithms: 2(n-1)/n of the
 * tensor in an all-reduce, (n-1)/n in gather and scatter, the whole tensor in a broadcast or
 * reduction, whose chains of ranks work on consecutive pieces at the same time (pipelined).
 */
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
	relay_move_fn *move;
	size_t slot_bytes;
	void *scratch;
	uint64_t pieces;
	struct stream *latest; /* stream of the previous operation */
	struct event *order;   /* event that the next stream waits for */
	bool in_group;
	struct relay_message *group;
	size_t group_count, group_capacity;
};

enum status relay_open(struct communicator *c, relay_move_fn *move, size_t slot_bytes,
		       void *scratch, struct error *err)
{
	struct relay *relay = xcalloc(1, sizeof(*relay));
	enum status status = backend_event_create(c->device, &relay->order, err);

	if (status != STATUS_OK) {
		free(relay);
		return status;
	}
	relay->move = move;
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

/* Makes `stream` wait for all work enqueued on `ahead` so far. */
static enum status relay_stream_follow(struct communicator *c, struct stream *stream,
				       struct stream *ahead, struct error *err)
{
	enum status status;

	if (stream == ahead)
		return STATUS_OK;
	status = backend_event_record(c->relay->order, ahead, err);
	return status == STATUS_OK ? backend_stream_wait(stream, c->relay->order, err) : status;
}

/* Starts every operation; preserves the order of the calls. */
static enum status relay_turn(struct communicator *c, struct stream *stream, struct error *err)
{
	struct stream *ahead = c->relay->latest;

	c->relay->latest = stream;
	return ahead ? relay_stream_follow(c, stream, ahead, err) : STATUS_OK;
}

static enum status relay_move(struct communicator *c, struct stream *stream,
			      const struct relay_piece *piece, struct error *err)
{
	if (piece->bytes == 0)
		return STATUS_OK;
	c->relay->pieces++;
	return c->relay->move(c, stream, piece, err);
}

/* Messages between the same two ranks arrive in order. */
static bool relay_message_waits_for_earlier(const struct relay_message *messages, size_t index)
{
	const struct relay_message *m = &messages[index];

	for (size_t i = 0; i < index; i++)
		if (messages[i].peer == m->peer && messages[i].is_send == m->is_send &&
		    messages[i].done < messages[i].bytes)
			return true;
	return false;
}

static size_t relay_size_min(size_t a, size_t b)
{
	return a < b ? a : b;
}

static enum status relay_move_next(struct communicator *c, struct stream *stream,
				   struct relay_message *m, struct error *err)
{
	struct relay_piece piece = { .peer = m->peer,
				     .is_push = m->is_send,
				     .memory = m->memory + m->done,
				     .bytes = relay_size_min(m->bytes - m->done,
							     c->relay->slot_bytes) };

	m->done += piece.bytes;
	return relay_move(c, stream, &piece, err);
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
		status = relay_stream_follow(c, stream, messages[i].stream, err);
	while (moved && status == STATUS_OK) {
		/* Moves one piece of each unfinished message: all sends before any receive. */
		moved = false;
		for (size_t i = 0; i < count; i++) {
			messages[i].is_due = messages[i].done < messages[i].bytes &&
					     !relay_message_waits_for_earlier(messages, i);
			moved |= messages[i].is_due;
		}
		for (int sends = 1; sends >= 0; sends--)
			for (size_t i = 0; i < count && status == STATUS_OK; i++)
				if (messages[i].is_due && messages[i].is_send == (sends == 1))
					status = relay_move_next(c, stream, &messages[i], err);
	}
	for (size_t i = 1; i < count && status == STATUS_OK; i++)
		status = relay_stream_follow(c, messages[i].stream, stream, err);
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

/* One operation over the ring; elements are counted from the start of the tensors. */
struct ring {
	struct communicator *c;
	struct stream *stream;
	char *to;
	const char *from;
	enum precision precision;
	enum reduction reduction;
	size_t element; /* bytes */
	size_t count;   /* elements of the whole tensor */
	size_t part;    /* elements of each rank's part; the last ones may be shorter */
	int next, before;
};

struct span {
	size_t first, count;
};

static struct ring relay_ring_make(struct communicator *c, struct stream *stream, void *to,
				   const void *from, size_t count, size_t part,
				   enum precision precision, enum reduction reduction)
{
	return (struct ring){ .c = c,
			      .stream = stream,
			      .to = to,
			      .from = from,
			      .precision = precision,
			      .reduction = reduction,
			      .element = precision_bytes(precision),
			      .count = count,
			      .part = part,
			      .next = (c->rank + 1) % c->size,
			      .before = (c->rank + c->size - 1) % c->size };
}

static size_t relay_ring_piece_elements(const struct ring *r)
{
	return r->c->relay->slot_bytes / r->element;
}

/* Part of the rank `distance` places before this one in the ring. */
static int relay_ring_part_before(const struct ring *r, int distance)
{
	return (r->c->rank + 2 * r->c->size - distance) % r->c->size;
}

/* The piece `done` elements into a part; may be empty. */
static struct span relay_ring_span_of(const struct ring *r, int part, size_t done)
{
	size_t begin = relay_size_min((size_t)part * r->part + done, r->count),
	       end = relay_size_min((size_t)(part + 1) * r->part, r->count);

	return (struct span){
		begin, end > begin ? relay_size_min(end - begin, relay_ring_piece_elements(r)) : 0
	};
}

/* Address of a span of a tensor. */
static char *relay_ring_span_at(const struct ring *r, const void *tensor, struct span span)
{
	return (char *)tensor + span.first * r->element;
}

static enum status relay_ring_put(const struct ring *r, const void *from, struct span span,
				  struct error *err)
{
	const struct relay_piece piece = { .peer = r->next,
					   .is_push = true,
					   .memory = (void *)from,
					   .bytes = span.count * r->element };

	return relay_move(r->c, r->stream, &piece, err);
}

static enum status relay_ring_take(const struct ring *r, struct span span, struct error *err)
{
	const struct relay_piece piece = { .peer = r->before,
					   .memory = relay_ring_span_at(r, r->to, span),
					   .bytes = span.count * r->element };

	return relay_move(r->c, r->stream, &piece, err);
}

/*
 * Adds this rank's elements; `raw`: the incoming data is not a sum yet. Averages are sums of n-ths.
 */
static enum status relay_ring_take_and_add(const struct ring *r, struct span span, void *to,
					   bool raw, struct error *err)
{
	double share = r->reduction == REDUCE_AVERAGE ? 1.0 / r->c->size : 1;
	const struct relay_piece piece = { .peer = r->before,
					   .bytes = span.count * r->element,
					   .sum = { .to = to,
						    .own = relay_ring_span_at(r, r->from, span),
						    .count = span.count,
						    .precision = r->precision,
						    .larger = r->reduction == REDUCE_MAX,
						    .own_factor = share,
						    .slot_factor = raw ? share : 1 } };

	return relay_move(r->c, r->stream, &piece, err);
}

static enum status relay_copy_unless_in_place(struct stream *stream, void *to, const void *from,
					      size_t bytes, struct error *err)
{
	return to == from || bytes == 0 ? STATUS_OK : backend_copy(stream, to, from, bytes, err);
}

/* Initially the part of the rank `distance` places before this one is complete here. */
static enum status relay_ring_pass_pieces(const struct ring *r, int distance, size_t done,
					  struct error *err)
{
	enum status status = STATUS_OK;

	for (int step = 0; step < r->c->size - 1 && status == STATUS_OK; step++) {
		struct span mine = relay_ring_span_of(r, relay_ring_part_before(r, distance + step),
						      done),
			    theirs = relay_ring_span_of(
				    r, relay_ring_part_before(r, distance + step + 1), done);

		status = relay_ring_put(r, relay_ring_span_at(r, r->to, mine), mine, err);
		if (status == STATUS_OK)
			status = relay_ring_take(r, theirs, err);
	}
	return status;
}

/*
 * The part of the rank `distance` places before this one starts here, and each part travels around
 * the ring; each rank adds its own elements, so the last one gets the complete sum. Scattered: only
 * the rank's own part is stored, and partial sums are in the scratch slot, because `from` is
 * read-only and `to` has room for one part.
 */
static enum status relay_ring_reduce_pieces(const struct ring *r, int distance, size_t done,
					    bool scattered, struct error *err)
{
	void *scratch = r->c->relay->scratch;
	enum status status = STATUS_OK;
	int last = r->c->size - 2;

	for (int step = 0; step <= last && status == STATUS_OK; step++) {
		struct span mine = relay_ring_span_of(r, relay_ring_part_before(r, distance + step),
						      done),
			    theirs = relay_ring_span_of(
				    r, relay_ring_part_before(r, distance + step + 1), done);
		const void *from = step == 0   ? relay_ring_span_at(r, r->from, mine)
				   : scattered ? scratch
					       : relay_ring_span_at(r, r->to, mine);
		void *to = !scattered     ? relay_ring_span_at(r, r->to, theirs)
			   : step == last ? r->to + done * r->element
					  : scratch;

		status = relay_ring_put(r, from, mine, err);
		if (status == STATUS_OK)
			status = relay_ring_take_and_add(r, theirs, to, step == 0, err);
	}
	return status;
}

enum status relay_all_reduce(struct communicator *c, struct stream *stream, void *to,
			     const void *from, size_t count, enum precision precision,
			     enum reduction reduction, struct error *err)
{
	/* Equal parts, multiples of 16 bytes, so that every part has the tensor's alignment. */
	size_t whole = (size_t)c->size * (16 / precision_bytes(precision)),
	       part = (count + whole - 1) / whole * (16 / precision_bytes(precision));
	struct ring r = relay_ring_make(c, stream, to, from, count, part, precision, reduction);
	enum status status = relay_turn(c, stream, err);

	if (c->size == 1 && status == STATUS_OK)
		status = relay_copy_unless_in_place(stream, to, from, count * r.element, err);
	for (size_t done = 0; done < r.part && status == STATUS_OK;
	     done += relay_ring_piece_elements(&r)) {
		status = relay_ring_reduce_pieces(&r, 0, done, false, err);
		if (status == STATUS_OK)
			status = relay_ring_pass_pieces(&r, c->size - 1, done, err);
	}
	return status;
}

enum status relay_all_gather(struct communicator *c, struct stream *stream, void *to,
			     const void *from, size_t count_per_rank, enum precision precision,
			     struct error *err)
{
	struct ring r = relay_ring_make(c, stream, to, from, count_per_rank * (size_t)c->size,
					count_per_rank, precision, REDUCE_SUM);
	size_t bytes = count_per_rank * r.element;
	enum status status = relay_turn(c, stream, err);

	if (status == STATUS_OK)
		status = relay_copy_unless_in_place(stream, r.to + (size_t)c->rank * bytes, from,
						    bytes, err);
	for (size_t done = 0; done < r.part && status == STATUS_OK;
	     done += relay_ring_piece_elements(&r))
		status = relay_ring_pass_pieces(&r, 0, done, err);
	return status;
}

enum status relay_reduce_scatter(struct communicator *c, struct stream *stream, void *to,
				 const void *from, size_t count_per_rank, enum precision precision,
				 enum reduction reduction, struct error *err)
{
	struct ring r = relay_ring_make(c, stream, to, from, count_per_rank * (size_t)c->size,
					count_per_rank, precision, reduction);

	enum status status = relay_turn(c, stream, err);

	if (c->size == 1 && status == STATUS_OK)
		status = relay_copy_unless_in_place(stream, to, from, count_per_rank * r.element,
						    err);
	for (size_t done = 0; done < r.part && status == STATUS_OK;
	     done += relay_ring_piece_elements(&r))
		status = relay_ring_reduce_pieces(&r, 1, done, true, err);
	return status;
}

/* The chain starts at the root and ends at the rank before it. */
enum status relay_broadcast(struct communicator *c, struct stream *stream, void *buffer,
			    size_t bytes, int root, struct error *err)
{
	struct ring r = relay_ring_make(c, stream, buffer, buffer, bytes, bytes, PRECISION_FP32,
					REDUCE_SUM);

	enum status status;

	if (root < 0 || root >= c->size)
		return error_set(err, STATUS_INTERNAL, "broadcast: invalid rank %d", root);
	r.element = 1;
	status = relay_turn(c, stream, err);
	for (size_t done = 0; done < bytes && status == STATUS_OK;
	     done += relay_ring_piece_elements(&r)) {
		struct span piece = relay_ring_span_of(&r, 0, done);

		if (c->rank != root)
			status = relay_ring_take(&r, piece, err);
		if (r.next != root && status == STATUS_OK)
			status = relay_ring_put(&r, relay_ring_span_at(&r, buffer, piece), piece,
						err);
	}
	return status;
}

/* The chain starts after the root and ends at it. */
static enum status relay_ring_reduce_piece(const struct ring *r, struct span piece, int root,
					   struct error *err)
{
	int me = r->c->rank, first = (root + 1) % r->c->size;
	void *scratch = r->c->relay->scratch;
	enum status status;

	if (me == first)
		return relay_ring_put(r, relay_ring_span_at(r, r->from, piece), piece, err);
	if (me == root)
		return relay_ring_take_and_add(r, piece, relay_ring_span_at(r, r->to, piece),
					       r->before == first, err);
	status = relay_ring_take_and_add(r, piece, scratch, r->before == first, err);
	return status == STATUS_OK ? relay_ring_put(r, scratch, piece, err) : status;
}

enum status relay_reduce(struct communicator *c, struct stream *stream, void *to, const void *from,
			 size_t count, enum precision precision, enum reduction reduction, int root,
			 struct error *err)
{
	struct ring r = relay_ring_make(c, stream, to, from, count, count, precision, reduction);

	enum status status;

	if (root < 0 || root >= c->size)
		return error_set(err, STATUS_INTERNAL, "reduce: invalid rank %d", root);
	status = relay_turn(c, stream, err);
	if (c->size == 1)
		return status == STATUS_OK ? relay_copy_unless_in_place(stream, to, from,
									count * r.element, err)
					   : status;
	for (size_t done = 0; done < count && status == STATUS_OK;
	     done += relay_ring_piece_elements(&r))
		status = relay_ring_reduce_piece(&r, relay_ring_span_of(&r, 0, done), root, err);
	return status;
}

enum status relay_all_to_all(struct communicator *c, struct stream *stream, void *to,
			     const void *from, size_t count_per_rank, enum precision precision,
			     struct error *err)
{
	size_t part = count_per_rank * precision_bytes(precision), mine = (size_t)c->rank * part;
	enum status status = relay_turn(c, stream, err);

	if (status == STATUS_OK)
		status = relay_copy_unless_in_place(stream, (char *)to + mine,
						    (const char *)from + mine, part, err);
	for (size_t done = 0; done < part; done += c->relay->slot_bytes)
		for (int distance = 1; distance < c->size && status == STATUS_OK; distance++) {
			/* To the rank `distance` places ahead, from the one as many places back. */
			int on = (c->rank + distance) % c->size,
			    back = (c->rank + c->size - distance) % c->size;
			size_t bytes = relay_size_min(part - done, c->relay->slot_bytes);
			const struct relay_piece push = { .peer = on,
							  .is_push = true,
							  .memory = (char *)from +
								    (size_t)on * part + done,
							  .bytes = bytes },
						 pull = { .peer = back,
							  .memory = (char *)to +
								    (size_t)back * part + done,
							  .bytes = bytes };

			status = relay_move(c, stream, &push, err);
			if (status == STATUS_OK)
				status = relay_move(c, stream, &pull, err);
		}
	return status;
}

const struct communicator_operations relay_operations = {
#define OPERATION(device, name, parameters, arguments)
#define COLLECTIVE(name, parameters, arguments) .name = relay_##name,
#include "device/backend.def"
};
