/* A plan carried out several times, each time by new processes, as one result. */
#ifndef GPUPROOF_CLI_RUN_RUN_LAUNCHES_H
#define GPUPROOF_CLI_RUN_RUN_LAUNCHES_H

#include "run/conductor.h"

/* The environment of a repetition has its number: 1, 2, ... */
#define LAUNCH_VARIABLE "GPUPROOF_LAUNCH"

struct launches {
	struct result *items; /* launch 1, 2, ... */
	size_t count, capacity;
	bool stopped; /* one more was wanted, and was not begun */
};

/* "DIR" for launch 1, "DIR/launch-2" and so on; the caller frees it. */
char *launch_directory(const char *directory, size_t launch);

/*
 * True if a launch has begun in its directory: its journal has a first line. A run that was killed
 * or met a full disk before has measured nothing, and begins anew.
 */
bool launch_begun(const char *directory);

/*
 * Appends one more launch, into the directory of number `launch`. `options` as for the run as a
 * whole; a launch that is there already is continued when they say resume. STATUS_INTERRUPTED, and
 * nothing is begun, when a stop was asked for.
 */
enum status launches_add(struct launches *launches, const struct plan *plan,
			 const struct probe *probe, const struct conduct_options *options,
			 size_t launch, struct error *err);

/* How often the plan asks for every case: [run] launches; of auto the least. */
size_t launches_least(const struct plan *plan);
bool launches_auto(const struct plan *plan);

/*
 * As many launches as the plan asks for; of an interrupted run those that are there are kept. With
 * launches = auto the first ones tell how many each case needs (pool_launches_needed), so that a
 * run that is continued takes the same ones.
 */
enum status launches_run(struct launches *launches, const struct plan *plan,
			 const struct probe *probe, const struct conduct_options *options,
			 struct error *err);

/*
 * Pools all of them into `result` (which takes the first over, so that `launches` is empty
 * afterwards) and, when there were several, writes that as the directory's result.json.
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

#endif
