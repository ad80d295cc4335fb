/*
 * nccl-tests -J: versions 2 and 3 of its JSON. It lists only the first device of each process, or
 * only the very first device if it was built without MPI.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "import/formats/nccl_build.h"

/* Digits of a number in the JSON of nccl-tests. */
#define HALF_DIGIT 1e-6

/* A number that must be there. An unknown one is null or the text "nan". */
static double nccl_json_read_number(struct import *import, const json_t *object, const char *name)
{
	const json_t *json = json_object_get(object, name);

	if (!json)
		import_json_error(import, object, NULL, "'%s' is missing", name);
	else if (json_is_number(json))
		return import_json_amount(import, object, name);
	else if (!json_is_null(json) && strcmp(import_json_string(object, name), "nan") != 0)
		import_json_error(import, object, name, "expected a number");
	return NAN;
}

static void nccl_json_read_place(struct import *import, const json_t *result, struct nccl_row row,
				 bool in_place)
{
	const json_t *json = json_object_get(result, in_place ? "in_place" : "out_of_place");

	if (!json || json_is_null(json))
		return;
	if (json_object_get(json, "cpu_time")) {
		building_left_out(import, "cpu_time of option -C (CPU time, not the time of the "
					  "collective)");
		return;
	}
	row.in_place = in_place;
	row.time_us = nccl_json_read_number(import, json, "time");
	row.algbw_gbs = nccl_json_read_number(import, json, "alg_bw");
	row.busbw_gbs = nccl_json_read_number(import, json, "bus_bw");
	row.wrong = nccl_json_read_number(import, json, "nwrong");
	if (!(row.time_us > 0))
		import_json_error(import, json, "time", "expected a time above 0");
	row.algbw_gbs = isfinite(row.algbw_gbs) ? row.algbw_gbs : 0;
	row.busbw_gbs = isfinite(row.busbw_gbs) ? row.busbw_gbs : 0;
	nccl_build_add_row(import->state, &row);
}

static void nccl_json_read_row(struct import *import, const json_t *result)
{
	struct nccl_row row = { .json = result,
				.counted = true,
				.time_half = HALF_DIGIT,
				.algbw_half = HALF_DIGIT,
				.busbw_half = HALF_DIGIT };

	if (!import_json_member(import, result, "type", JSON_STRING))
		return;
	row.bytes = nccl_json_read_number(import, result, "size");
	if (!(row.bytes >= 0))
		import_json_error(import, result, NULL, "'size' must be a size in bytes");
	if (row.bytes == 0) {
		building_left_out(import, "rows of size 0");
		return;
	}
	snprintf(row.type, sizeof(row.type), "%s", import_json_string(result, "type"));
	snprintf(row.operation, sizeof(row.operation), "%s", import_json_string(result, "redop"));
	row.root = atoi(import_json_string(result, "root"));
	if (json_object_get(result, "in_place_per_iter"))
		building_left_out(import, "times of individual iterations");
	nccl_json_read_place(import, result, row, false);
	nccl_json_read_place(import, result, row, true);
}

static int nccl_json_small_number(const json_t *object, const char *name)
{
	double value = import_json_figure(json_object_get(object, name));

	return value >= 0 && value < 1e6 ? (int)value : -1;
}

static void nccl_json_read_device(struct import *import, const json_t *d)
{
	struct nccl_test *test = ((struct nccl_file *)import->state)->tests;
	int rank = nccl_json_small_number(d, "rank"), device = nccl_json_small_number(d, "device");
	int group = nccl_json_small_number(d, "group");

	/* A single device has no rank if nccl-tests was built without MPI. */
	if (rank < 0 && test->rank_count)
		import_json_error(import, d, NULL, "'rank' is missing");
	nccl_build_add_rank(test,
			    (struct nccl_rank){ .rank = rank < 0 ? 0 : rank,
						.group = group < 0 ? 0 : group,
						.device = device < 0 ? 0 : device,
						.host = import_json_string(d, "hostname"),
						.pci = import_json_string(d, "device_hex"),
						.name = import_json_string(d, "device_info") });
}

static void nccl_json_read_devices(struct import *import, const json_t *json,
				   struct nccl_test *test)
{
	const json_t *config = import_json_member(import, json, "config", JSON_OBJECT);
	const json_t *devices =
		config ? import_json_member(import, config, "devices", JSON_ARRAY) : NULL;

	if (!devices)
		return;
	test->threads = nccl_json_small_number(config, "nthreads");
	test->gpus = nccl_json_small_number(config, "ngpus");
	if (!json_array_size(devices) || test->threads < 1 || test->gpus < 1 ||
	    test->threads > 1024 || test->gpus > 1024)
		import_json_error(import, config, NULL, "contains no devices");
	if (json_array_size(devices) > 1 &&
	    nccl_json_small_number(json_array_get(devices, 0), "rank") < 0)
		import_json_item_error(import, devices, 0, "'rank' is missing");
	import_json_each(import, devices, nccl_json_read_device);
}

/* True for false and "false". */
static bool nccl_json_is_false(const json_t *object, const char *name)
{
	return json_is_false(json_object_get(object, name)) ||
	       strcmp(import_json_string(object, name), "false") == 0;
}

/* Reads the tool's own verdicts. */
static void nccl_json_read_end(const json_t *json, struct nccl_test *test)
{
	const json_t *errors = json_object_get(json, "errors");

	test->headed = true;
	test->concluded = json_object_get(json, "out_of_bounds") != NULL;
	for (size_t i = 0; i < json_array_size(errors); i++) {
		const char *error = json_string_value(json_array_get(errors, i));

		if (error && *error)
			nccl_build_set_words(&test->broken, error);
	}
	if (nccl_json_is_false(json_object_get(json, "out_of_bounds"), "okay"))
		nccl_build_set_words(&test->failed, "out_of_bounds is not okay");
	if (nccl_json_is_false(json_object_get(json, "average_bus_bandwidth"), "okay"))
		nccl_build_set_words(&test->failed, "average_bus_bandwidth is not okay");
}

static void nccl_json_read_facts(struct import *import, const json_t *json)
{
	static const char *const facts[][2] = { { "iterations", "iterations" },
						{ "warmup_iters", "warm-up iterations" },
						{ "aggregated_iterations",
						  "aggregated iterations" },
						{ "validation", "validation" },
						{ "graph", "CUDA graph launches" } };
	const json_t *config = json_object_get(json, "config");
	double version = import_json_figure(json_object_get(json, "version"));

	building_tool(import, "nccl-tests (JSON%s%.0f)", version > 0 ? " version " : "",
		      version > 0 && version < 1e6 ? version : 0);
	nccl_build_version_fact(import, import_json_figure(json_object_get(json, "nccl_version")));
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++) {
		double value = import_json_figure(json_object_get(config, facts[i][0]));
		char text[32];

		snprintf(text, sizeof(text), "%.10g", value);
		if (isfinite(value))
			building_fact(import, facts[i][1], text);
	}
	building_started(import, import_json_string(json, "start_time"));
}

static void nccl_json_read_root(struct import *import, const json_t *json)
{
	const json_t *results = import_json_member(import, json, "results", JSON_ARRAY);
	struct nccl_test *test = nccl_build_begin_test(import->state, 1);
	/* The program's name, or the name in the results if another program called it. */
	const char *names[] = { json_string_value(json_array_get(json_object_get(json, "args"), 0)),
				import_json_string(json_array_get(results, 0), "experiment_name"),
				import->options->collective };

	if (!results)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(names) && !test->collective; i++)
		test->collective = names[i] ? nccl_build_collective(names[i]) : NULL;
	if (!test->collective)
		building_error(import, "unknown collective: name it with --collective");
	nccl_json_read_facts(import, json);
	nccl_json_read_devices(import, json, test);
	import_json_each(import, results, nccl_json_read_row);
	nccl_json_read_end(json, test);
	if (!building_stopped(import))
		nccl_build(import);
}

const struct import_format import_nccl_json = {
	.name = "nccl-json",
	.summary = "nccl-tests: all_reduce_perf ... -J FILE",
	.marks = { "\"average_bus_bandwidth\"", "\"bus_bw\"", "\"aggregated_iterations\"" },
	.silent = "samples, clocks, power, temperatures, driver, time zone of its start",
	.state_bytes = sizeof(struct nccl_file),
	.release = nccl_build_release,
	.read_json = nccl_json_read_root,
};
