/* doctor --fleet: examines the nodes before a run and shows in which facts they differ. */
#ifndef GPUPROOF_CLI_RUN_NODES_RUN_LOOK_H
#define GPUPROOF_CLI_RUN_NODES_RUN_LOOK_H

#include "cli/run/nodes/run_fleet.h"

/*
 * Starts an agent on each node, which opens each of its devices once. Prints a row per node, the
 * drift, and possible disturbances. `directory` NULL: a new one. `command`: repeats the call.
 * Returns an exit code: 0 if every node is complete, 4 if one was lost or failed.
 */
int run_look(const struct run_places *places, const char *directory, const char *command);

#endif
