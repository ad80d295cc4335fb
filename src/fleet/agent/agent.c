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
#include "fleet/agent/parts.h"
#include "measure/processes/signals.h"
#include "result/host/build.h"

#define CLOSE_SECONDS 10.0 /* until it has read the last message */
#define SAY_SECONDS 0.05   /* between messages about cases that change */

static bool say_alive(struct agent *a)
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

static void say_end(struct agent *a, char *reason)
{
	say_alive(a);
	text_mend(reason);
	if (*reason)
		agent_say(a, &(struct fleet_message){ .kind = "failed", .text = reason });
	else
		agent_say(a, &(struct fleet_message){ .kind = "done", .state = a->report->state });
}

/* Waits until the conductor has read how it ended. */
static enum status report_end(struct agent *a, const char *reason, struct error *err)
{
	double began = clock_seconds();

	shutdown(a->fd, SHUT_WR);
	while (clock_seconds() - began < CLOSE_SECONDS && agent_wait(a, began + CLOSE_SECONDS))
		a->in.length = 0;
	return *reason ? error_set(err, STATUS_IO, "node %s: %s", a->name, reason) : STATUS_OK;
}

static void end_group(struct agent *a, const char *reason)
{
	agent_kill_child(a);
	agent_say(a, &(struct fleet_message){
			     .kind = "ended", .group = a->group.group, .text = reason });
	fleet_message_release(&a->group);
}

/* Takes the message over if it is an order that begins a group. */
static bool take_group(struct agent *a, struct fleet_message *message)
{
	struct error err = ERROR_NONE;

	if (strcmp(message->kind, "lead") != 0 && strcmp(message->kind, "join") != 0) {
		if (strcmp(message->kind, "end") == 0 && a->group.kind &&
		    message->group == a->group.group)
			end_group(a, "");
		return false;
	}
	if (a->group.kind)
		end_group(a, "another group was begun");
	a->group = *message;
	a->listening_said = false;
	if (agent_start_child(a, NULL, &err) != STATUS_OK)
		end_group(a, err.message);
	return true;
}

static void watch_group(struct agent *a)
{
	char reason[1024];

	if (!a->group.kind)
		return;
	if (a->report->listening && !a->listening_said) {
		a->listening_said = true;
		agent_say(a, &(struct fleet_message){ .kind = "listens",
						      .group = a->group.group,
						      .address = a->report->address });
	}
	if (agent_child_ended(a, reason, sizeof(reason))) {
		text_mend(reason);
		end_group(a, reason);
	}
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
static enum status serve_groups(struct agent *a, struct error *err)
{
	struct fleet_message message;
	bool told = false;

	for (bool open = true; open && clock_seconds() - a->heard < 3 * a->order.silent_after;) {
		open = agent_wait(a, next_due(a));
		while (agent_next_message(a, &message))
			if (strcmp(message.kind, "stop") == 0 || !take_group(a, &message)) {
				told = told || strcmp(message.kind, "stop") == 0;
				fleet_message_release(&message);
			}
		watch_group(a);
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
	(void)err;
	return STATUS_OK;
}

static enum status attend(struct agent *a, struct error *err)
{
	struct fleet_message message;
	char reason[1024];
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
		if (agent_child_ended(a, reason, sizeof(reason))) {
			say_end(a, reason);
			a->finished = (int64_t)a->report->finished;
			return a->order.groups && !*reason ? serve_groups(a, err)
							   : report_end(a, reason, err);
		}
		if (open &&
		    clock_seconds() - a->said >=
			    (a->report->turn != a->turn_said ? SAY_SECONDS : alive_seconds(a)))
			open = say_alive(a);
		if (!open || clock_seconds() - a->heard > 3 * a->order.silent_after) {
			agent_kill_child(a);
			return error_set(err, STATUS_IO,
					 "node %s: the conductor is gone; what was finished is in "
					 "%s/nodes/%s",
					 a->name, a->order.directory, a->name);
		}
	}
}

static enum status take_name(struct agent *a, struct error *err)
{
	const char *given = getenv(FLEET_NODE_VARIABLE);
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	host[strcspn(host, ".")] = '\0';
	if (!given || !*given)
		given = host;
	if (!fleet_name_valid(given))
		return error_set(err, STATUS_USAGE,
				 "'%.100s' cannot be the name of a node: at most 63 letters, "
				 "digits, '.', '_' and '-'; " FLEET_NODE_VARIABLE
				 " gives it another one",
				 given);
	snprintf(a->name, sizeof(a->name), "%.63s", given);
	return STATUS_OK;
}

static enum status converse(struct agent *a, agent_work_fn *work, const char *addresses,
			    char *token, struct error *err)
{
	char *build = xstrdup(build_version());
	struct fleet_message hello = { .kind = "hello",
				       .protocol = FLEET_PROTOCOL,
				       .token = token,
				       .build = build,
				       .node = a->name };
	enum status status = agent_call(a, addresses, err);

	if (status == STATUS_OK && !agent_say(a, &hello))
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
	return status == STATUS_OK ? attend(a, err) : status;
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
				 "agents are started by gpuproof run on several nodes, which sets "
				 "%s; start that",
				 addresses ? FLEET_TOKEN_VARIABLE : FLEET_ADDRESS_VARIABLE);
	if (take_name(&a, err) != STATUS_OK || signals_begin(err) != STATUS_OK)
		return err->status;
	signals_attend(true);
	token = xstrdup(given);
	a.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	status = a.wake < 0 ? error_errno(err, "eventfd")
			    : converse(&a, work, addresses, token, err);
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
