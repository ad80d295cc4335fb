#include "run/workers/team.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "measure/processes/child.h"
#include "plan/suite.h"

/* That a rank of several nodes may be stopped by a signal. */
#define HALTED_SECONDS 5.0

bool team_serves(const struct plan_case *a, const struct plan_case *b)
{
	int of_a = worker_processes(a), of_b = worker_processes(b),
	    fewer = of_a < of_b ? of_a : of_b;

	if (fewer == 1)
		return of_a == of_b;
	return memcmp(a->devices, b->devices, (size_t)fewer * sizeof(a->devices[0])) == 0;
}

const struct plan_case *team_larger(const struct plan_case *a, const struct plan_case *b)
{
	return worker_processes(b) > worker_processes(a) ? b : a;
}

static void add_reason(struct worker_team *team, const char *reason)
{
	char words[400];
	size_t used;

	if (team->reason[0])
		return;
	snprintf(team->reason, sizeof(team->reason), "%s", reason);
	used = strlen(team->reason);
	if (child_last_words(team->log, control_log_mark(team->control), words, sizeof(words))[0])
		snprintf(team->reason + used, sizeof(team->reason) - used, "; its last words: %s",
			 words);
}

static void name_ranks(struct worker_team *team, const struct plan *plan, const struct plan_case *c)
{
	int first = team->part ? team->part->first : 0;

	for (int rank = 0; rank < team->size; rank++) {
		char *name = team->ranks[rank].name;

		if (team->size == 1 && !team->part)
			snprintf(name, sizeof(team->ranks[rank].name), "worker");
		else
			snprintf(name, sizeof(team->ranks[rank].name), "rank %d (%.40s)",
				 first + rank, plan->devices[c->devices[first + rank]].id);
	}
}

static enum status start_rank(struct worker_team *team, int rank, struct assignment *assignment,
			      struct error *err)
{
	pid_t pid = child_fork(team->log, err);

	if (pid == 0) {
		close(team->pipe);
		const struct team_part *part = team->part;

		assignment->worlds = team->worlds;
		assignment->size = part ? part->world->size : team->size;
		for (int size = 1; size <= assignment->size; size++)
			assignment->worlds[size].rank = rank + (part ? part->first : 0);
		worker_run(assignment);
		child_exit(WORKER_FINISHED);
	}
	if (pid < 0)
		return err->status;
	team->ranks[rank].pid = pid;
	team->alive++;
	return STATUS_OK;
}

/* One world per distinct rank count; all ranks use the largest to stay in step. */
static enum status create_worlds(struct worker_team *team, const struct plan *plan,
				 const size_t *cases, size_t case_count, struct error *err)
{
	enum status status;

	if (team->part) {
		team->worlds[team->part->world->size] = *team->part->world;
		return STATUS_OK;
	}
	status = world_create(&team->worlds[team->size], team->size, err);
	for (size_t i = 0; i < case_count && status == STATUS_OK; i++) {
		int size = worker_processes(&plan->cases[cases[i]]);

		if (!team->worlds[size].size)
			status = world_create(&team->worlds[size], size, err);
	}
	return status;
}

bool team_pending_failure(const struct worker_team *team, struct error *said)
{
	int most = team->part ? team->part->world->size : team->size;

	for (int size = 2; size <= most; size++)
		if (team->worlds[size].size && world_pending_failure(&team->worlds[size], said))
			return true;
	return false;
}

enum status team_start(struct worker_team *team, const struct plan *plan, struct control *control,
		       double run_began, const size_t *cases, size_t case_count, int log,
		       const struct team_part *part, struct error *err)
{
	const struct plan_case *largest = &plan->cases[cases[0]];
	struct assignment assignment = { .plan = plan,
					 .control = control,
					 .run_began = run_began,
					 .cases = cases,
					 .case_count = case_count,
					 .networks = part ? part->networks : -1 };
	enum status status;
	int ends[2];

	*team = (struct worker_team){
		.control = control, .pipe = -1, .log = log, .first_failed_rank = -1, .part = part
	};
	for (size_t i = 1; i < case_count; i++)
		largest = team_larger(largest, &plan->cases[cases[i]]);
	team->size = part ? part->count : worker_processes(largest);
	team->worlds = xcalloc((size_t)worker_processes(largest) + 1, sizeof(*team->worlds));
	team->ranks = xcalloc((size_t)team->size, sizeof(*team->ranks));
	name_ranks(team, plan, largest);
	control_mark_log(control, lseek(log, 0, SEEK_END));
	status = create_worlds(team, plan, cases, case_count, err);
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

static void rank_ended(struct worker_team *team, int rank, int wait_status)
{
	char ending[128], reason[256];

	team->ranks[rank].pid = 0;
	team->alive--;
	if (team->killed || (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == WORKER_FINISHED))
		return;
	snprintf(reason, sizeof(reason), "%s %s%s", team->ranks[rank].name,
		 child_ending(wait_status, ending, sizeof(ending)),
		 WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL
			 ? ", by hand or by the kernel for want of memory"
			 : "");
	team->first_failed_rank = rank;
	team_kill(team, reason);
}

/* Ranks of other nodes wait for one that is stopped by hand, and cannot know why. */
static void watch_halted(struct worker_team *team, int rank)
{
	struct team_rank *r = &team->ranks[rank];
	char reason[160];

	if (!r->halted || clock_seconds() - r->halted < HALTED_SECONDS || team->killed)
		return;
	snprintf(reason, sizeof(reason), "%s was stopped by a signal for %g s", r->name,
		 HALTED_SECONDS);
	team->first_failed_rank = rank;
	team_kill(team, reason);
}

int team_reap(struct worker_team *team)
{
	for (int rank = 0; rank < team->size; rank++) {
		struct team_rank *r = &team->ranks[rank];
		int wait_status;

		if (r->pid > 0 &&
		    waitpid(r->pid, &wait_status,
			    team->part ? WNOHANG | WUNTRACED | WCONTINUED : WNOHANG) == r->pid) {
			if (WIFSTOPPED(wait_status))
				r->halted = clock_seconds();
			else if (WIFCONTINUED(wait_status))
				r->halted = 0;
			else
				rank_ended(team, rank, wait_status);
		}
		watch_halted(team, rank);
	}
	return team->alive;
}

/* Fields 14 and 15 of /proc/PID/stat, in clock ticks; the name in field 2 may hold anything. */
static double process_cpu_seconds(pid_t pid)
{
	char path[64], line[1024];
	unsigned long user, system;
	const char *after;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
	f = fopen(path, "re");
	after = f && fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
	if (f)
		fclose(f);
	if (!after || sscanf(after, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
			     &system) != 2)
		return 0;
	return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

double team_cpu_seconds(const struct worker_team *team)
{
	double sum = 0;

	for (int rank = 0; rank < team->size; rank++)
		if (team->ranks[rank].pid > 0)
			sum += process_cpu_seconds(team->ranks[rank].pid);
	return sum;
}

void team_kill(struct worker_team *team, const char *reason)
{
	if (reason)
		add_reason(team, reason);
	if (!team->killed)
		team->killed_at = clock_seconds();
	team->killed = true;
	for (int rank = 0; rank < team->size; rank++)
		if (team->ranks[rank].pid > 0)
			kill(team->ranks[rank].pid, SIGKILL);
}

void team_release(struct worker_team *team)
{
	if (team->pipe >= 0)
		close(team->pipe);
	team->pipe = -1;
	for (int size = 1; size <= team->size && !team->part; size++)
		world_release(&team->worlds[size]);
	free(team->worlds);
	free(team->ranks);
	team->worlds = NULL;
	team->ranks = NULL;
	team->size = 0;
}
