/* Hub of a TCP world: collects the slots of an exchange and sends all of them to each rank. */
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "measure/processes/world_wire.h"
#include "net/greeter.h"
#include "net/net.h"

#define TICK_MS 50

struct connection {
	int fd, rank; /* fd -1: closed */
	size_t have;
	unsigned char buffer[sizeof(struct frame) + WORLD_MAX_BYTES];
};

struct hub_member {
	struct connection *connection; /* NULL: not connected */
	bool joined, left, arrived;
	char from[GREETER_FROM];
	struct frame slot;
	unsigned char data[WORLD_MAX_BYTES];
};

struct hub_session {
	struct hub *hub;
	struct greeter *greeter;
	struct hub_member *members; /* by rank */
	struct connection **connections;
	size_t count;
	int joined, arrived;
	double began, waiting_since; /* times: start of the world; of the exchange in progress */
	int failed_rank;             /* rank that published the pending failure; -1: none */
	bool ended;
	struct error reason;
};

/* Notifies the process that watches the world at once; hub_send_farewell() notifies the ranks. */
static void end_world(struct hub_session *s, const struct error *reason)
{
	if (s->ended)
		return;
	s->ended = true;
	s->reason = *reason;
	notice_set(&s->hub->notice->pending, &s->hub->notice->said, reason);
}

static void hub_end_by(struct hub_session *s, int rank, const char *what)
{
	struct error reason = { .rank = rank + 1 };
	const struct hub_member *m = &s->members[rank];

	error_set(&reason, STATUS_LOST, "rank %d%s%s%s %s", rank, m->from[0] ? " (" : "", m->from,
		  m->from[0] ? ")" : "", what);
	end_world(s, &reason);
}

static void hub_drop_connection(struct hub_session *s, struct connection *c)
{
	s->members[c->rank].connection = NULL;
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

static void hub_lose_rank(struct hub_session *s, struct connection *c, const char *what)
{
	int rank = c->rank;

	hub_drop_connection(s, c);
	if (!s->members[rank].left)
		hub_end_by(s, rank, what);
}

/* First bytes of a rank's connection: a FRAME_HELLO frame with the token. */
struct hub_hello {
	struct frame frame;
	unsigned char token[WORLD_TOKEN_BYTES];
};

/* The rank of the hello; -1: not of this world, or already connected. */
static int hub_rank_of(const struct hub_session *s, const struct hub_hello *hello)
{
	struct frame f = wire_order(hello->frame);

	if (!net_equal(hello->token, s->hub->token, WORLD_TOKEN_BYTES) || f.kind != FRAME_HELLO ||
	    f.bytes != WORLD_TOKEN_BYTES || f.root != s->hub->size || f.operation < 0 ||
	    f.operation >= s->hub->size || s->members[f.operation].joined)
		return -1;
	return f.operation;
}

static void hub_admit_rank(struct hub_session *s, int fd, const struct hub_hello *hello,
			   const char *from)
{
	int rank = hub_rank_of(s, hello);
	struct connection *c;
	struct hub_member *m;

	if (rank < 0) {
		close(fd);
		return;
	}
	wire_prepare(fd);
	c = xcalloc(1, sizeof(*c));
	c->fd = fd;
	c->rank = rank;
	s->connections = xrealloc(s->connections, s->count + 1, sizeof(*s->connections));
	s->connections[s->count++] = c;
	m = &s->members[rank];
	m->connection = c;
	m->joined = true;
	snprintf(m->from, sizeof(m->from), "%s", from);
	s->joined++;
}

/* Sends to rank 0 last: once its process exits, all ranks must have the data. */
static void hub_deliver_slots(struct hub_session *s)
{
	struct text all = TEXT_EMPTY;

	for (int rank = 0; rank < s->hub->size; rank++) {
		struct hub_member *m = &s->members[rank];
		struct frame ordered = wire_order(m->slot);

		text_add_bytes(&all, (const char *)&ordered, sizeof(ordered));
		text_add_bytes(&all, (const char *)m->data, m->slot.bytes);
		m->arrived = false;
	}
	s->arrived = 0;
	for (int rank = s->hub->size - 1; rank >= 0 && !s->ended; rank--) {
		struct connection *c = s->members[rank].connection;

		if (c && !net_send(c->fd, all.data, all.length, s->hub->silent_seconds))
			hub_lose_rank(s, c, strerror(errno));
	}
	text_release(&all);
}

static void hub_take_slot(struct hub_session *s, struct connection *c, const struct frame *f,
			  const unsigned char *data)
{
	struct hub_member *m = &s->members[c->rank];

	if (m->arrived) {
		hub_lose_rank(s, c, "sent two parts of one exchange");
		return;
	}
	m->slot = *f;
	memcpy(m->data, data, f->bytes);
	m->arrived = true;
	if (s->arrived++ == 0)
		s->waiting_since = clock_seconds();
	if (s->arrived == s->hub->size)
		hub_deliver_slots(s);
}

static struct error hub_error_of(const struct frame *f, const unsigned char *data)
{
	bool known = f->operation > STATUS_OK && f->operation <= STATUS_LOST;
	struct error said = { .status = known ? (enum status)f->operation : STATUS_INTERNAL,
			      .rank = f->root };

	snprintf(said.message, sizeof(said.message), "%.*s", (int)f->bytes, (const char *)data);
	return said;
}

static void hub_handle_frame(struct hub_session *s, struct connection *c, const struct frame *f,
			     const unsigned char *data)
{
	struct world_notice *notice = s->hub->notice;
	struct error said;

	switch (f->kind) {
	case FRAME_SLOT:
		hub_take_slot(s, c, f, data);
		return;
	case FRAME_FAILURE:
		said = hub_error_of(f, data);
		if (notice_set(&notice->pending, &notice->said, &said))
			s->failed_rank = c->rank;
		return;
	case FRAME_CLEAR:
		if (s->failed_rank == c->rank) {
			s->failed_rank = -1;
			atomic_store(&notice->pending, 0);
		}
		return;
	case FRAME_STOP:
		said = hub_error_of(f, data);
		end_world(s, &said);
		return;
	case FRAME_LEAVE:
		s->members[c->rank].left = true;
		return;
	default:
		hub_lose_rank(s, c, "sent an invalid message");
	}
}

/* Handles all complete frames in the buffer; keeps a partial frame for the next read. */
static void take_frames(struct hub_session *s, struct connection *c)
{
	while (c->fd >= 0 && !s->ended && c->have >= sizeof(struct frame)) {
		struct frame f;
		size_t whole;

		memcpy(&f, c->buffer, sizeof(f));
		f = wire_order(f);
		whole = sizeof(f) + f.bytes;
		if (f.bytes > WORLD_MAX_BYTES) {
			hub_lose_rank(s, c, "sent an invalid message");
			return;
		}
		if (c->have < whole)
			return;
		hub_handle_frame(s, c, &f, c->buffer + sizeof(f));
		c->have -= whole;
		memmove(c->buffer, c->buffer + whole, c->have);
	}
}

static void hub_receive(struct hub_session *s, struct connection *c)
{
	ssize_t n = recv(c->fd, c->buffer + c->have, sizeof(c->buffer) - c->have, MSG_DONTWAIT);

	if (n > 0) {
		c->have += (size_t)n;
		take_frames(s, c);
	} else if (n == 0) {
		hub_lose_rank(s, c, "closed the connection");
	} else if (errno != EAGAIN && errno != EINTR) {
		hub_lose_rank(s, c, strerror(errno));
	}
}

static void keep_deadlines(struct hub_session *s)
{
	double now = clock_seconds();
	struct error reason;
	char text[96];

	if (notice_read(&s->hub->notice->stopped, &s->hub->notice->reason, &reason))
		end_world(s, &reason);
	for (int rank = 0; rank < s->hub->size && !s->ended; rank++) {
		struct hub_member *m = &s->members[rank];

		if (!m->joined && now - s->began > s->hub->join_seconds) {
			snprintf(text, sizeof(text), "has not connected within %g s",
				 s->hub->join_seconds);
			hub_end_by(s, rank, text);
		} else if (m->joined && s->arrived && !m->arrived && m->left) {
			hub_end_by(s, rank, "has ended, and others wait for it");
		} else if (m->joined && s->arrived && !m->arrived && s->joined == s->hub->size &&
			   now - s->waiting_since > s->hub->silent_seconds) {
			snprintf(text, sizeof(text), "has not answered for %g s",
				 s->hub->silent_seconds);
			hub_end_by(s, rank, text);
		}
	}
}

/* Removes closed connections; returns the number of open ones. */
static size_t hub_forget_closed(struct hub_session *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->count; i++) {
		if (s->connections[i]->fd < 0)
			free(s->connections[i]);
		else
			s->connections[kept++] = s->connections[i];
	}
	return s->count = kept;
}

static void hub_poll_once(struct hub_session *s)
{
	size_t count = s->count;
	struct pollfd *fds = xcalloc(count + 1, sizeof(*fds));
	char from[GREETER_FROM];
	struct hub_hello hello;
	int fd;

	fds[0] = (struct pollfd){ .fd = greeter_fd(s->greeter), .events = POLLIN };
	for (size_t i = 0; i < count; i++)
		fds[i + 1] = (struct pollfd){ .fd = s->connections[i]->fd, .events = POLLIN };
	poll(fds, count + 1, TICK_MS);
	for (size_t i = 0; i < count && !s->ended; i++)
		if (fds[i + 1].revents && s->connections[i]->fd >= 0)
			hub_receive(s, s->connections[i]);
	free(fds);
	while (!s->ended && (fd = greeter_next(s->greeter, &hello, from)) >= 0)
		hub_admit_rank(s, fd, &hello, from);
	keep_deadlines(s);
}

static bool hub_is_first(const struct connection *c)
{
	return c->rank == 0;
}

/*
 * Reads what ranks send until they close: with unread bytes TCP would reset the connection and lose
 * the reason.
 */
static void hub_linger(struct hub_session *s)
{
	double limit = clock_seconds() + 1;
	unsigned char ignored[4096];
	bool open = true;

	while (open && clock_seconds() < limit) {
		open = false;
		for (size_t i = 0; i < s->count; i++) {
			struct connection *c = s->connections[i];
			ssize_t n = c->fd < 0 || hub_is_first(c)
					    ? 1
					    : recv(c->fd, ignored, sizeof(ignored), MSG_DONTWAIT);

			if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
				hub_drop_connection(s, c);
			open |= c->fd >= 0 && !hub_is_first(c);
		}
		clock_sleep(1e-3);
	}
}

/*
 * Sends all ranks the reason for the end of the world; rank 0 last, because its process runs the
 * hub and may then exit.
 */
static void hub_send_farewell(struct hub_session *s)
{
	struct frame frame = wire_error(FRAME_ENDED, &s->reason);

	for (int first = 0; first <= 1; first++) {
		for (size_t i = 0; i < s->count; i++) {
			struct connection *c = s->connections[i];

			if (c->fd < 0 || hub_is_first(c) != first)
				continue;
			wire_send_frame(c->fd, &frame, s->reason.message, 1);
			shutdown(c->fd, SHUT_WR);
		}
		if (!first)
			hub_linger(s);
	}
}

void *hub_run(void *context)
{
	struct hub *hub = context;
	struct hub_session s = { .hub = hub, .began = clock_seconds(), .failed_rank = -1 };
	struct error reason = ERROR_NONE;
	int listener = hub->listener;

	s.members = xcalloc((size_t)hub->size, sizeof(*s.members));
	hub->listener = -1;
	if (greeter_open(&s.greeter, listener, sizeof(struct hub_hello), &reason) != STATUS_OK)
		end_world(&s, &reason);
	while (!s.ended && !atomic_load(&hub->quit) &&
	       (hub_forget_closed(&s) > 0 || s.joined < hub->size))
		hub_poll_once(&s);
	if (s.ended)
		hub_send_farewell(&s);
	for (size_t i = 0; i < s.count; i++)
		hub_drop_connection(&s, s.connections[i]);
	hub_forget_closed(&s);
	greeter_close(s.greeter);
	free(s.connections);
	free(s.members);
	atomic_store(&hub->done, true);
	return NULL;
}
