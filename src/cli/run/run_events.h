/*
 * run --events FILE: streams the run as OCP lines (export/ocp.h), each as soon as its event has
 * happened.
 */
#ifndef GPUPROOF_CLI_RUN_RUN_EVENTS_H
#define GPUPROOF_CLI_RUN_RUN_EVENTS_H

#include <stdint.h>

#include "base/error.h"
#include "export/ocp.h"
#include "run/conductor.h"

struct run_events {
	struct conduct_events hooks; /* for conduct_options; its context is this struct */
	/* Private. */
	const char *path;
	int fd; /* -1: a FIFO without a reader so far */
	bool begun;
	struct error failure; /* first failed write: no further line is written */
	struct text lines;    /* pending lines of the stream */
	struct ocp_stream *stream;
	uint64_t *told; /* hash of id and first metric of each written case */
	size_t told_count, told_capacity;
};

/*
 * `path` NULL: no events. Creates the file; STATUS_USAGE if the command reads it, or it belongs to
 * the run in `directory`. Never waits for the reader of a pipe: the stream ends early
 * (run_events_close()) if 4 MiB are pending, or there is no reader at the end.
 */
enum status run_events_open(struct run_events *events, const char *path, const char *directory,
			    struct error *err);
/*
 * Writes the cases that were not written with the same value: in a multi-node run, those that were
 * skipped, lost, or measured again.
 */
void run_events_rest(struct run_events *events, const struct result *result);
/* Ends the stream with the judgement; for a run that never started, writes the whole stream. */
void run_events_finish(struct run_events *events, const struct result *result);
/* Error of the first line that could not be written. */
enum status run_events_close(struct run_events *events, struct error *err);

#endif
