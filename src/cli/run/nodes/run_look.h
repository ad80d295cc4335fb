/* `doctor --fleet`: what each node is, and in which facts some differ, before a run. */
#ifndef GPUPROOF_CLI_RUN_NODES_RUN_LOOK_H
#define GPUPROOF_CLI_RUN_NODES_RUN_LOOK_H

#include "cli/run/nodes/run_fleet.h"

/*
 * Starts an agent on each node, which opens each of its devices once, and prints a row per node,
 * drift, and what would disturb. `directory` NULL: a new one. `command`: how to repeat it. An exit
 * code: 0 when every node answered whole, 4 when one was lost or not able to.
 */
int run_look(const struct run_places *places, const char *directory, const char *command);

#endif
