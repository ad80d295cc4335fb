/*
 * Processes of one worker as the conductor sees them: one, or a rank for each device of a group of
 * cases.
 */
#ifndef GPUPROOF_RUN_WORKERS_TEAM_H
#define GPUPROOF_RUN_WORKERS_TEAM_H

#include <stdbool.h>
#include <sys/types.h>

#include "run/workers/worker.h"

enum status control_open(struct control **out, struct error *err);
void control_close(struct control *control); /* accepts NULL */

struct team_rank {
	pid_t pid;     /* 0: gone */
	double halted; /* when a signal stopped it; 0: running */
	char name[64]; /* "worker", "rank 1 (cuda:1)" */
};

/* Ranks of one node in a multi-node team: [first, first + count) of the world. */
struct team_part {
	const struct world *world; /* world of all ranks; owned by the caller */
	int first, count;
	int networks; /* see struct assignment */
};

struct worker_team {
	struct control *control;
	struct world *worlds; /* size + 1; see struct assignment */
	struct team_rank *ranks;
	const struct team_part *part; /* NULL: all ranks are local */
	int size, alive;              /* local ranks, and those alive */
	int own_rank;                 /* rank of this process; -1: the conductor */
	int failed_rank;              /* rank in the world that failed first; -1: unknown or none */
	bool missed_peer;             /* it ended only because a rank of another node did */
	int pipe;                     /* read end, non-blocking */
	int log;                      /* output of the ranks */
	bool killed;
	double killed_at;
	char reason[768]; /* "", or why it did not end normally */
};

/*
 * True if one team can run both cases: each needs one process, or the case with fewer devices runs
 * on the first ranks of the other.
 */
bool team_serves(const struct plan_case *a, const struct plan_case *b);
/* The case that needs more processes. */
const struct plan_case *team_larger(const struct plan_case *a, const struct plan_case *b);

/*
 * Forks the ranks for the cases of `assignment`, which share a team: as many as the largest case
 * needs. With `part` only its ranks, for cases that each need the whole world. Also returns in each
 * rank's process, with own_rank set; the rank then calls worker_run().
 */
enum status team_start(struct worker_team *team, struct assignment *assignment, int log,
		       const struct team_part *part, struct error *err);

/* world_pending_failure() over all of its worlds. */
bool team_pending_failure(const struct worker_team *team, struct error *said);

/*
 * Collects ranks that have exited; if one failed, kills the others. Returns the number of ranks
 * alive.
 */
int team_reap(struct worker_team *team);

/* CPU time of the ranks alive so far, over all threads; 0 if the system does not report it. */
double team_cpu_seconds(const struct worker_team *team);

/*
 * Kills all ranks. Keeps the first `reason` (NULL: none) and the first failed rank of the world
 * (-1: unknown).
 */
void team_kill(struct worker_team *team, const char *reason, int failed_rank);

/* Abandons ranks that even SIGKILL does not end, and releases everything. */
void team_release(struct worker_team *team);

#endif
