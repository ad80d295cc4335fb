/*
 * Activity of the case in flight, in memory that worker and conductor share: written by rank 0,
 * read by the watchdog, which distinguishes a slow case from a hung one by it. Calls with NULL do
 * nothing.
 */
#ifndef GPUPROOF_MEASURE_ACTIVITY_H
#define GPUPROOF_MEASURE_ACTIVITY_H

#include <stdatomic.h>

struct activity {
	/* parts begun and samples taken, warm-up too, since the worker began */
	_Atomic unsigned long steps;
	_Atomic unsigned long samples; /* that count, since the case began */
	char part[32]; /* "set-up", "verification", "samples"; may be read while it is written */
};

/* A case begins, or a part of it. */
void activity_begin(struct activity *activity, const char *part);
void activity_enter(struct activity *activity, const char *part);
/* One more sample was taken; `counts`: it is no warm-up. */
void activity_sampled(struct activity *activity, int counts);

#endif
