/* Which nodes are victims, and which load the network. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "suites/congestion/measure.h"

static int count_victims(int nodes, int victims, int turn)
{
	int count = 0;

	for (int node = 0; node < nodes; node++)
		count += congestion_measure_is_victim(node, nodes, victims, turn);
	return count;
}

static void test_both_sides_have_two_nodes(void **state)
{
	(void)state;
	assert_int_equal(congestion_measure_victims(4, 0.2), 2);
	assert_int_equal(congestion_measure_victims(4, 0.9), 2);
	assert_int_equal(congestion_measure_victims(5, 0.9), 3);
	assert_int_equal(congestion_measure_victims(100, 0.2), 20);
	assert_int_equal(congestion_measure_victims(10000, 0.001), 10);
}

static void test_every_turn_has_as_many_victims(void **state)
{
	(void)state;
	for (int nodes = 4; nodes < 40; nodes++)
		for (int turn = 0; turn < 7; turn++) {
			int victims = congestion_measure_victims(nodes, 0.2);

			assert_int_equal(count_victims(nodes, victims, turn), victims);
		}
}

static void test_victims_are_spread(void **state)
{
	int last = -1;

	(void)state;
	for (int node = 0; node < 100; node++)
		if (congestion_measure_is_victim(node, 100, 20, 0)) {
			assert_true(last < 0 || node - last == 5);
			last = node;
		}
}

static void test_in_five_turns_each_node_is_one_once(void **state)
{
	(void)state;
	for (int node = 0; node < 100; node++) {
		int times = 0;

		for (int turn = 0; turn < 5; turn++)
			times += congestion_measure_is_victim(node, 100, 20, turn);
		assert_int_equal(times, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_sides_have_two_nodes),
		cmocka_unit_test(test_every_turn_has_as_many_victims),
		cmocka_unit_test(test_victims_are_spread),
		cmocka_unit_test(test_in_five_turns_each_node_is_one_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
