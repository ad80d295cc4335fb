#include "suites/selftest/selftest.h"

#include <math.h>

#include "stats/rank.h"

#define REPEATS 5
/* On either side: U <= 2 has probability 4/252 for 5 against 5, U <= 3 has 7/252. */
#define TAIL 0.025

enum status selftest_trial_run(const struct contender *a, const struct contender *b,
			       struct ratio *out, struct error *err)
{
	double logs[2][REPEATS], shift, low, high;

	for (int i = 0; i < 2 * REPEATS; i++) {
		/* ABBA order: drift affects both equally. */
		int second = i % 4 == 1 || i % 4 == 2;
		const struct contender *c = second ? b : a;
		double seconds;

		if (c->measure(c->context, &seconds, err) != STATUS_OK)
			return err->status;
		logs[second][i / 2] = log(seconds);
	}
	stats_rank_shift_between(logs[0], REPEATS, logs[1], REPEATS, TAIL, &shift, &low, &high);
	*out = (struct ratio){ exp(shift), exp(low), exp(high) };
	return STATUS_OK;
}
