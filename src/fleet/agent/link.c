/* Connection of an agent to the conductor. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "fleet/agent/parts.h"
#include "measure/processes/signals.h"

#define CONNECT_SECONDS 5.0 /* for one address */
#define CALL_SECONDS 30.0   /* for all of them, again and again */
#define ORDER_SECONDS 60.0  /* until the conductor answers the hello */

static int connect_to(const char *host, int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	struct timeval patience = { .tv_sec = (time_t)CONNECT_SECONDS };
	int fd, on = 1;

	if (inet_pton(AF_INET, host, &address.sin_addr) != 1) {
		errno = EINVAL;
		return -1;
	}
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	/* Bounds connect() as well as every send. */
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	on = errno;
	close(fd);
	errno = on;
	return -1;
}

/* Each address of the list once. */
static int connect_any(const char *addresses)
{
	int fd = -1;

	for (const char *at = addresses; fd < 0 && *at;) {
		size_t length = strcspn(at, ",");
		char one[64], *colon;

		snprintf(one, sizeof(one), "%.*s", (int)length, at);
		colon = strrchr(one, ':');
		if (colon) {
			*colon = '\0';
			fd = connect_to(one, atoi(colon + 1));
		}
		at += length + (at[length] == ',');
	}
	return fd;
}

enum status agent_call(struct agent *a, const char *addresses, struct error *err)
{
	double began = clock_seconds();

	while ((a->fd = connect_any(addresses)) < 0 && clock_seconds() - began < CALL_SECONDS &&
	       !signals_stops())
		clock_sleep(0.5);
	if (a->fd < 0)
		return error_errno(err, "no conductor of a run answers at %s", addresses);
	return STATUS_OK;
}

bool agent_say(struct agent *a, const struct fleet_message *message)
{
	struct text line = TEXT_EMPTY;
	size_t sent = 0;
	bool whole;

	fleet_message_add(&line, message);
	while (sent < line.length) {
		ssize_t n = send(a->fd, line.data + sent, line.length - sent, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		sent += (size_t)n;
	}
	a->said = clock_seconds();
	whole = sent == line.length;
	text_release(&line);
	return whole;
}

/* Takes the next whole line out of what was read. False: there is none. */
bool agent_next_message(struct agent *a, struct fleet_message *message)
{
	struct error err = ERROR_NONE;
	char *end = a->in.length ? memchr(a->in.data, '\n', a->in.length) : NULL;
	size_t length;

	if (!end)
		return false;
	length = (size_t)(end - a->in.data);
	if (fleet_message_parse(a->in.data, length, message, &err) != STATUS_OK)
		message->kind = message->kind ? message->kind : xstrdup("");
	memmove(a->in.data, end + 1, a->in.length - length - 1);
	a->in.length -= length + 1;
	return true;
}

/* Reads what is there. False: the connection has ended. */
static bool receive(struct agent *a)
{
	char block[4096];
	ssize_t n = recv(a->fd, block, sizeof(block), MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n == 0 || a->in.length + (size_t)n > FLEET_MESSAGE_MOST)
		return false;
	text_add_bytes(&a->in, block, (size_t)n);
	a->heard = clock_seconds();
	return true;
}

bool agent_wait(struct agent *a, double until)
{
	struct pollfd fds[] = { { .fd = a->fd, .events = POLLIN },
				{ .fd = signals_fd(), .events = POLLIN },
				{ .fd = a->wake, .events = POLLIN } };
	double left = until - clock_seconds();
	eventfd_t changes;

	poll(fds, ARRAY_SIZE(fds), left > 0 ? (int)(1000 * left) + 1 : 0);
	signals_drain();
	if (fds[2].revents)
		eventfd_read(a->wake, &changes);
	return fds[0].revents == 0 || receive(a);
}

enum status agent_take_order(struct agent *a, struct error *err)
{
	double began = clock_seconds();

	while (clock_seconds() - began < ORDER_SECONDS && !signals_stops()) {
		bool open = agent_wait(a, began + ORDER_SECONDS);

		while (agent_next_message(a, &a->order)) {
			if (strcmp(a->order.kind, "start") == 0)
				return STATUS_OK;
			if (strcmp(a->order.kind, "refuse") == 0)
				return error_set(err, STATUS_IO,
						 "the conductor refuses node %s: %s", a->name,
						 a->order.text);
			fleet_message_release(&a->order);
		}
		if (!open)
			return error_set(err, STATUS_IO,
					 "the conductor has closed the connection of node %s",
					 a->name);
	}
	return error_set(err, STATUS_TIMEOUT, "the conductor does not answer node %s", a->name);
}
