/* Process that does the work of an agent, and what both know of it. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "fleet/agent/agent_internal.h"
#include "measure/processes/child.h"
#include "measure/processes/process_title.h"
#include "measure/processes/signals.h"
#include "net/net.h"

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
static void work_and_exit(struct agent *a, agent_work_fn *work, const char *host)
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

enum status agent_start_child(struct agent *a, agent_work_fn *work, struct error *err)
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
	work_and_exit(a, work, host);
	return STATUS_OK;
}

void agent_kill_child(struct agent *a)
{
	if (a->child <= 0)
		return;
	kill(a->child, SIGKILL);
	while (waitpid(a->child, NULL, 0) < 0 && errno == EINTR)
		;
	a->child = 0;
}

bool agent_child_ended(struct agent *a, struct error *err)
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
			error_set(err, STATUS_CRASHED, "the node's conductor was %s",
				  child_ending(status, how, sizeof(how)));
		else if (a->report->failure.status != STATUS_INTERRUPTED)
			error_copy(err, &a->report->failure);
		return true;
	}
	if (!a->stopped || clock_seconds() - a->stopped < a->order.silent_after)
		return false;
	agent_kill_child(a);
	error_set(err, STATUS_CRASHED, "the node's conductor was stopped by signal %d for %g s",
		  a->stopped_by, a->order.silent_after);
	return true;
}
