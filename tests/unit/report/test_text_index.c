/* Numbers by a pair of texts, against a plain list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/memory.h"
#include "report/view/text_index.h"

#define PAIRS 5000

static void every_pair_is_found(void **state)
{
	struct text_index index = { 0 };
	char *texts[PAIRS];

	(void)state;
	for (size_t i = 0; i < PAIRS; i++) {
		size_t *number;

		texts[i] = xasprintf("%zu", i * 7919);
		assert_int_equal(text_index_find(&index, texts[i], "a"), SIZE_MAX);
		number = text_index_at(&index, texts[i], "a");
		assert_true(*number == SIZE_MAX);
		*number = i;
		*text_index_at(&index, texts[i], "b") = i + PAIRS;
	}
	for (size_t i = 0; i < PAIRS; i++) {
		/* By content, not by address. */
		char *same = xasprintf("%zu", i * 7919);

		assert_int_equal(text_index_find(&index, same, "a"), i);
		assert_int_equal(*text_index_at(&index, same, "b"), i + PAIRS);
		assert_int_equal(text_index_find(&index, same, "c"), SIZE_MAX);
		free(same);
	}
	assert_int_equal(index.count, 2 * PAIRS);
	text_index_release(&index);
	for (size_t i = 0; i < PAIRS; i++)
		free(texts[i]);
}

static void halves_do_not_run_together(void **state)
{
	struct text_index index = { 0 };

	(void)state;
	assert_int_equal(text_index_find(&index, "ab", "c"), SIZE_MAX);
	*text_index_at(&index, "ab", "c") = 1;
	assert_int_equal(text_index_find(&index, "a", "bc"), SIZE_MAX);
	assert_int_equal(text_index_find(&index, "abc", ""), SIZE_MAX);
	assert_int_equal(text_index_find(&index, "ab", "c"), 1);
	text_index_release(&index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_pair_is_found),
		cmocka_unit_test(halves_do_not_run_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
