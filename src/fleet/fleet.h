/*
 * Runs a config on several nodes: starts an agent on each through a launcher, sends the config to
 * connected agents, follows their messages, and merges the results.
 *
 * DIR/run.jsonl has the run's header, and its lock keeps a second conductor out. The nodes write
 * into DIR/nodes/NAME, so DIR must be a shared folder. A node that dies, or sends no message for
 * silent_after, is lost together with its case in flight; the others continue.
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
	const char *launch;  /* command of --launch; NULL: none */
	const char *command; /* command that repeats the run, for the result */
	bool resume;         /* keep complete nodes, continue the others */
	/*
	 * Result of the run whose nodes only measure again the cases in fleet_confirm_path(). Lost
	 * nodes stay lost. Provides the cases of the other nodes. NULL: a new run.
	 */
	struct result *before;
	bool quiet;
	/*
	 * Called about every second for finished cases, out of order; not for a run with `before`.
	 * Cases without a journal line (skipped, or of a lost node) appear only in the result.
	 * NULL: none.
	 */
	const struct conduct_events *events;
	struct run_status *status; /* NULL: do not write DIR/status.json */
	int *stopped_by;           /* out: signal that stopped the run; 0: none */
};

/*
 * Runs `config`, which has a [fleet] section. `result`, the merged result of all nodes, is also
 * written to DIR/result.json; it is empty if the run never started. STATUS_OK if every node ended,
 * however it ended; STATUS_INTERRUPTED after Ctrl-C or SIGTERM; STATUS_UNSUPPORTED with fewer than
 * min_nodes (the result is kept).
 */
enum status fleet_run(const struct config *config, const struct fleet_options *options,
		      struct result *result, struct error *err);

#endif
