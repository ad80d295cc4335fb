/*
 * Google Benchmark --benchmark_format=json. Each benchmark becomes a case of the suite "benchmark".
 * Repetitions are samples. If the file has only aggregates, the median (or the mean) replaces the
 * samples.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "import/reading.h"

static double gbench_unit_seconds(const char *unit)
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

/* Members that are not user counters. */
static bool gbench_is_own_member(const char *name)
{
	static const char *const own[] = { "name",
					   "run_name",
					   "run_type",
					   "repetitions",
					   "repetition_index",
					   "threads",
					   "iterations",
					   "real_time",
					   "cpu_time",
					   "time_unit",
					   "bytes_per_second",
					   "items_per_second",
					   "family_index",
					   "per_family_instance_index",
					   "aggregate_name",
					   "aggregate_unit",
					   "label",
					   "error_occurred",
					   "error_message",
					   "skipped",
					   "skip_message",
					   "big_o",
					   "rms",
					   "cpu_coefficient",
					   "real_coefficient",
					   "complexity_n" };

	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		if (strcmp(own[i], name) == 0)
			return true;
	return false;
}

struct gbench {
	json_t *runs;    /* name: number of runs in the file */
	json_t *medians; /* names with a median */
	json_t *seen;    /* name: family_index of its first benchmark */
	size_t device;
};

/* In old versions only the name ("sum_mean") identifies an aggregate. */
static const char *aggregate_of(const json_t *benchmark)
{
	static const char *const suffixes[] = { "_mean", "_median", "_stddev",
						"_cv",   "_BigO",   "_RMS" };
	const char *name = import_string(benchmark, "name");

	if (*import_string(benchmark, "aggregate_name"))
		return import_string(benchmark, "aggregate_name");
	if (strcmp(import_string(benchmark, "run_type"), "aggregate") == 0)
		return "without a name";
	if (*import_string(benchmark, "run_type"))
		return "";
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++)
		if (text_ends_with(name, suffixes[i]))
			return suffixes[i] + 1;
	return "";
}

/* The name without the suffix of an aggregate; the caller frees it. */
static char *gbench_run_name(const json_t *benchmark)
{
	const char *run = import_string(benchmark, "run_name");
	const char *name = import_string(benchmark, "name");
	const char *aggregate = aggregate_of(benchmark);

	if (*run)
		return xstrdup(run);
	if (*aggregate && text_ends_with(name, aggregate))
		return xstrndup(name, strlen(name) - strlen(aggregate) - 1);
	return xstrdup(name);
}

static json_int_t gbench_runs_of(const struct gbench *g, const char *name)
{
	return json_integer_value(json_object_get(g->runs, name));
}

/* Runs are samples. An aggregate counts only if the file has no runs. */
static bool stands_for_itself(const struct gbench *g, const json_t *benchmark, const char *name)
{
	const char *aggregate = aggregate_of(benchmark);
	bool median = json_object_get(g->medians, name);
	json_int_t runs = gbench_runs_of(g, name);

	if (!*aggregate)
		return runs > 1 || !median;
	return strcmp(aggregate, median ? "median" : "mean") == 0 && runs <= median;
}

/* Adds an optional figure. 0 means that the program did not count it. */
static enum status read_gbench_figure(struct import *import, const json_t *benchmark,
				      const struct json_path *path, const char *name, double *value)
{
	*value = import_figure(json_object_get(benchmark, name));
	if (*value < 0)
		return import_json_error(import, AT(path, name), "expected a number of at least 0");
	if (*value == 0)
		*value = NAN;
	return STATUS_OK;
}

static void gbench_name_others(struct import *import, const json_t *benchmark)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)benchmark, name,
			    value) if (!gbench_is_own_member(name))
		import_left_out(import, "counter %s", name);
}

/* Adds the times and rates of a benchmark. Skips a benchmark without a time. */
static enum status read_gbench_figures(struct import *import, const json_t *benchmark,
				       const struct json_path *path, struct case_result *c)
{
	const char *unit = import_string(benchmark, "time_unit");
	double factor = gbench_unit_seconds(*unit ? unit : "ns"), real, cpu, bytes, items;

	if (read_gbench_figure(import, benchmark, path, "real_time", &real) != STATUS_OK ||
	    read_gbench_figure(import, benchmark, path, "cpu_time", &cpu) != STATUS_OK ||
	    read_gbench_figure(import, benchmark, path, "bytes_per_second", &bytes) != STATUS_OK ||
	    read_gbench_figure(import, benchmark, path, "items_per_second", &items) != STATUS_OK)
		return STATUS_USAGE;
	if (!isfinite(factor))
		return import_json_error(import, AT(path, "time_unit"), "expected ns, us, ms or s");
	if (!isfinite(real)) {
		import_left_out(import, "times of 0 and of no number");
		import_skipped(c, "its time is 0 or no number");
	}
	import_metric(c, "benchmark.time", "s", BETTER_LOWER, real * factor);
	import_metric(c, "benchmark.cpu_time", "s", BETTER_LOWER, cpu * factor);
	import_metric(c, "benchmark.bandwidth", "B/s", BETTER_HIGHER, bytes);
	import_metric(c, "benchmark.rate", "items/s", BETTER_HIGHER, items);
	return STATUS_OK;
}

/* family_index distinguishes benchmarks of the same name that are not repetitions. */
static bool is_other_family(struct gbench *g, const json_t *benchmark, const char *name,
			    double *family)
{
	const json_t *first = json_object_get(g->seen, name);

	*family = import_figure(json_object_get(benchmark, "family_index"));
	if (!isfinite(*family))
		return false;
	if (!first) {
		json_object_set_new(g->seen, name, json_real(*family));
		return false;
	}
	return json_real_value(first) != *family;
}

static enum status add_benchmark(struct import *import, struct gbench *g, const json_t *benchmark,
				 const struct json_path *path, const char *name)
{
	const char *label = import_string(benchmark, "label");
	struct case_result *c =
		import_case(import, 1, "benchmark", &g->device, 1, WORDS("name", name));
	double family;

	if (!c)
		return STATUS_USAGE;
	if (is_other_family(g, benchmark, name, &family)) {
		char word[32];

		snprintf(word, sizeof(word), "family %.0f", family);
		import_word(c, "family", word);
	}
	if (*label) {
		free(c->notes);
		c->notes = text_harmless(label);
	}
	c = import_named(import, c);
	gbench_name_others(import, benchmark);
	if (json_is_true(json_object_get(benchmark, "error_occurred"))) {
		import_broken(c, "%s", import_string(benchmark, "error_message"));
		return STATUS_OK;
	}
	if (json_is_true(json_object_get(benchmark, "skipped"))) {
		import_skipped(c, import_string(benchmark, "skip_message"));
		return STATUS_OK;
	}
	return read_gbench_figures(import, benchmark, path, c);
}

static enum status read_benchmark(struct import *import, void *g, const json_t *benchmark,
				  const struct json_path *path)
{
	enum status status = STATUS_OK;
	char *name;

	if (!import_member(import, benchmark, path, "name", JSON_STRING))
		return STATUS_USAGE;
	name = gbench_run_name(benchmark);
	if (stands_for_itself(g, benchmark, name))
		status = add_benchmark(import, g, benchmark, path, name);
	else if (!gbench_runs_of(g, name))
		import_left_out(import, "aggregate %s", aggregate_of(benchmark));
	free(name);
	return status;
}

static void read_gbench_facts(struct import *import, const json_t *context)
{
	const char *version = import_string(context, "library_version");

	import_tool(import, "Google Benchmark%s%.40s", *version ? " " : "", version);
	import_fact(import, "executable", import_string(context, "executable"));
	import_fact(import, "hostname", import_string(context, "host_name"));
	import_started(import, import_string(context, "date"));
}

static enum status read_gbench_root(struct import *import, const json_t *json)
{
	const json_t *list = import_member(import, json, NULL, "benchmarks", JSON_ARRAY);
	const struct import_device device = { .backend = import->options->device ? "cuda" : "host",
					      .name = "CPU" };
	struct gbench g = { 0 };
	enum status status;

	if (!list)
		return STATUS_USAGE;
	read_gbench_facts(import, json_object_get(json, "context"));
	g.runs = json_object();
	g.medians = json_object();
	g.seen = json_object();
	g.device = import_device(import, &device);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *one = json_array_get(list, i);
		const char *aggregate = aggregate_of(one);
		char *name = gbench_run_name(one);

		if (!*aggregate)
			json_object_set_new(g.runs, name,
					    json_integer(1 + gbench_runs_of(&g, name)));
		else if (strcmp(aggregate, "median") == 0)
			json_object_set_new(g.medians, name, json_true());
		free(name);
	}
	status = import_each(import, list, AT(NULL, "benchmarks"), read_benchmark, &g);
	json_decref(g.runs);
	json_decref(g.medians);
	json_decref(g.seen);
	return status;
}

const struct import_format import_google_benchmark = {
	.name = "google-benchmark",
	.summary = "any Google Benchmark program: --benchmark_format=json > FILE",
	.marks = { "\"real_time\"", "\"library_build_type\"", "\"mhz_per_cpu\"" },
	.silent = "GPUs, clocks, power, temperatures",
	.read_json = read_gbench_root,
};
