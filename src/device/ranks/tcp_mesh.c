#include "device/ranks/tcp_mesh.h"

#include <errno.h>
#include <math.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "device/backend.h"
#include "net/greeter.h"
#include "net/net.h"

#define TOKEN_BYTES 32
/* Holds two pieces of a relay (device/ranks/relay.h), which a rank may send before it receives. */
#define BUFFER_BYTES (1 << 20)
/* Maximum ids of a process whose communicators are not open yet. */
#define PENDING_MOST 64

/* Content of a communicator's id; both ends run the same build. */
struct rendezvous {
	struct net_address address;
	unsigned char token[TOKEN_BYTES];
};

/* The first bytes on every connection. */
struct mesh_hello {
	unsigned char token[TOKEN_BYTES];
	int32_t rank;
	struct net_address listens; /* address for the other ranks; sent to rank 0 only */
};

static struct net_address own_address; /* without an address family: loopback */

static struct mesh_pending {
	int fd; /* 0: free */
	unsigned char token[TOKEN_BYTES];
} pending[PENDING_MOST];

void tcp_mesh_host(const char *address)
{
	if (!net_address_parse(&own_address, address, 0))
		own_address.any.sa_family = AF_UNSPEC;
}

enum status tcp_mesh_id(struct communicator_id *out, struct error *err)
{
	struct net_address at = own_address;
	struct rendezvous *r = (struct rendezvous *)memset(out, 0, sizeof(*out));
	size_t place = 0;

	_Static_assert(sizeof(*r) <= sizeof(*out), "the rendezvous fits into an id");
	if (at.any.sa_family == AF_UNSPEC)
		net_address_parse(&at, "127.0.0.1", 0);
	while (place < PENDING_MOST && pending[place].fd)
		place++;
	if (place == PENDING_MOST)
		return error_set(err, STATUS_INTERNAL,
				 "transport tcp: %d communicators were never opened", PENDING_MOST);
	if (getrandom(r->token, TOKEN_BYTES, 0) != TOKEN_BYTES)
		return error_errno(err, "getrandom");
	if (net_listen(&at, &pending[place].fd, &r->address, err) != STATUS_OK) {
		pending[place].fd = 0;
		return error_prefix(err, "transport tcp");
	}
	memcpy(pending[place].token, r->token, TOKEN_BYTES);
	return STATUS_OK;
}

/* The listener of an id created by this process; -1: none. */
static int tcp_mesh_take_listener(const struct rendezvous *r)
{
	for (size_t i = 0; i < PENDING_MOST; i++) {
		int fd = pending[i].fd;

		if (fd && net_equal(pending[i].token, r->token, TOKEN_BYTES)) {
			pending[i].fd = 0;
			return fd;
		}
	}
	return -1;
}

/* Waits for `events`; false after the deadline. */
static bool tcp_mesh_wait_for(int fd, short events, double limit)
{
	struct pollfd waiting = { .fd = fd, .events = events };
	double left = limit - clock_seconds();

	return left > 0 && poll(&waiting, 1, (int)(1e3 * left) + 1) != 0;
}

static enum status tcp_mesh_transfer_bytes(int fd, char *at, size_t bytes, bool sends,
					   double seconds, struct error *err)
{
	double limit = clock_seconds() + seconds;

	while (bytes > 0) {
		ssize_t n = sends ? send(fd, at, bytes, MSG_NOSIGNAL | MSG_DONTWAIT)
				  : recv(fd, at, bytes, MSG_DONTWAIT);

		if (n > 0) {
			at += n;
			bytes -= (size_t)n;
			limit = clock_seconds() + seconds;
			continue;
		}
		if (n == 0)
			return error_set(err, STATUS_DEVICE, "closed the connection");
		if (errno != EAGAIN && errno != EINTR)
			return error_set(err, STATUS_DEVICE, "%s", strerror(errno));
		if (!tcp_mesh_wait_for(fd, sends ? POLLOUT : POLLIN, limit))
			return error_set(err, STATUS_TIMEOUT, "no progress for %g s", seconds);
	}
	return STATUS_OK;
}

enum status tcp_mesh_send(int fd, const void *from, size_t bytes, double seconds, struct error *err)
{
	return tcp_mesh_transfer_bytes(fd, (char *)from, bytes, true, seconds, err);
}

enum status tcp_mesh_receive(int fd, void *to, size_t bytes, double seconds, struct error *err)
{
	return tcp_mesh_transfer_bytes(fd, to, bytes, false, seconds, err);
}

static enum status tcp_mesh_connect_peer(const struct net_address *to,
					 const struct mesh_hello *hello, int peer, double limit,
					 int *fd, struct error *err)
{
	if (net_connect(to, limit - clock_seconds(), BUFFER_BYTES, fd, err) != STATUS_OK ||
	    tcp_mesh_send(*fd, hello, sizeof(*hello), limit - clock_seconds(), err) != STATUS_OK)
		return error_prefix(err, "rank %d", peer);
	return STATUS_OK;
}

static int tcp_mesh_first_missing(const int *peers, int from, int end)
{
	while (from < end && peers[from] >= 0)
		from++;
	return from;
}

/* Admits a connection of a missing rank of this id; closes others. */
static void tcp_mesh_admit_peer(int fd, const struct mesh_hello *hello,
				const struct mesh_hello *mine, int from, int size, int *peers,
				struct net_address *table)
{
	int on, bytes;

	if (!net_equal(hello->token, mine->token, TOKEN_BYTES) || hello->rank < from ||
	    hello->rank >= size || peers[hello->rank] >= 0) {
		close(fd);
		return;
	}
	on = 1;
	bytes = BUFFER_BYTES;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	peers[hello->rank] = fd;
	table[hello->rank] = hello->listens;
}

/* Accepts connections until ranks [from, size) are connected; closes the listener. */
static enum status tcp_mesh_accept_peers(int listener, const struct mesh_hello *mine, int from,
					 int size, double limit, int *peers,
					 struct net_address *table, struct error *err)
{
	struct greeter *greeter;
	char caller[GREETER_FROM];
	struct mesh_hello hello;

	if (greeter_open(&greeter, listener, sizeof(hello), err) != STATUS_OK)
		return err->status;
	while (tcp_mesh_first_missing(peers, from, size) < size) {
		double second = fmin(limit, clock_seconds() + 1);
		int fd;

		tcp_mesh_wait_for(greeter_fd(greeter), POLLIN, second);
		while ((fd = greeter_next(greeter, &hello, caller)) >= 0)
			tcp_mesh_admit_peer(fd, &hello, mine, from, size, peers, table);
		if (clock_seconds() >= limit && tcp_mesh_first_missing(peers, from, size) < size) {
			error_set(err, STATUS_TIMEOUT, "rank %d has not connected in time",
				  tcp_mesh_first_missing(peers, from, size));
			break;
		}
	}
	greeter_close(greeter);
	return err->status;
}

static enum status tcp_mesh_open_first(const struct rendezvous *r, const struct mesh_hello *hello,
				       int size, double limit, int *peers,
				       struct net_address *table, struct error *err)
{
	int listener = tcp_mesh_take_listener(r);

	if (listener < 0)
		return error_set(err, STATUS_INTERNAL, "rank 0 did not create the id");
	tcp_mesh_accept_peers(listener, hello, 1, size, limit, peers, table, err);
	for (int peer = 1; peer < size && err->status == STATUS_OK; peer++)
		tcp_mesh_send(peers[peer], table, (size_t)size * sizeof(*table),
			      limit - clock_seconds(), err);
	return err->status;
}

static enum status tcp_mesh_open_other(const struct rendezvous *r, struct mesh_hello *hello,
				       int size, double limit, int *peers,
				       struct net_address *table, struct error *err)
{
	struct net_address own;
	int listener = -1;

	/*
	 * The local address of the connection to rank 0 is the one at which others reach this rank.
	 */
	if (net_connect(&r->address, limit - clock_seconds(), BUFFER_BYTES, &peers[0], err) !=
	    STATUS_OK)
		return error_prefix(err, "rank 0");
	net_address_own(&own, peers[0]);
	net_address_set_port(&own, 0);
	if (net_listen(&own, &listener, &hello->listens, err) != STATUS_OK)
		return err->status;
	if (tcp_mesh_send(peers[0], hello, sizeof(*hello), limit - clock_seconds(), err) !=
		    STATUS_OK ||
	    tcp_mesh_receive(peers[0], table, (size_t)size * sizeof(*table),
			     limit - clock_seconds(), err) != STATUS_OK)
		error_prefix(err, "rank 0");
	for (int peer = 1; peer < hello->rank && err->status == STATUS_OK; peer++)
		tcp_mesh_connect_peer(&table[peer], hello, peer, limit, &peers[peer], err);
	if (err->status == STATUS_OK)
		tcp_mesh_accept_peers(listener, hello, hello->rank + 1, size, limit, peers, table,
				      err);
	else
		close(listener);
	return err->status;
}

enum status tcp_mesh_open(const struct communicator_id *id, int rank, int size, double seconds,
			  int *peers, struct error *err)
{
	const struct rendezvous *r = (const struct rendezvous *)id;
	struct net_address *table = xcalloc((size_t)size, sizeof(*table));
	struct mesh_hello hello = { .rank = rank };
	double limit = clock_seconds() + seconds;
	enum status status;

	memcpy(hello.token, r->token, TOKEN_BYTES);
	for (int peer = 0; peer < size; peer++)
		peers[peer] = -1;
	status = rank == 0 ? tcp_mesh_open_first(r, &hello, size, limit, peers, table, err)
			   : tcp_mesh_open_other(r, &hello, size, limit, peers, table, err);
	free(table);
	if (status != STATUS_OK) {
		tcp_mesh_close(peers, size);
		error_prefix(err, "transport tcp: rank %d", rank);
	}
	return status;
}

void tcp_mesh_close(int *peers, int size)
{
	for (int peer = 0; peer < size; peer++) {
		if (peers[peer] >= 0)
			close(peers[peer]);
		peers[peer] = -1;
	}
}
