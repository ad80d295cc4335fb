/*
 * Activity of the case in flight, in memory shared by worker and conductor. Rank 0 writes it; the
 * watchdog reads it to distinguish a slow case from a hung one. Functions accept NULL and then do
 * nothing.
 */
#ifndef GPUPROOF_MEASURE_ACTIVITY_H
#define GPUPROOF_MEASURE_ACTIVITY_H

#include <stdatomic.h>

struct activity {
	/* phases started and samples taken since the worker started, including warm-up */
	_Atomic unsigned long steps;
	_Atomic unsigned long samples; /* counted samples since the case started */
	char part[32]; /* "set-up", "verification", "samples"; may be read while it changes */
};

/* Starts a case, or a phase of it. */
void activity_begin(struct activity *activity, const char *part);
void activity_enter(struct activity *activity, const char *part);
/* Counts a sample; `counts`: it is not warm-up. */
void activity_sampled(struct activity *activity, int counts);

#endif
