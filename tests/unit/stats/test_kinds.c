/*
 * Kinds of devices are found and not made up. GPUPROOF_SIMULATE=20 simulates twenty times as many
 * samples.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/memory.h"
#include "random.h"
#include "stats/kinds.h"

static double student3(void)
{
	double a = normal(), b = normal(), c = normal();

	return normal() / sqrt((a * a + b * b + c * c) / 3);
}

/* Skewness 3.7, the tail on the slow side. */
static double lognormal(void)
{
	return 1 - exp(0.7862 * normal());
}

/*
 * Share of simulated samples of `n` values, each `draw`n, that are taken for more than one kind.
 */
static double parted(double (*draw)(void), size_t n, size_t second, double distance)
{
	const char *factor = getenv("GPUPROOF_SIMULATE");
	size_t rounds = 1000 * (factor ? strtoul(factor, NULL, 10) : 1), found = 0;
	double logs[200];

	seed = 20261122;
	for (size_t round = 0; round < rounds; round++) {
		for (size_t i = 0; i < n; i++) {
			double x = 0.01 * (draw() + (i < second ? distance : 0));
			size_t to = i;

			for (; to > 0 && logs[to - 1] > x; to--)
				logs[to] = logs[to - 1];
			logs[to] = x;
		}
		found += kinds_of(logs, n).count > 1;
	}
	return (double)found / (double)rounds;
}

static void kinds_are_found_and_not_made_up(void **state)
{
	static const size_t counts[] = { 8, 12, 16, 24, 52, 100 };
	double six = parted(normal, 52, 16, 6), seven = parted(normal, 52, 16, 7),
	       eight = parted(normal, 52, 16, 8);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		double one = parted(normal, counts[i], 0, 0);
		double tails = parted(student3, counts[i], 0, 0);
		double skew = parted(lognormal, counts[i], 0, 0);

		print_message("%zu good cards of one kind: parted %.2f %% (normal), %.2f %% (t3), "
			      "%.2f %% (lognormal, skew 3.7)\n",
			      counts[i], 100 * one, 100 * tails, 100 * skew);
		assert_true(one <= 0.015 && tails <= 0.02 && skew <= 0.08);
	}
	print_message("36 and 16 of two kinds: found %.1f %% at 6 deviations, %.1f %% at 7, %.1f "
		      "%% at 8\n",
		      100 * six, 100 * seven, 100 * eight);
	assert_true(seven >= 0.8 && eight >= 0.97);
}

/* Each kind has its own values alone. */
static void kinds_share_their_values_out(void **state)
{
	double logs[20];
	struct kinds kinds;

	(void)state;
	for (size_t i = 0; i < 20; i++)
		logs[i] = (i < 8 ? 0 : 1) + 1e-4 * (double)i;
	kinds = kinds_of(logs, 20);
	assert_int_equal(kinds.count, 2);
	assert_int_equal(kinds.items[0].count, 8);
	assert_int_equal(kinds.items[1].count, 12);
	assert_true(kinds.deviation < 1e-3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_are_found_and_not_made_up),
		cmocka_unit_test(kinds_share_their_values_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
