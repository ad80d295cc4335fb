/*
 * Google Benchmark --benchmark_format=json. Each benchmark becomes a case of the suite "benchmark".
 * Repetitions are samples. If the file has only aggregates, the median (or the mean) replaces the
 * samples.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "import/reading.h"

/* Members that are not user counters. */
static const char own_members[] =
	",name,run_name,run_type,repetitions,repetition_index,threads,iterations,real_time,"
	"cpu_time,time_unit,bytes_per_second,items_per_second,family_index,"
	"per_family_instance_index,aggregate_name,aggregate_unit,label,error_occurred,"
	"error_message,skipped,skip_message,big_o,rms,cpu_coefficient,real_coefficient,"
	"complexity_n,";

struct gbench {
	json_t *runs;    /* name: number of runs in the file */
	json_t *medians; /* names with a median */
	json_t *seen;    /* name: family_index of its first benchmark */
	size_t device;
};

/* In old versions only the name ("sum_mean") identifies an aggregate. */
static const char *google_benchmark_aggregate_of(const json_t *benchmark)
{
	static const char *const suffixes[] = { "_mean", "_median", "_stddev",
						"_cv",   "_BigO",   "_RMS" };
	const char *name = import_json_string(benchmark, "name");

	if (*import_json_string(benchmark, "aggregate_name"))
		return import_json_string(benchmark, "aggregate_name");
	if (strcmp(import_json_string(benchmark, "run_type"), "aggregate") == 0)
		return "without a name";
	if (*import_json_string(benchmark, "run_type"))
		return "";
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++)
		if (text_ends_with(name, suffixes[i]))
			return suffixes[i] + 1;
	return "";
}

/* The name without the suffix of an aggregate; the caller frees it. */
static char *google_benchmark_run_name(const json_t *benchmark)
{
	const char *run = import_json_string(benchmark, "run_name");
	const char *name = import_json_string(benchmark, "name");
	const char *aggregate = google_benchmark_aggregate_of(benchmark);

	if (*run)
		return xstrdup(run);
	if (*aggregate && text_ends_with(name, aggregate))
		return xstrndup(name, strlen(name) - strlen(aggregate) - 1);
	return xstrdup(name);
}

static json_int_t google_benchmark_runs_of(const struct gbench *g, const char *name)
{
	return json_integer_value(json_object_get(g->runs, name));
}

/* Adds an optional figure. 0 means that the program did not count it. */
static void google_benchmark_add_figure(struct import *import, const json_t *benchmark,
					struct case_result *c, const char *name, const char *metric,
					const char *unit, double factor)
{
	double value = import_json_amount(import, benchmark, name);

	building_metric(c, metric, unit, value > 0 ? value * factor : (double)NAN);
}

/* Adds the times and rates of a benchmark. Skips a benchmark without a time. */
static void google_benchmark_read_figures(struct import *import, const json_t *benchmark,
					  struct case_result *c)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = { { "ns", 1e-9 }, { "us", 1e-6 }, { "ms", 1e-3 }, { "s", 1 } };
	const char *unit = import_json_string(benchmark, "time_unit");
	double factor = *unit ? (double)NAN : 1e-9;

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (strcmp(units[i].name, unit) == 0)
			factor = units[i].seconds;
	google_benchmark_add_figure(import, benchmark, c, "real_time", "benchmark.time", "s",
				    factor);
	if (!(import_json_figure(json_object_get(benchmark, "real_time")) > 0)) {
		building_left_out(import, "times that are 0 or not a number");
		import_skipped(c, "the time is 0 or not a number");
	}
	google_benchmark_add_figure(import, benchmark, c, "cpu_time", "benchmark.cpu_time", "s",
				    factor);
	google_benchmark_add_figure(import, benchmark, c, "bytes_per_second", "benchmark.bandwidth",
				    "B/s", 1);
	google_benchmark_add_figure(import, benchmark, c, "items_per_second", "benchmark.rate",
				    "items/s", 1);
	if (!isfinite(factor))
		import_json_error(import, benchmark, "time_unit", "expected ns, us, ms or s");
}

static void google_benchmark_add(struct import *import, const json_t *benchmark, const char *run)
{
	struct gbench *g = import->state;
	const char *label = import_json_string(benchmark, "label"), *name;
	double family = import_json_figure(json_object_get(benchmark, "family_index"));
	const json_t *first = json_object_get(g->seen, run);
	/* Distinguishes benchmarks of the same name that are not repetitions. */
	bool other = isfinite(family) && first && json_real_value(first) != family;
	char word[32];
	struct case_result *c;
	json_t *value;

	if (isfinite(family) && !first)
		json_object_set_new(g->seen, run, json_real(family));
	snprintf(word, sizeof(word), "family %.0f", family);
	c = building_case(import, "benchmark", &g->device, 1,
			  PARAMETERS(WORD("name", run), WORD("family", other ? word : NULL)));
	if (*label && !*c->notes) {
		free(c->notes);
		c->notes = text_harmless(label);
	}
	json_object_foreach((json_t *)(uintptr_t)benchmark, name, value)
	{
		snprintf(word, sizeof(word), ",%.29s,", name);
		if (strlen(name) > 29 || !strstr(own_members, word))
			building_left_out(import, "counter %s", name);
	}
	if (json_is_true(json_object_get(benchmark, "error_occurred")))
		import_broken(c, "%s", import_json_string(benchmark, "error_message"));
	else if (json_is_true(json_object_get(benchmark, "skipped")))
		import_skipped(c, import_json_string(benchmark, "skip_message"));
	else
		google_benchmark_read_figures(import, benchmark, c);
}

/* Runs are samples. An aggregate counts only if the file has no runs. */
static void google_benchmark_read(struct import *import, const json_t *benchmark)
{
	struct gbench *g = import->state;
	const char *aggregate = google_benchmark_aggregate_of(benchmark);
	char *name = google_benchmark_run_name(benchmark);
	bool median = json_object_get(g->medians, name), counts;
	json_int_t runs = google_benchmark_runs_of(g, name);

	if (*aggregate)
		counts = strcmp(aggregate, median ? "median" : "mean") == 0 && runs <= median;
	else
		counts = runs > 1 || !median;
	if (import_json_member(import, benchmark, "name", JSON_STRING) && counts)
		google_benchmark_add(import, benchmark, name);
	else if (!runs)
		building_left_out(import, "aggregate %s", aggregate);
	free(name);
}

static void google_benchmark_read_root(struct import *import, const json_t *json)
{
	const json_t *list = import_json_member(import, json, "benchmarks", JSON_ARRAY);
	const json_t *context = json_object_get(json, "context");
	const char *version = import_json_string(context, "library_version");
	const struct import_device device = { .backend = import->options->device ? "cuda" : "host",
					      .name = "CPU" };
	struct gbench *g = import->state;

	building_tool(import, "Google Benchmark%s%.40s", *version ? " " : "", version);
	building_fact(import, "executable", import_json_string(context, "executable"));
	building_fact(import, "hostname", import_json_string(context, "host_name"));
	building_started(import, import_json_string(context, "date"));
	*g = (struct gbench){ json_object(), json_object(), json_object(),
			      building_device(import, &device) };
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *one = json_array_get(list, i);
		const char *aggregate = google_benchmark_aggregate_of(one);
		char *name = google_benchmark_run_name(one);

		if (!*aggregate)
			json_object_set_new(g->runs, name,
					    json_integer(1 + google_benchmark_runs_of(g, name)));
		else if (strcmp(aggregate, "median") == 0)
			json_object_set_new(g->medians, name, json_true());
		free(name);
	}
	import_json_each(import, list, google_benchmark_read);
}

static void google_benchmark_release(void *state)
{
	struct gbench *g = state;

	json_decref(g->runs);
	json_decref(g->medians);
	json_decref(g->seen);
}

const struct import_format import_google_benchmark = {
	.name = "google-benchmark",
	.summary = "any Google Benchmark program: --benchmark_format=json > FILE",
	.marks = { "\"real_time\"", "\"library_build_type\"", "\"mhz_per_cpu\"" },
	.silent = "GPUs, clocks, power, temperatures",
	.state_bytes = sizeof(struct gbench),
	.release = google_benchmark_release,
	.read_json = google_benchmark_read_root,
};
