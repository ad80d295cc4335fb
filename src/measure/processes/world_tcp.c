/* The ranks' side of a world over TCP; the hub's is world_hub.c. */
#include "measure/processes/world_tcp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "base/text.h"
#include "measure/processes/world_wire.h"

#define TICK_MS 50
/*
 * The hub speaks first when a rank is missing; this is for a hub that is itself gone without a
 * word.
 */
#define PATIENCE_SECONDS 30.0

/* The state of one rank, used by the process or thread that has it. */
struct rank {
	int fd;             /* -1: not connected */
	struct error ended; /* why it is not connected any more */
	struct world_slot *sets[2];
	unsigned turn;
};

struct tcp {
	struct world_tcp_address address;
	struct hub hub; /* its listener is -1 but on the node of rank 0 */
	struct rank *ranks;
	pthread_t thread;
	bool hub_started;
};

static enum status find_interface(const char *name, struct sockaddr_storage *out, socklen_t *length,
				  struct error *err)
{
	struct text known = TEXT_EMPTY;
	struct ifaddrs *all;
	bool found = false;

	if (getifaddrs(&all) != 0)
		return error_errno(err, "getifaddrs");
	for (struct ifaddrs *i = all; i && !found; i = i->ifa_next) {
		int family = i->ifa_addr ? i->ifa_addr->sa_family : AF_UNSPEC;

		if (family != AF_INET)
			continue;
		text_addf(&known, "%s%s", known.length ? ", " : "", i->ifa_name);
		found = strcmp(i->ifa_name, name) == 0;
		*length = sizeof(struct sockaddr_in);
		memcpy(out, i->ifa_addr, *length);
	}
	freeifaddrs(all);
	if (!found)
		error_set(err, STATUS_USAGE,
			  "there is no interface %s with an IPv4 address; there are: %s", name,
			  known.length ? known.data : "none");
	text_release(&known);
	return found ? STATUS_OK : err->status;
}

static enum status listen_on(const char *interface, const char *host, int size, struct tcp *t,
			     struct error *err)
{
	struct sockaddr_storage address = { 0 };
	struct sockaddr_in *loopback = (struct sockaddr_in *)&address;
	socklen_t length = sizeof(*loopback);
	char port[16];

	loopback->sin_family = AF_INET;
	loopback->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (host && inet_pton(AF_INET, host, &loopback->sin_addr) != 1)
		return error_set(err, STATUS_USAGE, "'%s' is no numeric IPv4 address", host);
	if (!host && interface && find_interface(interface, &address, &length, err) != STATUS_OK)
		return err->status;
	loopback->sin_port = 0;
	t->hub.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (t->hub.listener < 0 ||
	    bind(t->hub.listener, (struct sockaddr *)&address, length) != 0 ||
	    listen(t->hub.listener, size) != 0 ||
	    getsockname(t->hub.listener, (struct sockaddr *)&address, &length) != 0)
		return error_errno(err, "listening on %s", interface ? interface : "loopback");
	getnameinfo((struct sockaddr *)&address, length, t->address.host, sizeof(t->address.host),
		    port, sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
	t->address.port = atoi(port);
	return STATUS_OK;
}

static struct rank *own(const struct world *world)
{
	struct tcp *t = world->state;

	return &t->ranks[world->rank];
}

static enum status end_rank(struct rank *r, enum status status, const char *what, struct error *err)
{
	if (r->ended.status == STATUS_OK)
		error_set(&r->ended, status, "%s", what);
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
	return error_set(err, r->ended.status, "%s", r->ended.message);
}

static enum status end_errno(const struct world *world, const char *what, struct error *err)
{
	const struct tcp *t = world->state;
	struct error reason;
	char text[256];

	if (notice_read(&t->hub.notice->stopped, &t->hub.notice->reason, &reason))
		return end_rank(own(world), reason.status, reason.message, err);
	snprintf(text, sizeof(text), "the hub of rank 0 (%s:%d): %s: %s", t->address.host,
		 t->address.port, what, strerror(errno));
	return end_rank(own(world), STATUS_TIMEOUT, text, err);
}

static enum status open_connection(struct world *world, struct error *err)
{
	struct tcp *t = world->state;
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons((uint16_t)t->address.port) };
	struct pollfd waiting = { .fd = -1, .events = POLLOUT };
	socklen_t length = sizeof(int);
	int failure = 0;

	inet_pton(AF_INET, t->address.host, &address.sin_addr);
	waiting.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (waiting.fd < 0)
		return end_errno(world, "socket", err);
	own(world)->fd = waiting.fd;
	if (connect(waiting.fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
		if (errno != EINPROGRESS)
			return end_errno(world, "connect", err);
		if (poll(&waiting, 1, (int)(1e3 * t->hub.join_seconds)) != 1) {
			errno = ETIMEDOUT;
			return end_errno(world, "connect", err);
		}
		getsockopt(waiting.fd, SOL_SOCKET, SO_ERROR, &failure, &length);
		errno = failure;
		if (failure)
			return end_errno(world, "connect", err);
	}
	wire_prepare(waiting.fd);
	return STATUS_OK;
}

static struct world_slot *slots(int count)
{
	size_t bytes = (size_t)count * sizeof(struct world_slot);
	struct world_slot *memory = aligned_alloc(_Alignof(struct world_slot), bytes);

	if (!memory)
		abort();
	memset(memory, 0, bytes);
	return memory;
}

/* By a rank's first call; rank 0 starts the hub. */
static enum status join(struct world *world, struct error *err)
{
	const struct frame hello = { FRAME_HELLO, world->rank, world->size, WORLD_TOKEN_BYTES };
	struct tcp *t = world->state;
	struct rank *r = own(world);

	if (r->ended.status != STATUS_OK)
		return error_set(err, r->ended.status, "%s", r->ended.message);
	if (r->fd >= 0)
		return STATUS_OK;
	if (world->rank == 0) {
		if (t->hub.listener < 0)
			return end_rank(r, STATUS_INTERNAL, "rank 0 is on the node that listens",
					err);
		if (thread_start(&t->thread, hub_run, &t->hub) != 0)
			return end_rank(r, STATUS_NO_MEMORY, "the hub's thread cannot be started",
					err);
		/* A rank exits without waiting for it. */
		pthread_detach(t->thread);
		t->hub_started = true;
	}
	for (int set = 0; set < 2; set++)
		r->sets[set] = slots(world->size);
	if (open_connection(world, err) != STATUS_OK)
		return err->status;
	return wire_send_frame(r->fd, &hello, t->address.token, t->hub.join_seconds)
		       ? STATUS_OK
		       : end_errno(world, "send", err);
}

static enum status wait_stopped(struct world *world, const struct error *reason, struct error *err)
{
	struct frame frame = wire_error(FRAME_STOP, reason);

	wire_send_frame(own(world)->fd, &frame, reason->message, 1);
	return end_rank(own(world), reason->status, reason->message, err);
}

/*
 * Reads `count` bytes, unless the world is stopped on this node or the hub says nothing until
 * `limit`.
 */
static enum status read_all(struct world *world, void *to, size_t count, double limit,
			    struct error *err)
{
	struct tcp *t = world->state;
	struct rank *r = own(world);
	struct error reason;
	char *at = to;

	while (count > 0) {
		struct pollfd waiting = { .fd = r->fd, .events = POLLIN };
		ssize_t n = recv(r->fd, at, count, MSG_DONTWAIT);

		if (n > 0) {
			at += n;
			count -= (size_t)n;
			continue;
		}
		if (n == 0)
			errno = ECONNRESET;
		if (n == 0 || (errno != EAGAIN && errno != EINTR))
			return end_errno(world, "it ended", err);
		if (notice_read(&t->hub.notice->stopped, &t->hub.notice->reason, &reason))
			return wait_stopped(world, &reason, err);
		if (clock_seconds() > limit) {
			errno = ETIMEDOUT;
			return end_errno(world, "no answer", err);
		}
		poll(&waiting, 1, TICK_MS);
	}
	return STATUS_OK;
}

static enum status read_slot(struct world *world, struct world_slot *slot, double limit,
			     struct error *err)
{
	char message[WORLD_MAX_BYTES + 1] = "";
	struct frame f;

	if (read_all(world, &f, sizeof(f), limit, err) != STATUS_OK)
		return err->status;
	f = wire_order(f);
	if (f.bytes > WORLD_MAX_BYTES || (f.kind != FRAME_SLOT && f.kind != FRAME_ENDED))
		return end_rank(own(world), STATUS_INTERNAL, "the hub of rank 0 sent nonsense",
				err);
	if (f.kind == FRAME_SLOT) {
		slot->call = (struct world_call){ f.operation, f.root, f.bytes };
		return read_all(world, slot->data, f.bytes, limit, err);
	}
	if (read_all(world, message, f.bytes, limit, err) != STATUS_OK)
		return err->status;
	return end_rank(own(world), (enum status)f.operation, message, err);
}

static enum status tcp_exchange(struct world *world, const struct world_call *call,
				const void *data, const struct world_slot **all, struct error *err)
{
	const struct frame frame = { FRAME_SLOT, call->operation, call->root,
				     (uint32_t)call->bytes };
	const struct tcp *t = world->state;
	struct rank *r = own(world);
	struct world_slot *set;
	double limit;

	if (join(world, err) != STATUS_OK)
		return err->status;
	set = r->sets[r->turn++ & 1];
	/* If the hub has ended the world, its reason is still to be read. */
	wire_send_frame(r->fd, &frame, data, t->hub.silent_seconds);
	limit = clock_seconds() + t->hub.join_seconds + t->hub.silent_seconds + PATIENCE_SECONDS;
	for (int rank = 0; rank < world->size; rank++)
		if (read_slot(world, &set[rank], limit, err) != STATUS_OK)
			return err->status;
	*all = set;
	return STATUS_OK;
}

static void tell(struct world *world, const struct frame *frame, const char *data)
{
	if (own(world)->fd >= 0)
		wire_send_frame(own(world)->fd, frame, data, 1);
}

static bool tcp_publish_failure(struct world *world, const struct error *said)
{
	struct frame frame = wire_error(FRAME_FAILURE, said);
	struct error ignored = ERROR_NONE;

	if (join(world, &ignored) != STATUS_OK)
		return false;
	tell(world, &frame, said->message);
	return true;
}

static void tcp_clear_failure(struct world *world)
{
	const struct frame frame = { .kind = FRAME_CLEAR };

	tell(world, &frame, NULL);
}

static bool tcp_pending_failure(const struct world *world, struct error *said)
{
	const struct tcp *t = world->state;

	return notice_read(&t->hub.notice->pending, &t->hub.notice->said, said);
}

static void tcp_stop(struct world *world, const struct error *reason)
{
	struct tcp *t = world->state;
	struct frame frame = wire_error(FRAME_STOP, reason);

	notice_set(&t->hub.notice->stopped, &t->hub.notice->reason, reason);
	tell(world, &frame, reason->message);
}

static void tcp_leave(struct world *world)
{
	const struct frame frame = { .kind = FRAME_LEAVE };

	tell(world, &frame, NULL);
}

static void tcp_release(struct world *world)
{
	struct tcp *t = world->state;

	for (int rank = 0; rank < world->size; rank++) {
		if (t->ranks[rank].fd >= 0)
			close(t->ranks[rank].fd);
		free(t->ranks[rank].sets[0]);
		free(t->ranks[rank].sets[1]);
	}
	atomic_store(&t->hub.quit, true);
	while (t->hub_started && !atomic_load(&t->hub.done))
		clock_sleep(1e-3);
	if (t->hub.listener >= 0)
		close(t->hub.listener);
	munmap(t->hub.notice, sizeof(*t->hub.notice));
	free(t->ranks);
	free(t);
}

static const struct world_ops tcp_ops = {
	.exchange = tcp_exchange,
	.publish_failure = tcp_publish_failure,
	.clear_failure = tcp_clear_failure,
	.pending_failure = tcp_pending_failure,
	.stop = tcp_stop,
	.leave = tcp_leave,
	.release = tcp_release,
};

static enum status make(struct world *world, int size, const struct world_tcp_options *options,
			struct error *err)
{
	struct tcp *t;
	void *notice;

	*world = (struct world){ .size = size };
	if (size < 1)
		return error_set(err, STATUS_INTERNAL, "a world of %d ranks", size);
	if (size == 1)
		return STATUS_OK;
	notice = mmap(NULL, sizeof(struct world_notice), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (notice == MAP_FAILED)
		return error_errno(err, "shared memory");
	t = xcalloc(1, sizeof(*t));
	t->hub.listener = -1;
	t->hub.size = size;
	t->hub.notice = notice;
	t->hub.join_seconds = options->join_seconds > 0 ? options->join_seconds : 30;
	t->hub.silent_seconds = options->silent_seconds > 0 ? options->silent_seconds : 600;
	t->ranks = xcalloc((size_t)size, sizeof(*t->ranks));
	for (int rank = 0; rank < size; rank++)
		t->ranks[rank].fd = -1;
	world->state = t;
	world->ops = &tcp_ops;
	return STATUS_OK;
}

enum status world_tcp_create(struct world *world, int size, const struct world_tcp_options *options,
			     struct world_tcp_address *address, struct error *err)
{
	struct tcp *t;
	enum status status = make(world, size, options, err);

	if (address)
		*address = (struct world_tcp_address){ .port = 0 };
	if (status != STATUS_OK || size == 1)
		return status;
	t = world->state;
	if (getrandom(t->address.token, WORLD_TOKEN_BYTES, 0) != WORLD_TOKEN_BYTES)
		status = error_errno(err, "getrandom");
	if (status == STATUS_OK)
		status = world_new_id(&t->address.id, err);
	if (status == STATUS_OK)
		status = listen_on(options->interface, options->host, size, t, err);
	if (status != STATUS_OK) {
		world_release(world);
		return status;
	}
	memcpy(t->hub.token, t->address.token, sizeof(t->hub.token));
	world->id = t->address.id;
	if (address)
		*address = t->address;
	return STATUS_OK;
}

enum status world_tcp_attach(struct world *world, int size, const struct world_tcp_options *options,
			     const struct world_tcp_address *address, struct error *err)
{
	enum status status = make(world, size, options, err);

	if (status == STATUS_OK && size > 1) {
		((struct tcp *)world->state)->address = *address;
		world->id = address->id;
	}
	return status;
}
