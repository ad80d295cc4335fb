/*
 * DIR/status.json: progress of a run, for `gpuproof watch` on any machine that can read the folder.
 * The conductor replaces it atomically every two seconds. After the run it contains the outcome.
 */
#ifndef GPUPROOF_RESULT_STATUS_RUN_STATUS_H
#define GPUPROOF_RESULT_STATUS_RUN_STATUS_H

#include "base/error.h"
#include "result/status/soak_rows.h"

#define STATUS_NAME "status.json"
#define STATUS_SECONDS 2.0 /* interval between updates */
/* A run on another machine counts as ended after this time without an update. */
#define STATUS_SILENCE_SECONDS 60.0

struct run_status {
	/*
	 * "running"; later the state of the result (complete, interrupted, incomplete), or "failed"
	 */
	char state[16];
	char doing[64]; /* "measuring", "judging", "writing the report"; "" afterwards */
	char config[256], hostname[256], command[1024];
	char run_id[40];
	int64_t pid;
	char started[32], updated[32]; /* ISO 8601, UTC */
	double seconds, seconds_left;  /* of this launch; NaN: unknown */
	size_t launch, launches;
	size_t planned, ok, skipped, failed, errors; /* cases of this launch */
	/* Nodes of a multi-node run; the statuses of their cases are known at the end. */
	struct {
		size_t planned, waiting, running, done, lost; /* planned 0: single-node run */
	} nodes;
	size_t settled; /* finished cases; of a multi-node run, those of all nodes */
	struct {
		char id[256];  /* "": no case is running */
		char part[32]; /* "set-up", "verification", "samples" */
		double seconds;
		size_t samples;
		double median, half_width; /* of the timed operation so far; NaN: not yet known */
	} current;
	struct soak_rows devices; /* for long cases */
	char sentence[1024];      /* the verdict; "": not judged */
	int exit_code;            /* of the run; -1: still running */
};

/* Sets state, run and process when this process starts measuring; not the host and the cases. */
void run_status_begin(struct run_status *status, const struct result *result);
/*
 * Sets `updated` and, for a single node, `settled`, and replaces the document; its directory must
 * exist.
 */
enum status run_status_write(struct run_status *status, const char *directory, struct error *err);
/* STATUS_IO if there is none; the caller always releases `status`. */
enum status run_status_read(struct run_status *status, const char *directory, struct error *err);
/* The document as one line. */
char *run_status_line(const struct run_status *status);
void run_status_release(struct run_status *status);

/*
 * True if it says "running", but its process has exited (on this machine), or the last update is
 * STATUS_SILENCE_SECONDS older than `now` (seconds since 1970).
 */
bool run_status_lost(const struct run_status *status, double now);

/* Formats the status as several lines of text. */
void run_status_print(const struct run_status *status, bool lost, struct text *out);

#endif
