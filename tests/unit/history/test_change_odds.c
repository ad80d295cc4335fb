/*
 * The odds of changes against nights that resemble each other: against the formulas written out,
 * and what a history learns.
 */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/memory.h"
#include "history/change_odds.h"
#include "history/change_points.h"
#include "history/trend.h"
#include "history/trend_prior.h"
#include "sample_nights.h"

enum { NIGHTS = 40, STEP = 23 };

static void wander(double *x, size_t n, double rho, double noise, double step, size_t at,
		   uint64_t *seed)
{
	double deviation = sample_normal(seed);

	for (size_t i = 0; i < n; i++) {
		x[i] = 25 + noise * deviation + (i >= at ? step : 0);
		deviation = rho * deviation + sqrt(1 - rho * rho) * sample_normal(seed);
	}
}

/*
 * Night t of a prewhitened column: the first by sqrt(1 - rho^2), the others less rho times the
 * night before.
 */
static double whitened(const double *column, size_t t, double rho)
{
	return t ? column[t] - rho * column[t - 1] : sqrt(1 - rho * rho) * column[0];
}

/* log m(rho) of the series with one step or none, night by night. */
static double marginal(const double *x, double rho, bool step)
{
	double a = 0, b = 0, d = step ? (1 - rho * rho) / 9 : 1, y1 = 0, y2 = 0, yy = 0;
	double level[NIGHTS], jump[NIGHTS], centred[NIGHTS], determinant, rss, size, sum;

	for (size_t t = 0; t < NIGHTS; t++) {
		level[t] = 1;
		jump[t] = step && t >= STEP;
		centred[t] = x[t] - 25;
	}
	for (size_t t = 0; t < NIGHTS; t++) {
		double l = whitened(level, t, rho), j = whitened(jump, t, rho),
		       y = whitened(centred, t, rho);

		a += l * l;
		b += l * j;
		d += j * j;
		y1 += l * y;
		y2 += j * y;
		yy += y * y;
	}
	determinant = a * d - b * b;
	size = (a * y2 - b * y1) / determinant;
	rss = yy - (d * y1 * y1 - 2 * b * y1 * y2 + a * y2 * y2) / determinant + NIGHTS * 1e-10;
	sum = (log(1 - rho * rho) - log(determinant) - (NIGHTS - 1) * log(rss)) / 2;
	if (step)
		sum += log((1 - rho * rho) / 9) / 2 +
		       log((size * size * (NIGHTS - 1) / rss + a / determinant) * (1 - rho * rho) /
			   9);
	return sum;
}

static void odds_are_those_of_the_formula(void **state)
{
	double x[NIGHTS];

	(void)state;
	for (size_t r = 0; r < CHANGE_RHOS; r += 3) {
		struct rho_weights certain = { { 0 } };
		double odds[1], wanted;
		size_t points[1] = { STEP };

		certain.weight[r] = 1;
		/* No night of these is wild. */
		for (size_t i = 0; i < NIGHTS; i++)
			x[i] = 25 + 0.004 * ((double)(i * (1 + r % 4) % 5) - 2) -
			       (i >= STEP ? 0.02 : 0);
		wanted = marginal(x, change_odds_rho(r), true) -
			 marginal(x, change_odds_rho(r), false);
		change_odds_keep(x, NIGHTS, &certain, wanted - 0.001, points, 1, odds);
		assert_true(fabs(odds[0] - wanted) < 1e-6 * fabs(wanted) + 1e-6);
		assert_int_equal(change_odds_keep(x, NIGHTS, &certain, wanted - 0.001, points, 1,
						  odds),
				 1);
		assert_int_equal(change_odds_keep(x, NIGHTS, &certain, wanted + 0.001, points, 1,
						  odds),
				 0);
	}
}

/* One of two proposals is no change: the other stays, with the odds that it has alone. */
static void only_the_weak_one_goes(void **state)
{
	size_t two[2] = { 10, STEP }, one[1] = { STEP };
	double x[NIGHTS], odds[2], alone[1];
	uint64_t seed = 4;

	(void)state;
	wander(x, NIGHTS, 0, 0.005, -0.03, STEP, &seed);
	assert_int_equal(change_odds_keep(x, NIGHTS, &rho_weights_flat, 5, two, 2, odds), 1);
	assert_int_equal(two[0], STEP);
	assert_int_equal(change_odds_keep(x, NIGHTS, &rho_weights_flat, 5, one, 1, alone), 1);
	assert_true(fabs(odds[0] - alone[0]) < 1e-9);
	/* Weights that take all for memory drop what flat ones keep. */
	wander(x, NIGHTS, 0, 0.01, -0.03, STEP, &seed);
	one[0] = STEP;
	change_odds_keep(x, NIGHTS, &rho_weights_flat, 0, one, 1, alone);
	{
		struct rho_weights certain = { { [CHANGE_RHOS - 1] = 1 } };

		change_odds_keep(x, NIGHTS, &certain, 0, one, 1, odds);
	}
	assert_true(odds[0] < alone[0]);
}

static double mean_rho(const struct rho_weights *weights)
{
	double mean = 0, sum = 0;

	for (size_t r = 0; r < CHANGE_RHOS; r++) {
		mean += weights->weight[r] * change_odds_rho(r);
		sum += weights->weight[r];
	}
	assert_true(fabs(sum - 1) < 1e-9);
	return mean;
}

static void learn(struct trend_prior *prior, const char *section, const char *machine, double rho,
		  double step, uint64_t *seed)
{
	struct history_point points[70];
	struct history_series s = { .section = (char *)section,
				    .machine = (char *)machine,
				    .points = points,
				    .count = 70 };
	double x[70];

	wander(x, 70, rho, 0.01, step, 40, seed);
	for (size_t i = 0; i < 70; i++)
		points[i] =
			(struct history_point){ .day = (int64_t)i, .epoch = 1, .value = exp(x[i]) };
	trend_prior_add(prior, &s);
}

/* Each suite on each machine has its own; steps are not taken for memory; nothing known is flat. */
static void alike_series_share_what_they_know(void **state)
{
	struct trend_prior prior = { 0 };
	struct history_series s = { .section = (char *)"alloc", .machine = (char *)"m1" };
	uint64_t seed = 2;

	(void)state;
	for (size_t i = 0; i < 60; i++) {
		learn(&prior, "alloc", "m1", 0.7, 0, &seed);
		learn(&prior, "alloc", "m2", 0, 0, &seed);
		learn(&prior, "transfer", "m1", 0, -0.05, &seed);
	}
	trend_prior_finish(&prior);
	assert_int_equal(prior.series, 180);
	assert_int_equal(prior.count, 3);
	assert_true(fabs(mean_rho(trend_prior_weights(&prior, &s)) - 0.7) < 0.07);
	s.machine = (char *)"m2";
	assert_true(mean_rho(trend_prior_weights(&prior, &s)) < 0.07);
	s = (struct history_series){ .section = (char *)"transfer", .machine = (char *)"m1" };
	assert_true(mean_rho(trend_prior_weights(&prior, &s)) < 0.07);
	s.machine = (char *)"m3";
	assert_ptr_equal(trend_prior_weights(&prior, &s), &rho_weights_flat);
	assert_ptr_equal(trend_prior_weights(NULL, &s), &rho_weights_flat);
	trend_prior_release(&prior);
}

/*
 * Epochs of no, one and two nights, and nights that are exactly alike, are no arithmetic that
 * fails.
 */
static void few_and_equal_nights(void **state)
{
	struct history_point points[30];
	struct history_series s = { .case_id = (char *)"a/b",
				    .machine = (char *)"",
				    .points = points };
	struct trend_prior prior = { 0 };
	struct trend *trends;

	(void)state;
	for (size_t n = 1; n <= 30; n++) {
		for (size_t i = 0; i < n; i++)
			points[i] = (struct history_point){ .day = (int64_t)i,
							    .epoch = 1,
							    .value = i < 15 ? 1e9 : 2e9 };
		points[0].value = n == 1 ? NAN : 1e9;
		s.count = n;
		trend_prior_add(&prior, &s);
	}
	trend_prior_finish(&prior);
	mean_rho(trend_prior_weights(&prior, &s));
	assert_int_equal(trend_of_series(&s, NULL, &prior, &trends), 1);
	assert_int_equal(trends[0].change_count, 1);
	assert_int_equal(trends[0].changes[0].at, 15);
	assert_true(isfinite(trends[0].changes[0].odds) && trends[0].changes[0].odds > 50);
	trends_release(trends, 1);
	/* Values that a file from elsewhere may hold. */
	points[3].value = INFINITY;
	points[4].value = DBL_MAX;
	points[5].value = DBL_TRUE_MIN;
	points[6].value = -1;
	trend_prior_add(&prior, &s);
	trend_prior_finish(&prior);
	mean_rho(trend_prior_weights(&prior, &s));
	assert_int_equal(trend_of_series(&s, NULL, &prior, &trends), 1);
	assert_int_equal(trends[0].count, 28);
	for (size_t i = 0; i < trends[0].change_count; i++)
		assert_true(isfinite(trends[0].changes[i].odds));
	trends_release(trends, 1);
	trend_prior_release(&prior);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(odds_are_those_of_the_formula),
		cmocka_unit_test(only_the_weak_one_goes),
		cmocka_unit_test(alike_series_share_what_they_know),
		cmocka_unit_test(few_and_equal_nights),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
