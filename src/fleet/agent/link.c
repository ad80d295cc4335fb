/* Connection of an agent to the conductor. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "fleet/agent/agent_internal.h"
#include "measure/processes/signals.h"
#include "net/net.h"

#define PATIENCE_SECONDS 5.0 /* for one address, and for one message */
#define CALL_SECONDS 30.0    /* for repeated attempts on all addresses */
#define ORDER_SECONDS 60.0   /* until the conductor answers the hello */

/* Each address of the list once. -1: err says why. */
static int connect_any(const char *addresses, struct error *err)
{
	int fd = -1;

	for (const char *at = addresses; fd < 0 && *at;) {
		size_t length = strcspn(at, ",");
		struct net_address address;
		char one[NET_TEXT_SIZE], *host = one, *colon;

		snprintf(one, sizeof(one), "%.*s", (int)length, at);
		colon = strrchr(one, ':');
		at += length + (at[length] == ',');
		if (!colon)
			continue;
		*colon = '\0';
		if (*one == '[' && colon[-1] == ']') {
			colon[-1] = '\0';
			host++;
		}
		if (!net_address_parse(&address, host, atoi(colon + 1)))
			error_set(err, STATUS_USAGE, "'%s' is not an address", host);
		else
			net_connect(&address, PATIENCE_SECONDS, 0, &fd, err);
	}
	return fd;
}

enum status agent_call(struct agent *a, const char *addresses, struct error *err)
{
	double began = clock_seconds();

	while ((a->fd = connect_any(addresses, err)) < 0 &&
	       clock_seconds() - began < CALL_SECONDS && !signals_stops())
		clock_sleep(0.5);
	if (a->fd < 0)
		return error_prefix(err, "no conductor of a run answers at %s", addresses);
	error_clear(err);
	return STATUS_OK;
}

static bool agent_send_all(struct agent *a, const struct text *bytes)
{
	bool whole = net_send(a->fd, bytes->data, bytes->length, PATIENCE_SECONDS);

	a->said = clock_seconds();
	return whole;
}

bool agent_say(struct agent *a, const struct fleet_message *message)
{
	struct text line = TEXT_EMPTY;
	bool whole;

	fleet_message_add(&line, message);
	whole = agent_send_all(a, &line);
	text_release(&line);
	return whole;
}

bool agent_introduce(struct agent *a, const char *token, const struct fleet_message *hello)
{
	struct fleet_call call = fleet_call_make(token, a->name);
	struct text bytes = TEXT_EMPTY;
	bool whole;

	text_add_bytes(&bytes, (const char *)&call, sizeof(call));
	fleet_message_add(&bytes, hello);
	whole = agent_send_all(a, &bytes);
	text_release(&bytes);
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
static bool agent_receive(struct agent *a)
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
	return fds[0].revents == 0 || agent_receive(a);
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
					 "the conductor closed the connection of node %s", a->name);
	}
	return error_set(err, STATUS_TIMEOUT, "the conductor does not answer node %s", a->name);
}
