/*
 * A run on several nodes: starts an agent on each through a launcher, gives the config to those
 * that call, listens to them, and puts the results together.
 *
 * DIR/run.jsonl has the run's header, and its lock keeps a second conductor out. The nodes write
 * into DIR/nodes/NAME, so DIR must be the same folder on all of them. A node that dies, or says
 * nothing for silent_after, is lost, with the case that was in flight; the others continue.
 */
#ifndef GPUPROOF_FLEET_FLEET_H
#define GPUPROOF_FLEET_FLEET_H

#include <stdbool.h>

#include "base/error.h"
#include "plan/config.h"
#include "result/result.h"
#include "result/status/run_status.h"
#include "run/conductor.h"

struct fleet_options {
	const char *directory;
	const char *launch;  /* the command of --launch; NULL: none */
	const char *command; /* how to repeat the run, for the result */
	bool resume;         /* nodes that are whole are kept, the others continue */
	/*
	 * The run's result so far, of which nodes are only to measure again what
	 * merge_confirm_path() names: those that were lost stay lost. It gives its cases of the
	 * others. NULL: a run of its own.
	 */
	struct result *before;
	bool quiet;
	/*
	 * Told which cases have ended, about every second and out of order; not of a run with
	 * `before`. Cases that are in no journal (skipped, of a lost node) are in the result alone.
	 * NULL: the run is not followed.
	 */
	const struct conduct_events *events;
	struct run_status *status; /* NULL: DIR/status.json is not written */
	int *stopped_by;           /* out: the signal that stopped the run, 0: none */
};

/*
 * Runs `config`, which has a [fleet]. `result` (also written to DIR/result.json) is that of all
 * nodes; it stays empty when nothing was begun. STATUS_OK when every node was attended to its end,
 * however it ended; STATUS_INTERRUPTED after Ctrl-C or SIGTERM; STATUS_UNSUPPORTED with fewer than
 * min_nodes, the result kept.
 */
enum status fleet_run(const struct config *config, const struct fleet_options *options,
		      struct result *result, struct error *err);

#endif
