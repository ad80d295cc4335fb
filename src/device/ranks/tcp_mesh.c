#include "device/ranks/tcp_mesh.h"

#include <errno.h>
#include <math.h>
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

static enum status tcp_mesh_transferred(bool all, double seconds, struct error *err)
{
	if (all)
		return STATUS_OK;
	if (errno == ETIMEDOUT)
		return error_set(err, STATUS_TIMEOUT, "the transfer took longer than %g s",
				 seconds);
	return error_set(err, STATUS_DEVICE, "%s",
			 errno == ECONNRESET ? "closed the connection" : strerror(errno));
}

enum status tcp_mesh_send(int fd, const void *from, size_t bytes, double seconds, struct error *err)
{
	return tcp_mesh_transferred(net_send(fd, from, bytes, seconds), seconds, err);
}

enum status tcp_mesh_receive(int fd, void *to, size_t bytes, double seconds, struct error *err)
{
	return tcp_mesh_transferred(net_receive(fd, to, bytes, seconds), seconds, err);
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
	int bytes = BUFFER_BYTES;

	if (!net_equal(hello->token, mine->token, TOKEN_BYTES) || hello->rank < from ||
	    hello->rank >= size || peers[hello->rank] >= 0) {
		close(fd);
		return;
	}
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
		struct pollfd waiting = { .fd = greeter_fd(greeter), .events = POLLIN };
		double left = fmin(1, limit - clock_seconds());
		int fd;

		poll(&waiting, 1, left > 0 ? (int)(1e3 * left) + 1 : 0);
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
	struct mesh_pending *own = pending;
	int listener;

	while (own < pending + PENDING_MOST &&
	       !(own->fd && net_equal(own->token, r->token, TOKEN_BYTES)))
		own++;
	if (own == pending + PENDING_MOST)
		return error_set(err, STATUS_INTERNAL, "rank 0 did not create the id");
	listener = own->fd;
	own->fd = 0;
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
		if (net_connect(&table[peer], limit - clock_seconds(), BUFFER_BYTES, &peers[peer],
				err) != STATUS_OK ||
		    tcp_mesh_send(peers[peer], hello, sizeof(*hello), limit - clock_seconds(),
				  err) != STATUS_OK)
			error_prefix(err, "rank %d", peer);
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
