/*
 * The trend on simulated nights: what the design promises, with a fixed seed;
 * tests/bench/bench_history.c prints more of it.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "history/change_odds.h"
#include "history/change_points.h"
#include "history/trend.h"
#include "history/trend_news.h"
#include "history/trend_levels.h"
#include "stats/difference.h"
#include "stats/rank.h"
#include "stats/student.h"
#include "sample_nights.h"

static void quiet_series_stay_quiet(void **state)
{
	struct quiet_outcome out = simulate_quiet(&(struct night_plan){
		.series = 150, .past = 60, .nights = 25, .noise = 0.005, .seed = 7 });

	(void)state;
	assert_true(out.changes <= 0.005);
	assert_true(out.warnings <= 0.015);
}

static void steps_are_found(void **state)
{
	struct step_outcome out = simulate_step(&(struct night_plan){
		.series = 150, .past = 60, .noise = 0.005, .step = 0.03, .seed = 7 });

	(void)state;
	assert_true(out.within_6 >= 0.99);
	assert_true(out.warned >= 0.9);
}

/* Noise as large as the smallest change that counts, and nights that resemble the one before. */
static void wandering_series_stay_quiet_and_steps_are_found(void **state)
{
	static const struct {
		double rho, most_false, least_found;
	} rows[] = {
		{ 0, 0.015, 0.99 }, { 0.3, 0.03, 0.97 }, { 0.5, 0.04, 0.91 }, { 0.8, 0.07, 0.83 }
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct night_plan plan = {
			.past = 60, .nights = 25, .noise = 0.01, .rho = rows[i].rho
		};
		double found = 0, wrong = 0;

		plan.series = TREND_ODDS_SERIES;
		for (plan.seed = 1; plan.seed <= 4; plan.seed++) {
			plan.step = 0;
			wrong += simulate_quiet(&plan).changes / 4;
			plan.step = 0.03;
			found += simulate_step(&plan).within_10 / 4;
		}
		if (wrong > rows[i].most_false || found < rows[i].least_found)
			fail_msg("rho %.1f: %.3f false, %.3f found", rows[i].rho, wrong, found);
	}
}

/*
 * The proposals alone, as if nights were independent, are wrong about every second series that
 * wanders.
 */
static void proposals_are_not_enough(void **state)
{
	struct night_plan plan = {
		.series = 100, .past = 60, .nights = 25, .noise = 0.01, .rho = 0.5, .seed = 3
	};

	(void)state;
	plan.method = NIGHTS_PROPOSED;
	assert_true(simulate_quiet(&plan).changes >= 0.3);
	plan.method = NIGHTS_ALONE;
	assert_true(simulate_quiet(&plan).changes <= 0.1);
}

/* With 500 series every night fewer chance findings are reported. */
static void many_series_raise_the_limit(void **state)
{
	struct trend_prior prior = { .series = TREND_ODDS_SERIES };
	struct quiet_outcome out;

	(void)state;
	assert_true(trend_prior_limit(NULL) == TREND_ODDS);
	assert_true(trend_prior_limit(&prior) == TREND_ODDS);
	prior.series = 500;
	assert_true(fabs(trend_prior_limit(&prior) - TREND_ODDS - TREND_ODDS_GROWTH * log(20)) <
		    1e-12);
	out = simulate_quiet(&(struct night_plan){
		.series = 500, .past = 60, .nights = 5, .noise = 0.01, .seed = 3 });
	assert_int_equal(out.alarms, 0);
}

/* The band of a young series, of a spread that ten nights know badly. */
static void young_series_warn_rarely(void **state)
{
	(void)state;
	assert_true(
		simulate_quiet(
			&(struct night_plan){
				.series = 400, .past = 10, .nights = 25, .noise = 0.01, .seed = 5 })
			.warnings <= 0.035);
}

static void students_t_as_in_tables(void **state)
{
	static const struct {
		double t;
		size_t freedom;
		double probability;
	} rows[] = {
		{ 0, 7, 1 },
		{ 1, 1, 0.5 },
		{ 12.7062047364, 1, 0.05 },
		{ 4.30265272991, 2, 0.05 },
		{ 3.18244630528, 3, 0.05 },
		{ -2.22813885196, 10, 0.05 },
		{ 4.58689385870, 10, 0.001 },
		{ 3.49601288, 50, 0.001 },
		{ 1.98397151845, 100, 0.05 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_true(fabs(student_probability(rows[i].t, rows[i].freedom) -
				 rows[i].probability) < 1e-6 * rows[i].probability + 1e-12);
}

/* Five nights against many: all below the others in 1 of (n + 5 over 5) orders. */
static void ranks_of_few_nights_are_exact(void **state)
{
	(void)state;
	assert_true(fabs(stats_rank_mann_whitney_probability(5, 60, 0) * 8259888 - 1) < 1e-9);
	assert_true(fabs(stats_rank_mann_whitney_probability(995, 5, 0) * 8250291250200 - 1) <
		    1e-9);
	/* And where they cannot be counted, near the middle, as good as exact. */
	assert_true(fabs(stats_rank_mann_whitney_probability(400, 400, 79999) - 0.5) < 1e-4);
}

/*
 * One wild night, then two of five: neither is a change; a step next to a wild night is one, and
 * dated rightly.
 */
static void wild_nights_are_no_change(void **state)
{
	double x[60];
	uint64_t seed = 21;
	size_t points[20];

	(void)state;
	for (size_t i = 0; i < 60; i++)
		x[i] = 0.003 * sample_normal(&seed);
	x[57] = -0.5;
	assert_int_equal(change_points(x, 60, points), 0);
	x[59] = -0.6;
	assert_int_equal(change_points(x, 60, points), 0);
	x[57] = x[59] = 0;
	x[20] = -0.5;
	for (size_t i = 54; i < 60; i++)
		x[i] -= 0.02;
	assert_int_equal(change_points(x, 60, points), 1);
	assert_int_equal(points[0], 54);
}

/* Levels by night, with a little noise; returns the change points. */
static size_t points_of(const double *levels, const size_t *lengths, size_t parts, size_t *points)
{
	double x[400];
	uint64_t seed = 3;
	size_t n = 0;

	for (size_t i = 0; i < parts; i++)
		for (size_t j = 0; j < lengths[i]; j++)
			x[n++] = log(levels[i]) + 0.003 * sample_normal(&seed);
	return change_points(x, n, points);
}

static void places_are_right(void **state)
{
	size_t points[100];

	(void)state;
	assert_int_equal(points_of((double[]){ 100, 97 }, (size_t[]){ 40, 20 }, 2, points), 1);
	assert_int_equal(points[0], 40);
	/* Down and up again. */
	assert_int_equal(points_of((double[]){ 100, 95, 100 }, (size_t[]){ 60, 10, 60 }, 3, points),
			 2);
	assert_int_equal(points[0], 60);
	assert_int_equal(points[1], 70);
	/* Four levels. */
	assert_int_equal(points_of((double[]){ 100, 96, 92, 99 }, (size_t[]){ 30, 25, 20, 15 }, 4,
				   points),
			 3);
	assert_int_equal(points[2], 75);
	/* Smaller than what counts; too few nights; nothing at all. */
	assert_int_equal(points_of((double[]){ 100, 99.5 }, (size_t[]){ 60, 60 }, 2, points), 0);
	assert_int_equal(points_of((double[]){ 100, 90 }, (size_t[]){ 60, 4 }, 2, points), 0);
	assert_int_equal(change_points(NULL, 0, points), 0);
}

static void equal_values_do_not_change(void **state)
{
	double x[50];
	size_t points[20];

	(void)state;
	for (size_t i = 0; i < 50; i++)
		x[i] = 1;
	assert_int_equal(change_points(x, 50, points), 0);
	for (size_t i = 25; i < 50; i++)
		x[i] = 1.05;
	assert_int_equal(change_points(x, 50, points), 1);
	assert_int_equal(points[0], 25);
}

static struct trend *trend_with(struct history_series *s, const struct history_notes *notes,
				size_t *count)
{
	struct trend *trends;

	*count = trend_of_series(s, notes, NULL, &trends);
	return trends;
}

/*
 * Bytes and counts repeat exactly, and so do medians of latencies in steps of a clock: any change
 * of them is one.
 */
static void exact_values_change(void **state)
{
	size_t points[12];
	double x[48];

	(void)state;
	for (size_t n = 14; n <= 48; n++)
		for (size_t at = CHANGE_MIN_SEGMENT; at + CHANGE_MIN_SEGMENT <= n; at++)
			for (unsigned k = 1; k <= 20; k++) {
				double before = 91.163421e9 / k,
				       after = before * (k % 2 ? 0.96 : 1.03);

				/* Five nights against few more are too few for ranks. */
				if (fmin((double)at, (double)(n - at)) < 6)
					continue;
				for (size_t i = 0; i < n; i++)
					x[i] = log(i < at ? before : after);
				assert_int_equal(change_points(x, n, points), 1);
				assert_int_equal(points[0], at);
			}
	/* One night of them that is off changes nothing about it. */
	for (size_t i = 0; i < 30; i++)
		x[i] = log(i < 16 ? 91.163421e9 : 87.6613332e9);
	x[4] = log(80e9);
	x[20] = log(95e9);
	assert_int_equal(change_points(x, 30, points), 1);
	assert_int_equal(points[0], 16);
}

static void fill(struct history_point *points, size_t n, size_t step_at, size_t back_at)
{
	uint64_t seed = 5;

	for (size_t i = 0; i < n; i++)
		points[i] =
			(struct history_point){ .night = (int64_t)i + 1,
						.day = 20000 + (int64_t)i,
						.epoch = 1,
						.value = (i >= step_at && i < back_at ? 95 : 100) *
							 exp(0.002 * sample_normal(&seed)) };
}

static void states_of_changes(void **state)
{
	struct history_point points[60];
	struct history_series s = {
		.id = 4, .points = points, .count = 60, .better = BETTER_LOWER
	};
	struct history_note note = { .day = 20032, .series = 4, .acknowledges = true };
	struct history_notes notes = { &note, 1, 1 };
	struct trend *trends;
	size_t count;

	(void)state;
	fill(points, 60, 30, 60);
	trends = trend_with(&s, NULL, &count);
	assert_int_equal(trends[0].change_count, 1);
	assert_int_equal(trends[0].changes[0].state, TREND_NEW);
	assert_int_equal(trends[0].changes[0].day, 20030);
	/* Less time is better. */
	assert_true(trends[0].changes[0].ratio < 0.96);
	trends_release(trends, count);
	trends = trend_with(&s, &notes, &count);
	assert_int_equal(trends[0].changes[0].state, TREND_ACKNOWLEDGED);
	trends_release(trends, count);
	note.series = 5;
	trends = trend_with(&s, &notes, &count);
	assert_int_equal(trends[0].changes[0].state, TREND_NEW);
	trends_release(trends, count);
	fill(points, 60, 30, 45);
	trends = trend_with(&s, NULL, &count);
	assert_int_equal(trends[0].change_count, 2);
	assert_int_equal(trends[0].changes[0].state, TREND_RECOVERED);
	/* Less time for fifteen nights, then as before: what was won is lost. */
	assert_true(trends[0].changes[1].worse);
	assert_int_equal(trends[0].changes[1].state, TREND_NEW);
	trends_release(trends, count);
	/* For a bandwidth the same is a loss that came back: no news of an improvement. */
	s.better = BETTER_HIGHER;
	trends = trend_with(&s, NULL, &count);
	assert_true(trends[0].changes[0].worse && trends[0].changes[1].improved);
	/* Gives what a reader finds who divides one level by the other, for a loss too. */
	assert_float_equal(trend_percent(&trends[0].changes[0]),
			   100 - 100 * trends[0].changes[0].after / trends[0].changes[0].before,
			   1e-9);
	assert_true(trend_percent(&trends[0].changes[0]) < 100 * (trends[0].changes[0].ratio - 1));
	assert_int_equal(trends[0].changes[1].state, TREND_RECOVERED);
	trends_release(trends, count);
	s.better = BETTER_NONE;
	trends = trend_with(&s, NULL, &count);
	assert_false(trends[0].changes[1].worse || trends[0].changes[1].improved);
	trends_release(trends, count);
}

/* A change that comes with another driver is told the next morning, with the day of the seam. */
static void levels_are_compared_across_seams(void **state)
{
	struct history_point points[60];
	struct history_series s = { .points = points, .better = BETTER_HIGHER };
	struct trend *trends;
	size_t count;

	(void)state;
	fill(points, 60, 30, 60);
	for (size_t i = 30; i < 60; i++)
		points[i].epoch = 2;
	for (s.count = 31; s.count <= 60; s.count++) {
		trends = trend_with(&s, NULL, &count);
		assert_int_equal(count, 1);
		assert_true(trends[0].current);
		assert_int_equal(trends[0].begin, 30);
		assert_int_equal(trends[0].seam_count, 1);
		assert_int_equal(trends[0].change_count, 1);
		assert_int_equal(trends[0].changes[0].found, FOUND_AT_SEAM);
		assert_int_equal(trends[0].changes[0].day, 20030);
		assert_true(trends[0].changes[0].worse);
		assert_int_equal(trends[0].changes[0].state, TREND_NEW);
		trends_release(trends, count);
	}
	/* Equal levels are no change, and the seam is told all the same. */
	fill(points, 60, 60, 60);
	for (size_t i = 30; i < 60; i++)
		points[i].epoch = 2;
	for (s.count = 31; s.count <= 60; s.count++) {
		trends = trend_with(&s, NULL, &count);
		assert_int_equal(trends[0].change_count, 0);
		assert_int_equal(trend_is_young(&trends[0]), s.count < 30 + TREND_LEAST_NIGHTS);
		assert_true(fabs(trends[0].seams[0].ratio - 1) < 0.01);
		trends_release(trends, count);
	}
}

/* A change for the worse stays open when the next driver comes, until its level is back. */
static void a_seam_hides_no_change_before_it(void **state)
{
	struct history_point points[60];
	struct history_series s = { .points = points, .count = 60, .better = BETTER_HIGHER };
	struct trend *trends;
	size_t count;

	(void)state;
	fill(points, 60, 20, 60);
	for (size_t i = 40; i < 60; i++)
		points[i].epoch = 2;
	trends = trend_with(&s, NULL, &count);
	assert_int_equal(trends[0].change_count, 1);
	assert_int_equal(trends[0].changes[0].found, FOUND_BY_NIGHTS);
	assert_int_equal(trends[0].changes[0].state, TREND_NEW);
	trends_release(trends, count);
	fill(points, 60, 20, 40);
	for (size_t i = 40; i < 60; i++)
		points[i].epoch = 2;
	trends = trend_with(&s, NULL, &count);
	assert_int_equal(trends[0].change_count, 2);
	assert_int_equal(trends[0].changes[0].state, TREND_RECOVERED);
	assert_int_equal(trends[0].changes[1].found, FOUND_AT_SEAM);
	assert_int_equal(trends[0].changes[1].state, TREND_RECOVERED);
	trends_release(trends, count);
}

/* A fall of 40 % in any night but the first is told the next morning with its day, and stays. */
static void large_falls_are_told_at_once(void **state)
{
	struct history_point points[60];
	struct history_series s = { .points = points,
				    .better = BETTER_HIGHER,
				    .kind = (char *)"bandwidth" };

	(void)state;
	for (size_t fall = 1; fall <= 40; fall++) {
		fill(points, 60, 60, 60);
		for (size_t i = fall; i < 60; i++)
			points[i].value *= 0.6;
		for (s.count = 1; s.count <= 60; s.count++) {
			struct trend *trends;
			size_t count = trend_of_series(&s, NULL, NULL, &trends);

			if (trends[0].change_count != (s.count > fall) ||
			    (s.count > fall && (trends[0].changes[0].at != fall ||
						trends[0].changes[0].state != TREND_NEW)))
				fail_msg("fall in night %zu, looked at in night %zu: %zu changes, "
					 "the first in night %zu",
					 fall + 1, s.count, trends[0].change_count,
					 trends[0].changes[0].at + 1);
			trends_release(trends, count);
		}
	}
}

/* Calls have two states: a night in the rarer one is no fall, nor is the first after a seam. */
static void states_are_no_falls(void **state)
{
	struct history_point points[60];
	struct history_series s = { .points = points,
				    .better = BETTER_LOWER,
				    .kind = (char *)"host call" };

	(void)state;
	for (int seam = 0; seam < 2; seam++)
		for (s.count = 2; s.count <= 60; s.count++) {
			struct trend *trends;
			size_t count;

			fill(points, 60, 60, 60);
			points[s.count - 1].value *= 1.4;
			points[s.count - 1].epoch += seam;
			count = trend_of_series(&s, NULL, NULL, &trends);
			assert_int_equal(trends[0].change_count, 0);
			trends_release(trends, count);
		}
}

/*
 * Two jobs with configs of their own may fill one history: neither hides what became of the other.
 */
static void epochs_that_take_turns_are_both_current(void **state)
{
	struct history_point points[60];
	struct history_series s = { .points = points, .count = 60, .better = BETTER_HIGHER };
	struct trend *trends;
	size_t count;

	(void)state;
	fill(points, 60, 60, 60);
	for (size_t i = 0; i < 60; i++) {
		points[i].epoch = 1 + (int64_t)(i % 2);
		if (i % 2 == 0 && i >= 40)
			points[i].value *= 0.9;
	}
	trends = trend_with(&s, NULL, &count);
	assert_int_equal(count, 2);
	assert_true(trends[0].current && trends[1].current);
	assert_int_equal(trends[0].change_count, 1);
	assert_int_equal(trends[1].change_count, 0);
	assert_int_equal(trends[0].seam_count + trends[1].seam_count, 0);
	trends_release(trends, count);
	/* One that did not come again is history, though it once took turns. */
	for (size_t i = 50; i < 60; i++)
		points[i].epoch = 2;
	trends = trend_with(&s, NULL, &count);
	assert_false(trends[0].current);
	assert_true(trends[1].current);
	trends_release(trends, count);
	/* Both get another driver: each is compared with its own past, by its config. */
	for (size_t i = 0; i < 60; i++) {
		points[i].epoch = 1 + (int64_t)(i % 2) + (i >= 40 ? 2 : 0);
		points[i].config = 7 + i % 2;
		points[i].value = (i % 2 ? 50 : 100) * exp(0.001 * (double)(i % 7)) *
				  (i >= 40 && i % 2 ? 0.9 : 1);
	}
	trends = trend_with(&s, NULL, &count);
	assert_int_equal(count, 2);
	assert_int_equal(trends[0].change_count, 0);
	assert_int_equal(trends[1].change_count, 1);
	assert_int_equal(trends[1].changes[0].at, 20);
	trends_release(trends, count);
}

static void two_of_three_warn(void **state)
{
	struct history_point points[33];
	struct history_series s = { .points = points, .count = 32, .better = BETTER_HIGHER };
	struct trend *trends;
	size_t count;

	(void)state;
	/* One night beyond the band, then a second one. */
	fill(points, 32, 31, 60);
	trends = trend_with(&s, NULL, &count);
	assert_false(trends[0].warning);
	trends_release(trends, count);
	fill(points, 32, 30, 60);
	trends = trend_with(&s, NULL, &count);
	assert_true(trends[0].warning);
	trends_release(trends, count);
	/* Better is no warning. */
	s.better = BETTER_LOWER;
	trends = trend_with(&s, NULL, &count);
	assert_false(trends[0].warning);
	trends_release(trends, count);
}

/* Each change counts by its state; only new ones by their direction. */
static void changes_are_counted_by_state_and_direction(void **state)
{
	(void)state;
	for (int row = 0; row < 9; row++) {
		enum change_state is = (enum change_state)(row / 3);
		struct trend_change changes[2] = {
			{ .state = is, .worse = row % 3 == 1, .improved = row % 3 == 2 },
			{ .state = TREND_NEW, .worse = true },
		};
		const struct trend trend = { .changes = changes, .change_count = 2 };
		struct trend_summary sum = { .fresh = 10 };

		trend_news_count_changes(&sum, &trend);
		assert_int_equal(sum.fresh, 11 + (is == TREND_NEW));
		assert_int_equal(sum.worse, 1 + (row == 1));
		assert_int_equal(sum.improved, row == 2);
		assert_int_equal(sum.acknowledged, is == TREND_ACKNOWLEDGED);
		assert_int_equal(sum.recovered, is == TREND_RECOVERED);
		assert_int_equal(sum.series, 0);
		assert_true(trend_news_count(&sum, &trend));
		assert_int_equal(sum.series, 1);
	}
}

static void missed_nights_are_seen(void **state)
{
	const int64_t daily[] = { 100, 101, 102, 105, 106, 106, 107 },
		      weekly[] = { 7, 14, 22, 28, 42 };
	int64_t missed[8];

	(void)state;
	assert_int_equal(trend_missed_nights(daily, 7, missed, 8), 2);
	assert_int_equal(missed[0], 103);
	assert_int_equal(missed[1], 104);
	assert_int_equal(trend_missed_nights(weekly, 5, missed, 8), 1);
	assert_int_equal(missed[0], 35);
	/* The usual interval is the shorter one of two: nights 2 to 7 are missed. */
	assert_int_equal(trend_missed_nights((int64_t[]){ 0, 1, 8 }, 3, missed, 8), 6);
	assert_int_equal(missed[5], 7);
	/* A night of a wrong clock, eight thousand years ahead, takes no time. */
	assert_int_equal(trend_missed_nights((int64_t[]){ 0, 1, 2, LAST_DAY }, 4, missed, 2),
			 LAST_DAY - 3);
	assert_int_equal(missed[1], 4);
	assert_int_equal(trend_missed_nights(daily, 1, missed, 8), 0);
	assert_int_equal(trend_missed_nights(NULL, 0, missed, 8), 0);
}

/* Nights that jump between two levels, as those of a call do, are no change; a new level is one. */
static void levels_that_come_again_are_states(void **state)
{
	static const struct {
		const char *nights; /* '0' a level, '1' 30 % above it, '2' 3 times it */
		size_t from, at;    /* of the level from `at` on */
		bool states, is;
	} rows[] = {
		/* Never there before. */
		{ "000000000000000000001111111111", 0, 20, false, false },
		{ "000000000000000000001111111111", 0, 20, true, false },
		/* Three short visits before; of a kind without states one is not enough. */
		{ "000100001100000100001111111111", 0, 20, false, true },
		{ "000100000000000000001111111111", 0, 20, false, false },
		{ "000100000000000000001111111111", 0, 20, true, true },
		/* A long visit before is a change, and the same again is news. */
		{ "000000011111110000000000001111111111", 14, 26, false, false },
		{ "000000011111110000000000001111111111", 14, 26, true, true },
		/* Too short to be a new level of a call, unless it is far away. */
		{ "0000000000000000000011111", 0, 20, true, true },
		{ "0000000000000000000022222", 0, 20, true, false },
	};

	(void)state;
	for (size_t r = 0; r < ARRAY_SIZE(rows); r++) {
		size_t n = strlen(rows[r].nights);
		struct level_segment s = { rows[r].from, rows[r].at, n };
		uint64_t noise = r + 1;
		double logs[64];

		for (size_t i = 0; i < n; i++)
			logs[i] = (rows[r].nights[i] == '1'   ? log(1.3)
				   : rows[r].nights[i] == '2' ? log(3)
							      : 0) +
				  0.002 * sample_normal(&noise);
		if (trend_levels_is_state(logs, n, &s, rows[r].states ? 10 : 0) != rows[r].is)
			fail_msg("row %zu", r);
	}
}

/*
 * Two states whose visits are short or last for weeks: no change, and a step of 3 % in both is
 * found.
 */
static void nights_of_two_states_are_quiet(void **state)
{
	static const struct {
		double rare, stay;
	} rows[] = { { 0.3, 0 }, { 0.3, 0.5 }, { 0.1, 0.8 }, { 0.45, 0.8 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct night_plan plan = { .series = 25,
					   .past = 60,
					   .nights = 25,
					   .noise = 0.01,
					   .shape = NOISE_STATES,
					   .kind = "host call",
					   .rare = rows[i].rare,
					   .apart = 0.29,
					   .stay = rows[i].stay };
		double changes = 0, found = 0;

		for (plan.seed = 1; plan.seed <= 4; plan.seed++) {
			plan.step = 0;
			changes += simulate_quiet(&plan).changes / 4;
			plan.step = 0.03;
			found += simulate_step(&plan).within_10 / 4;
		}
		print_message("two states, %.0f %%, %.0f %% stay: %.1f %% false, %.1f %% found\n",
			      100 * plan.rare, 100 * plan.stay, 100 * changes, 100 * found);
		assert_true(changes <= 0.03);
		assert_true(found >= 0.9);
	}
}

/* One of six runners each night, GPUs 2 % apart, one replaced a week. */
static void pools_survive_runners_that_change(void **state)
{
	struct pool_plan plan = { .figures = 1,
				  .runners = 6,
				  .past = 60,
				  .nights = 10,
				  .replaced = 7,
				  .noise = 0.005,
				  .apart = 0.02,
				  .step = 0.03 };
	double alarms = 0, found = 0;

	(void)state;
	for (plan.seed = 1; plan.seed <= 60; plan.seed++) {
		struct pool_outcome o = simulate_pool(&plan);

		alarms += o.alarms / 60;
		found += o.found / 60;
	}
	print_message("pools: %.1f %% alarms, steps of 3 %% found in ten nights %.1f %%\n",
		      100 * alarms, 100 * found);
	assert_true(alarms <= 0.03 && found >= 0.9);
}

/* A change of one GPU is no change of the pool. */
static void a_slow_gpu_is_no_change_of_the_pool(void **state)
{
	struct pool_plan plan = {
		.figures = 1, .runners = 6, .past = 60, .noise = 0.005, .apart = 0.02, .broken = 0.2
	};
	double alarms = 0, common = 0;

	(void)state;
	for (plan.seed = 1; plan.seed <= 40; plan.seed++) {
		struct pool_outcome o = simulate_pool(&plan);

		alarms += o.alarms / 40;
		common += o.common / 40;
	}
	assert_true(alarms >= 0.8 && common <= 0.1);
}

/* A proposed date that is off by up to three nights becomes the night of the step. */
static void proposed_dates_are_moved_to_the_step(void **state)
{
	double values[60], odds[2], wander = 0;
	uint64_t noise = 38;

	(void)state;
	for (size_t i = 0; i < 60; i++) {
		wander = 0.5 * wander + 0.003 * sample_normal(&noise);
		values[i] = wander + (i >= 30 ? 0.03 : 0);
	}
	for (size_t at = 27; at <= 33; at++) {
		size_t point = at;

		assert_int_equal(change_odds_keep(values, 60, &rho_weights_flat, 5, &point, 1,
						  odds),
				 1);
		assert_int_equal(point, 30);
	}
	/* In a series too short for two levels it stays. */
	for (size_t n = 2; n <= 9; n++) {
		size_t point = n / 2;

		if (change_odds_keep(values, n, &rho_weights_flat, -INFINITY, &point, 1, odds))
			assert_int_equal(point, n / 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quiet_series_stay_quiet),
		cmocka_unit_test(steps_are_found),
		cmocka_unit_test(wandering_series_stay_quiet_and_steps_are_found),
		cmocka_unit_test(proposals_are_not_enough),
		cmocka_unit_test(proposed_dates_are_moved_to_the_step),
		cmocka_unit_test(many_series_raise_the_limit),
		cmocka_unit_test(young_series_warn_rarely),
		cmocka_unit_test(students_t_as_in_tables),
		cmocka_unit_test(ranks_of_few_nights_are_exact),
		cmocka_unit_test(wild_nights_are_no_change),
		cmocka_unit_test(places_are_right),
		cmocka_unit_test(equal_values_do_not_change),
		cmocka_unit_test(exact_values_change),
		cmocka_unit_test(states_of_changes),
		cmocka_unit_test(levels_are_compared_across_seams),
		cmocka_unit_test(a_seam_hides_no_change_before_it),
		cmocka_unit_test(large_falls_are_told_at_once),
		cmocka_unit_test(states_are_no_falls),
		cmocka_unit_test(epochs_that_take_turns_are_both_current),
		cmocka_unit_test(two_of_three_warn),
		cmocka_unit_test(changes_are_counted_by_state_and_direction),
		cmocka_unit_test(missed_nights_are_seen),
		cmocka_unit_test(levels_that_come_again_are_states),
		cmocka_unit_test(nights_of_two_states_are_quiet),
		cmocka_unit_test(pools_survive_runners_that_change),
		cmocka_unit_test(a_slow_gpu_is_no_change_of_the_pool),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
