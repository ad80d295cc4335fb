/*
 * Autotuning: finds the fastest of several candidates that do the same work, within a given time.
 *
 * First each is timed briefly, in the order given, until a part of the time is gone. Those close to
 * the best, and the first one, then run in turns:
 *
 * - rested: for short stretches, with as long a rest before each, as a sample of a measurement
 *   starts rested. The lowest median wins.
 * - sustained: without rest, as work continues for seconds. A device at its power limit lowers its
 *   clock until what it does fits, so what counts is the energy that a candidate needs rather than
 *   how fast it is at full clock. The clock follows within some 10 ms, so all are loaded before the
 *   first look, turns are long, and their first part, in which the device gets used to the
 *   candidate, does not count; those slower after a round leave their time to the others. The
 *   lowest mean wins. It takes a second to be worth something: see AUTOTUNE_SUSTAINED_SECONDS.
 *
 * On an H200 algorithms for a product of 8192 that are equally fast at one clock differ by 10 % at
 * the power limit: training steps in TF32 are 4 % shorter by 1 s for each product under load than
 * by 0.1 s rested, those in FP16 0 to 3 %.
 */
#ifndef GPUPROOF_DEVICE_AUTOTUNE_H
#define GPUPROOF_DEVICE_AUTOTUNE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/*
 * Runs `candidate` at least once and for about `seconds`; *each: the time of one run.
 * STATUS_UNSUPPORTED: this one cannot be used; any other failure ends the search.
 */
typedef enum status autotune_fn(void *context, size_t candidate, double seconds, double *each,
				struct error *err);

struct autotune_result {
	size_t best, first, tried; /* the first one that could be used; how many could */
	double seconds;            /* of the best */
	double first_seconds;      /* of the first, under the same conditions */
};

struct autotune_rules {
	double seconds;
	bool sustained; /* else rested */
};

/* Less does not suffice for turns of several candidates. */
#define AUTOTUNE_SUSTAINED_SECONDS 0.5

/* STATUS_UNSUPPORTED when none can be used. */
enum status autotune(size_t count, const struct autotune_rules *rules, autotune_fn *run,
		     void *context, struct autotune_result *out, struct error *err);

#endif
