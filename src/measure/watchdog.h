/*
 * Watchdog: decides if a case in flight continues, is slow, or hangs.
 *
 * A case that makes progress (phases start, samples arrive, or CPU devices use CPU time) is never
 * considered hung: it gets WATCHDOG_PATIENCE times its limit and is called slow if it is killed
 * after that. A case without progress for the length of its limit hangs. A case_limit set by the
 * user is final for both.
 */
#ifndef GPUPROOF_MEASURE_WATCHDOG_H
#define GPUPROOF_MEASURE_WATCHDOG_H

#include <stdbool.h>
#include <stddef.h>

#include "measure/activity.h"
#include "plan/plan.h"

#define WATCHDOG_PATIENCE 10

struct watchdog {
	bool begun;
	double waited; /* seconds since the devices were opened */
	double still;  /* seconds since the last progress */
	unsigned long steps;
	double cpu_seconds; /* of the case's processes, at the last progress */
};

enum watchdog_verdict { WATCHDOG_GO_ON, WATCHDOG_SLOW, WATCHDOG_HUNG };

/*
 * Advances by `passed` seconds. `cpu_seconds`: CPU time of the processes so far if it shows
 * progress, else 0.
 */
void watchdog_tick(struct watchdog *watchdog, double passed, const struct activity *activity,
		   double cpu_seconds);
enum watchdog_verdict watchdog_judge(const struct watchdog *watchdog, double limit_seconds,
				     bool limit_is_given);

/*
 * Message such as "hung: no result within 30.00 s (killed), no sign of life for 30.00 s in
 * verification; load 13.2 on 2 CPUs; [run] case_limit = 1min gives it longer".
 */
void watchdog_explain(const struct watchdog *watchdog, enum watchdog_verdict verdict,
		      double limit_seconds, const struct activity *activity, char *out,
		      size_t size);

#endif
