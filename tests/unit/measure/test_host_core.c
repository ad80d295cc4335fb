/*
 * A core at full speed for what the host times, with scripted cores: the thread goes to a fast one,
 * leaves one that gets slow, and gets its own cores back. Needs two cores.
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/clock.h"
#include "measure/host/host_core.h"

#define FULL 1e-6
#define SHARED 1.8e-6

static double pace_of[CPU_SETSIZE];
static int cores[2];

static double scripted(void)
{
	return pace_of[sched_getcpu()];
}

static cpu_set_t mask(void)
{
	cpu_set_t set;

	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	return set;
}

/* The first two cores of this process; the others are slow. */
static int find_cores(void **state)
{
	cpu_set_t set = mask();
	int count = 0;

	(void)state;
	for (int i = 0; i < CPU_SETSIZE; i++) {
		pace_of[i] = SHARED;
		if (CPU_ISSET(i, &set) && count < 2)
			cores[count++] = i;
	}
	host_core_pace = scripted;
	return 0;
}

static bool has_two(void)
{
	cpu_set_t set = mask();

	return CPU_COUNT(&set) > 1;
}

static void expect_core(int core)
{
	cpu_set_t set = mask();

	assert_int_equal(CPU_COUNT(&set), 1);
	assert_true(CPU_ISSET(core, &set));
}

/* After a move one question is answered with no: caches are cold. */
static void the_thread_is_on_a_fast_core(void **state)
{
	cpu_set_t before = mask(), after;
	struct host_core *core;

	(void)state;
	if (!has_two())
		skip();
	pace_of[cores[1]] = FULL;
	core = host_core_take();
	assert_non_null(core);
	expect_core(cores[1]);
	assert_false(host_core_was_fast(core));
	assert_true(host_core_was_fast(core));
	/* A clock that varies is no reason to leave. */
	pace_of[cores[1]] = 1.2 * FULL;
	assert_true(host_core_was_fast(core));
	/* Another thread came. */
	pace_of[cores[1]] = SHARED;
	pace_of[cores[0]] = 1.1 * FULL;
	clock_sleep(0.01);
	assert_false(host_core_was_fast(core));
	expect_core(cores[0]);
	assert_false(host_core_was_fast(core));
	assert_true(host_core_was_fast(core));
	host_core_release(core);
	after = mask();
	assert_true(CPU_EQUAL(&before, &after));
}

/* None is at full speed: nothing is called fast, by what the process has seen before. */
static void slow_cores_are_not_called_fast(void **state)
{
	struct host_core *core;

	(void)state;
	if (!has_two())
		skip();
	pace_of[cores[0]] = pace_of[cores[1]] = SHARED;
	core = host_core_take();
	for (int i = 0; i < 5; i++)
		assert_false(host_core_was_fast(core));
	host_core_release(core);
}

static void nothing_is_done_without_a_core(void **state)
{
	(void)state;
	assert_true(host_core_was_fast(NULL));
	host_core_release(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_thread_is_on_a_fast_core),
		cmocka_unit_test(slow_cores_are_not_called_fast),
		cmocka_unit_test(nothing_is_done_without_a_core),
	};

	return cmocka_run_group_tests(tests, find_cores, NULL);
}
