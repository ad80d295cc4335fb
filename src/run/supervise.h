/*
 * Runs one worker from start to end: starts it, reads its messages, enforces time limits, and
 * records the case in flight if it dies. The caller selects the cases.
 */
#ifndef GPUPROOF_RUN_SUPERVISE_H
#define GPUPROOF_RUN_SUPERVISE_H

#include <stdbool.h>

#include "result/result.h"
#include "run/workers/message.h"
#include "run/workers/team.h"

/*
 * Grace period between a stop request and the end of a worker. A sample takes less, and set-up
 * checks between its parts. A worker still running after it is killed, and its case is interrupted
 * without a result.
 */
#define SUPERVISE_STOP_SECONDS 5.0

struct supervisor {
	const struct plan *plan;
	struct control *control;
	double run_began; /* host clock */
	int log;
	double start_seconds; /* time limit for opening backends and devices, and for closing */
	/*
	 * Ranks of this node in a multi-node team; NULL: all ranks are local. Only the node with
	 * the first rank reports cases and enforces limits.
	 */
	const struct team_part *part;
	void *context;
	/* Callbacks; all may be NULL except `settled`. */
	void (*started)(void *context, size_t index);
	void (*progressed)(void *context, size_t samples, double median, double half_width);
	/* Called several times per second in every phase. */
	void (*ticked)(void *context);
	/*
	 * Takes ownership of `c`. `partial`: it was interrupted. `sent`: the worker's message with
	 * `c`, valid during the call; NULL if the conductor created `c`. A failure ends the run.
	 */
	enum status (*settled)(void *context, size_t index, bool partial, struct case_result *c,
			       const struct message *sent, struct error *err);
	void (*stopping)(
		void *context); /* true after a stop request: this worker ends after its sample */
};

struct worker_outcome {
	/*
	 * Number of leading cases that have a result. Includes the one in flight, unless it died in
	 * a concurrent group (src/plan/suite.h) and must be repeated alone.
	 */
	size_t settled;
	bool hung;         /* it was killed for exceeding a limit */
	char reason[768];  /* "", or why the worker did not end normally */
	int failed_rank;   /* as in struct worker_team */
	enum case_end end; /* end of a case that is lost for that reason */
	/* A crash not attributable to one case; empty reason: none. The caller frees it. */
	struct lost_worker lost;
};

/*
 * Runs a worker for `cases`. STATUS_OK even if it died; a failure means that the run cannot
 * continue.
 */
enum status supervise(const struct supervisor *supervisor, const size_t *cases, size_t case_count,
		      struct worker_outcome *outcome, struct error *err);

#endif
