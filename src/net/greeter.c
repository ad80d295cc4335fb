#include "net/greeter.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "net/net.h"

#define PAUSE_SECONDS \
	0.1 /* pause in accepting if descriptors are used up and no caller can be closed */

struct caller {
	int fd;
	double since;
	size_t have;
	unsigned char hello[GREETER_HELLO_MOST];
	char from[GREETER_FROM];
};

struct greeter {
	int listener, poll;
	size_t hello_bytes, closed;
	double paused; /* start of the pause; 0: the listener is watched */
	struct caller callers[GREETER_MOST + 1]; /* oldest first; the last waits for room */
	size_t count;
};

static bool greeter_watch_for_input(const struct greeter *g, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(g->poll, EPOLL_CTL_ADD, fd, &event) == 0;
}

enum status greeter_open(struct greeter **out, int listener, size_t hello_bytes, struct error *err)
{
	struct greeter *g = xcalloc(1, sizeof(*g));

	g->listener = listener;
	g->hello_bytes = hello_bytes;
	g->poll = epoll_create1(EPOLL_CLOEXEC);
	*out = g;
	if (g->poll >= 0 && hello_bytes <= GREETER_HELLO_MOST &&
	    greeter_watch_for_input(g, listener))
		return STATUS_OK;
	error_errno(err, "listening for connections");
	greeter_close(g);
	*out = NULL;
	return err->status;
}

int greeter_fd(const struct greeter *g)
{
	return g->poll;
}

/* Removes a caller from the list; its descriptor stays open. */
static void greeter_forget_caller(struct greeter *g, size_t i)
{
	memmove(&g->callers[i], &g->callers[i + 1], (g->count - i - 1) * sizeof(g->callers[0]));
	g->count--;
}

static void greeter_close_caller(struct greeter *g, size_t i)
{
	close(g->callers[i].fd);
	greeter_forget_caller(g, i);
	g->closed++;
}

/* Reads no byte beyond the hello. False: the caller has disconnected. */
static bool greeter_read_hello(const struct greeter *g, struct caller *c)
{
	while (c->have < g->hello_bytes) {
		ssize_t n = recv(c->fd, c->hello + c->have, g->hello_bytes - c->have, MSG_DONTWAIT);

		if (n > 0)
			c->have += (size_t)n;
		else if (n == 0 || (errno != EAGAIN && errno != EINTR))
			return false;
		else if (errno == EAGAIN)
			break;
	}
	return true;
}

/*
 * Makes room: closes the oldest caller whose hello is still incomplete. False: all are complete,
 * and greeter_next() must return them first.
 */
static bool greeter_close_oldest_silent(struct greeter *g)
{
	for (size_t i = 0; i < g->count; i++) {
		struct caller *c = &g->callers[i];

		if (greeter_read_hello(g, c) && c->have == g->hello_bytes)
			continue;
		greeter_close_caller(g, i);
		return true;
	}
	return false;
}

static void greeter_accept_callers(struct greeter *g)
{
	/*
	 * At most as many per call as there is room for, so that a flood of connections does not
	 * block here.
	 */
	for (size_t i = 0; i < GREETER_MOST && !g->paused; i++) {
		struct net_address from = { .any.sa_family = AF_INET };
		socklen_t length = sizeof(from);
		int fd, on = 1;

		if (g->count > GREETER_MOST && !greeter_close_oldest_silent(g))
			return;
		fd = accept4(g->listener, &from.any, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd >= 0) {
			struct caller *c = &g->callers[g->count++];

			setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
			*c = (struct caller){ .fd = fd, .since = clock_seconds() };
			net_address_text(&from, c->from);
			if (!greeter_watch_for_input(g, fd))
				greeter_close_caller(g, g->count - 1);
		} else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
			   errno == ENOMEM) {
			if (g->count && !greeter_close_oldest_silent(g))
				return;
			if (!g->count) {
				epoll_ctl(g->poll, EPOLL_CTL_DEL, g->listener, NULL);
				g->paused = clock_seconds();
			}
		} else if (errno != EINTR && errno != ECONNABORTED)
			return;
	}
}

int greeter_next(struct greeter *g, void *hello, char from[GREETER_FROM])
{
	double now = clock_seconds();

	if (g->paused && now - g->paused > PAUSE_SECONDS && greeter_watch_for_input(g, g->listener))
		g->paused = 0;
	greeter_accept_callers(g);
	for (size_t i = 0; i < g->count;) {
		struct caller *c = &g->callers[i];

		if (!greeter_read_hello(g, c)) {
			greeter_close_caller(g, i);
		} else if (c->have == g->hello_bytes) {
			int fd = c->fd;

			memcpy(hello, c->hello, g->hello_bytes);
			memcpy(from, c->from, GREETER_FROM);
			epoll_ctl(g->poll, EPOLL_CTL_DEL, fd, NULL);
			greeter_forget_caller(g, i);
			return fd;
		} else if (now - c->since > GREETER_SECONDS) {
			greeter_close_caller(g, i);
		} else {
			i++;
		}
	}
	return -1;
}

size_t greeter_closed(struct greeter *g)
{
	size_t closed = g->closed;

	g->closed = 0;
	return closed;
}

void greeter_close(struct greeter *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < g->count; i++)
		close(g->callers[i].fd);
	if (g->listener >= 0)
		close(g->listener);
	if (g->poll >= 0)
		close(g->poll);
	free(g);
}
