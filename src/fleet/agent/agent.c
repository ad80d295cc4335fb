#include "fleet/agent/agent.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "fleet/agent/agent_internal.h"
#include "measure/processes/process_title.h"
#include "measure/processes/signals.h"
#include "result/host/build.h"

#define CLOSE_SECONDS 10.0 /* until it has read the last message */
#define SAY_SECONDS 0.05   /* between messages about cases that change */

static bool agent_say_alive(struct agent *a)
{
	struct agent_report *r = a->report;
	char current[sizeof(r->current[0])];

	a->turn_said = r->turn;
	snprintf(current, sizeof(current), "%s", r->current[a->turn_said % 2]);
	text_mend(current);
	return agent_say(a, &(struct fleet_message){ .kind = "alive",
						     .planned = (int64_t)r->planned,
						     .finished = (int64_t)r->finished,
						     .text = current });
}

static void agent_end_group(struct agent *a, const struct error *why)
{
	agent_kill_child(a);
	agent_say(a, &(struct fleet_message){ .kind = "ended",
					      .group = a->group.group,
					      .status = why->status,
					      .rank = why->rank,
					      .text = why->message });
	fleet_message_release(&a->group);
}

/* Takes the message over if it is an order that begins a group. */
static bool agent_take_group(struct agent *a, struct fleet_message *message)
{
	static const struct error none = ERROR_NONE,
				  replaced = { .status = STATUS_IO,
					       .message = "another group was started" };
	struct error err = ERROR_NONE;

	if (strcmp(message->kind, "lead") != 0 && strcmp(message->kind, "join") != 0) {
		if (strcmp(message->kind, "end") == 0 && a->group.kind &&
		    message->group == a->group.group)
			agent_end_group(a, &none);
		return false;
	}
	if (a->group.kind)
		agent_end_group(a, &replaced);
	a->group = *message;
	a->listening_said = false;
	if (agent_start_child(a, NULL, &err) != STATUS_OK)
		agent_end_group(a, &err);
	return true;
}

static void agent_watch_group(struct agent *a)
{
	struct error why = ERROR_NONE;

	if (!a->group.kind)
		return;
	if (a->report->listening && !a->listening_said) {
		a->listening_said = true;
		agent_say(a, &(struct fleet_message){ .kind = "listens",
						      .group = a->group.group,
						      .address = a->report->address });
	}
	if (agent_child_ended(a, &why))
		agent_end_group(a, &why);
}

/* Between messages that say no more than that it is alive. */
static double alive_seconds(const struct agent *a)
{
	return a->order.silent_after / 4 < 1 ? a->order.silent_after / 4 : 1;
}

/* The next moment at which there is something to do, if nothing wakes it before. */
static double next_due(const struct agent *a)
{
	double due = a->said + alive_seconds(a), gone = a->heard + 3 * a->order.silent_after;

	due = gone < due ? gone : due;
	if (a->child > 0 && a->stopped && a->stopped + a->order.silent_after < due)
		due = a->stopped + a->order.silent_after;
	return due;
}

/* Groups, as the conductor orders them, until it closes the connection. */
static void serve_groups(struct agent *a)
{
	struct fleet_message message;
	bool told = false;

	for (bool open = true; open && clock_seconds() - a->heard < 3 * a->order.silent_after;) {
		open = agent_wait(a, next_due(a));
		while (agent_next_message(a, &message))
			if (strcmp(message.kind, "stop") == 0 || !agent_take_group(a, &message)) {
				told = told || strcmp(message.kind, "stop") == 0;
				fleet_message_release(&message);
			}
		agent_watch_group(a);
		if (signals_stops() && !told)
			break;
		if (clock_seconds() - a->said >= alive_seconds(a))
			open = agent_say(a, &(struct fleet_message){ .kind = "alive",
								     .planned = a->finished,
								     .finished = a->finished }) &&
			       open;
	}
	agent_kill_child(a);
	fleet_message_release(&a->group);
}

/* The child has ended: what the agent does then. */
static enum status agent_end_own(struct agent *a, const struct error *why, struct error *err)
{
	double began = clock_seconds();

	agent_say_alive(a);
	if (why->status != STATUS_OK)
		agent_say(a, &(struct fleet_message){ .kind = "failed", .text = why->message });
	else
		agent_say(a, &(struct fleet_message){ .kind = "done", .state = a->report->state });
	a->finished = (int64_t)a->report->finished;
	if (a->order.groups && why->status == STATUS_OK) {
		serve_groups(a);
		return STATUS_OK;
	}
	/* Waits until the conductor has read how it ended. */
	shutdown(a->fd, SHUT_WR);
	while (clock_seconds() - began < CLOSE_SECONDS && agent_wait(a, began + CLOSE_SECONDS))
		a->in.length = 0;
	return why->status == STATUS_OK
		       ? STATUS_OK
		       : error_set(err, STATUS_IO, "node %s: %s", a->name, why->message);
}

static enum status agent_attend(struct agent *a, struct error *err)
{
	struct fleet_message message;
	struct error why = ERROR_NONE;
	int passed_on = 0;

	for (;;) {
		/* Soon, so that a node that dies has told which case was in flight. */
		bool open = agent_wait(a, a->report->turn != a->turn_said ? a->said + SAY_SECONDS
									  : next_due(a));

		while (agent_next_message(a, &message)) {
			if (strcmp(message.kind, "stop") == 0)
				kill(a->child, SIGTERM);
			fleet_message_release(&message);
		}
		for (; passed_on < signals_stops(); passed_on++)
			kill(a->child, SIGTERM);
		if (agent_child_ended(a, &why))
			return agent_end_own(a, &why, err);
		if (open &&
		    clock_seconds() - a->said >=
			    (a->report->turn != a->turn_said ? SAY_SECONDS : alive_seconds(a)))
			open = agent_say_alive(a);
		if (!open || clock_seconds() - a->heard > 3 * a->order.silent_after) {
			agent_kill_child(a);
			return error_set(err, STATUS_IO,
					 "node %s: lost the conductor; finished cases are in "
					 "%s/nodes/%s",
					 a->name, a->order.directory, a->name);
		}
	}
}

static enum status agent_take_name(struct agent *a, struct error *err)
{
	const char *given = getenv(FLEET_NODE_VARIABLE);
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	host[strcspn(host, ".")] = '\0';
	if (!given || !*given)
		given = host;
	if (!fleet_name_valid(given))
		return error_set(err, STATUS_USAGE,
				 "invalid node name '%.100s'; use at most 63 letters, digits, '.', "
				 "'_' and '-'; " FLEET_NODE_VARIABLE " gives it another one",
				 given);
	snprintf(a->name, sizeof(a->name), "%.63s", given);
	return STATUS_OK;
}

static enum status agent_converse(struct agent *a, agent_work_fn *work, const char *addresses,
				  char *token, struct error *err)
{
	char *build = xstrdup(build_version());
	struct fleet_message hello = {
		.kind = "hello", .protocol = FLEET_PROTOCOL, .build = build, .node = a->name
	};
	enum status status = agent_call(a, addresses, err);

	if (status == STATUS_OK && !agent_introduce(a, token, &hello))
		status = error_errno(err, "the conductor at %s", addresses);
	free(build);
	if (status == STATUS_OK)
		status = agent_take_order(a, err);
	if (status != STATUS_OK)
		return status;
	free((void *)a->order.node);
	a->order.node = xstrdup(a->name);
	/* Neither the workers nor what they start need it. */
	unsetenv(FLEET_TOKEN_VARIABLE);
	status = agent_start_child(a, work, err);
	return status == STATUS_OK ? agent_attend(a, err) : status;
}

enum status fleet_agent(agent_work_fn *work, agent_group_fn *group, struct error *err)
{
	const char *addresses = getenv(FLEET_ADDRESS_VARIABLE);
	const char *given = getenv(FLEET_TOKEN_VARIABLE);
	struct agent a = { .fd = -1, .wake = -1, .group_work = group };
	enum status status;
	char *token;

	if (!addresses || !given)
		return error_set(err, STATUS_USAGE,
				 "%s is not set. Run gpuproof run on several nodes, which starts "
				 "the agents",
				 addresses ? FLEET_TOKEN_VARIABLE : FLEET_ADDRESS_VARIABLE);
	if (agent_take_name(&a, err) != STATUS_OK || signals_begin(err) != STATUS_OK)
		return err->status;
	signals_attend(true);
	process_title("agent %s", a.name);
	token = xstrdup(given);
	a.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	status = a.wake < 0 ? error_errno(err, "eventfd")
			    : agent_converse(&a, work, addresses, token, err);
	free(token);
	agent_kill_child(&a);
	if (a.wake >= 0)
		close(a.wake);
	if (a.fd >= 0)
		close(a.fd);
	if (a.report)
		munmap(a.report, sizeof(*a.report));
	fleet_message_release(&a.order);
	text_release(&a.in);
	signals_end();
	return status;
}
