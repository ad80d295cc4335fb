/*
 * nccl-tests -J: versions 2 and 3 of its JSON. It lists only the first device of each process, or
 * only the very first device if it was built without MPI.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "import/formats/nccl.h"

/* Digits of a number in the JSON of nccl-tests. */
#define HALF_DIGIT 1e-6

/* A missing number is null or the text "nan". */
static enum status read_nccl_number(struct import *import, const json_t *object,
				    const struct json_path *path, const char *name, double *value)
{
	const json_t *json = json_object_get(object, name);

	*value = json_is_number(json) ? json_number_value(json) : (double)NAN;
	if (*value < 0)
		return import_json_error(import, AT(path, name), "expected a number of at least 0");
	if (json_is_number(json))
		return STATUS_OK;
	if (!json)
		return import_json_error(import, path, "'%s' is missing", name);
	if (!json_is_null(json) && strcmp(import_string(object, name), "nan") != 0)
		return import_json_error(import, AT(path, name), "expected a number");
	return STATUS_OK;
}

static enum status read_json_place(struct import *import, struct nccl_file *file,
				   const json_t *result, const struct json_path *path,
				   struct nccl_row row)
{
	const char *name = row.in_place ? "in_place" : "out_of_place";
	const struct json_path here = { path, name, 0 };
	const json_t *json = json_object_get(result, name);

	if (!json || json_is_null(json))
		return STATUS_OK;
	if (json_object_get(json, "cpu_time")) {
		import_left_out(import, "cpu_time of option -C (the CPU's time differs from "
					"the collective's)");
		return STATUS_OK;
	}
	if (read_nccl_number(import, json, &here, "time", &row.time_us) != STATUS_OK ||
	    read_nccl_number(import, json, &here, "alg_bw", &row.algbw_gbs) != STATUS_OK ||
	    read_nccl_number(import, json, &here, "bus_bw", &row.busbw_gbs) != STATUS_OK ||
	    read_nccl_number(import, json, &here, "nwrong", &row.wrong) != STATUS_OK)
		return STATUS_USAGE;
	if (!(row.time_us > 0))
		return import_json_error(import, AT(&here, "time"), "expected a time above 0");
	row.algbw_gbs = isfinite(row.algbw_gbs) ? row.algbw_gbs : 0;
	row.busbw_gbs = isfinite(row.busbw_gbs) ? row.busbw_gbs : 0;
	ARRAY_GROW(file->rows, file->row_count, file->row_capacity);
	file->rows[file->row_count++] = row;
	return STATUS_OK;
}

static enum status read_json_row(struct import *import, void *file, const json_t *result,
				 const struct json_path *path)
{
	struct nccl_row row = { .index = path->index,
				.counted = true,
				.time_half = HALF_DIGIT,
				.algbw_half = HALF_DIGIT,
				.busbw_half = HALF_DIGIT };
	enum status status;

	if (!json_is_object(result))
		return import_json_error(import, path, "expected an object");
	if (!import_member(import, result, path, "type", JSON_STRING))
		return STATUS_USAGE;
	status = read_nccl_number(import, result, path, "size", &row.bytes);
	if (status == STATUS_OK && !(row.bytes >= 0))
		status = import_json_error(import, path, "'size' is not a size");
	if (status != STATUS_OK)
		return status;
	if (row.bytes == 0) {
		import_left_out(import, "rows of size 0");
		return STATUS_OK;
	}
	snprintf(row.type, sizeof(row.type), "%s", import_string(result, "type"));
	snprintf(row.operation, sizeof(row.operation), "%s", import_string(result, "redop"));
	row.root = atoi(import_string(result, "root"));
	if (json_object_get(result, "in_place_per_iter"))
		import_left_out(import, "times of single iterations");
	status = read_json_place(import, file, result, path, row);
	row.in_place = true;
	return status == STATUS_OK ? read_json_place(import, file, result, path, row) : status;
}

static int nccl_json_small_number(const json_t *object, const char *name)
{
	double value = import_figure(json_object_get(object, name));

	return value >= 0 && value < 1e6 ? (int)value : -1;
}

static enum status read_json_device(struct import *import, void *test, const json_t *d,
				    const struct json_path *path)
{
	int rank = nccl_json_small_number(d, "rank"), device = nccl_json_small_number(d, "device");
	int group = nccl_json_small_number(d, "group");

	/* A single device has no rank if nccl-tests was built without MPI. */
	if (rank < 0 && ((struct nccl_test *)test)->rank_count)
		return import_json_error(import, path, "'rank' is missing");
	nccl_add_rank(test, (struct nccl_rank){ .rank = rank < 0 ? 0 : rank,
						.group = group < 0 ? 0 : group,
						.device = device < 0 ? 0 : device,
						.host = import_string(d, "hostname"),
						.pci = import_string(d, "device_hex"),
						.name = import_string(d, "device_info") });
	return STATUS_OK;
}

static enum status read_json_devices(struct import *import, const json_t *json,
				     struct nccl_test *test)
{
	const struct json_path *path = AT(NULL, "config");
	const json_t *config = import_member(import, json, NULL, "config", JSON_OBJECT);
	const json_t *devices =
		config ? import_member(import, config, path, "devices", JSON_ARRAY) : NULL;

	if (!devices)
		return STATUS_USAGE;
	test->threads = nccl_json_small_number(config, "nthreads");
	test->gpus = nccl_json_small_number(config, "ngpus");
	if (!json_array_size(devices) || test->threads < 1 || test->gpus < 1 ||
	    test->threads > 1024 || test->gpus > 1024)
		return import_json_error(import, path, "names no devices");
	if (json_array_size(devices) > 1 &&
	    nccl_json_small_number(json_array_get(devices, 0), "rank") < 0)
		return import_json_error(import, NTH(AT(path, "devices"), 0), "'rank' is missing");
	return import_each(import, devices, AT(path, "devices"), read_json_device, test);
}

/* True for false and "false". */
static bool is_false(const json_t *object, const char *name)
{
	return json_is_false(json_object_get(object, name)) ||
	       strcmp(import_string(object, name), "false") == 0;
}

/* Reads the tool's own verdicts. */
static void read_json_end(const json_t *json, struct nccl_test *test)
{
	const json_t *errors = json_object_get(json, "errors");

	test->headed = true;
	test->concluded = json_object_get(json, "out_of_bounds") != NULL;
	for (size_t i = 0; i < json_array_size(errors); i++) {
		const char *error = json_string_value(json_array_get(errors, i));

		if (error && *error)
			nccl_set_words(&test->broken, error);
	}
	if (is_false(json_object_get(json, "out_of_bounds"), "okay"))
		nccl_set_words(&test->failed, "out_of_bounds is not okay");
	if (is_false(json_object_get(json, "average_bus_bandwidth"), "okay"))
		nccl_set_words(&test->failed, "average_bus_bandwidth is not okay");
}

static void read_json_facts(struct import *import, const json_t *json)
{
	static const char *const facts[][2] = { { "iterations", "iterations" },
						{ "warmup_iters", "warm-up iterations" },
						{ "aggregated_iterations",
						  "aggregated iterations" },
						{ "validation", "validation" },
						{ "graph", "CUDA graph launches" } };
	const json_t *config = json_object_get(json, "config");
	double version = import_figure(json_object_get(json, "version"));

	import_tool(import, "nccl-tests (JSON%s%.0f)", version > 0 ? " version " : "",
		    version > 0 && version < 1e6 ? version : 0);
	nccl_version_fact(import, import_figure(json_object_get(json, "nccl_version")));
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++) {
		double value = import_figure(json_object_get(config, facts[i][0]));
		char text[32];

		snprintf(text, sizeof(text), "%.10g", value);
		if (isfinite(value))
			import_fact(import, facts[i][1], text);
	}
	import_started(import, import_string(json, "start_time"));
}

static enum status read_nccl_json(struct import *import, const json_t *json, struct nccl_file *file)
{
	const json_t *results = import_member(import, json, NULL, "results", JSON_ARRAY);
	struct nccl_test *test = nccl_begin_test(file, 1);
	enum status status;
	const char *program;
	const json_t *first;
	const struct nccl_collective *c;

	if (!results)
		return STATUS_USAGE;
	/* The program's name, or the name in the results if another program called it. */
	program = json_string_value(json_array_get(json_object_get(json, "args"), 0));
	first = json_array_get(json_object_get(json, "results"), 0);
	c = program ? nccl_collective(program) : NULL;
	if (!c)
		c = nccl_collective(import_string(first, "experiment_name"));
	if (!c && import->options->collective)
		c = nccl_collective(import->options->collective);
	test->collective = c;
	if (!test->collective)
		return import_error(import, 1, "unknown collective: name it with --collective");
	read_json_facts(import, json);
	status = read_json_devices(import, json, test);
	if (status == STATUS_OK)
		status = import_each(import, results, AT(NULL, "results"), read_json_row, file);
	read_json_end(json, test);
	return status == STATUS_OK ? nccl_build(import, file) : status;
}

static enum status read_nccl_root(struct import *import, const json_t *json)
{
	struct nccl_file file = { 0 };
	enum status status = read_nccl_json(import, json, &file);

	nccl_release(&file);
	return status;
}

const struct import_format import_nccl_json = {
	.name = "nccl-json",
	.summary = "nccl-tests: all_reduce_perf ... -J FILE",
	.marks = { "\"average_bus_bandwidth\"", "\"bus_bw\"", "\"aggregated_iterations\"" },
	.silent = "samples, clocks, power, temperatures, driver, time zone of its start",
	.read_json = read_nccl_root,
};
