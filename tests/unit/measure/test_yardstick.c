/*
 * The host's yardstick: what is measured is plausible, and it is in each launch's result, before
 * and after.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <cmocka.h>

#include "judge/estimate/pool.h"
#include "judge_fixture.h"
#include "measure/yardstick.h"

static const char *const names[] = { "host.multiply", "host.call", "host.page_fault",
				     "host.wake_up" };

static void each_quantity_is_timed(void **state)
{
	struct yardstick y = { 0 };
	struct result r = { 0 };

	(void)state;
	yardstick_take(&y);
	yardstick_take(&y);
	/* There is room for two. */
	yardstick_take(&y);
	yardstick_store(&y, &r);
	assert_int_equal(r.yardstick_count, YARDSTICK_QUANTITIES);
	for (size_t i = 0; i < r.yardstick_count; i++) {
		const struct metric_value *m = &r.yardstick[i];

		assert_string_equal(m->name, names[i]);
		assert_int_equal(m->n, 2 * YARDSTICK_SAMPLES);
		/*
		 * From a tenth of a nanosecond for a multiplication to a millisecond for a thread
		 * that waits its turn.
		 */
		assert_true(m->value > 1e-10 && m->value < 1e-2);
		assert_true(isnan(m->low) || (m->low <= m->value && m->value <= m->high));
	}
	/* A multiplication is no system call, and that no page fault. */
	assert_true(r.yardstick[0].value < r.yardstick[1].value);
	result_release(&r);
}

/* Each round is done: the last one's number needs all before it. */
static void multiplications_are_carried_out(void **state)
{
	uint64_t x = 1;

	(void)state;
	for (unsigned rounds = 0; rounds < 1000; rounds++) {
		assert_true(yardstick_multiply(1, rounds) == x);
		x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	}
}

static void on_alarm(int signal)
{
	(void)signal;
}

/* Signals that interrupt system calls cost a sample's time, never a thread that waits for ever. */
static void signals_interrupt_nothing(void **state)
{
	const struct itimerval often = { .it_interval = { 0, 50 }, .it_value = { 0, 50 } },
			       never = { 0 };
	struct sigaction action = { .sa_handler = on_alarm }, before;
	struct yardstick y = { 0 };

	(void)state;
	assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
	setitimer(ITIMER_REAL, &often, NULL);
	yardstick_take(&y);
	setitimer(ITIMER_REAL, &never, NULL);
	sigaction(SIGALRM, &before, NULL);
	for (size_t i = 0; i < YARDSTICK_QUANTITIES; i++)
		assert_int_equal(y.counts[i], YARDSTICK_SAMPLES);
}

static void what_was_not_timed_is_left_out(void **state)
{
	struct yardstick y = { 0 };
	struct result r = { 0 };

	(void)state;
	y.counts[1] = 1;
	y.samples[1][0] = 2e-7;
	yardstick_store(&y, &r);
	assert_int_equal(r.yardstick_count, 1);
	assert_string_equal(r.yardstick[0].name, "host.call");
	assert_true(r.yardstick[0].value == 2e-7 && isnan(r.yardstick[0].low));
	/* Stored once more it is in place of what was there. */
	yardstick_store(&y, &r);
	assert_int_equal(r.yardstick_count, 1);
	result_release(&r);
}

static void launches_keep_each_their_own(void **state)
{
	struct yardstick y = { 0 };
	struct result r[3];

	(void)state;
	y.counts[1] = 1;
	for (size_t i = 0; i < 3; i++) {
		node_init(&r[i], 1, "NVIDIA H200");
		y.samples[1][0] = 1e-7 * (double)(i + 1);
		yardstick_store(&y, &r[i]);
	}
	estimate_pool_launches(&r[0], 1, &r[1], 2);
	assert_int_equal(r[0].yardstick[0].launch_count, 3);
	for (size_t i = 0; i < 3; i++)
		assert_true(r[0].yardstick[0].launches[i] == 1e-7 * (double)(i + 1));
	for (size_t i = 0; i < 3; i++)
		result_release(&r[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_quantity_is_timed),
		cmocka_unit_test(multiplications_are_carried_out),
		cmocka_unit_test(signals_interrupt_nothing),
		cmocka_unit_test(what_was_not_timed_is_left_out),
		cmocka_unit_test(launches_keep_each_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
