/*
 * Autotuning: finds the fastest of several candidates for the same work within a given time.
 *
 * First each is timed briefly, in the given order, for a part of the time. Those close to the best,
 * and the first one, then run alternately:
 *
 * - rested: for short slices, each after a rest of the same length, as a sample of a measurement
 * starts rested. The lowest median wins.
 * - sustained: without rest, like work that continues for seconds. At its power limit a device
 *   lowers its clock, so the energy of a candidate matters more than its speed at full clock. The
 *   clock follows within some 10 ms. All candidates are therefore loaded before the first trial,
 *   turns are long, and the first part of a turn, in which the device adapts, is not counted.
 *   Candidates that are slower after a round give their time to the others. The lowest mean wins.
 *   This mode needs about a second: see AUTOTUNE_SUSTAINED_SECONDS.
 *
 * On an H200, algorithms for a GEMM of 8192 that are equally fast at one clock differ by 10 % at
 * the power limit. With 1 s per GEMM under load instead of 0.1 s rested, training steps in TF32 are
 * 4 % shorter, those in FP16 0 to 3 %.
 */
#ifndef GPUPROOF_DEVICE_AUTOTUNE_H
#define GPUPROOF_DEVICE_AUTOTUNE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/*
 * Runs `candidate` at least once and for about `seconds`, and sets *each to the time of one run.
 * STATUS_UNSUPPORTED: this candidate cannot be used; any other failure ends the search.
 */
typedef enum status autotune_fn(void *context, size_t candidate, double seconds, double *each,
				struct error *err);

struct autotune_result {
	size_t best, first, tried; /* the first usable candidate; number of usable ones */
	double seconds;            /* time of the best */
	double first_seconds;      /* time of the first, under the same conditions */
};

struct autotune_rules {
	double seconds;
	bool sustained; /* else rested */
};

/* Least time: with less, several candidates cannot each have a turn. */
#define AUTOTUNE_SUSTAINED_SECONDS 0.5

/* STATUS_UNSUPPORTED if no candidate can be used. */
enum status autotune(size_t count, const struct autotune_rules *rules, autotune_fn *run,
		     void *context, struct autotune_result *out, struct error *err);

#endif
