#include "fleet/agent.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "measure/processes/child.h"
#include "measure/processes/signals.h"
#include "result/host/build.h"

#define CONNECT_SECONDS 5.0 /* for one address */
#define CALL_SECONDS 30.0   /* for all of them, again and again */
#define ORDER_SECONDS 60.0  /* until the conductor answers the hello */
#define CLOSE_SECONDS 10.0  /* until it has read the last message */

struct agent_report {
	_Atomic size_t planned, finished;
	_Atomic unsigned turn; /* current[turn % 2] is valid */
	char current[2][512];
	/* Set before the child ends. */
	enum status status;
	char state[32];
	char failure[1024];
	_Atomic int ended;
	char address[256]; /* of a group's leader */
	_Atomic int listening;
};

struct agent {
	int fd;
	char name[64];
	struct text in;
	struct fleet_message order;
	struct agent_report *report;
	pid_t child;
	unsigned turn_said; /* of the report, in the last message */
	double heard, said; /* last message from the conductor; last one to it */
	double stopped;     /* since when the child is stopped by a signal; 0: it is not */
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
}

void agent_report_listening(struct agent_report *report, const char *address)
{
	snprintf(report->address, sizeof(report->address), "%s", address);
	report->listening = 1;
}

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

static enum status call(struct agent *a, const char *addresses, struct error *err)
{
	double began = clock_seconds();

	while ((a->fd = connect_any(addresses)) < 0 && clock_seconds() - began < CALL_SECONDS &&
	       !signals_stops())
		clock_sleep(0.5);
	if (a->fd < 0)
		return error_errno(err, "no conductor of a run answers at %s", addresses);
	return STATUS_OK;
}

static bool say(struct agent *a, const struct fleet_message *message)
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
static bool next_message(struct agent *a, struct fleet_message *message)
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

static bool wait_input(struct agent *a, double seconds)
{
	struct pollfd fds[] = { { .fd = a->fd, .events = POLLIN },
				{ .fd = signals_fd(), .events = POLLIN } };

	poll(fds, 2, (int)(1000 * seconds) + 1);
	signals_drain();
	return fds[0].revents == 0 || receive(a);
}

static enum status take_order(struct agent *a, struct error *err)
{
	double began = clock_seconds();

	while (clock_seconds() - began < ORDER_SECONDS && !signals_stops()) {
		bool open = wait_input(a, 0.25);

		while (next_message(a, &a->order)) {
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

/* In the child; `work` NULL: the group's. */
static void work_and_exit(struct agent *a, agent_work_fn *work, const char *host)
{
	struct error err = ERROR_NONE;

	close(a->fd);
	signals_end();
	signals_attend(false);
	/* Again, for this process: a full disk must be an error, and a stop heeded everywhere. */
	a->report->status = signals_begin(&err);
	if (a->report->status == STATUS_OK)
		a->report->status =
			work ? work(&a->order, a->report, a->report->state,
				    sizeof(a->report->state), &err)
			     : a->group_work(&a->order, &a->group, host, a->report, &err);
	snprintf(a->report->failure, sizeof(a->report->failure), "%s", err.message);
	a->report->ended = 1;
	child_exit(0);
}

static enum status start_child(struct agent *a, agent_work_fn *work, struct error *err)
{
	struct sockaddr_in own = { 0 };
	socklen_t length = sizeof(own);
	char host[INET_ADDRSTRLEN] = "";
	pid_t parent = getpid();

	/* The other nodes reach this one where the conductor does. */
	getsockname(a->fd, (struct sockaddr *)&own, &length);
	inet_ntop(AF_INET, &own.sin_addr, host, sizeof(host));
	if (a->report)
		munmap(a->report, sizeof(*a->report));
	a->report = mmap(NULL, sizeof(*a->report), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (a->report == MAP_FAILED) {
		a->report = NULL;
		return error_errno(err, "shared memory");
	}
	fflush(NULL);
	a->child = fork();
	if (a->child < 0)
		return error_errno(err, "fork");
	if (a->child > 0)
		return STATUS_OK;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	work_and_exit(a, work, host);
	return STATUS_OK;
}

static void kill_child(struct agent *a)
{
	if (a->child <= 0)
		return;
	kill(a->child, SIGKILL);
	while (waitpid(a->child, NULL, 0) < 0 && errno == EINTR)
		;
	a->child = 0;
}

static bool say_alive(struct agent *a)
{
	struct agent_report *r = a->report;
	char current[sizeof(r->current[0])];

	a->turn_said = r->turn;
	snprintf(current, sizeof(current), "%s", r->current[a->turn_said % 2]);
	text_mend(current);
	return say(a, &(struct fleet_message){ .kind = "alive",
					       .planned = (int64_t)r->planned,
					       .finished = (int64_t)r->finished,
					       .text = current });
}

/* How the child ended; true if it has. */
static bool child_ended(struct agent *a, char *reason, size_t size)
{
	char how[128];
	int status;
	pid_t got = waitpid(a->child, &status, WNOHANG | WUNTRACED | WCONTINUED);

	*reason = '\0';
	if (got == a->child && WIFCONTINUED(status))
		a->stopped = 0;
	if (got == a->child && WIFSTOPPED(status)) {
		a->stopped = clock_seconds();
		a->stopped_by = WSTOPSIG(status);
	}
	if (got == a->child && (WIFEXITED(status) || WIFSIGNALED(status))) {
		a->child = 0;
		if (!a->report->ended)
			snprintf(reason, size, "the node's conductor was %s",
				 child_ending(status, how, sizeof(how)));
		else if (a->report->status != STATUS_OK && a->report->status != STATUS_INTERRUPTED)
			snprintf(reason, size, "%s", a->report->failure);
		return true;
	}
	if (!a->stopped || clock_seconds() - a->stopped < a->order.silent_after)
		return false;
	kill_child(a);
	snprintf(reason, size, "the node's conductor was stopped by signal %d for %g s",
		 a->stopped_by, a->order.silent_after);
	return true;
}

static void say_end(struct agent *a, char *reason)
{
	say_alive(a);
	text_mend(reason);
	if (*reason)
		say(a, &(struct fleet_message){ .kind = "failed", .text = reason });
	else
		say(a, &(struct fleet_message){ .kind = "done", .state = a->report->state });
}

/* Waits until the conductor has read how it ended. */
static enum status report_end(struct agent *a, const char *reason, struct error *err)
{
	double began = clock_seconds();

	shutdown(a->fd, SHUT_WR);
	while (clock_seconds() - began < CLOSE_SECONDS && wait_input(a, 0.25))
		a->in.length = 0;
	return *reason ? error_set(err, STATUS_IO, "node %s: %s", a->name, reason) : STATUS_OK;
}

static void end_group(struct agent *a, const char *reason)
{
	kill_child(a);
	say(a, &(struct fleet_message){ .kind = "ended", .group = a->group.group, .text = reason });
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
	a->stopped = 0;
	if (start_child(a, NULL, &err) != STATUS_OK)
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
		say(a, &(struct fleet_message){ .kind = "listens",
						.group = a->group.group,
						.address = a->report->address });
	}
	if (child_ended(a, reason, sizeof(reason))) {
		text_mend(reason);
		end_group(a, reason);
	}
}

/* Groups, as the conductor orders them, until it closes the connection. */
static enum status serve_groups(struct agent *a, struct error *err)
{
	double interval = a->order.silent_after / 4 < 1 ? a->order.silent_after / 4 : 1;
	struct fleet_message message;
	bool told = false;

	for (bool open = true; open && clock_seconds() - a->heard < 3 * a->order.silent_after;) {
		open = wait_input(a, a->group.kind ? 0.02 : 0.05);
		while (next_message(a, &message))
			if (strcmp(message.kind, "stop") == 0 || !take_group(a, &message)) {
				told = told || strcmp(message.kind, "stop") == 0;
				fleet_message_release(&message);
			}
		watch_group(a);
		if (signals_stops() && !told)
			break;
		if (clock_seconds() - a->said >= interval)
			open = say(a, &(struct fleet_message){ .kind = "alive",
							       .planned = a->finished,
							       .finished = a->finished }) &&
			       open;
	}
	kill_child(a);
	fleet_message_release(&a->group);
	(void)err;
	return STATUS_OK;
}

static enum status attend(struct agent *a, struct error *err)
{
	double interval = a->order.silent_after / 4 < 1 ? a->order.silent_after / 4 : 1;
	struct fleet_message message;
	char reason[1024];
	int passed_on = 0;

	for (;;) {
		/* Short, so that a node that dies has told which case was in flight. */
		bool open = wait_input(a, 0.05);

		while (next_message(a, &message)) {
			if (strcmp(message.kind, "stop") == 0)
				kill(a->child, SIGTERM);
			fleet_message_release(&message);
		}
		for (; passed_on < signals_stops(); passed_on++)
			kill(a->child, SIGTERM);
		if (child_ended(a, reason, sizeof(reason))) {
			say_end(a, reason);
			a->finished = (int64_t)a->report->finished;
			return a->order.groups && !*reason ? serve_groups(a, err)
							   : report_end(a, reason, err);
		}
		if (open &&
		    (clock_seconds() - a->said >= interval || a->report->turn != a->turn_said))
			open = say_alive(a);
		if (!open || clock_seconds() - a->heard > 3 * a->order.silent_after) {
			kill_child(a);
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
	enum status status = call(a, addresses, err);

	if (status == STATUS_OK && !say(a, &hello))
		status = error_errno(err, "the conductor at %s", addresses);
	free(build);
	if (status == STATUS_OK)
		status = take_order(a, err);
	if (status != STATUS_OK)
		return status;
	free((void *)a->order.node);
	a->order.node = xstrdup(a->name);
	/* Neither the workers nor what they start need it. */
	unsetenv(FLEET_TOKEN_VARIABLE);
	status = start_child(a, work, err);
	return status == STATUS_OK ? attend(a, err) : status;
}

enum status fleet_agent(agent_work_fn *work, agent_group_fn *group, struct error *err)
{
	const char *addresses = getenv(FLEET_ADDRESS_VARIABLE);
	const char *given = getenv(FLEET_TOKEN_VARIABLE);
	struct agent a = { .fd = -1, .group_work = group };
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
	status = converse(&a, work, addresses, token, err);
	free(token);
	kill_child(&a);
	if (a.fd >= 0)
		close(a.fd);
	if (a.report)
		munmap(a.report, sizeof(*a.report));
	fleet_message_release(&a.order);
	text_release(&a.in);
	signals_end();
	return status;
}
