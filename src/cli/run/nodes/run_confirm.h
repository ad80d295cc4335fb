/* Further launches of what one did not decide, on the nodes of a run on several. */
#ifndef GPUPROOF_CLI_RUN_NODES_RUN_CONFIRM_H
#define GPUPROOF_CLI_RUN_NODES_RUN_CONFIRM_H

#include "cli/run/run_check.h"
#include "fleet/fleet.h"

/*
 * Judges the nodes' `result`. As long as cases are not decided, and at most CONFIRM_ROUNDS times,
 * their nodes measure them in LAUNCHES_EXTENSION further launches, all at the same time, and
 * everything is judged again; the number of rounds does not grow with that of nodes. `result` and
 * DIR/result.json are then about all of them. As fleet_run() when a round is stopped.
 */
#define CONFIRM_ROUNDS 4
enum status run_confirm(struct run_check *check, const struct config *config,
			const struct fleet_options *options, struct result *result,
			struct error *err);

#endif
