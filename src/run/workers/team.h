/*
 * The processes of one worker: one, or a rank for each device of a group of cases. Seen from the
 * conductor.
 */
#ifndef GPUPROOF_RUN_WORKERS_TEAM_H
#define GPUPROOF_RUN_WORKERS_TEAM_H

#include <stdbool.h>
#include <sys/types.h>

#include "run/workers/worker.h"

enum status worker_team_control_open(struct control **out, struct error *err);
void worker_team_control_close(struct control *control); /* NULL is allowed */

struct team_rank {
	pid_t pid;     /* 0: gone */
	double halted; /* since when it is stopped by a signal; 0: it is not */
	char name[64]; /* "worker", "rank 1 (cuda:1)" */
};

/* The ranks of one node in a team of several: [first, first + count) of the world's. */
struct team_part {
	const struct world *world; /* of all ranks; the caller's */
	int first, count;
	int networks; /* see struct assignment */
};

struct worker_team {
	struct control *control;
	struct world *worlds; /* size + 1; see struct assignment */
	struct team_rank *ranks;
	const struct team_part *part; /* NULL: all ranks are here */
	int size, alive;              /* size: of the ranks here */
	int own_rank;                 /* of this process; -1: it is the conductor */
	int failed_rank;              /* of the world: it failed first; -1: unknown, or none has */
	bool missed_peer;             /* it ended only because another node's rank had */
	int pipe;                     /* read end, non-blocking */
	int log;                      /* what the ranks print */
	bool killed;
	double killed_at;
	char reason[768]; /* "", or why it did not end as it should */
};

/*
 * True if one team can carry out both: each takes one process, or the ranks of the one with fewer
 * devices drive the first devices of the other.
 */
bool worker_team_serves(const struct plan_case *a, const struct plan_case *b);
/* The one of two that takes more processes. */
const struct plan_case *worker_team_larger(const struct plan_case *a, const struct plan_case *b);

/*
 * Forks the ranks for the cases of `assignment`, which one team serves: as many as the largest of
 * them needs. With `part` only its ranks, for cases that each need all of its world. Returns in
 * each rank's process, too, with own_rank set: it does the assignment (worker_run()).
 */
enum status worker_team_start(struct worker_team *team, struct assignment *assignment, int log,
			      const struct team_part *part, struct error *err);

/* world_pending_failure() of any of its worlds. */
bool worker_team_pending_failure(const struct worker_team *team, struct error *said);

/*
 * Notices ranks that have ended; when one did not end well, kills the others. Returns how many are
 * alive.
 */
int worker_team_reap(struct worker_team *team);

/*
 * CPU time that the ranks that are alive have taken so far, all threads; 0 where the system does
 * not report it.
 */
double worker_team_cpu_seconds(const struct worker_team *team);

/*
 * Kills all ranks; `reason` (NULL: none) is kept unless there is one already, and so is the rank of
 * the world that is at fault (-1: unknown).
 */
void worker_team_kill(struct worker_team *team, const char *reason, int failed_rank);

/* Gives up on ranks that even SIGKILL does not end, and releases everything. */
void worker_team_release(struct worker_team *team);

#endif
