/* Intervals between runs: known vectors, Student's t, coverage of planted series. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "judge/estimate/kind.h"
#include "stats/level.h"
#include "stats/repeat.h"
#include "stats/student.h"

#define MOST 20

/* Worked out by an independent program. */
static void known_intervals(void **state)
{
	static const struct {
		double logs[10];
		size_t n;
		double spread;
		bool states;
		double samples, center, low, high;
	} rows[] = {
		{ { 0 }, 1, 0.001, false, 0, 0, -0.003182446, 0.003182446 },
		{ { 0 }, 1, 0.125, true, 0.01, 0, -0.397931458, 0.397931458 },
		{ { 0, 0.02 }, 2, 0.0091, false, 0, 0.01, -0.010786981, 0.030786981 },
		{ { 0, 0.01, 0.05 }, 3, 0.0091, false, 0, 0.0175, -0.010076260, 0.045076260 },
		{ { 0, 0.3, 0.01 }, 3, 0.125, true, 0, 0.08, -0.140026045, 0.300026045 },
		{ { 0, 0, 0, 0, 0 }, 5, 0.001, false, 0, 0, -0.000708440, 0.000708440 },
		{ { 0, 0.29, 0.01, 0.3, 0 }, 5, 0.125, true, 0, 0.145, -0.012922800, 0.302922800 },
		{ { 0, 0.3, 0.01, 0.31, 0.02, 0.29, 0, 0.28, 0.01, 0.3 },
		  10,
		  0.125,
		  true,
		  0,
		  0.15,
		  0,
		  0.3 },
		{ { 0.001, -0.002, 0, 0.003, -0.001, -0.327 },
		  6,
		  0.0041,
		  false,
		  0,
		  -0.0005,
		  -0.102273603,
		  0.101273603 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct repeat repeat = { rows[i].spread, rows[i].states };
		struct repeat_interval found =
			repeat_interval(rows[i].logs, rows[i].n, &repeat, 0.975, rows[i].samples);

		assert_true(fabs(found.center - rows[i].center) < 1e-9);
		assert_true(fabs(found.low - rows[i].low) < 1e-9);
		assert_true(fabs(found.high - rows[i].high) < 1e-9);
	}
}

/* The k-th launch from either end that the interval reaches. */
static void orders(void **state)
{
	static const size_t order[] = { 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2,
					3, 3, 3, 4, 4, 4, 5, 5, 6, 6 };

	(void)state;
	for (size_t n = 1; n <= MOST; n++)
		assert_int_equal(repeat_order(n), order[n]);
}

/* Tables of Student's t, and exact values for one and two degrees of freedom. */
static void quantiles(void **state)
{
	static const struct {
		double probability, freedom, t;
	} rows[] = {
		{ 0.975, 1, 12.706204736 },  { 0.975, 2, 4.302652730 },  { 0.975, 3, 3.182446305 },
		{ 0.975, 5, 2.570581836 },   { 0.95, 1, 6.313751515 },   { 0.95, 4, 2.131846786 },
		{ 0.95, 10, 1.812461123 },   { 0.975, 30, 2.042272456 }, { 0.995, 7, 3.499483297 },
		{ 0.975, 1e6, 1.959966409 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double t = student_quantile(rows[i].probability, rows[i].freedom);

		assert_true(fabs(t - rows[i].t) < 1e-6 * rows[i].t);
		assert_true(fabs(student_probability(t, rows[i].freedom) -
				 2 * (1 - rows[i].probability)) < 1e-9);
	}
	/* Between whole degrees of freedom, between the neighbours' values. */
	assert_true(student_quantile(0.975, 1.4) < 12.7 && student_quantile(0.975, 1.4) > 4.31);
}

/* SplitMix64: Steele, Lea & Flood, OOPSLA 2014. */
static double uniform(uint64_t *seed)
{
	uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return ((double)((z ^ (z >> 31)) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(uint64_t *seed)
{
	double radius = sqrt(-2 * log(uniform(seed)));

	return radius * cos(2 * M_PI * uniform(seed));
}

enum shape { NORMAL, HEAVY, TWO_STATES };

/* One launch of unit spread around a median of zero; two states: a third is 30 % slow. */
static double launch(enum shape shape, uint64_t *seed)
{
	double squares = 0;

	if (shape == TWO_STATES)
		return (uniform(seed) < 0.3 ? 2.1 : 0) + 0.2 * normal(seed);
	if (shape == NORMAL)
		return normal(seed);
	for (int i = 0; i < 3; i++)
		squares += pow(normal(seed), 2);
	/* Student's t of three degrees of freedom, over its standard deviation. */
	return normal(seed) / sqrt(squares);
}

/* Figures of one kind differ in their spread, as an inverse chi-squared of three degrees. */
static double spread_of_figure(double typical, uint64_t *seed)
{
	double squares = 0;

	for (int i = 0; i < REPEAT_WEIGHT; i++)
		squares += pow(normal(seed), 2);
	return typical * sqrt(REPEAT_WEIGHT / squares);
}

/* Percent of `figures` whose interval from n launches holds the level, which is zero. */
static double coverage(enum shape shape, const struct repeat *repeat, size_t n, double *half)
{
	uint64_t seed = 20260709 + 100 * shape + n;
	const int figures = 4000;
	double logs[MOST], held = 0, sum = 0;

	for (int f = 0; f < figures; f++) {
		double spread = spread_of_figure(repeat->spread, &seed);
		struct repeat_interval found;

		for (size_t i = 0; i < n; i++)
			logs[i] = spread * launch(shape, &seed);
		found = repeat_interval(logs, n, repeat, 0.975, 0);
		held += found.low <= 0 && found.high >= 0;
		sum += log((found.high - found.low) / 2 / repeat->spread);
	}
	*half = exp(sum / figures);
	return 100 * held / figures;
}

/* Intervals keep their promise for launches of several shapes. */
static void planted_series_are_held(void **state)
{
	static const size_t counts[] = { 1, 2, 3, 5, 10 };
	static const double widest[] = { 3.3, 2.2, 1.8, 1.3, 0.95 }; /* typical spreads */

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		const struct repeat plain = { 0.01, false }, states = { 0.125, true };
		double half, held;

		held = coverage(NORMAL, &plain, counts[i], &half);
		assert_true(held >= 93 && held <= 97);
		assert_true(half < widest[i]);
		held = coverage(HEAVY, &plain, counts[i], &half);
		assert_true(held >= 93);
		held = coverage(TWO_STATES, &states, counts[i], &half);
		assert_true(held >= 90);
	}
}

/* The table has a row for each kind. */
static void every_kind_has_a_spread(void **state)
{
	(void)state;
	assert_true(isnan(figure_kind_session_spread(FIGURE_KINDS)));
	for (int kind = 0; kind < FIGURE_KINDS; kind++) {
		struct repeat repeat = figure_kind_repeat((enum figure_kind)kind);

		assert_true(kind == FIGURE_EXACT ? repeat.spread == 0 : repeat.spread > 0);
		assert_non_null(figure_kind_name((enum figure_kind)kind));
		if (figure_kind_is_of_host((enum figure_kind)kind))
			assert_true(repeat.states);
	}
}

/* Student's t of 5 degrees of freedom is 2.5706 there. */
static void half_widths_of_levels_are_of_95_percent(void **state)
{
	const struct level_shift known = { .error = 0.01, .freedom = 5 },
				 unknown = { .error = NAN };

	(void)state;
	assert_float_equal(level_half(&known), 0.0257058, 1e-6);
	assert_true(isnan(level_half(&unknown)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(half_widths_of_levels_are_of_95_percent),
		cmocka_unit_test(known_intervals),
		cmocka_unit_test(orders),
		cmocka_unit_test(quantiles),
		cmocka_unit_test(planted_series_are_held),
		cmocka_unit_test(every_kind_has_a_spread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
