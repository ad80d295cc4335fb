/* Units: what the INI accepts and how numbers are shown. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/memory.h"
#include "base/units.h"

static void sizes_need_a_unit(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {
		{ "0", 0 }, { "1B", 1 }, { "64MiB", 64u << 20 }, { "1 GB", 1000000000 },
		{ "1.5KiB", 1536 }, { "0.5GiB", 1u << 29 },
	};
	static const char *const bad[] = { "64", "1mm", "-1MiB", "+1MiB", "1e9999B", "MiB", "", "1.3B",
					   "5EiB", "0x10B", "nanB", "infB", "9999999TiB", "1 MiB x" };
	uint64_t bytes;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct error err = ERROR_NONE;

		assert_int_equal(units_parse_size(good[i].text, &bytes, &err), STATUS_OK);
		assert_true(bytes == good[i].bytes);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error err = ERROR_NONE;

		assert_int_equal(units_parse_size(bad[i], &bytes, &err), STATUS_USAGE);
		assert_true(err.message[0] != '\0');
	}
}

static void durations_percentages_and_quantities(void **state)
{
	struct error err = ERROR_NONE;
	double value;

	(void)state;
	assert_int_equal(units_parse_duration("250us", &value, &err), STATUS_OK);
	assert_true(fabs(value - 250e-6) < 1e-12);
	assert_int_equal(units_parse_duration("1.5 min", &value, &err), STATUS_OK);
	assert_true(value == 90);
	assert_int_equal(units_parse_percent("0.5 %", &value, &err), STATUS_OK);
	assert_true(fabs(value - 0.005) < 1e-15);
	assert_int_equal(units_parse_quantity("47 GB/s", "B/s", &value, &err), STATUS_OK);
	assert_true(value == 47e9);
	assert_int_equal(units_parse_duration("5", &value, &err), STATUS_USAGE);
	error_clear(&err);
	assert_int_equal(units_parse_percent("5", &value, &err), STATUS_USAGE);
	error_clear(&err);
	assert_int_equal(units_parse_quantity("47 GB", "B/s", &value, &err), STATUS_USAGE);
}

static void numbers_are_shown_with_four_digits(void **state)
{
	static const struct {
		double value;
		const char *unit, *shown;
	} rows[] = {
		{ 5.545e10, "B/s", "55.45 GB/s" }, { 1.17e-6, "s", "1.170 us" },
		{ 0, "s", "0 s" },             { 4.8e12, "B/s", "4.800 TB/s" },
		{ 0.5, "1", "0.5000" },            { 999.96e6, "B/s", "1.000 GB/s" },
		{ 1234, "degC", "1234 degC" },     { 65, "s", "65.00 s" },
		{ -2.5e-3, "s", "-2.500 ms" },     { 1e-9, "1", "1.000e-09" },
	};
	char out[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_string_equal(units_format(rows[i].value, rows[i].unit, out, sizeof(out)), rows[i].shown);
	assert_string_equal(units_format((double)NAN, "s", out, sizeof(out)), "-");
	assert_string_equal(units_size(64u << 20, out, sizeof(out)), "64MiB");
	assert_string_equal(units_size(1000, out, sizeof(out)), "1000B");
	assert_string_equal(units_size(0, out, sizeof(out)), "0B");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_need_a_unit),
		cmocka_unit_test(durations_percentages_and_quantities),
		cmocka_unit_test(numbers_are_shown_with_four_digits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
