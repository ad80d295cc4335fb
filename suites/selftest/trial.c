#include "suites/selftest/trial.h"

#include <stdlib.h>

#include "base/stats.h"

#define REPEATS 5
#define RATIOS (REPEATS * REPEATS)
/*
 * U <= 2 has probability 4/252 for 5 against 5: the interval goes from the third lowest to the
 * third highest ratio.
 */
#define LOWEST 2

enum status trial_run(const struct contender *a, const struct contender *b, struct ratio *out,
		      struct error *err)
{
	double seconds[2][REPEATS];
	double ratios[RATIOS];

	for (int i = 0; i < 2 * REPEATS; i++) {
		/* ABBA order: drift affects both equally. */
		int second = i % 4 == 1 || i % 4 == 2;
		const struct contender *c = second ? b : a;

		if (c->measure(c->context, &seconds[second][i / 2], err) != STATUS_OK)
			return err->status;
	}
	for (int i = 0; i < RATIOS; i++)
		ratios[i] = seconds[1][i / REPEATS] / seconds[0][i % REPEATS];
	qsort(ratios, RATIOS, sizeof(ratios[0]), compare_doubles);
	*out = (struct ratio){ ratios[RATIOS / 2], ratios[LOWEST], ratios[RATIOS - 1 - LOWEST] };
	return STATUS_OK;
}
