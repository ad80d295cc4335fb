/*
 * The result document: what is written reads back the same, and what is wrong is refused by name.
 */
#include <malloc.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/memory.h"
#include "base/text.h"
#include "result/result_fields.h"
#include "sample_result.h"

static void reads_back(const char *json, struct result *result)
{
	struct error err = ERROR_NONE;

	if (result_from_json(result, json, strlen(json), &err) != STATUS_OK)
		fail_msg("%s", err.message);
}

static void same_result_same_bytes(void **state)
{
	struct result first, second;
	char *once, *twice;

	(void)state;
	sample_result(&first);
	once = result_to_json(&first);
	reads_back(once, &second);
	twice = result_to_json(&second);
	assert_string_equal(once, twice);
	result_release(&first);
	result_release(&second);
	free(once);
	free(twice);
}

static void look_ups_find_devices_and_launches(void **state)
{
	struct result result;
	char *words = result_throttle_words(0x44 | 0x1),
	     *page = result_throttle_page_words(0x44 | 0x1);

	(void)state;
	sample_result(&result);
	assert_ptr_equal(result_device(&result, result.devices[0].id), &result.devices[0]);
	assert_null(result_device(&result, "cuda:99"));
	assert_null(result_device(&result, NULL));
	for (size_t c = 0; c < result.case_count; c++)
		for (size_t m = 0; m < result.cases[c].metric_count; m++)
			result.cases[c].metrics[m].launch_count = 0;
	assert_int_equal(result_launches(&result), 1);
	result.cases[0].metrics[0].launch_count = 5;
	assert_int_equal(result_launches(&result), 5);
	result.cases[0].metrics[0].launch_count = 0;
	assert_string_equal(words, "software power cap, thermal (hardware)");
	assert_false(result_throttle_is_fault(THROTTLE_POWER_LIMIT));
	assert_true(result_throttle_is_fault(0x44));
	assert_false(result_throttle_is_fault(-1));
	assert_string_equal(page, "power cap, temperature limit (hardware)");
	free(words);
	free(page);
	result_release(&result);
}

/* A copy of `json` without what begins with `begin`, up to and with the next `end`. malloc'ed. */
static char *without(const char *json, const char *begin, const char *end)
{
	const char *from = strstr(json, begin), *to = from ? strstr(from, end) : NULL;
	struct text out = TEXT_EMPTY;

	if (!to)
		fail_msg("no %s", begin);
	text_addf(&out, "%.*s%s", (int)(from - json), json, to + strlen(end));
	return text_detach(&out);
}

/* A host in an id, or in the names of devices, changes neither. */
static void points_and_devices_are_fields(void **state)
{
	struct result a, b;
	char *json, *point, *devices;

	(void)state;
	sample_result(&a);
	free(a.cases[0].id);
	a.cases[0].id = xstrdup("rack@7/node/transfer@cuda:0/x");
	json = result_to_json(&a);
	reads_back(json, &b);
	point = case_point(&b.cases[0]);
	devices = case_devices(&b.cases[0]);
	assert_string_equal(point, "transfer/h2d/pinned/size=64MiB");
	assert_string_equal(devices, "cuda:0,cuda:1");
	assert_true(case_names_parameter(&b.cases[0], "size"));
	assert_false(case_names_parameter(&b.cases[0], "batch"));
	assert_true(cases_share_point(&a.cases[0], &b.cases[0]));
	assert_false(cases_share_point(&a.cases[0], &a.cases[1]));
	b.cases[0].point[2].value[0] = '9';
	assert_false(cases_share_point(&a.cases[0], &b.cases[0]));
	result_release(&a);
	result_release(&b);
	free(json);
	free(point);
	free(devices);
}

static void a_case_without_axes_has_no_member_point(void **state)
{
	struct error err = ERROR_NONE;
	struct result a;
	struct case_result c;
	char *json, *without_point, *again, *point;

	(void)state;
	sample_result(&a);
	json = case_result_to_json(&a.cases[1]);
	without_point = without(json, "\"point\":[", "],");
	assert_int_equal(case_result_from_json(&c, without_point, strlen(without_point), &err),
			 STATUS_OK);
	point = case_point(&c);
	assert_string_equal(point, "transfer");
	again = case_result_to_json(&c);
	assert_string_equal(again, without_point);
	free(json);
	free(again);
	free(point);
	free(without_point);
	case_result_release(&c);
	result_release(&a);
}

/* Members in another order, as other programs write them: those that complete others too. */
static void any_order_of_members_is_read(void **state)
{
	struct error err = ERROR_NONE;
	struct result a;
	struct case_result c;
	struct text other = TEXT_EMPTY;
	char *json, *rest, *units, *again;

	(void)state;
	sample_result(&a);
	json = case_result_to_json(&a.cases[0]);
	units = strstr(json, "\"parameter_units\":");
	rest = without(json, "\"parameter_units\":", "},");
	text_addf(&other, "{%.*s%s", (int)(strstr(units, "},") + 2 - units), units, rest + 1);
	assert_int_equal(case_result_from_json(&c, other.data, other.length, &err), STATUS_OK);
	again = case_result_to_json(&c);
	assert_string_equal(json, again);
	text_release(&other);
	free(json);
	free(rest);
	free(again);
	case_result_release(&c);
	result_release(&a);
}

static void numbers_survive_to_the_last_bit(void **state)
{
	struct result first, second;
	const struct series *a, *b;
	char *json;

	(void)state;
	sample_result(&first);
	json = result_to_json(&first);
	reads_back(json, &second);
	a = case_series(&first.cases[0], "transfer.time");
	b = case_series(&second.cases[0], "transfer.time");
	assert_int_equal(a->count, b->count);
	assert_memory_equal(a->samples, b->samples, a->count * sizeof(*a->samples));
	assert_true(isnan(b->statistics.p99));
	assert_true(second.seed == INT64_MIN);
	assert_true(second.devices[0].peers.words[0] == (UINT64_C(1) << 63 | 2));
	assert_true(device_bits_has(&second.devices[0].peers, 64));
	assert_int_equal(second.devices[0].ecc, -1);
	assert_int_equal(second.cases[0].before.throttle_reasons, INT64_C(1) << 40);
	assert_int_equal(second.cases[0].after.throttle_reasons, -1);
	assert_true(isnan(second.cases[0].after.power_watts));
	/* JSON has no infinity: what is not finite is unknown. */
	assert_true(isnan(case_metric(&second.cases[0], "transfer.cold")->high));
	free(json);
	result_release(&first);
	result_release(&second);
}

static void parameters_are_plain_for_scripts(void **state)
{
	struct result first, second;
	const struct case_parameter *size;
	char *json;

	(void)state;
	sample_result(&first);
	json = case_result_to_json(&first.cases[0]);
	assert_non_null(strstr(json, "\"parameters\":{\"direction\":\"h2d\",\"size\":67108864}"));
	assert_null(strchr(json, '\n'));
	free(json);
	json = result_to_json(&first);
	reads_back(json, &second);
	size = case_parameter(&second.cases[0], "size");
	assert_true(size->number == 67108864);
	assert_string_equal(size->text, "64MiB");
	assert_string_equal(size->unit, "B");
	assert_true(isnan(case_parameter(&second.cases[0], "direction")->number));
	assert_string_equal(case_parameter(&second.cases[0], "direction")->text, "h2d");
	free(json);
	result_release(&first);
	result_release(&second);
}

static void odd_text_is_made_sound(void **state)
{
	struct result result, back;
	char *json;

	(void)state;
	sample_result(&result);
	free(result.label);
	result.label = xstrdup("\xFF\xC3(\x01\x7f \xED\xA0\x80 <!--");
	memset(result.devices[0].name, 0xFE, sizeof(result.devices[0].name) - 1);
	json = result_to_json(&result);
	assert_true(text_is_utf8(json, strlen(json)));
	assert_null(strchr(json, '<'));
	reads_back(json, &back);
	/* Control characters travel, and are not read: a terminal would obey them. */
	assert_non_null(strstr(json, "\\u0001"));
	assert_string_equal(back.label, "\xEF\xBF\xBD\xEF\xBF\xBD(?? "
					"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD <!--");
	/* A name that grew is cut between characters. */
	assert_true(text_is_utf8(back.devices[0].name, strlen(back.devices[0].name)));
	assert_int_equal(strlen(back.devices[0].name), 126);
	free(json);
	result_release(&result);
	result_release(&back);
}

static void of_repeated_names_the_last_counts(void **state)
{
	struct result result, back;
	char *json;

	(void)state;
	sample_result(&result);
	free(result.environment[1].name);
	result.environment[1].name = xstrdup("cpu");
	free(result.cases[0].metrics[1].name);
	result.cases[0].metrics[1].name = xstrdup("transfer.bandwidth");
	json = result_to_json(&result);
	reads_back(json, &back);
	assert_int_equal(back.environment_count, 1);
	assert_string_equal(back.environment[0].value, "580.1");
	assert_int_equal(back.cases[0].metric_count, 1);
	assert_string_equal(back.cases[0].metrics[0].unit, "s");
	free(json);
	result_release(&result);
	result_release(&back);
}

static void header_and_cases_travel_apart(void **state)
{
	struct result result, header;
	struct case_result c;
	struct error err = ERROR_NONE;
	char *json, *again;

	(void)state;
	sample_result(&result);
	json = result_header_to_json(&result);
	assert_null(strchr(json, '\n'));
	assert_int_equal(result_header_from_json(&header, json, strlen(json), &err), STATUS_OK);
	assert_string_equal(header.command, "gpuproof run quick");
	assert_int_equal(header.case_count, 0);
	free(json);
	json = case_result_to_json(&result.cases[0]);
	assert_int_equal(case_result_from_json(&c, json, strlen(json), &err), STATUS_OK);
	again = case_result_to_json(&c);
	assert_string_equal(json, again);
	case_result_release(&c);
	/* A journal line that was cut short when the machine died. */
	assert_int_equal(case_result_from_json(&c, json, strlen(json) / 2, &err), STATUS_USAGE);
	assert_null(c.id);
	free(json);
	free(again);
	result_release(&result);
	result_release(&header);
}

/* Writes a struct as a line, reads it to `back`, and checks that the second line is the same. */
static void travels(const struct field *fields, const void *from, void *back)
{
	struct error err = ERROR_NONE;
	char *json = json_fields_line(fields, from), *again;

	assert_int_equal(json_fields_parse(json, strlen(json), fields, back, &err), STATUS_OK);
	again = json_fields_line(fields, back);
	assert_string_equal(json, again);
	free(json);
	free(again);
}

static void what_the_probe_finds_travels(void **state)
{
	struct result result;
	struct device_info device = { .index = 0 };
	struct component component = { .name = "cuBLAS",
				       .present = true,
				       .version = "13.1",
				       .detail = "here" },
			 component_back = { .present = false };
	struct finding finding = { SEVERITY_WARNING, "persistence cuda:0", "off" },
		       finding_back = { .severity = SEVERITY_OK };
	struct fact fact = { .name = NULL };

	(void)state;
	sample_result(&result);
	travels(device_info_fields, &result.devices[0], &device);
	travels(component_fields, &component, &component_back);
	assert_string_equal(component_back.version, "13.1");
	travels(finding_fields, &finding, &finding_back);
	assert_int_equal(finding_back.severity, SEVERITY_WARNING);
	travels(fact_fields, &result.environment[0], &fact);
	assert_string_equal(fact.value, "a CPU");
	json_fields_release(fact_fields, &fact);
	result_release(&result);
}

/* The text of a sample result with the first `from` replaced by `to`. */
static char *mutated(const char *from, const char *to)
{
	struct result result;
	struct text out = TEXT_EMPTY;
	char *json, *at;

	sample_result(&result);
	json = result_to_json(&result);
	at = strstr(json, from);
	if (!at)
		fail_msg("the sample has no %s", from);
	text_add_bytes(&out, json, (size_t)(at - json));
	text_add(&out, to);
	text_add(&out, at + strlen(from));
	free(json);
	result_release(&result);
	return text_detach(&out);
}

static void errors_name_the_place(void **state)
{
	static const struct {
		const char *from, *to, *message;
	} rows[] = {
		{ "\"value\": 55000000000", "\"value\": \"fast\"",
		  "cases[0].metrics.transfer.bandwidth.value: expected a number" },
		{ "\"seconds\": 60.25", "\"second\": 60.25", "run.seconds: is missing" },
		{ "\"status\": \"OK\"", "\"status\": \"FINE\"",
		  "cases[0].status: expected one of \"OK\", \"SKIPPED\", \"FAILED\", \"ERROR\"" },
		{ "\"planned\": 3", "\"planned\": -3", "run.planned: -3 is out of range" },
		{ "\"planned\": 3", "\"planned\": 3.5", "run.planned: expected an integer" },
		{ "\"version\": 1", "\"version\": 2",
		  "format version 2 comes from a newer gpuproof; this one reads up to version 1" },
		{ "\"version\": 1", "\"version\": true", "version: expected a positive integer" },
		{ "gpuproof-result", "other",
		  "not a gpuproof result: it has no \"format\": \"gpuproof-result\"" },
		{ "\"devices\": [\"cuda:0\", \"cuda:1\"]", "\"devices\": [\"cuda:0\", 1]",
		  "cases[0].devices[1]: expected a string" },
		{ "\"direction\": \"h2d\"", "\"dir\\nection\\u001b\": []",
		  "cases[0].parameters.dir?ection?: expected a number or a string" },
		{ "\"values\": [0.0011", "\"values\": [{}",
		  "cases[0].samples.transfer.time.values[0]: expected a number" },
		{ "\"peers\": [1, 63, 64]", "\"peers\": [1024]",
		  "devices[0].peers[0]: 1024 is out of range" },
		{ "\"batch\": 8", "\"batch\": 4294967296",
		  "cases[0].samples.transfer.time.batch: 4294967296 is out of range" },
		{ "\"before\": {", "\"before\": 1, \"x\": {",
		  "cases[0].telemetry.before: expected an object" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct error err = ERROR_NONE;
		struct result result;
		char *json = mutated(rows[i].from, rows[i].to);

		assert_int_equal(result_from_json(&result, json, strlen(json), &err), STATUS_USAGE);
		assert_string_equal(err.message, rows[i].message);
		assert_null(result.cases);
		free(json);
	}
}

/* Each member by itself is well formed: together they make no sense. */
static void what_makes_no_sense_is_refused(void **state)
{
	static const struct {
		const char *from, *to, *message;
	} rows[] = {
		{ "\"planned\": 3", "\"planned\": 1", "run.planned: 1, but there are 2 cases" },
		{ "\"id\": \"cuda:0\"", "\"id\": \"\"", "devices[0].id: is empty" },
		{ "\"id\": \"cuda:0\"", "\"id\": \"cuda:1\"",
		  "devices[1].id: 'cuda:1' is repeated; first in devices[0]" },
		{ "transfer/h2d/pinned/64MiB@cuda:0", "", "cases[0].id: is empty" },
		{ "transfer/h2d/pinned/64MiB@cuda:0", "transfer/d2h/pinned/64MiB@cuda:1",
		  "cases[1].id: 'transfer/d2h/pinned/64MiB@cuda:1' is repeated; first in "
		  "cases[0]" },
		{ "\"suite\": \"transfer\"", "\"suite\": \"\"", "cases[0].suite: is empty" },
		{ "\"devices\": [\"cuda:0\", \"cuda:1\"]", "\"devices\": []",
		  "cases[0].devices: a case needs at least one device" },
		{ "\"devices\": [\"cuda:0\", \"cuda:1\"]", "\"devices\": [\"cuda:1\", \"cuda:0\"]",
		  "cases[0].device: 'cuda:0' is not the first entry of devices, 'cuda:1'" },
		{ "\"devices\": [\"cuda:0\", \"cuda:1\"]", "\"devices\": [\"cuda:0\", \"cuda:0\"]",
		  "cases[0].devices[1]: 'cuda:0' is repeated" },
		{ "\"devices\": [\"cuda:0\", \"cuda:1\"]", "\"devices\": [\"cuda:0\", \"cuda:7\"]",
		  "cases[0].devices[1]: 'cuda:7' is not in devices of the result" },
		{ "\"unit\": \"B/s\"", "\"unit\": \"furlong\"",
		  "cases[0].metrics.transfer.bandwidth.unit: 'furlong' is not a valid unit; "
		  "allowed: 1, s, B, B/s, FLOP/s, FLOP/B, FLOP, Hz, W, J, FLOP/J, B/J, "
		  "samples/J, \302\260C, degC, samples, samples/s, ops/s, items/s, images/s, "
		  "cycles" },
		{ "\"size\": \"B\"", "\"size\": \"bytes\"",
		  "cases[0].parameter_units.size: 'bytes' is not a valid unit" },
		{ "\"low\": 54000000000", "\"low\": 56000000000",
		  "cases[0].metrics.transfer.bandwidth.low: 5.6e+10 is above the value 5.5e+10" },
		{ "\"high\": 56000000000", "\"high\": 54000000000",
		  "cases[0].metrics.transfer.bandwidth.high: 5.4e+10 is below the value 5.5e+10" },
		{ "\"value\": 55000000000", "\"value\": null",
		  "cases[0].metrics.transfer.bandwidth.low: the interval has no value" },
		{ "\"n\": 8", "\"n\": 30",
		  "cases[0].metrics.transfer.bandwidth.n: 30, but series 'transfer.time' has 8 "
		  "samples" },
		{ "\"n\": 1, ", "\"n\": 0, ",
		  "cases[0].metrics.transfer.cold.n: 0; a value needs at least one sample" },
		{ "\"series\": \"transfer.time\"", "\"series\": \"transfer.tame\"",
		  "cases[0].metrics.transfer.bandwidth.series: the case has no sample series "
		  "'transfer.tame'" },
		{ "\"values\": [0.0011, 0.1, ", "\"values\": [",
		  "cases[0].samples.transfer.time.statistics.n: 8, but there are 6 samples" },
		{ "\"values\": [0.0011", "\"values\": [null",
		  "cases[0].samples.transfer.time.values[0]: a sample must be a finite number" },
		{ "\"batch\": 8", "\"batch\": 0",
		  "cases[0].samples.transfer.time.batch: 0; a sample contains at least one "
		  "operation" },
		{ "\"median\": 0.4", "\"median\": 0.3",
		  "cases[0].samples.transfer.time.statistics.low: 0.39 is above the median 0.3" },
		{ "\"spans\": [0, ", "\"spans\": [",
		  "cases[0].timeline[0].spans: 5 numbers; allowed: a multiple of three, because a "
		  "span has three" },
		{ "\"ended\": 1795489080.75", "\"ended\": 1795489070",
		  "cases[0].energy_windows[0]: times are not in ascending order" },
		{ "\"began\": 1795489077.5,", "\"began\": -1795489077.5,",
		  "cases[0].energy_windows[0]: times are not in ascending order" },
		{ "\"last_update\": 1795489080.6875", "\"last_update\": 1795489081",
		  "cases[0].energy_windows[0]: times are not in ascending order" },
		{ "\"joules\": 1024", "\"joules\": 1050",
		  "cases[0].energy_windows[0]: joules is outside the interval from low to high" },
		{ "\"mean\": [300, ", "\"mean\": [",
		  "cases[0].watches.cuda:0.quantities.power_watts: lowest, mean and highest have "
		  "different lengths: 0, 2 and 3 numbers" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct error err = ERROR_NONE;
		struct result result;
		char *json = mutated(rows[i].from, rows[i].to);

		assert_int_equal(result_from_json(&result, json, strlen(json), &err), STATUS_USAGE);
		assert_string_equal(err.message, rows[i].message);
		assert_null(result.cases);
		free(json);
	}
}

/* States of results of earlier and of interrupted runs. */
static void what_makes_sense_is_read(void **state)
{
	static const char *const rows[][2] = {
		/* one side alone: rates of what took no time */
		{ "\"low\": 54000000000", "\"low\": null" },
		{ "\"high\": 56000000000", "\"high\": 55000000000" },
		{ "\"planned\": 3", "\"planned\": 300" },
		{ "\"state\": \"complete\"", "\"state\": \"interrupted\"" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct result result;
		char *json = mutated(rows[i][0], rows[i][1]);

		reads_back(json, &result);
		free(json);
		result_release(&result);
	}
}

/* The copy in a page or a baseline has the statistics of its series, no samples, and says so. */
static void samples_may_be_left_out(void **state)
{
	struct error err = ERROR_NONE;
	struct result result;
	char *json;

	(void)state;
	sample_result(&result);
	result.cases[0].series[0].count = 0;
	json = result_to_json(&result);
	result_release(&result);
	assert_int_equal(result_from_json(&result, json, strlen(json), &err), STATUS_USAGE);
	assert_string_equal(err.message, "cases[0].samples.transfer.time.statistics.n: 8, but "
					 "there are 0 samples");
	free(json);
	json = mutated("\"samples_left_out\": false", "\"samples_left_out\": true");
	reads_back(json, &result);
	assert_true(result.samples_left_out);
	free(json);
	result_release(&result);
}

/* Nothing was measured: no limit may hold. */
static void a_run_without_a_case_is_refused(void **state)
{
	struct error err = ERROR_NONE;
	struct result result;
	char *json;

	(void)state;
	sample_result(&result);
	result.planned = 0;
	case_result_release(&result.cases[0]);
	case_result_release(&result.cases[1]);
	result.case_count = 0;
	json = result_to_json(&result);
	result_release(&result);
	assert_int_equal(result_from_json(&result, json, strlen(json), &err), STATUS_USAGE);
	assert_string_equal(err.message, "run.planned: 0; a run has at least one planned case");
	free(json);
}

static void what_is_unknown_is_ignored(void **state)
{
	struct result result;
	char *json = mutated("\"run\": {", "\"future\": [1, {}], \"run\": {\"mood\": \"good\", ");

	(void)state;
	reads_back(json, &result);
	assert_string_equal(result.run_id, "0123456789abcdef");
	free(json);
	result_release(&result);
}

static void refused(const char *text, size_t length)
{
	struct error err = ERROR_NONE;
	struct result result;

	assert_int_equal(result_from_json(&result, text, length, &err), STATUS_USAGE);
	assert_true(err.message[0] != '\0');
	assert_null(result.run_id);
}

static void hostile_text_is_refused(void **state)
{
	static const char *const bad[] = { "",
					   "null",
					   "[]",
					   "{}",
					   "{",
					   "\xEF\xBB\xBF{}",
					   "{\"a\":1e9999}",
					   "{\"version\":99999999999999999999}",
					   "{\"a\":1,\"a\":2}",
					   "{\"a\":\"\\u0000\"}",
					   "{\"a\":\"\\ud800\"}",
					   "{\"a\":\"\xFF\"}",
					   "{} {}",
					   "{\"format\":\"gpuproof-result\"}",
					   "{\"format\":\"gpuproof-result\",\"version\":1}",
					   "{\"format\":[],\"version\":{}}" };
	char *deep = xmalloc(100000);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		refused(bad[i], strlen(bad[i]));
	refused("{\"a\":\"\0\"}", 9);
	memset(deep, '[', 100000);
	refused(deep, 100000);
	free(deep);
}

/* Bytes that the heap holds. */
static size_t memory_in_use(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* Text that is small and would be huge in memory is not kept. */
static void what_is_ignored_needs_no_memory(void **state)
{
	const size_t count = 2000000;
	struct text text = TEXT_EMPTY;
	struct error err = ERROR_NONE;
	struct result result;
	char *json = mutated("\"run\": {", "\"run\": {\"future\": [[]@], ");
	char *at = strchr(json, '@');
	size_t before;

	(void)state;
	text_add_bytes(&text, json, (size_t)(at - json));
	for (size_t i = 1; i < count; i++)
		text_add_bytes(&text, ",[]", 3);
	text_add(&text, at + 1);
	before = memory_in_use();
	if (result_from_json(&result, text.data, text.length, &err) != STATUS_OK)
		fail_msg("%s", err.message);
	assert_in_range(memory_in_use(), 0, before + text.length);
	text_release(&text);
	free(json);
	result_release(&result);
}

static void many_short_samples_are_read(void **state)
{
	const size_t count = 1000000;
	struct result result, back;
	struct series *series;
	char *json;

	(void)state;
	sample_result(&result);
	series = &result.cases[0].series[0];
	series->samples = xrealloc(series->samples, count, sizeof(*series->samples));
	series->count = series->capacity = series->statistics.n = count;
	result.cases[0].metrics[0].n = count;
	for (size_t i = 0; i < count; i++)
		series->samples[i] = (double)(i % 10);
	json = result_to_json(&result);
	reads_back(json, &back);
	assert_int_equal(back.cases[0].series[0].count, count);
	assert_true(back.cases[0].series[0].samples[count - 1] == 9);
	free(json);
	result_release(&result);
	result_release(&back);
}

/*
 * Every byte of a document replaced by others: an error or a result, never a crash (run with the
 * sanitizers).
 */
static void damaged_text_never_crashes(void **state)
{
	static const char replacements[] = "\0{}[]\",:0-n\x80";
	struct result result;
	struct case_result c;
	char *json;
	size_t length;

	(void)state;
	sample_result(&result);
	json = case_result_to_json(&result.cases[0]);
	length = strlen(json);
	for (size_t i = 0; i < length; i++) {
		char kept = json[i];

		for (size_t j = 0; j < sizeof(replacements) - 1; j++) {
			struct error err = ERROR_NONE;

			json[i] = replacements[j];
			if (case_result_from_json(&c, json, length, &err) == STATUS_OK)
				case_result_release(&c);
			else
				assert_true(err.message[0] != '\0');
		}
		json[i] = kept;
	}
	free(json);
	result_release(&result);
}

/* Results of version 0.1 have no such words: readers derive them. */
static void capabilities_that_older_results_lack(void **state)
{
	struct result first, second;
	char *json, *at;

	(void)state;
	sample_result(&first);
	strcpy(first.devices[1].backend, "host");
	json = result_to_json(&first);
	while ((at = strstr(json, ", \"tensor_cores\"")))
		memmove(at, at + strlen(", \"tensor_cores\""),
			strlen(at + strlen(", \"tensor_cores\"")) + 1);
	assert_null(strstr(json, "tensor_cores"));
	reads_back(json, &second);
	assert_true(second.devices[0].capabilities & DEVICE_HAS_TENSOR_CORES);
	assert_false(device_is_host(&second.devices[0]));
	assert_true(device_is_host(&second.devices[1]));
	result_release(&first);
	result_release(&second);
	free(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_result_same_bytes),
		cmocka_unit_test(capabilities_that_older_results_lack),
		cmocka_unit_test(look_ups_find_devices_and_launches),
		cmocka_unit_test(points_and_devices_are_fields),
		cmocka_unit_test(a_case_without_axes_has_no_member_point),
		cmocka_unit_test(any_order_of_members_is_read),
		cmocka_unit_test(numbers_survive_to_the_last_bit),
		cmocka_unit_test(parameters_are_plain_for_scripts),
		cmocka_unit_test(odd_text_is_made_sound),
		cmocka_unit_test(of_repeated_names_the_last_counts),
		cmocka_unit_test(header_and_cases_travel_apart),
		cmocka_unit_test(what_the_probe_finds_travels),
		cmocka_unit_test(errors_name_the_place),
		cmocka_unit_test(what_makes_no_sense_is_refused),
		cmocka_unit_test(what_makes_sense_is_read),
		cmocka_unit_test(samples_may_be_left_out),
		cmocka_unit_test(a_run_without_a_case_is_refused),
		cmocka_unit_test(what_is_unknown_is_ignored),
		cmocka_unit_test(hostile_text_is_refused),
		cmocka_unit_test(what_is_ignored_needs_no_memory),
		cmocka_unit_test(many_short_samples_are_read),
		cmocka_unit_test(damaged_text_never_crashes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
