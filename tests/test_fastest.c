/* Picking the fastest of several: what wins, what is tried, what ends it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/fastest.h"
#include "base/memory.h"

#define REFUSED -1.0

struct race {
	const double *each; /* REFUSED: cannot be used */
	double tired;       /* by how much candidate 1 slows down in long stretches */
	int runs[8];
	size_t broken; /* fails for good; 0: none does */
};

/* Tells times that nobody spent, but for a little of `seconds`, so that the search's own clock moves. */
static enum status run(void *context, size_t candidate, double seconds, double *each,
		       struct error *err)
{
	struct race *race = context;

	race->runs[candidate]++;
	clock_sleep(fmin(seconds, 1e-4));
	if (race->broken && candidate == race->broken)
		return error_set(err, STATUS_DEVICE, "lost");
	if (race->each[candidate] == REFUSED)
		return error_set(err, STATUS_UNSUPPORTED, "not this one");
	*each = race->each[candidate];
	if (candidate == 1 && seconds > 0.004)
		*each *= race->tired;
	return STATUS_OK;
}

static void test_the_fastest_wins(void **state)
{
	static const double each[] = { 3, REFUSED, 2, 1.9, 2.5, 9 };
	struct race race = { .each = each, .tired = 1 };
	struct fastest out;
	struct error err = ERROR_NONE;

	(void)state;
	assert_int_equal(fastest_of(ARRAY_SIZE(each), 0.02, run, &race, &out, &err), STATUS_OK);
	assert_int_equal(out.best, 3);
	assert_int_equal(out.tried, 5);
	assert_true(out.seconds == 1.9 && out.first_seconds == 3);
	/* The slow one gets no second look. */
	assert_int_equal(race.runs[5], 1);
	assert_true(race.runs[2] > 1);
}

/* What is fast for a moment and slow in the long run loses. */
static void test_long_stretches_decide(void **state)
{
	static const double each[] = { 1.2, 1.0, 1.1 };
	struct race race = { .each = each, .tired = 1.3 };
	struct fastest out;
	struct error err = ERROR_NONE;

	(void)state;
	assert_int_equal(fastest_of(ARRAY_SIZE(each), 0.5, run, &race, &out, &err), STATUS_OK);
	assert_int_equal(out.best, 2);
}

static void test_no_time_is_the_first_usable(void **state)
{
	static const double each[] = { REFUSED, 2, 1 };
	struct race race = { .each = each, .tired = 1 };
	struct fastest out;
	struct error err = ERROR_NONE;

	(void)state;
	assert_int_equal(fastest_of(ARRAY_SIZE(each), 0, run, &race, &out, &err), STATUS_OK);
	assert_int_equal(out.best, 1);
	assert_int_equal(out.tried, 1);
	assert_int_equal(race.runs[2], 0);
}

static void test_failures(void **state)
{
	static const double none[] = { REFUSED, REFUSED }, each[] = { 2, 1, 1 };
	struct race race = { .each = none, .tired = 1 };
	struct fastest out;
	struct error err = ERROR_NONE;

	(void)state;
	assert_int_equal(fastest_of(2, 0.01, run, &race, &out, &err), STATUS_UNSUPPORTED);
	error_clear(&err);
	assert_int_equal(fastest_of(0, 0.01, run, &race, &out, &err), STATUS_UNSUPPORTED);
	error_clear(&err);
	race.each = each;
	race.broken = 2;
	/* Time enough to come to it on a busy machine. */
	assert_int_equal(fastest_of(3, 10, run, &race, &out, &err), STATUS_DEVICE);
	assert_string_equal(err.message, "lost");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_fastest_wins),
		cmocka_unit_test(test_long_stretches_decide),
		cmocka_unit_test(test_no_time_is_the_first_usable),
		cmocka_unit_test(test_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
