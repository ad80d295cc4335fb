/* Von Neumann's ratio: known values, and correlations of simulated series found again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "random.h"
#include "stats/neumann.h"

#define SERIES 4000

static void known_ratios(void **state)
{
	static const double wave[] = { 1, 2, 1, 2 }, line[] = { 1, 2, 3, 4 }, flat[] = { 5, 5, 5 };

	(void)state;
	/* Steps 1, 1, 1; squares 4 x 0.25. */
	assert_float_equal(neumann_ratio(wave, 4), 1.5, 1e-12);
	/* Steps 1, 1, 1; squares 2 x (2.25 + 0.25). */
	assert_float_equal(neumann_ratio(line, 4), 0.3, 1e-12);
	assert_true(isnan(neumann_ratio(flat, 3)));
	assert_true(isnan(neumann_ratio(wave, 2)));
}

/* Means of 400,000 simulated series by an independent program, right to 0.001. */
static void expectation_is_that_of_simulated_series(void **state)
{
	static const struct {
		size_t n;
		double rho, expected;
	} rows[] = {
		{ 3, 0.6, 0.9147 },  { 4, 0.6, 0.8395 },   { 5, -0.5, 1.2098 }, { 5, 0, 1 },
		{ 5, 0.3, 0.8847 },  { 5, 0.6, 0.7811 },   { 5, 0.9, 0.6905 },  { 10, 0.6, 0.6212 },
		{ 20, 0.3, 0.7567 }, { 20, 0.9, 0.29456 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double found = neumann_expectation(rows[i].rho, rows[i].n);

		assert_float_equal(found, rows[i].expected, 1e-3);
		assert_float_equal(neumann_correlation(found, rows[i].n), rows[i].rho, 1e-5);
	}
	/* Beyond what any correlation gives. */
	assert_float_equal(neumann_correlation(3, 5), -0.95, 1e-5);
	assert_float_equal(neumann_correlation(0, 5), 0.95, 1e-5);
}

/* Short series have no bias: five values of correlation 0.6 are not taken for 0.4. */
static void correlation_of_short_series_has_no_bias(void **state)
{
	static const double rhos[] = { -0.3, 0, 0.6, 0.8 };

	(void)state;
	for (size_t k = 0; k < 4; k++) {
		double sum = 0, x[5];

		seed = 7 + k;
		for (size_t i = 0; i < SERIES; i++) {
			x[0] = normal();
			for (size_t j = 1; j < 5; j++)
				x[j] = rhos[k] * x[j - 1] + sqrt(1 - rhos[k] * rhos[k]) * normal();
			sum += neumann_ratio(x, 5) / SERIES;
		}
		assert_float_equal(neumann_correlation(sum, 5), rhos[k], 0.05);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_ratios),
		cmocka_unit_test(expectation_is_that_of_simulated_series),
		cmocka_unit_test(correlation_of_short_series_has_no_bias),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
