#include "measure/watchdog.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"

/* Less CPU time may come from a process that polls forever. */
#define LIVELY_SHARE 0.05

void watchdog_tick(struct watchdog *w, double passed, const struct activity *activity,
		   double cpu_seconds)
{
	unsigned long steps = atomic_load(&activity->steps);

	w->waited += passed;
	w->still += passed;
	/* Steps before this tick do not count as progress. */
	if (!w->begun) {
		*w = (struct watchdog){ true, w->waited, w->still, steps, cpu_seconds };
		return;
	}
	if (steps == w->steps && cpu_seconds - w->cpu_seconds <= LIVELY_SHARE * w->still)
		return;
	/* At least a second, or the first tick of scheduling would be enough. */
	if (steps == w->steps && w->still < 1)
		return;
	w->steps = steps;
	w->cpu_seconds = cpu_seconds;
	w->still = 0;
}

enum watchdog_verdict watchdog_judge(const struct watchdog *w, double limit, bool given)
{
	if (w->waited <= limit)
		return WATCHDOG_GO_ON;
	if (given)
		return w->still < limit / 2 ? WATCHDOG_SLOW : WATCHDOG_HUNG;
	if (w->still > limit)
		return WATCHDOG_HUNG;
	return w->waited > WATCHDOG_PATIENCE * limit ? WATCHDOG_SLOW : WATCHDOG_GO_ON;
}

void watchdog_explain(const struct watchdog *w, enum watchdog_verdict verdict, double limit,
		      const struct activity *activity, char *out, size_t size)
{
	unsigned long samples = atomic_load(&activity->samples);
	double average;
	char waited[32], still[32], load[48], part[sizeof(activity->part)], more[32];

	memcpy(part, activity->part, sizeof(part));
	part[sizeof(part) - 1] = '\0';
	/* Rounds to seconds, except for shorter limits. */
	units_format(w->waited > 10 ? round(w->waited) : limit, "s", waited, sizeof(waited));
	units_format(w->still > 10 ? round(w->still) : w->still, "s", still, sizeof(still));
	snprintf(more, sizeof(more), "%.0fs", ceil(fmax(2, 2 * fmax(w->waited, limit))));
	load[0] = '\0';
	if (getloadavg(&average, 1) == 1)
		snprintf(load, sizeof(load), "; load %.1f on %ld CPUs", average,
			 sysconf(_SC_NPROCESSORS_ONLN));
	if (verdict == WATCHDOG_SLOW)
		snprintf(out, size,
			 "slow: no result within %s (killed), although the case made progress: in "
			 "%s, %lu samples%s; to allow more time, set [run] case_limit = %s",
			 waited, part[0] ? part : "set-up", samples, load, more);
	else
		snprintf(out, size,
			 "hung: no result within %s (killed): no progress for %s in %s, %lu "
			 "samples%s; if the case is only slow, set [run] case_limit = %s",
			 waited, still, part[0] ? part : "set-up", samples, load, more);
}
