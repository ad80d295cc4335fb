/*
 * Chrome trace events of recorded steps ([suite parallel] timeline), for https://ui.perfetto.dev
 * and chrome://tracing: a process per case, a thread per rank and stream, a complete event ("X")
 * per operation, in microseconds.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "export/export.h"

#define MICROSECONDS 1e6

/* Starts an event of that phase; the caller adds its arguments and ends it. */
static void trace_open_event(struct json_writer *w, const char *name, const char *phase,
			     size_t process, size_t thread)
{
	writer_open_inline(w, '{');
	writer_text_member(w, "name", name);
	writer_text_member(w, "ph", phase);
	writer_count_member(w, "pid", process);
	writer_count_member(w, "tid", thread);
}

/* Metadata: name of a process or a thread in viewers. */
static void trace_add_name(struct json_writer *w, const char *what, size_t process, size_t thread,
			   const char *name)
{
	trace_open_event(w, what, "M", process, thread);
	writer_open_member(w, "args", '{');
	writer_text_member(w, "name", name);
	writer_close(w, '}');
	writer_close(w, '}');
}

static void trace_add_event(struct json_writer *w, const struct case_result *c, size_t at,
			    size_t process)
{
	const struct timeline_row *row = &c->timeline[at];
	size_t thread = 1, rank = row->rank < 0 ? 0 : (size_t)row->rank;

	/* The rows of one stream of one rank, one per operation, share a thread. */
	while (thread <= at && (c->timeline[thread - 1].rank != row->rank ||
				strcmp(export_string(c->timeline[thread - 1].stream),
				       export_string(row->stream)) != 0))
		thread++;
	if (thread == at + 1) {
		char *name =
			xasprintf("rank %zu%s%s %s", rank, rank < c->device_count ? " " : "",
				  rank < c->device_count ? export_string(c->devices[rank]) : "",
				  export_string(row->stream));

		trace_add_name(w, "thread_name", process, thread, name);
		free(name);
	}
	for (size_t i = 0; i + 3 <= row->span_count; i += 3) {
		const double *span = row->spans + i;

		trace_open_event(w, export_string(row->operation), "X", process, thread);
		writer_real_member(w, "ts", MICROSECONDS * span[1]);
		writer_real_member(w, "dur", MICROSECONDS * (span[2] - span[1]));
		writer_open_member(w, "args", '{');
		writer_real_member(w, "index", span[0]);
		writer_close(w, '}');
		writer_close(w, '}');
	}
}

static void trace_write(const struct result *r, struct text *out)
{
	struct json_writer w = { .expand = 2 };

	writer_open(&w, '{');
	writer_text_member(&w, "displayTimeUnit", "ns");
	writer_open_member(&w, "otherData", '{');
	writer_text_member(&w, "gpuproof", r->gpuproof_version);
	writer_text_member(&w, "run_id", r->run_id);
	writer_text_member(&w, "started", r->started);
	writer_close(&w, '}');
	writer_open_member(&w, "traceEvents", '[');
	for (size_t i = 0; i < r->case_count; i++) {
		const struct case_result *c = &r->cases[i];

		if (c->timeline_count)
			trace_add_name(&w, "process_name", i + 1, 0, export_string(c->id));
		for (size_t row = 0; row < c->timeline_count; row++)
			trace_add_event(&w, c, row, i + 1);
	}
	writer_close(&w, ']');
	writer_close(&w, '}');
	export_json(&w, out);
}

static const char *trace_refuse(const struct result *r)
{
	for (size_t i = 0; i < r->case_count; i++)
		if (r->cases[i].timeline_count)
			return NULL;
	return "no case of the result has a timeline; to record timelines, set [suite parallel] "
	       "timeline = yes";
}

const struct exporter export_trace = { trace_write, trace_refuse };
