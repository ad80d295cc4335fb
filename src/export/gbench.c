/*
 * Google Benchmark JSON export: each sample is a repetition, their median an aggregate, other
 * metrics are its counters. A case that is not OK becomes an error; an untimed case cannot be
 * represented and is left out.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "export/escape.h"
#include "export/export.h"

#define NANOSECONDS 1e9

/* Time series of the headline metric, else any; NULL: the case timed nothing. */
static const struct series *gbench_times_of(const struct case_result *c)
{
	for (size_t i = 0; i < c->metric_count; i++) {
		const struct series *s = c->metrics[i].headline && c->metrics[i].series
						 ? case_series(c, c->metrics[i].series)
						 : NULL;

		if (s && strcmp(s->unit, "s") == 0 && s->count)
			return s;
	}
	for (size_t i = 0; i < c->series_count; i++)
		if (strcmp(c->series[i].unit, "s") == 0 && c->series[i].count)
			return &c->series[i];
	return NULL;
}

struct gbench_entry {
	const struct case_result *c;
	size_t family;
	const char *suffix; /* "", "_median" */
	size_t repetitions;
};

static void gbench_open_entry(struct json_writer *w, const struct gbench_entry *e, const char *type)
{
	const char *id = export_string(e->c->id);
	char *name = xasprintf("%s%s", id, e->suffix);

	writer_open(w, '{');
	writer_text_member(w, "name", name);
	writer_count_member(w, "family_index", e->family);
	writer_count_member(w, "per_family_instance_index", 0);
	writer_text_member(w, "run_name", id);
	writer_text_member(w, "run_type", type);
	writer_count_member(w, "repetitions", e->repetitions);
	writer_count_member(w, "threads", 1);
	free(name);
}

static void gbench_add_time(struct json_writer *w, double seconds, size_t iterations)
{
	writer_count_member(w, "iterations", iterations);
	writer_real_member(w, "real_time", seconds * NANOSECONDS);
	/* CPU time was not measured; repeats the real time, because tools require a number. */
	writer_real_member(w, "cpu_time", seconds * NANOSECONDS);
	writer_text_member(w, "time_unit", "ns");
}

static void gbench_add_counters(struct json_writer *w, const struct case_result *c)
{
	bool rate = false;

	for (size_t i = 0; i < c->metric_count; i++) {
		const struct metric_value *m = &c->metrics[i];

		if (!isfinite(m->value))
			continue;
		if (m->headline && !rate && strcmp(m->unit, "B/s") == 0) {
			writer_real_member(w, "bytes_per_second", m->value);
			rate = true;
		}
		/*
		 * Our names contain a dot; other names must not be mistaken for members of the
		 * format.
		 */
		if (strchr(m->name, '.'))
			writer_real_member(w, m->name, m->value);
	}
}

static void gbench_add_timed(struct json_writer *w, struct gbench_entry *e, const struct series *s)
{
	e->repetitions = s->count;
	for (size_t i = 0; i < s->count; i++) {
		gbench_open_entry(w, e, "iteration");
		writer_count_member(w, "repetition_index", i);
		gbench_add_time(w, s->samples[i], s->batch);
		writer_close(w, '}');
	}
	e->suffix = "_median";
	gbench_open_entry(w, e, "aggregate");
	writer_text_member(w, "aggregate_name", "median");
	writer_text_member(w, "aggregate_unit", "time");
	gbench_add_time(w, s->statistics.median, s->count);
	if (s->unsettled)
		writer_text_member(w, "label", "not settled");
	gbench_add_counters(w, e->c);
	writer_close(w, '}');
}

static void gbench_add_context(struct json_writer *w, const struct result *r)
{
	const char *compiler = export_fact(r, "compiler");

	writer_open_member(w, "context", '{');
	writer_text_member(w, "date", export_string(r->started));
	writer_text_member(w, "host_name", export_fact(r, "hostname"));
	writer_text_member(w, "executable", "gpuproof");
	writer_count_member(w, "num_cpus",
			    (size_t)strtoul(export_fact(r, "cpu threads"), NULL, 10));
	writer_count_member(w, "mhz_per_cpu", 0);
	writer_open_member(w, "caches", '[');
	writer_close(w, ']');
	writer_text_member(w, "library_version", export_string(r->gpuproof_version));
	/* The note in `environment` about a build that is not suitable for measuring. */
	writer_text_member(w, "library_build_type",
			   strstr(compiler, "not optimised") || strstr(compiler, "Sanitizer")
				   ? "debug"
				   : "release");
	writer_count_member(w, "json_schema_version", 1);
	writer_text_member(w, "gpuproof_run", export_string(r->run_id));
	writer_text_member(w, "gpuproof_label", export_string(r->label));
	writer_close(w, '}');
}

static void write_gbench(const struct result *r, struct text *out)
{
	struct json_writer w = { .expand = 2 };

	writer_open(&w, '{');
	gbench_add_context(&w, r);
	writer_open_member(&w, "benchmarks", '[');
	for (size_t i = 0; i < r->case_count; i++) {
		const struct case_result *c = &r->cases[i];
		struct gbench_entry entry = { .c = c, .family = i, .suffix = "", .repetitions = 1 };
		const struct series *s = gbench_times_of(c);

		if (c->status != CASE_OK) {
			gbench_open_entry(&w, &entry, "iteration");
			writer_bool_member(&w, "error_occurred", true);
			writer_text_member(&w, "error_message", export_string(entry.c->reason));
			writer_close(&w, '}');
		} else if (s)
			gbench_add_timed(&w, &entry, s);
	}
	writer_close(&w, ']');
	writer_close(&w, '}');
	export_json(&w, out);
}

const struct exporter export_gbench = { write_gbench, NULL };
