/*
 * One worker from start to end: starts it, reads its messages, enforces time limits, records the
 * case in flight when it dies. The caller decides about the cases.
 */
#ifndef GPUPROOF_RUN_SUPERVISE_H
#define GPUPROOF_RUN_SUPERVISE_H

#include <stdbool.h>

#include "result/result.h"
#include "run/workers/message.h"
#include "run/workers/team.h"

/*
 * From a stop to the end of a worker: a sample is taken in less, and set-up looks between its
 * parts. What does not come to its end by then is killed, and its case is interrupted without a
 * result.
 */
#define SUPERVISE_STOP_SECONDS 5.0

struct supervisor {
	const struct plan *plan;
	struct control *control;
	double run_began; /* host clock */
	int log;
	double start_seconds; /* most for opening backends and devices, and for ending */
	/* Ranks of this node in a team of several; NULL: all are here. Without the first rank no
	 * case is reported, and the node that has it keeps the limits. */
	const struct team_part *part;
	void *context;
	/* These may be NULL, but for `settled`. */
	void (*started)(void *context, size_t index);
	void (*progressed)(void *context, size_t samples, double median, double half_width);
	/* Some times a second, in any phase. */
	void (*ticked)(void *context);
	/*
	 * Takes `c` over. `partial`: it was interrupted. `sent`: the worker's message with `c`,
	 * valid during the call; NULL if the conductor made `c`. A failure ends the run.
	 */
	enum status (*settled)(void *context, size_t index, bool partial, struct case_result *c,
			       const struct message *sent, struct error *err);
	void (*stopping)(
		void *context); /* a stop was asked for: this worker ends after its sample */
};

struct worker_outcome {
	/*
	 * Cases with a result, the first ones of those given; the one in flight included, unless it
	 * died in a concurrent group (src/plan/suite.h) and is to be repeated alone.
	 */
	size_t settled;
	bool hung;         /* it had to be killed for taking too long */
	char reason[768];  /* "" or why the worker did not end as it should */
	int failed_rank;   /* as in struct worker_team */
	enum case_end end; /* of a case that is lost for that reason */
	/* A crash not attributable to one case. Empty reason: none. The caller frees it. */
	struct lost_worker lost;
};

/*
 * A worker for `cases`. STATUS_OK also when it died; a failure means that the run cannot continue.
 */
enum status supervise(const struct supervisor *supervisor, const size_t *cases, size_t case_count,
		      struct worker_outcome *outcome, struct error *err);

#endif
