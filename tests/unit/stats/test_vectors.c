/*
 * The statistics against tests/data/statistics/, whose expected values another program has from
 * formulas of its own (tests/project/statistics_vectors.py). docs/statistics.md has the formulas.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <jansson.h>

#include "base/memory.h"
#include "compare/comparing.h"
#include "history/trend_levels.h"
#include "measure/sampling/stop_rule.h"
#include "stats/difference.h"
#include "stats/level.h"
#include "stats/median.h"
#include "stats/pool.h"
#include "stats/rank.h"
#include "stats/repeat.h"
#include "stats/shift.h"
#include "stats/states.h"
#include "stats/student.h"

#define EXACT 1e-7 /* relative above 1, else absolute */
#define MOST 64

static double number(const json_t *object, const char *name)
{
	json_t *value = json_object_get(object, name);

	if (!json_is_number(value))
		fail_msg("no number '%s'", name);
	return json_number_value(value);
}

static size_t count(const json_t *object, const char *name)
{
	return (size_t)number(object, name);
}

static bool flag(const json_t *object, const char *name)
{
	return json_is_true(json_object_get(object, name));
}

static size_t numbers(const json_t *object, const char *name, double out[MOST])
{
	json_t *list = json_object_get(object, name);
	size_t n = json_array_size(list);

	assert_in_range(n, 1, MOST);
	for (size_t i = 0; i < n; i++)
		out[i] = json_number_value(json_array_get(list, i));
	return n;
}

static void expect(const json_t *expected, const char *name, double got)
{
	double wanted = number(expected, name);

	if (!(fabs(got - wanted) <= EXACT * fmax(1, fabs(wanted))))
		fail_msg("%s is %.12g, not %.12g", name, got, wanted);
}

typedef void vector_fn(const json_t *input, const json_t *expected);

/* Calls `check` for each vector of a file; fails if it has fewer than `least`. */
static void each_vector(const char *name, size_t least, vector_fn *check)
{
	char *path = xasprintf(TESTS_DIR "/data/statistics/%s.json", name);
	json_t *vectors = json_load_file(path, 0, NULL);

	if (json_array_size(vectors) < least)
		fail_msg("%s has %zu vectors", path, json_array_size(vectors));
	for (size_t i = 0; i < json_array_size(vectors); i++) {
		json_t *v = json_array_get(vectors, i);

		print_message("%s %zu\n", name, i);
		check(json_object_get(v, "input"), json_object_get(v, "expected"));
	}
	json_decref(vectors);
	free(path);
}

static void check_student(const json_t *in, const json_t *expected)
{
	expect(expected, "probability",
	       student_probability(number(in, "t"), number(in, "freedom")));
	expect(expected, "quantile_975", student_quantile(0.975, number(in, "freedom")));
}

static void check_repeat(const json_t *in, const json_t *expected)
{
	const struct repeat repeat = { .spread = number(in, "spread"),
				       .states = flag(in, "states") };
	double logs[MOST];
	size_t n = numbers(in, "logs", logs);
	struct repeat_interval out = repeat_interval(logs, n, &repeat, number(in, "probability"),
						     number(in, "sample_half"));

	expect(expected, "center", out.center);
	expect(expected, "low", out.low);
	expect(expected, "high", out.high);
}

static void check_mann_whitney(const json_t *in, const json_t *expected)
{
	expect(expected, "probability",
	       stats_rank_mann_whitney_probability(count(in, "m"), count(in, "n"), count(in, "u")));
}

static void check_compare(const json_t *in, const json_t *expected)
{
	double a[MOST], b[MOST], freedom = number(in, "session_freedom");
	struct shift_input input = { .a = a,
				     .b = b,
				     .a_count = numbers(in, "a", a),
				     .b_count = numbers(in, "b", b),
				     .turns = flag(in, "turns"),
				     .launch_spread = number(in, "launch_spread"),
				     .resemblance = 1,
				     .visit_spread = number(in, "session_spread"),
				     .visit_freedom = freedom > 0 ? freedom : INFINITY };
	struct shift s = shift_measure(&input);
	double visits = input.turns ? 0 : input.visit_spread;
	struct band band = compare_pair_band_of_shift(&s, visits, number(in, "common"));

	expect(expected, "value", s.value);
	expect(expected, "low", s.low);
	expect(expected, "high", s.high);
	expect(expected, "error", s.error);
	expect(expected, "freedom", s.freedom);
	expect(expected, "margin", shift_margin(&s));
	assert_string_equal(compare_change_name(compare_pair_change_of_shift(&s, &band)),
			    json_string_value(json_object_get(expected, "word")));
}

static void check_level(const json_t *in, const json_t *expected)
{
	double logs[MOST], typical = number(in, "typical");
	size_t n = numbers(in, "logs", logs);
	const struct level_input input = { .logs = logs,
					   .before = count(in, "before"),
					   .after = n - count(in, "before"),
					   .rho = number(in, "rho"),
					   .typical = typical > 0 ? typical : (double)NAN };
	struct level_shift out = level_shift(&input);

	expect(expected, "value", out.value);
	expect(expected, "error", out.error);
	expect(expected, "freedom", out.freedom);
	expect(expected, "probability", level_probability(&out, number(in, "limit")));
}

static void check_state(const json_t *in, const json_t *expected)
{
	double logs[MOST];
	size_t n = numbers(in, "logs", logs);
	const struct level_segment s = { count(in, "from"), count(in, "at"), count(in, "end") };

	assert_int_equal(trend_levels_is_state(logs, n, &s, count(in, "lasting")),
			 flag(expected, "is"));
}

static void check_states(const json_t *in, const json_t *expected)
{
	double logs[MOST], merged[MOST], least = number(in, "least"), most = number(in, "most");
	size_t n = numbers(in, "logs", logs);
	struct state_visits visits = { 0 };

	state_visits_add(&visits, logs, n, least, most);
	expect(expected, "visits", visits.count);
	expect(expected, "nights", visits.nights);
	expect(expected, "length", (double)state_visit_length(&visits, number(in, "probability")));
	assert_int_equal(states_merge(logs, n, least, most, count(in, "longest")),
			 flag(expected, "moved"));
	assert_int_equal(numbers(expected, "merged", merged), n);
	for (size_t i = 0; i < n; i++)
		assert_true(fabs(logs[i] - merged[i]) < 1e-9);
}

static void check_pool(const json_t *in, const json_t *expected)
{
	double logs[MOST], gpus[MOST], days[MOST];
	struct pool_night nights[MOST];
	size_t n = numbers(in, "logs", logs);
	struct pool_input input = { .nights = nights,
				    .count = n,
				    .at = count(in, "at"),
				    .typical = number(in, "typical"),
				    .without = SIZE_MAX };
	struct pool_step out;

	assert_int_equal(numbers(in, "gpus", gpus), n);
	assert_int_equal(numbers(in, "days", days), n);
	for (size_t i = 0; i < n; i++) {
		nights[i] = (struct pool_night){ (size_t)gpus[i], (int64_t)days[i], logs[i] };
		if (nights[i].gpu >= input.gpus)
			input.gpus = nights[i].gpu + 1;
	}
	out = stats_pool_step_at(&input);
	expect(expected, "value", out.shift.value);
	expect(expected, "error", out.shift.error);
	expect(expected, "freedom", out.shift.freedom);
	expect(expected, "level", out.level);
	expect(expected, "apart", out.apart);
}

/* As expect(), where null says that there is no such value. */
static void expect_or_none(const json_t *expected, const char *name, double got)
{
	if (!json_is_null(json_object_get(expected, name)))
		expect(expected, name, got);
	else if (!isnan(got))
		fail_msg("%s is %.12g, not unknown", name, got);
}

static void check_series(const json_t *in, const json_t *expected)
{
	double samples[MOST], low, high, half;
	size_t n = numbers(in, "samples", samples);
	double *sorted = stats_median_sorted_copy(samples, n);
	bool drifts;

	if (!median_interval(sorted, n, stats_median_autocorrelation(samples, n), &low, &high))
		stats_median_drifting_interval(samples, n, &low, &high);
	free(sorted);
	expect_or_none(expected, "low", low);
	expect_or_none(expected, "high", high);
	expect_or_none(expected, "half", stats_median_half_width(samples, n, &drifts));
	if (n > 5)
		assert_int_equal(drifts, flag(expected, "drifts"));
	expect(expected, "mean", stats_median_load_mean(samples, n, &low, &high));
	half = (high - low) / 2;
	expect_or_none(expected, "half_of_load", half);
	if (!isnan(half))
		assert_true(fabs((low + high) / 2 - number(expected, "mean")) < EXACT);
	assert_int_equal(stop_rule_drifts(samples, n, number(in, "target")),
			 flag(expected, "unsettled"));
}

static void check_launches(const json_t *in, const json_t *expected)
{
	expect(expected, "needed",
	       (double)shift_launches_needed(number(in, "spread"), number(in, "resemblance"),
					     number(in, "session_spread"), number(in, "margin")));
}

static void check_difference(const json_t *in, const json_t *expected)
{
	double all[2 * MOST];
	size_t m = numbers(in, "a", all), n = numbers(in, "b", all + m);

	expect(expected, "distance", stats_difference_outlier_distance(all, m, n));
	expect(expected, "student", stats_difference_shift_probability(all, m, n));
	expect(expected, "ranks", difference_probability(all, m, all + m, n));
}

static void another_program_gets_the_same(void **state)
{
	(void)state;
	each_vector("student", 10, check_student);
	each_vector("repeat", 9, check_repeat);
	each_vector("mann_whitney", 10, check_mann_whitney);
	each_vector("compare", 17, check_compare);
	each_vector("level", 7, check_level);
	each_vector("state", 10, check_state);
	each_vector("states", 7, check_states);
	each_vector("pool", 5, check_pool);
	each_vector("series", 33, check_series);
	each_vector("difference", 11, check_difference);
	each_vector("launches", 8, check_launches);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(another_program_gets_the_same) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
