/*
 * Picking the fastest of several ways to do the same thing, within a given time.
 *
 * First each is timed briefly, in the order given, until three fifths of the time are gone. Those close to the
 * best, and the first one, then run in turns, each for a stretch that is long enough to meet the clocks it brings
 * about itself, with as long a rest before it; the lowest median of these stretches wins.
 */
#ifndef GPUPROOF_BASE_FASTEST_H
#define GPUPROOF_BASE_FASTEST_H

#include <stddef.h>

#include "base/error.h"

/*
 * Carries out `candidate` at least once and for about `seconds`; *each: the time of one. STATUS_UNSUPPORTED: this
 * one cannot be used; any other failure ends the search.
 */
typedef enum status fastest_fn(void *context, size_t candidate, double seconds, double *each,
			       struct error *err);

struct fastest {
	size_t best, tried;
	double seconds;       /* of the best */
	double first_seconds; /* of the first one that could be used, under the same conditions */
};

/* STATUS_UNSUPPORTED when none can be used. */
enum status fastest_of(size_t count, double seconds, fastest_fn *run, void *context,
		       struct fastest *out, struct error *err);

#endif
