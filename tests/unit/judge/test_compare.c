/* Comparisons: the words, their intervals, and what is never called a change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "compare/compare.h"
#include "case_point.h"
#include "compare/comparing.h"
#include "stats/shift.h"
#include "stats/rank.h"
#include "judge_fixture.h"

static void ranks_have_their_exact_distribution(void **state)
{
	(void)state;
	/* Mann & Whitney 1947, table I. */
	assert_float_equal(stats_rank_mann_whitney_probability(3, 3, 0), 0.05, 1e-12);
	assert_float_equal(stats_rank_mann_whitney_probability(4, 4, 0), 1.0 / 70, 1e-12);
	assert_float_equal(stats_rank_mann_whitney_probability(5, 5, 2), 4.0 / 252, 1e-12);
	assert_float_equal(stats_rank_mann_whitney_probability(3, 5, 7), 0.5, 1e-12);
	assert_float_equal(stats_rank_mann_whitney_probability(8, 8, 13), 0.0249, 5e-5);
	assert_float_equal(stats_rank_mann_whitney_probability(6, 6, 36), 1, 1e-12);
	/* The approximation takes over smoothly. */
	assert_float_equal(stats_rank_mann_whitney_probability(25, 25, 211),
			   stats_rank_mann_whitney_probability(25, 26, 219), 2e-3);
}

static void shifts_have_intervals_from_four_values_on(void **state)
{
	static const double a[] = { 1, 2, 3, 4, 5 }, b[] = { 11, 12, 13, 14, 15 };
	double shift, low, high;

	(void)state;
	assert_true(stats_rank_shift_between(a, 5, b, 5, 0.025, &shift, &low, &high));
	assert_float_equal(shift, 10, 1e-12);
	/* P(U <= 2) = 1.6 %: the third smallest and the third largest of 25 differences. */
	assert_float_equal(low, 7, 1e-12);
	assert_float_equal(high, 13, 1e-12);
	assert_true(stats_rank_shift_between(a, 4, b, 4, 0.025, &shift, &low, &high));
	assert_float_equal(low, 7, 1e-12);
	assert_false(stats_rank_shift_between(a, 3, b, 5, 0.025, &shift, &low, &high));
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
	assert_int_equal(compare_results(&input, out, &(struct error)ERROR_NONE), STATUS_OK);
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
		{ 5, 1.0, 0.001, CHANGE_UNCHANGED, false, 0 },
		{ 5, 0.95, 0.001, CHANGE_REGRESSED, false, 1 },
		{ 5, 1.05, 0.001, CHANGE_IMPROVED, false, 0 },
		{ 5, 0.99, 0.004, CHANGE_INCONCLUSIVE, false, 4 },
		/* Not clear how much better, but not worse. */
		{ 5, 1.01, 0.004, CHANGE_INCONCLUSIVE, false, 0 },
		{ 4, 0.95, 0.001, CHANGE_REGRESSED, false, 1 },
		{ 3, 0.95, 0.001, CHANGE_REGRESSED, true, 4 },
		{ 1, 0.95, 0.001, CHANGE_REGRESSED, true, 4 },
		{ 1, 1.05, 0.001, CHANGE_IMPROVED, true, 4 },
		/* 1 % margin and two launches that repeat to 0.5 %: never UNCHANGED. */
		{ 1, 1.0, 0.001, CHANGE_INCONCLUSIVE, false, 4 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct comparison c;

		compare(rows[i].launches, rows[i].launches, rows[i].factor, rows[i].spread, 1, &c);
		assert_int_equal(c.count, 1);
		if (c.rows[0].change != rows[i].change || c.rows[0].possible != rows[i].possible ||
		    compare_whole_gate(&c) != rows[i].gate)
			fail_msg("row %zu: %s%s, gate %d: %.4f [%.4f, %.4f]", i,
				 c.rows[0].possible ? "possibly " : "",
				 compare_change_name(c.rows[0].change), compare_whole_gate(&c),
				 c.rows[0].ratio, c.rows[0].low, c.rows[0].high);
		assert_float_equal(c.rows[0].ratio, 1 / rows[i].factor, 0.01);
		compare_json_comparison_release(&c);
	}
}

static void a_lower_clock_explains_a_lower_speed(void **state)
{
	struct comparison c;

	(void)state;
	compare(5, 5, 0.9, 0.001, 0.9, &c);
	assert_int_equal(c.rows[0].change, CHANGE_REGRESSED);
	assert_float_equal(c.rows[0].at_same_clock, 1, 0.002);
	/* And is named before any number. */
	assert_int_equal(c.difference_count, 1);
	assert_string_equal(c.differences[0].name, "cuda:0 mean clock under load");
	assert_string_equal(c.differences[0].b, "1.800 GHz");
	compare_json_comparison_release(&c);
}

static void clocks_within_a_percent_are_alike(void **state)
{
	struct comparison c;

	(void)state;
	compare(5, 5, 1, 0.001, 1.009, &c);
	assert_int_equal(c.difference_count, 0);
	compare_json_comparison_release(&c);
	compare(5, 5, 1, 0.001, 1.011, &c);
	assert_int_equal(c.difference_count, 1);
	compare_json_comparison_release(&c);
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
	assert_int_equal(compare_results(&input, &c, &(struct error)ERROR_NONE), STATUS_OK);
	assert_int_equal(c.count, 3);
	assert_int_equal(c.counts[CHANGE_NONE], 3);
	assert_int_equal(compare_whole_gate(&c), 4);
	assert_string_equal(c.rows[0].reason, "B: does not have this case");
	assert_string_equal(c.rows[1].reason, "B: the value is nan");
	assert_string_equal(c.rows[2].reason, "A: does not have this case");
	compare_json_comparison_release(&c);
	b.cases[0].status = CASE_FAILED;
	assert_int_equal(compare_results(&input, &c, &(struct error)ERROR_NONE), STATUS_OK);
	assert_int_equal(compare_whole_gate(&c), 5);
	assert_true(c.rows[0].wrong);
	compare_json_comparison_release(&c);
	result_release(&a);
	result_release(&b);
}

/* An error or an idle share: not timed, and less is better. */
static void make_share(struct case_result *c, double value)
{
	struct metric_value *m = &c->metrics[0];

	m->better = BETTER_LOWER;
	m->value = value;
	m->low = m->high = NAN;
	m->series[0] = '\0';
}

/*
 * A night whose suites also find out what fits, or that nothing is fragmented, must be able to
 * pass.
 */
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
	assert_int_equal(compare_results(&input, &c, &(struct error)ERROR_NONE), STATUS_OK);
	assert_int_equal(c.counts[CHANGE_UNCHANGED], 2);
	assert_int_equal(c.count, 2);
	assert_int_equal(compare_whole_gate(&c), 0);
	compare_json_comparison_release(&c);
	/* Something out of nothing is no ratio, but no reason to pass either. */
	make_share(&b[4].cases[2], 0.1);
	assert_int_equal(compare_results(&input, &c, &(struct error)ERROR_NONE), STATUS_OK);
	assert_int_equal(c.counts[CHANGE_NONE], 1);
	assert_int_equal(compare_whole_gate(&c), 4);
	compare_json_comparison_release(&c);
	/* A wrong result counts in whichever launch it is. */
	b[3].cases[1].status = CASE_FAILED;
	assert_int_equal(compare_results(&input, &c, &(struct error)ERROR_NONE), STATUS_OK);
	assert_int_equal(compare_whole_gate(&c), 5);
	compare_json_comparison_release(&c);
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
	assert_int_equal(compare_results(&input, &c, &(struct error)ERROR_NONE), STATUS_OK);
	assert_int_equal(compare_whole_gate(&c), 5);
	assert_int_equal(c.fault_count, 1);
	assert_string_equal(c.faults[0], "transfer/h2d/pinned/512MiB@cuda:0: 1 uncorrected memory "
					 "error (ECC) during the case; 0 are allowed");
	compare_json_comparison_release(&c);
	/* For the old side it is past. */
	input.a = b;
	input.b = a;
	assert_int_equal(compare_results(&input, &c, &(struct error)ERROR_NONE), STATUS_OK);
	assert_int_equal(compare_whole_gate(&c), 0);
	compare_json_comparison_release(&c);
	for (size_t i = 0; i < 4; i++) {
		result_release(&a[i]);
		result_release(&b[i]);
	}
}

/*
 * A series that drifted to the end of its time is no figure; that it is missing is said on
 * whichever side.
 */
static void what_has_not_settled_is_not_compared(void **state)
{
	(void)state;
	for (int sides = 1; sides <= 3; sides++) {
		struct result r[2];
		struct comparison_input input = { .a = &r[0],
						  .b = &r[1],
						  .a_count = 1,
						  .b_count = 1,
						  .margin = 0.01,
						  .launch_spread = 0.005 };
		struct comparison c;

		for (int side = 0; side < 2; side++) {
			struct case_result *k;

			node_init(&r[side], 1, "NVIDIA H200");
			k = node_add(&r[side], 0, 55e9, 0.001);
			case_result_add_times(k, "transfer.time")->unsettled = sides >> side & 1;
			k->metrics[0].headline = !(sides >> side & 1);
		}
		assert_int_equal(compare_results(&input, &c, &(struct error)ERROR_NONE), STATUS_OK);
		assert_int_equal(c.count, 1);
		assert_int_equal(c.rows[0].change, CHANGE_NONE);
		assert_non_null(
			strstr(c.rows[0].reason, sides & 2 ? "B: not settled" : "A: not settled"));
		assert_int_equal(compare_whole_gate(&c), 4);
		compare_json_comparison_release(&c);
		result_release(&r[0]);
		result_release(&r[1]);
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
	assert_int_equal(compare_results(&input, &c, &(struct error)ERROR_NONE), STATUS_OK);
	assert_int_equal(compare_whole_gate(&c), 4);
	compare_json_comparison_release(&c);
	result_release(&a);
	result_release(&b);
}

/* Cards that swapped their slots are compared with themselves; others by their number. */
static void devices_are_compared_by_uuid(void **state)
{
	struct result a, b;
	struct comparison_input input = {
		.a = &a, .b = &b, .a_count = 1, .b_count = 1, .margin = 0.01, .launch_spread = 0.005
	};
	struct comparison c;

	(void)state;
	for (int swapped = 0; swapped < 2; swapped++) {
		node_init(&a, 2, "NVIDIA H200");
		node_init(&b, 2, "NVIDIA H200");
		for (int d = 0; d < 2; d++) {
			snprintf(a.devices[d].uuid, sizeof(a.devices[d].uuid), "GPU-%d", d);
			snprintf(b.devices[d].uuid, sizeof(b.devices[d].uuid), "%s-%d",
				 swapped ? "GPU" : "other", 1 - d);
			node_add(&a, d, d ? 44e9 : 55e9, 0.001);
			node_add(&b, d, d ? 55e9 : 44e9, 0.001);
		}
		assert_int_equal(compare_results(&input, &c, &(struct error)ERROR_NONE), STATUS_OK);
		assert_int_equal(c.count, 2);
		for (size_t i = 0; i < c.count; i++) {
			assert_int_equal(fabs(c.rows[i].ratio - 1) < 0.01, swapped);
			assert_int_equal(strcmp(c.rows[i].devices, c.rows[i].devices_b) != 0,
					 swapped);
		}
		compare_json_comparison_release(&c);
		result_release(&a);
		result_release(&b);
	}
}

/* The number of launches that decides half of what more launches decide. */
static void open_comparisons_have_advice(void **state)
{
	struct comparison c;

	(void)state;
	compare(5, 5, 1, 0.03, 1, &c);
	assert_int_equal(c.counts[CHANGE_INCONCLUSIVE], 1);
	assert_true(c.rows[0].launches_needed > 5);
	assert_non_null(
		strstr(c.advice, "to decide 1 of the 1 inconclusive figures, repeat both with"));
	compare_json_comparison_release(&c);
	compare(1, 1, 0.95, 0, 1, &c);
	assert_non_null(strstr(c.advice, "repeat both with --launches 5"));
	compare_json_comparison_release(&c);
	compare(5, 5, 1, 0.001, 1, &c);
	assert_string_equal(c.advice, "");
	compare_json_comparison_release(&c);
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
	/*
	 * A side that another build measured one launch at a time: no difference of what was
	 * measured.
	 */
	a.settings[2] = (struct result_setting){ xstrdup("run"), xstrdup("launches"), xstrdup("5"),
						 xstrdup("default") };
	input.a = &a;
	input.b = &b;
	assert_int_equal(compare_results(&input, &c, &(struct error)ERROR_NONE), STATUS_OK);
	assert_int_equal(c.difference_count, 3);
	assert_string_equal(c.differences[0].name, "cuda:1");
	assert_string_equal(c.differences[1].name, "driver");
	assert_string_equal(c.differences[1].b, "580.2");
	/* A section of one side only is one line, however many keys it has. */
	assert_string_equal(c.differences[2].name, "[run]");
	assert_string_equal(c.differences[2].b, COMPARE_MISSING);
	compare_json_comparison_release(&c);
	b.settings = xcalloc(1, sizeof(*b.settings));
	b.setting_count = 1;
	b.settings[0] = (struct result_setting){ xstrdup("run"), xstrdup("seed"), xstrdup("2"),
						 xstrdup("config") };
	assert_int_equal(compare_results(&input, &c, &(struct error)ERROR_NONE), STATUS_OK);
	assert_int_equal(c.difference_count, 3);
	assert_string_equal(c.differences[2].name, "[run] seed");
	compare_json_comparison_release(&c);
	result_release(&a);
	result_release(&b);
}

/* Settings that change the measurement are differences; labels, titles and limits are not. */
static void settings_that_change_the_measurement_are_differences(void **state)
{
	static const struct {
		const char *section, *key, *name; /* name NULL: no difference */
	} rows[] = {
		{ "run", "seed", "[run] seed" },
		{ "run", "launches", NULL },
		{ "run", "launch_target", NULL },
		{ "run", "launches_most", NULL },
		{ "suite a", "launches", "[suite a] launches" },
		{ "suite a", "size", "[suite a] size" },
		{ "defaults", "max_time", "[defaults] max_time" },
		{ "run", "label", NULL },
		{ "run", "verdict", NULL },
		{ "report", "seed", NULL },
		{ "limit", "min", NULL },
		{ "limit stream", "min", NULL },
		{ "limi", "min", "[limi] min" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct comparison_input input = { .a_count = 1, .b_count = 1, .margin = 0.01 };
		struct result sides[2];
		struct comparison c;

		for (size_t k = 0; k < 2; k++) {
			node_init(&sides[k], 1, "NVIDIA H200");
			sides[k].settings = xcalloc(1, sizeof(*sides[k].settings));
			sides[k].settings[sides[k].setting_count++] = (struct result_setting){
				xstrdup(rows[i].section), xstrdup(rows[i].key),
				xstrdup(k ? "new" : "old"), xstrdup("config")
			};
		}
		input.a = &sides[0];
		input.b = &sides[1];
		assert_int_equal(compare_results(&input, &c, &(struct error)ERROR_NONE), STATUS_OK);
		assert_int_equal(c.difference_count, rows[i].name != NULL);
		if (rows[i].name) {
			assert_string_equal(c.differences[0].name, rows[i].name);
			assert_string_equal(c.differences[0].a, "old");
			assert_string_equal(c.differences[0].b, "new");
		}
		compare_json_comparison_release(&c);
		result_release(&sides[0]);
		result_release(&sides[1]);
	}
}

/* Probability of chance of the one slower figure among `figures`; the others differ by `noise`. */
static double chance_among(size_t figures, double noise)
{
	struct comparison_input input = { .a_count = 5, .b_count = 5, .launch_spread = 0.005 };
	struct result sides[10];
	struct comparison c;
	double probability;

	for (size_t k = 0; k < 10; k++) {
		node_init(&sides[k], 1, "NVIDIA H200");
		for (size_t f = 0; f < figures; f++) {
			double own = f ? noise * sin((double)(3 * k + f)) : k < 5 ? 0 : -0.03;
			struct case_result *added =
				node_add(&sides[k], 0, 55e9 * (1 + own + 0.004 * (double)(k % 5)),
					 0.001);

			free(added->id);
			added->id = xasprintf("transfer/figure %zu@cuda:0", f);
		}
	}
	input.a = &sides[0];
	input.b = &sides[5];
	assert_int_equal(compare_results(&input, &c, &(struct error)ERROR_NONE), STATUS_OK);
	assert_int_equal(c.count, figures);
	assert_int_equal(c.rows[0].change, CHANGE_REGRESSED);
	for (size_t f = 1; f < figures; f++)
		assert_int_equal(c.rows[f].change,
				 noise > 0 ? CHANGE_INCONCLUSIVE : CHANGE_UNCHANGED);
	probability = c.rows[0].probability;
	compare_json_comparison_release(&c);
	for (size_t k = 0; k < 10; k++)
		result_release(&sides[k]);
	return probability;
}

/* Holm: the clearest of n figures has n times its own probability, whatever the others show. */
static void all_compared_figures_share_the_error(void **state)
{
	double alone = chance_among(1, 0);

	(void)state;
	assert_true(alone > 0 && alone < 0.01);
	for (size_t figures = 2; figures < 5; figures++) {
		assert_float_equal(chance_among(figures, 0) / alone, (double)figures, 1e-9);
		assert_float_equal(chance_among(figures, 0.1) / alone, (double)figures, 1e-9);
	}
}

/* Counted bytes are compared by the worst launch of each side; above 1 is worse. */
static void exact_figures_are_compared_by_the_worst_launch(void **state)
{
	static const struct {
		enum better better;
		double a[2], b[2], ratio;
		enum change change;
	} rows[] = {
		{ BETTER_LOWER, { 90, 100 }, { 120, 125 }, 1.25, CHANGE_REGRESSED },
		{ BETTER_LOWER, { 120, 125 }, { 90, 100 }, 0.8, CHANGE_IMPROVED },
		{ BETTER_HIGHER, { 125, 130 }, { 100, 110 }, 1.25, CHANGE_REGRESSED },
		{ BETTER_HIGHER, { 100, 110 }, { 125, 130 }, 0.8, CHANGE_IMPROVED },
		{ BETTER_LOWER, { 100, 100 }, { 100, 100 }, 1, CHANGE_UNCHANGED },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct comparison_input input = { .a_count = 2, .b_count = 2, .margin = 0.01 };
		struct result sides[4];
		struct comparison c;

		for (size_t k = 0; k < 4; k++) {
			struct metric_value *m;

			node_init(&sides[k], 1, "NVIDIA H200");
			m = node_add(&sides[k], 0, (k < 2 ? rows[i].a : rows[i].b)[k % 2], 0)
				    ->metrics;
			free(m->unit);
			m->unit = xstrdup("B");
			free(m->series);
			m->series = xstrdup("");
			m->better = rows[i].better;
		}
		input.a = &sides[0];
		input.b = &sides[2];
		assert_int_equal(compare_results(&input, &c, &(struct error)ERROR_NONE), STATUS_OK);
		assert_int_equal(c.count, 1);
		assert_float_equal(c.rows[0].ratio, rows[i].ratio, 1e-9);
		assert_int_equal(c.rows[0].change, rows[i].change);
		compare_json_comparison_release(&c);
		for (size_t k = 0; k < 4; k++)
			result_release(&sides[k]);
	}
}

/* Below four values on a side there is a shift and no interval. */
static void few_values_have_a_shift_alone(void **state)
{
	static const double values[] = { 1, 2, 3, 4, 6 };
	double shift, low = 0, high = 0;

	(void)state;
	for (size_t m = 1; m <= 5; m++)
		for (size_t n = 1; n <= 5; n++) {
			bool there = stats_rank_shift_between(values, m, values, n, 0.025, &shift,
							      &low, &high);

			assert_int_equal(there, m >= 4 && n >= 4);
			assert_int_equal(isnan(low) && isnan(high), !there);
			assert_true(m != n || shift == 0);
			assert_true(!there || (low <= shift && shift <= high));
		}
}

static void signed_ranks_have_their_exact_distribution(void **state)
{
	/*
	 * Wilcoxon 1945: of five pairs all positive once in 32, of six once in 64; sums of 2 and
	 * less of eight: 3/256.
	 */
	static const double five[] = { 1, 2, 3, 4, 5 }, eight[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	double shift, low, high;

	(void)state;
	assert_false(stats_rank_shift_of_pairs(five, 5, 0.025, &shift, &low, &high));
	assert_float_equal(shift, 3, 1e-12);
	assert_true(isnan(low) && isnan(high));
	assert_true(stats_rank_shift_of_pairs(five, 5, 0.05, &shift, &low, &high));
	assert_float_equal(low, 1, 1e-12);
	assert_float_equal(high, 5, 1e-12);
	/*
	 * P(W <= 3) = 5/256 is within 2.5 %, P(W <= 4) = 7/256 is not: the fourth smallest mean, of
	 * 1, 1.5, 2, 2.
	 */
	assert_true(stats_rank_shift_of_pairs(eight, 8, 0.025, &shift, &low, &high));
	assert_float_equal(low, 2, 1e-12);
	assert_float_equal(high, 7, 1e-12);
	assert_float_equal(shift, 4.5, 1e-12);
}

/*
 * Differences between visits are in every interval, but not where both sides belong to one visit.
 */
static void visits_widen_intervals_unless_in_turns(void **state)
{
	static const double a[] = { 0, 0.001, -0.001, 0.002, -0.002 };
	static const double b[] = { 0.02, 0.021, 0.019, 0.022, 0.018 };
	struct shift_input in = { .a = a,
				  .b = b,
				  .a_count = 5,
				  .b_count = 5,
				  .launch_spread = 0.005,
				  .resemblance = 1,
				  .visit_freedom = INFINITY };
	struct shift one, two, turns;

	(void)state;
	one = shift_measure(&in);
	assert_float_equal(one.value, 0.02, 1e-12);
	assert_float_equal(one.low, 0.017, 1e-12);
	in.visit_spread = 0.01;
	two = shift_measure(&in);
	assert_float_equal(two.value - two.low, hypot(0.003, 1.96 * M_SQRT2 * 0.01), 1e-5);
	assert_float_equal(two.high - two.value, two.value - two.low, 1e-12);
	assert_true(two.value - two.low_each < two.value - two.low);
	assert_true(shift_probability_above(&one, 0.01) < 0.02);
	assert_true(shift_probability_above(&two, 0.01) > 0.2);
	/* Learnt from few nights it is less certain. */
	in.visit_freedom = 7;
	assert_true(shift_measure(&in).low < two.low);
	/* In turns every pair differs by the same. */
	in.turns = true;
	turns = shift_measure(&in);
	/* The interval of one side is never the wider one, whatever it is made of. */
	for (size_t n = 4; n <= 5; n++) {
		static const double late[] = { 0.02, 0.021, 0.019, 0.03, 0.011 };
		struct shift wide;

		in.b = late;
		in.a_count = in.b_count = n;
		wide = shift_measure(&in);
		assert_true(wide.low <= wide.low_each && wide.high_each <= wide.high);
		in.b = b;
	}
	in.a_count = in.b_count = 5;
	assert_float_equal(turns.low, 0.02, 1e-12);
	assert_true(shift_probability_above(&turns, 0.01) < 0.02);
	/* Too few launches show nothing, and are never clear. */
	in.turns = false;
	in.a_count = 3;
	in.few_half = 0.001;
	assert_false(shift_measure(&in).shown);
	one = shift_measure(&in);
	assert_float_equal(shift_probability_above(&one, 0.01), 1, 0);
}

static void launches_needed_follow_from_both_spreads(void **state)
{
	(void)state;
	/* A spread that launches can average away, and one of visits that they can't. */
	assert_int_equal(shift_launches_needed(0.001, 1, 0, 0.01), 4);
	assert_in_range(shift_launches_needed(0.01, 1, 0, 0.01), 17, 21);
	assert_true(shift_launches_needed(0.01, 2, 0, 0.01) >
		    3 * shift_launches_needed(0.01, 1, 0, 0.01));
	assert_true(shift_launches_needed(0.01, 1, 0.002, 0.01) >
		    shift_launches_needed(0.01, 1, 0, 0.01));
	assert_int_equal(shift_launches_needed(0.001, 1, 0.2, 0.01), 0);
}

/*
 * `count` cases of either side, five launches; those from `first` on are `factor` times as fast in
 * B.
 */
struct night {
	struct result a[5], b[5];
	struct comparison_input input;
};

static void night_init(struct night *n, size_t count, size_t first, double factor)
{
	static const double wobble[2][5] = { { 0, 2e-3, -2e-3, 1e-3, -1e-3 },
					     { 1e-3, -2e-3, 0, 2e-3, -1e-3 } };

	*n = (struct night){ 0 };
	n->input = (struct comparison_input){ .a = n->a,
					      .b = n->b,
					      .a_count = 5,
					      .b_count = 5,
					      .margin = 0.01,
					      .launch_spread = 0.005 };
	for (size_t l = 0; l < 5; l++) {
		node_init(&n->a[l], count, "NVIDIA H200");
		node_init(&n->b[l], count, "NVIDIA H200");
		for (size_t i = 0; i < count; i++) {
			node_add(&n->a[l], i, 55e9 * (1 + wobble[i % 2][l]), 0.001);
			node_add(&n->b[l], i,
				 55e9 * (1 + wobble[(i + 1) % 2][l]) * (i < first ? 1 : factor),
				 0.001);
		}
	}
}

static void night_release(struct night *n)
{
	for (size_t l = 0; l < 5; l++) {
		result_release(&n->a[l]);
		result_release(&n->b[l]);
	}
}

static void night_compare(struct night *n, struct comparison *c)
{
	assert_int_equal(compare_results(&n->input, c, &(struct error)ERROR_NONE), STATUS_OK);
}

/* A change that is clear by itself is one of many where many were looked at. */
static void the_error_is_shared_by_all_figures(void **state)
{
	static const struct {
		size_t cases;
		double factor;
		bool possible;
		int gate;
	} rows[] = {
		{ 1, 0.97, false, 1 },
		{ 200, 0.97, false, 1 },
		{ 1, 0.983, false, 1 },
		{ 200, 0.983, true, 4 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct comparison c;
		struct night n;

		night_init(&n, rows[i].cases, rows[i].cases - 1, rows[i].factor);
		night_compare(&n, &c);
		assert_int_equal(c.rows[0].change, CHANGE_REGRESSED);
		assert_int_equal(c.counts[CHANGE_REGRESSED], 1);
		if (c.rows[0].possible != rows[i].possible ||
		    compare_whole_gate(&c) != rows[i].gate)
			fail_msg("row %zu: %d, gate %d, probability %g", i, c.rows[0].possible,
				 compare_whole_gate(&c), c.rows[0].probability);
		assert_true(rows[i].possible == (c.rows[0].probability > COMPARE_ERROR));
		assert_true(rows[i].possible == (*c.rows[0].reason != '\0'));
		compare_json_comparison_release(&c);
		night_release(&n);
	}
}

/* Makes all figures of a side page-able copies, and gives it a yardstick. */
static void make_host_bound(struct result *r, double yardstick)
{
	for (size_t i = 0; i < r->case_count; i++) {
		free(r->cases[i].parameters[1].text);
		r->cases[i].parameters[1].text = xstrdup("pageable");
	}
	if (!(yardstick > 0))
		return;
	r->yardstick = xcalloc(1, sizeof(*r->yardstick));
	r->yardstick_count = r->yardstick_capacity = 1;
	r->yardstick[0] = (struct metric_value){ .name = xstrdup("host.call"),
						 .unit = xstrdup("s"),
						 .better = BETTER_LOWER,
						 .value = yardstick,
						 .low = NAN,
						 .high = NAN,
						 .series = xstrdup("") };
}

/* Two visits to a host in two states: one finding, no regression; in one visit it would be one. */
static void a_shift_of_the_host_is_one_finding(void **state)
{
	static const struct {
		double factor, yardstick_a, yardstick_b;
		bool turns;
		size_t certain;
		const char *finding;
	} rows[] = {
		{ 0.7, 0, 0, false, 0, "no host reference was recorded to tell which" },
		{ 0.7, 2e-7, 2.9e-7, false, 0, "its reference is 1.45 times as slow" },
		{ 0.7, 2e-7, 2e-7, false, 0, "not the host, whose reference is 1 times as slow" },
		/* Four times as slow, and the host is not: that is no state of it. */
		{ 0.25, 2e-7, 2e-7, false, 8, "not the host" },
		{ 0.25, 2e-7, 8e-7, false, 0, "its reference is 4 times as slow" },
		{ 0.25, 0, 0, false, 0, "no host reference was recorded" },
		{ 0.7, 2e-7, 2e-7, true, 8, "" },
		{ 1, 2e-7, 2.9e-7, false, 0, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct comparison c;
		size_t certain = 0;
		struct night n;

		night_init(&n, 8, 0, rows[i].factor);
		for (size_t l = 0; l < 5; l++) {
			make_host_bound(&n.a[l], rows[i].yardstick_a);
			make_host_bound(&n.b[l], rows[i].yardstick_b);
		}
		n.input.turns = rows[i].turns;
		night_compare(&n, &c);
		for (size_t r = 0; r < c.count; r++) {
			assert_true(figure_kind_is_of_host(c.rows[r].kind));
			certain += c.rows[r].change == CHANGE_REGRESSED && !c.rows[r].possible;
		}
		if (certain != rows[i].certain || !strstr(c.host_finding, rows[i].finding) ||
		    (!*rows[i].finding && *c.host_finding))
			fail_msg("row %zu: %zu certain, '%s', probability %g", i, certain,
				 c.host_finding, c.rows[0].probability);
		if (rows[i].yardstick_a > 0)
			assert_float_equal(c.rows[0].at_same_host * rows[i].yardstick_b,
					   c.rows[0].ratio * rows[i].yardstick_a, 1e-12);
		else
			assert_true(isnan(c.rows[0].at_same_host));
		compare_json_comparison_release(&c);
		night_release(&n);
	}
}

/* Bytes and shares: no launch changes them, so that one launch and one byte say it. */
static void what_was_counted_is_compared_as_it_is(void **state)
{
	static const struct {
		double a[2], b[2];
		enum change change;
		int gate;
	} rows[] = {
		{ { 1000, 1000 }, { 1000, 1000 }, CHANGE_UNCHANGED, 0 },
		{ { 1000, 1000 }, { 1100, 1100 }, CHANGE_REGRESSED, 1 },
		{ { 1000, 1000 }, { 900, 900 }, CHANGE_IMPROVED, 0 },
		/* Launches that differ leave open what is between them. */
		{ { 1000, 1100 }, { 1050, 1150 }, CHANGE_INCONCLUSIVE, 4 },
		{ { 1000, 1100 }, { 1200, 1300 }, CHANGE_REGRESSED, 1 },
		{ { 0, 0 }, { 0, 0 }, CHANGE_UNCHANGED, 0 },
		/* Something out of nothing. */
		{ { 0, 0 }, { 0, 64 }, CHANGE_REGRESSED, 1 },
		{ { 0, 64 }, { 0, 0 }, CHANGE_NONE, 4 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct comparison_input input = {
			.a_count = 2, .b_count = 2, .margin = 0.01, .launch_spread = 0.005
		};
		struct result a[2], b[2];
		struct comparison c;

		for (size_t l = 0; l < 2; l++) {
			struct metric_value *m;

			node_init(&a[l], 1, "NVIDIA H200");
			node_init(&b[l], 1, "NVIDIA H200");
			for (size_t side = 0; side < 2; side++) {
				m = node_add(side ? &b[l] : &a[l], 0, 1, 0)->metrics;
				m->value = side ? rows[i].b[l] : rows[i].a[l];
				m->low = m->high = NAN;
				m->better = BETTER_LOWER;
				m->unit[1] = m->series[0] = '\0';
			}
		}
		input.a = a;
		input.b = b;
		assert_int_equal(compare_results(&input, &c, &(struct error)ERROR_NONE), STATUS_OK);
		if (c.rows[0].change != rows[i].change || compare_whole_gate(&c) != rows[i].gate)
			fail_msg("row %zu: %s, gate %d", i, compare_change_name(c.rows[0].change),
				 compare_whole_gate(&c));
		assert_false(c.rows[0].possible);
		compare_json_comparison_release(&c);
		for (size_t l = 0; l < 2; l++) {
			result_release(&a[l]);
			result_release(&b[l]);
		}
	}
}

/*
 * Five launches of correlation 0.6: the mean has 2.617 times the variance that their spread of
 * 1 - 0.404 suggests.
 */
static void correlation_widens_by_its_formula(void **state)
{
	struct comparison c = { .resemblance = 0.6, .resemblance_series = 80 };

	(void)state;
	assert_float_equal(compare_pair_resemblance_factor(&c, 5), sqrt(2.61664 / 0.59584), 1e-9);
	assert_float_equal(compare_pair_resemblance_factor(&c, 3), 1, 0);
	/* Below 1.645 / sqrt(40 x 4) it may be chance; in turns it counts all the same. */
	c.resemblance = 0.12;
	assert_float_equal(compare_pair_resemblance_factor(&c, 5), 1, 0);
	c.turns = true;
	assert_true(compare_pair_resemblance_factor(&c, 5) > 1.1);
	c.resemblance = NAN;
	assert_float_equal(compare_pair_resemblance_factor(&c, 5), 1, 0);
}

/* Launches that wander together are told, and make every interval wider. */
static void launches_that_resemble_each_other_are_told(void **state)
{
	static const double wandering[5] = { -4e-3, -2e-3, 0, 2e-3, 4e-3 },
			    jumping[5] = { -4e-3, 4e-3, -2e-3, 2e-3, 0 };
	double widths[2];

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		struct comparison c;
		struct night n;

		night_init(&n, 40, 40, 1);
		for (size_t l = 0; l < 5; l++)
			for (size_t i = 0; i < 40; i++) {
				double off = (k ? wandering : jumping)[l];

				n.a[l].cases[i].metrics[0].value = 55e9 * (1 + off);
				n.b[l].cases[i].metrics[0].value =
					55e9 * (1 + (i % 2 ? off : -off));
			}
		night_compare(&n, &c);
		assert_int_equal(c.resemblance_series, 80);
		assert_true(k ? c.resemblance > 0.5 : c.resemblance < 0);
		widths[k] = c.rows[0].high / c.rows[0].low - 1;
		compare_json_comparison_release(&c);
		night_release(&n);
	}
	assert_true(widths[1] > 1.5 * widths[0]);
}

/* Ten nights of a page-able copy that differ by up to 1 %. */
static void add_nights(struct store *h)
{
	for (int day = 1; day <= 10; day++) {
		struct error err = ERROR_NONE;
		struct result r;
		enum history_added added;

		node_init(&r, 1, "NVIDIA H200");
		r.version = RESULT_VERSION;
		r.run_id = xasprintf("run-%d", day);
		r.started = xasprintf("2026-01-%02dT01:00:00Z", day);
		r.planned = 1;
		node_add(&r, 0, 55e9 * (1 + 0.005 * (day % 3 - 1)), 0.001);
		make_host_bound(&r, 0);
		assert_int_equal(history_add(h, &r, &added, &err), STATUS_OK);
		assert_true(added);
		result_release(&r);
	}
}

/* Differences between visits are assumed by the kind of figure, until nights show them. */
static void a_history_says_what_visits_differ_by(void **state)
{
	char folder[] = "/tmp/gpuproof_compare.XXXXXX";
	struct error err = ERROR_NONE;
	struct comparison c;
	struct store *h;
	struct night n;
	char *path;

	(void)state;
	assert_non_null(mkdtemp(folder));
	path = xasprintf("%s/history.db", folder);
	assert_int_equal(sqlite_store_open(&h, path, STORE_CREATE, &err), STATUS_OK);
	night_init(&n, 1, 0, 0.9);
	for (size_t l = 0; l < 5; l++) {
		make_host_bound(&n.a[l], 0);
		make_host_bound(&n.b[l], 0);
	}
	n.input.history = h;
	/* No night yet: as without a history. */
	night_compare(&n, &c);
	assert_int_equal(c.rows[0].visit_nights, 0);
	assert_float_equal(c.rows[0].visit_spread, figure_kind_visit_spread(FIGURE_PAGEABLE), 0);
	assert_int_equal(c.rows[0].change, CHANGE_INCONCLUSIVE);
	compare_json_comparison_release(&c);
	add_nights(h);
	night_compare(&n, &c);
	assert_int_equal(c.rows[0].visit_nights, 10);
	assert_true(c.rows[0].visit_spread > 0.002 && c.rows[0].visit_spread < 0.006);
	assert_int_equal(c.rows[0].change, CHANGE_REGRESSED);
	assert_false(c.rows[0].possible);
	compare_json_comparison_release(&c);
	sqlite_store_close(h);
	unlink(path);
	rmdir(folder);
	free(path);
	night_release(&n);
}

/* Figures differ from night to night as far as their kind does, or are not compared at all. */
static void each_figure_has_its_own_margin(void **state)
{
	struct comparison c;
	struct night n;

	(void)state;
	night_init(&n, 8, 8, 1);
	n.input.margin = n.input.launch_spread = 0;
	night_compare(&n, &c);
	assert_true(c.automatic);
	assert_int_equal(c.counts[CHANGE_UNCHANGED], 8);
	assert_true(c.rows[0].margin >= COMPARE_MARGIN && c.rows[0].margin < 0.02);
	compare_json_comparison_release(&c);
	/* Copies of pageable memory differ by more than 5 %: one line, and no gate stays open. */
	for (size_t l = 0; l < 5; l++)
		for (size_t side = 0; side < 2; side++) {
			struct case_result *pageable = &(side ? &n.b[l] : &n.a[l])->cases[0];

			free(pageable->parameters[1].text);
			pageable->parameters[1].text = xstrdup("pageable");
			pageable->metrics[0].value *= side ? 1.2 : 1;
		}
	night_compare(&n, &c);
	assert_int_equal(c.grouped, 1);
	assert_int_equal(c.counts[CHANGE_UNCHANGED], 7);
	assert_string_equal(c.sentence,
			    "8 figures: 7 UNCHANGED, 1 not comparable between sessions");
	assert_int_equal(compare_whole_gate(&c), 0);
	compare_json_comparison_release(&c);
	/* In one session they are compared as any other. */
	n.input.turns = true;
	night_compare(&n, &c);
	assert_int_equal(c.grouped, 0);
	assert_int_equal(c.counts[CHANGE_IMPROVED], 1);
	compare_json_comparison_release(&c);
	/* Five times as slow is no state of a host. */
	n.input.turns = false;
	for (size_t l = 0; l < 5; l++)
		n.b[l].cases[0].metrics[0].value /= 6;
	night_compare(&n, &c);
	assert_int_equal(c.grouped, 0);
	assert_int_equal(c.counts[CHANGE_REGRESSED], 1);
	assert_int_equal(compare_whole_gate(&c), 1);
	compare_json_comparison_release(&c);
	night_release(&n);
}

/* A session in which everything is 1.4 % slower accuses no kernel; one that lost 3 % is found. */
static void a_shift_common_to_the_gpu_is_no_regression(void **state)
{
	static const struct {
		double common, one;
		size_t regressed;
	} rows[] = { { 0.986, 1, 0 }, { 0.99, 0.97, 1 }, { 1, 0.97, 1 }, { 0.9, 1, 8 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct comparison c;
		struct night n;

		night_init(&n, 8, 0, rows[i].common);
		n.input.margin = n.input.launch_spread = 0;
		for (size_t l = 0; l < 5; l++)
			n.b[l].cases[3].metrics[0].value *= rows[i].one;
		night_compare(&n, &c);
		assert_float_equal(c.session_shift, 1 / rows[i].common, 0.002);
		if (c.counts[CHANGE_REGRESSED] != rows[i].regressed)
			fail_msg("row %zu: %s", i, c.sentence);
		assert_int_equal(compare_whole_gate(&c) == 1, rows[i].regressed > 0);
		compare_json_comparison_release(&c);
		/* The ratio is that of the values shown. */
		night_compare(&n, &c);
		for (size_t k = 0; k < c.count; k++)
			assert_float_equal(c.rows[k].ratio, c.rows[k].a / c.rows[k].b, 1e-12);
		compare_json_comparison_release(&c);
		night_release(&n);
	}
}

static void a_run_is_not_compared_with_itself(void **state)
{
	struct comparison c;
	struct night n;

	(void)state;
	night_init(&n, 2, 2, 1);
	n.input.name_a = "n1";
	n.input.name_b = "n2";
	n.a[2].run_id = xstrdup("x");
	n.b[4].run_id = xstrdup("x");
	/* A copy with other figures is another run. */
	night_compare(&n, &c);
	assert_false(c.same_run);
	assert_int_equal(c.count, 2);
	compare_json_comparison_release(&c);
	for (size_t i = 0; i < 2; i++)
		n.b[4].cases[i].metrics[0].value = n.a[2].cases[i].metrics[0].value;
	night_compare(&n, &c);
	assert_true(c.same_run);
	assert_int_equal(c.count, 0);
	assert_string_equal(c.sentence,
			    "n1 and n2 are the same run, so there is nothing to compare");
	assert_int_equal(compare_whole_gate(&c), 4);
	compare_json_comparison_release(&c);
	night_release(&n);
}

#define NIGHTS 3

/* Three runs of `nightly` in a row on one H100 of a shared machine. */
static void read_nights(struct result nights[NIGHTS])
{
	for (int i = 0; i < NIGHTS; i++) {
		struct error err = ERROR_NONE;
		char *path = xasprintf(TESTS_DIR "/data/nights/h100_%d.json", i + 1);

		if (result_read(&nights[i], path, &err) != STATUS_OK)
			fail_msg("%s", err.message);
		free(path);
	}
}

static void compare_nights(const struct result *a, const struct result *b, struct comparison *c)
{
	const struct comparison_input input = { .a = a, .b = b, .a_count = 1, .b_count = 1 };

	assert_false(compare_taken_in_turns(a, b));
	assert_int_equal(compare_results(&input, c, &(struct error)ERROR_NONE), STATUS_OK);
}

/* Nothing changed between them: no change is certain, and figures of the GPU are UNCHANGED. */
static void real_nights_cry_no_wolf(void **state)
{
	struct result nights[NIGHTS];

	(void)state;
	read_nights(nights);
	for (int i = 0; i < NIGHTS * NIGHTS; i++) {
		struct comparison c;

		if (i / NIGHTS == i % NIGHTS)
			continue;
		compare_nights(&nights[i / NIGHTS], &nights[i % NIGHTS], &c);
		assert_int_equal(c.count, 41);
		assert_int_equal(c.counts[CHANGE_REGRESSED] + c.counts[CHANGE_IMPROVED], 0);
		/* Figures of the host, and a copy of 4 KiB, are grouped; others are decided. */
		assert_int_equal(c.grouped, 23);
		assert_true(c.counts[CHANGE_UNCHANGED] >= 17);
		assert_int_equal(compare_whole_gate_certain(&c), 0);
		compare_json_comparison_release(&c);
	}
	for (int i = 0; i < NIGHTS; i++)
		result_release(&nights[i]);
}

static void slow_down(struct metric_value *m, double factor)
{
	m->value /= factor;
	for (size_t l = 0; l < m->launch_count; l++)
		m->launches[l] /= factor;
}

static const struct comparison_row *row_of(const struct comparison *c, const char *case_id)
{
	for (size_t r = 0; r < c->count; r++)
		if (strcmp(c->rows[r].case_id, case_id) == 0)
			return &c->rows[r];
	return NULL;
}

/* A kernel that lost 3 % is found among 41 figures, from any night to any other. */
static void a_slower_kernel_is_found_between_real_nights(void **state)
{
	static const char *const kernels[] = {
		"stream/read/1GiB@cuda:0",          "stream/triad/fp64/1GiB@cuda:0",
		"transfer/h2d/pinned/64MiB@cuda:0", "transfer/d2h/pinned/64MiB@cuda:0",
		"transfer/local/64MiB@cuda:0",      "matmul/fp32/1024@cuda:0",
		"matmul/fp32/8192@cuda:0",          "matmul/tf32/1024@cuda:0",
	};
	struct result nights[NIGHTS];

	(void)state;
	read_nights(nights);
	for (size_t k = 0; k < ARRAY_SIZE(kernels) * NIGHTS * NIGHTS; k++) {
		const char *id = kernels[k / (NIGHTS * NIGHTS)];
		struct result *a = &nights[k % NIGHTS], *b = &nights[k / NIGHTS % NIGHTS];
		const struct comparison_row *row;
		struct metric_value *m = NULL;
		struct comparison c;

		if (a == b)
			continue;
		for (size_t i = 0; i < b->case_count; i++)
			if (strcmp(b->cases[i].id, id) == 0)
				m = &b->cases[i].metrics[0];
		assert_non_null(m);
		slow_down(m, 1.03);
		compare_nights(a, b, &c);
		row = row_of(&c, id);
		if (!row || row->change != CHANGE_REGRESSED || row->possible)
			fail_msg("%s: %s, probability %g", id,
				 row ? compare_change_name(row->change) : "",
				 row ? row->probability : NAN);
		assert_int_equal(compare_whole_gate(&c), 1);
		compare_json_comparison_release(&c);
		slow_down(m, 1 / 1.03);
	}
	for (int i = 0; i < NIGHTS; i++)
		result_release(&nights[i]);
}

/*
 * The pair of nights that called this allocation REGRESSED [1.06, 1.86]: visits of a host differ.
 */
static void an_allocation_of_another_visit_is_no_regression(void **state)
{
	static const double launches[2][5] = { { 7.88e-3, 7.95e-3, 4.55e-3, 4.77e-3, 4.79e-3 },
					       { 8.62e-3, 7.58e-3, 8.45e-3, 8.61e-3, 8.39e-3 } };
	struct comparison c;
	struct night n;

	(void)state;
	night_init(&n, 1, 1, 1);
	for (size_t l = 0; l < 5; l++)
		for (size_t side = 0; side < 2; side++) {
			struct result *r = side ? &n.b[l] : &n.a[l];

			r->cases[0].metrics[0].value = launches[side][l];
			r->cases[0].metrics[0].better = BETTER_LOWER;
			make_host_bound(r, 0);
		}
	night_compare(&n, &c);
	assert_true(c.rows[0].ratio > 1.3);
	assert_int_equal(c.rows[0].change, CHANGE_INCONCLUSIVE);
	/* No number of launches of another visit would tell. */
	assert_int_equal(c.rows[0].launches_needed, 0);
	compare_json_comparison_release(&c);
	night_release(&n);
}

static void turns_are_known_by_their_times(void **state)
{
	static const struct {
		const char *id, *started, *finished, *model;
		bool turns;
	} rows[] = {
		{ "2", "2026-01-01T00:00:10Z", "2026-01-01T00:10:10Z", "NVIDIA H200", true },
		/* One after the other, the same run, another machine, a run that has no end. */
		{ "2", "2026-01-01T00:10:00Z", "2026-01-01T00:20:00Z", "NVIDIA H200", false },
		{ "1", "2026-01-01T00:00:00Z", "2026-01-01T00:10:00Z", "NVIDIA H200", false },
		{ "2", "2026-01-01T00:00:10Z", "2026-01-01T00:10:10Z", "NVIDIA H100", false },
		{ "2", "2026-01-01T00:00:10Z", "", "NVIDIA H200", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct result a, b;

		node_init(&a, 1, "NVIDIA H200");
		node_init(&b, 1, rows[i].model);
		a.run_id = xstrdup("1");
		a.started = xstrdup("2026-01-01T00:00:00Z");
		a.finished = xstrdup("2026-01-01T00:10:00Z");
		b.run_id = xstrdup(rows[i].id);
		b.started = xstrdup(rows[i].started);
		b.finished = xstrdup(rows[i].finished);
		if (compare_taken_in_turns(&a, &b) != rows[i].turns ||
		    compare_taken_in_turns(&b, &a) != rows[i].turns)
			fail_msg("row %zu", i);
		result_release(&a);
		result_release(&b);
	}
}

/* Zeros among other values are of no side; a side of zeros alone is named. */
static void a_side_of_zeros_is_named(void **state)
{
	static const struct {
		double a[2], b[2];
		const char *side;
	} rows[] = { { { 0.1, 0 }, { 0.1, 0.2 }, "" },
		     { { 0.1, 0.2 }, { 0, 0 }, "new: " },
		     { { 0, 0 }, { 0.1, 0.2 }, "old: " } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct result a[2], b[2];
		struct comparison_input input = { .a = a,
						  .b = b,
						  .a_count = 2,
						  .b_count = 2,
						  .name_a = "old",
						  .name_b = "new",
						  .margin = 0.01 };
		struct comparison c;
		char *expected =
			xasprintf("%shas a value of zero, so there is no ratio", rows[i].side);

		for (size_t l = 0; l < 2; l++) {
			node_init(&a[l], 1, "NVIDIA H200");
			node_init(&b[l], 1, "NVIDIA H200");
			make_share(node_add(&a[l], 0, 0, 0), rows[i].a[l]);
			make_share(node_add(&b[l], 0, 0, 0), rows[i].b[l]);
		}
		assert_int_equal(compare_results(&input, &c, &(struct error)ERROR_NONE), STATUS_OK);
		assert_int_equal(c.count, 1);
		assert_string_equal(c.rows[0].reason, expected);
		compare_json_comparison_release(&c);
		free(expected);
		for (size_t l = 0; l < 2; l++) {
			result_release(&a[l]);
			result_release(&b[l]);
		}
	}
}

/* Cases are compared with those of their id, in whatever order either side has them. */
static void cases_are_found_in_any_order(void **state)
{
	struct result sides[2];
	struct comparison_input input = {
		.a = &sides[0], .b = &sides[1], .a_count = 1, .b_count = 1, .margin = 0.01
	};
	struct comparison c;

	(void)state;
	for (size_t side = 0; side < 2; side++) {
		node_init(&sides[side], 1, "NVIDIA H200");
		for (size_t i = 0; i < 3; i++) {
			size_t size = side ? 2 - i : i;
			struct case_result *added =
				node_add(&sides[side], 0, 10e9 * (double)(size + 1), 0.001);

			free(added->id);
			added->id = xasprintf("transfer/h2d/pinned/%zuMiB@cuda:0", size + 1);
			free(added->parameters[2].text);
			added->parameters[2].text = xasprintf("%zuMiB", size + 1);
			case_derive_point(added);
		}
	}
	assert_int_equal(compare_results(&input, &c, &(struct error)ERROR_NONE), STATUS_OK);
	assert_int_equal(c.count, 3);
	for (size_t i = 0; i < c.count; i++)
		assert_float_equal(c.rows[i].ratio, 1, 1e-12);
	compare_json_comparison_release(&c);
	result_release(&sides[0]);
	result_release(&sides[1]);
}

/* Fewer than five figures do not show what all have in common. */
static void five_figures_show_a_common_shift(void **state)
{
	(void)state;
	for (size_t count = 4; count <= 5; count++) {
		struct comparison c;
		struct night n;

		night_init(&n, count, 0, 0.98);
		n.input.margin = n.input.launch_spread = 0;
		night_compare(&n, &c);
		assert_int_equal(isfinite(c.session_shift), count == 5);
		compare_json_comparison_release(&c);
		night_release(&n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(five_figures_show_a_common_shift),
		cmocka_unit_test(cases_are_found_in_any_order),
		cmocka_unit_test(a_side_of_zeros_is_named),
		cmocka_unit_test(ranks_have_their_exact_distribution),
		cmocka_unit_test(shifts_have_intervals_from_four_values_on),
		cmocka_unit_test(words_follow_from_interval_and_margin),
		cmocka_unit_test(a_lower_clock_explains_a_lower_speed),
		cmocka_unit_test(clocks_within_a_percent_are_alike),
		cmocka_unit_test(broken_and_missing_cases_are_named),
		cmocka_unit_test(
			what_has_no_main_figure_or_is_zero_on_both_sides_keeps_no_gate_open),
		cmocka_unit_test(memory_errors_of_the_new_side_are_wrong),
		cmocka_unit_test(what_has_not_settled_is_not_compared),
		cmocka_unit_test(nothing_to_compare_passes_no_gate),
		cmocka_unit_test(devices_are_compared_by_uuid),
		cmocka_unit_test(open_comparisons_have_advice),
		cmocka_unit_test(environments_are_compared),
		cmocka_unit_test(settings_that_change_the_measurement_are_differences),
		cmocka_unit_test(all_compared_figures_share_the_error),
		cmocka_unit_test(exact_figures_are_compared_by_the_worst_launch),
		cmocka_unit_test(few_values_have_a_shift_alone),
		cmocka_unit_test(signed_ranks_have_their_exact_distribution),
		cmocka_unit_test(visits_widen_intervals_unless_in_turns),
		cmocka_unit_test(launches_needed_follow_from_both_spreads),
		cmocka_unit_test(the_error_is_shared_by_all_figures),
		cmocka_unit_test(a_shift_of_the_host_is_one_finding),
		cmocka_unit_test(what_was_counted_is_compared_as_it_is),
		cmocka_unit_test(a_history_says_what_visits_differ_by),
		cmocka_unit_test(turns_are_known_by_their_times),
		cmocka_unit_test(each_figure_has_its_own_margin),
		cmocka_unit_test(a_shift_common_to_the_gpu_is_no_regression),
		cmocka_unit_test(a_run_is_not_compared_with_itself),
		cmocka_unit_test(real_nights_cry_no_wolf),
		cmocka_unit_test(a_slower_kernel_is_found_between_real_nights),
		cmocka_unit_test(an_allocation_of_another_visit_is_no_regression),
		cmocka_unit_test(correlation_widens_by_its_formula),
		cmocka_unit_test(launches_that_resemble_each_other_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
