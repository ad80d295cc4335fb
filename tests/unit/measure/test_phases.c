/* Phases of a case and their seconds: see measure/phases.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/clock.h"
#include "measure/phases.h"
#include "measure/processes/world.h"
#include "result/result.h"
#include "scripted_clock.h"

static struct world alone = { .size = 1 };

static void parts_of_one_name_add_up(void **state)
{
	struct error err = ERROR_NONE;
	struct case_result result;
	struct phases phases;
	double sum = 0;

	(void)state;
	case_result_init(&result);
	atomic_store(&clock_scripted, true);
	phases_begin(&phases, "first");
	clock_sleep(0.02);
	assert_int_equal(phases_next(&phases, &alone, "second", &err), STATUS_OK);
	assert_string_equal(phases_enter(&phases, "inside"), "second");
	clock_sleep(0.01);
	assert_string_equal(phases_enter(&phases, "second"), "inside");
	clock_sleep(0.02);
	phases_enter(&phases, "first");
	clock_sleep(0.02);
	phases_record(&phases, &result);
	assert_int_equal(result.phase_count, 3);
	assert_string_equal(result.phases[0].name, "first");
	assert_string_equal(result.phases[1].name, "second");
	assert_string_equal(result.phases[2].name, "inside");
	assert_float_equal(result.phases[0].seconds, 0.04, 1e-9);
	assert_float_equal(result.phases[1].seconds, 0.02, 1e-9);
	for (size_t i = 0; i < 3; i++)
		sum += result.phases[i].seconds;
	/* All of the time, none of it twice. */
	assert_float_equal(sum, 0.07, 1e-9);
	atomic_store(&clock_scripted, false);
	case_result_release(&result);
}

static void nothing_is_recorded_of_suites_that_name_nothing(void **state)
{
	struct case_result result;
	struct phases phases;

	(void)state;
	case_result_init(&result);
	phases_begin(&phases, "opening");
	phases_enter(&phases, "samples");
	phases_record(&phases, &result);
	assert_int_equal(result.phase_count, 0);
	case_result_release(&result);
}

static void there_may_be_more_names_than_room(void **state)
{
	static char names[2 * PHASES_MOST][8];
	struct error err = ERROR_NONE;
	struct case_result result;
	struct phases phases;

	(void)state;
	case_result_init(&result);
	phases_begin(&phases, "opening");
	for (size_t i = 0; i < 2 * PHASES_MOST; i++) {
		snprintf(names[i], sizeof(names[i]), "%zu", i);
		assert_int_equal(phases_next(&phases, &alone, names[i], &err), STATUS_OK);
	}
	phases_record(&phases, &result);
	assert_int_equal(result.phase_count, PHASES_MOST);
	case_result_release(&result);
}

static void a_stop_is_heeded_between_parts(void **state)
{
	volatile sig_atomic_t stop = 0;
	struct error err = ERROR_NONE;
	struct phases phases;

	(void)state;
	phases_begin(&phases, "opening");
	phases.stop = &stop;
	assert_int_equal(phases_next(&phases, &alone, "data", &err), STATUS_OK);
	stop = 1;
	assert_int_equal(phases_next(&phases, &alone, "products", &err), STATUS_INTERRUPTED);
	assert_string_equal(err.message, "interrupted before products");
	/* A run without phases is not stopped either. */
	assert_int_equal(phases_next(NULL, &alone, "products", &err), STATUS_OK);
	assert_string_equal(phases_enter(NULL, "samples"), "samples");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_of_one_name_add_up),
		cmocka_unit_test(nothing_is_recorded_of_suites_that_name_nothing),
		cmocka_unit_test(there_may_be_more_names_than_room),
		cmocka_unit_test(a_stop_is_heeded_between_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
