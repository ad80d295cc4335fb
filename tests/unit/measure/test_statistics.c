/* Statistics: quantiles and intervals against known values and against simulation. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/memory.h"
#include "base/stats.h"
#include "kernels/generator.h"
#include "result/statistics.h"

/* Normal numbers by Box-Muller from the counter-based generator. */
static double normal(uint64_t seed, uint64_t i)
{
	double u = ((double)(generator_bits(seed, 2 * i) >> 11) + 0.5) * 0x1p-53;
	double v = (double)(generator_bits(seed, 2 * i + 1) >> 11) * 0x1p-53;

	return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

static void quantiles_are_of_type_seven(void **state)
{
	/* R: quantile(c(1, 2, 4, 8, 16), c(.05, .25, .5, .75, .95)) */
	static const double x[] = { 1, 2, 4, 8, 16 };

	(void)state;
	assert_true(fabs(quantile(x, 5, 0.05) - 1.2) < 1e-12);
	assert_true(quantile(x, 5, 0.25) == 2);
	assert_true(quantile(x, 5, 0.5) == 4);
	assert_true(quantile(x, 5, 0.75) == 8);
	assert_true(fabs(quantile(x, 5, 0.95) - 14.4) < 1e-12);
	assert_true(quantile(x, 1, 0.95) == 1);
}

static void median_of_even_counts_is_the_mean_of_the_middle_two(void **state)
{
	static const double x[] = { 8, 1, 16, 2, 4 },
			    infinite[] = { INFINITY, 1, INFINITY, INFINITY };

	(void)state;
	assert_true(median_of(x, 5) == 4);
	assert_true(median_of(x, 4) == 5);
	assert_true(median_of(x, 1) == 8);
	assert_true(median_of(infinite, 4) == (double)INFINITY);
	assert_true(isnan(median_of(x, 0)) && isnan(median_of_sorted(x, 0)));
	/* The values stay in their order. */
	assert_true(x[0] == 8 && x[4] == 4);
}

static void interval_interpolates_the_binomial_ranks(void **state)
{
	double x[30], low, high;

	(void)state;
	for (int i = 0; i < 30; i++)
		x[i] = i + 1;
	/*
	 * Ranks 2 and 9 of ten hold the median with 97.85 %, 3 and 8 with 89.06 %: Hettmansperger
	 * and Sheather's interval of 95 % is between. r1 is so low that no caution makes it
	 * positive. n = 30: ranks 10 and 21, 11 and 20.
	 */
	assert_true(median_interval(x, 10, -0.9, &low, &high));
	assert_true(fabs(low - 2.6574) < 1e-3 && fabs(high - 8.3426) < 1e-3);
	assert_true(median_interval(x, 30, -0.9, &low, &high));
	assert_true(low > 10 && low < 11 && fabs(low + high - 31) < 1e-9);
	/* Independent samples only as far as ten can tell. */
	assert_true(median_interval(x, 10, 0, &low, &high));
	assert_true(low >= 1 && low < 2.2 && high > 8.8 && high <= 10);
	assert_true(median_interval(x, 6, 0, &low, &high));
	assert_true(low >= 1 && low < 1.4 && high > 5.6 && high <= 6);
	assert_false(median_interval(x, 5, 0, &low, &high));
	assert_true(isnan(low) && isnan(high));
}

static void correlated_samples_widen_the_interval(void **state)
{
	double x[30], low, high, wide_low, wide_high;

	(void)state;
	for (int i = 0; i < 30; i++)
		x[i] = i + 1;
	median_interval(x, 30, 0, &low, &high);
	assert_true(median_interval(x, 30, 0.5, &wide_low, &wide_high));
	assert_true(wide_low < low && wide_high > high);
	/* Ten effective samples leave out the outer tenth or so on either side. */
	assert_true(wide_low >= 1 && wide_low <= 8 && wide_high >= 23 && wide_high <= 30);
	assert_false(median_interval(x, 30, 0.9, &low, &high));
}

static void interval_covers_the_median(void **state)
{
	enum { TRIALS = 2000, N = 25 };
	int covered = 0;

	(void)state;
	for (uint64_t t = 0; t < TRIALS; t++) {
		double x[N], low, high;

		for (uint64_t i = 0; i < N; i++)
			x[i] = normal(t + 1, i);
		qsort(x, N, sizeof(x[0]), compare_doubles);
		assert_true(median_interval(x, N, 0, &low, &high));
		covered += low <= 0 && high >= 0;
	}
	/* At least 95 %, less three standard deviations of this experiment. */
	assert_true(covered >= TRIALS * 0.95 - 3 * sqrt(TRIALS * 0.05 * 0.95));
}

/*
 * Correlated samples whose level rises by `rise` standard deviations: how many of the series that
 * have no interval as they are have one with the trend, and how many of these hold the level in the
 * middle, 0.
 */
static void count_drifting(int n, double phi, double rise, int *found, int *covered)
{
	enum { TRIALS = 800, BEFORE = 60 };
	double x[100], y, sd = 1 / sqrt(1 - phi * phi);

	*found = *covered = 0;
	for (uint64_t t = 0; t < TRIALS; t++) {
		struct statistics s;
		double r1, low, high, sorted[100];

		y = 0;
		for (int i = -BEFORE; i < n; i++) {
			y = phi * y + normal(t + 1, (uint64_t)(i + BEFORE));
			if (i >= 0)
				x[i] = 100 + y + rise * sd * ((double)i / (n - 1) - 0.5);
		}
		r1 = stats_median_autocorrelation(x, (size_t)n);
		memcpy(sorted, x, (size_t)n * sizeof(x[0]));
		qsort(sorted, (size_t)n, sizeof(x[0]), compare_doubles);
		statistics_compute(x, (size_t)n, 1, 0, NULL, &s);
		if (median_interval(sorted, (size_t)n, r1, &low, &high)) {
			assert_true(s.low == low && s.high == high);
			continue;
		}
		*found += !isnan(s.low);
		*covered += s.low <= 100 && s.high >= 100;
	}
}

static void a_drifting_level_is_within_its_interval(void **state)
{
	static const struct {
		int n;
		double phi, rise;
	} cases[] = {
		{ 24, 0, 10 },  { 24, 0.6, 4 }, { 24, 0.8, 4 }, { 24, 0.8, 10 },
		{ 50, 0.8, 4 }, { 12, 0, 4 },   { 12, 0.6, 4 }, { 100, 0.9, 4 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int found, covered;

		count_drifting(cases[i].n, cases[i].phi, cases[i].rise, &found, &covered);
		assert_true(found > 300);
		assert_true(covered >= found * 0.95 - 3 * sqrt(found * 0.05 * 0.95));
	}
}

/* Steps of 1F1B on eight H200s under their power limit: every one a little slower. */
static void the_ends_of_a_drift_are_within(void **state)
{
	double x[24], low, high;
	struct statistics s;

	(void)state;
	for (uint64_t i = 0; i < 24; i++)
		x[i] = 16.66e-3 * (1 + 0.008 * (double)i / 23 + 5e-4 * normal(3, i));
	assert_true(stats_median_drifting_interval(x, 24, &low, &high));
	assert_true(low < 16.66e-3 * 1.0005 && high > 16.66e-3 * 1.0075);
	assert_true(high - low < 1.5 * 0.008 * 16.66e-3);
	statistics_compute(x, 24, 1, 0, NULL, &s);
	assert_true(s.low == low && s.high == high);
	assert_false(stats_median_drifting_interval(x, 5, &low, &high));
	assert_true(isnan(low) && isnan(high));
}

/* A busy host: a step of half a millisecond that takes three for a while. No time is below zero. */
static void what_changes_by_more_than_its_level_has_no_interval(void **state)
{
	double x[60], low, high;
	struct statistics s;

	(void)state;
	for (uint64_t i = 0; i < 60; i++)
		x[i] = (i < 40 ? 600e-6 : 3e-3) + (i % 2 ? 500e-6 : -500e-6);
	assert_false(stats_median_drifting_interval(x, 60, &low, &high));
	assert_true(isnan(low) && isnan(high));
	statistics_compute(x, 60, 1, 0, NULL, &s);
	assert_true(isnan(s.low) || s.low > 0);
	/* For a quantity that may be below zero it is an interval as any other. */
	for (uint64_t i = 0; i < 60; i++)
		x[i] -= 200e-6;
	assert_true(stats_median_drifting_interval(x, 60, &low, &high));
	assert_true(low < 0 && high > 0);
}

static void noise_and_drift_are_named(void **state)
{
	struct statistics s;
	double steady[60], drifting[60];

	(void)state;
	for (uint64_t i = 0; i < 60; i++) {
		steady[i] = 1 + 1e-4 * normal(7, i);
		drifting[i] = steady[i] * (1 + 0.03 * (double)i / 60);
	}
	statistics_compute(steady, 60, 4, 0, NULL, &s);
	assert_false(s.noisy);
	assert_true(isnan(s.p99));
	assert_true(s.mad >= 1e-4 * s.median);
	statistics_compute(drifting, 60, 1, 0, NULL, &s);
	assert_true(s.noisy);
	assert_true(s.noise[0] != '\0');
	assert_true(fabs(s.drift - 0.02) < 0.002);
	statistics_compute(steady, 0, 1, 0, NULL, &s);
	assert_true(isnan(s.median) && s.n == 0);
}

static void all_equal_samples_are_no_trouble(void **state)
{
	double x[100];
	struct statistics s;

	(void)state;
	for (int i = 0; i < 100; i++)
		x[i] = 2;
	statistics_compute(x, 100, 1, 1e-3, NULL, &s);
	assert_true(s.low == 2 && s.high == 2 && s.p99 == 2);
	assert_true(fabs(s.mad - 1e-3 / sqrt(12)) < 1e-12);
}

/* Two waves of a power limit: four samples of twenty last 15 % longer. */
static void a_load_is_its_mean_and_waves_are_no_noise(void **state)
{
	double waves[40], low, high, mean;

	(void)state;
	for (size_t i = 0; i < 40; i++)
		waves[i] = i % 20 >= 8 && i % 20 < 12 ? 1.15 : 1;
	mean = stats_median_load_mean(waves, 40, &low, &high);
	assert_true(fabs(mean - 1.03) < 1e-12);
	assert_true(low < mean && mean < high && mean - low == high - mean);
	assert_true(high - mean < 0.006 * mean);
	/* A level that fell from one half to the other is known to no better than that. */
	for (size_t i = 20; i < 40; i++)
		waves[i] *= 1.1;
	mean = stats_median_load_mean(waves, 40, &low, &high);
	assert_true(low < 1.03 && high > 1.133);
	assert_true(isnan(stats_median_load_mean(waves, 0, &low, &high)));
	assert_true(stats_median_load_mean(waves, 5, &low, &high) == 1 && isnan(low) &&
		    isnan(high));
}

/* Without waves it holds the true mean as often as it says. */
static void the_interval_of_a_load_holds_its_mean(void **state)
{
	unsigned held = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 2000; seed++) {
		double samples[40], low, high;

		for (uint64_t i = 0; i < 40; i++)
			samples[i] = 1 + 0.005 * normal(seed, i);
		stats_median_load_mean(samples, 40, &low, &high);
		held += low <= 1 && 1 <= high;
	}
	assert_in_range(held, 1880, 2000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantiles_are_of_type_seven),
		cmocka_unit_test(median_of_even_counts_is_the_mean_of_the_middle_two),
		cmocka_unit_test(interval_interpolates_the_binomial_ranks),
		cmocka_unit_test(correlated_samples_widen_the_interval),
		cmocka_unit_test(interval_covers_the_median),
		cmocka_unit_test(a_drifting_level_is_within_its_interval),
		cmocka_unit_test(the_ends_of_a_drift_are_within),
		cmocka_unit_test(what_changes_by_more_than_its_level_has_no_interval),
		cmocka_unit_test(noise_and_drift_are_named),
		cmocka_unit_test(a_load_is_its_mean_and_waves_are_no_noise),
		cmocka_unit_test(the_interval_of_a_load_holds_its_mean),
		cmocka_unit_test(all_equal_samples_are_no_trouble),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
