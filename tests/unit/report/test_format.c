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
#include "report/view/format.h"
#include "report/view/presented.h"

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
		{ -2e-6, "s", "−2.000 µs" },
		{ -0.5, "%", "−0.50\u00a0%" },
		{ 1.8351, "×", "1.84×" },
		{ 12353568, "samples", "12,353,568 samples" },
		{ 1024, "samples", "1024 samples" },
		{ 1, "claims", "1 claim" },
		{ 0.5, "samples", "0.5000 samples" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(format_quantity(cases[i].value, cases[i].unit).text,
				    cases[i].expected);
}

/* A published figure has no digits that its source does not state. */
static void stated_quantities(void **state)
{
	static const struct {
		double value;
		const char *unit, *expected;
	} cases[] = {
		{ 5e9, "B/s", "5 GB/s" },
		{ 547.7e9, "B/s", "547.7 GB/s" },
		{ 4.8e12, "B/s", "4.8 TB/s" },
		{ 9.5e14, "FLOP/s", "950 TFLOP/s" },
		{ 1734, "images/s", "1734 images/s" },
		{ NAN, "s", "–" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(format_stated(cases[i].value, cases[i].unit).text,
				    cases[i].expected);
	assert_string_equal(format_margin(-0.0789).text, "−7.9\u00a0%");
	assert_string_equal(format_margin(0.02).text, "+2.0\u00a0%");
	assert_string_equal(presented_metric_title(NULL, "collective.busbw").text, "bus bandwidth");
	assert_string_equal(presented_metric_title(NULL, "parallel.speedup").text, "speed-up");
	assert_string_equal(presented_metric_title(NULL, "transfer.bandwidth_h2d").text,
			    "bandwidth from host to device");
}

static void intervals(void **state)
{
	struct metric_value m = {
		.unit = (char *)"B/s", .value = 55.45e9, .low = 55.4e9, .high = 1.5e11
	};

	(void)state;
	/* In the unit of the value, so that the three can be compared at a glance. */
	assert_string_equal(format_interval(&m, "B/s").text, "[55.40, 150.0]");
	assert_string_equal(format_spread(100, 99, 100.5).text, "±1.0\u00a0%");
	m.low = NAN;
	assert_string_equal(format_interval(&m, "B/s").text, "");
	assert_string_equal(format_spread(100, NAN, 101).text, "");
}

/* Counts are whole, parts of one are percent, and what has an interval keeps its digits. */
static void values(void **state)
{
	static const struct {
		const char *name, *unit;
		double value, low;
		const char *expected;
	} rows[] = {
		{ "trainmem.trials", "1", 3, NAN, "3" },
		{ "trainmem.slowdown", "1", 3, 2.9, "3.000" },
		{ "trainmem.slowdown", "1", 1.04, NAN, "1.040" },
		{ "trainmem.memory", "B", 3, NAN, "3.000 B" },
		{ "parallel.efficiency", "1", 0.51234, NAN, "51.2\u00a0%" },
		{ "parallel.efficiency", "1", 1, NAN, "100\u00a0%" },
		{ "parallel.compute_inflation", "1", -0.0123, NAN, "−1.23\u00a0%" },
		{ "parallel.idle", "1", 0, NAN, "0\u00a0%" },
		{ "parallel.idle", "1", NAN, NAN, "\u2013" },
	};
	struct metric_value part = { .name = (char *)"parallel.idle",
				     .unit = (char *)"1",
				     .value = 0.425,
				     .low = 0.401,
				     .high = 0.449 };
	struct case_result plain = { 0 };
	struct formatted out;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct metric_value m = { .name = (char *)rows[i].name,
					  .unit = (char *)rows[i].unit,
					  .value = rows[i].value,
					  .low = rows[i].low };

		assert_string_equal(presented_value(NULL, &plain, &m).text, rows[i].expected);
	}
	assert_string_equal(presented_value(NULL, &plain, NULL).text, "\u2013");
	out = presented_interval(NULL, &plain, &part);
	if (strcmp(out.text, "[40.10, 44.90]") != 0)
		fail_msg("the interval of a part of one is %s", out.text);
	assert_string_equal(format_rounded(2.7563e9, "B").text, "2.76 GB");
	assert_string_equal(format_rounded(9.996e-4, "s").text, "1.00 ms");
	assert_string_equal(format_rounded(1.1449e-5, "s").text, "11.4 µs");
	assert_string_equal(format_rounded(0, "s").text, "0 s");
}

/* Integers are no floating-point numbers, whichever parameter says that they are multiplied. */
static void integers_have_no_flops(void **state)
{
	static const struct {
		const char *parameter, *text, *unit, *expected;
	} rows[] = {
		{ "precision", "int8", "FLOP/s", "1.500 Tops/s" },
		{ "load", "int8", "FLOP/s", "1.500 Tops/s" },
		{ "precision", "int8", "FLOP/J", "1.500 Tops/J" },
		{ "precision", "fp8", "FLOP/s", "1.500 TFLOP/s" },
		{ "precision", "int8", "B/s", "1.500 TB/s" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct case_parameter p = { .name = (char *)rows[i].parameter,
					    .text = (char *)rows[i].text };
		struct case_result c = { .parameters = &p, .parameter_count = 1 };
		struct metric_value m = { .name = (char *)"matmul.throughput",
					  .unit = (char *)rows[i].unit,
					  .value = 1.5e12,
					  .low = 1.4e12,
					  .high = 1.6e12 };

		assert_string_equal(presented_value(NULL, &c, &m).text, rows[i].expected);
		assert_string_equal(presented_interval(NULL, &c, &m).text, "[1.400, 1.600]");
	}
}

static void durations(void **state)
{
	(void)state;
	assert_string_equal(format_seconds(13.24).text, "13.2 s");
	assert_string_equal(format_seconds(125.2).text, "2 min 5 s");
	assert_string_equal(format_seconds(11530).text, "3 h 12 min");
	assert_string_equal(format_seconds(NAN).text, "–");
}

static void parameters(void **state)
{
	static const struct {
		const char *suite, *name, *text, *unit, *expected;
	} cases[] = {
		{ "unknown", "size", "64MiB", "B", "64\u00a0MiB" },
		{ "unknown", "size", "256", "1", "size 256" },
		{ "unknown", "size", "4096x4096x128", "1", "4096×4096×128" },
		{ "unknown", "size", "4096x", "1", "4096x" },
		{ "alloc", "fill", "0%", "", "0% of the GPU's memory occupied" },
		{ "unknown", "bucket", "25MiB", "B", "bucket 25\u00a0MiB" },
		{ "unknown", "devices", "4", "1", "4 devices" },
		{ "unknown", "devices", "1", "1", "1 device" },
		{ "unknown", "microbatches", "1", "1", "1 microbatch" },
		{ "unknown", "batch", "1024", "1", "batch 1024" },
		{ "transfer", "direction", "h2d", "", "host to device" },
		{ "parallel", "mode", "layer_split", "", "layer split" },
		{ "transfer", "access", "-", "", "" },
		{ "", "", "", "", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct case_parameter p = { .name = (char *)cases[i].name,
					    .text = (char *)cases[i].text,
					    .number = NAN,
					    .unit = (char *)cases[i].unit };

		assert_string_equal(presented_parameter(NULL, cases[i].suite, &p).text,
				    cases[i].expected);
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
	/* The end of a name is kept as well: there they differ. */
	assert_cut(format_name("DDP, 2 devices, bucket 25 MiB, over NCCL", 21),
		   "DDP, 2 dev… over NCCL");
	assert_cut(format_name("äöüßäöüß", 5), "äö…üß");
	assert_cut(format_name("äöü", 3), "äöü");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantities),
		cmocka_unit_test(values),
		cmocka_unit_test(integers_have_no_flops),
		cmocka_unit_test(stated_quantities),
		cmocka_unit_test(intervals),
		cmocka_unit_test(durations),
		cmocka_unit_test(parameters),
		cmocka_unit_test(cuts_are_between_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
