/* When a series ends: settling, the reasons, and how often its interval holds the median. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/memory.h"
#include "base/stats.h"
#include "kernels/generator.h"
#include "measure/sampling/stop_rule.h"
#include "sample_noise.h"

static const struct sampling standard = { .min_samples = 10,
					  .max_samples = 200,
					  .target = 0.005,
					  .max_seconds = 0.5,
					  .settle_seconds = 0.5 };
/* configs/quick.ini */
static const struct sampling quick = { .min_samples = 10,
				       .max_samples = 30,
				       .target = 0.01,
				       .max_seconds = 0.02,
				       .settle_seconds = 0.2 };

struct outcome {
	double samples[4096];
	size_t kept, dropped;
	double seconds; /* of all samples */
	struct stop_decision decision;
};

/* A series whose sample i is level(i), with 0.3 % of noise; a sample lasts as long as it says. */
static void take(const struct sampling *rules, double (*level)(size_t), struct outcome *o)
{
	struct noise noise = { .seed = 7 };
	struct stop_rule rule;

	memset(o, 0, sizeof(*o));
	stop_rule_begin(&rule, rules, 0);
	for (size_t i = 0; !o->decision.end; i++) {
		double sample = level(i) * (1 + 0.003 * noise_normal(&noise));

		assert_true(o->kept < ARRAY_SIZE(o->samples));
		o->samples[o->kept++] = sample;
		o->seconds += sample;
		o->decision = stop_rule_decide(&rule, o->samples, o->kept, o->seconds);
		assert_true(o->decision.drop < o->kept);
		assert_true(!o->decision.end || o->decision.drop == 0);
		o->kept -= o->decision.drop;
		o->dropped += o->decision.drop;
		memmove(o->samples, o->samples + o->decision.drop, o->kept * sizeof(double));
	}
}

/*
 * A link that wakes up, measured on an H100: copies of 64 MiB take 2.6 ms, then 1.8 ms, in the end
 * 1.22 ms.
 */
static double waking_link(size_t i)
{
	return 1.22e-3 + 1.4e-3 * exp(-(double)i / 15);
}

static double steady(size_t i)
{
	(void)i;
	return 1e-3;
}

/* 1 % more each sample, for ever. */
static double running_away(size_t i)
{
	return 1e-3 * pow(1.01, (double)i);
}

/* 0.3 % in all. */
static double within_the_target(size_t i)
{
	return 1e-3 * (1 + 0.003 * fmin(1, (double)i / 40));
}

static void a_series_that_settles_late_gives_the_settled_level(void **state)
{
	struct outcome o;

	(void)state;
	take(&quick, waking_link, &o);
	assert_true(o.dropped > 0);
	assert_false(o.decision.unsettled);
	assert_true(o.kept >= 10);
	/* It took ten samples of 1.8 to 2.6 ms before. */
	assert_true(fabs(median_of(o.samples, o.kept) / 1.22e-3 - 1) < 0.015);
	assert_true(o.seconds <= quick.max_seconds + quick.settle_seconds + quick.max_seconds);
}

static void what_drifts_at_the_end_of_its_time_is_unsettled(void **state)
{
	struct sampling rules = quick;
	struct outcome o;

	(void)state;
	take(&rules, running_away, &o);
	assert_true(o.decision.unsettled);
	assert_true(o.seconds >= rules.max_seconds + rules.settle_seconds);
	assert_true(o.kept >= (size_t)rules.min_samples);
	/* Without time to settle what was sampled stays, and is told. */
	rules.settle_seconds = 0;
	rules.max_seconds = 1e-6;
	take(&rules, running_away, &o);
	assert_int_equal(o.kept, 10);
	assert_int_equal(o.dropped, 0);
	assert_int_equal(o.decision.reason, STOP_MAX_TIME);
	assert_true(o.decision.unsettled);
}

static void a_steady_series_keeps_all_samples(void **state)
{
	struct outcome o;

	(void)state;
	take(&standard, steady, &o);
	assert_int_equal(o.decision.reason, STOP_CONVERGED);
	assert_int_equal(o.dropped, 0);
	take(&standard, within_the_target, &o);
	assert_int_equal(o.dropped, 0);
	assert_false(o.decision.unsettled);
}

/* A workload asks for 1,000 samples, each as long as the series may last: ten are enough. */
static void a_slow_workload_ends_with_the_samples_of_the_rules(void **state)
{
	struct stop_decision decision = { 0 };
	struct stop_rule rule;
	double samples[64];
	size_t n = 0;

	(void)state;
	stop_rule_begin(&rule, &standard, 1000);
	while (!decision.end && n < ARRAY_SIZE(samples)) {
		samples[n++] = standard.max_seconds;
		decision = stop_rule_decide(&rule, samples, n, (double)n * standard.max_seconds);
	}
	assert_int_equal(n, standard.min_samples);
}

/* Looks at the interval again after at most 5 % more samples: what has converged ends. */
static void a_narrow_interval_is_seen_soon(void **state)
{
	struct sampling rules = standard;
	double wide[400], narrow[400];

	(void)state;
	rules.max_samples = 1000;
	for (size_t i = 0; i < ARRAY_SIZE(wide); i++) {
		narrow[i] = 1e-3;
		/* Six parts of ten lie 5 % apart; the order has no correlation and no drift. */
		wide[i] = 1e-3 * (1 + 0.05 * (double)(i * 7 % 10 % 3));
	}
	for (size_t last = 11; last < 300; last += 17) {
		struct stop_decision decision;
		struct stop_rule rule;
		size_t n = 0;

		stop_rule_begin(&rule, &rules, 0);
		rule.next_doubling = SIZE_MAX;
		do {
			n++;
			decision = stop_rule_decide(&rule, n <= last ? wide : narrow, n, 1e-3);
			assert_true(n > last || !decision.end);
		} while (!decision.end);
		assert_int_equal(decision.reason, STOP_CONVERGED);
		assert_in_range(n, last + 1, last + 2 + last / 20);
	}
}

static void a_drift_is_a_trend_and_a_change(void **state)
{
	double x[200];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(x); i++)
		x[i] = 1 + 0.02 * (double)i / 199;
	assert_true(stop_rule_drifts(x, 200, 0.005));
	assert_true(stop_rule_drifts(x, 6, 0) == false); /* 0.05 % */
	assert_false(stop_rule_drifts(x, 200, 0.03));    /* less than the target */
	assert_false(stop_rule_drifts(x, 5, 0.005));
	for (size_t i = 0; i < ARRAY_SIZE(x); i++)
		x[i] = 1 / x[i];
	assert_true(stop_rule_drifts(x, 200, 0.005));
	/* Two modes in turn, and all the same. */
	for (size_t i = 0; i < ARRAY_SIZE(x); i++)
		x[i] = i % 2 ? 1 : 1.2;
	assert_false(stop_rule_drifts(x, 199, 0.005));
	for (size_t i = 0; i < ARRAY_SIZE(x); i++)
		x[i] = 1;
	assert_false(stop_rule_drifts(x, 200, 0.005));
	/* Six samples in order are enough, five of six are not. */
	for (size_t i = 0; i < 6; i++)
		x[i] = 1 + 0.01 * (double)i;
	assert_true(stop_rule_drifts(x, 6, 0.005));
	x[5] = 1.005;
	assert_false(stop_rule_drifts(x, 6, 0.005));
}

static void steady_noise_is_seldom_taken_for_warm_up(void **state)
{
	(void)state;
	for (size_t shape = 0; shape < ARRAY_SIZE(noise_shapes); shape++) {
		struct noise_tally t = { 0 };

		for (uint64_t k = 0; k < 300; k++)
			noise_take_series(&quick, &noise_shapes[shape], 0.05,
					  generator_bits(shape + 1, k), &t);
		print_message("%s: %.1f %% of series lost samples\n", noise_shapes[shape].name,
			      100 * t.dropped / t.series);
		assert_true(t.dropped <= (shape < 5 ? 0.03 : 0.25) * t.series);
		assert_true(t.unsettled <= 0.005 * t.series);
	}
}

/*
 * tests/bench/bench_coverage.c has the figures: 94.8 to 96.1 %; a memory of 0.8 is beyond what 200
 * samples can tell.
 */
static void intervals_hold_the_median_whenever_sampling_stops(void **state)
{
	(void)state;
	for (size_t shape = 0; shape < 7; shape++) {
		struct noise_tally t = { 0 };
		double covered;

		for (uint64_t k = 0; k < 800; k++)
			noise_take_series(&standard, &noise_shapes[shape],
					  standard.target * (0.5 + (double)(k % 8)),
					  generator_bits(shape + 1, k), &t);
		covered = t.covered / t.intervals;
		print_message("%s: %.1f %%, %.0f samples\n", noise_shapes[shape].name,
			      100 * covered, t.samples / t.series);
		assert_true(t.intervals >= 0.99 * t.series);
		/* 2.5 deviations of 800 series. */
		assert_in_range(1000 * covered, 950 - 19, 960 + 19);
	}
}

/* A load counts for its whole time, however steady, and its waves are neither warm-up nor fault. */
static void a_load_lasts_and_may_drift(void **state)
{
	struct sampling rules = quick;
	struct outcome o;

	(void)state;
	rules.max_samples = 1000000;
	rules.max_seconds = rules.least_seconds = 0.3;
	rules.may_drift = true;
	take(&rules, steady, &o);
	assert_true(o.seconds >= 0.3 && o.seconds < 0.302);
	take(&rules, waking_link, &o);
	assert_true(o.seconds >= 0.3 && o.seconds < 0.302);
	assert_int_equal(o.dropped, 0);
	assert_false(o.decision.unsettled);
	/* The same without: warm-up is dropped. */
	rules.may_drift = false;
	take(&rules, running_away, &o);
	assert_true(o.dropped > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_series_that_settles_late_gives_the_settled_level),
		cmocka_unit_test(what_drifts_at_the_end_of_its_time_is_unsettled),
		cmocka_unit_test(a_steady_series_keeps_all_samples),
		cmocka_unit_test(a_slow_workload_ends_with_the_samples_of_the_rules),
		cmocka_unit_test(a_narrow_interval_is_seen_soon),
		cmocka_unit_test(a_drift_is_a_trend_and_a_change),
		cmocka_unit_test(a_load_lasts_and_may_drift),
		cmocka_unit_test(steady_noise_is_seldom_taken_for_warm_up),
		cmocka_unit_test(intervals_hold_the_median_whenever_sampling_stops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
