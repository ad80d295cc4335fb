/*
 * Other tools' files become results that compare with ours; what is broken is named with file and
 * line.
 */
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
#include "import/import.h"
#include "plan/suite.h"

#define DATA TESTS_DIR "/data/import/"

static const struct sample {
	const char *format, *file, *provenance;
	size_t cases, devices;
	struct import_options options;
} samples[] = {
	{ "nvbandwidth", "nvbandwidth.json", "imported from nvbandwidth v0.8", 16, 2, { 0 } },
	{ "nccl-text", "nccl.txt", "imported from nccl-tests 2.17.6 (text)", 6, 2, { 0 } },
	{ "nccl-text",
	  "nccl_old.txt",
	  "imported from nccl-tests (text)",
	  2,
	  2,
	  { .collective = "all_reduce" } },
	{ "nccl-json", "nccl.json", "imported from nccl-tests (JSON version 2)", 2, 8, { 0 } },
	{ "babelstream", "babelstream.csv", "imported from BabelStream 5.0", 5, 1, { 0 } },
	{ "google-benchmark",
	  "google_benchmark.json",
	  "imported from Google Benchmark 1.9.0",
	  2,
	  1,
	  { 0 } },
};

static void read_sample(struct result *result, const char *file)
{
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		struct error err = ERROR_NONE;
		char *path;

		if (strcmp(samples[i].file, file) != 0)
			continue;
		path = xasprintf(DATA "%s", file);
		if (import_file(result, samples[i].format, path, &samples[i].options, &err) !=
		    STATUS_OK)
			fail_msg("%s", err.message);
		free(path);
		return;
	}
	fail_msg("no sample %s", file);
}

static const char *fact(const struct result *result, const char *name)
{
	for (size_t i = 0; i < result->environment_count; i++)
		if (strcmp(result->environment[i].name, name) == 0)
			return result->environment[i].value;
	return "";
}

static void every_sample_becomes_a_result(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		struct result result, again;
		struct error err = ERROR_NONE;
		char *json;

		read_sample(&result, samples[i].file);
		assert_string_equal(fact(&result, IMPORT_PROVENANCE), samples[i].provenance);
		assert_int_equal(result.case_count, samples[i].cases);
		assert_int_equal(result.device_count, samples[i].devices);
		assert_int_equal(result.planned, result.case_count);
		json = result_to_json(&result);
		if (result_from_json(&again, json, strlen(json), &err) != STATUS_OK)
			fail_msg("%s", err.message);
		result_release(&again);
		result_release(&result);
		free(json);
	}
}

static void values_have_our_names_and_units(void **state)
{
	static const struct {
		const char *file, *id, *metric;
		double value;
	} rows[] = {
		{ "nvbandwidth.json", "transfer/h2d/pinned/512MiB@cuda:0", "transfer.bandwidth",
		  55.5518e9 },
		{ "nvbandwidth.json", "transfer/both/pinned/512MiB@cuda:1",
		  "transfer.bandwidth_h2d", 52.28e9 },
		{ "nvbandwidth.json", "transfer/both/pinned/512MiB@cuda:1",
		  "transfer.bandwidth_d2h", 50.69e9 },
		/* The row issues the copy. */
		{ "nvbandwidth.json", "transfer/p2p_read/on/512MiB@cuda:0,cuda:1",
		  "transfer.bandwidth", 394.1e9 },
		{ "nvbandwidth.json", "transfer/p2p/sm/on/512MiB@cuda:0,cuda:1",
		  "transfer.bandwidth", 370.4e9 },
		/* The sum of both directions is the third of three matrices. */
		{ "nvbandwidth.json", "transfer/p2p_read_both/on/512MiB@cuda:0,cuda:1",
		  "transfer.bandwidth", 779e9 },
		{ "nvbandwidth.json", "transfer/local/512MiB@cuda:1", "transfer.bandwidth",
		  2091.02e9 },
		{ "nvbandwidth.json", "transfer/all_to_host/pinned/512MiB@cuda:1,cuda:0",
		  "transfer.bandwidth", 55.31e9 },
		{ "nvbandwidth.json", "transfer/latency_host/pinned/2MiB@cuda:0",
		  "transfer.latency", 1170.2e-9 },
		{ "nccl.txt", "collective/2/all_reduce/fp32/out_of_place/16MiB@cuda:0,cuda:1",
		  "collective.busbw", 214.24e9 },
		{ "nccl.txt", "collective/2/all_reduce/fp32/in_place/1MiB@cuda:0,cuda:1",
		  "collective.time", 15.31e-6 },
		{ "nccl_old.txt", "collective/2/all_reduce/fp32/out_of_place/8MiB@cuda:0,cuda:1",
		  "collective.algbw", 40e9 },
		{ "babelstream.csv", "stream/triad/fp64/2GiB@cuda:0", "stream.bandwidth",
		  4.38893e12 },
		{ "google_benchmark.json", "benchmark/BM_sum/4096@host:0", "benchmark.time",
		  612e-9 },
		{ "google_benchmark.json", "benchmark/BM_copy/1048576@host:0",
		  "benchmark.bandwidth", 36.094e9 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct metric_value *m = NULL;
		struct result result;

		read_sample(&result, rows[i].file);
		for (size_t k = 0; k < result.case_count && !m; k++)
			if (strcmp(result.cases[k].id, rows[i].id) == 0)
				m = case_metric(&result.cases[k], rows[i].metric);
		if (!m)
			fail_msg("%s has no %s of %s", rows[i].file, rows[i].metric, rows[i].id);
		if (fabs(m->value / rows[i].value - 1) > 1e-4)
			fail_msg("%s: %g, not %g", rows[i].id, m->value, rows[i].value);
		result_release(&result);
	}
}

static const struct suite *suite_named(const char *name)
{
	for (const struct suite *const *s = suites; *s; s++)
		if (strcmp((*s)->name, name) == 0)
			return *s;
	return NULL;
}

static bool suite_has(const struct suite *suite, const struct metric_value *m)
{
	for (const struct metric *own = suite->metrics; own->name; own++)
		if (strcmp(own->name, m->name) == 0)
			return strcmp(own->unit, m->unit) == 0 && own->better == m->better;
	return false;
}

/* INT8 products count operations, not FLOPs: the one unit that is not ours. */
static bool is_int8(const struct case_result *c)
{
	const struct case_parameter *p = case_parameter(c, "precision");

	return p && strcmp(p->text, "int8") == 0;
}

static void metrics_are_those_of_the_suites(void **state)
{
	size_t checked = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		struct result result;

		read_sample(&result, samples[i].file);
		for (size_t k = 0; k < result.case_count; k++) {
			const struct case_result *c = &result.cases[k];
			const struct suite *suite = suite_named(c->suite);

			for (size_t m = 0; suite && m < c->metric_count; m++, checked++)
				if (!suite_has(suite, &c->metrics[m]) && !is_int8(c))
					fail_msg("%s: the suite has no such metric as %s", c->id,
						 c->metrics[m].name);
		}
		result_release(&result);
	}
	assert_true(checked > 20);
}

static void wrong_elements_fail(void **state)
{
	struct result result;
	size_t failed = 0;

	(void)state;
	read_sample(&result, "nccl.txt");
	for (size_t k = 0; k < result.case_count; k++) {
		if (result.cases[k].status == CASE_OK)
			continue;
		failed++;
		assert_string_equal(result.cases[k].reason, "3 wrong elements");
		assert_string_equal(result.cases[k].id,
				    "collective/2/all_reduce/fp32/in_place/256MiB@cuda:0,cuda:1");
	}
	assert_int_equal(failed, 1);
	result_release(&result);
}

static void what_has_no_counterpart_is_named(void **state)
{
	struct result result;

	(void)state;
	read_sample(&result, "nvbandwidth.json");
	assert_string_equal(fact(&result, "not imported"), "memory_of_tomorrow_ce");
	assert_string_equal(fact(&result, "cuda runtime"), "13.0");
	result_release(&result);
}

/* Once, however often it is there. */
static void functions_of_newer_babelstreams_are_named(void **state)
{
	static const char text[] = "function,num_times,n_elements,sizeof,max_mbytes_per_sec,min_"
				   "runtime,max_runtime,avg_runtime\n"
				   "Copy,10,100,8,1000,1e-6,1e-6,1e-6\n"
				   "Nstream,10,100,8,1000,1e-6,1e-6,1e-6\n"
				   "Stream,10,100,8,1000,1e-6,1e-6,1e-6\n"
				   "Nstream,10,100,8,1000,1e-6,1e-6,1e-6\n";
	const struct import_options options = { .device = "Tesla K80" };
	struct error err = ERROR_NONE;
	struct result result;

	(void)state;
	assert_int_equal(import_text(&result, "babelstream", "x.csv", text, strlen(text), &options,
				     &err),
			 STATUS_OK);
	assert_int_equal(result.case_count, 1);
	assert_string_equal(fact(&result, IMPORT_LEFT_OUT), "Nstream, Stream");
	result_release(&result);
}

/* However many there are, the fact stays one that a page can show. */
static void very_many_names_are_counted(void **state)
{
	const struct import_options none = { 0 };
	struct text text = TEXT_EMPTY;
	struct error err = ERROR_NONE;
	struct result result;

	(void)state;
	text_add(&text, "function,num_times,n_elements,sizeof,max_mbytes_per_sec,min_runtime,"
			"max_runtime,avg_runtime\nCopy,10,100,8,1600,1e-6,1e-6,1e-6\n");
	for (size_t i = 0; i < 30000; i++)
		text_addf(&text, "F%zu,10,100,8,1600,1e-6,1e-6,1e-6\n", i);
	assert_int_equal(import_text(&result, "babelstream", "x", text.data, text.length, &none,
				     &err),
			 STATUS_OK);
	assert_true(text_starts_with(fact(&result, IMPORT_LEFT_OUT), "F0, F1, F2, "));
	assert_true(text_ends_with(fact(&result, IMPORT_LEFT_OUT), "F99 and 29900 more"));
	result_release(&result);
	text_release(&text);
}

/* As many ranks as no list of them may take a search for each. */
static void ten_thousand_ranks_are_read(void **state)
{
	const size_t ranks = 10000;
	const struct import_options none = { 0 };
	struct text text = TEXT_EMPTY;
	struct error err = ERROR_NONE;
	struct result result;

	(void)state;
	text_add(&text, "# Collective test starting: broadcast_perf\n# nThread 1 nGpus 1\n");
	for (size_t i = 0; i < ranks; i++)
		text_addf(&text, "#  Rank %zu Group 0 Pid 1 on n%zu device %zu [0:%zu] N\n", i,
			  i / 8, i % 8, i % 8);
	text_add(&text, "# size count type redop root time algbw busbw #wrong\n"
			"1000 1 float none 0 1.00 1.00 1.00 0\n# Out of bounds values : 0 OK\n");
	assert_int_equal(import_text(&result, NULL, "x", text.data, text.length, &none, &err),
			 STATUS_OK);
	assert_int_equal(result.device_count, ranks);
	assert_int_equal(result.cases[0].device_count, ranks);
	assert_string_equal(result.devices[ranks - 1].id, "cuda:9999");
	assert_true(strstr(fact(&result, "hosts"), "n1249: cuda:9992-9999") != NULL);
	result_release(&result);
	text_release(&text);
}

static void benchmarks_that_failed_are_errors(void **state)
{
	static const char text[] = "{\"context\": {}, \"benchmarks\": [{\"name\": \"BM_a\", "
				   "\"real_time\": 0.0, \"time_unit\": \"ns\", \"error_occurred\": "
				   "true, \"error_message\": \"no device\"}]}";
	const struct import_options options = { 0 };
	struct error err = ERROR_NONE;
	struct result result;

	(void)state;
	assert_int_equal(import_text(&result, "google-benchmark", "x.json", text, strlen(text),
				     &options, &err),
			 STATUS_OK);
	assert_int_equal(result.case_count, 1);
	assert_int_equal(result.cases[0].status, CASE_ERROR);
	assert_string_equal(result.cases[0].reason, "no device");
	assert_string_equal(result.cases[0].id, "benchmark/BM_a@host:0");
	result_release(&result);
}

static void a_device_can_be_named(void **state)
{
	static const char text[] = "function,num_times,n_elements,sizeof,max_mbytes_per_sec,min_"
				   "runtime,max_runtime,avg_runtime\n"
				   "Copy,10,100,8,1000,1e-6,1e-6,1e-6\n";
	const struct import_options options = { .device = "Tesla K80" };
	struct error err = ERROR_NONE;
	struct result result;

	(void)state;
	assert_int_equal(import_text(&result, "babelstream", "x.csv", text, strlen(text), &options,
				     &err),
			 STATUS_OK);
	assert_string_equal(result.devices[0].name, "Tesla K80");
	assert_int_equal(result.devices[0].capability_major, 3);
	assert_int_equal(result.devices[0].capability_minor, 7);
	result_release(&result);
}

/* nccl-tests print two decimals: of few bytes the bandwidth is 0.00, which is no figure. */
static void rounded_bandwidths_are_left_out(void **state)
{
	static const char text[] =
		"# Collective test starting: all_reduce_perf\n"
		"#  Rank  0 on h device  0 [0x06] N\n#  Rank  1 on h device  1 [0x07] N\n"
		"# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
		"8 2 float sum -1 9.5 0.00 0.00 0 9.4 0.00 0.00 0\n";
	const struct import_options options = { 0 };
	struct error err = ERROR_NONE;
	struct result result;

	(void)state;
	assert_int_equal(import_text(&result, "nccl-text", "x", text, strlen(text), &options, &err),
			 STATUS_OK);
	assert_int_equal(result.case_count, 2);
	assert_null(case_metric(&result.cases[0], "collective.busbw"));
	assert_true(case_metric(&result.cases[0], "collective.time")->value == 9.5 * 1e-6);
	assert_string_equal(fact(&result, IMPORT_LEFT_OUT), "bandwidths of 0");
	result_release(&result);
}

#define CSV                                                                                \
	"function,num_times,n_elements,sizeof,max_mbytes_per_sec,min_runtime,max_runtime," \
	"avg_runtime\n"
#define NVB "{\"nvbandwidth\": {\n\"GPU Device list\": [\n\"0: N (1)\"],\n\"testcases\": [\n"
#define TEST(matrix) "{\"name\": \"device_local_copy\", \"status\": \"Passed\",\n" matrix "}]}}"
#define START "# Collective test starting: all_reduce_perf\n#  Rank  0 on h device  0 [0x06] N\n"
#define HEADING "#  size count type redop root time algbw busbw #wrong time algbw busbw #wrong \n"
#define RANK START HEADING
#define BENCHMARK(members)                                                         \
	"{\"context\": {},\n\"benchmarks\": [{\"name\": \"BM_a\", \"time_unit\": " \
	"\"ns\",\n" members "}]}"
#define NCCL(members)                                                                         \
	"{\"args\": [\"all_reduce_perf\"], \"config\": {\"devices\": [{}], \"nthreads\": 1, " \
	"\"ngpus\": 2},\n\"results\": "                                                       \
	"[{\"type\": \"float\", \"size\": 8, \"in_place\":\n{" members "}}]}"

static void mistakes_name_file_and_line(void **state)
{
	static const struct {
		const char *format, *text, *message;
	} rows[] = {
		{ "nvbandwith", "", "unknown format 'nvbandwith'; did you mean 'nvbandwidth'?" },
		{ "excel", "",
		  "unknown format 'excel'; known: nvbandwidth, nccl-json, "
		  "nccl-text, babelstream, google-benchmark, dcgm-diag, gpu-burn, gpu-fryer, "
		  "mamf-finder, osu, p2p-bandwidth-latency, nvidia-smi" },
		{ "nvbandwidth", "{\n\"a\": }", "x:2: unexpected token near '}'" },
		{ "nvbandwidth", "{}", "x:1: 'nvbandwidth' is missing" },
		{ "nvbandwidth", "{\"nvbandwidth\": {\n}}",
		  "x:1: nvbandwidth: 'testcases' is missing" },
		{ "nvbandwidth", NVB "{\"status\": \"Passed\"}]}}",
		  "x:5: nvbandwidth.testcases[0]: 'name' is missing" },
		{ "nvbandwidth", NVB TEST("\"bandwidth_matrix\": [[\n\"fast\"]]"),
		  "x:7: nvbandwidth.testcases[0].bandwidth_matrix[0][0]: expected a number or "
		  "\"N/A\"" },
		{ "nvbandwidth", NVB TEST("\"bandwidth_matrix\": [[\"1\",\n\n\"2\"]]"),
		  "x:8: nvbandwidth.testcases[0].bandwidth_matrix[0][1]: the list of devices does "
		  "not "
		  "contain this device" },
		{ "nvbandwidth", NVB TEST("\"bandwidth_matrix\": [3]"),
		  "x:6: nvbandwidth.testcases[0].bandwidth_matrix[0]: expected an array" },
		{ "nvbandwidth", NVB "]}}",
		  "x:1: the file has no values of the format nvbandwidth" },
		{ "babelstream", "a\nb\n",
		  "x:1: the file has no table, because no line begins with 'function,' or "
		  "'Function '" },
		{ "babelstream", "function,a\n", "x:1: the heading has no column 'num_times'" },
		{ "babelstream", "\n" CSV "Copy,100,1,8,fast,1,1,1\n",
		  "x:3: expected a number above 0, not 'fast'" },
		{ "babelstream", CSV "Copy,100,1,8,1,1,1\n", "x:2: expected 8 columns, not 7" },
		{ "babelstream", CSV "Copy,100,1,3,1,1,1,1\n",
		  "x:2: expected sizeof 4 or 8, not '3'" },
		{ "nccl-text", RANK "8 2 float\n",
		  "x:4: expected the 13 columns of the heading, not 3" },
		/* A killed job's last line: which column is missing is not known. */
		{ "nccl-text", RANK "8 2 float sum -1 9 2 2 0 9 2 2\n",
		  "x:4: expected the 13 columns of the heading, not 12" },
		{ "nccl-text", START "8 2 float sum -1 9 2 2 0 9 2 2 0\n",
		  "x:3: the columns are unknown, because the line '# size count type ...' is "
		  "missing" },
		{ "nccl-text", RANK "8 2 float sum -1 0 2 2 0 9 2 2 0\n",
		  "x:4: expected a time above 0 and bandwidths of at least 0, not '0 2 2'" },
		{ "nccl-text", RANK "8 2 float sum -1 9 2 2 0 9 2 -2 0\n",
		  "x:4: expected a time above 0 and bandwidths of at least 0, not '9 2 -2'" },
		{ "nccl-text", RANK "8 2 float sum -1 9 2 2 -1 9 2 2 0\n",
		  "x:4: expected a count of wrong elements, not '-1'" },
		{ "nccl-text", RANK "18000 2 float sum -1 9 20 0 0 9 2 0 0\n",
		  "x:4: 18000 bytes in 9 us do not give 20 GB/s; the heading may belong to other "
		  "columns" },
		{ "nccl-text", RANK "18000 2 float sum -1 9.0 2.00 3.00 0 9 2 0 0\n",
		  "x:4: busbw 3 GB/s does not match algbw 2 GB/s for all_reduce on 1 rank, but "
		  "it does for 4; lines of devices may be missing" },
		{ "nccl-json", NCCL("\"time\": 1, \"alg_bw\": 1,\n\"bus_bw\": -1, \"nwrong\": 0"),
		  "x:4: results[0].in_place.bus_bw: expected a number of at least 0" },
		{ "nccl-json", NCCL("\"time\": 0, \"alg_bw\": 1, \"bus_bw\": 1, \"nwrong\": 0"),
		  "x:3: results[0].in_place.time: expected a time above 0" },
		{ "nccl-json", NCCL("\"time\": 1, \"alg_bw\": 1, \"bus_bw\": 1, \"nwrong\": -2"),
		  "x:3: results[0].in_place.nwrong: expected a number of at least 0" },
		{ "google-benchmark", BENCHMARK("\"real_time\": -1"),
		  "x:3: benchmarks[0].real_time: expected a number of at least 0" },
		{ "google-benchmark", BENCHMARK("\"real_time\": 1, \"bytes_per_second\": -3"),
		  "x:3: benchmarks[0].bytes_per_second: expected a number of at least 0" },
		{ "nccl-text", "8 2 float sum -1 1 1 1 0 1 1 1 0\n",
		  "x:1: the devices are unknown, because the lines '# Rank ...' are missing" },
		{ "nccl-text", RANK "\n8 2 float sum -1 1 x 1 0 1 1 1 0\n",
		  "x:5: expected time, algbw and busbw, not '1 x 1'" },
		{ "nccl-text",
		  "# Collective test starting: all_reduce_perf\n"
		  "8 2 float sum -1 1 1 1 0 1 1 1 0\n",
		  "x:2: the devices are unknown, because the lines '# Rank ...' are missing" },
		{ "osu", "# Size Bandwidth (MB/s)\n1 2.5\n",
		  "x:2: the test is unknown, because the line '# OSU ...' is missing" },
		{ "nccl-json", "{\n\"results\": 1}", "x:2: results: expected an array" },
		{ "nccl-json", "{\"args\": [\"all_reduce_perf\"],\n\"results\": []}",
		  "x:1: 'config' is missing" },
		{ "google-benchmark",
		  "{\"context\": {}, \"benchmarks\": [\n{\"name\": \"a\", \"real_time\": 1, "
		  "\"time_unit\": \"d\"}]}",
		  "x:2: benchmarks[0].time_unit: expected ns, us, ms or s" },
	};
	const struct import_options none = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct error err = ERROR_NONE;
		struct result result;

		assert_int_equal(import_text(&result, rows[i].format, "x", rows[i].text,
					     strlen(rows[i].text), &none, &err),
				 STATUS_USAGE);
		assert_string_equal(err.message, rows[i].message);
	}
}

static char *file_text(const char *name, size_t *length)
{
	char *path = xasprintf(DATA "%s", name), *text = xmalloc(1 << 16);
	FILE *in = fopen(path, "r");

	assert_non_null(in);
	*length = fread(text, 1, 1 << 16, in);
	fclose(in);
	free(path);
	return text;
}

/* A file that was cut or has a byte changed is read or refused with its line; nothing else. */
static void damaged_files_are_refused_with_their_line(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		size_t length;
		char *text = file_text(samples[i].file, &length);

		for (size_t at = 0; at < length; at += 1 + length / 300) {
			char was = text[at];

			for (int change = 0; change < 3; change++) {
				struct error err = ERROR_NONE;
				struct result result;
				size_t cut = change == 0 ? at : length;

				text[at] = change == 1 ? '\x01' : change == 2 ? '"' : was;
				if (import_text(&result, samples[i].format, "x", text, cut,
						&samples[i].options, &err) == STATUS_OK)
					result_release(&result);
				else if (strncmp(err.message, "x:", 2) != 0)
					fail_msg("%s: %s", samples[i].file, err.message);
			}
			text[at] = was;
		}
		free(text);
	}
}

static void a_test_of_nvbandwidth_that_failed_is_an_error(void **state)
{
	static const char text[] =
		"{\"nvbandwidth\": {\"GPU Device list\": [\"0: NVIDIA H200 (0000:3b:00)\"], "
		"\"testcases\": [{\"name\": \"host_to_device_memcpy_ce\", \"status\": \"Error\"}, "
		"{\"name\": \"device_local_copy\", \"status\": \"Waived\"}, {\"name\": "
		"\"no_such_test\", \"status\": \"Not Found\"}]}}";
	const struct import_options options = { 0 };
	struct error err = ERROR_NONE;
	struct result result;

	(void)state;
	assert_int_equal(import_text(&result, "nvbandwidth", "x.json", text, strlen(text), &options,
				     &err),
			 STATUS_OK);
	assert_int_equal(result.case_count, 1);
	assert_string_equal(result.cases[0].id, "transfer/host_to_device_memcpy_ce@cuda:0");
	assert_int_equal(result.cases[0].status, CASE_ERROR);
	assert_string_equal(result.cases[0].reason, "nvbandwidth reports: Error");
	result_release(&result);
}

/* As long as a search per row would take minutes; those with a median are represented by it. */
static void a_hundred_thousand_rows_are_read(void **state)
{
	const size_t rows = 100000;
	const struct import_options none = { 0 };
	struct text text = TEXT_EMPTY;
	struct error err = ERROR_NONE;
	struct result result;

	(void)state;
	text_add(&text, "{\"context\": {}, \"benchmarks\": [");
	for (size_t i = 0; i < rows; i++)
		text_addf(&text,
			  "%s{\"name\": \"n%zu\", \"run_name\": \"n%zu\", \"run_type\": \"%s\", "
			  "\"aggregate_name\": \"%s\", \"real_time\": 1, \"time_unit\": \"ns\"}",
			  i ? ",\n" : "", i, i % (rows / 2),
			  i < rows / 2 ? "iteration" : "aggregate",
			  i < rows / 2 ? ""
			  : i % 2      ? "median"
				       : "mean");
	text_add(&text, "]}");
	assert_int_equal(import_text(&result, "google-benchmark", "x", text.data, text.length,
				     &none, &err),
			 STATUS_OK);
	assert_int_equal(result.case_count, rows / 2);
	result_release(&result);
	text_release(&text);
}

/* Each of them ends in '\r' alone: a search for '\n' per line would take minutes. */
static void lines_that_overwrite_each_other_are_read(void **state)
{
	const struct import_options none = { 0 };
	struct text text = TEXT_EMPTY;
	struct error err = ERROR_NONE;
	struct result result;

	(void)state;
	text_add(&text, "Burning for 10 seconds.\n");
	for (size_t i = 0; i < 3000000; i++)
		text_add(&text, "x\r");
	text_add(&text, "50.0%  proc'd: 8 (7 Gflop/s)   errors: 0   temps: 60 C\n"
			"Tested 1 GPUs:\nGPU 0: OK\n");
	assert_int_equal(import_text(&result, NULL, "x", text.data, text.length, &none, &err),
			 STATUS_OK);
	assert_float_equal(result.cases[0].metrics[0].value, 7e9, 1);
	result_release(&result);
	text_release(&text);
}

/* A note for each of very many samples would be copied as often. */
static void notes_do_not_grow_with_samples(void **state)
{
	const struct import_options none = { 0 };
	struct text text = TEXT_EMPTY;
	struct error err = ERROR_NONE;
	struct result result;

	(void)state;
	text_add(&text, "Detected GPU #0: \"H100\" (GPU-a)\nUsing precision(s): BF16\n");
	for (size_t i = 0; i < 2000; i++)
		text_addf(&text,
			  "GPU #0: %zu Gflops/s (min: 1.00, max: %zu.00, dev: 1)\n"
			  "Throttling HW: false, Thermal SW: true, Thermal HW: false\n",
			  100 + i, 200 + i);
	text_add(&text, "All GPUs seem healthy\n");
	assert_int_equal(import_text(&result, NULL, "x", text.data, text.length, &none, &err),
			 STATUS_OK);
	assert_int_equal(result.cases[0].metrics[0].n, 2000);
	assert_string_equal(result.cases[0].notes,
			    "Range: 1.00 to 200.00 Gflops/s. Throttling HW: false, Thermal SW: "
			    "true, Thermal HW: false.");
	result_release(&result);
	text_release(&text);
}

/* A heading is read to its last column however long it is, or refused with its line. */
static void headings_are_read_whole_or_refused(void **state)
{
	static const struct {
		const char *format, *before, *after, *row, *end;
		double value;
		size_t own; /* columns in addition to the unknown ones */
	} tables[] = {
		{ "nvidia-smi", "index, name", ", power.draw [W]\n", "0, NVIDIA H200", ", 512 W\n",
		  512, 3 },
		{ "babelstream", "function,num_times,n_elements,sizeof",
		  ",max_mbytes_per_sec,min_runtime,max_runtime,avg_runtime\n",
		  "Triad,100,1000000,8", ",24000,0.001,0.001,0.001\n", 24e9, 8 },
	};
	static const size_t unknown[] = { 0, 1, 39, 40, 45, 46, 200, 1000, 1031, 1036, 1040, 5000 };
	const struct import_options none = { 0 };

	(void)state;
	for (size_t t = 0; t < ARRAY_SIZE(tables); t++)
		for (size_t k = 0; k < ARRAY_SIZE(unknown); k++) {
			size_t columns = unknown[k] + tables[t].own;
			struct text text = TEXT_EMPTY;
			struct error err = ERROR_NONE;
			struct result result;
			enum status status;
			char message[80];

			text_add(&text, tables[t].before);
			for (size_t i = 0; i < unknown[k]; i++)
				text_addf(&text, ",a column without a counterpart %zu", i);
			text_add(&text, tables[t].after);
			for (int row = 0; row < 2; row++) {
				text_add(&text, tables[t].row);
				for (size_t i = 0; i < unknown[k]; i++)
					text_add(&text, ",7");
				text_add(&text, tables[t].end);
			}
			status = import_text(&result, tables[t].format, "x", text.data, text.length,
					     &none, &err);
			if (columns < 1040) {
				assert_int_equal(status, STATUS_OK);
				assert_int_equal(result.case_count, 1);
				assert_int_equal(result.cases[0].metrics[0].n, 2);
				assert_float_equal(result.cases[0].metrics[0].value,
						   tables[t].value, 1e-3);
				result_release(&result);
			} else {
				snprintf(message, sizeof(message),
					 "x:1: %zu columns; import reads at most 1039", columns);
				assert_int_equal(status, STATUS_USAGE);
				assert_string_equal(err.message, message);
			}
			text_release(&text);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_sample_becomes_a_result),
		cmocka_unit_test(values_have_our_names_and_units),
		cmocka_unit_test(metrics_are_those_of_the_suites),
		cmocka_unit_test(wrong_elements_fail),
		cmocka_unit_test(what_has_no_counterpart_is_named),
		cmocka_unit_test(functions_of_newer_babelstreams_are_named),
		cmocka_unit_test(very_many_names_are_counted),
		cmocka_unit_test(ten_thousand_ranks_are_read),
		cmocka_unit_test(benchmarks_that_failed_are_errors),
		cmocka_unit_test(a_test_of_nvbandwidth_that_failed_is_an_error),
		cmocka_unit_test(a_device_can_be_named),
		cmocka_unit_test(mistakes_name_file_and_line),
		cmocka_unit_test(rounded_bandwidths_are_left_out),
		cmocka_unit_test(damaged_files_are_refused_with_their_line),
		cmocka_unit_test(a_hundred_thousand_rows_are_read),
		cmocka_unit_test(lines_that_overwrite_each_other_are_read),
		cmocka_unit_test(notes_do_not_grow_with_samples),
		cmocka_unit_test(headings_are_read_whole_or_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
