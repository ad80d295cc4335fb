/* Comparisons: the words, the intervals behind them, and what is never called a change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "judge/compare.h"
#include "judge/rank.h"
#include "judge_fixture.h"

static void ranks_have_their_exact_distribution(void **state)
{
	(void)state;
	/* Mann & Whitney 1947, table I. */
	assert_float_equal(mann_whitney_probability(3, 3, 0), 0.05, 1e-12);
	assert_float_equal(mann_whitney_probability(4, 4, 0), 1.0 / 70, 1e-12);
	assert_float_equal(mann_whitney_probability(5, 5, 2), 4.0 / 252, 1e-12);
	assert_float_equal(mann_whitney_probability(3, 5, 7), 0.5, 1e-12);
	assert_float_equal(mann_whitney_probability(8, 8, 13), 0.0249, 5e-5);
	assert_float_equal(mann_whitney_probability(6, 6, 36), 1, 1e-12);
	/* The approximation takes over smoothly. */
	assert_float_equal(mann_whitney_probability(25, 25, 211),
			   mann_whitney_probability(25, 26, 219), 2e-3);
}

static void shifts_have_intervals_from_four_values_on(void **state)
{
	static const double a[] = { 1, 2, 3, 4, 5 }, b[] = { 11, 12, 13, 14, 15 };
	double shift, low, high;

	(void)state;
	assert_true(shift_between(a, 5, b, 5, &shift, &low, &high));
	assert_float_equal(shift, 10, 1e-12);
	/* P(U <= 2) = 1.6 %: the third smallest and the third largest of 25 differences. */
	assert_float_equal(low, 7, 1e-12);
	assert_float_equal(high, 13, 1e-12);
	assert_true(shift_between(a, 4, b, 4, &shift, &low, &high));
	assert_float_equal(low, 7, 1e-12);
	assert_false(shift_between(a, 3, b, 5, &shift, &low, &high));
	assert_true(isnan(low) && isnan(high));
	assert_float_equal(shift, 11, 1e-12);
}

static double launch_values[8][2]; /* the relative values of a launch's A and B */

/* Compares `na` launches with `nb`; B's bandwidth is `factor` of A's. */
static void compare(size_t na, size_t nb, double factor, double spread, double clock,
		    struct comparison *out)
{
	struct result a[8], b[8];
	struct comparison_input input = {
		.a = a, .b = b, .a_count = na, .b_count = nb, .margin = 0.01, .launch_spread = 0.005
	};

	for (size_t i = 0; i < 8; i++) {
		double wobble = 1 + spread * ((double)i / 3.5 - 1);

		node_init(&a[i], 1, "NVIDIA H200");
		node_init(&b[i], 1, "NVIDIA H200");
		launch_values[i][0] = 55e9 * wobble;
		launch_values[i][1] = 55e9 * wobble * factor;
		node_add(&a[i], 0, launch_values[i][0], 0.001)->after.sm_clock_hz = 2e9;
		node_add(&b[i], 0, launch_values[i][1], 0.001)->after.sm_clock_hz = 2e9 * clock;
	}
	compare_results(&input, out);
	for (size_t i = 0; i < 8; i++) {
		result_release(&a[i]);
		result_release(&b[i]);
	}
}

static void words_follow_from_interval_and_margin(void **state)
{
	static const struct {
		size_t launches;
		double factor, spread;
		enum change change;
		bool possible;
		int gate;
	} rows[] = {
		{ 5, 1.0, 0.001, CHANGE_SAME, false, 0 },
		{ 5, 0.95, 0.001, CHANGE_REGRESSED, false, 1 },
		{ 5, 1.05, 0.001, CHANGE_IMPROVED, false, 0 },
		{ 5, 0.99, 0.004, CHANGE_INCONCLUSIVE, false, 4 },
		/* Not clear how much better, but not worse. */
		{ 5, 1.01, 0.004, CHANGE_INCONCLUSIVE, false, 0 },
		{ 4, 0.95, 0.001, CHANGE_REGRESSED, false, 1 },
		{ 3, 0.95, 0.001, CHANGE_REGRESSED, true, 4 },
		{ 1, 0.95, 0.001, CHANGE_REGRESSED, true, 4 },
		{ 1, 1.05, 0.001, CHANGE_IMPROVED, true, 4 },
		/* 1 % margin and two launches that repeat to 0.5 %: never "the same". */
		{ 1, 1.0, 0.001, CHANGE_INCONCLUSIVE, true, 4 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct comparison c;

		compare(rows[i].launches, rows[i].launches, rows[i].factor, rows[i].spread, 1, &c);
		assert_int_equal(c.count, 1);
		if (c.rows[0].change != rows[i].change || c.rows[0].possible != rows[i].possible ||
		    comparison_gate(&c) != rows[i].gate)
			fail_msg("row %zu: %s%s, gate %d: %.4f [%.4f, %.4f]", i,
				 c.rows[0].possible ? "possibly " : "",
				 change_name(c.rows[0].change), comparison_gate(&c),
				 c.rows[0].ratio, c.rows[0].low, c.rows[0].high);
		assert_float_equal(c.rows[0].ratio, 1 / rows[i].factor, 0.01);
		comparison_release(&c);
	}
}

static void a_lower_clock_explains_a_lower_speed(void **state)
{
	struct comparison c;

	(void)state;
	compare(5, 5, 0.9, 0.001, 0.9, &c);
	assert_int_equal(c.rows[0].change, CHANGE_REGRESSED);
	assert_float_equal(c.rows[0].normalised, 1, 0.002);
	/* And is named before any number. */
	assert_int_equal(c.difference_count, 1);
	assert_string_equal(c.differences[0].name, "cuda:0 clock under load, mean");
	assert_string_equal(c.differences[0].b, "1.800 GHz");
	comparison_release(&c);
}

static void broken_and_missing_cases_are_named(void **state)
{
	struct comparison_input input = {
		.a_count = 1, .b_count = 1, .margin = 0.01, .launch_spread = 0.005
	};
	struct comparison c;
	struct result a, b;

	(void)state;
	node_init(&a, 3, "NVIDIA H200");
	node_init(&b, 3, "NVIDIA H200");
	node_add(&a, 0, 55e9, 0.001);
	node_add(&a, 1, 55e9, 0.001);
	node_add(&b, 1, NAN, 0.001);
	node_add(&b, 2, 55e9, 0.001);
	input.a = &a;
	input.b = &b;
	compare_results(&input, &c);
	assert_int_equal(c.count, 3);
	assert_int_equal(c.counts[CHANGE_NONE], 3);
	assert_int_equal(comparison_gate(&c), 4);
	assert_string_equal(c.rows[0].reason, "B: does not have this case");
	assert_string_equal(c.rows[1].reason, "B: its value is nan");
	assert_string_equal(c.rows[2].reason, "A: does not have this case");
	comparison_release(&c);
	b.cases[0].status = CASE_FAILED;
	compare_results(&input, &c);
	assert_int_equal(comparison_gate(&c), 5);
	assert_true(c.rows[0].wrong);
	comparison_release(&c);
	result_release(&a);
	result_release(&b);
}

/* An error or an idle share: timed by nobody, and less is better. */
static void make_share(struct case_result *c, double value)
{
	struct metric_value *m = &c->metrics[0];

	m->better = BETTER_LOWER;
	m->value = value;
	m->low = m->high = NAN;
	m->series[0] = '\0';
}

/* A night whose suites also find out what fits, or that nothing is fragmented, must be able to pass. */
static void what_has_no_main_figure_or_is_zero_on_both_sides_keeps_no_gate_open(void **state)
{
	struct result a[5], b[5];
	struct comparison_input input = {
		.a = a, .b = b, .a_count = 5, .b_count = 5, .margin = 0.01, .launch_spread = 0.005
	};
	struct comparison c;

	(void)state;
	for (size_t i = 0; i < 5; i++)
		for (size_t side = 0; side < 2; side++) {
			struct result *r = side ? &b[i] : &a[i];

			node_init(r, 3, "NVIDIA H200");
			node_add(r, 0, 55e9 * (1 + 0.0001 * (double)i), 0.001);
			node_add(r, 1, 55e9, 0.001)->metrics[0].headline = false;
			make_share(node_add(r, 2, 0, 0), 0);
		}
	compare_results(&input, &c);
	assert_int_equal(c.counts[CHANGE_SAME], 2);
	assert_int_equal(c.count, 2);
	assert_int_equal(comparison_gate(&c), 0);
	comparison_release(&c);
	/* Something out of nothing is no ratio, but no reason to pass either. */
	make_share(&b[4].cases[2], 0.1);
	compare_results(&input, &c);
	assert_int_equal(c.counts[CHANGE_NONE], 1);
	assert_int_equal(comparison_gate(&c), 4);
	comparison_release(&c);
	/* A wrong result counts in whichever launch it is. */
	b[3].cases[1].status = CASE_FAILED;
	compare_results(&input, &c);
	assert_int_equal(comparison_gate(&c), 5);
	comparison_release(&c);
	for (size_t i = 0; i < 5; i++) {
		result_release(&a[i]);
		result_release(&b[i]);
	}
}

/* Speeds that are the same are no comfort where memory lost bits: what check says, compare says. */
static void memory_errors_of_the_new_side_are_wrong(void **state)
{
	struct comparison c;
	struct result a[4], b[4];
	struct comparison_input input = {
		.a = a, .b = b, .a_count = 4, .b_count = 4, .margin = 0.01, .launch_spread = 0.005
	};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		node_init(&a[i], 1, "NVIDIA H200");
		node_init(&b[i], 1, "NVIDIA H200");
		node_add(&a[i], 0, 55e9, 0.001);
		node_add(&b[i], 0, 55e9, 0.001);
	}
	b[2].cases[0].before.ecc_uncorrected = 0;
	b[2].cases[0].after.ecc_uncorrected = 1;
	compare_results(&input, &c);
	assert_int_equal(comparison_gate(&c), 5);
	assert_int_equal(c.fault_count, 1);
	assert_string_equal(c.faults[0], "transfer/h2d/pinned/512MiB@cuda:0: "
					 "uncorrected memory errors (ECC) during the case: 1");
	comparison_release(&c);
	/* Of the old side it is past. */
	input.a = b;
	input.b = a;
	compare_results(&input, &c);
	assert_int_equal(comparison_gate(&c), 0);
	comparison_release(&c);
	for (size_t i = 0; i < 4; i++) {
		result_release(&a[i]);
		result_release(&b[i]);
	}
}

static void nothing_to_compare_passes_no_gate(void **state)
{
	struct comparison_input input = {
		.a_count = 1, .b_count = 1, .margin = 0.01, .launch_spread = 0.005
	};
	struct comparison c;
	struct result a, b;

	(void)state;
	node_init(&a, 1, "NVIDIA H200");
	node_init(&b, 1, "NVIDIA H200");
	input.a = &a;
	input.b = &b;
	compare_results(&input, &c);
	assert_int_equal(comparison_gate(&c), 4);
	comparison_release(&c);
	result_release(&a);
	result_release(&b);
}

static void environments_are_compared(void **state)
{
	struct comparison_input input = {
		.a_count = 1, .b_count = 1, .margin = 0.01, .launch_spread = 0.005
	};
	struct comparison c;
	struct result a, b;

	(void)state;
	node_init(&a, 1, "NVIDIA H200");
	node_init(&b, 2, "NVIDIA H200");
	a.environment = xcalloc(1, sizeof(*a.environment));
	a.environment[a.environment_count++] = (struct fact){ xstrdup("driver"), xstrdup("580.1") };
	b.environment = xcalloc(1, sizeof(*b.environment));
	b.environment[b.environment_count++] = (struct fact){ xstrdup("driver"), xstrdup("580.2") };
	a.settings = xcalloc(3, sizeof(*a.settings));
	a.setting_count = 3;
	a.settings[0] = (struct result_setting){ xstrdup("run"), xstrdup("seed"), xstrdup("1"),
						 xstrdup("default") };
	a.settings[1] = (struct result_setting){ xstrdup("report"), xstrdup("title"), xstrdup("x"),
						 xstrdup("default") };
	/* Of a side that another build measured one launch at a time: no difference of what was measured. */
	a.settings[2] = (struct result_setting){ xstrdup("run"), xstrdup("launches"), xstrdup("5"),
						 xstrdup("default") };
	input.a = &a;
	input.b = &b;
	compare_results(&input, &c);
	assert_int_equal(c.difference_count, 3);
	assert_string_equal(c.differences[0].name, "cuda:1");
	assert_string_equal(c.differences[1].name, "driver");
	assert_string_equal(c.differences[1].b, "580.2");
	assert_string_equal(c.differences[2].name, "[run] seed");
	comparison_release(&c);
	result_release(&a);
	result_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_have_their_exact_distribution),
		cmocka_unit_test(shifts_have_intervals_from_four_values_on),
		cmocka_unit_test(words_follow_from_interval_and_margin),
		cmocka_unit_test(a_lower_clock_explains_a_lower_speed),
		cmocka_unit_test(broken_and_missing_cases_are_named),
		cmocka_unit_test(
			what_has_no_main_figure_or_is_zero_on_both_sides_keeps_no_gate_open),
		cmocka_unit_test(memory_errors_of_the_new_side_are_wrong),
		cmocka_unit_test(nothing_to_compare_passes_no_gate),
		cmocka_unit_test(environments_are_compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
