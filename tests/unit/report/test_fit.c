/* The fit of time = alpha + size / beta. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kernels/generator.h"
#include "report/chart/fit.h"

#define ALPHA 6e-6
#define BETA 350e9
#define SIZES 12

static double sizes[SIZES], times[SIZES];

static void make_times(double noise, uint64_t seed)
{
	for (size_t i = 0; i < SIZES; i++) {
		sizes[i] = 1024 * pow(4, (double)i);
		times[i] = (ALPHA + sizes[i] / BETA) *
			   (1 + noise * (double)generator_uniform(seed, i));
	}
}

static bool close_to(double a, double b, double tolerance)
{
	return fabs(a / b - 1) <= tolerance;
}

static void an_exact_line_is_found(void **state)
{
	struct fit fit;

	(void)state;
	make_times(0, 0);
	assert_true(fit_transfer(sizes, times, SIZES, &fit));
	assert_true(close_to(fit.alpha, ALPHA, 1e-9) && close_to(fit.beta, BETA, 1e-9));
	assert_true(fit.alpha_error < 1e-9 * ALPHA && fit.beta_error < 1e-9 * BETA);
	assert_true(fit.worst < 1e-9);
	assert_int_equal(fit.n, SIZES);
}

/* The true values lie within two standard errors about as often as they should (95 %). */
static void the_errors_are_honest(void **state)
{
	int alpha = 0, beta = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 400; seed++) {
		struct fit fit;

		make_times(0.05, seed);
		assert_true(fit_transfer(sizes, times, SIZES, &fit));
		alpha += fabs(fit.alpha - ALPHA) <= 2 * fit.alpha_error;
		beta += fabs(fit.beta - BETA) <= 2 * fit.beta_error;
	}
	assert_in_range(alpha, 340, 398);
	assert_in_range(beta, 340, 398);
}

/* A size at which a library changes its protocol is named, and moves the line little. */
static void an_outlier_is_named(void **state)
{
	struct fit fit;

	(void)state;
	make_times(0.01, 7);
	times[6] *= 2;
	assert_true(fit_transfer(sizes, times, SIZES, &fit));
	assert_true(close_to(fit.alpha, ALPHA, 0.03) && close_to(fit.beta, BETA, 0.03));
	assert_true(fit.worst_size == sizes[6] && close_to(fit.worst, 1, 0.1));
	assert_true(fit.deviation < 0.02);
}

/* Times that start below the line's beginning: an alpha below zero means nothing. */
static void alpha_is_never_negative(void **state)
{
	struct fit fit;

	(void)state;
	make_times(0, 0);
	for (size_t i = 0; i < SIZES; i++)
		times[i] = sizes[i] * sqrt(sizes[i]) * 1e-15;
	assert_true(fit_transfer(sizes, times, SIZES, &fit));
	assert_true(fit.alpha >= 0 && fit.beta > 0);
}

static void nothing_to_fit_is_said(void **state)
{
	struct fit fit;

	(void)state;
	make_times(0, 0);
	assert_false(fit_transfer(sizes, times, 2, &fit));
	times[0] = NAN;
	assert_false(fit_transfer(sizes, times, 3, &fit));
	make_times(0, 0);
	sizes[0] = sizes[1] = sizes[2];
	assert_false(fit_transfer(sizes, times, 3, &fit));
	make_times(0, 0);
	for (size_t i = 0; i < SIZES; i++)
		times[i] = 1 / sizes[i]; /* larger ones are faster: no such model */
	assert_false(fit_transfer(sizes, times, SIZES, &fit));
	assert_false(fit_transfer(sizes, times, 0, &fit));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_exact_line_is_found), cmocka_unit_test(the_errors_are_honest),
		cmocka_unit_test(an_outlier_is_named),    cmocka_unit_test(alpha_is_never_negative),
		cmocka_unit_test(nothing_to_fit_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
