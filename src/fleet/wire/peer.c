#include "fleet/wire/peer.h"

#include <errno.h>
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
#include "net/net.h"

#define DRAIN_SECONDS 5.0 /* that a closing connection may take to be sent the rest */

static bool peers_watch_fd(const struct peers *p, int fd, void *what, unsigned events)
{
	struct epoll_event event = { .events = events, .data.ptr = what };

	return epoll_ctl(p->poll, EPOLL_CTL_ADD, fd, &event) == 0;
}

/* "10.0.0.1:4242,127.0.0.1:4242": of all addresses loopback is the last. */
static enum status peer_describe_address(const struct net_address *bound, bool all,
					 char **addresses, struct error *err)
{
	struct text list = TEXT_EMPTY;
	char text[NET_TEXT_SIZE];

	if (!all)
		text_add(&list, net_address_text(bound, text));
	else if (net_list_addresses(net_address_port(bound), &list, err) == STATUS_OK)
		text_addf(&list, "127.0.0.1:%d", net_address_port(bound));
	*addresses = err->status == STATUS_OK ? text_detach(&list) : NULL;
	text_release(&list);
	return err->status;
}

enum status peers_open(struct peers *p, const char *interface, bool loopback, char **addresses,
		       struct error *err)
{
	struct net_address bound, address;
	bool all = !loopback && !*interface;
	int listener;

	net_address_parse(&address, "127.0.0.1", 0);
	if (!loopback && *interface && net_interface_address(interface, &address, err) != STATUS_OK)
		return error_prefix(err, "[fleet] interface = %s", interface);
	if (net_listen(all ? NULL : &address, &listener, &bound, err) != STATUS_OK)
		return all || loopback ? err->status
				       : error_prefix(err, "[fleet] interface = %s", interface);
	if (greeter_open(&p->greeter, listener, sizeof(struct fleet_call), err) != STATUS_OK)
		return err->status;
	p->poll = epoll_create1(EPOLL_CLOEXEC);
	if (p->poll < 0 || !peers_watch_fd(p, greeter_fd(p->greeter), NULL, EPOLLIN) ||
	    !peers_watch_fd(p, signals_fd(), NULL, EPOLLIN))
		return error_errno(err, "listening for agents");
	return peer_describe_address(&bound, all, addresses, err);
}

int peers_call(struct peers *p, struct fleet_call *call, char from[GREETER_FROM])
{
	return greeter_next(p->greeter, call, from);
}

void peers_add(struct peers *p, int fd, const char *from)
{
	struct peer *peer = xcalloc(1, sizeof(*peer));

	peer->fd = fd;
	peer->node = (size_t)-1;
	peer->since = peer->heard = clock_seconds();
	snprintf(peer->from, sizeof(peer->from), "%s", from);
	ARRAY_GROW(p->items, p->count, p->capacity);
	p->items[p->count++] = peer;
	peer->closing = !peers_watch_fd(p, fd, peer, EPOLLIN);
}

/* Sends as much as the connection takes now. */
static void peer_flush_out(struct peers *p, struct peer *peer)
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
	peer_flush_out(p, peer);
}

size_t peers_wait(struct peers *p, struct peer **ready, size_t most, int milliseconds)
{
	struct epoll_event events[64];
	int count = epoll_wait(p->poll, events, most < 64 ? (int)most : 64, milliseconds);
	size_t found = 0;

	for (int i = 0; i < count; i++) {
		struct peer *peer = events[i].data.ptr;

		if (!peer)
			continue;
		if (events[i].events & EPOLLOUT)
			peer_flush_out(p, peer);
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

static void peer_drop(struct peer *peer)
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
			peer_drop(peer);
		else
			p->items[kept++] = peer;
	}
	p->count = kept;
}

void peers_close(struct peers *p)
{
	for (size_t i = 0; i < p->count; i++)
		peer_drop(p->items[i]);
	free(p->items);
	greeter_close(p->greeter);
	if (p->poll >= 0)
		close(p->poll);
	*p = (struct peers)PEERS_NONE;
}
