/* run --dry-run: prints the expanded plan and, for a config with [fleet], the work of the nodes. */
#ifndef GPUPROOF_CLI_RUN_NODES_RUN_DRY_H
#define GPUPROOF_CLI_RUN_NODES_RUN_DRY_H

#include "plan/plan.h"

/* Prints every case with its memory and estimated time, and the totals. */
void run_print_plan(const struct plan *plan);

/*
 * Prints rounds, cases, seconds, payload and node-hours for nodes with the devices of `plan`, the
 * plan of this machine. `launch`: the command of --launch, or NULL. Prints nothing without a
 * [fleet].
 */
void run_print_nodes(const struct plan *plan, const char *launch);

#endif
