/*
 * A worker from the inside: the process that drives devices. It carries out a run of cases and sends each one up the
 * pipe (message.h); everything that can crash happens here and nowhere else.
 */
#ifndef GPUPROOF_RUN_WORKERS_WORKER_H
#define GPUPROOF_RUN_WORKERS_WORKER_H

#include <signal.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "measure/activity.h"
#include "measure/processes/world.h"
#include "plan/plan.h"

/* Shared memory of the conductor and its workers. */
struct control {
	volatile sig_atomic_t
		stop;   /* set by the conductor: finish the sample, then no further cases */
	off_t log_mark; /* where in the log the case in flight began: its last words come after it */
	double began;   /* of the run, on the host's monotonic clock */
	struct activity activity; /* of the case in flight */
	_Atomic int group_size; /* cases of the concurrent group in flight; 1: none */
	_Atomic int alone; /* set by the conductor: no concurrent groups any more, one of them died */
	_Atomic int finished
		[PLAN_MAX_CASE_DEVICES]; /* by rank: it did all it had to and is about to exit */
};

struct assignment {
	const struct plan *plan;
	struct control *control;
	const size_t *cases; /* indices into the plan, in order */
	size_t case_count;
	/*
	 * By size n: the first n ranks, with `rank` set. All ranks step from case to case in the
	 * largest; a case with fewer devices runs on the first ranks while the others wait.
	 */
	struct world worlds[PLAN_MAX_CASE_DEVICES + 1];
	int size; /* ranks there are */
	int pipe;      /* where rank 0 sends messages */
};

/*
 * Carries out the assignment and returns. Ends early, for a fresh process to continue, after an error that may have left the device
 * unusable (a sticky CUDA error).
 */
void worker_run(const struct assignment *assignment);

/* Processes that carry out a case: one, or a rank for each device. */
int worker_processes(const struct plan_case *c);

#endif
