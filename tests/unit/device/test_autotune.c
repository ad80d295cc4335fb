/* Picking the fastest of several: what wins, what is tried, what ends it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "device/autotune.h"
#include "base/clock.h"
#include "base/memory.h"

#define REFUSED -1.0

/*
 * The test has a clock of its own (tests/CMakeLists.txt): time passes as told, however busy the
 * machine is.
 */
static double now;
double __wrap_clock_seconds(void);
void __wrap_clock_sleep(double seconds);

double __wrap_clock_seconds(void)
{
	return now;
}

void __wrap_clock_sleep(double seconds)
{
	now += seconds;
}

struct race {
	const double *each; /* REFUSED: cannot be used */
	double tired;       /* by how much candidate 1 slows down in long stretches */
	int runs[8];
	size_t broken; /* fails for good; 0: none does */
};

/*
 * Reports simulated times and spends a little of `seconds`, so that the search's own clock moves.
 */
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
	static const struct autotune_rules brief = { .seconds = 0.02 };
	static const double each[] = { 3, REFUSED, 2, 1.9, 2.5, 9 };
	struct race race = { .each = each, .tired = 1 };
	struct autotune_result out;
	struct error err = ERROR_NONE;

	(void)state;
	assert_int_equal(autotune(ARRAY_SIZE(each), &brief, run, &race, &out, &err), STATUS_OK);
	assert_int_equal(out.best, 3);
	assert_int_equal(out.first, 0);
	assert_int_equal(out.tried, 5);
	assert_true(out.seconds == 1.9 && out.first_seconds == 3);
	/* The slow one gets no second look. */
	assert_int_equal(race.runs[5], 1);
	assert_true(race.runs[2] > 1);
}

/* A candidate that is fast for a moment and slow in the long run loses. */
static void test_long_stretches_decide(void **state)
{
	static const struct autotune_rules rules = { .seconds = 0.5 };
	static const double each[] = { 1.2, 1.0, 1.1 };
	struct race race = { .each = each, .tired = 1.3 };
	struct autotune_result out;
	struct error err = ERROR_NONE;

	(void)state;
	assert_int_equal(autotune(ARRAY_SIZE(each), &rules, run, &race, &out, &err), STATUS_OK);
	assert_int_equal(out.best, 2);
}

/*
 * A device whose clock follows what it does: a candidate that needs more power is slower when it is
 * sustained.
 */
struct warm_device {
	size_t last;    /* candidate */
	double used_to; /* seconds of it, without another */
	int runs[3];
};

#define WARM_SECONDS 0.02

static enum status run_warm(void *context, size_t candidate, double seconds, double *each,
			    struct error *err)
{
	static const double cool[] = { 1.0, 0.95, 1.05 }, hot[] = { 1.375, 1.375, 1.25 };
	struct warm_device *d = context;

	(void)err;
	if (candidate != d->last)
		d->used_to = 0;
	d->last = candidate;
	*each = d->used_to >= WARM_SECONDS ? hot[candidate] : cool[candidate];
	d->used_to += seconds;
	d->runs[candidate]++;
	clock_sleep(seconds);
	return STATUS_OK;
}

/*
 * Rested, the one wins that is fast at full clock; sustained, the one that the device can keep up.
 */
static void test_the_load_decides(void **state)
{
	static const struct autotune_rules rested = { 1, false }, sustained = { 1, true };
	struct warm_device device = { 0 };
	struct autotune_result out;
	struct error err = ERROR_NONE;

	(void)state;
	assert_int_equal(autotune(3, &rested, run_warm, &device, &out, &err), STATUS_OK);
	assert_int_equal(out.best, 1);
	device = (struct warm_device){ 0 };
	assert_int_equal(autotune(3, &sustained, run_warm, &device, &out, &err), STATUS_OK);
	assert_int_equal(out.best, 2);
	assert_true(out.seconds == 1.25 && out.first_seconds == 1.375);
	/*
	 * The slower candidate after a turn is out (loaded, a look, two parts of a turn); but the
	 * first is compared to the end.
	 */
	assert_int_equal(device.runs[1], 4);
	assert_true(device.runs[0] >= 7);
}

static void test_the_fastest_usable_one_wins_under_load(void **state)
{
	static const struct autotune_rules sustained = { 0.2, true };
	static const double each[] = { REFUSED, 3, REFUSED, 1.625, 1.5, 9 };
	struct race race = { .each = each, .tired = 1 };
	struct autotune_result out;
	struct error err = ERROR_NONE;

	(void)state;
	assert_int_equal(autotune(ARRAY_SIZE(each), &sustained, run, &race, &out, &err), STATUS_OK);
	assert_int_equal(out.best, 4);
	assert_int_equal(out.first, 1);
	assert_int_equal(out.tried, 4);
	assert_true(out.seconds == 1.5 && out.first_seconds == 3);
	/* Loaded, and then one look; or no more than that it was refused. */
	assert_int_equal(race.runs[5], 2);
	assert_int_equal(race.runs[2], 1);
}

static void test_no_time_is_the_first_usable(void **state)
{
	static const struct autotune_rules none = { 0 };
	static const double each[] = { REFUSED, 2, 1 };
	struct race race = { .each = each, .tired = 1 };
	struct autotune_result out;
	struct error err = ERROR_NONE;

	(void)state;
	assert_int_equal(autotune(ARRAY_SIZE(each), &none, run, &race, &out, &err), STATUS_OK);
	assert_int_equal(out.best, 1);
	assert_int_equal(out.first, 1);
	assert_int_equal(out.tried, 1);
	assert_int_equal(race.runs[2], 0);
}

static void test_failures(void **state)
{
	static const double none[] = { REFUSED, REFUSED }, each[] = { 2, 1, 1 };
	struct error err = ERROR_NONE;

	(void)state;
	for (int sustained = 0; sustained < 2; sustained++) {
		/* Ample: enough to come to the last one on a busy machine. */
		const struct autotune_rules brief = { 0.01, sustained }, ample = { 10, sustained };
		struct race race = { .each = none, .tired = 1 };
		struct autotune_result out;

		assert_int_equal(autotune(2, &brief, run, &race, &out, &err), STATUS_UNSUPPORTED);
		error_clear(&err);
		assert_int_equal(autotune(0, &brief, run, &race, &out, &err), STATUS_UNSUPPORTED);
		error_clear(&err);
		race.each = each;
		race.broken = 2;
		assert_int_equal(autotune(3, &ample, run, &race, &out, &err), STATUS_DEVICE);
		assert_string_equal(err.message, "lost");
		error_clear(&err);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_fastest_wins),
		cmocka_unit_test(test_long_stretches_decide),
		cmocka_unit_test(test_the_load_decides),
		cmocka_unit_test(test_the_fastest_usable_one_wins_under_load),
		cmocka_unit_test(test_no_time_is_the_first_usable),
		cmocka_unit_test(test_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
