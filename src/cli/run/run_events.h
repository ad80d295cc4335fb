/*
 * `run --events FILE`: the run as a stream of OCP lines (export/ocp.h), each written when what it
 * says has happened.
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
	int fd; /* -1: a FIFO that has no reader yet */
	bool begun;
	struct error failure; /* the first failed write: no further line is written */
	struct text lines;    /* of the stream, until they are written */
	struct ocp_stream *stream;
	uint64_t *told; /* of each case that was written: its id and its first figure */
	size_t told_count, told_capacity;
};

/*
 * `path` NULL: no events. The file is made anew; STATUS_USAGE where it is a file that the command
 * reads, or one of the run in `directory`. Nothing here waits for the reader of a pipe: the stream
 * ends early (run_events_close()) when 4 MiB wait for it, or it has not come at the end.
 */
enum status run_events_open(struct run_events *events, const char *path, const char *directory,
			    struct error *err);
/*
 * Writes the cases of the result that were not written with the same figure: of a run on several
 * nodes, which were skipped, lost, or measured again.
 */
void run_events_rest(struct run_events *events, const struct result *result);
/* Ends the stream with the judgement; of a run that nothing began for, the whole stream. */
void run_events_finish(struct run_events *events, const struct result *result);
/* The error of the first line that could not be written. */
enum status run_events_close(struct run_events *events, struct error *err);

#endif
