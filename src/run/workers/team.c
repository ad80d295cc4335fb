#include "run/workers/team.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "device/limits.h"
#include "measure/processes/child.h"
#include "measure/processes/process_title.h"
#include "plan/suite.h"

/* That a rank of several nodes may be stopped by a signal. */
#define HALTED_SECONDS 5.0

enum status worker_team_control_open(struct control **out, struct error *err)
{
	void *memory = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	*out = memory == MAP_FAILED ? NULL : memory;
	return *out ? STATUS_OK : error_errno(err, "shared memory");
}

void worker_team_control_close(struct control *control)
{
	if (control)
		munmap(control, sizeof(*control));
}

bool worker_team_serves(const struct plan_case *a, const struct plan_case *b)
{
	int of_a = worker_processes(a), of_b = worker_processes(b),
	    fewer = of_a < of_b ? of_a : of_b;

	if (fewer == 1)
		return of_a == of_b;
	return memcmp(a->devices, b->devices, (size_t)fewer * sizeof(a->devices[0])) == 0;
}

const struct plan_case *worker_team_larger(const struct plan_case *a, const struct plan_case *b)
{
	return worker_processes(b) > worker_processes(a) ? b : a;
}

/* The rank here as one of the world. */
static int worker_team_world_rank(const struct worker_team *team, int rank)
{
	return rank + (team->part ? team->part->first : 0);
}

static void worker_team_name_ranks(struct worker_team *team, const struct plan *plan,
				   const struct plan_case *c)
{
	for (int rank = 0; rank < team->size; rank++) {
		char *name = team->ranks[rank].name;

		if (team->size == 1 && !team->part)
			snprintf(name, sizeof(team->ranks[rank].name), "worker");
		else
			snprintf(name, sizeof(team->ranks[rank].name), "rank %d (%.40s)",
				 worker_team_world_rank(team, rank),
				 plan->devices[c->devices[worker_team_world_rank(team, rank)]].id);
	}
}

/* In the forked process. */
static void worker_team_become_rank(struct worker_team *team, int rank,
				    struct assignment *assignment)
{
	const struct team_part *part = team->part;

	process_title("%s", team->ranks[rank].name);
	close(team->pipe);
	team->own_rank = rank;
	assignment->worlds = team->worlds;
	assignment->size = part ? part->world->size : team->size;
	for (int size = 1; size <= assignment->size; size++)
		assignment->worlds[size].rank = worker_team_world_rank(team, rank);
}

/* One world per distinct rank count; all ranks use the largest to stay in step. */
static enum status worker_team_create_worlds(struct worker_team *team, const struct plan *plan,
					     const size_t *cases, size_t case_count,
					     struct error *err)
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

bool worker_team_pending_failure(const struct worker_team *team, struct error *said)
{
	int most = team->part ? team->part->world->size : team->size;

	for (int size = 2; size <= most; size++)
		if (team->worlds[size].size && world_pending_failure(&team->worlds[size], said))
			return true;
	return false;
}

enum status worker_team_start(struct worker_team *team, struct assignment *assignment, int log,
			      const struct team_part *part, struct error *err)
{
	const struct plan *plan = assignment->plan;
	const struct plan_case *largest = &plan->cases[assignment->cases[0]];
	int ends[2];

	*team = (struct worker_team){ .control = assignment->control,
				      .pipe = -1,
				      .log = log,
				      .failed_rank = -1,
				      .own_rank = -1,
				      .part = part };
	for (size_t i = 1; i < assignment->case_count; i++)
		largest = worker_team_larger(largest, &plan->cases[assignment->cases[i]]);
	team->size = part ? part->count : worker_processes(largest);
	team->worlds = xcalloc((size_t)worker_processes(largest) + 1, sizeof(*team->worlds));
	team->ranks = xcalloc((size_t)team->size, sizeof(*team->ranks));
	worker_team_name_ranks(team, plan, largest);
	team->control->log_mark = lseek(log, 0, SEEK_END);
	if (worker_team_create_worlds(team, plan, assignment->cases, assignment->case_count, err) !=
	    STATUS_OK)
		return err->status;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return error_errno(err, "pipe");
	team->pipe = ends[0];
	fcntl(team->pipe, F_SETFL, O_NONBLOCK);
	assignment->pipe = ends[1];
	for (int rank = 0; rank < team->size && err->status == STATUS_OK; rank++) {
		pid_t pid = child_fork(log, err);

		if (pid == 0) {
			worker_team_become_rank(team, rank, assignment);
			return STATUS_OK;
		}
		if (pid > 0) {
			team->ranks[rank].pid = pid;
			team->alive++;
		}
	}
	close(ends[1]);
	return err->status;
}

static void worker_team_rank_ended(struct worker_team *team, int rank, int wait_status)
{
	char ending[128], reason[256];

	team->ranks[rank].pid = 0;
	team->alive--;
	if (team->killed || (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == WORKER_FINISHED))
		return;
	snprintf(reason, sizeof(reason), "%s %s%s", team->ranks[rank].name,
		 child_ending(wait_status, ending, sizeof(ending)),
		 WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL
			 ? ", which a user or the out-of-memory killer sent"
			 : "");
	team->missed_peer = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == WORLD_ENDED_EXIT;
	worker_team_kill(team, reason, worker_team_world_rank(team, rank));
}

int worker_team_reap(struct worker_team *team)
{
	char reason[160];

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
				worker_team_rank_ended(team, rank, wait_status);
		}
		/* Ranks of other nodes wait for one stopped by hand, and cannot know why. */
		if (r->halted && clock_seconds() - r->halted >= HALTED_SECONDS && !team->killed) {
			snprintf(reason, sizeof(reason), "%s was stopped by a signal for %g s",
				 r->name, HALTED_SECONDS);
			worker_team_kill(team, reason, worker_team_world_rank(team, rank));
		}
	}
	return team->alive;
}

/* Fields 14 and 15 of /proc/PID/stat, in clock ticks; the name in field 2 may hold anything. */
static double worker_team_process_cpu_seconds(pid_t pid)
{
	char line[1024];
	unsigned long user, system;
	const char *after = NULL;

	if (device_limits_read_line(line, sizeof(line), "/proc/%ld/stat", (long)pid))
		after = strrchr(line, ')');
	if (!after || sscanf(after, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
			     &system) != 2)
		return 0;
	return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

double worker_team_cpu_seconds(const struct worker_team *team)
{
	double sum = 0;

	for (int rank = 0; rank < team->size; rank++)
		if (team->ranks[rank].pid > 0)
			sum += worker_team_process_cpu_seconds(team->ranks[rank].pid);
	return sum;
}

void worker_team_kill(struct worker_team *team, const char *reason, int failed_rank)
{
	char words[400];

	if (reason && !team->reason[0]) {
		child_last_words(team->log, team->control->log_mark, words, sizeof(words));
		snprintf(team->reason, sizeof(team->reason), "%s%s%s", reason,
			 words[0] ? "; last output: " : "", words);
	}
	if (team->failed_rank < 0)
		team->failed_rank = failed_rank;
	if (!team->killed)
		team->killed_at = clock_seconds();
	team->killed = true;
	for (int rank = 0; rank < team->size; rank++)
		if (team->ranks[rank].pid > 0)
			kill(team->ranks[rank].pid, SIGKILL);
}

void worker_team_release(struct worker_team *team)
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
