#include "measure/team.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "measure/child.h"
#include "suites/suite.h"

static int processes_of(const struct plan_case *c)
{
	bool ranks = c->suite->processes == SUITE_PROCESS_PER_DEVICE && c->device_count > 1;

	return ranks ? (int)c->device_count : 1;
}

bool team_serves(const struct plan_case *a, const struct plan_case *b)
{
	int processes = processes_of(a);

	return processes == processes_of(b) &&
	       (processes == 1 ||
		memcmp(a->devices, b->devices, a->device_count * sizeof(a->devices[0])) == 0);
}

static void add_reason(struct team *team, const char *reason)
{
	char words[400];
	size_t used;

	if (team->reason[0])
		return;
	snprintf(team->reason, sizeof(team->reason), "%s", reason);
	used = strlen(team->reason);
	if (child_last_words(team->log, team->control->log_mark, words, sizeof(words))[0])
		snprintf(team->reason + used, sizeof(team->reason) - used, "; its last words: %s",
			 words);
}

static void name_ranks(struct team *team, const struct plan *plan, const struct plan_case *c)
{
	for (int rank = 0; rank < team->size; rank++) {
		char *name = team->names[rank];

		if (team->size == 1)
			snprintf(name, sizeof(team->names[0]), "worker");
		else
			snprintf(name, sizeof(team->names[0]), "rank %d (%s)", rank,
				 plan->devices[c->devices[rank]].id);
	}
}

static enum status start_rank(struct team *team, int rank, struct assignment *assignment,
			      struct error *err)
{
	pid_t pid = child_fork(team->log, err);

	if (pid == 0) {
		close(team->pipe);
		assignment->world = team->world;
		assignment->world.rank = rank;
		worker_run(assignment);
		child_exit(0);
	}
	if (pid < 0)
		return err->status;
	team->pids[rank] = pid;
	team->alive++;
	return STATUS_OK;
}

enum status team_start(struct team *team, const struct plan *plan, struct control *control,
		       const size_t *cases, size_t case_count, int log, struct error *err)
{
	const struct plan_case *first = &plan->cases[cases[0]];
	struct assignment assignment = {
		.plan = plan, .control = control, .cases = cases, .case_count = case_count
	};
	enum status status;
	int ends[2];

	*team = (struct team){ .control = control, .pipe = -1, .log = log };
	team->size = processes_of(first);
	for (int rank = 0; rank < team->size; rank++)
		atomic_store(&control->finished[rank], 0);
	name_ranks(team, plan, first);
	control->log_mark = lseek(log, 0, SEEK_END);
	status = world_create(&team->world, team->size, err);
	if (status != STATUS_OK)
		return status;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return error_errno(err, "pipe");
	team->pipe = ends[0];
	fcntl(team->pipe, F_SETFL, O_NONBLOCK);
	assignment.pipe = ends[1];
	for (int rank = 0; rank < team->size && status == STATUS_OK; rank++)
		status = start_rank(team, rank, &assignment, err);
	close(ends[1]);
	return status;
}

static void rank_ended(struct team *team, int rank, int wait_status)
{
	char ending[128], reason[256];

	team->pids[rank] = 0;
	team->alive--;
	if (team->killed || atomic_load(&team->control->finished[rank]))
		return;
	snprintf(reason, sizeof(reason), "%s %s%s", team->names[rank],
		 child_ending(wait_status, ending, sizeof(ending)),
		 WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL
			 ? ", by hand or by the kernel for want of memory"
			 : "");
	team_kill(team, reason);
}

int team_reap(struct team *team)
{
	for (int rank = 0; rank < team->size; rank++) {
		int wait_status;

		if (team->pids[rank] > 0 &&
		    waitpid(team->pids[rank], &wait_status, WNOHANG) == team->pids[rank])
			rank_ended(team, rank, wait_status);
	}
	return team->alive;
}

void team_kill(struct team *team, const char *reason)
{
	if (reason)
		add_reason(team, reason);
	if (!team->killed)
		team->killed_at = clock_seconds();
	team->killed = true;
	for (int rank = 0; rank < team->size; rank++)
		if (team->pids[rank] > 0)
			kill(team->pids[rank], SIGKILL);
}

void team_release(struct team *team)
{
	if (team->pipe >= 0)
		close(team->pipe);
	team->pipe = -1;
	world_release(&team->world);
}
