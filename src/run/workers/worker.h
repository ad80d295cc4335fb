/*
 * A worker from the inside: the process that drives devices. It carries out a run of cases and
 * sends each one up the pipe (message.h); everything that can crash happens here and nowhere else.
 */
#ifndef GPUPROOF_RUN_WORKERS_WORKER_H
#define GPUPROOF_RUN_WORKERS_WORKER_H

#include "measure/processes/world.h"
#include "plan/plan.h"
#include "run/workers/control.h"

/* Exit code of a rank that did all it had to. */
#define WORKER_FINISHED 90

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
