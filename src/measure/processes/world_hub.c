/*
 * Hub of a TCP world: collects the slots of an exchange and sends all of them to each rank. The
 * wire's functions are here as well.
 */
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
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
#include "measure/processes/world_ops.h"
#include "net/greeter.h"
#include "net/net.h"

#define TICK_MS 50

struct hub_member {
	int fd; /* -1: not connected */
	bool joined, left, arrived;
	char from[GREETER_FROM];
	struct frame slot;
	unsigned char data[WORLD_MAX_BYTES]; /* of the slot */
	size_t have;                         /* bytes in `buffer` */
	unsigned char buffer[sizeof(struct frame) + WORLD_MAX_BYTES];
};

struct hub_session {
	struct hub *hub;
	struct greeter *greeter;
	struct hub_member *members; /* by rank */
	struct pollfd *fds;         /* by rank, and last the greeter's */
	int joined, open, arrived;
	double began, waiting_since; /* times: start of the world; of the exchange in progress */
	int failed_rank;             /* rank that published the pending failure; -1: none */
	bool ended;
	struct error reason;
};

void world_hub_wire_prepare(int fd)
{
	static const struct {
		int level, name, value;
	} options[] = {
		{ IPPROTO_TCP, TCP_NODELAY, 1 },   { SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, 10 }, { IPPROTO_TCP, TCP_KEEPINTVL, 5 },
		{ IPPROTO_TCP, TCP_KEEPCNT, 4 },   { IPPROTO_TCP, TCP_USER_TIMEOUT, 30000 },
	};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		setsockopt(fd, options[i].level, options[i].name, &options[i].value,
			   sizeof(options[i].value));
}

struct frame world_hub_wire_order(struct frame frame)
{
	return (struct frame){ htole32(frame.kind), (int32_t)htole32((uint32_t)frame.operation),
			       (int32_t)htole32((uint32_t)frame.root), htole32(frame.bytes) };
}

struct frame world_hub_wire_error(enum frame_kind kind, const struct error *said)
{
	return (struct frame){ .kind = kind,
			       .operation = said->status,
			       .root = said->rank,
			       .bytes = (uint32_t)strnlen(said->message,
							  sizeof(said->message) - 1) };
}

bool world_hub_wire_send_frame(int fd, const struct frame *frame, const void *data, double seconds)
{
	unsigned char bytes[sizeof(*frame) + WORLD_MAX_BYTES];
	struct frame ordered = world_hub_wire_order(*frame);

	memcpy(bytes, &ordered, sizeof(ordered));
	if (data)
		memcpy(bytes + sizeof(ordered), data, frame->bytes);
	else
		memset(bytes + sizeof(ordered), 0, frame->bytes);
	return net_send(fd, bytes, sizeof(ordered) + frame->bytes, seconds);
}

/*
 * Notifies the process that watches the world at once; world_hub_send_farewell() notifies the
 * ranks.
 */
static void world_hub_end(struct hub_session *s, const struct error *reason)
{
	if (s->ended)
		return;
	s->ended = true;
	s->reason = *reason;
	world_notice_set(s->hub->notice, reason);
}

static void world_hub_end_by(struct hub_session *s, int rank, const char *what)
{
	struct error reason = { .rank = rank + 1 };
	const struct hub_member *m = &s->members[rank];

	error_set(&reason, STATUS_LOST, "rank %d%s%s%s %s", rank, m->from[0] ? " (" : "", m->from,
		  m->from[0] ? ")" : "", what);
	world_hub_end(s, &reason);
}

static void world_hub_close_rank(struct hub_session *s, int rank)
{
	if (s->members[rank].fd < 0)
		return;
	close(s->members[rank].fd);
	s->members[rank].fd = -1;
	s->open--;
}

static void world_hub_lose_rank(struct hub_session *s, int rank, const char *what)
{
	world_hub_close_rank(s, rank);
	if (!s->members[rank].left)
		world_hub_end_by(s, rank, what);
}

/* First bytes of a rank's connection: a FRAME_HELLO frame with the token. */
struct hub_hello {
	struct frame frame;
	unsigned char token[WORLD_TOKEN_BYTES];
};

/* The rank of the hello; -1: not of this world, or already connected. */
static int world_hub_rank_of(const struct hub_session *s, const struct hub_hello *hello)
{
	struct frame f = world_hub_wire_order(hello->frame);

	if (!net_equal(hello->token, s->hub->token, WORLD_TOKEN_BYTES) || f.kind != FRAME_HELLO ||
	    f.bytes != WORLD_TOKEN_BYTES || f.root != s->hub->size || f.operation < 0 ||
	    f.operation >= s->hub->size || s->members[f.operation].joined)
		return -1;
	return f.operation;
}

static void world_hub_admit_rank(struct hub_session *s, int fd, const struct hub_hello *hello,
				 const char *from)
{
	int rank = world_hub_rank_of(s, hello);
	struct hub_member *m;

	if (rank < 0) {
		close(fd);
		return;
	}
	world_hub_wire_prepare(fd);
	m = &s->members[rank];
	m->fd = fd;
	m->joined = true;
	snprintf(m->from, sizeof(m->from), "%s", from);
	s->joined++;
	s->open++;
}

/* Sends to rank 0 last: once its process exits, all ranks must have the data. */
static void world_hub_deliver_slots(struct hub_session *s)
{
	struct text all = TEXT_EMPTY;

	for (int rank = 0; rank < s->hub->size; rank++) {
		struct hub_member *m = &s->members[rank];
		struct frame ordered = world_hub_wire_order(m->slot);

		text_add_bytes(&all, (const char *)&ordered, sizeof(ordered));
		text_add_bytes(&all, (const char *)m->data, m->slot.bytes);
		m->arrived = false;
	}
	s->arrived = 0;
	for (int rank = s->hub->size - 1; rank >= 0 && !s->ended; rank--) {
		int fd = s->members[rank].fd;

		if (fd >= 0 && !net_send(fd, all.data, all.length, s->hub->silent_seconds))
			world_hub_lose_rank(s, rank, strerror(errno));
	}
	text_release(&all);
}

static void world_hub_take_slot(struct hub_session *s, int rank, const struct frame *f,
				const unsigned char *data)
{
	struct hub_member *m = &s->members[rank];

	if (m->arrived) {
		world_hub_lose_rank(s, rank, "sent two messages for one collective call");
		return;
	}
	m->slot = *f;
	memcpy(m->data, data, f->bytes);
	m->arrived = true;
	if (s->arrived++ == 0)
		s->waiting_since = clock_seconds();
	if (s->arrived == s->hub->size)
		world_hub_deliver_slots(s);
}

static void world_hub_handle_frame(struct hub_session *s, int rank, const struct frame *f,
				   const unsigned char *data)
{
	struct world_notice *notice = s->hub->notice;
	bool known = f->operation > STATUS_OK && f->operation <= STATUS_LOST;
	struct error said = { .status = known ? (enum status)f->operation : STATUS_INTERNAL,
			      .rank = f->root };

	switch (f->kind) {
	case FRAME_SLOT:
		world_hub_take_slot(s, rank, f, data);
		return;
	case FRAME_FAILURE:
		snprintf(said.message, sizeof(said.message), "%.*s", (int)f->bytes,
			 (const char *)data);
		if (world_notice_set(notice, &said))
			s->failed_rank = rank;
		return;
	case FRAME_CLEAR:
		if (s->failed_rank == rank) {
			s->failed_rank = -1;
			atomic_store(&notice->pending, 0);
		}
		return;
	case FRAME_LEAVE:
		s->members[rank].left = true;
		return;
	default:
		world_hub_lose_rank(s, rank, "sent an invalid message");
	}
}

/* Handles all complete frames in the buffer; keeps a partial frame for the next read. */
static void world_hub_take_frames(struct hub_session *s, int rank)
{
	struct hub_member *m = &s->members[rank];

	while (m->fd >= 0 && !s->ended && m->have >= sizeof(struct frame)) {
		struct frame f;
		size_t whole;

		memcpy(&f, m->buffer, sizeof(f));
		f = world_hub_wire_order(f);
		whole = sizeof(f) + f.bytes;
		if (f.bytes > WORLD_MAX_BYTES) {
			world_hub_lose_rank(s, rank, "sent an invalid message");
			return;
		}
		if (m->have < whole)
			return;
		world_hub_handle_frame(s, rank, &f, m->buffer + sizeof(f));
		m->have -= whole;
		memmove(m->buffer, m->buffer + whole, m->have);
	}
}

static void world_hub_receive(struct hub_session *s, int rank)
{
	struct hub_member *m = &s->members[rank];
	ssize_t n = recv(m->fd, m->buffer + m->have, sizeof(m->buffer) - m->have, MSG_DONTWAIT);

	if (n > 0) {
		m->have += (size_t)n;
		world_hub_take_frames(s, rank);
	} else if (n == 0) {
		world_hub_lose_rank(s, rank, "closed the connection");
	} else if (errno != EAGAIN && errno != EINTR) {
		world_hub_lose_rank(s, rank, strerror(errno));
	}
}

static void world_hub_keep_deadlines(struct hub_session *s)
{
	double now = clock_seconds();
	char text[96];

	for (int rank = 0; rank < s->hub->size && !s->ended; rank++) {
		struct hub_member *m = &s->members[rank];

		if (!m->joined && now - s->began > s->hub->join_seconds) {
			snprintf(text, sizeof(text), "did not connect within %g s",
				 s->hub->join_seconds);
			world_hub_end_by(s, rank, text);
		} else if (m->joined && s->arrived && !m->arrived && m->left) {
			world_hub_end_by(s, rank, "has ended, but other ranks wait for it");
		} else if (m->joined && s->arrived && !m->arrived && s->joined == s->hub->size &&
			   now - s->waiting_since > s->hub->silent_seconds) {
			snprintf(text, sizeof(text), "has not responded for %g s",
				 s->hub->silent_seconds);
			world_hub_end_by(s, rank, text);
		}
	}
}

static void world_hub_poll_once(struct hub_session *s)
{
	int size = s->hub->size, fd;
	char from[GREETER_FROM];
	struct hub_hello hello;

	for (int rank = 0; rank < size; rank++)
		s->fds[rank] = (struct pollfd){ .fd = s->members[rank].fd, .events = POLLIN };
	s->fds[size] = (struct pollfd){ .fd = greeter_fd(s->greeter), .events = POLLIN };
	poll(s->fds, (nfds_t)size + 1, TICK_MS);
	for (int rank = 0; rank < size && !s->ended; rank++)
		if (s->fds[rank].revents && s->members[rank].fd >= 0)
			world_hub_receive(s, rank);
	while (!s->ended && (fd = greeter_next(s->greeter, &hello, from)) >= 0)
		world_hub_admit_rank(s, fd, &hello, from);
	world_hub_keep_deadlines(s);
}

static void world_hub_send_reason(const struct hub_session *s, int rank)
{
	const struct frame frame = world_hub_wire_error(FRAME_ENDED, &s->reason);

	if (s->members[rank].fd < 0)
		return;
	world_hub_wire_send_frame(s->members[rank].fd, &frame, s->reason.message, 1);
	shutdown(s->members[rank].fd, SHUT_WR);
}

/*
 * Tells all ranks why the world was closed, then reads what they send until they close: with unread
 * bytes TCP would reset the connection and lose the reason. Rank 0 is last, because its process
 * runs the hub and may then exit.
 */
static void world_hub_send_farewell(struct hub_session *s)
{
	double limit = clock_seconds() + 1;
	unsigned char ignored[4096];
	bool open = true;

	for (int rank = 1; rank < s->hub->size; rank++)
		world_hub_send_reason(s, rank);
	while (open && clock_seconds() < limit) {
		open = false;
		for (int rank = 1; rank < s->hub->size; rank++) {
			int fd = s->members[rank].fd;
			ssize_t n = fd < 0 ? 1 : recv(fd, ignored, sizeof(ignored), MSG_DONTWAIT);

			if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
				world_hub_close_rank(s, rank);
			open |= s->members[rank].fd >= 0;
		}
		clock_sleep(1e-3);
	}
	world_hub_send_reason(s, 0);
}

void *world_hub_run(void *context)
{
	struct hub *hub = context;
	struct hub_session s = { .hub = hub, .began = clock_seconds(), .failed_rank = -1 };
	struct error reason = ERROR_NONE;
	int listener = hub->listener;

	s.members = xcalloc((size_t)hub->size, sizeof(*s.members));
	s.fds = xcalloc((size_t)hub->size + 1, sizeof(*s.fds));
	for (int rank = 0; rank < hub->size; rank++)
		s.members[rank].fd = -1;
	hub->listener = -1;
	if (greeter_open(&s.greeter, listener, sizeof(struct hub_hello), &reason) != STATUS_OK)
		world_hub_end(&s, &reason);
	while (!s.ended && !atomic_load(&hub->quit) && (s.open > 0 || s.joined < hub->size))
		world_hub_poll_once(&s);
	if (s.ended)
		world_hub_send_farewell(&s);
	for (int rank = 0; rank < hub->size; rank++)
		world_hub_close_rank(&s, rank);
	greeter_close(s.greeter);
	free(s.members);
	free(s.fds);
	atomic_store(&hub->done, true);
	return NULL;
}
