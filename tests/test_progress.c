/* The progress line fits every terminal; a finished case is one plain line. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "measure/progress.h"

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
	assert_string_equal(line.data,
			    "case 2/3 transfer/d2h/pinned/64MiB@cuda:0  1.234 ms ±0.3 %  ETA 11 s");
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
	assert_string_equal(
		line.data,
		"[12/57] ERROR transfer/h2d/pinned/64MiB@cuda:0: worker exited with code 3\n");
	text_release(&line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_line_says_where_the_run_is),
		cmocka_unit_test(the_line_is_cut_to_the_terminal),
		cmocka_unit_test(the_eta_learns_from_the_cases_before),
		cmocka_unit_test(a_finished_case_is_one_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
