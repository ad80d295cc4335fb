/* Memory of several ranks in words: what is alike is said once, what differs of each rank. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "suites/training/parallel/memory_classes.h"

#define MB UINT64_C(1000000)

static void assert_described(const uint64_t (*bytes)[MEMORY_CLASS_COUNT],
			     const uint64_t *connections, int ranks, const char *expected)
{
	struct text text = TEXT_EMPTY;

	memory_classes_describe_ranks(&text, bytes, connections, ranks);
	assert_string_equal(text.data, expected);
	text_release(&text);
}

static void ranks_that_are_alike_are_said_once(void **state)
{
	static const uint64_t bytes[3][MEMORY_CLASS_COUNT] = {
		{ [MEMORY_PARAMETERS] = 16 * MB, [MEMORY_ACTIVATIONS] = 8 * MB },
		{ [MEMORY_PARAMETERS] = 16 * MB, [MEMORY_ACTIVATIONS] = 8 * MB },
		{ [MEMORY_PARAMETERS] = 16 * MB + 256, [MEMORY_ACTIVATIONS] = 8 * MB },
	};
	static const uint64_t none[3], same[3] = { 200 * MB, 200 * MB, 200 * MB };

	(void)state;
	assert_described(bytes, none, 1, "parameters 16.00 MB, activations 8.000 MB");
	assert_described(bytes, none, 3, "parameters 16.00 MB, activations 8.000 MB");
	assert_described(bytes, same, 3,
			 "parameters 16.00 MB, activations 8.000 MB; connections between ranks "
			 "need in addition 200.0 MB");
}

static void what_differs_is_said_of_every_rank(void **state)
{
	static const uint64_t bytes[3][MEMORY_CLASS_COUNT] = {
		{ [MEMORY_PARAMETERS] = 16 * MB, [MEMORY_ACTIVATIONS] = 8 * MB },
		{ [MEMORY_PARAMETERS] = 16 * MB, [MEMORY_ACTIVATIONS] = 12 * MB },
		{ [MEMORY_PARAMETERS] = 16 * MB },
	};
	static const uint64_t connections[3] = { 100 * MB, 200 * MB, 100 * MB };

	(void)state;
	assert_described(bytes, connections, 3,
			 "parameters 16.00 MB; activations of ranks 0 to 2: 8.000 MB, 12.00 "
			 "MB, nothing; connections between ranks need in addition 100.0 MB, 200.0 "
			 "MB, 100.0 MB");
}

/*
 * With 16 MB of gradients, 8 of which were outputs, both classes are whole, and the total has them
 * once.
 */
static void what_two_classes_share_counts_once(void **state)
{
	static const uint64_t bytes[2][MEMORY_CLASS_COUNT] = {
		{ [MEMORY_GRADIENTS] = 16 * MB,
		  [MEMORY_ACTIVATIONS] = 8 * MB,
		  [MEMORY_SHARED] = 8 * MB },
		{ [MEMORY_GRADIENTS] = 16 * MB,
		  [MEMORY_ACTIVATIONS] = 8 * MB,
		  [MEMORY_SHARED] = 6 * MB },
	};
	static const uint64_t none[2];

	(void)state;
	assert_int_equal(memory_classes_total(bytes[0]), 16 * MB);
	assert_int_equal(memory_classes_total(bytes[1]), 18 * MB);
	assert_described(bytes, none, 1,
			 "gradients 16.00 MB, activations 8.000 MB; of this, two classes share "
			 "8.000 MB");
	assert_described(bytes, none, 2,
			 "gradients 16.00 MB, activations 8.000 MB; of this, two classes share "
			 "8.000 MB, 6.000 MB");
}

/* Also where no class is alike, and where nothing is. */
static void nothing_is_said_to_be_nothing(void **state)
{
	static const uint64_t bytes[2][MEMORY_CLASS_COUNT] = { { 0 }, { [MEMORY_INPUT] = MB } };
	static const uint64_t none[2];

	(void)state;
	assert_described(bytes, none, 1, "nothing");
	assert_described(bytes, none, 2, "input of ranks 0 to 1: nothing, 1.000 MB");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_that_are_alike_are_said_once),
		cmocka_unit_test(what_differs_is_said_of_every_rank),
		cmocka_unit_test(what_two_classes_share_counts_once),
		cmocka_unit_test(nothing_is_said_to_be_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
