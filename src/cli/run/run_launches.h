/* Runs a plan several times, each time in new processes, and pools the results. */
#ifndef GPUPROOF_CLI_RUN_RUN_LAUNCHES_H
#define GPUPROOF_CLI_RUN_RUN_LAUNCHES_H

#include "cli/run/run_setup.h"

/* Environment variable with the number of the launch: 1, 2, ... */
#define LAUNCH_VARIABLE "GPUPROOF_LAUNCH"

struct launches {
	const struct run_setup *setup;
	const struct conduct_options *options; /* for the run as a whole */
	struct result *items;                  /* results of launches 1, 2, ... */
	size_t count, capacity;
	bool stopped; /* a further launch was requested but did not start */
	bool pooled;  /* the first one already has the figures of all */
	/* launches = auto: number of launches that determined the total; else 0 */
	size_t decided_by;
};

/* "DIR" for launch 1, "DIR/launch-2" and so on; the caller frees it. */
char *run_launches_directory(const char *directory, size_t launch);

/* Number of launches of every case: [run] launches; with auto the minimum. */
size_t run_launches_least(const struct plan *plan);
bool run_launches_auto(const struct plan *plan);

/*
 * Appends launches `first` to `last` of all cases of `plan`, the plan of the setup or a part of it,
 * each into the directory of its number. With options->resume, continues an existing launch.
 * STATUS_INTERRUPTED after a stop request before the start.
 */
enum status launches_run(struct launches *launches, const struct plan *plan, size_t first,
			 size_t last, struct error *err);

/*
 * With launches = auto, after run_launches_least(): runs as many more as each case needs, computed
 * from the first ones (pool_launches_needed), so that a resumed run takes the same number.
 */
enum status launches_run_needed(struct launches *launches, struct error *err);

/*
 * Pools all launches into `result` (which takes ownership, so that `launches` is empty afterwards),
 * sets the intervals, and writes the directory's result.json.
 */
enum status run_launches_pool(struct launches *launches, const char *directory,
			      struct result *result, struct error *err);

/*
 * Measures `part`, cases of the run in options->directory, in LAUNCHES_EXTENSION more launches that
 * are appended to `launches`, and pools them into the run's `result`. NULL: does not pool.
 */
#define LAUNCHES_EXTENSION 4
enum status run_launches_extend(struct launches *launches, const struct plan *part,
				struct result *result, struct error *err);
void run_launches_release(struct launches *launches);

/* Findings of doctor about a machine. */
struct health {
	struct finding *items;
	size_t count, capacity;
};

/* Collects findings from a recent probe; released by run_launches_finish(). */
struct health run_launches_health_collect(const struct probe *probe);
/*
 * Pools and releases the launches, as run_launches_pool(). If `before`, the findings before the
 * run, is not NULL, releases it, adds it to the result with what a new probe finds, and writes that
 * again.
 */
enum status run_launches_finish(struct launches *launches, struct health *before,
				struct result *result, struct error *err);

/* Remaining work of a run, before it starts or continues. */
struct run_left {
	size_t launches;       /* in all */
	size_t planned, cases; /* cases of all launches: planned, and remaining */
	double seconds;        /* estimated time of the remaining cases */
};

/*
 * For a new run, or with `resume` the one in `directory`. STATUS_USAGE if it already contains one,
 * or one with another plan.
 */
enum status run_launches_left_find(struct run_left *left, const struct plan *plan,
				   const char *directory, bool resume, struct error *err);

/*
 * True if nothing is left and the directory's result.json covers all launches: then reads it to
 * `result`, which the caller releases.
 */
bool run_launches_left_nothing(const struct run_left *left, const char *directory,
			       struct result *result);

/* True if the directory's report.html exists and is not older than its result.json. */
bool run_launches_left_reported(const char *directory);

/* Prints one line to stderr. */
void run_launches_left_announce(const struct run_left *left, const struct plan *plan,
				const char *directory);

#endif
