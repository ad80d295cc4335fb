/*
 * One case in a worker's hands, from its description to its outcome. Collective where the case has
 * ranks.
 */
#ifndef GPUPROOF_RUN_WORKERS_ATTEMPT_H
#define GPUPROOF_RUN_WORKERS_ATTEMPT_H

#include "measure/run.h"
#include "measure/telemetry/condition.h"

struct attempt {
	struct run run;
	struct sampling rules;
	struct device **devices; /* run.devices; owned */
	struct case_result result;
	enum status status; /* the outcome so far ... */
	struct error err;   /* ... and its reason */
	double began;       /* host clock */
	struct phases phases;
};

/*
 * Describes the case. run.devices and what the sampler needs from the worker are still to be filled
 * in.
 */
void attempt_begin(struct attempt *attempt, const struct plan *plan, const struct plan_case *c,
		   int64_t run_seed, struct world *world);
void attempt_release(struct attempt *attempt);

/* Checks free memory and reads the device's condition; with the devices open. */
enum status attempt_prepare(struct attempt *attempt);
/*
 * Runs the suite on `count` prepared attempts and reads telemetry every `telemetry_seconds` (0:
 * never); several are a concurrent group (src/plan/suite.h).
 */
void attempt_carry_out(struct attempt *const *attempts, size_t count, double telemetry_seconds);
/* The device's condition afterwards, unless an error has broken it. */
void attempt_finish(struct attempt *attempt, struct link_watch *watch, struct link_poll *poll);
/*
 * Status, reason and times of the result; metrics that have not settled are no headline. `parts`:
 * attempts that share the time since it began.
 */
void attempt_settle(struct attempt *attempt, double run_began, size_t parts);

/* True for errors after which this process cannot use its devices for the next case. */
bool status_loses_device(enum status status);

#endif
