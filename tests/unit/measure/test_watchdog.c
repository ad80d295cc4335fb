/*
 * A case that continues is slow, one that shows no sign of life hangs; both say what they were
 * doing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "measure/watchdog.h"

/* Seconds in which nothing happens but CPU time passes at `share`. */
static void pass(struct watchdog *w, struct activity *a, double seconds, double *cpu, double share)
{
	for (double t = 0; t < seconds; t += 0.25) {
		*cpu += 0.25 * share;
		watchdog_tick(w, 0.25, a, *cpu);
	}
}

static void no_sign_of_life_for_the_limit_is_a_hang(void **state)
{
	struct activity a = { 0 };
	struct watchdog w = { 0 };
	char text[384];
	double cpu = 0;

	(void)state;
	activity_begin(&a, "verification");
	pass(&w, &a, 29, &cpu, 0);
	assert_int_equal(watchdog_judge(&w, 30, false), WATCHDOG_GO_ON);
	pass(&w, &a, 2, &cpu, 0);
	assert_int_equal(watchdog_judge(&w, 30, false), WATCHDOG_HUNG);
	watchdog_explain(&w, WATCHDOG_HUNG, 30, &a, text, sizeof(text));
	assert_non_null(strstr(text, "hung: no result within 31"));
	assert_non_null(strstr(text, "in verification, 0 samples"));
	assert_non_null(strstr(text, "[run] case_limit = 62s"));
}

/* The limit is of the time since the last sample, and at ten times it is enough. */
static void a_case_that_goes_on_is_slow(void **state)
{
	struct activity a = { 0 };
	struct watchdog w = { 0 };
	char text[384];
	double cpu = 0;

	(void)state;
	activity_begin(&a, "set-up");
	activity_enter(&a, "samples");
	for (int i = 0; i < 14; i++) {
		pass(&w, &a, 20, &cpu, 0);
		activity_sampled(&a, 1);
		assert_int_equal(watchdog_judge(&w, 30, false), WATCHDOG_GO_ON);
	}
	pass(&w, &a, 20.5, &cpu, 0);
	assert_int_equal(watchdog_judge(&w, 30, false), WATCHDOG_SLOW);
	watchdog_explain(&w, WATCHDOG_SLOW, 30, &a, text, sizeof(text));
	assert_non_null(strstr(text, "slow: no result within 30"));
	assert_non_null(strstr(text, "in samples, 14 samples"));
	assert_non_null(strstr(text, "[run] case_limit = "));
	/* It stopped after that. */
	memset(&w, 0, sizeof(w));
	pass(&w, &a, 31, &cpu, 0);
	assert_int_equal(watchdog_judge(&w, 30, false), WATCHDOG_HUNG);
}

/* On devices made of the CPU a long verification has no parts, but it works. */
static void cpu_time_is_a_sign_of_life(void **state)
{
	struct activity a = { 0 };
	struct watchdog w = { 0 };
	double cpu = 100;

	(void)state;
	activity_begin(&a, "verification");
	/* A fifth of a core, on a loaded machine. */
	pass(&w, &a, 200, &cpu, 0.2);
	assert_int_equal(watchdog_judge(&w, 30, false), WATCHDOG_GO_ON);
	pass(&w, &a, 101, &cpu, 0.2);
	assert_int_equal(watchdog_judge(&w, 30, false), WATCHDOG_SLOW);
	/* Polling is none. */
	memset(&w, 0, sizeof(w));
	pass(&w, &a, 32, &cpu, 0.01);
	assert_int_equal(watchdog_judge(&w, 30, false), WATCHDOG_HUNG);
}

static void a_limit_that_was_given_is_final(void **state)
{
	struct activity a = { 0 };
	struct watchdog w = { 0 };
	double cpu = 0;

	(void)state;
	activity_begin(&a, "samples");
	pass(&w, &a, 2.5, &cpu, 0);
	assert_int_equal(watchdog_judge(&w, 3, true), WATCHDOG_GO_ON);
	activity_sampled(&a, 1);
	pass(&w, &a, 1, &cpu, 0);
	assert_int_equal(watchdog_judge(&w, 3, true), WATCHDOG_SLOW);
	pass(&w, &a, 2, &cpu, 0);
	assert_int_equal(watchdog_judge(&w, 3, true), WATCHDOG_HUNG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_sign_of_life_for_the_limit_is_a_hang),
		cmocka_unit_test(a_case_that_goes_on_is_slow),
		cmocka_unit_test(cpu_time_is_a_sign_of_life),
		cmocka_unit_test(a_limit_that_was_given_is_final),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
