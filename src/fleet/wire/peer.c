#include "fleet/wire/peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "fleet/wire/message.h"
#include "measure/processes/signals.h"

#define BACKLOG 4096
#define DRAIN_SECONDS 5.0 /* that a closing connection may take to be sent the rest */

/* All addresses of this machine where agents can call, loopback last. */
static enum status list_addresses(const char *interface, bool loopback, int port, struct text *out,
				  struct error *err)
{
	struct text known = TEXT_EMPTY;
	struct ifaddrs *all = NULL;

	if (!loopback && getifaddrs(&all) != 0)
		return error_errno(err, "getifaddrs");
	for (struct ifaddrs *i = all; i; i = i->ifa_next) {
		char host[INET_ADDRSTRLEN];

		if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET)
			continue;
		text_addf(&known, "%s%s", known.length ? ", " : "", i->ifa_name);
		if (*interface ? strcmp(i->ifa_name, interface) != 0
			       : (i->ifa_flags & IFF_LOOPBACK) != 0)
			continue;
		inet_ntop(AF_INET, &((struct sockaddr_in *)i->ifa_addr)->sin_addr, host,
			  sizeof(host));
		text_addf(out, "%s%s:%d", out->length ? "," : "", host, port);
	}
	if (all)
		freeifaddrs(all);
	if (*interface && !loopback && !out->length)
		error_set(err, STATUS_USAGE,
			  "[fleet] interface = %s: there is none of this name with an IPv4 "
			  "address; there are: %s",
			  interface, known.length ? known.data : "none");
	else if (!*interface || loopback)
		text_addf(out, "%s127.0.0.1:%d", out->length ? "," : "", port);
	text_release(&known);
	return err->status;
}

static bool watch(const struct peers *p, int fd, void *what, unsigned events)
{
	struct epoll_event event = { .events = events, .data.ptr = what };

	return epoll_ctl(p->poll, EPOLL_CTL_ADD, fd, &event) == 0;
}

enum status peers_open(struct peers *p, const char *interface, bool loopback, char **addresses,
		       struct error *err)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t length = sizeof(address);
	struct text list = TEXT_EMPTY;

	address.sin_addr.s_addr = htonl(loopback ? INADDR_LOOPBACK : INADDR_ANY);
	p->poll = epoll_create1(EPOLL_CLOEXEC);
	p->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (p->poll < 0 || p->listener < 0 ||
	    bind(p->listener, (struct sockaddr *)&address, length) != 0 ||
	    listen(p->listener, BACKLOG) != 0 ||
	    getsockname(p->listener, (struct sockaddr *)&address, &length) != 0 ||
	    !watch(p, p->listener, p, EPOLLIN) || !watch(p, signals_fd(), NULL, EPOLLIN))
		return error_errno(err, "listening for agents");
	if (list_addresses(interface, loopback, ntohs(address.sin_port), &list, err) == STATUS_OK)
		*addresses = text_detach(&list);
	text_release(&list);
	return err->status;
}

static void take_connections(struct peers *p)
{
	struct sockaddr_in from = { 0 };
	socklen_t length = sizeof(from);
	int fd, on = 1;

	while ((fd = accept4(p->listener, (struct sockaddr *)&from, &length,
			     SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		struct peer *peer = xcalloc(1, sizeof(*peer));

		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		peer->fd = fd;
		peer->node = (size_t)-1;
		peer->since = peer->heard = clock_seconds();
		inet_ntop(AF_INET, &from.sin_addr, peer->from, sizeof(peer->from));
		ARRAY_GROW(p->items, p->count, p->capacity);
		p->items[p->count++] = peer;
		peer->closing = !watch(p, fd, peer, EPOLLIN);
		length = sizeof(from);
	}
}

/* Sends as much as the connection takes now. */
static void flush_out(struct peers *p, struct peer *peer)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = peer };
	ssize_t n = 0;

	while (peer->out.length) {
		n = send(peer->fd, peer->out.data, peer->out.length, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		memmove(peer->out.data, peer->out.data + n, peer->out.length - (size_t)n);
		peer->out.length -= (size_t)n;
	}
	/* A broken one is noticed where it is read. */
	if (n < 0 && errno != EAGAIN)
		text_reset(&peer->out);
	event.events |= peer->out.length ? EPOLLOUT : 0;
	epoll_ctl(p->poll, EPOLL_CTL_MOD, peer->fd, &event);
}

void peer_send(struct peers *p, struct peer *peer, const char *bytes, size_t count)
{
	text_add_bytes(&peer->out, bytes, count);
	flush_out(p, peer);
}

size_t peers_wait(struct peers *p, struct peer **ready, size_t most, int milliseconds)
{
	struct epoll_event events[64];
	int count = epoll_wait(p->poll, events, most < 64 ? (int)most : 64, milliseconds);
	size_t found = 0;

	for (int i = 0; i < count; i++) {
		struct peer *peer = events[i].data.ptr;

		if ((void *)peer == p) {
			take_connections(p);
			continue;
		}
		if (!peer)
			continue;
		if (events[i].events & EPOLLOUT)
			flush_out(p, peer);
		if (events[i].events & ~(unsigned)EPOLLOUT)
			ready[found++] = peer;
	}
	return found;
}

bool peer_receive(struct peer *peer)
{
	char block[16384];

	for (;;) {
		ssize_t n = recv(peer->fd, block, sizeof(block), MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN;
		if (n == 0)
			return false;
		peer->heard = clock_seconds();
		text_add_bytes(&peer->in, block, (size_t)n);
		/* The rest after the lines that are there. */
		if (peer->in.length > FLEET_MESSAGE_MOST)
			return true;
	}
}

static void drop(struct peer *peer)
{
	close(peer->fd);
	text_release(&peer->in);
	text_release(&peer->out);
	free(peer);
}

void peers_sweep(struct peers *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->count; i++) {
		struct peer *peer = p->items[i];

		if (peer->closing &&
		    (!peer->out.length || clock_seconds() - peer->heard > DRAIN_SECONDS))
			drop(peer);
		else
			p->items[kept++] = peer;
	}
	p->count = kept;
}

void peers_close(struct peers *p)
{
	for (size_t i = 0; i < p->count; i++)
		drop(p->items[i]);
	free(p->items);
	if (p->listener >= 0)
		close(p->listener);
	if (p->poll >= 0)
		close(p->poll);
	*p = (struct peers)PEERS_NONE;
}
