/*
 * DIR/status.json: how far a run has come, for `gpuproof watch` on any machine that sees the
 * folder. The conductor replaces it every two seconds; a reader sees the old document or the new
 * one, whole. After the run it says how that ended.
 */
#ifndef GPUPROOF_RESULT_STATUS_RUN_STATUS_H
#define GPUPROOF_RESULT_STATUS_RUN_STATUS_H

#include "base/error.h"
#include "result/status/soak_rows.h"

#define STATUS_NAME "status.json"
#define STATUS_SECONDS 2.0 /* between two documents */
/* Without a new document for so long, a run on another machine counts as ended. */
#define STATUS_SILENCE_SECONDS 60.0

struct run_status {
	/* "running"; later a result's state (complete, interrupted, incomplete), or "failed" */
	char state[16];
	char doing[64]; /* "measuring", "judging", "writing the report"; "" afterwards */
	char config[256], hostname[256], command[1024];
	char run_id[40];
	int64_t pid;
	char started[32], updated[32]; /* ISO 8601, UTC */
	double seconds, seconds_left;  /* NaN: unknown; both of this launch */
	size_t launch, launches;
	size_t planned, ok, skipped, failed, errors; /* cases of this launch */
	/* Counts nodes of a run on several; how their cases fared is known at its end. */
	struct {
		size_t planned, waiting, running, done, lost; /* planned 0: of one node */
	} nodes;
	size_t settled; /* cases that have come to an end; of several nodes, those of all */
	struct {
		char id[256];  /* "": none is being measured */
		char part[32]; /* "set-up", "verification", "samples" */
		double seconds;
		size_t samples;
		double median, half_width; /* of the timed operation, so far; NaN: not yet */
	} current;
	struct soak_rows devices; /* of cases that last */
	char sentence[1024];      /* the verdict; "": nothing was judged */
	int exit_code;            /* of the run; -1: not ended */
};

/* This process begins to measure: state, run and process; not the host and the cases. */
void run_status_begin(struct run_status *status, const struct result *result);
/* Sets `updated`, of one node `settled`, and replaces the document; its directory must exist. */
enum status run_status_write(struct run_status *status, const char *directory, struct error *err);
/* STATUS_IO when there is none; the caller releases `status` in any case. */
enum status run_status_read(struct run_status *status, const char *directory, struct error *err);
/* The document as one line. */
char *run_status_line(const struct run_status *status);
void run_status_release(struct run_status *status);

/*
 * True if it says "running", but its process is gone (on this machine), or has replaced
 * the document for the last time STATUS_SILENCE_SECONDS before `now` (seconds since 1970).
 */
bool run_status_lost(const struct run_status *status, double now);

/* Several lines for people. */
void run_status_print(const struct run_status *status, bool lost, struct text *out);

#endif
