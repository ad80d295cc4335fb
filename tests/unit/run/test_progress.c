/* The progress line fits every terminal; a finished case is one plain line. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "run/progress.h"

static char ids[][48] = { "transfer/h2d/pinned/64MiB@cuda:0", "transfer/d2h/pinned/64MiB@cuda:0",
			  "transfer/p2p/pinned/64MiB@cuda:0,cuda:1" };
static struct plan_case cases[3] = {
	{ .id = ids[0], .estimate_seconds = 1 },
	{ .id = ids[1], .estimate_seconds = 2 },
	{ .id = ids[2], .estimate_seconds = 9 },
};
static const struct plan plan = { .cases = cases, .case_count = 3 };

static size_t width(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xC0) != 0x80;
	return n;
}

static struct progress in_the_second_case(void)
{
	static const bool done[] = { true, false, false };
	struct progress progress;

	progress_begin(&progress, &plan, done, true);
	progress_started(&progress, &cases[1]);
	progress.current_began = 100;
	progress.median = 1.2345e-3;
	progress.half_width = 0.003;
	return progress;
}

static void the_line_says_where_the_run_is(void **state)
{
	struct progress progress = in_the_second_case();
	struct text line = TEXT_EMPTY;

	(void)state;
	progress_line(&progress, 100.5, 120, &line);
	assert_string_equal(line.data, "case 2/3  ETA 11 s  transfer/d2h/pinned/64MiB@cuda:0  time "
				       "1.234 ms ±0.3 %");
	text_release(&line);
}

static void the_line_is_cut_to_the_terminal(void **state)
{
	struct progress progress = in_the_second_case();

	(void)state;
	for (int columns = 0; columns < 100; columns++) {
		struct text line = TEXT_EMPTY;

		progress_line(&progress, 100.5, columns, &line);
		assert_true(width(line.data ? line.data : "") <= (size_t)columns);
		assert_true(text_is_utf8(line.data, line.length));
		assert_true(columns < 18 || strstr(line.data, "ETA 11 s"));
		text_release(&line);
	}
}

static void the_eta_learns_from_the_cases_before(void **state)
{
	static const bool done[] = { false, false, false };
	struct case_result result = { .id = cases[0].id, .status = CASE_OK, .seconds = 3 };
	struct progress progress;
	struct text line = TEXT_EMPTY;

	(void)state;
	progress_begin(&progress, &plan, done, true);
	progress_started(&progress, &cases[0]);
	progress_settled(&progress, &cases[0], &result);
	/* 11 s by the plan; the first case took three times its estimate, which counts in part. */
	progress_line(&progress, 0, 100, &line);
	assert_string_equal(line.data, "case 1/3  ETA 18 s");
	text_release(&line);
}

static void a_finished_case_is_one_line(void **state)
{
	static char seconds[] = "s", bandwidth[] = "B/s", reason[] = "worker exited with code 3";
	struct progress progress = { .number = 12, .total = 57 };
	struct metric_value metrics[] = {
		{ .unit = seconds, .value = 1, .low = NAN, .high = NAN },
		{ .unit = bandwidth,
		  .headline = true,
		  .value = 5.541e10,
		  .low = 5.52e10,
		  .high = 5.55e10 },
	};
	struct case_result result = {
		.id = cases[0].id, .status = CASE_OK, .metrics = metrics, .metric_count = 2
	};
	struct text line = TEXT_EMPTY;

	(void)state;
	progress_plain(&progress, &result, &line);
	assert_string_equal(line.data,
			    "[12/57] OK transfer/h2d/pinned/64MiB@cuda:0: 55.41 GB/s ±0.38 %\n");
	text_reset(&line);
	result.status = CASE_ERROR;
	result.reason = reason;
	progress_plain(&progress, &result, &line);
	assert_string_equal(line.data, "[12/57] ERROR transfer/h2d/pinned/64MiB@cuda:0: worker "
				       "exited with code 3\n");
	text_release(&line);
}

static void settle_skipped(struct progress *progress, const char *id, const char *device,
			   const char *reason)
{
	struct case_result result = { .id = (char *)id,
				      .status = CASE_SKIPPED,
				      .device = (char *)device,
				      .reason = (char *)reason };

	progress_settled(progress, &cases[0], &result);
}

/* A reason has one line however many cases it is of, and those after it another at the end. */
static void skipped_cases_are_a_line_a_reason(void **state)
{
	struct progress progress = { .total = 57 };
	struct text lines = TEXT_EMPTY;

	(void)state;
	for (int i = 0; i < 10; i++)
		settle_skipped(&progress, i ? "transfer/p2p/b" : "transfer/p2p/a", "",
			       "needs 2 devices, host has 1");
	settle_skipped(&progress, "burn/c", "cuda:1", "cuda:1 has none, cuda:12 has");
	settle_skipped(&progress, "burn/d", "cuda:2", "cuda:2 has none, cuda:12 has");
	progress_skips(&progress, false, &lines);
	assert_string_equal(lines.data, "[12/57] SKIPPED 10 cases, the first transfer/p2p/a: needs "
					"2 devices, host has 1\n"
					"[12/57] SKIPPED 2 cases, the first burn/c: the device has "
					"none, cuda:12 has\n");
	text_reset(&lines);
	settle_skipped(&progress, "transfer/p2p/d", "", "needs 2 devices, host has 1");
	progress_skips(&progress, false, &lines);
	assert_int_equal(lines.length, 0);
	progress_skips(&progress, true, &lines);
	assert_string_equal(lines.data, "[13/57] SKIPPED 1 more: needs 2 devices, host has 1\n");
	progress_end(&progress);
	text_release(&lines);
}

/* A figure that did not settle is told as that, not replaced by the first size of the case. */
static void an_unsettled_figure_is_told(void **state)
{
	static char bytes[] = "B", rate[] = "FLOP/s", of[] = "matmul.time";
	struct progress progress = { .number = 1, .total = 2 };
	struct series series = { .name = of, .unsettled = true };
	struct metric_value metrics[] = {
		{ .unit = bytes, .value = 6291456, .low = NAN, .high = NAN },
		{ .unit = rate, .value = 9.6e10, .low = NAN, .high = NAN, .series = of },
	};
	struct case_result result = { .id = cases[0].id,
				      .status = CASE_OK,
				      .metrics = metrics,
				      .metric_count = 2,
				      .series = &series,
				      .series_count = 1 };
	struct text line = TEXT_EMPTY;

	(void)state;
	progress_plain(&progress, &result, &line);
	assert_non_null(strstr(line.data, ": 96.00 GFLOP/s, not settled\n"));
	text_release(&line);
}

/* A number without a unit has its name, and one whose samples scatter says so. */
static void a_line_says_what_its_number_is(void **state)
{
	static char one[] = "1", name[] = "matmul.error_of_all", of[] = "matmul.time";
	struct progress progress = { .number = 1, .total = 2 };
	struct series series = { .name = of, .statistics = { .noisy = true } };
	struct metric_value metric = { .name = name,
				       .unit = one,
				       .headline = true,
				       .value = 2e-4,
				       .low = NAN,
				       .high = NAN,
				       .series = of };
	struct case_result result = { .id = cases[0].id,
				      .status = CASE_OK,
				      .metrics = &metric,
				      .metric_count = 1,
				      .series = &series,
				      .series_count = 1 };
	struct text line = TEXT_EMPTY;

	(void)state;
	progress_plain(&progress, &result, &line);
	assert_string_equal(line.data, "[1/2] OK transfer/h2d/pinned/64MiB@cuda:0: error of all "
				       "2.000e-04, noisy\n");
	text_release(&line);
}

/*
 * A case that took a hundred times its estimate, on a loaded machine, does not make an hour of a
 * minute.
 */
static void one_slow_case_is_not_all(void **state)
{
	static const bool done[] = { false, false, false };
	struct case_result result = { .id = cases[0].id, .status = CASE_OK, .seconds = 100 };
	struct progress progress;
	struct text line = TEXT_EMPTY;

	(void)state;
	progress_begin(&progress, &plan, done, true);
	progress_settled(&progress, &cases[0], &result);
	progress_line(&progress, 0, 100, &line);
	/* 11 s by the plan; (6 + 2.4) / (1 + 2.4) times as long. */
	assert_string_equal(line.data, "case 1/3  ETA 28 s");
	text_release(&line);
}

/* The plan says 11 s; then the estimate becomes much larger, and what people see follows slowly. */
static void the_eta_does_not_jump(void **state)
{
	struct progress progress = in_the_second_case();
	double before = progress_left(&progress, 100), after;

	(void)state;
	assert_float_equal(before, 11, 1e-6);
	assert_float_equal(progress_left(&progress, 101), 10, 1e-6);
	progress.estimate_left += 300;
	for (int i = 0; i < 4; i++)
		after = progress_left(&progress, 101 + 0.25 * i);
	assert_in_range((int)after, 10, 40);
	for (int i = 0; i < 400; i++)
		after = progress_left(&progress, 102 + 0.25 * i);
	assert_in_range((int)after, 290, 310);
}

/* Without a terminal a long case has a line a minute, and none sooner. */
static void a_long_case_has_a_line_a_minute(void **state)
{
	struct progress progress = in_the_second_case();
	struct text line = TEXT_EMPTY;

	(void)state;
	progress.quiet = false;
	progress.line_at = 100;
	strcpy(progress.part, "samples");
	progress.samples = 12;
	progress_pulse(&progress, 159, &line);
	assert_int_equal(line.length, 0);
	progress_pulse(&progress, 161, &line);
	assert_string_equal(line.data, "[2/3] transfer/d2h/pinned/64MiB@cuda:0: samples, 61 s, 12 "
				       "samples; about 9 s left\n");
	text_reset(&line);
	progress_pulse(&progress, 162, &line);
	assert_int_equal(line.length, 0);
	progress.quiet = true;
	progress_pulse(&progress, 400, &line);
	assert_int_equal(line.length, 0);
	text_release(&line);
}

/* A terminal that has become narrower has folded the line. */
static void a_folded_line_is_cleared(void **state)
{
	struct progress progress = { .drawn = true, .drawn_columns = 100, .drawn_width = 90 };
	struct text out = TEXT_EMPTY;

	(void)state;
	progress_clear(&progress, 100, &out);
	assert_string_equal(out.data, "\r\033[K");
	text_reset(&out);
	progress_clear(&progress, 40, &out);
	assert_string_equal(out.data, "\033[2A\r\033[J");
	text_reset(&out);
	progress_clear(&progress, 45, &out);
	assert_string_equal(out.data, "\033[1A\r\033[J");
	text_reset(&out);
	progress_clear(&progress, 120, &out);
	assert_string_equal(out.data, "\r\033[J");
	text_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_line_says_where_the_run_is),
		cmocka_unit_test(the_line_is_cut_to_the_terminal),
		cmocka_unit_test(the_eta_learns_from_the_cases_before),
		cmocka_unit_test(a_finished_case_is_one_line),
		cmocka_unit_test(skipped_cases_are_a_line_a_reason),
		cmocka_unit_test(an_unsettled_figure_is_told),
		cmocka_unit_test(a_line_says_what_its_number_is),
		cmocka_unit_test(one_slow_case_is_not_all),
		cmocka_unit_test(the_eta_does_not_jump),
		cmocka_unit_test(a_long_case_has_a_line_a_minute),
		cmocka_unit_test(a_folded_line_is_cleared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
