/* Multi-node `run`: from a config with [fleet] to a directory with result and report. */
#ifndef GPUPROOF_CLI_RUN_NODES_RUN_FLEET_H
#define GPUPROOF_CLI_RUN_NODES_RUN_FLEET_H

#include <stdbool.h>

#include "cli/run/run_one_node.h"

/* Options that make a run a multi-node run, whatever its config says. */
struct run_places {
	int64_t simulated;          /* 0: not given */
	const char *hosts, *launch; /* NULL: not given */
};
#define RUN_PLACES_CONFLICT "give only one of --simulate-nodes, --hosts and --launch"
bool run_fleet_places_conflict(const struct run_places *places);
/* Adds the overrides that the options imply. */
void run_fleet_places_override(const struct run_places *places, struct overrides *overrides);

/* As run_one_node(). `launch`: the command of --launch, or NULL. */
int run_fleet(struct run_request *request, const struct config *config, const char *launch);

/*
 * True if a launcher has started several copies of this program. No copy may then be a conductor;
 * prints the right command on stderr.
 */
bool run_fleet_is_copied(void);

#endif
