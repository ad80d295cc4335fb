#include "fleet/agent/agent.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "measure/processes/child.h"
#include "measure/processes/process_title.h"
#include "measure/processes/signals.h"
#include "net/net.h"
#include "result/host/build.h"

#define PATIENCE_SECONDS 5.0 /* for one address, and for one message */
#define CALL_SECONDS 30.0    /* for repeated attempts on all addresses */
#define ORDER_SECONDS 60.0   /* until the conductor answers the hello */
#define CLOSE_SECONDS 10.0   /* until it has read the last message */
#define SAY_SECONDS 0.05     /* between messages about cases that change */

/* In memory that the agent shares with the child. */
struct agent_report {
	_Atomic size_t planned, finished;
	_Atomic unsigned turn; /* current[turn % 2] is valid */
	char current[2][512];
	/* Set before the child ends. */
	char state[32];
	struct error failure;
	_Atomic int ended;
	char address[256]; /* of a group's leader */
	_Atomic int listening;
	int wake; /* eventfd that wakes the agent after a change of the report */
};

struct agent {
	int fd, wake; /* the connection; report->wake */
	char name[64];
	struct text in;
	struct fleet_message order;
	struct agent_report *report;
	pid_t child;
	unsigned turn_said; /* of the report, in the last message */
	double heard, said; /* last message from the conductor; last one to it */
	double stopped;     /* since when the child is stopped by a signal; 0: it was not */
	int stopped_by;
	agent_group_fn *group_work;
	struct fleet_message group; /* the order in progress; kind NULL: none */
	bool listening_said;
	int64_t finished; /* cases of the node itself */
};

void agent_report_plan(struct agent_report *report, size_t planned, size_t finished)
{
	report->planned = planned;
	report->finished = finished;
}

void agent_report_case(void *context, const char *id, bool settled)
{
	struct agent_report *report = context;
	unsigned next = report->turn + 1;

	if (settled)
		report->finished++;
	snprintf(report->current[next % 2], sizeof(report->current[0]), "%s", settled ? "" : id);
	report->turn = next;
	eventfd_write(report->wake, 1);
}

void agent_report_listening(struct agent_report *report, const char *address)
{
	snprintf(report->address, sizeof(report->address), "%s", address);
	report->listening = 1;
	eventfd_write(report->wake, 1);
}

/* In the child; `work` NULL: the group's. */
static void agent_work_and_exit(struct agent *a, agent_work_fn *work, const char *host)
{
	struct error *err = &a->report->failure;

	close(a->fd);
	signals_end();
	signals_attend(false);
	/* Again, for this process: a full disk must be an error, and a stop heeded everywhere. */
	if (signals_begin(err) == STATUS_OK && work)
		work(&a->order, a->report, a->report->state, sizeof(a->report->state), err);
	else if (err->status == STATUS_OK)
		a->group_work(&a->order, &a->group, host, a->report, err);
	a->report->ended = 1;
	child_exit(0);
}

/* Forks the process that does the work; `work` NULL: the group's. */
static enum status agent_start_child(struct agent *a, agent_work_fn *work, struct error *err)
{
	struct net_address own;
	char host[NET_HOST_SIZE];
	pid_t parent = getpid();

	/* The other nodes reach this one where the conductor does. */
	net_address_own(&own, a->fd);
	net_address_host(&own, host);
	if (a->report)
		munmap(a->report, sizeof(*a->report));
	a->report = mmap(NULL, sizeof(*a->report), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (a->report == MAP_FAILED) {
		a->report = NULL;
		return error_errno(err, "shared memory");
	}
	a->report->wake = a->wake;
	a->stopped = 0;
	fflush(NULL);
	a->child = fork();
	if (a->child < 0)
		return error_errno(err, "fork");
	if (a->child > 0)
		return STATUS_OK;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	process_title("conductor of node %s", a->name);
	agent_work_and_exit(a, work, host);
	return STATUS_OK;
}

static void agent_kill_child(struct agent *a)
{
	if (a->child <= 0)
		return;
	kill(a->child, SIGKILL);
	while (waitpid(a->child, NULL, 0) < 0 && errno == EINTR)
		;
	a->child = 0;
}

/* True if it has ended; `err` says why where it should not have. */
static bool agent_child_ended(struct agent *a, struct error *err)
{
	char how[128];
	int status;
	pid_t got = waitpid(a->child, &status, WNOHANG | WUNTRACED | WCONTINUED);

	error_clear(err);
	if (got == a->child && WIFCONTINUED(status))
		a->stopped = 0;
	if (got == a->child && WIFSTOPPED(status)) {
		a->stopped = clock_seconds();
		a->stopped_by = WSTOPSIG(status);
	}
	if (got == a->child && (WIFEXITED(status) || WIFSIGNALED(status))) {
		a->child = 0;
		if (!a->report->ended)
			error_set(err, STATUS_CRASHED,
				  "the process that runs the cases of the node was %s",
				  child_ending(status, how, sizeof(how)));
		else if (a->report->failure.status != STATUS_INTERRUPTED)
			error_copy(err, &a->report->failure);
		return true;
	}
	if (!a->stopped || clock_seconds() - a->stopped < a->order.silent_after)
		return false;
	agent_kill_child(a);
	error_set(err, STATUS_CRASHED,
		  "the process that runs the cases of the node was stopped by signal %d for %g s",
		  a->stopped_by, a->order.silent_after);
	return true;
}

/* Each address of the list once. -1: err says why. */
static int agent_connect_any(const char *addresses, struct error *err)
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

/* False: the connection has ended. Releases the bytes. */
static bool agent_send(struct agent *a, struct text *bytes)
{
	bool whole = net_send(a->fd, bytes->data, bytes->length, PATIENCE_SECONDS);

	a->said = clock_seconds();
	text_release(bytes);
	return whole;
}

static bool agent_say(struct agent *a, const struct fleet_message *message)
{
	struct text line = TEXT_EMPTY;

	wire_message_add(&line, message);
	return agent_send(a, &line);
}

/*
 * Sleeps until the clock says `until` (s), a message or a signal comes, or the report changes, and
 * reads what is there. False: the connection has ended.
 */
static bool agent_wait(struct agent *a, double until)
{
	struct pollfd fds[] = { { .fd = a->fd, .events = POLLIN },
				{ .fd = signals_fd(), .events = POLLIN },
				{ .fd = a->wake, .events = POLLIN } };
	double left = until - clock_seconds();
	eventfd_t changes;
	char block[4096];
	ssize_t n;

	poll(fds, ARRAY_SIZE(fds), left > 0 ? (int)(1000 * left) + 1 : 0);
	signals_drain();
	if (fds[2].revents)
		eventfd_read(a->wake, &changes);
	if (!fds[0].revents)
		return true;
	n = recv(a->fd, block, sizeof(block), MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n == 0 || a->in.length + (size_t)n > FLEET_MESSAGE_MOST)
		return false;
	text_add_bytes(&a->in, block, (size_t)n);
	a->heard = clock_seconds();
	return true;
}

/* Waits for the order to start; a refusal is STATUS_IO. */
static enum status agent_take_order(struct agent *a, struct error *err)
{
	double began = clock_seconds();

	while (clock_seconds() - began < ORDER_SECONDS && !signals_stops()) {
		bool open = agent_wait(a, began + ORDER_SECONDS);

		while (wire_message_next(&a->in, &a->order)) {
			if (strcmp(a->order.kind, "start") == 0)
				return STATUS_OK;
			if (strcmp(a->order.kind, "refuse") == 0)
				return error_set(err, STATUS_IO,
						 "the conductor rejected the agent of node %s: %s",
						 a->name, a->order.text);
			wire_message_release(&a->order);
		}
		if (!open)
			return error_set(err, STATUS_IO,
					 "the conductor closed the connection to the agent of node "
					 "%s",
					 a->name);
	}
	return error_set(err, STATUS_TIMEOUT, "the conductor does not answer the agent of node %s",
			 a->name);
}

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
	wire_message_release(&a->group);
}

/* Takes the message over if it is an order that begins a group. */
static bool agent_take_group(struct agent *a, struct fleet_message *message)
{
	static const struct error none = ERROR_NONE, replaced = {
		.status = STATUS_IO, .message = "the conductor started another group of nodes"
	};
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
static double agent_alive_seconds(const struct agent *a)
{
	return a->order.silent_after / 4 < 1 ? a->order.silent_after / 4 : 1;
}

/* The next moment at which there is something to do, if nothing wakes it before. */
static double agent_next_due(const struct agent *a)
{
	double due = a->said + agent_alive_seconds(a), gone = a->heard + 3 * a->order.silent_after;

	due = gone < due ? gone : due;
	if (a->child > 0 && a->stopped && a->stopped + a->order.silent_after < due)
		due = a->stopped + a->order.silent_after;
	return due;
}

/* Groups, as the conductor orders them, until it closes the connection. */
static void agent_serve_groups(struct agent *a)
{
	struct fleet_message message;
	bool told = false;

	for (bool open = true; open && clock_seconds() - a->heard < 3 * a->order.silent_after;) {
		open = agent_wait(a, agent_next_due(a));
		while (wire_message_next(&a->in, &message))
			if (strcmp(message.kind, "stop") == 0 || !agent_take_group(a, &message)) {
				told = told || strcmp(message.kind, "stop") == 0;
				wire_message_release(&message);
			}
		agent_watch_group(a);
		if (signals_stops() && !told)
			break;
		if (clock_seconds() - a->said >= agent_alive_seconds(a))
			open = agent_say(a, &(struct fleet_message){ .kind = "alive",
								     .planned = a->finished,
								     .finished = a->finished }) &&
			       open;
	}
	agent_kill_child(a);
	wire_message_release(&a->group);
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
		agent_serve_groups(a);
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
									  : agent_next_due(a));

		while (wire_message_next(&a->in, &message)) {
			if (strcmp(message.kind, "stop") == 0)
				kill(a->child, SIGTERM);
			wire_message_release(&message);
		}
		for (; passed_on < signals_stops(); passed_on++)
			kill(a->child, SIGTERM);
		if (agent_child_ended(a, &why))
			return agent_end_own(a, &why, err);
		if (open && clock_seconds() - a->said >= (a->report->turn != a->turn_said
								  ? SAY_SECONDS
								  : agent_alive_seconds(a)))
			open = agent_say_alive(a);
		if (!open || clock_seconds() - a->heard > 3 * a->order.silent_after) {
			agent_kill_child(a);
			return error_set(err, STATUS_IO,
					 "node %s: lost the connection to the conductor; finished "
					 "cases are in %s/nodes/%s",
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
	if (!wire_message_name_valid(given))
		return error_set(err, STATUS_USAGE,
				 "invalid node name '%.100s'; use at most 63 letters, digits, '.', "
				 "'_' and '-'; " FLEET_NODE_VARIABLE " sets another name",
				 given);
	snprintf(a->name, sizeof(a->name), "%.63s", given);
	return STATUS_OK;
}

static enum status agent_converse(struct agent *a, agent_work_fn *work, const char *addresses,
				  char *token, struct error *err)
{
	const struct fleet_call call = wire_message_call_make(token, a->name);
	struct text hello = TEXT_EMPTY;
	double began = clock_seconds();

	while ((a->fd = agent_connect_any(addresses, err)) < 0 &&
	       clock_seconds() - began < CALL_SECONDS && !signals_stops())
		clock_sleep(0.5);
	if (a->fd < 0)
		return error_prefix(err, "no run answers at %s", addresses);
	error_clear(err);
	/* The first message, after the bytes that show the token. */
	text_add_bytes(&hello, (const char *)&call, sizeof(call));
	wire_message_add(&hello, &(struct fleet_message){ .kind = "hello",
							  .protocol = FLEET_PROTOCOL,
							  .build = build_version(),
							  .node = a->name });
	if (!agent_send(a, &hello))
		return error_errno(err, "connection to the run at %s", addresses);
	if (agent_take_order(a, err) != STATUS_OK)
		return err->status;
	free((void *)a->order.node);
	a->order.node = xstrdup(a->name);
	/* Neither the workers nor what they start need it. */
	unsetenv(FLEET_TOKEN_VARIABLE);
	if (agent_start_child(a, work, err) != STATUS_OK)
		return err->status;
	return agent_attend(a, err);
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
				 "%s is not set. Do not start agents by hand: gpuproof run starts "
				 "them on each node",
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
	wire_message_release(&a.order);
	text_release(&a.in);
	signals_end();
	return status;
}
