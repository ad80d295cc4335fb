/* Numbers and words as pages show them. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "report/format.h"

static void quantities(void **state)
{
	static const struct {
		double value;
		const char *unit, *expected;
	} cases[] = {
		{ 5.545e10, "B/s", "55.45 GB/s" },
		{ 1.17e-6, "s", "1.170 µs" },
		{ 0, "s", "0 s" },
		{ NAN, "s", "–" },
		{ 3.1e-7, "1", "3.100×10⁻⁷" },
		{ 0.94, "1", "0.9400" },
		{ 2.5e12, "1", "2.500×10¹²" },
		{ 42, "widgets", "42.00 widgets" },
	};
	char out[FORMAT_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(
			format_quantity(cases[i].value, cases[i].unit, out, sizeof(out)),
			cases[i].expected);
}

static void intervals(void **state)
{
	struct metric_value m = {
		.unit = (char *)"B/s", .value = 55.45e9, .low = 55.4e9, .high = 1.5e11
	};
	char out[FORMAT_SIZE];

	(void)state;
	/* In the unit of the value, so that the three can be compared at a glance. */
	assert_string_equal(format_interval(&m, out, sizeof(out)), "[55.40, 150.0]");
	assert_string_equal(format_spread(100, 99, 100.5, out, sizeof(out)), "±1.0\u00a0%");
	m.low = NAN;
	assert_string_equal(format_interval(&m, out, sizeof(out)), "");
	assert_string_equal(format_spread(100, NAN, 101, out, sizeof(out)), "");
}

static void durations(void **state)
{
	char out[FORMAT_SIZE];

	(void)state;
	assert_string_equal(format_seconds(13.24, out, sizeof(out)), "13.2 s");
	assert_string_equal(format_seconds(125.2, out, sizeof(out)), "2 min 5 s");
	assert_string_equal(format_seconds(11530, out, sizeof(out)), "3 h 12 min");
	assert_string_equal(format_seconds(NAN, out, sizeof(out)), "–");
}

static void parameters(void **state)
{
	static const struct {
		const char *name, *text, *unit, *expected;
	} cases[] = {
		{ "size", "64MiB", "B", "64\u00a0MiB" },
		{ "size", "256", "1", "size 256" },
		{ "size", "4096x4096x128", "1", "4096x4096x128" },
		{ "bucket", "25MiB", "B", "bucket 25\u00a0MiB" },
		{ "devices", "4", "1", "4 devices" },
		{ "devices", "1", "1", "1 device" },
		{ "microbatches", "1", "1", "1 microbatch" },
		{ "batch", "1024", "1", "batch 1024" },
		{ "direction", "h2d", "", "host to device" },
		{ "mode", "layer_split", "", "layer split" },
		{ "access", "-", "", "" },
		{ "", "", "", "" },
	};
	char out[FORMAT_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct case_parameter p = { .name = (char *)cases[i].name,
					    .text = (char *)cases[i].text,
					    .number = NAN,
					    .unit = (char *)cases[i].unit };

		assert_string_equal(format_parameter(&p, out, sizeof(out)), cases[i].expected);
	}
}

static void assert_cut(char *cut, const char *expected)
{
	assert_string_equal(cut, expected);
	free(cut);
}

static void cuts_are_between_characters(void **state)
{
	(void)state;
	assert_cut(format_cut("äöü", 3), "äöü");
	assert_cut(format_cut("äöüß", 2), "äö… (8 bytes)");
	assert_cut(format_label("äöüß", 3), "äö…");
	assert_cut(format_label("", 3), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantities),
		cmocka_unit_test(intervals),
		cmocka_unit_test(durations),
		cmocka_unit_test(parameters),
		cmocka_unit_test(cuts_are_between_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
