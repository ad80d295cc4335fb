/* `run --dry-run` of a config with a [fleet]: what the nodes would do, and what it costs. */
#ifndef GPUPROOF_CLI_RUN_NODES_RUN_NODES_PLAN_H
#define GPUPROOF_CLI_RUN_NODES_RUN_NODES_PLAN_H

#include "plan/plan.h"

/*
 * Prints rounds, cases, seconds, payload and node-hours for nodes that have the devices of `plan`,
 * the plan of this machine. `launch`: the command of --launch, or NULL. Nothing without a [fleet].
 */
void run_print_nodes(const struct plan *plan, const char *launch);

#endif
