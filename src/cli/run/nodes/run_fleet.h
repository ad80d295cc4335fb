/* `run` on several nodes: from a config with a [fleet] to a directory with result and report. */
#ifndef GPUPROOF_CLI_RUN_NODES_RUN_FLEET_H
#define GPUPROOF_CLI_RUN_NODES_RUN_FLEET_H

#include <stdbool.h>

#include "cli/run/run_carry_out.h"

/* As run_carry_out(). `launch`: the command of --launch, or NULL. */
int run_fleet(struct run_request *request, const struct config *config, const char *launch);

/*
 * True where a launcher has started several copies of this program, of which none must be a
 * conductor; says on standard error which command is right.
 */
bool run_is_copied(void);

#endif
