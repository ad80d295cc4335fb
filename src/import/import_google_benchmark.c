/*
 * Google Benchmark --benchmark_format=json. Every benchmark is a case of the suite "benchmark".
 * Repetitions are represented by their median, if the file has it; other aggregates are left out.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "import/reading.h"

static double unit_seconds(const char *unit)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = { { "ns", 1e-9 }, { "us", 1e-6 }, { "ms", 1e-3 }, { "s", 1 } };

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (strcmp(units[i].name, unit) == 0)
			return units[i].seconds;
	return NAN;
}

static double number(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);

	return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

/* The times and rates of a benchmark; NaN: not there. */
struct figures {
	double real, cpu, bytes, items;
};

/* A figure that may be absent; 0 says nothing (a rate of what was not counted) and is left out. */
static enum status read_figure(struct import *import, const json_t *benchmark,
			       const struct json_path *path, const char *name, double *value)
{
	const struct json_path here = { path, name, 0 };

	*value = number(benchmark, name);
	if (*value < 0)
		return import_json_error(import, &here, "expected a number of at least 0");
	if (*value == 0)
		*value = NAN;
	return STATUS_OK;
}

static enum status read_figures(struct import *import, const json_t *benchmark,
				const struct json_path *path, struct figures *f)
{
	const struct json_path time_path = { path, "real_time", 0 };

	if (!import_member(import, benchmark, path, "real_time", JSON_REAL))
		return STATUS_USAGE;
	if (read_figure(import, benchmark, path, "real_time", &f->real) != STATUS_OK ||
	    read_figure(import, benchmark, path, "cpu_time", &f->cpu) != STATUS_OK ||
	    read_figure(import, benchmark, path, "bytes_per_second", &f->bytes) != STATUS_OK ||
	    read_figure(import, benchmark, path, "items_per_second", &f->items) != STATUS_OK)
		return STATUS_USAGE;
	if (isnan(f->real))
		return import_json_error(import, &time_path, "expected a time above 0");
	return STATUS_OK;
}

/* The run_name of each benchmark whose repetitions have a median in the file. The caller frees. */
static json_t *collect_medians(const json_t *list)
{
	json_t *medians = json_object();

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *one = json_array_get(list, i);

		if (strcmp(import_string(one, "aggregate_name"), "median") == 0)
			json_object_set_new(medians, import_string(one, "run_name"), json_true());
	}
	json_object_del(medians, "");
	return medians;
}

static bool stands_for_itself(const json_t *medians, const json_t *benchmark)
{
	const char *aggregate = import_string(benchmark, "aggregate_name");

	if (strcmp(import_string(benchmark, "run_type"), "aggregate") == 0)
		return strcmp(aggregate, "median") == 0;
	return !json_object_get(medians, import_string(benchmark, "run_name")) &&
	       !(number(benchmark, "repetition_index") > 0);
}

static enum status read_benchmark(struct import *import, const json_t *medians,
				  const json_t *benchmark, const struct json_path *path,
				  const char *device)
{
	const struct json_path unit_path = { path, "time_unit", 0 };
	const json_t *name = import_member(import, benchmark, path, "name", JSON_STRING);
	const char *run = import_string(benchmark, "run_name");
	double factor = unit_seconds(import_string(benchmark, "time_unit"));
	struct case_result *c;
	struct figures f;

	if (!name)
		return STATUS_USAGE;
	if (!stands_for_itself(medians, benchmark))
		return STATUS_OK;
	if (json_is_true(json_object_get(benchmark, "error_occurred"))) {
		c = import_case(import, "benchmark", &device, 1);
		import_word(c, "name", *run ? run : json_string_value(name));
		import_broken(c, import_string(benchmark, "error_message"));
		import_named(c);
		return STATUS_OK;
	}
	if (read_figures(import, benchmark, path, &f) != STATUS_OK)
		return STATUS_USAGE;
	if (!isfinite(factor))
		return import_json_error(import, &unit_path, "expected ns, us, ms or s");
	c = import_case(import, "benchmark", &device, 1);
	import_word(c, "name", *run ? run : json_string_value(name));
	import_metric(c, "benchmark.time", "s", BETTER_LOWER, f.real * factor);
	import_metric(c, "benchmark.cpu_time", "s", BETTER_LOWER, f.cpu * factor);
	import_metric(c, "benchmark.bandwidth", "B/s", BETTER_HIGHER, f.bytes);
	import_metric(c, "benchmark.rate", "items/s", BETTER_HIGHER, f.items);
	import_named(c);
	return STATUS_OK;
}

static void read_facts(struct import *import, const json_t *context)
{
	const char *version = import_string(context, "library_version");
	char *tool = xasprintf("Google Benchmark%s%s", *version ? " " : "", version);

	import_tool(import, tool);
	free(tool);
	import_fact(import, "executable", import_string(context, "executable"));
	if (*import_string(context, "date")) {
		free(import->result->started);
		import->result->started = xstrdup(import_string(context, "date"));
	}
}

static enum status read_root(struct import *import, const json_t *json)
{
	const struct json_path list_path = { NULL, "benchmarks", 0 };
	const json_t *context = import_member(import, json, NULL, "context", JSON_OBJECT);
	const json_t *list =
		context ? import_member(import, json, NULL, "benchmarks", JSON_ARRAY) : NULL;
	enum status status = STATUS_OK;
	const char *device;
	json_t *medians;

	if (!list)
		return STATUS_USAGE;
	read_facts(import, context);
	device = import_device(import, import->options->device ? "cuda" : "host", 0, "CPU");
	medians = collect_medians(list);
	for (size_t i = 0; status == STATUS_OK && i < json_array_size(list); i++) {
		const struct json_path here = { &list_path, NULL, i };

		status = read_benchmark(import, medians, json_array_get(list, i), &here, device);
	}
	json_decref(medians);
	return status;
}

static enum status google_benchmark_read(struct import *import)
{
	return import_json(import, read_root);
}

const struct import_format import_google_benchmark = {
	.name = "google-benchmark",
	.summary = "any Google Benchmark program: --benchmark_format=json > FILE",
	.for_people = "Benchmark ",
	.instead = "run the program with --benchmark_format=json",
	.read = google_benchmark_read,
};
