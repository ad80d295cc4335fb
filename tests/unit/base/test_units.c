/* Units: what the INI accepts and how numbers are shown. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "base/memory.h"
#include "base/units.h"

static void sizes_need_a_unit(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {
		{ "0", 0 },
		{ "1B", 1 },
		{ "64MiB", 64u << 20 },
		{ "1 GB", 1000000000 },
		{ "1.5KiB", 1536 },
		{ "0.5GiB", 1u << 29 },
	};
	static const char *const bad[] = { "64",     "1mm",  "-1MiB", "+1MiB",      "1e9999B",
					   "MiB",    "",     "1.3B",  "5EiB",       "0x10B",
					   "0x10 B", "nanB", "infB",  "9999999TiB", "1 MiB x" };
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

/* 10 * 1e-6 is one bit below 1e-5. */
static void units_of_ten_are_exact(void **state)
{
	struct error err = ERROR_NONE;
	uint64_t bytes;
	double value;

	(void)state;
	for (int n = 1; n <= 2000; n++) {
		char text[32];

		snprintf(text, sizeof(text), "%d us", n);
		assert_int_equal(units_parse_duration(text, &value, &err), STATUS_OK);
		assert_true(value == n / 1e6);
		snprintf(text, sizeof(text), "%d.%de1%%", n / 10, n % 10);
		assert_int_equal(units_parse_percent(text, &value, &err), STATUS_OK);
		assert_true(value == n / 100.0);
		snprintf(text, sizeof(text), "-%d.1 GB/s", n);
		assert_int_equal(units_parse_quantity(text, "B/s", &value, &err), STATUS_OK);
		assert_true(value == -(n * 1e9 + 1e8));
	}
	assert_int_equal(units_parse_size("1.000001MB", &bytes, &err), STATUS_OK);
	assert_true(bytes == 1000001);
	assert_int_equal(units_parse_duration("1e308h", &value, &err), STATUS_USAGE);
	error_clear(&err);
	assert_int_equal(units_parse_duration("0x10us", &value, &err), STATUS_USAGE);
}

static void exact_text_is_the_shortest_that_reads_back(void **state)
{
	static const struct {
		double value;
		const char *duration, *percent;
	} rows[] = {
		{ 0, "0s", "0%" },
		{ 1e-5, "10us", "0.001%" },
		{ 1e-6, "1us", "0.0001%" },
		{ 1.5e-3, "1.5ms", "0.15%" },
		{ 0.07, "70ms", "7%" },
		{ 0.1 + 0.2, "300.00000000000004ms", "30.000000000000004%" },
		{ 90, "90s", "9000%" },
		{ 1e-12, "0.001ns", "1e-10%" },
		{ 1e300, "1e+300s", "1e+302%" },
		{ 123456789.125, "123456789.125s", "12345678912.5%" },
	};
	uint64_t seed = 1;
	char out[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_string_equal(units_duration(rows[i].value, out, sizeof(out)),
				    rows[i].duration);
		assert_string_equal(units_percent(rows[i].value, out, sizeof(out)),
				    rows[i].percent);
	}
	for (int i = 0; i < 100000; i++) {
		struct error err = ERROR_NONE;
		double value, back;

		seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
		/* Any mantissa, exponents from 1e-18 to 1e+18. */
		value = ldexp((double)(seed >> 11), (int)(seed % 120) - 113);
		assert_int_equal(units_parse_duration(units_duration(value, out, sizeof(out)),
						      &back, &err),
				 STATUS_OK);
		assert_true(back == value);
		assert_int_equal(units_parse_percent(units_percent(value, out, sizeof(out)), &back,
						     &err),
				 STATUS_OK);
		assert_true(back == value);
	}
}

static void numbers_are_shown_with_four_digits(void **state)
{
	static const struct {
		double value;
		const char *unit, *shown;
	} rows[] = {
		{ 5.545e10, "B/s", "55.45 GB/s" },
		{ 1.17e-6, "s", "1.170 us" },
		{ 0, "s", "0 s" },
		{ 4.8e12, "B/s", "4.800 TB/s" },
		{ 0.5, "1", "0.5000" },
		{ 999.96e6, "B/s", "1.000 GB/s" },
		{ 1234, "degC", "1234 degC" },
		{ 65, "s", "65.00 s" },
		{ -2.5e-3, "s", "-2.500 ms" },
		{ 1e-9, "1", "1.000e-09" },
	};
	char out[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_string_equal(units_format(rows[i].value, rows[i].unit, out, sizeof(out)),
				    rows[i].shown);
	assert_string_equal(units_format((double)NAN, "s", out, sizeof(out)), "-");
	/* Sizes that were asked for keep their unit; whatever else a sum of them is has SI's. */
	assert_string_equal(units_format(64 << 20, "B", out, sizeof(out)), "64 MiB");
	assert_string_equal(units_format(16384, "B", out, sizeof(out)), "16 KiB");
	assert_string_equal(units_format(96 << 20, "B", out, sizeof(out)), "96 MiB");
	assert_string_equal(units_format(11.0 * (1 << 30), "B", out, sizeof(out)), "11 GiB");
	assert_string_equal(units_format(218 << 20, "B", out, sizeof(out)), "228.6 MB");
	assert_string_equal(units_format(1e9, "B", out, sizeof(out)), "1.000 GB");
	assert_string_equal(units_format(1000, "B", out, sizeof(out)), "1.000 kB");
	assert_string_equal(units_format(0, "B", out, sizeof(out)), "0 B");
	assert_string_equal(units_format(1024.5, "B", out, sizeof(out)), "1.024 kB");
	assert_string_equal(units_format(64 << 20, UNITS_BINARY, out, sizeof(out)), "64 MiB");
	assert_string_equal(units_format(66044, UNITS_BINARY, out, sizeof(out)), "64.50 KiB");
	assert_string_equal(units_format(1023.99 * 1024, UNITS_BINARY, out, sizeof(out)),
			    "1.000 MiB");
	assert_string_equal(units_format(512, UNITS_BINARY, out, sizeof(out)), "512 B");
	assert_string_equal(units_format(0, UNITS_BINARY, out, sizeof(out)), "0 B");
	assert_string_equal(units_format((double)NAN, UNITS_BINARY, out, sizeof(out)), "-");
	assert_string_equal(units_format(64 << 20, "B/s", out, sizeof(out)), "67.11 MB/s");
	assert_string_equal(units_si(64 << 20, "B", out, sizeof(out)), "67.11 MB");
	/* A unit of somebody's file that is cut is cut between characters. */
	assert_string_equal(units_format(1, "\303\251\303\251\303\251", out, 12),
			    "1.000 \303\251\303\251");
	/* Beyond all prefixes: short, and with its unit. */
	assert_string_equal(units_format(1e308, "s", out, sizeof(out)), "1.000e+308 s");
	assert_string_equal(units_format(1e-40, "s", out, sizeof(out)), "1.000e-31 ns");
	assert_string_equal(units_format(-1e308, "B/s", out, sizeof(out)), "-1.000e+293 PB/s");
	assert_string_equal(units_format((double)INFINITY, "s", out, sizeof(out)), "infinite");
	assert_string_equal(units_format(-(double)INFINITY, "1", out, sizeof(out)), "-infinite");
	assert_string_equal(units_duration((double)INFINITY, out, sizeof(out)), "infinite");
	assert_string_equal(units_size(64u << 20, out, sizeof(out)), "64MiB");
	assert_string_equal(units_size(1000, out, sizeof(out)), "1000B");
	assert_string_equal(units_size(0, out, sizeof(out)), "0B");
}

static void times_ahead_are_rounded_up(void **state)
{
	static const struct {
		double seconds;
		const char *text;
	} rows[] = {
		{ 0, "0 s" },      { 0.2, "1 s" },     { 12.01, "13 s" },  { 99, "99 s" },
		{ 99.5, "2 min" }, { 241.3, "5 min" }, { 5940, "99 min" }, { 11503, "3.2 h" }
	};
	char out[32];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_string_equal(units_about(rows[i].seconds, out, sizeof(out)), rows[i].text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_need_a_unit),
		cmocka_unit_test(durations_percentages_and_quantities),
		cmocka_unit_test(units_of_ten_are_exact),
		cmocka_unit_test(exact_text_is_the_shortest_that_reads_back),
		cmocka_unit_test(times_ahead_are_rounded_up),
		cmocka_unit_test(numbers_are_shown_with_four_digits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
