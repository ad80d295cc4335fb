/*
 * The watchdog's decision about a case in flight: it continues, is slow, or hangs.
 *
 * A case that shows signs of life (parts that begin, samples, CPU time where its devices are made
 * of the CPU) is never taken for hung: it has WATCHDOG_PATIENCE times its limit, and is called slow
 * when it is killed after that. One that shows none for the length of its limit hangs. A case_limit
 * that the user has set is final for both.
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
	double waited; /* seconds since the devices were open */
	double still;  /* seconds since the last sign of life */
	unsigned long steps;
	double cpu_seconds; /* of the case's processes, at the last sign of life */
};

enum watchdog_verdict { WATCHDOG_GO_ON, WATCHDOG_SLOW, WATCHDOG_HUNG };

/*
 * `passed` seconds went by. `cpu_seconds`: of the processes so far where that is a sign of life,
 * else 0.
 */
void watchdog_tick(struct watchdog *watchdog, double passed, const struct activity *activity,
		   double cpu_seconds);
enum watchdog_verdict watchdog_judge(const struct watchdog *watchdog, double limit_seconds,
				     bool limit_is_given);

/*
 * "hung: no result within 30.00 s (killed), no sign of life for 30.00 s in verification; load 13.2
 * on 2 CPUs; [run] case_limit = 1min gives it longer".
 */
void watchdog_explain(const struct watchdog *watchdog, enum watchdog_verdict verdict,
		      double limit_seconds, const struct activity *activity, char *out,
		      size_t size);

#endif
