/* Runs a plan several times, each time in new processes, and pools the results. */
#ifndef GPUPROOF_CLI_RUN_RUN_LAUNCHES_H
#define GPUPROOF_CLI_RUN_RUN_LAUNCHES_H

#include "run/conductor.h"

/* The environment of a repetition has its number: 1, 2, ... */
#define LAUNCH_VARIABLE "GPUPROOF_LAUNCH"

struct launches {
	struct result *items; /* launch 1, 2, ... */
	size_t count, capacity;
	bool stopped;      /* one more was wanted, and was not begun */
	size_t decided_by; /* launches = auto: how many decided the number of them; else 0 */
};

/* "DIR" for launch 1, "DIR/launch-2" and so on; the caller frees it. */
char *launch_directory(const char *directory, size_t launch);

/* How often the plan asks for every case: [run] launches; of auto the least. */
size_t launches_least(const struct plan *plan);
bool launches_auto(const struct plan *plan);

/*
 * Appends the launches `first` to `last` of all cases of `plan`, each into the directory of its
 * number. `options` as for the run as a whole; a launch that is there already is continued when
 * they say resume. STATUS_INTERRUPTED, and nothing is begun, when a stop was asked for.
 */
enum status launches_run(struct launches *launches, const struct plan *plan,
			 const struct probe *probe, const struct conduct_options *options,
			 size_t first, size_t last, struct error *err);

/*
 * With launches = auto, after launches_least(): as many more as each case needs, which the first
 * ones tell (pool_launches_needed), so that a run that is continued takes the same ones.
 */
enum status launches_run_needed(struct launches *launches, const struct plan *plan,
				const struct probe *probe, const struct conduct_options *options,
				struct error *err);

/*
 * Pools all of them into `result` (which takes the first over, so that `launches` is empty
 * afterwards), gives figures their intervals, and writes the directory's result.json.
 */
enum status launches_pool(struct launches *launches, const char *directory, struct result *result,
			  struct error *err);

/*
 * Measures `part`, cases of the run in `options->directory`, in LAUNCHES_EXTENSION further launches
 * and pools them into `result`, which is that of the run.
 */
#define LAUNCHES_EXTENSION 4
enum status launches_extend(const struct plan *part, const struct probe *probe,
			    const struct conduct_options *options, struct result *result,
			    struct error *err);
void launches_release(struct launches *launches);

/* Remaining work of a run, before it begins or continues. */
struct run_left {
	size_t launches;       /* in all */
	size_t planned, cases; /* of all launches: in all, and those left */
	double seconds;        /* that those left take by the plan's estimates */
};

/* For a run that begins. STATUS_USAGE when there is one in `directory` already. */
enum status run_left_new(struct run_left *left, const struct plan *plan, const char *directory,
			 struct error *err);
/* For the run in `directory`. STATUS_USAGE when it has another plan. */
enum status run_left_of(struct run_left *left, const struct plan *plan, const char *directory,
			struct error *err);

/*
 * True when nothing is left and the directory's result.json is that of all launches: `result` is it
 * then, which the caller releases.
 */
bool run_left_nothing(const struct run_left *left, const char *directory, struct result *result);

/* True if the directory's report.html exists and is not older than its result.json. */
bool run_left_reported(const char *directory);

/* One line on standard error. */
void run_left_announce(const struct run_left *left, const struct plan *plan, const char *directory);

#endif
