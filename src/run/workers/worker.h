/*
 * The worker's side: the process that drives devices. It runs the cases of an assignment and sends
 * each result through the pipe (message.h). Code that may crash runs only here.
 */
#ifndef GPUPROOF_RUN_WORKERS_WORKER_H
#define GPUPROOF_RUN_WORKERS_WORKER_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "measure/activity.h"
#include "measure/processes/world.h"
#include "plan/plan.h"

/* Exit code of a rank that completed its assignment. */
#define WORKER_FINISHED 90

/*
 * State shared by the conductor and the active worker, in shared memory that the conductor creates
 * before the first fork(). Results go through the pipe (message.h); a rank reports its end by its
 * exit code.
 */
struct control {
	/* set by the conductor: finish the sample, then start no further case */
	volatile sig_atomic_t stop;
	/* set by the conductor after a concurrent group died: run cases alone */
	_Atomic bool groups_banned;
	/* directory of the run for files of cases; "": none; a longer path is cut */
	char folder[PATH_MAX];
	/*
	 * log offset where the output of the case in flight starts. Set by the conductor when a
	 * team starts, by rank 0 when a case starts.
	 */
	off_t log_mark;
	/* set by rank 0: number of cases in the concurrent group; 1: a single case */
	_Atomic size_t in_flight;
	struct activity activity; /* phase of the case in flight */
};

struct assignment {
	const struct plan *plan;
	struct control *control;
	double run_began;    /* host clock */
	const size_t *cases; /* indices into the plan, in run order */
	size_t case_count;
	/*
	 * By size n: the first n ranks, with `rank` set. All ranks step from case to case in the
	 * largest world; a case with fewer devices runs on the first ranks while the others wait.
	 */
	struct world *worlds;
	int size; /* number of ranks */
	int pipe; /* rank 0 sends messages here */
	/* file to which each rank appends its network choice as a line; -1: none */
	int networks;
};

/*
 * Runs the assignment; the process then exits with WORKER_FINISHED. Returns early after an error
 * that may have left the device unusable (a sticky CUDA error), so that a fresh process continues.
 */
void worker_run(const struct assignment *assignment);

/* Number of processes for a case: one, or a rank per device. */
int worker_processes(const struct plan_case *c);

#endif
