/* The smallest set of nodes that shows a planted fault, for every place and number of nodes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fleet/rounds/bisection.h"

#define MOST 70

static bool has(const struct bisection_try *t, size_t node)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->nodes[i] == node)
			return true;
	return false;
}

/* True if all planted nodes are in the group, or, of faults of their own, any. */
static bool shows(const struct bisection_try *t, const size_t *planted, size_t count, bool any)
{
	size_t there = 0;

	for (size_t i = 0; i < count; i++)
		there += has(t, planted[i]);
	return any ? there > 0 : there == count;
}

static void assert_disjoint(const struct bisection *b)
{
	for (size_t i = 0; i < b->try_count; i++)
		assert_true(b->tries[i].count >= 2);
	for (size_t i = 0; b->try_count == 2 && i < b->tries[0].count; i++)
		assert_false(has(&b->tries[1], b->tries[0].nodes[i]));
}

static void find(struct bisection *b, size_t nodes, const size_t *planted, size_t count, bool any)
{
	size_t all[MOST], tries;

	for (size_t i = 0; i < nodes; i++)
		all[i] = i;
	bisection_open(b, all, nodes);
	while ((tries = bisection_next(b))) {
		assert_disjoint(b);
		for (size_t i = 0; i < tries; i++)
			b->tries[i].shows = shows(&b->tries[i], planted, count, any);
		assert_true(b->rounds <= 5 * log2((double)nodes) + 4);
	}
}

static bool found(const struct bisection *b, size_t node)
{
	for (size_t i = 0; i < b->left_count; i++)
		if (b->left[i] == node)
			return true;
	return false;
}

static void test_one_node(void **state)
{
	(void)state;
	for (size_t nodes = 3; nodes < MOST; nodes++)
		for (size_t planted = 0; planted < nodes; planted++) {
			struct bisection b;

			find(&b, nodes, &planted, 1, false);
			if (nodes > 3) {
				assert_int_equal(b.left_count, 1);
				assert_true(b.singly);
			}
			assert_true(found(&b, planted));
			bisection_close(&b);
		}
}

static void test_a_link_of_two_nodes(void **state)
{
	(void)state;
	for (size_t nodes = 4; nodes < 40; nodes++)
		for (size_t first = 0; first < nodes; first++)
			for (size_t second = first + 1; second < nodes; second++) {
				size_t planted[] = { first, second };
				struct bisection b;

				find(&b, nodes, planted, 2, false);
				assert_int_equal(b.left_count, 2);
				assert_true(found(&b, first) && found(&b, second));
				assert_false(b.singly);
				bisection_close(&b);
			}
}

/* One of several is found and named, and no healthy node. */
static void test_two_faulty_nodes(void **state)
{
	(void)state;
	for (size_t first = 0; first < 16; first++)
		for (size_t second = first + 1; second < 16; second++) {
			size_t planted[] = { first, second };
			struct bisection b;

			find(&b, 16, planted, 2, true);
			for (size_t i = 0; i < b.left_count; i++)
				assert_true(b.left[i] == first || b.left[i] == second || !b.singly);
			assert_true(found(&b, first) || found(&b, second));
			bisection_close(&b);
		}
}

/* All planted nodes are needed: whatever is named shows the fault, and is no larger than a half. */
static void test_three_nodes_together(void **state)
{
	(void)state;
	for (size_t first = 0; first < 8; first++) {
		size_t planted[] = { first, 20, 45 };
		struct bisection b;

		find(&b, 64, planted, 3, false);
		assert_true(found(&b, first) && found(&b, 20) && found(&b, 45));
		assert_false(b.singly);
		assert_true(b.left_count < 64);
		bisection_close(&b);
	}
}

static void test_only_all_together(void **state)
{
	size_t planted[16], nodes = 16;
	struct bisection b;

	(void)state;
	for (size_t i = 0; i < nodes; i++)
		planted[i] = i;
	find(&b, nodes, planted, nodes, false);
	assert_int_equal(b.left_count, nodes);
	assert_false(b.singly);
	bisection_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_node),
		cmocka_unit_test(test_a_link_of_two_nodes),
		cmocka_unit_test(test_two_faulty_nodes),
		cmocka_unit_test(test_three_nodes_together),
		cmocka_unit_test(test_only_all_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
