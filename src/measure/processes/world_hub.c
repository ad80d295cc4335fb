/*
 * The hub of a world over TCP: collects the slots of an exchange, and hands all of them to each
 * rank.
 */
#include <errno.h>
#include <netdb.h>
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

/* Limits of connections without a token: how long each, and how many. */
#define STRANGER_SECONDS 5.0
#define STRANGERS 64
#define TICK_MS 50

struct connection {
	int fd, rank; /* -1: closed; not known yet */
	double since;
	char from[96];
	size_t have;
	unsigned char buffer[sizeof(struct frame) + WORLD_MAX_BYTES];
};

struct member {
	struct connection *connection; /* NULL: not yet, or no more */
	bool joined, left, arrived;
	char from[96];
	struct frame slot;
	unsigned char data[WORLD_MAX_BYTES];
};

struct session {
	struct hub *hub;
	struct member *members; /* by rank */
	struct connection **connections;
	size_t count;
	int joined, arrived;
	double began, waiting_since; /* of the world; of the exchange in progress */
	int failed_rank;             /* that published the pending failure; -1: none */
	bool ended;
	struct error reason;
};

/* The process that watches the world is told at once, the ranks in farewell(). */
static void end_world(struct session *s, const struct error *reason)
{
	if (s->ended)
		return;
	s->ended = true;
	s->reason = *reason;
	notice_set(&s->hub->notice->pending, &s->hub->notice->said, reason);
}

static void end_by(struct session *s, int rank, const char *what)
{
	struct error reason = ERROR_NONE;
	const struct member *m = &s->members[rank];

	error_set(&reason, STATUS_TIMEOUT, "rank %d%s%s%s %s", rank, m->from[0] ? " (" : "",
		  m->from, m->from[0] ? ")" : "", what);
	end_world(s, &reason);
}

static void drop(struct session *s, struct connection *c)
{
	if (c->rank >= 0)
		s->members[c->rank].connection = NULL;
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

static void lose(struct session *s, struct connection *c, const char *what)
{
	int rank = c->rank;

	drop(s, c);
	if (rank >= 0 && !s->members[rank].left)
		end_by(s, rank, what);
}

static void accept_one(struct session *s)
{
	struct sockaddr_storage address;
	socklen_t length = sizeof(address);
	int fd = accept4(s->hub->listener, (struct sockaddr *)&address, &length, SOCK_CLOEXEC);
	char host[64] = "?", port[16] = "?";
	struct connection *c;

	if (fd < 0)
		return;
	if (s->count >= (size_t)s->hub->size + STRANGERS) {
		close(fd);
		return;
	}
	wire_prepare(fd);
	getnameinfo((struct sockaddr *)&address, length, host, sizeof(host), port, sizeof(port),
		    NI_NUMERICHOST | NI_NUMERICSERV);
	c = xcalloc(1, sizeof(*c));
	c->fd = fd;
	c->rank = -1;
	c->since = clock_seconds();
	snprintf(c->from, sizeof(c->from), "%s:%s", host, port);
	s->connections = xrealloc(s->connections, s->count + 1, sizeof(*s->connections));
	s->connections[s->count++] = c;
}

/* In the same time wherever they differ. */
static bool same_token(const unsigned char *a, const unsigned char *b)
{
	unsigned char difference = 0;

	for (size_t i = 0; i < WORLD_TOKEN_BYTES; i++)
		difference |= a[i] ^ b[i];
	return difference == 0;
}

static void greet(struct session *s, struct connection *c, const struct frame *f,
		  const unsigned char *data)
{
	struct member *m;

	if (f->kind != FRAME_HELLO || f->bytes != WORLD_TOKEN_BYTES ||
	    !same_token(data, s->hub->token) || f->root != s->hub->size || f->operation < 0 ||
	    f->operation >= s->hub->size || s->members[f->operation].joined) {
		drop(s, c);
		return;
	}
	c->rank = f->operation;
	m = &s->members[c->rank];
	m->connection = c;
	m->joined = true;
	memcpy(m->from, c->from, sizeof(m->from));
	s->joined++;
}

/* To rank 0 last: when its process ends, all ranks have what they need. */
static void deliver(struct session *s)
{
	struct text all = TEXT_EMPTY;

	for (int rank = 0; rank < s->hub->size; rank++) {
		struct member *m = &s->members[rank];
		struct frame ordered = wire_order(m->slot);

		text_add_bytes(&all, (const char *)&ordered, sizeof(ordered));
		text_add_bytes(&all, (const char *)m->data, m->slot.bytes);
		m->arrived = false;
	}
	s->arrived = 0;
	for (int rank = s->hub->size - 1; rank >= 0 && !s->ended; rank--) {
		struct connection *c = s->members[rank].connection;

		if (c && !wire_send(c->fd, all.data, all.length, s->hub->silent_seconds))
			lose(s, c, strerror(errno));
	}
	text_release(&all);
}

static void take_slot(struct session *s, struct connection *c, const struct frame *f,
		      const unsigned char *data)
{
	struct member *m = &s->members[c->rank];

	if (m->arrived) {
		lose(s, c, "sent two parts of one exchange");
		return;
	}
	m->slot = *f;
	memcpy(m->data, data, f->bytes);
	m->arrived = true;
	if (s->arrived++ == 0)
		s->waiting_since = clock_seconds();
	if (s->arrived == s->hub->size)
		deliver(s);
}

static struct error error_of(const struct frame *f, const unsigned char *data)
{
	struct error said = { .status = (enum status)f->operation };

	snprintf(said.message, sizeof(said.message), "%.*s", (int)f->bytes, (const char *)data);
	return said;
}

static void handle(struct session *s, struct connection *c, const struct frame *f,
		   const unsigned char *data)
{
	struct world_notice *notice = s->hub->notice;
	struct error said;

	if (c->rank < 0) {
		greet(s, c, f, data);
		return;
	}
	switch (f->kind) {
	case FRAME_SLOT:
		take_slot(s, c, f, data);
		return;
	case FRAME_FAILURE:
		said = error_of(f, data);
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
		said = error_of(f, data);
		end_world(s, &said);
		return;
	case FRAME_LEAVE:
		s->members[c->rank].left = true;
		return;
	default:
		lose(s, c, "sent what is no message of a world");
	}
}

/* Whole frames of what has come; the rest stays. */
static void take_frames(struct session *s, struct connection *c)
{
	while (c->fd >= 0 && !s->ended && c->have >= sizeof(struct frame)) {
		struct frame f;
		size_t whole;

		memcpy(&f, c->buffer, sizeof(f));
		f = wire_order(f);
		whole = sizeof(f) + f.bytes;
		if (f.bytes > (c->rank < 0 ? WORLD_TOKEN_BYTES : WORLD_MAX_BYTES)) {
			lose(s, c, "sent what is no message of a world");
			return;
		}
		if (c->have < whole)
			return;
		handle(s, c, &f, c->buffer + sizeof(f));
		c->have -= whole;
		memmove(c->buffer, c->buffer + whole, c->have);
	}
}

static void receive(struct session *s, struct connection *c)
{
	ssize_t n = recv(c->fd, c->buffer + c->have, sizeof(c->buffer) - c->have, MSG_DONTWAIT);

	if (n > 0) {
		c->have += (size_t)n;
		take_frames(s, c);
	} else if (n == 0) {
		lose(s, c, "closed the connection");
	} else if (errno != EAGAIN && errno != EINTR) {
		lose(s, c, strerror(errno));
	}
}

static void keep_deadlines(struct session *s)
{
	double now = clock_seconds();
	struct error reason;
	char text[96];

	if (notice_read(&s->hub->notice->stopped, &s->hub->notice->reason, &reason))
		end_world(s, &reason);
	for (size_t i = 0; i < s->count; i++)
		if (s->connections[i]->fd >= 0 && s->connections[i]->rank < 0 &&
		    now - s->connections[i]->since > STRANGER_SECONDS)
			drop(s, s->connections[i]);
	for (int rank = 0; rank < s->hub->size && !s->ended; rank++) {
		struct member *m = &s->members[rank];

		if (!m->joined && now - s->began > s->hub->join_seconds) {
			snprintf(text, sizeof(text), "has not connected within %g s",
				 s->hub->join_seconds);
			end_by(s, rank, text);
		} else if (m->joined && s->arrived && !m->arrived && m->left) {
			end_by(s, rank, "has ended, and others wait for it");
		} else if (m->joined && s->arrived && !m->arrived && s->joined == s->hub->size &&
			   now - s->waiting_since > s->hub->silent_seconds) {
			snprintf(text, sizeof(text), "has not answered for %g s",
				 s->hub->silent_seconds);
			end_by(s, rank, text);
		}
	}
}

/* Forgets closed connections; returns how many are open. */
static size_t tidy(struct session *s)
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

static void turn(struct session *s)
{
	size_t count = s->count;
	struct pollfd *fds = xcalloc(count + 1, sizeof(*fds));

	fds[0] = (struct pollfd){ .fd = s->hub->listener, .events = POLLIN };
	for (size_t i = 0; i < count; i++)
		fds[i + 1] = (struct pollfd){ .fd = s->connections[i]->fd, .events = POLLIN };
	poll(fds, count + 1, TICK_MS);
	for (size_t i = 0; i < count && !s->ended; i++)
		if (fds[i + 1].revents && s->connections[i]->fd >= 0)
			receive(s, s->connections[i]);
	if (fds[0].revents && !s->ended)
		accept_one(s);
	free(fds);
	keep_deadlines(s);
}

static bool is_first(const struct connection *c)
{
	return c->rank == 0;
}

/*
 * Reads what ranks still send until they close: an unread byte would take the reason from them
 * (TCP's reset).
 */
static void linger(struct session *s)
{
	double limit = clock_seconds() + 1;
	unsigned char ignored[4096];
	bool open = true;

	while (open && clock_seconds() < limit) {
		open = false;
		for (size_t i = 0; i < s->count; i++) {
			struct connection *c = s->connections[i];
			ssize_t n = c->fd < 0 || is_first(c)
					    ? 1
					    : recv(c->fd, ignored, sizeof(ignored), MSG_DONTWAIT);

			if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
				drop(s, c);
			open |= c->fd >= 0 && !is_first(c);
		}
		clock_sleep(1e-3);
	}
}

/*
 * Tells all ranks why the world has ended; rank 0 last, whose process carries the hub and may exit
 * then.
 */
static void farewell(struct session *s)
{
	struct frame frame = wire_error(FRAME_ENDED, &s->reason);

	for (int first = 0; first <= 1; first++) {
		for (size_t i = 0; i < s->count; i++) {
			struct connection *c = s->connections[i];

			if (c->fd < 0 || is_first(c) != first)
				continue;
			if (c->rank >= 0)
				wire_send_frame(c->fd, &frame, s->reason.message, 1);
			shutdown(c->fd, SHUT_WR);
		}
		if (!first)
			linger(s);
	}
}

void *hub_run(void *context)
{
	struct hub *hub = context;
	struct session s = { .hub = hub, .began = clock_seconds(), .failed_rank = -1 };

	s.members = xcalloc((size_t)hub->size, sizeof(*s.members));
	while (!s.ended && !atomic_load(&hub->quit) && (tidy(&s) > 0 || s.joined < hub->size))
		turn(&s);
	if (s.ended)
		farewell(&s);
	for (size_t i = 0; i < s.count; i++)
		drop(&s, s.connections[i]);
	tidy(&s);
	free(s.connections);
	free(s.members);
	atomic_store(&hub->done, true);
	return NULL;
}
