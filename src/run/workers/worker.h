/*
 * A worker from the inside: the process that drives devices. It carries out a run of cases and
 * sends each one up the pipe (message.h); everything that can crash happens here and nowhere else.
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

/* Exit code of a rank that did all it had to. */
#define WORKER_FINISHED 90

/*
 * State that the conductor and the worker in flight exchange at any time, in shared memory that the
 * conductor makes before the first fork(). Results go through the pipe (message.h), and a rank's
 * last word is its exit code.
 */
struct control {
	/* by the conductor: finish the sample, then no further cases */
	volatile sig_atomic_t stop;
	/* by the conductor: no concurrent groups, because one of them died */
	_Atomic bool groups_banned;
	/* of the run, for files of cases; "": none, a longer one is cut */
	char folder[PATH_MAX];
	/*
	 * offset in the log at which the output of the case in flight begins: by the conductor when
	 * a team starts, by rank 0 when a case does
	 */
	off_t log_mark;
	_Atomic size_t in_flight; /* by rank 0: cases of a concurrent group, 1: one case */
	struct activity activity; /* of the case in flight */
};

struct assignment {
	const struct plan *plan;
	struct control *control;
	double run_began;    /* host clock */
	const size_t *cases; /* indices into the plan, in order */
	size_t case_count;
	/*
	 * By size n: the first n ranks, with `rank` set. All ranks step from case to case in the
	 * largest; a case with fewer devices runs on the first ranks while the others wait.
	 */
	struct world *worlds;
	int size; /* ranks there are */
	int pipe; /* where rank 0 sends messages */
	/* file to which the ranks append their choice of network, a line each; -1: none */
	int networks;
};

/*
 * Carries out the assignment; the process then exits with WORKER_FINISHED. Ends early, for a fresh
 * process to continue, after an error that may have left the device
 * unusable (a sticky CUDA error).
 */
void worker_run(const struct assignment *assignment);

/* Processes that carry out a case: one, or a rank for each device. */
int worker_processes(const struct plan_case *c);

#endif
