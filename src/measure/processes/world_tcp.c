/* The ranks' side of a TCP world; world_hub.c is the hub. */
#include "measure/processes/world_tcp.h"

#include <errno.h>
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
#include "measure/processes/world_ops.h"
#include "net/net.h"

/* The hub reports a missing rank first; this timeout detects a hub that disappeared silently. */
#define PATIENCE_SECONDS 30.0

/* State of one rank, used by its process or thread. */
struct rank {
	int fd;             /* -1: not connected */
	struct error ended; /* why it is no longer connected */
	struct world_slot *sets[2];
	unsigned turn;
};

struct tcp {
	struct world_tcp_address address;
	struct hub hub; /* has a listener only on the node of rank 0 */
	struct rank *ranks;
	pthread_t thread;
	bool hub_started;
};

static struct rank *world_tcp_own_rank(const struct world *world)
{
	return &((struct tcp *)world->state)->ranks[world->rank];
}

/* Ends the world for this rank. */
static enum status world_tcp_end(const struct world *world, const struct error *why,
				 struct error *err)
{
	struct rank *r = world_tcp_own_rank(world);

	error_copy(&r->ended, why);
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
	return error_copy(err, &r->ended);
}

static enum status world_tcp_fail(const struct world *world, enum status status, const char *what,
				  struct error *err)
{
	struct error why = ERROR_NONE;

	error_set(&why, status, "%s", what);
	return world_tcp_end(world, &why, err);
}

static enum status world_tcp_lose_hub(const struct world *world, const char *what,
				      const char *reason, struct error *err)
{
	const struct tcp *t = world->state;
	struct error why = ERROR_NONE;

	error_set(&why, STATUS_LOST, "hub of rank 0 (%s:%d): %s%s", t->address.host,
		  t->address.port, what, reason);
	return world_tcp_end(world, &why, err);
}

/* Called by a rank's first operation; rank 0 starts the hub. */
static enum status world_tcp_join(struct world *world, struct error *err)
{
	const struct frame hello = { FRAME_HELLO, world->rank, world->size, WORLD_TOKEN_BYTES };
	struct tcp *t = world->state;
	struct rank *r = world_tcp_own_rank(world);
	struct net_address address;
	struct error reason = ERROR_NONE;

	if (r->ended.status != STATUS_OK)
		return error_copy(err, &r->ended);
	if (r->fd >= 0)
		return STATUS_OK;
	if (world->rank == 0) {
		if (t->hub.listener < 0)
			return world_tcp_fail(world, STATUS_INTERNAL,
					      "rank 0 does not run on the node that listens", err);
		if (parallel_thread_start(&t->thread, world_hub_run, &t->hub) != 0)
			return world_tcp_fail(world, STATUS_NO_MEMORY,
					      "cannot start the thread of the hub", err);
		/* A rank exits without joining the thread. */
		pthread_detach(t->thread);
		t->hub_started = true;
	}
	for (int set = 0; set < 2; set++)
		r->sets[set] = xcalloc_aligned(_Alignof(struct world_slot),
					       (size_t)world->size * sizeof(struct world_slot));
	if (!net_address_parse(&address, t->address.host, t->address.port))
		return world_tcp_lose_hub(world, "the address is not numeric", "", err);
	if (net_connect(&address, t->hub.join_seconds, 0, &r->fd, &reason) != STATUS_OK)
		return world_tcp_lose_hub(world, reason.message, "", err);
	world_hub_wire_prepare(r->fd);
	return world_hub_wire_send_frame(r->fd, &hello, t->address.token, t->hub.join_seconds)
		       ? STATUS_OK
		       : world_tcp_lose_hub(world, "send: ", strerror(errno), err);
}

/* Reads `count` bytes. Fails if the hub has not sent them by `limit`. */
static enum status world_tcp_read(struct world *world, void *to, size_t count, double limit,
				  struct error *err)
{
	if (net_receive(world_tcp_own_rank(world)->fd, to, count, limit - clock_seconds()))
		return STATUS_OK;
	return world_tcp_lose_hub(world,
				  errno == ETIMEDOUT ? "the hub does not respond: "
						     : "the hub ended: ",
				  strerror(errno), err);
}

static enum status world_tcp_read_slot(struct world *world, struct world_slot *slot, double limit,
				       struct error *err)
{
	char message[WORLD_MAX_BYTES + 1] = "";
	struct error ended = ERROR_NONE;
	struct frame f;

	if (world_tcp_read(world, &f, sizeof(f), limit, err) != STATUS_OK)
		return err->status;
	f = world_hub_wire_order(f);
	if (f.bytes > WORLD_MAX_BYTES || (f.kind != FRAME_SLOT && f.kind != FRAME_ENDED))
		return world_tcp_fail(world, STATUS_INTERNAL,
				      "invalid message from the hub of rank 0", err);
	if (f.kind == FRAME_SLOT) {
		slot->call = (struct world_call){ f.operation, f.root, f.bytes };
		return world_tcp_read(world, slot->data, f.bytes, limit, err);
	}
	if (world_tcp_read(world, message, f.bytes, limit, err) != STATUS_OK)
		return err->status;
	ended.rank = f.root;
	error_set(&ended, (enum status)f.operation, "%s", message);
	return world_tcp_end(world, &ended, err);
}

static enum status world_tcp_exchange(struct world *world, const struct world_call *call,
				      const void *data, const struct world_slot **all,
				      struct error *err)
{
	const struct frame frame = { FRAME_SLOT, call->operation, call->root,
				     (uint32_t)call->bytes };
	const struct tcp *t = world->state;
	struct rank *r = world_tcp_own_rank(world);
	struct world_slot *set;
	double limit;

	if (world_tcp_join(world, err) != STATUS_OK)
		return err->status;
	set = r->sets[r->turn++ & 1];
	/* If the hub has ended the world, its reason is read below. */
	world_hub_wire_send_frame(r->fd, &frame, data, t->hub.silent_seconds);
	limit = clock_seconds() + t->hub.join_seconds + t->hub.silent_seconds + PATIENCE_SECONDS;
	for (int rank = 0; rank < world->size; rank++)
		if (world_tcp_read_slot(world, &set[rank], limit, err) != STATUS_OK)
			return err->status;
	*all = set;
	return STATUS_OK;
}

static void world_tcp_send(struct world *world, struct frame frame, const char *data)
{
	if (world_tcp_own_rank(world)->fd >= 0)
		world_hub_wire_send_frame(world_tcp_own_rank(world)->fd, &frame, data, 1);
}

static bool world_tcp_publish_failure(struct world *world, const struct error *said)
{
	struct error ignored = ERROR_NONE;

	if (world_tcp_join(world, &ignored) != STATUS_OK)
		return false;
	world_tcp_send(world, world_hub_wire_error(FRAME_FAILURE, said), said->message);
	return true;
}

static void world_tcp_clear_failure(struct world *world)
{
	world_tcp_send(world, (struct frame){ .kind = FRAME_CLEAR }, NULL);
}

static bool world_tcp_pending_failure(const struct world *world, struct error *said)
{
	const struct tcp *t = world->state;

	return world_notice_read(t->hub.notice, said);
}

static void world_tcp_leave(struct world *world)
{
	world_tcp_send(world, (struct frame){ .kind = FRAME_LEAVE }, NULL);
}

static void world_tcp_release(struct world *world)
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
	.exchange = world_tcp_exchange,
	.publish_failure = world_tcp_publish_failure,
	.clear_failure = world_tcp_clear_failure,
	.pending_failure = world_tcp_pending_failure,
	.leave = world_tcp_leave,
	.release = world_tcp_release,
};

static enum status world_tcp_make(struct world *world, int size,
				  const struct world_tcp_options *options, struct error *err)
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
	struct net_address listens, bound;
	struct tcp *t;
	enum status status = world_tcp_make(world, size, options, err);

	if (address)
		*address = (struct world_tcp_address){ .port = 0 };
	if (status != STATUS_OK || size == 1)
		return status;
	t = world->state;
	if (getrandom(t->address.token, WORLD_TOKEN_BYTES, 0) != WORLD_TOKEN_BYTES)
		status = error_errno(err, "getrandom");
	if (status == STATUS_OK)
		status = world_new_id(&t->address.id, err);
	if (status == STATUS_OK &&
	    !net_address_parse(&listens, options->host ? options->host : "127.0.0.1", 0))
		status = error_set(err, STATUS_USAGE, "'%s' is not a numeric address",
				   options->host);
	if (status == STATUS_OK && net_listen(&listens, &t->hub.listener, &bound, err) != STATUS_OK)
		status = error_prefix(err, "%s", options->host ? options->host : "loopback");
	if (status != STATUS_OK) {
		world_release(world);
		return status;
	}
	net_address_host(&bound, t->address.host);
	t->address.port = net_address_port(&bound);
	memcpy(t->hub.token, t->address.token, sizeof(t->hub.token));
	world->id = t->address.id;
	if (address)
		*address = t->address;
	return STATUS_OK;
}

enum status world_tcp_attach(struct world *world, int size, const struct world_tcp_options *options,
			     const struct world_tcp_address *address, struct error *err)
{
	enum status status = world_tcp_make(world, size, options, err);

	if (status == STATUS_OK && size > 1) {
		((struct tcp *)world->state)->address = *address;
		world->id = address->id;
	}
	return status;
}
